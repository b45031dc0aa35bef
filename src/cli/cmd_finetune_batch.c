/* tenfold finetune max-batch MODEL: the largest batch by the published formula, a fitted one, and a count. */
#include "cli/cmd_finetune.h"
#include "cli/output.h"
#include "finetune/batch.h"
#include "finetune/gpu.h"
#include "text/number.h"

#include <math.h>
#include <string.h>

typedef struct {
    tn_batch_measured of; /* batch 0: not measured */
    uint64_t published, fitted, counted;
    bool has_published, has_fitted, is_measured;
    double counted_over_measured;
    double implied_sequence; /* tokens at which the count meets the measurement; 0: not measured */
} answer_row;

typedef struct {
    tn_common common;
    const char *gpu, *table_name, *data;
    double memory_GB, sparsity, c0, c1, model_GB; /* NAN: not given */
    tn_option_list sequence, set;
    tn_language_model model;
    tn_gpu_table table;
    tn_batch_formula published, fitted;
    bool has_published, has_fitted;
    tn_batch_fit fit;
    size_t rows, measured;
    answer_row *row;
} request;

/* --- --sequence TOKENS or DATASET=TOKENS */

static tn_status read_tokens(const char *text, const char *whole, double *tokens, tn_error *error) {
    uint64_t count;
    if (tn_read_count(text, &count) != TN_NUMBER_OK || count == 0 || count > 1000000000)
        return tn_fail(error, TN_INPUT,
                       "--sequence takes TOKENS or DATASET=TOKENS, 1 to 1e9 tokens, not '%.60s'", whole);
    *tokens = (double)count;
    return TN_OK;
}

/* The sequence of a data set (NULL: of none): what was given for it, else the one without a name. */
static tn_status sequence_of(const request *r, const char *dataset, double *tokens, tn_error *error) {
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
    if (*tokens > 0) return TN_OK;
    return tn_fail(error, TN_INPUT, "--sequence %s%sTOKENS must be given: tokens of a query, as padded",
                   dataset ? dataset : "", dataset ? "=" : "");
}

/* --- Rows: those of the data, or one a GPU. */

static tn_status rows_of_data(request *r, tn_arena *arena, tn_error *error) {
    tn_finetune_data data;
    tn_batch_measured *measured;
    TN_TRY(tn_finetune_load(r->data, arena, &data, error));
    TN_TRY(tn_finetune_keep(&data, r->gpu, r->model.name, NULL, error));
    TN_TRY(tn_batch_largest(&data, r->model.name, arena, &measured, &r->rows, error));
    TN_TRY(TN_NEW(arena, r->rows, &r->row, error));
    size_t kept = 0;
    for (size_t i = 0; i < r->rows; i++) {
        const tn_gpu *gpu;
        tn_batch_measured *of = &r->row[kept].of;
        *of = measured[i];
        if (!isnan(r->sparsity) && of->sparsity != r->sparsity) continue;
        TN_TRY(tn_gpu_find(&r->table, of->gpu, &gpu, error));
        of->memory_GB = gpu->memory_GB;
        TN_TRY(sequence_of(r, of->dataset, &of->sequence, error));
        kept++;
    }
    r->rows = r->measured = kept;
    if (kept > 0) return TN_OK;
    return tn_fail_at(error, TN_INPUT, (tn_position){.file = r->data}, "no measurements at sparsity %g",
                      r->sparsity);
}

static tn_status rows_of_gpus(request *r, tn_arena *arena, tn_error *error) {
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
        r->row[i].of = (tn_batch_measured){
            .gpu = gpu->name, .sparsity = sparsity, .memory_GB = gpu->memory_GB, .sequence = sequence};
    }
    return TN_OK;
}

/* --- The three ways. */

static tn_status choose_published(request *r, tn_error *error) {
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

static tn_status fit_formula(request *r, tn_arena *arena, tn_error *error) {
    tn_batch_measured *row;
    tn_language_count count;
    if (r->measured < 2) return TN_OK;
    TN_TRY(TN_NEW(arena, r->measured, &row, error));
    for (size_t i = 0; i < r->measured; i++) row[i] = r->row[i].of;
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

static tn_status count_row(const request *r, answer_row *row, tn_error *error) {
    tn_language_count count, one;
    uint64_t active;
    TN_TRY(tn_language_active(&r->model, row->of.sparsity, &active, error));
    TN_TRY(tn_language_count_of(&r->model, (uint64_t)row->of.sequence, active, &count, error));
    TN_TRY(tn_language_count_of(&r->model, 1, active, &one, error));
    row->counted = tn_batch_by_count(&count, row->of.memory_GB);
    row->has_published = r->has_published;
    row->has_fitted = r->has_fitted;
    row->is_measured = row->of.batch > 0;
    if (row->is_measured) row->counted_over_measured = (double)row->counted / row->of.batch;
    if (row->is_measured)
        row->implied_sequence = tn_batch_implied_sequence(&one, row->of.memory_GB, row->of.batch);
    if (r->has_published)
        row->published =
            tn_batch_by_formula(&r->published, row->of.memory_GB, row->of.sequence, row->of.sparsity);
    if (r->has_fitted)
        row->fitted = tn_batch_by_formula(&r->fitted, row->of.memory_GB, row->of.sequence, row->of.sparsity);
    return TN_OK;
}

/* --- Output */

static const tn_column row_columns[] = {
    TN_COLUMN_AS("gpu", answer_row, of.gpu, "gpu"),
    TN_COLUMN_AS("dataset", answer_row, of.dataset, "dataset"),
    TN_COLUMN_AS("sparsity", answer_row, of.sparsity, "sparsity"),
    TN_COLUMN_AS("sequence", answer_row, of.sequence, "tokens", TN_DIGITS(6)),
    TN_COLUMN_AS("memory_GB", answer_row, of.memory_GB, "memory, GB"),
    TN_COLUMN(answer_row, published, "published", TN_WHEN(answer_row, has_published)),
    TN_COLUMN(answer_row, fitted, "fitted", TN_WHEN(answer_row, has_fitted)),
    TN_COLUMN(answer_row, counted, "counted"),
    TN_COLUMN_AS("measured", answer_row, of.batch, "measured", TN_FIXED(0), TN_WHEN(answer_row, is_measured)),
    TN_COLUMN(answer_row, counted_over_measured, NULL, TN_WHEN(answer_row, is_measured)),
    TN_COLUMN(answer_row, implied_sequence, "count meets it at, tokens", TN_FIXED(0),
              TN_WHEN(answer_row, is_measured)),
};
static const tn_record row_record = TN_RECORD(answer_row, row_columns);

static const tn_column formula_columns[] = {
    TN_COLUMN(tn_batch_formula, c0, NULL),
    TN_COLUMN(tn_batch_formula, c1, NULL),
    TN_COLUMN(tn_batch_formula, model_GB, NULL),
};
static const tn_record formula_record = TN_RECORD(tn_batch_formula, formula_columns);

static const tn_column fitted_columns[] = {
    TN_COLUMN_AS("c0", request, fitted.c0, NULL),
    TN_COLUMN_AS("c1", request, fitted.c1, NULL),
    TN_COLUMN_AS("model_GB", request, fitted.model_GB, NULL),
    TN_RANGE("c0_interval", request, fit.c0.low, NULL),
    TN_RANGE("c1_interval", request, fit.c1.low, NULL),
    TN_COLUMN_AS("relative_rmse", request, fit.relative_rmse, NULL),
};
static const tn_record fitted_record = TN_RECORD(request, fitted_columns);

static const tn_column answer_columns[] = {
    TN_COLUMN_AS("model", request, model.name, NULL),
    TN_OBJECT("published", request, published, formula_record, NULL, TN_OPTIONAL,
              TN_WHEN(request, has_published)),
    TN_GROUP("fitted", fitted_record, NULL, TN_OPTIONAL, TN_WHEN(request, has_fitted)),
    TN_ROWS("rows", request, row, rows, row_record, NULL),
};
static const tn_record answer_record = TN_RECORD(request, answer_columns);

static tn_status print_table(const request *r, tn_error *error) {
    TN_TRY(tn_output_rows(&row_record, r->row, r->rows, error));
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

static tn_status answer(void *asked, int *answer, tn_error *error) {
    request *r = asked;
    tn_arena *arena = &r->common.arena;
    if (r->gpu && !isnan(r->memory_GB))
        return tn_fail(error, TN_INPUT, "--gpu and --memory-GB contradict each other; give one of them");
    if (r->data && !isnan(r->memory_GB))
        return tn_fail(error, TN_INPUT, "--memory-GB has no meaning with --data, whose GPUs the table knows");
    if (!isnan(r->memory_GB)) TN_TRY(tn_need_positive("--memory-GB", r->memory_GB, 1e6, error));
    TN_TRY(tn_language_model_load(r->common.argument[0], r->set.item, r->set.count, arena, &r->model, error));
    TN_TRY(tn_gpu_table_load(r->table_name, arena, &r->table, error));
    TN_TRY(choose_published(r, error));
    TN_TRY(r->data ? rows_of_data(r, arena, error) : rows_of_gpus(r, arena, error));
    TN_TRY(fit_formula(r, arena, error));
    bool fits = false;
    for (size_t i = 0; i < r->rows; i++) {
        TN_TRY(count_row(r, &r->row[i], error));
        fits = fits || r->row[i].counted > 0 || r->row[i].of.batch > 0;
    }
    *answer = fits ? 0 : 1;
    return r->common.json ? tn_output_json(&answer_record, r, error) : print_table(r, error);
}

static const request defaults = {
    .table_name = "gpus", .memory_GB = NAN, .sparsity = NAN, .c0 = NAN, .c1 = NAN, .model_GB = NAN};
static const tn_option options[] = {
    {"--sequence", TN_INTO(request, sequence), "[DATASET=]TOKENS",
     "tokens of a query, as padded; repeatable"},
    {"--sparsity", TN_INTO(request, sparsity), "S",
     "share of the experts at work; default the file's active"},
    {"--gpu", TN_INTO(request, gpu), "NAME", "only this GPU of the table; default all"},
    {"--memory-GB", TN_INTO(request, memory_GB), "GB", "a GPU of this memory instead"},
    {"--data", TN_INTO(request, data), "FILE.csv",
     "measurements whose largest batches C0 and C1 are fitted to"},
    {"--gpus", TN_INTO(request, table_name), "TABLE", "table of GPUs; default gpus"},
    {"--c0", TN_INTO(request, c0), "V", "C0 of the formula; default the model file's"},
    {"--c1", TN_INTO(request, c1), "V", "C1 of the formula; default the model file's"},
    {"--model-GB", TN_INTO(request, model_GB), "GB", "the model in the formula; default the model file's"},
    {"--set", TN_INTO(request, set), "KEY=VALUE", "overrides a key of the model; repeatable"},
};

const tn_command tn_finetune_batch_command = {
    .name = "finetune max-batch",
    .summary = "the largest batch that fits a GPU, three ways",
    .usage = "MODEL --sequence TOKENS [--gpu NAME | --memory-GB GB] [--data FILE.csv]",
    .arguments = {1, 1},
    TN_OPTIONS(options),
    TN_REQUEST(request, &defaults),
    .answer = answer,
};
