/* What was published, beside the rows of a comparison and judged by them (results/comparison.h). */
#include "cli/cmd_compare.h"

#include "base/buffer.h"
#include "cli/output.h"

#include <string.h>

enum { BYTES_PER_MB = 1000000, BYTES_PER_MIB = 1 << 20, RATIO_MOST = 100000 };

/* ---- beside a row ---- */

static void put_pair(tn_json *json, double least, double most) {
    tn_json_array(json);
    tn_json_real(json, least);
    tn_json_real(json, most);
    tn_json_end(json);
}

/* The claim of that kind that speaks of the row: of its model, of its system. */
static const tn_claim *claim_of(const tn_claims *claims, const tn_comparison_row *row, tn_claim_kind what) {
    bool ratio = what == TN_CLAIM_MEMORY_RATIO || what == TN_CLAIM_ENERGY_RATIO;
    if (row->is_dense != (what == TN_CLAIM_DENSE_BYTES)) return NULL;
    const bool fpga = row->kind == TN_SYSTEM_FPGA;
    if (fpga == (what == TN_CLAIM_DENSE_BYTES)) return NULL;
    if (!tn_claims_cover(claims, row->model)) return NULL;
    for (size_t i = 0; i < claims->count; i++) {
        const tn_claim *claim = &claims->claim[i];
        if (claim->what != (uint32_t)what) continue;
        if (claim->model && strcmp(claim->model, row->model) != 0) continue;
        if (ratio && !fpga) continue;
        return claim;
    }
    return NULL;
}

static void put_claim(tn_json *json, const char *key, const tn_claim *claim) {
    tn_json_key(json, key);
    if (!claim) {
        tn_json_null(json);
    } else if (claim->what == TN_CLAIM_DENSE_BYTES) {
        tn_json_real(json, (claim->least + claim->most) / 2);
    } else if (claim->least > 0) {
        put_pair(json, claim->least, claim->most);
    } else {
        tn_json_real(json, claim->most);
    }
}

/* An object of the claims that speak of the row; null where none does. */
void tn_published_put(tn_json *json, const tn_claims *claims, const tn_comparison_row *row) {
    tn_json_object(json);
    put_claim(json, "parameters_bytes", claim_of(claims, row, TN_CLAIM_DENSE_BYTES));
    put_claim(json, "memory_ratio", claim_of(claims, row, TN_CLAIM_MEMORY_RATIO));
    put_claim(json, "bram_bytes", claim_of(claims, row, TN_CLAIM_BRAM_BYTES));
    put_claim(json, "uram_bytes", claim_of(claims, row, TN_CLAIM_URAM_BYTES));
    put_claim(json, "energy_ratio", claim_of(claims, row, TN_CLAIM_ENERGY_RATIO));
    tn_json_end(json);
}

/* "memory / 30 to 51": as a person reads the claim beside the row. */
static void claim_text(const tn_claim *claim, tn_buffer *text) {
    if (!claim) return;
    if (text->length) tn_buffer_text(text, ", ");
    switch ((tn_claim_kind)claim->what) {
    case TN_CLAIM_DENSE_BYTES:
        tn_buffer_format(text, "%.1f MB", (claim->least + claim->most) / 2 / BYTES_PER_MB);
        break;
    case TN_CLAIM_MEMORY_RATIO:
        tn_buffer_format(text, "memory / %g to %g", claim->least, claim->most);
        break;
    case TN_CLAIM_BRAM_BYTES:
        tn_buffer_format(text, "BRAM <= %g MiB", claim->most / BYTES_PER_MIB);
        break;
    case TN_CLAIM_URAM_BYTES:
        tn_buffer_format(text, "URAM <= %g MiB", claim->most / BYTES_PER_MIB);
        break;
    case TN_CLAIM_ENERGY_RATIO:
        tn_buffer_format(text, "energy / %g at most", claim->most);
        break;
    }
}

/* The same in a line for people: "30.6 MB, memory / 30 to 51"; "" where there is none. */
tn_status tn_published_text(const tn_claims *claims, const tn_comparison_row *row, tn_arena *arena,
                            const char **text, tn_error *error) {
    tn_buffer told = {0};
    for (int what = TN_CLAIM_DENSE_BYTES; what <= TN_CLAIM_ENERGY_RATIO; what++)
        claim_text(claim_of(claims, row, (tn_claim_kind)what), &told);
    tn_status status = told.status == TN_OK ? tn_arena_copy_text(arena, told.data, told.length, text, error)
                                            : tn_fail(error, told.status, "no memory for what is published");
    tn_buffer_free(&told);
    return status;
}

/* ---- verdicts ---- */

static void put_published_range(const void *row, tn_json *json) {
    const tn_verdict *verdict = row;
    put_pair(json, verdict->published_least, verdict->published_most);
}

static void put_our_range(const void *row, tn_json *json) {
    const tn_verdict *verdict = row;
    put_pair(json, verdict->range.least, verdict->range.most);
}

static const tn_column verdict_columns[] = {
    TN_COLUMN(tn_verdict, claim, NULL),   TN_COLUMN(tn_verdict, model, NULL),
    TN_COLUMN(tn_verdict, measure, NULL), TN_WRITTEN("published", put_published_range, NULL),
    TN_COLUMN(tn_verdict, ours, NULL),    TN_WRITTEN("range", put_our_range, NULL),
    TN_COLUMN(tn_verdict, verdict, NULL), TN_COLUMN(tn_verdict, why, NULL),
};
const tn_record tn_verdict_record = TN_RECORD(tn_verdict, verdict_columns);

/* verdict[at], under its claim where the one before it is of another, with its reason where no earlier one gave it. */
void tn_verdict_say(const tn_verdict *verdict, size_t index) {
    const tn_verdict *v = &verdict[index];
    if (index == 0 || strcmp(v->claim, v[-1].claim) != 0) tn_say("\n  \"%s\"\n", v->claim);
    const bool bytes = v->published_most > RATIO_MOST; /* else how many times less */
    double unit = !bytes ? 1 : v->published_least > 0 ? BYTES_PER_MB : BYTES_PER_MIB;
    const char *name = !bytes ? "x" : v->published_least > 0 ? " MB" : " MiB";
    tn_say("    %-11s %s: %.1f%s", v->model, v->measure, v->ours / unit, name);
    if (v->range.most > v->range.least)
        tn_say(" (%.3g to %.3g)", v->range.least / unit, v->range.most / unit);
    tn_say(": %s\n", v->verdict);
    bool said = false;
    for (size_t i = 0; i < index && !said; i++) said = strcmp(verdict[i].why, v->why) == 0;
    if (!said) tn_say("                %s\n", v->why);
}
