#include "cli/finetune_estimate.h"

#include "cli/cmd_finetune.h"
#include "cli/output.h"
#include "finetune/batch.h"
#include "finetune/estimate.h"
#include "finetune/gpu.h"
#include "plot/finetune_figures.h"
#include "text/number.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { GPUS_MOST = 64 };

/* A line of the answer: an estimate, or what a law fitted to measurements says. */
typedef struct {
    tn_bill bill;
    const char *basis, *batch_by, *note;
    tn_finetune_estimate of; /* of an estimate */
    bool is_estimate;
} line;

/* Estimates beside one group of measurements. */
typedef struct {
    const char *gpu, *dataset;
    uint64_t tokens, points, within;
    double least_ratio, most_ratio, mean_error;
    bool in_range; /* every measurement lies in the estimate's range */
} comparison;

typedef struct {
    const tn_estimate_asked *asked;
    tn_arena *arena;
    tn_error *error;
    tn_language_model model;
    tn_gpu_table table;
    const char *name, *method;
    uint64_t tokens, active, parameters, trained_parameters, queries;
    double epochs, sparsity;
    tn_finetune_data data;
    size_t lines, lefts, comparisons;
    line *line;
    tn_left_out *left;
    comparison *comparison;
} work;

bool tn_estimate_names_model(const char *name) {
    const char *dot = strrchr(name, '.'), *slash = strrchr(name, '/');
    if (!dot || (slash && dot < slash)) return true;
    return strcmp(dot, ".csv") != 0 && strcmp(dot, ".CSV") != 0;
}

/* ---- what is asked ---- */

static tn_status load_model(work *w) {
    static const char *const methods[] = {"full", "lora", "qlora"};
    const tn_estimate_asked *asked = w->asked;
    const char *set[TN_OPTION_MOST + 4];
    size_t count = 0;
    const char *method = asked->method;
    if (method) {
        size_t place = 0;
        while (place < 3 && strcmp(method, methods[place]) != 0) place++;
        if (place == 3) return tn_fail(w->error, TN_INPUT, "--method %s; it is full, lora or qlora", method);
        set[count++] = place == 0 ? "training.method=full" : "training.method=lora";
        /* 4-bit blocks of 64 with scales of 8 bits, these with scales of 32 bits per 256 blocks. */
        if (place == 2) set[count++] = "matrix_bits=4.127";
    }
    for (size_t i = 0; i < asked->set.count; i++) set[count++] = asked->set.item[i];
    TN_TRY(tn_language_model_load(asked->model, set, count, w->arena, &w->model, w->error));
    const tn_language_adapters *a = &w->model.training.adapters;
    if (w->model.training.method == TN_TUNE_LORA && a->rank == 0)
        return tn_fail(
            w->error, TN_INPUT,
            "%s says no adapters for --method lora; give --set training.adapters='{rank: 16, attention: "
            "true, feed_forward: true}'",
            w->model.name);
    w->name = w->model.name;
    w->method = method ? method : w->model.training.method == TN_TUNE_FULL ? "full" : "lora";
    return TN_OK;
}

/* The tokens of a query of this data set (NULL: of none), 0 where they are not given. */
static tn_status tokens_of(const work *w, const char *dataset, uint64_t *tokens) {
    uint64_t general = 0, own = 0;
    for (size_t i = 0; i < w->asked->tokens.count; i++) {
        const char *text = w->asked->tokens.item[i], *equals = strrchr(text, '=');
        uint64_t read;
        if (tn_read_count(equals ? equals + 1 : text, &read) != TN_NUMBER_OK || read == 0 ||
            read > 1000000000)
            return tn_fail(w->error, TN_INPUT,
                           "--tokens takes TOKENS or DATASET=TOKENS, 1 to 1e9 tokens, not '%.60s'", text);
        if (!equals) general = read;
        if (equals && dataset && strlen(dataset) == (size_t)(equals - text) &&
            strncmp(dataset, text, (size_t)(equals - text)) == 0)
            own = read;
    }
    *tokens = own ? own : general;
    return TN_OK;
}

static tn_status count_model(work *w) {
    tn_language_count count;
    const tn_language_feed_forward *f = &w->model.feed_forward;
    w->active = f->active;
    if (!isnan(w->asked->sparsity))
        TN_TRY(tn_language_active(&w->model, w->asked->sparsity, &w->active, w->error));
    w->sparsity = (double)w->active / (double)f->experts;
    TN_TRY(tokens_of(w, NULL, &w->tokens));
    TN_TRY(tn_language_count_of(&w->model, w->tokens ? w->tokens : 1, w->active, &count, w->error));
    w->parameters = count.parameters;
    w->trained_parameters = count.trained_parameters;
    return TN_OK;
}

/* ---- estimates ---- */

static void leave_out(work *w, const char *gpu, const char *why) {
    w->left[w->lefts++] = (tn_left_out){gpu, why};
}

static tn_status estimate(work *w, const tn_gpu *gpu) {
    tn_language_count count;
    TN_TRY(tn_language_count_of(&w->model, w->tokens, w->active, &count, w->error));
    uint64_t largest = tn_batch_by_count(&count, gpu->memory_GB),
             batch = w->asked->batch ? w->asked->batch : largest;
    if (largest == 0) {
        leave_out(w, gpu->name, "not even a batch of 1 fits its memory");
        return TN_OK;
    }
    if (batch > w->queries) batch = w->queries;
    line *made = &w->line[w->lines];
    *made = (line){.basis = "estimate",
                   .batch_by = w->asked->batch ? "given" : "memory",
                   .is_estimate = true,
                   .note = batch > largest ? "more than its memory holds by count" : NULL};
    TN_TRY(tn_finetune_estimate_step(&w->model, gpu, &w->table.framework, batch, w->tokens, w->active,
                                     &made->of, w->error));
    made->bill = tn_bill_of(gpu, (double)batch, made->of.queries_per_s);
    made->bill.predicted = true;
    if (gpu->usd_per_hour == 0 && !made->note) made->note = "the table has no price for it";
    TN_TRY(tn_bill_reckon(&made->bill, (double)w->queries, w->epochs, w->error));
    w->lines++;
    return TN_OK;
}

static tn_status estimate_named(work *w) {
    bool seen[GPUS_MOST] = {false};
    for (const char *at = w->asked->gpus; *at;) {
        size_t length = strcspn(at, ",");
        const char *name;
        const tn_gpu *gpu;
        TN_TRY(tn_arena_copy_text(w->arena, at, length, &name, w->error));
        TN_TRY(tn_gpu_find(&w->table, name, &gpu, w->error));
        size_t place = (size_t)(gpu - w->table.gpu);
        if (place < GPUS_MOST && seen[place])
            return tn_fail(w->error, TN_INPUT, "--gpu names %s twice", gpu->name);
        if (place < GPUS_MOST) seen[place] = true;
        TN_TRY(estimate(w, gpu));
        at += length + (at[length] == ',');
    }
    return TN_OK;
}

static tn_status estimate_all(work *w) {
    if (w->asked->gpus) return estimate_named(w);
    for (size_t i = 0; i < w->table.count; i++) TN_TRY(estimate(w, &w->table.gpu[i]));
    return TN_OK;
}

/* ---- beside measurements ---- */

static tn_status compare_point(work *w, const tn_gpu *gpu, const tn_finetune_point *point, comparison *c) {
    const double factor = 1.5;
    tn_finetune_estimate of;
    uint64_t active;
    TN_TRY(tn_language_active(&w->model, point->sparsity, &active, w->error));
    TN_TRY(tn_finetune_estimate_step(&w->model, gpu, &w->table.framework, (uint64_t)point->batch, c->tokens,
                                     active, &of, w->error));
    double ratio = of.queries_per_s.value / point->queries_per_s;
    c->least_ratio = fmin(c->least_ratio, ratio);
    c->most_ratio = fmax(c->most_ratio, ratio);
    c->mean_error += fabs(ratio - 1);
    c->within += ratio <= factor && ratio >= 1 / factor;
    c->in_range &=
        of.queries_per_s.low <= point->queries_per_s && point->queries_per_s <= of.queries_per_s.high;
    c->points++;
    return TN_OK;
}

static tn_status compare_group(work *w, const tn_finetune_group *group) {
    comparison *c = &w->comparison[w->comparisons];
    const tn_gpu *gpu;
    TN_TRY(tn_gpu_find(&w->table, group->gpu, &gpu, w->error));
    *c =
        (comparison){.gpu = group->gpu, .dataset = group->dataset, .least_ratio = INFINITY, .in_range = true};
    TN_TRY(tokens_of(w, group->dataset, &c->tokens));
    if (c->tokens == 0)
        return tn_fail(w->error, TN_INPUT,
                       "--tokens %s=TOKENS must be given: tokens of its queries, as padded", group->dataset);
    for (size_t i = 0; i < group->count; i++) TN_TRY(compare_point(w, gpu, &group->point[i], c));
    c->mean_error /= (double)c->points;
    w->comparisons++;
    return TN_OK;
}

/* The bill by the law of a group at its largest measured batch. */
static tn_status bill_group(work *w, const tn_finetune_group *group) {
    const tn_gpu *gpu;
    tn_finetune_study *study;
    tn_finetune_law law;
    tn_error why = {0};
    double largest = 0;
    TN_TRY(tn_gpu_find(&w->table, group->gpu, &gpu, w->error));
    TN_TRY(TN_NEW(w->arena, 1, &study, w->error));
    tn_status status = tn_study_and_choose(group, TN_LAW_BEST, 0, w->arena, study, &law, &why);
    if (status == TN_INPUT) {
        leave_out(w, gpu->name, "its measurements determine no law");
        return TN_OK;
    }
    if (status != TN_OK && w->error) *w->error = why;
    TN_TRY(status);
    const tn_finetune_fit *fit = &study->fit[law];
    for (size_t i = 0; i < group->count; i++)
        if (group->point[i].sparsity == w->sparsity) largest = fmax(largest, group->point[i].batch);
    if (w->asked->batch) largest = (double)w->asked->batch;
    if (largest == 0 || (fit->one_sparsity && fit->sparsity != w->sparsity)) {
        leave_out(w, gpu->name, "not measured at this sparsity");
        return TN_OK;
    }
    line *made = &w->line[w->lines++];
    *made = (line){
        .basis = "measured", .batch_by = w->asked->batch ? "given" : "measured", .note = group->dataset};
    made->bill = tn_bill_of(gpu, largest, tn_finetune_fitted(fit, largest, w->sparsity));
    return tn_bill_reckon(&made->bill, (double)w->queries, w->epochs, w->error);
}

static tn_status beside_measurements(work *w) {
    if (!w->asked->data) return TN_OK;
    TN_TRY(tn_finetune_load(w->asked->data, w->arena, &w->data, w->error));
    TN_TRY(tn_finetune_keep(&w->data, NULL, w->name, NULL, w->error));
    TN_TRY(TN_NEW(w->arena, w->data.count, &w->comparison, w->error));
    for (size_t i = 0; i < w->data.count; i++) {
        TN_TRY(compare_group(w, &w->data.group[i]));
        TN_TRY(bill_group(w, &w->data.group[i]));
    }
    return TN_OK;
}

/* ---- output ---- */

static int by_cost(const void *a, const void *b) {
    return tn_bill_compare(&((const line *)a)->bill, &((const line *)b)->bill);
}

static void show_note(const void *row, tn_buffer *cell) {
    const line *of = row;
    tn_show_price_note(&of->bill, of->note ? of->note : "", cell);
}

static const tn_column line_columns[] = {
    TN_COLUMN_AS("gpu", line, bill.gpu, "gpu"),
    TN_COLUMN(line, basis, "basis"),
    TN_COLUMN_AS("batch_size", line, bill.batch, "batch", TN_FIXED(0)),
    TN_COLUMN(line, batch_by, "by"),
    TN_COLUMN_AS("queries_per_s", line, bill.queries_per_s.value, "queries/s"),
    TN_RANGE("queries_per_s_interval", line, bill.queries_per_s.low, NULL),
    TN_COLUMN_AS("hours", line, bill.hours.value, "hours"),
    TN_RANGE("hours_interval", line, bill.hours.low, "range", TN_DIGITS(3)),
    TN_COLUMN_AS("usd", line, bill.usd.value, "cost, $", TN_FIXED(2)),
    TN_RANGE("usd_interval", line, bill.usd.low, "range", TN_DIGITS(3)),
    TN_COLUMN_AS("usd_per_hour", line, bill.usd_per_hour, "$/h", TN_FIXED(2)),
    TN_COLUMN_AS("price_unverified", line, bill.price_unverified, NULL),
    TN_COLUMN_AS("price_origin", line, bill.price_origin, "price"),
    TN_COLUMN_AS("price_date", line, bill.price_date, "of"),
    TN_COLUMN_AS("kernels_per_step", line, of.kernels, NULL, TN_WHEN(line, is_estimate)),
    TN_COLUMN_AS("seconds_per_step", line, of.seconds.value, NULL, TN_WHEN(line, is_estimate)),
    TN_COLUMN_AS("host_seconds", line, of.host_s, NULL, TN_WHEN(line, is_estimate)),
    TN_COLUMN_AS("weights_seconds", line, of.weights_s, NULL, TN_WHEN(line, is_estimate)),
    TN_COLUMN_AS("products_seconds", line, of.products_s, NULL, TN_WHEN(line, is_estimate)),
    TN_COLUMN_AS("activations_seconds", line, of.activations_s, NULL, TN_WHEN(line, is_estimate)),
    TN_COLUMN_AS("optimizer_seconds", line, of.optimizer_s, NULL, TN_WHEN(line, is_estimate)),
    TN_COLUMN(line, note, NULL),
    TN_WRITTEN(NULL, NULL, "note", .cell = show_note),
};
static const tn_record line_record = TN_RECORD(line, line_columns);

static const tn_column comparison_columns[] = {
    TN_COLUMN(comparison, gpu, "gpu"),
    TN_COLUMN(comparison, dataset, "data"),
    TN_COLUMN(comparison, tokens, "tokens"),
    TN_COLUMN(comparison, points, "measured"),
    TN_COLUMN(comparison, within, "within a factor of 1.5"),
    TN_COLUMN(comparison, least_ratio, "estimated / measured, least", TN_FIXED(2)),
    TN_COLUMN(comparison, most_ratio, "greatest", TN_FIXED(2)),
    TN_COLUMN_AS("mean_error", comparison, mean_error, "mean error", TN_PERCENT),
    TN_COLUMN_AS("all_in_range", comparison, in_range, "all in its range"),
};
static const tn_record comparison_record = TN_RECORD(comparison, comparison_columns);

static const tn_column answer_columns[] = {
    TN_COLUMN_AS("model", work, name, NULL),
    TN_COLUMN(work, method, NULL),
    TN_COLUMN(work, tokens, NULL),
    TN_COLUMN(work, parameters, NULL),
    TN_COLUMN(work, trained_parameters, NULL),
    TN_COLUMN(work, queries, NULL),
    TN_COLUMN(work, epochs, NULL),
    TN_COLUMN(work, sparsity, NULL),
    TN_ROWS("bills", work, line, lines, line_record, NULL),
    TN_ROWS("left_out", work, left, lefts, tn_left_out_record, NULL),
    TN_ROWS("beside_measurements", work, comparison, comparisons, comparison_record, NULL),
};
static const tn_record answer_record = TN_RECORD(work, answer_columns);

static tn_status print_people(const work *w) {
    char parameters[32], trained[32];
    tn_say("%s, %s: %s parameters, %s trained", w->name, w->method, tn_count_text(w->parameters, parameters),
           tn_count_text(w->trained_parameters, trained));
    if (w->tokens) tn_say("; %llu tokens a query", (unsigned long long)w->tokens);
    tn_say("\n\n");
    TN_TRY(tn_output_rows(&line_record, w->line, w->lines, w->error));
    bool assumed = false;
    for (size_t i = 0; i < w->lines; i++) assumed |= w->line[i].bill.price_unverified;
    tn_say_below_bills(w->left, w->lefts, assumed);
    if (w->comparisons) {
        tn_say("\nestimates beside what was measured\n");
        TN_TRY(tn_output_rows(&comparison_record, w->comparison, w->comparisons, w->error));
    }
    return TN_OK;
}

static tn_status plot(const work *w) {
    const char *heading;
    tn_bill *bill;
    size_t count = 0;
    if (!w->asked->plot) return TN_OK;
    TN_TRY(TN_NEW(w->arena, w->lines, &bill, w->error));
    for (size_t i = 0; i < w->lines; i++)
        if (!isnan(w->line[i].bill.usd.value)) bill[count++] = w->line[i].bill;
    if (count == 0) return TN_OK;
    TN_TRY(tn_arena_format(w->arena, &heading, w->error, "%llu queries, %g epochs: %s, %s, %llu tokens",
                           (unsigned long long)w->queries, w->epochs, w->name, w->method,
                           (unsigned long long)w->tokens));
    return tn_finetune_cost_figure(w->asked->plot, heading, bill, count, w->error);
}

tn_status tn_finetune_estimate_bill(const tn_estimate_asked *asked, int *answer, tn_error *error) {
    work w = {.asked = asked,
              .arena = &asked->common->arena,
              .error = error,
              .queries = asked->queries,
              .epochs = asked->epochs};
    TN_TRY(load_model(&w));
    TN_TRY(count_model(&w));
    TN_TRY(tn_gpu_table_load(asked->table, w.arena, &w.table, error));
    TN_TRY(tn_take_prices(&asked->price, &w.table, error));
    if (!w.table.framework.given)
        return tn_fail_at(error, TN_INPUT, (tn_position){.file = w.table.file},
                          "has no `framework`, from which throughputs are estimated");
    if (w.tokens == 0 && !asked->data)
        return tn_fail(error, TN_INPUT, "--tokens N is missing: tokens of a query, as padded");
    size_t most = w.table.count + TN_FINETUNE_MOST_GROUPS;
    TN_TRY(TN_NEW(w.arena, most, &w.line, error));
    TN_TRY(TN_NEW(w.arena, most, &w.left, error));
    if (w.tokens) TN_TRY(estimate_all(&w));
    TN_TRY(beside_measurements(&w));
    qsort(w.line, w.lines, sizeof *w.line, by_cost);
    TN_TRY(plot(&w));
    *answer = w.lines == 0;
    return asked->common->json ? tn_output_json(&answer_record, &w, error) : print_people(&w);
}
