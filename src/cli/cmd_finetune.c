/* tenfold finetune fit|max-batch|cost|predict|count|profile: the fine-tuning cost model; what they share, and the two short ones. */
#include "cli/cmd_finetune.h"
#include "base/name_index.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "finetune/batch.h"
#include "finetune/count.h"
#include "finetune/finetune_figures.h"
#include "finetune/gpu.h"
#include "finetune/language_model.h"
#include "text/number.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

tn_status tn_model_memory(const char *name, tn_arena *arena, double *GB, tn_error *error) {
    tn_language_model model;
    tn_language_count count;
    bool found;
    *GB = NAN;
    TN_TRY(tn_language_model_find(name, arena, &model, &found, error));
    if (!found) return TN_OK;
    TN_TRY(tn_language_count_of(&model, 1, model.feed_forward.active, &count, error));
    *GB = model.published_at.line ? model.published.model_GB : (double)count.weight_bytes / 1e9;
    return TN_OK;
}

tn_status tn_need_positive(const char *what, double value, double most, tn_error *error) {
    if (value > 0 && value <= most) return TN_OK;
    return tn_fail(error, TN_INPUT, "%s is %g; it must be above 0 and at most %g", what, value, most);
}

tn_status tn_take_prices(const tn_option_list *given, tn_gpu_table *table, tn_error *error) {
    for (size_t i = 0; i < given->count; i++) {
        const char *text = given->item[i], *equals = strrchr(text, '=');
        char name[128] = "";
        double usd;
        size_t length = equals ? (size_t)(equals - text) : 0;
        if (tn_read_real(equals ? equals + 1 : text, &usd) != TN_NUMBER_OK || (equals && length == 0) ||
            length >= sizeof name)
            return tn_fail(
                error, TN_INPUT,
                "--price takes dollars an hour, of all GPUs (2.5) or of one (h100=2.5), not '%.60s'", text);
        memcpy(name, text, length);
        TN_TRY(tn_need_positive("--price", usd, 1e6, error));
        TN_TRY(tn_gpu_set_price(table, equals ? name : NULL, usd, error));
    }
    return TN_OK;
}

tn_status tn_take_method(const char *method, const char **set, size_t *count, tn_error *error) {
    static const char *const methods[] = {"full", "lora", "qlora"};
    size_t place = 0;
    if (!method) return TN_OK;
    while (place < 3 && strcmp(method, methods[place]) != 0) place++;
    if (place == 3) return tn_fail(error, TN_INPUT, "--method %s; it is full, lora or qlora", method);
    set[(*count)++] = place == 0 ? "training.method=full" : "training.method=lora";
    /* 4-bit blocks of 64 with scales of 8 bits, these with scales of 32 bits per 256 blocks. */
    if (place == 2) set[(*count)++] = "matrix_bits=4.127";
    return TN_OK;
}

static const tn_column left_columns[] = {
    TN_COLUMN(tn_left_out, gpu, NULL),
    TN_COLUMN(tn_left_out, why, NULL),
};
const tn_record tn_left_out_record = TN_RECORD(tn_left_out, left_columns);

void tn_show_price_note(const tn_bill *bill, const char *before, tn_buffer *cell) {
    tn_buffer_format(cell, "%s%s%s", before, *before && bill->price_unverified ? "; " : "",
                     bill->price_unverified ? "price assumed" : "");
}

void tn_say_below_bills(const tn_left_out *left, size_t lefts, bool assumed) {
    for (size_t i = 0; i < lefts; i++) tn_say("%s left out: %s\n", left[i].gpu, left[i].why);
    if (assumed)
        tn_say("\nprice assumed: nobody's offer; give yours by --price GPU=USD, or in a table by --gpus\n");
}

void tn_json_put_interval(tn_json *json, const char *key, const tn_finetune_interval *interval) {
    tn_json_key(json, key);
    if (!isfinite(interval->low) && !isfinite(interval->high)) {
        tn_json_null(json);
        return;
    }
    tn_json_row(json);
    tn_json_real(json, interval->low);
    tn_json_real(json, interval->high);
    tn_json_end(json);
}

/* ---- count MODEL: parameters, bytes and operations of a fine-tuning ---- */

/* What `count` answers, a line a quantity for people. */
typedef struct {
    const char *model;
    uint64_t sequence, active_experts;
    double sparsity;
    tn_language_count count;
} count_answer;

#define COUNTED(member, title, of_unit)                                                                      \
    TN_COLUMN_AS(#member, count_answer, count.member, title, .unit = (of_unit))
static const tn_column count_columns[] = {
    TN_COLUMN(count_answer, model, NULL),
    TN_COLUMN(count_answer, sequence, NULL),
    TN_COLUMN(count_answer, active_experts, NULL),
    TN_COLUMN(count_answer, sparsity, NULL),
    COUNTED(parameters, "parameters", NULL),
    COUNTED(active_parameters, "that a token meets", NULL),
    COUNTED(trained_parameters, "trained", NULL),
    COUNTED(weight_bytes, "weights", "bytes"),
    COUNTED(gradient_bytes, "gradients", "bytes"),
    COUNTED(optimizer_bytes, "optimizer", "bytes"),
    COUNTED(workspace_bytes, "workspace", "bytes"),
    COUNTED(reserve_bytes, "reserve", "bytes"),
    COUNTED(activation_bytes, "activations of an example", "bytes"),
    COUNTED(kept_bytes, "kept by its layers", "bytes"),
    COUNTED(layer_bytes, "its largest layer, run again", "bytes"),
    COUNTED(logit_bytes, "its logits among them", "bytes"),
    COUNTED(forward_macs, "forward pass of an example", "multiply-adds"),
    COUNTED(training_flops, "training step of an example", "FLOPs"),
};
static const tn_record count_record = TN_RECORD(count_answer, count_columns);

typedef struct {
    tn_common common;
    uint64_t sequence;
    double sparsity; /* 0: the file's active experts */
    tn_option_list set;
} count_request;

static tn_status answer_count(void *asked, int *answer, tn_error *error) {
    count_request *r = asked;
    tn_language_model model;
    count_answer data = {.sequence = r->sequence};
    (void)answer;
    if (r->sequence == 0 || r->sequence > 1000000000)
        return tn_fail(error, TN_INPUT, "--sequence must be given, 1 to 1e9 tokens an example");
    TN_TRY(tn_language_model_load(r->common.argument[0], r->set.item, r->set.count, &r->common.arena, &model,
                                  error));
    data.model = model.name;
    data.active_experts = model.feed_forward.active;
    if (r->sparsity != 0) TN_TRY(tn_language_active(&model, r->sparsity, &data.active_experts, error));
    data.sparsity = (double)data.active_experts / (double)model.feed_forward.experts;
    TN_TRY(tn_language_count_of(&model, r->sequence, data.active_experts, &data.count, error));
    return r->common.json ? tn_output_json(&count_record, &data, error)
                          : tn_output_lines(&count_record, &data, error);
}

static const tn_option count_options[] = {
    {"--sequence", TN_INTO(count_request, sequence), "TOKENS", "tokens of an example"},
    {"--sparsity", TN_INTO(count_request, sparsity), "S",
     "share of the experts at work; default the file's active"},
    {"--set", TN_INTO(count_request, set), "KEY=VALUE", "overrides a key of the model; repeatable"},
};

const tn_command tn_finetune_count_command = {
    .name = "finetune count",
    .summary = "parameters, bytes and operations from a model's architecture",
    .usage = "MODEL --sequence TOKENS [--sparsity S]",
    .arguments = {1, 1},
    TN_OPTIONS(count_options),
    TN_REQUEST(count_request, NULL),
    TN_ANSWERS(&count_record),
    .answer = answer_count,
};

/* ---- max-batch MODEL: the largest batch by the published formula, a fitted one, and a count ---- */

typedef struct {
    tn_batch_measured measured; /* batch 0: not measured */
    uint64_t published, fitted, counted;
    double largest, largest_low, largest_high; /* by the count, with what steps keep besides */
    bool has_published, has_fitted, is_measured;
    double counted_over_measured;
    double implied_sequence; /* tokens at which the count meets the measurement; 0: not measured */
} batch_row;

typedef struct {
    const char *gpu;
    double factor;
} kept_row;

typedef struct {
    tn_common common;
    const char *gpu, *table_name, *data, *plot;
    double memory_GB, sparsity, c0, c1, model_GB; /* NAN: not given */
    tn_option_list sequence, set;
    tn_language_model model;
    tn_gpu_table table;
    tn_batch_formula published, fitted;
    bool has_published, has_fitted;
    tn_batch_fit fit;
    size_t rows, measured;
    batch_row *row;
    size_t kept_rows; /* factors of what is kept, one a measured largest batch of any model */
    kept_row *kept;
} batch_request;

/* --- --sequence TOKENS or DATASET=TOKENS */

static tn_status read_tokens(const char *text, const char *whole, double *tokens, tn_error *error) {
    uint64_t count;
    if (tn_read_count(text, &count) != TN_NUMBER_OK || count == 0 || count > 1000000000)
        return tn_fail(error, TN_INPUT,
                       "--sequence takes TOKENS or DATASET=TOKENS, 1 to 1e9 tokens, not '%.60s'", whole);
    *tokens = (double)count;
    return TN_OK;
}

/* The sequence of a data set (NULL: of none): what was given for it, else the one without a name; 0: neither. */
static tn_status find_sequence(const batch_request *r, const char *dataset, double *tokens, tn_error *error) {
    double general = 0, own = 0;
    for (size_t i = 0; i < r->sequence.count; i++) {
        const char *text = r->sequence.item[i], *equals = strrchr(text, '=');
        bool matches = equals && dataset && strlen(dataset) == (size_t)(equals - text) &&
                       strncmp(dataset, text, (size_t)(equals - text)) == 0;
        double read;
        TN_TRY(read_tokens(equals ? equals + 1 : text, text, &read, error));
        if (matches) own = read;
        if (!equals) general = read;
    }
    *tokens = own > 0 ? own : general;
    return TN_OK;
}

static tn_status sequence_of(const batch_request *r, const char *dataset, double *tokens, tn_error *error) {
    TN_TRY(find_sequence(r, dataset, tokens, error));
    if (*tokens > 0) return TN_OK;
    return tn_fail(error, TN_INPUT, "--sequence %s%sTOKENS must be given: tokens of an example",
                   dataset ? dataset : "", dataset ? "=" : "");
}

/* --- Rows: those of the data, or one a GPU. */

static tn_status rows_of_data(batch_request *r, tn_arena *arena, tn_error *error) {
    tn_finetune_data data;
    tn_batch_measured *measured;
    TN_TRY(tn_finetune_load(r->data, arena, &data, error));
    TN_TRY(tn_finetune_keep(&data, r->gpu, r->model.name, NULL, error));
    TN_TRY(tn_batch_largest(&data, r->model.name, arena, &measured, &r->rows, error));
    TN_TRY(TN_NEW(arena, r->rows, &r->row, error));
    size_t kept = 0;
    for (size_t i = 0; i < r->rows; i++) {
        const tn_gpu *gpu;
        tn_batch_measured *batch_measured = &r->row[kept].measured;
        *batch_measured = measured[i];
        if (!isnan(r->sparsity) && batch_measured->sparsity != r->sparsity) continue;
        TN_TRY(tn_gpu_find(&r->table, batch_measured->gpu, &gpu, error));
        batch_measured->memory_GB = gpu->memory_GB;
        TN_TRY(sequence_of(r, batch_measured->dataset, &batch_measured->sequence, error));
        kept++;
    }
    r->rows = r->measured = kept;
    if (kept > 0) return TN_OK;
    return tn_fail_at(error, TN_INPUT, (tn_position){.file = r->data}, "no measurements at sparsity %g",
                      r->sparsity);
}

/* What the largest batches of one model say that steps keep; data sets of which no tokens are given say nothing. */
static tn_status add_kept(batch_request *r, const tn_finetune_data *data, const char *name, tn_arena *arena,
                          tn_error *error) {
    tn_language_model model = r->model;
    tn_batch_measured *row;
    size_t rows;
    bool found = true;
    if (strcmp(name, r->model.name) != 0) TN_TRY(tn_language_model_find(name, arena, &model, &found, error));
    if (!found) return TN_OK;
    TN_TRY(tn_batch_largest(data, name, arena, &row, &rows, error));
    for (size_t i = 0; i < rows; i++) {
        const tn_gpu *gpu;
        tn_language_count count;
        uint64_t active;
        double sequence;
        TN_TRY(tn_gpu_find(&r->table, row[i].gpu, &gpu, error));
        TN_TRY(find_sequence(r, row[i].dataset, &sequence, error));
        if (sequence == 0 || tn_language_active(&model, row[i].sparsity, &active, NULL) != TN_OK) continue;
        TN_TRY(tn_language_count_of(&model, (uint64_t)sequence, active, &count, error));
        r->kept[r->kept_rows++] =
            (kept_row){row[i].gpu, tn_batch_implied_factor(&count, gpu->memory_GB, row[i].batch)};
    }
    return TN_OK;
}

static tn_status find_kept(batch_request *r, tn_arena *arena, tn_error *error) {
    tn_finetune_data data;
    size_t points = 0;
    if (!r->data) return TN_OK;
    TN_TRY(tn_finetune_load(r->data, arena, &data, error));
    for (size_t i = 0; i < data.count; i++) points += data.group[i].count;
    TN_TRY(TN_NEW(arena, points, &r->kept, error));
    for (size_t i = 0; i < data.count; i++) {
        size_t first = 0;
        while (strcmp(data.group[first].model, data.group[i].model) != 0) first++;
        if (first == i) TN_TRY(add_kept(r, &data, data.group[i].model, arena, error));
    }
    return TN_OK;
}

/* From the measurements of all GPUs but this one; where they say nothing, the framework's. */
static tn_status factor_of(const batch_request *r, const char *gpu, tn_arena *arena, tn_batch_factor *factor,
                           tn_error *error) {
    const tn_framework *f = &r->table.framework;
    double *of_others;
    size_t others = 0;
    TN_TRY(TN_NEW(arena, r->kept_rows, &of_others, error));
    for (size_t i = 0; i < r->kept_rows; i++)
        if (strcmp(r->kept[i].gpu, gpu) != 0) of_others[others++] = r->kept[i].factor;
    if (!tn_batch_calibrate(of_others, others, factor)) *factor = tn_framework_factor(f, false);
    return TN_OK;
}

static tn_status rows_of_gpus(batch_request *r, tn_arena *arena, tn_error *error) {
    const tn_gpu *chosen = NULL;
    tn_gpu own = {.name = "given", .memory_GB = r->memory_GB};
    if (!isnan(r->memory_GB)) chosen = &own;
    if (r->gpu) TN_TRY(tn_gpu_find(&r->table, r->gpu, &chosen, error));
    const tn_language_feed_forward *f = &r->model.feed_forward;
    double sequence, sparsity = isnan(r->sparsity) ? (double)f->active / (double)f->experts : r->sparsity;
    TN_TRY(sequence_of(r, NULL, &sequence, error));
    r->rows = chosen ? 1 : r->table.count;
    TN_TRY(TN_NEW(arena, r->rows, &r->row, error));
    for (size_t i = 0; i < r->rows; i++) {
        const tn_gpu *gpu = chosen ? chosen : &r->table.gpu[i];
        r->row[i].measured = (tn_batch_measured){
            .gpu = gpu->name, .sparsity = sparsity, .memory_GB = gpu->memory_GB, .sequence = sequence};
    }
    return TN_OK;
}

/* --- The three ways. */

static tn_status choose_published(batch_request *r, tn_error *error) {
    r->has_published =
        r->model.published_at.line != 0 || (!isnan(r->c0) && !isnan(r->c1) && !isnan(r->model_GB));
    if (!r->has_published && (!isnan(r->c0) || !isnan(r->c1) || !isnan(r->model_GB)))
        return tn_fail(error, TN_INPUT,
                       "model %s has no published coefficients; give --c0, --c1 and --model-GB, all three",
                       r->model.name);
    r->published = (tn_batch_formula){isnan(r->c0) ? r->model.published.c0 : r->c0,
                                      isnan(r->c1) ? r->model.published.c1 : r->c1,
                                      isnan(r->model_GB) ? r->model.published.model_GB : r->model_GB};
    if (!r->has_published) return TN_OK;
    TN_TRY(tn_need_positive("--c0", r->published.c0, 1e9, error));
    TN_TRY(tn_need_positive("--model-GB", r->published.model_GB, 1e6, error));
    if (!(r->published.c1 >= 0 && r->published.c1 <= 1))
        return tn_fail(error, TN_INPUT, "--c1 is %g; it must be 0 to 1", r->published.c1);
    return TN_OK;
}

static tn_status fit_formula(batch_request *r, tn_arena *arena, tn_error *error) {
    tn_batch_measured *row;
    tn_language_count count;
    if (r->measured < 2) return TN_OK;
    TN_TRY(TN_NEW(arena, r->measured, &row, error));
    for (size_t i = 0; i < r->measured; i++) row[i] = r->row[i].measured;
    TN_TRY(tn_language_count_of(&r->model, 1, r->model.feed_forward.active, &count, error));
    r->fitted.model_GB = r->has_published ? r->published.model_GB : (double)count.weight_bytes / 1e9;
    tn_error cause;
    tn_status status = tn_batch_fit_rows(row, r->measured, r->fitted.model_GB, &r->fit, &cause);
    if (status == TN_INPUT) return TN_OK; /* shown as not fitted */
    if (status != TN_OK) return tn_fail(error, status, "%s", cause.message);
    r->has_fitted = true;
    r->fitted.c0 = r->fit.c0.value;
    r->fitted.c1 = r->fit.c1.value;
    return TN_OK;
}

static tn_status count_row(const batch_request *r, batch_row *row, tn_arena *arena, tn_error *error) {
    tn_language_count count, one;
    uint64_t active;
    TN_TRY(tn_language_active(&r->model, row->measured.sparsity, &active, error));
    TN_TRY(tn_language_count_of(&r->model, (uint64_t)row->measured.sequence, active, &count, error));
    TN_TRY(tn_language_count_of(&r->model, 1, active, &one, error));
    row->counted = tn_batch_by_count(&count, row->measured.memory_GB);
    tn_batch_factor factor;
    TN_TRY(factor_of(r, row->measured.gpu, arena, &factor, error));
    tn_batch_interval largest = tn_batch_by_memory(&count, row->measured.memory_GB, &factor);
    row->largest = (double)largest.value;
    row->largest_low = (double)largest.low;
    row->largest_high = (double)largest.high;
    row->has_published = r->has_published;
    row->has_fitted = r->has_fitted;
    row->is_measured = row->measured.batch > 0;
    if (row->is_measured) row->counted_over_measured = (double)row->counted / row->measured.batch;
    if (row->is_measured)
        row->implied_sequence = tn_batch_implied_sequence(&one, row->measured.memory_GB, row->measured.batch);
    if (r->has_published)
        row->published = tn_batch_by_formula(&r->published, row->measured.memory_GB, row->measured.sequence,
                                             row->measured.sparsity);
    if (r->has_fitted)
        row->fitted = tn_batch_by_formula(&r->fitted, row->measured.memory_GB, row->measured.sequence,
                                          row->measured.sparsity);
    return TN_OK;
}

/* --- Output */

static const tn_column batch_row_columns[] = {
    TN_COLUMN_AS("gpu", batch_row, measured.gpu, "gpu"),
    TN_COLUMN_AS("dataset", batch_row, measured.dataset, "dataset"),
    TN_COLUMN_AS("sparsity", batch_row, measured.sparsity, "sparsity"),
    TN_COLUMN_AS("sequence", batch_row, measured.sequence, "tokens", TN_DIGITS(6)),
    TN_COLUMN_AS("memory_GB", batch_row, measured.memory_GB, "memory, GB"),
    TN_COLUMN(batch_row, published, "published", TN_WHEN(batch_row, has_published)),
    TN_COLUMN(batch_row, fitted, "fitted", TN_WHEN(batch_row, has_fitted)),
    TN_COLUMN(batch_row, counted, "counted"),
    TN_COLUMN(batch_row, largest, "largest", TN_FIXED(0)),
    TN_RANGE("largest_interval", batch_row, largest_low, "range", TN_FIXED(0)),
    TN_COLUMN_AS("measured", batch_row, measured.batch, "measured", TN_FIXED(0),
                 TN_WHEN(batch_row, is_measured)),
    TN_COLUMN(batch_row, counted_over_measured, NULL, TN_WHEN(batch_row, is_measured)),
    TN_COLUMN(batch_row, implied_sequence, "count meets it at, tokens", TN_FIXED(0),
              TN_WHEN(batch_row, is_measured)),
};
static const tn_record batch_row_record = TN_RECORD(batch_row, batch_row_columns);

static const tn_column formula_columns[] = {
    TN_COLUMN(tn_batch_formula, c0, NULL),
    TN_COLUMN(tn_batch_formula, c1, NULL),
    TN_COLUMN(tn_batch_formula, model_GB, NULL),
};
static const tn_record formula_record = TN_RECORD(tn_batch_formula, formula_columns);

static const tn_column fitted_columns[] = {
    TN_COLUMN_AS("c0", batch_request, fitted.c0, NULL),
    TN_COLUMN_AS("c1", batch_request, fitted.c1, NULL),
    TN_COLUMN_AS("model_GB", batch_request, fitted.model_GB, NULL),
    TN_RANGE("c0_interval", batch_request, fit.c0.low, NULL),
    TN_RANGE("c1_interval", batch_request, fit.c1.low, NULL),
    TN_COLUMN_AS("relative_rmse", batch_request, fit.relative_rmse, NULL),
};
static const tn_record fitted_record = TN_RECORD(batch_request, fitted_columns);

static const tn_column batch_columns[] = {
    TN_COLUMN_AS("model", batch_request, model.name, NULL),
    TN_OBJECT("published", batch_request, published, formula_record, NULL, TN_OPTIONAL,
              TN_WHEN(batch_request, has_published)),
    TN_GROUP("fitted", fitted_record, NULL, TN_OPTIONAL, TN_WHEN(batch_request, has_fitted)),
    TN_ROWS("rows", batch_request, row, rows, batch_row_record, NULL),
};
static const tn_record batch_record = TN_RECORD(batch_request, batch_columns);

static tn_status print_table(const batch_request *r, tn_error *error) {
    TN_TRY(tn_output_rows(&batch_row_record, r->row, r->rows, error));
    if (r->has_published)
        tn_say("\npublished: C0 %g, C1 %g, model %g GB\n", r->published.c0, r->published.c1,
               r->published.model_GB);
    if (r->has_fitted)
        tn_say("fitted: C0 %.4g (%.4g to %.4g), C1 %.4g (%.4g to %.4g), model %g GB, %.1f %% off\n",
               r->fit.c0.value, r->fit.c0.low, r->fit.c0.high, r->fit.c1.value, r->fit.c1.low, r->fit.c1.high,
               r->fitted.model_GB, 100 * r->fit.relative_rmse);
    else if (r->measured)
        tn_say("fitted: C0 and C1 are not determined by these %zu largest batches\n", r->measured);
    return TN_OK;
}

/* --- The command */

/* A line for every sequence and sparsity among the rows. */
static tn_status plot_batches(const batch_request *r, tn_arena *arena, tn_error *error) {
    tn_batch_line *line;
    tn_batch_measured *measured;
    const char *heading;
    size_t lines = 0, count = 0;
    if (!r->plot) return TN_OK;
    TN_TRY(TN_NEW(arena, r->rows, &line, error));
    TN_TRY(TN_NEW(arena, r->rows, &measured, error));
    for (size_t i = 0; i < r->rows; i++) {
        const tn_batch_measured *batch_measured = &r->row[i].measured;
        uint64_t active;
        size_t k = 0;
        if (r->row[i].is_measured) measured[count++] = *batch_measured;
        while (k < lines &&
               (line[k].sparsity != batch_measured->sparsity || line[k].tokens != batch_measured->sequence))
            k++;
        if (k < lines) continue;
        tn_batch_line *made = &line[lines++];
        *made = (tn_batch_line){.sparsity = batch_measured->sparsity, .tokens = batch_measured->sequence};
        TN_TRY(tn_language_active(&r->model, batch_measured->sparsity, &active, error));
        TN_TRY(
            tn_language_count_of(&r->model, (uint64_t)batch_measured->sequence, active, &made->count, error));
        TN_TRY(factor_of(r, "", arena, &made->factor, error));
    }
    TN_TRY(tn_arena_format(arena, &heading, error, "%s: the largest batch", r->model.name));
    return tn_finetune_batch_figure(r->plot, heading, line, lines, measured, count, error);
}

static tn_status answer_batch(void *asked, int *answer, tn_error *error) {
    batch_request *r = asked;
    tn_arena *arena = &r->common.arena;
    if (r->gpu && !isnan(r->memory_GB))
        return tn_fail(error, TN_INPUT, "--gpu and --memory-GB contradict each other; give one of them");
    if (!isnan(r->memory_GB)) TN_TRY(tn_need_positive("--memory-GB", r->memory_GB, 1e6, error));
    TN_TRY(tn_language_model_load(r->common.argument[0], r->set.item, r->set.count, arena, &r->model, error));
    TN_TRY(tn_gpu_table_load(r->table_name, arena, &r->table, error));
    TN_TRY(choose_published(r, error));
    TN_TRY(r->data && isnan(r->memory_GB) ? rows_of_data(r, arena, error) : rows_of_gpus(r, arena, error));
    TN_TRY(fit_formula(r, arena, error));
    TN_TRY(find_kept(r, arena, error));
    bool fits = false;
    for (size_t i = 0; i < r->rows; i++) {
        TN_TRY(count_row(r, &r->row[i], arena, error));
        fits = fits || r->row[i].counted > 0 || r->row[i].measured.batch > 0;
    }
    TN_TRY(plot_batches(r, arena, error));
    *answer = fits ? 0 : 1;
    return r->common.json ? tn_output_json(&batch_record, r, error) : print_table(r, error);
}

static const batch_request batch_defaults = {
    .table_name = "gpus", .memory_GB = NAN, .sparsity = NAN, .c0 = NAN, .c1 = NAN, .model_GB = NAN};
static const tn_option batch_options[] = {
    {"--sequence", TN_INTO(batch_request, sequence), "[DATASET=]TOKENS", "tokens of an example; repeatable"},
    {"--sparsity", TN_INTO(batch_request, sparsity), "S",
     "share of the experts at work; default the file's active"},
    {"--gpu", TN_INTO(batch_request, gpu), "NAME", "only this GPU of the table; default all"},
    {"--memory-GB", TN_INTO(batch_request, memory_GB), "GB", "a GPU of this memory instead"},
    {"--plot", TN_INTO(batch_request, plot), "FILE", "figure over memory, .png, .svg or .pdf"},
    {"--data", TN_INTO(batch_request, data), "FILE.csv",
     "measurements whose largest batches C0 and C1 are fitted to"},
    {"--gpus", TN_INTO(batch_request, table_name), "TABLE", "table of GPUs; default gpus"},
    {"--c0", TN_INTO(batch_request, c0), "V", "C0 of the formula; default the model file's"},
    {"--c1", TN_INTO(batch_request, c1), "V", "C1 of the formula; default the model file's"},
    {"--model-GB", TN_INTO(batch_request, model_GB), "GB",
     "the model in the formula; default the model file's"},
    {"--set", TN_INTO(batch_request, set), "KEY=VALUE", "overrides a key of the model; repeatable"},
};

const tn_command tn_finetune_batch_command = {
    .name = "finetune max-batch",
    .summary = "the largest batch that fits a GPU, three ways",
    .usage = "MODEL --sequence TOKENS [--gpu NAME | --memory-GB GB] [--data FILE.csv]",
    .arguments = {1, 1},
    TN_OPTIONS(batch_options),
    TN_REQUEST(batch_request, &batch_defaults),
    TN_ANSWERS(&batch_record),
    .answer = answer_batch,
};

/* ---- list gpus: the table that is taken unless another is named ---- */

static void show_price(const void *row, tn_buffer *cell) {
    const tn_gpu *gpu = row;
    if (gpu->usd_per_hour > 0)
        tn_buffer_format(cell, "%.2f, %s%s%s", gpu->usd_per_hour,
                         gpu->price_unverified ? "assumed" : gpu->price_origin, gpu->price_date ? " " : "",
                         gpu->price_date ? gpu->price_date : "");
    else
        tn_buffer_text(cell, "-");
}

static const tn_column gpu_columns[] = {
    TN_COLUMN(tn_gpu, name, "gpu"),
    TN_COLUMN(tn_gpu, memory_GB, "memory, GB"),
    TN_COLUMN(tn_gpu, peak_TFLOPS, "peak, TFLOPS"),
    TN_COLUMN(tn_gpu, bandwidth_GBps, "bandwidth, GB/s"),
    TN_COLUMN(tn_gpu, link_GBps, "link, GB/s"),
    TN_COLUMN(tn_gpu, usd_per_hour, NULL),
    TN_COLUMN(tn_gpu, price_origin, NULL),
    TN_COLUMN(tn_gpu, price_date, NULL),
    TN_WRITTEN(NULL, NULL, "$/h", .cell = show_price),
};
static const tn_record gpu_record = TN_RECORD(tn_gpu, gpu_columns);

static const tn_column gpu_list_columns[] = {
    TN_COLUMN_AS("table", tn_gpu_table, file, NULL),
    TN_ROWS("gpus", tn_gpu_table, gpu, count, gpu_record, NULL),
};
static const tn_record gpu_list_record = TN_RECORD(tn_gpu_table, gpu_list_columns);

tn_status tn_list_gpus(tn_common *common, tn_error *error) {
    tn_gpu_table table;
    TN_TRY(tn_gpu_table_load("gpus", &common->arena, &table, error));
    if (common->json) return tn_output_json(&gpu_list_record, &table, error);
    return tn_output_rows(&gpu_record, table.gpu, table.count, error);
}

/* ---- the command ---- */

static const tn_command *const parts[] = {
    &tn_finetune_fit_command,     &tn_finetune_batch_command, &tn_finetune_cost_command,
    &tn_finetune_predict_command, &tn_finetune_count_command, &tn_finetune_profile_command,
};

const tn_command tn_command_finetune = {
    .name = "finetune",
    .summary = "what fine-tuning a language model costs: throughput laws, largest batch, bill",
    .usage = "fit DATA.csv [OPTIONS]\n"
             "max-batch MODEL --sequence TOKENS [OPTIONS]\n"
             "cost [MODEL|DATA.csv] --queries N --epochs N [OPTIONS]\n"
             "predict DATA.csv --gpu NAME [OPTIONS]\n"
             "count MODEL --sequence TOKENS [OPTIONS]\n"
             "profile MODEL --gpu NAME --batch B [OPTIONS]",
    TN_PARTS(parts),
};
