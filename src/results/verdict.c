#include "results/verdict.h"

#include "base/buffer.h"
#include "base/c_locale.h"
#include "text/words.h"

#include <math.h>
#include <string.h>

const char *const tn_compared_quantity_names[] = {"time", "energy", NULL};
const char *const tn_crossing_names[] = {"batch-time",    "batch-energy",           "power",
                                         "power-at-rest", "power-budget",           "latency",
                                         "board-price",   "board-price-best-batch", NULL};

static const double hours_of_a_year = 8766, joules_of_a_kWh = 3.6e6, seconds_of_an_hour = 3600;

tn_status tn_compare_label(const tn_comparison_row *row, tn_arena *arena, const char **label,
                           tn_error *error) {
    char updates[48] = "";
    if (row->is_best) tn_snprintf(updates, sizeof updates, ", %.0f updates an epoch", row->steps_per_epoch);
    return tn_arena_format(arena, label, error, "%s, %s, %s, batch %.0f%s", row->system,
                           row->is_dense ? "dense" : "tensor", tn_way_names[row->way], row->batch, updates);
}

typedef struct {
    const tn_comparison_row *row;
    size_t rows;
    tn_arena *arena;
    tn_judgement *out;
    tn_error *error;
} judging;

static double value_of(const tn_comparison_row *row, uint32_t quantity) {
    return quantity == TN_COMPARED_TIME ? tn_epoch_seconds(row) : tn_epoch_joules(row);
}

static tn_interval range_of(const tn_comparison_row *row, uint32_t quantity) {
    const tn_interval *step = quantity == TN_COMPARED_TIME ? &row->seconds : &row->joules;
    return (tn_interval){step->least * row->steps_per_epoch, step->most * row->steps_per_epoch};
}

/* The row of least value, among FPGAs or among all others; at the own batch alone, or at any. NULL: none. */
static const tn_comparison_row *least(const judging *j, uint32_t quantity, bool fpga, bool any_batch) {
    const tn_comparison_row *best = NULL;
    for (size_t i = 0; i < j->rows; i++) {
        const tn_comparison_row *row = &j->row[i];
        if ((row->kind == TN_SYSTEM_FPGA) != fpga || (row->is_best && !any_batch)) continue;
        if (!best || value_of(row, quantity) < value_of(best, quantity)) best = row;
    }
    return best;
}

static tn_status label(const judging *j, const tn_comparison_row *row, const char **text) {
    *text = NULL;
    return row ? tn_compare_label(row, j->arena, text, j->error) : TN_OK;
}

/* ---- who wins ---- */

static tn_status decide(judging *j, uint32_t quantity, bool any_batch) {
    const tn_comparison_row *fpga = least(j, quantity, true, any_batch),
                            *other = least(j, quantity, false, any_batch);
    tn_decision *d = &j->out->decision[j->out->decisions++];
    *d = (tn_decision){.model = j->out->model,
                       .quantity = quantity,
                       .batch = any_batch ? "best" : "own",
                       .fpga_value = fpga ? value_of(fpga, quantity) : NAN,
                       .opponent_value = value_of(other, quantity)};
    const bool wins = fpga && d->fpga_value <= d->opponent_value;
    d->value = wins ? d->fpga_value : d->opponent_value;
    d->ratio = d->opponent_value / d->fpga_value;
    if (fpga) {
        tn_interval ours = range_of(fpga, quantity), theirs = range_of(other, quantity);
        d->sure = ours.most < theirs.least || theirs.most < ours.least;
    } else {
        d->sure = true;
    }
    TN_TRY(label(j, fpga, &d->fpga));
    TN_TRY(label(j, other, &d->opponent));
    d->winner = wins ? d->fpga : d->opponent;
    return TN_OK;
}

/* ---- where it turns ---- */

static tn_status note(judging *j, tn_crossing_kind kind, double value, const char *unit,
                      const tn_comparison_row *opponent) {
    tn_crossing *c = &j->out->crossing[j->out->crossings++];
    *c = (tn_crossing){.model = j->out->model, .kind = kind, .value = value, .unit = unit};
    return label(j, opponent, &c->opponent);
}

/* The least batch from which on any of the steps takes less an example than the FPGA. */
static tn_status cross_batch(judging *j, const tn_compared_step *step, size_t steps, double host_W,
                             uint32_t quantity, const tn_comparison_row *fpga) {
    uint64_t least_batch = 0;
    const tn_compared_step *which = NULL;
    tn_comparison_row row;
    double value = value_of(fpga, quantity) / (fpga->batch * fpga->steps_per_epoch);
    for (size_t i = 0; i < steps; i++) {
        uint64_t batch;
        TN_TRY(
            tn_compare_crossing(&step[i], quantity == TN_COMPARED_ENERGY, value, host_W, &batch, j->error));
        if (batch == 0 || (which && batch >= least_batch)) continue;
        least_batch = batch;
        which = &step[i];
    }
    tn_crossing_kind kind = quantity == TN_COMPARED_TIME ? TN_CROSSING_BATCH_TIME : TN_CROSSING_BATCH_ENERGY;
    if (!which) return note(j, kind, NAN, "examples", NULL);
    TN_TRY(tn_compare_step(which, least_batch, j->arena, &row, j->error));
    return note(j, kind, (double)least_batch, "examples", &row);
}

static double rent_of(const tn_rent_terms *terms, const char *system) {
    for (size_t i = 0; i < terms->rents; i++)
        if (strcmp(terms->rent[i].system, system) == 0) return terms->rent[i].usd_per_hour;
    return 0;
}

/* What the FPGA's board may cost: its hours at the rent of the cheapest epoch, less its electricity. */
static tn_status cross_price(judging *j, const tn_rent_terms *terms, bool any_batch,
                             const tn_comparison_row *fpga) {
    const tn_comparison_row *cheapest = NULL;
    double cost = 0;
    for (size_t i = 0; i < j->rows; i++) {
        const tn_comparison_row *row = &j->row[i];
        double own = rent_of(terms, row->system) * tn_epoch_seconds(row) / seconds_of_an_hour;
        if (own <= 0 || (row->is_best && !any_batch) || (cheapest && own >= cost)) continue;
        cheapest = row;
        cost = own;
    }
    double epochs = terms->years * hours_of_a_year * seconds_of_an_hour / tn_epoch_seconds(fpga);
    double electricity = tn_epoch_joules(fpga) / joules_of_a_kWh * terms->usd_per_kWh;
    return note(j, any_batch ? TN_CROSSING_PRICE_BEST : TN_CROSSING_PRICE,
                cheapest ? fmax(0, epochs * (cost - electricity)) : NAN, "USD", cheapest);
}

static tn_status cross(judging *j, const tn_compared_step *step, size_t steps, const tn_rent_terms *terms,
                       double host_W) {
    const tn_comparison_row *fastest = least(j, TN_COMPARED_TIME, true, false),
                            *frugal = least(j, TN_COMPARED_ENERGY, true, false),
                            *other = least(j, TN_COMPARED_ENERGY, false, false), *weakest = NULL;
    if (!fastest) return TN_OK;
    TN_TRY(cross_batch(j, step, steps, host_W, TN_COMPARED_TIME, fastest));
    TN_TRY(cross_batch(j, step, steps, host_W, TN_COMPARED_ENERGY, frugal));
    /* Energy is power times time: the root is where the powers make both epochs the same. */
    double same_W = tn_epoch_joules(other) / tn_epoch_seconds(frugal);
    TN_TRY(note(j, TN_CROSSING_POWER, same_W, "W", other));
    TN_TRY(note(j, TN_CROSSING_REST, frugal->rest_W + same_W - frugal->power_W, "W", other));
    for (size_t i = 0; i < j->rows; i++) {
        const tn_comparison_row *row = &j->row[i];
        if (row->kind == TN_SYSTEM_FPGA || row->is_best) continue;
        if (!weakest || row->power_W < weakest->power_W) weakest = row;
    }
    TN_TRY(note(j, TN_CROSSING_BUDGET, weakest->power_W, "W", weakest));
    TN_TRY(note(j, TN_CROSSING_LATENCY, fastest->seconds_per_step, "s", fastest));
    TN_TRY(cross_price(j, terms, false, fastest));
    const tn_comparison_row *best = least(j, TN_COMPARED_TIME, true, true);
    return cross_price(j, terms, true, best);
}

/* ---- the claimed ratio ---- */

static const tn_comparison_row *launched_on(const judging *j, const char *system) {
    for (size_t i = 0; i < j->rows; i++) {
        const tn_comparison_row *row = &j->row[i];
        if (row->way == TN_WAY_LAUNCHED && !row->is_dense && !row->is_best &&
            (!system || strcmp(row->system, system) == 0))
            return row;
    }
    return NULL;
}

static void find_ratios(judging *j, const tn_claim *claim) {
    const tn_comparison_row *gpu = launched_on(j, claim->baseline),
                            *design = least(j, TN_COMPARED_ENERGY, true, false);
    if (!gpu || !design) return;
    const double rest[] = {design->rest.least, design->rest_W, design->rest.most};
    for (size_t i = 0; i < sizeof rest / sizeof *rest; i++) {
        double joules = design->joules_per_step + (rest[i] - design->rest_W) * design->seconds_per_step;
        double ratio_per_second = gpu->power_W / joules;
        j->out->ratio[j->out->ratios++] =
            (tn_energy_ratio){.model = j->out->model,
                              .system = gpu->system,
                              .rest_W = rest[i],
                              .kernels = ratio_per_second * gpu->kernels_seconds,
                              .least = ratio_per_second * gpu->seconds.least,
                              .launched = ratio_per_second * gpu->seconds_per_step,
                              .most = ratio_per_second * gpu->seconds.most,
                              .kernels_seconds = gpu->kernels_seconds,
                              .least_seconds = gpu->seconds.least,
                              .launched_seconds = gpu->seconds_per_step,
                              .most_seconds = gpu->seconds.most,
                              .claimed = claim->most,
                              .claimed_seconds = claim->most / ratio_per_second};
    }
}

/* ---- in words ---- */

static const tn_decision *decision(const tn_judgement *out, uint32_t quantity, const char *batch) {
    for (size_t i = 0; i < out->decisions; i++)
        if (out->decision[i].quantity == quantity && strcmp(out->decision[i].batch, batch) == 0)
            return &out->decision[i];
    return NULL;
}

static const tn_crossing *crossing(const tn_judgement *out, tn_crossing_kind kind) {
    for (size_t i = 0; i < out->crossings; i++)
        if (out->crossing[i].kind == (uint32_t)kind) return &out->crossing[i];
    return NULL;
}

static bool wins(const tn_decision *d) {
    return d->ratio >= 1; /* false where there is no FPGA */
}

static void put_times(tn_buffer *out, const tn_decision *d) {
    static const char *const less[] = {"less time", "less energy"};
    tn_buffer_format(out, "%.3g times %s%s", wins(d) ? d->ratio : 1 / d->ratio, less[d->quantity],
                     d->sure ? "" : " (within the ranges)");
}

/* "energy counts, and the batch must stay below 4": what the FPGA wins at the own batch. */
static void put_win(tn_buffer *out, const tn_judgement *told, uint32_t quantity) {
    static const char *const counts[] = {"time counts", "energy counts"};
    const tn_decision *own = decision(told, quantity, "own");
    const tn_crossing *batch =
        crossing(told, quantity == TN_COMPARED_TIME ? TN_CROSSING_BATCH_TIME : TN_CROSSING_BATCH_ENERGY);
    tn_buffer_format(out, "%s (", counts[quantity]);
    put_times(out, own);
    tn_buffer_format(out, " than %s)", own->opponent);
    if (isnan(batch->value)) {
        tn_buffer_text(out, ", at any batch");
    } else {
        tn_buffer_format(out, ", and the batch must stay below %.0f", batch->value);
    }
}

/* "; or if " between reasons. */
static void begin_reason(tn_buffer *out, size_t *reasons) {
    if ((*reasons)++) tn_buffer_text(out, "; or if ");
}

/* Why to build it: what it wins at the own batch, and a budget of power that no other keeps. */
static void put_reasons(tn_buffer *out, const tn_judgement *told, const tn_comparison_row *fpga) {
    const double budget = crossing(told, TN_CROSSING_BUDGET)->value;
    const size_t begun = out->length;
    size_t reasons = 0;
    char watts[48], seconds[48];
    tn_buffer_text(out, "Build it if ");
    for (uint32_t quantity = 0; quantity < TN_COMPARED_QUANTITIES; quantity++) {
        if (!wins(decision(told, quantity, "own"))) continue;
        begin_reason(out, &reasons);
        put_win(out, told, quantity);
    }
    if (fpga->power_W < budget) {
        begin_reason(out, &reasons);
        tn_buffer_format(out, "the board must stay under %s, where %s a step are enough",
                         tn_quantity_text(budget, "W", watts),
                         tn_quantity_text(crossing(told, TN_CROSSING_LATENCY)->value, "s", seconds));
    }
    if (reasons > 0) return;
    out->length = begun;
    tn_buffer_text(
        out, "Do not build it: it takes neither the least time nor the least energy nor the least power");
}

/* Who is better at the best batches. */
static void put_others(tn_buffer *out, const tn_judgement *told) {
    const tn_decision *time = decision(told, TN_COMPARED_TIME, "best"),
                      *energy = decision(told, TN_COMPARED_ENERGY, "best");
    if (!wins(time) || !wins(energy)) tn_buffer_text(out, ". Else ");
    if (!wins(time)) {
        tn_buffer_format(out, "%s takes ", time->opponent);
        put_times(out, time);
    }
    if (!wins(energy)) {
        if (!wins(time) && strcmp(time->opponent, energy->opponent) == 0)
            tn_buffer_text(out, " and ");
        else
            tn_buffer_format(out, "%s%s takes ", wins(time) ? "" : ", and ", energy->opponent);
        put_times(out, energy);
    }
    tn_buffer_text(out, ".");
}

static tn_status put_verdict(judging *j, const tn_comparison_row *fpga) {
    const tn_judgement *told = j->out;
    tn_buffer text = {0};
    if (fpga) {
        put_reasons(&text, told, fpga);
        put_others(&text, told);
    } else {
        tn_buffer_format(&text, "No design fits the FPGA: %s takes the least time, %s the least energy.",
                         decision(told, TN_COMPARED_TIME, "best")->opponent,
                         decision(told, TN_COMPARED_ENERGY, "best")->opponent);
    }
    tn_status status = text.status == TN_OK
                           ? tn_arena_copy_text(j->arena, text.data, text.length, &j->out->verdict, j->error)
                           : tn_fail(j->error, text.status, "no memory for a verdict");
    tn_buffer_free(&text);
    return status;
}

tn_status tn_judge_rows(const tn_comparison_row *row, size_t rows, const tn_compared_step *step, size_t steps,
                        const tn_rent_terms *terms, double host_W, const tn_claims *claims, tn_arena *arena,
                        tn_judgement *judgement, tn_error *error) {
    judging j = {row, rows, arena, judgement, error};
    *judgement = (tn_judgement){.model = row[0].model};
    for (int any_batch = 0; any_batch < 2; any_batch++)
        for (uint32_t quantity = 0; quantity < TN_COMPARED_QUANTITIES; quantity++)
            TN_TRY(decide(&j, quantity, any_batch));
    TN_TRY(cross(&j, step, steps, terms, host_W));
    for (size_t i = 0; claims && i < claims->count && tn_claims_cover(claims, judgement->model); i++)
        if (claims->claim[i].what == TN_CLAIM_ENERGY_RATIO && judgement->ratios == 0)
            find_ratios(&j, &claims->claim[i]);
    return put_verdict(&j, least(&j, TN_COMPARED_ENERGY, true, false));
}
