/* tenfold ranks --matrix: one matrix, decomposed at some ranks or tolerances. */
#include "base/file.h"
#include "base/interrupt.h"
#include "base/memory.h"
#include "cli/output.h"
#include "cli/ranks.h"
#include "decompose/dense.h"
#include "decompose/factor.h"
#include "decompose/factored_files.h"
#include "decompose/matrix_source.h"
#include "decompose/ttsvd.h"
#include "text/csv.h"
#include "text/json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct {
    const char *asked; /* the item of --cap or --tolerance */
    double tolerance;  /* negative: by cap */
    tn_weight requested;
    tn_weight reached;
    uint64_t useful[TN_RANKS_MOST], parameters;
    double relative_error, tail_error, excess;
    double lower, upper; /* what the unfoldings alone say of the error; with --spectrum */
    double compression;
    bool capped, by_tolerance, bounded, randomised;
} row;

typedef struct {
    double *value;
    uint64_t count;
} spectrum;

typedef struct {
    const tn_ranks_asked *asked;
    tn_arena arena;
    tn_error *error;
    tn_weight weight; /* format and folding */
    uint64_t rows, columns;
    double *folded, norm; /* both divided by 2^exponent while the work goes on */
    int exponent;
    size_t count;
    row *row;
    size_t bonds;
    spectrum bond[TN_TRAIN_MODES];
} work;

static tn_status read_matrix(work *w) {
    const tn_ranks_asked *asked = w->asked;
    tn_matrix_source source = {.tensor = asked->tensor, .transposed = asked->transpose};
    tn_arrays *arrays;
    TN_TRY(tn_weight_rows(&w->weight, &w->rows, w->error));
    TN_TRY(tn_weight_columns(&w->weight, &w->columns, w->error));
    TN_TRY(tn_arrays_open(asked->matrix, &arrays, w->error));
    tn_status status = TN_ALLOC(w->rows * w->columns, &w->folded, w->error);
    if (status == TN_OK)
        status = tn_matrix_read(arrays, asked->matrix, &source, &w->weight, w->folded, w->error);
    tn_arrays_close(arrays);
    if (status == TN_OK) tn_dense_normalise(w->folded, w->rows * w->columns, &w->exponent);
    return status;
}

/* The norm and the singular values as they are without the scaling. */
static tn_status unscale(work *w) {
    w->norm = ldexp(w->norm, w->exponent);
    for (size_t b = 0; b < w->bonds; b++)
        for (uint64_t i = 0; i < w->bond[b].count; i++)
            w->bond[b].value[i] = ldexp(w->bond[b].value[i], w->exponent);
    if (isfinite(w->norm)) return TN_OK;
    return tn_fail_at(w->error, TN_INPUT, (tn_position){.file = w->asked->matrix},
                      "the norm of the matrix is more than 64-bit floating point holds; scale it down");
}

/* Every row's request, checked before any work. */
static tn_status read_requests(work *w) {
    const tn_ranks_asked *asked = w->asked;
    tn_format format;
    tn_ranks_texts texts;
    if (!asked->fold.count)
        return tn_fail(w->error, TN_INPUT, "--matrix needs --fold, such as --fold m=12x8x8,n=8x8x12");
    if (asked->fold.count > 1) return tn_fail(w->error, TN_INPUT, "--matrix takes one --fold; give one");
    if (!asked->cap == !asked->tolerance)
        return tn_fail(w->error, TN_INPUT, "--matrix needs either --cap R,.. or --tolerance E,..");
    TN_TRY(tn_ranks_format(asked->format ? asked->format : "tt", &format, w->error));
    TN_TRY(tn_ranks_split(asked->cap ? asked->cap : asked->tolerance, asked->cap ? "--cap" : "--tolerance",
                          &w->arena, &texts, w->error));
    TN_TRY(TN_NEW(&w->arena, texts.count, &w->row, w->error));
    w->count = texts.count;
    for (size_t i = 0; i < w->count; i++) {
        row *r = &w->row[i];
        r->asked = texts.item[i];
        r->tolerance = -1;
        if (!asked->cap) TN_TRY(tn_ranks_tolerance(r->asked, &r->tolerance, w->error));
        TN_TRY(tn_ranks_weight(format, asked->fold.item[0], asked->cap ? r->asked : "1", &r->requested,
                               w->error));
        if (asked->cap) TN_TRY(tn_weight_useful_ranks(&r->requested, r->useful, w->error));
    }
    w->weight = w->row[0].requested;
    return TN_OK;
}

static tn_status write_row(const work *w, const row *r, const tn_factored *factored) {
    const tn_ranks_asked *asked = w->asked;
    char path[1200];
    if (asked->case_folder) {
        if (w->count > 1)
            return tn_fail(w->error, TN_INPUT, "--case-out takes one cap or tolerance, not %zu", w->count);
        TN_TRY(tn_factored_write_case(asked->case_folder, factored, asked->tokens, asked->seed, w->error));
    }
    if (!asked->output) return TN_OK;
    if (w->count == 1)
        snprintf(path, sizeof path, "%.1000s/cores.npz", asked->output);
    else
        snprintf(path, sizeof path, "%.1000s/cores-%s-%.100s.npz", asked->output,
                 asked->cap ? "cap" : "tolerance", r->asked);
    TN_TRY(tn_factored_write_npz(path, &factored, NULL, 1, w->error));
    if (!asked->cores) return TN_OK;
    strcpy(strrchr(path, '.'), ".safetensors");
    return tn_factored_write_safetensors(path, &factored, NULL, 1, asked->half, w->error);
}

static tn_status decompose(work *w, row *r) {
    tn_svd_method method;
    tn_factored f;
    double squares;
    TN_TRY(tn_ranks_method(w->asked->method, &method, w->error));
    tn_factor_rule rule = {
        .capped = w->asked->cap != NULL, .tolerance = r->tolerance, .method = method, .seed = w->asked->seed};
    TN_TRY(tn_factor(&r->requested, w->folded, &rule, &f, w->error));
    r->reached = f.weight;
    r->randomised = f.randomised;
    r->tail_error = tn_factored_relative(&f, f.squared_loss);
    r->excess = tn_factored_relative(&f, f.squared_excess);
    w->norm = sqrt(f.squared_norm);
    tn_status status = tn_weight_parameters(&f.weight, &r->parameters, w->error);
    if (status == TN_OK) status = tn_factored_error(&f, w->folded, &squares, w->error);
    if (status == TN_OK) r->relative_error = tn_factored_relative(&f, squares);
    tn_factored_scale(&f, w->exponent);
    if (status == TN_OK) status = write_row(w, r, &f);
    tn_factored_free(&f);
    return status;
}

static tn_status find_spectrum(work *w) {
    uint64_t mode[TN_TRAIN_MODES];
    size_t modes = tn_fold_modes(&w->weight, mode);
    for (w->bonds = 0; w->bonds + 1 < modes; w->bonds++) {
        spectrum *s = &w->bond[w->bonds];
        TN_TRY(tn_unfolding_values(w->folded, mode, modes, w->bonds + 1, &s->value, &s->count, w->error));
    }
    return TN_OK;
}

/* The best train of these ranks loses at least the largest tail of an unfolding of the matrix beyond its
 * rank, and TT-SVD at most the root of the sum of all squared tails. */
static void bound_row(const work *w, row *r) {
    double most = 0, sum = 0;
    for (size_t b = 0; b < w->bonds; b++) {
        double tail = 0;
        for (uint64_t i = w->bond[b].count; i-- > r->reached.rank[b + 1];)
            tail += w->bond[b].value[i] * w->bond[b].value[i];
        most = fmax(most, tail);
        sum += tail;
    }
    r->lower = w->norm > 0 ? sqrt(most) / w->norm : 0;
    r->upper = w->norm > 0 ? sqrt(sum) / w->norm : 0;
}

/* Ranks of a train belong to bonds; those of rings and Tucker do not. */
static bool has_bounds(const work *w) {
    return w->bonds > 0 && (w->weight.format == TN_TT || w->weight.format == TN_TTM);
}

/* --- printing --- */

static bool is_one_rank(const char *text) {
    for (; *text; text++)
        if (*text == 'x') return false;
    return true;
}

/* The cap as it was asked for: one number, or one a bond. */
static void put_cap(const void *entry, tn_json *json) {
    const row *r = entry;
    uint64_t most = 0;
    for (uint32_t k = 0; k < r->requested.rank_count; k++)
        if (r->requested.rank[k] > most) most = r->requested.rank[k];
    if (is_one_rank(r->asked))
        tn_json_count(json, most);
    else
        tn_json_counts(json, r->requested.rank, r->requested.rank_count);
}

static void show_above(const void *entry, tn_buffer *cell) {
    const row *r = entry;
    double least = sqrt(fmax(0, r->tail_error * r->tail_error - r->excess * r->excess));
    tn_buffer_format(cell, "%.2g", r->tail_error - least);
}

#define CAPPED  TN_OPTIONAL, TN_WHEN(row, capped)
#define BOUNDED TN_DIGITS(6), TN_OPTIONAL, TN_WHEN(row, bounded)
static const tn_column row_columns[] = {
    TN_COLUMN_AS(NULL, row, asked, "cap", CAPPED),
    TN_WRITTEN("cap", put_cap, NULL, CAPPED),
    TN_COLUMN_AS(NULL, row, asked, "tolerance", TN_OPTIONAL, TN_WHEN(row, by_tolerance)),
    TN_COLUMN(row, tolerance, NULL, TN_OPTIONAL, TN_WHEN(row, by_tolerance)),
    TN_ARRAY("ranks", row, reached.rank, reached.rank_count, "ranks"),
    TN_ARRAY("requested_ranks", row, requested.rank, requested.rank_count, NULL, CAPPED),
    TN_ARRAY("useful_ranks", row, useful, requested.rank_count, "useful at this cap", CAPPED),
    TN_COLUMN(row, parameters, "parameters"),
    TN_COLUMN(row, compression, "compression", .unit = "x"),
    TN_COLUMN(row, relative_error, "error", TN_DIGITS(6)),
    TN_COLUMN(row, tail_error, "error by tails", TN_DIGITS(6)),
    TN_COLUMN_AS("lower_bound", row, lower, "at least, by unfoldings", BOUNDED),
    TN_COLUMN_AS("upper_bound", row, upper, "at most, by unfoldings", BOUNDED),
    TN_COLUMN(row, randomised, NULL),
    TN_COLUMN_AS("excess_bound", row, excess, NULL),
    TN_WRITTEN(NULL, NULL, "above the best by at most", .cell = show_above, TN_OPTIONAL,
               TN_WHEN(row, randomised)),
};
static const tn_record row_record = TN_RECORD(row, row_columns);

static tn_status print_json(const work *w) {
    tn_buffer out = {0};
    tn_json json;
    tn_answer_begin(&json, &out);
    tn_json_put_text(&json, "matrix", w->asked->matrix);
    tn_json_put_text(&json, "format", tn_format_names[w->weight.format]);
    tn_json_put_counts(&json, "m", w->weight.m, w->weight.d);
    tn_json_put_counts(&json, "n", w->weight.n, w->weight.d);
    tn_json_put_real(&json, "norm", w->norm);
    tn_json_put_count(&json, "seed", w->asked->seed);
    tn_json_key(&json, "rows");
    tn_record_rows(&row_record, w->row, w->count, &json);
    if (w->bonds) {
        tn_json_key(&json, "singular_values");
        tn_json_array(&json);
        for (size_t b = 0; b < w->bonds; b++) {
            tn_json_row(&json);
            for (uint64_t i = 0; i < w->bond[b].count; i++) tn_json_real(&json, w->bond[b].value[i]);
            tn_json_end(&json);
        }
        tn_json_end(&json);
    }
    tn_json_put_text(&json, "note", tn_ranks_caution);
    tn_json_end(&json);
    return tn_output(&out, w->error);
}

static bool any_randomised(const work *w) {
    for (size_t i = 0; i < w->count; i++)
        if (w->row[i].randomised) return true;
    return false;
}

static tn_status print_text(const work *w) {
    char m[TN_RANKS_TEXT], n[TN_RANKS_TEXT];
    tn_say("%s: %llu x %llu, format %s, m = %s, n = %s, norm %.6g\n\n", w->asked->matrix,
           (unsigned long long)w->rows, (unsigned long long)w->columns, tn_format_names[w->weight.format],
           tn_ranks_product_text(w->weight.m, w->weight.d, m),
           tn_ranks_product_text(w->weight.n, w->weight.d, n), w->norm);
    TN_TRY(tn_output_rows(&row_record, w->row, w->count, w->error));
    if (any_randomised(w))
        tn_say("\nSome bonds were cut by a randomised range finder (seed %llu); the errors are measured all "
               "the same.\n",
               (unsigned long long)w->asked->seed);
    for (size_t b = 0; b < w->bonds; b++)
        tn_say("%sbond %zu: %llu singular values, from %.6g to %.6g\n", b ? "" : "\n", b + 1,
               (unsigned long long)w->bond[b].count, w->bond[b].value[0],
               w->bond[b].value[w->bond[b].count - 1]);
    tn_say("\n%s\n", tn_ranks_caution);
    return TN_OK;
}

/* --- files --- */

static tn_status write_rows(const work *w) {
    tn_buffer out = {0};
    char text[TN_RANKS_TEXT], path[1200];
    static const char *const head[] = {"ranks", "parameters", "relative_error", "tail_error", "excess_bound"};
    tn_csv_put(&out, w->asked->cap ? "cap" : "tolerance");
    for (size_t i = 0; i < 5; i++) tn_csv_put(&out, head[i]);
    tn_csv_line(&out);
    for (size_t i = 0; i < w->count; i++) {
        const row *r = &w->row[i];
        tn_csv_put(&out, r->asked);
        tn_csv_put(&out, tn_ranks_list_text(r->reached.rank, r->reached.rank_count, text));
        tn_csv_put_count(&out, r->parameters);
        tn_csv_put_real(&out, r->relative_error);
        tn_csv_put_real(&out, r->tail_error);
        tn_csv_put_real(&out, r->excess);
        tn_csv_line(&out);
    }
    snprintf(path, sizeof path, "%.1000s/decomposition.csv", w->asked->output);
    tn_status status = tn_file_write_buffer(path, &out, w->error);
    tn_buffer_free(&out);
    return status;
}

static tn_status write_spectrum(const work *w) {
    tn_buffer out = {0};
    char path[1200];
    static const char *const head[] = {"bond", "index", "sigma"};
    for (size_t i = 0; i < 3; i++) tn_csv_put(&out, head[i]);
    tn_csv_line(&out);
    for (size_t b = 0; b < w->bonds; b++)
        for (uint64_t i = 0; i < w->bond[b].count; i++) {
            tn_csv_put_count(&out, b + 1);
            tn_csv_put_count(&out, i);
            tn_csv_put_real(&out, w->bond[b].value[i]);
            tn_csv_line(&out);
        }
    snprintf(path, sizeof path, "%.1000s/singular_values.csv", w->asked->output);
    tn_status status = tn_file_write_buffer(path, &out, w->error);
    tn_buffer_free(&out);
    return status;
}

static tn_status run(work *w) {
    TN_TRY(read_requests(w));
    TN_TRY(read_matrix(w));
    if (w->asked->output) TN_TRY(tn_folder_make(w->asked->output, w->error));
    for (size_t i = 0; i < w->count; i++) {
        if (tn_interrupted()) return tn_fail(w->error, TN_INTERRUPTED, "stopped");
        TN_TRY(decompose(w, &w->row[i]));
    }
    if (w->asked->spectrum) TN_TRY(find_spectrum(w));
    for (size_t i = 0; i < w->count; i++) {
        row *r = &w->row[i];
        r->capped = w->asked->cap != NULL;
        r->by_tolerance = !r->capped;
        r->bounded = has_bounds(w);
        r->compression = (double)(w->rows * w->columns) / (double)r->parameters;
        if (r->bounded) bound_row(w, r);
    }
    TN_TRY(unscale(w));
    if (w->asked->output) TN_TRY(write_rows(w));
    if (w->asked->output && w->asked->spectrum) TN_TRY(write_spectrum(w));
    return w->asked->common.json ? print_json(w) : print_text(w);
}

tn_status tn_ranks_matrix(const tn_ranks_asked *asked, tn_error *error) {
    work w = {.asked = asked, .error = error};
    tn_status status = run(&w);
    for (size_t b = 0; b < TN_TRAIN_MODES; b++) tn_free(w.bond[b].value);
    tn_free(w.folded);
    tn_arena_free(&w.arena);
    return status;
}

static const tn_column matrix_keys[] = {
    TN_ANSWER_KEY("matrix", "string"),    TN_ANSWER_KEY("format", "string"),
    TN_ANSWER_LIST("m", "integer"),       TN_ANSWER_LIST("n", "integer"),
    TN_ANSWER_KEY("norm", "number null"), TN_ANSWER_KEY("seed", "integer"),
    TN_ANSWER_ROWS("rows", row_record),   TN_ANSWER_LIST("singular_values", "array", TN_OPTIONAL),
    TN_ANSWER_KEY("note", "string"),
};
const tn_record tn_ranks_matrix_record = {.column = matrix_keys,
                                          .columns = sizeof matrix_keys / sizeof *matrix_keys};
