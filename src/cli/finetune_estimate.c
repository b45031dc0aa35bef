#include "cli/finetune_estimate.h"

#include "base/checked.h"
#include "cli/cmd_finetune.h"
#include "cli/output.h"
#include "finetune/batch.h"
#include "finetune/finetune_figures.h"
#include "finetune/gpu.h"
#include "finetune/step.h"
#include "text/number.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { GPUS_MOST = 64 };

/* A line of the answer: an estimate, or what a law fitted to measurements says. */
typedef struct {
    tn_bill bill;
    const char *basis, *batch_by, *note, *parallel; /* parallel: how several GPUs share; NULL: one GPU */
    tn_finetune_estimate estimate;                  /* of an estimate */
    tn_batch_interval largest;                      /* by memory, of an estimate */
    double batch_low, batch_high, own_tokens;       /* own: of a query, without padding */
    uint64_t gpus;
    bool is_estimate;
} line;

/* Estimates beside one group of measurements. */
typedef struct {
    const char *gpu, *dataset;
    tn_query_lengths lengths;
    uint64_t points, covered, in_range; /* in_range: measurements that lie in their estimate's range */
    double least_ratio, most_ratio, mean_error;
    bool all_in_range;
} comparison;

typedef struct {
    const tn_estimate_asked *asked;
    tn_arena *arena;
    tn_error *error;
    tn_language_model model;
    tn_gpu_table table;
    const char *name, *method;
    tn_query_lengths lengths;
    bool has_lengths, lengths_known;
    double tokens; /* of a query, at the middle; 0: not given */
    uint64_t active, parameters, trained_parameters, queries;
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
    const tn_estimate_asked *asked = w->asked;
    const char *set[TN_OPTION_MOST + 4];
    size_t count = 0;
    const char *method = asked->method;
    TN_TRY(tn_take_method(method, set, &count, w->error));
    for (size_t i = 0; i < asked->set.count; i++) set[count++] = asked->set.item[i];
    TN_TRY(tn_language_model_load(asked->model, set, count, w->arena, &w->model, w->error));
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

/* The lengths that were asked for, of this data set (NULL: of none); none is no error. */
static tn_status lengths_of(work *w, const char *dataset, tn_query_lengths *lengths, bool *found) {
    const tn_estimate_asked *asked = w->asked;
    uint64_t tokens;
    double longest = isnan(asked->longest) ? INFINITY : asked->longest;
    TN_TRY(tokens_of(w, dataset, &tokens));
    if (asked->lengths && (asked->tokens.count || !isnan(asked->spread)))
        return tn_fail(w->error, TN_INPUT,
                       "--lengths says what --tokens and --spread say; give the one or the others");
    if (!isnan(asked->longest) && !(longest >= 1 && longest <= TN_QUERY_LENGTHS_MOST))
        return tn_fail(w->error, TN_INPUT, "--longest is %g; it must be 1 to %d tokens", longest,
                       TN_QUERY_LENGTHS_MOST);
    if (!isnan(asked->spread) && !(asked->spread >= 0 && asked->spread <= 5))
        return tn_fail(w->error, TN_INPUT, "--spread is %g; it must be 0 (all alike) to 5", asked->spread);
    *found = asked->lengths || tokens;
    if (asked->lengths)
        TN_TRY(tn_query_lengths_load(asked->lengths, longest, w->arena, lengths, w->error));
    else
        *lengths = (tn_query_lengths){
            .median = (double)tokens, .spread = isnan(asked->spread) ? 0 : asked->spread, .longest = longest};
    lengths->packed = asked->packed;
    w->lengths_known = asked->lengths || asked->packed || !isnan(asked->spread);
    return TN_OK;
}

static tn_status count_model(work *w) {
    tn_language_count count;
    const tn_language_feed_forward *f = &w->model.feed_forward;
    w->active = f->active;
    if (!isnan(w->asked->sparsity))
        TN_TRY(tn_language_active(&w->model, w->asked->sparsity, &w->active, w->error));
    w->sparsity = (double)w->active / (double)f->experts;
    TN_TRY(lengths_of(w, NULL, &w->lengths, &w->has_lengths));
    if (w->has_lengths) w->tokens = w->lengths.median;
    TN_TRY(tn_language_count_of(&w->model, 1, w->active, &count, w->error));
    w->parameters = count.parameters;
    w->trained_parameters = count.trained_parameters;
    return TN_OK;
}

/* ---- estimates ---- */

static void leave_out(work *w, const char *gpu, const char *why) {
    w->left[w->lefts++] = (tn_left_out){gpu, why};
}

static uint64_t at_least_one(uint64_t count) {
    return count ? count : 1;
}

static tn_finetune_work job(const work *w, const tn_query_lengths *lengths, uint64_t active) {
    return (tn_finetune_work){.model = &w->model,
                              .framework = &w->table.framework,
                              .lengths = lengths,
                              .lengths_known = w->lengths_known,
                              .active = active,
                              .queries = (double)w->queries,
                              .gpus = at_least_one(w->asked->gpus_per_node),
                              .nodes = at_least_one(w->asked->nodes)};
}

/* The estimate of one way to use the GPUs; the batch, 0 where not even 1 fits, is that of each of them. */
static tn_status estimate_way(work *w, const tn_finetune_work *finetune_work, const tn_gpu *gpu, line *made) {
    uint64_t all = finetune_work->gpus * finetune_work->nodes, most = tn_ceil_div(w->queries, all);
    TN_TRY(tn_finetune_largest_batch(finetune_work, gpu->memory_GB, &made->largest, w->error));
    tn_batch_interval batch = made->largest;
    if (w->asked->batch) {
        batch.value = w->asked->batch;
        made->batch_by = "given";
        if (batch.value > batch.high) made->note = "more than its memory holds";
    } else {
        if (batch.high == 0) return TN_OK;
        if (batch.value == 0) made->note = "may not fit";
        if (batch.value == 0) batch.value = 1;
        made->batch_by = "memory";
    }
    if (batch.value > most) batch.value = most;
    if (batch.high > most) batch.high = most;
    made->batch_low = w->asked->batch ? NAN : (double)batch.low;
    made->batch_high = w->asked->batch ? NAN : (double)batch.high;
    made->own_tokens = tn_query_lengths_mean(finetune_work->lengths);
    made->gpus = all;
    made->parallel = all == 1 ? NULL : finetune_work->sharded ? "sharded" : "replicated";
    TN_TRY(w->asked->batch
               ? tn_finetune_estimate_step(finetune_work, gpu, batch.value, &made->estimate, w->error)
               : tn_finetune_estimate_largest(finetune_work, gpu, &batch, &made->estimate, w->error));
    made->bill = tn_bill_of(gpu, (double)batch.value, made->estimate.queries_per_s);
    return TN_OK;
}

/* Of several GPUs, how few of them would hold a batch of 1 in shards. */
static tn_status say_too_small(work *w, const tn_gpu *gpu, tn_finetune_work finetune_work) {
    const char *why = "not even a batch of 1 fits its memory, nor in 1,024 shards";
    tn_batch_interval batch;
    finetune_work.sharded = true;
    finetune_work.nodes = 1;
    for (finetune_work.gpus = 2; finetune_work.gpus <= 1024; finetune_work.gpus *= 2) {
        TN_TRY(tn_finetune_largest_batch(&finetune_work, gpu->memory_GB, &batch, w->error));
        if (batch.value == 0) continue;
        TN_TRY(
            tn_arena_format(w->arena, &why, w->error,
                            "not even a batch of 1 fits its memory; sharded over %llu it does: --gpus %llu",
                            (unsigned long long)finetune_work.gpus, (unsigned long long)finetune_work.gpus));
        break;
    }
    leave_out(w, gpu->name, why);
    return TN_OK;
}

static tn_status estimate(work *w, const tn_gpu *gpu) {
    tn_finetune_work finetune_work = job(w, &w->lengths, w->active);
    line way[2] = {{.basis = "estimate", .is_estimate = true}, {.basis = "estimate", .is_estimate = true}};
    int best = 0;
    TN_TRY(estimate_way(w, &finetune_work, gpu, &way[0]));
    if (finetune_work.gpus * finetune_work.nodes > 1) {
        finetune_work.sharded = true;
        TN_TRY(estimate_way(w, &finetune_work, gpu, &way[1]));
        best = way[1].estimate.queries_per_s.value > way[0].estimate.queries_per_s.value;
    }
    if (way[best].estimate.queries_per_s.value == 0) return say_too_small(w, gpu, finetune_work);
    line *made = &w->line[w->lines++];
    *made = way[best];
    made->bill.predicted = true;
    made->bill.usd_per_hour *= (double)made->gpus;
    if (gpu->usd_per_hour == 0 && !made->note) made->note = "the table has no price for it";
    return tn_bill_reckon(&made->bill, (double)w->queries, w->epochs, w->error);
}

static tn_status estimate_named(work *w) {
    bool seen[GPUS_MOST] = {false};
    for (const char *cursor = w->asked->names; *cursor;) {
        size_t length = strcspn(cursor, ",");
        const char *name;
        const tn_gpu *gpu;
        TN_TRY(tn_arena_copy_text(w->arena, cursor, length, &name, w->error));
        TN_TRY(tn_gpu_find(&w->table, name, &gpu, w->error));
        size_t place = (size_t)(gpu - w->table.gpu);
        if (place < GPUS_MOST && seen[place])
            return tn_fail(w->error, TN_INPUT, "--gpu names %s twice", gpu->name);
        if (place < GPUS_MOST) seen[place] = true;
        TN_TRY(estimate(w, gpu));
        cursor += length + (cursor[length] == ',');
    }
    return TN_OK;
}

static tn_status estimate_all(work *w) {
    if (w->asked->names) return estimate_named(w);
    for (size_t i = 0; i < w->table.count; i++) TN_TRY(estimate(w, &w->table.gpu[i]));
    return TN_OK;
}

/* ---- beside measurements ---- */

static tn_status compare_point(work *w, const tn_gpu *gpu, const tn_finetune_point *point, comparison *c) {
    const double factor = 1.5;
    tn_finetune_estimate estimate;
    uint64_t active;
    TN_TRY(tn_language_active(&w->model, point->sparsity, &active, w->error));
    tn_finetune_work job_of = job(w, &c->lengths, active);
    job_of.gpus = job_of.nodes = 1;
    TN_TRY(tn_finetune_estimate_step(&job_of, gpu, (uint64_t)point->batch, &estimate, w->error));
    double ratio = estimate.queries_per_s.value / point->queries_per_s;
    c->least_ratio = fmin(c->least_ratio, ratio);
    c->most_ratio = fmax(c->most_ratio, ratio);
    c->mean_error += fabs(ratio - 1);
    c->covered += ratio <= factor && ratio >= 1 / factor;
    c->in_range += estimate.queries_per_s.low <= point->queries_per_s &&
                   point->queries_per_s <= estimate.queries_per_s.high;
    c->points++;
    return TN_OK;
}

static tn_status compare_group(work *w, const tn_finetune_group *group) {
    comparison *c = &w->comparison[w->comparisons];
    const tn_gpu *gpu;
    TN_TRY(tn_gpu_find(&w->table, group->gpu, &gpu, w->error));
    *c = (comparison){.gpu = group->gpu, .dataset = group->dataset, .least_ratio = INFINITY};
    bool found;
    TN_TRY(lengths_of(w, group->dataset, &c->lengths, &found));
    if (!found)
        return tn_fail(w->error, TN_INPUT, "--tokens %s=TOKENS must be given: tokens of its queries",
                       group->dataset);
    for (size_t i = 0; i < group->count; i++) TN_TRY(compare_point(w, gpu, &group->point[i], c));
    c->mean_error /= (double)c->points;
    c->all_in_range = c->in_range == c->points;
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
    *made = (line){.basis = "measured",
                   .batch_by = w->asked->batch ? "given" : "measured",
                   .note = group->dataset,
                   .batch_low = NAN,
                   .batch_high = NAN,
                   .gpus = 1};
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

static void show_price(const void *row, tn_buffer *cell) {
    const tn_bill *bill = &((const line *)row)->bill;
    if (isnan(bill->usd_per_hour)) {
        tn_buffer_text(cell, "-");
        return;
    }
    tn_buffer_format(cell, "%.2f %s%s%s", bill->usd_per_hour,
                     bill->price_unverified ? "assumed" : bill->price_origin, bill->price_date ? " " : "",
                     bill->price_date ? bill->price_date : "");
}

static void show_note(const void *row, tn_buffer *cell) {
    const line *entry = row;
    tn_buffer_format(cell, "%s%s", entry->is_estimate ? "" : "measured: ", entry->note ? entry->note : "");
}

static const tn_column line_columns[] = {
    TN_COLUMN_AS("gpu", line, bill.gpu, "gpu"),
    TN_COLUMN(line, gpus, NULL),
    TN_COLUMN(line, parallel, "shared out", TN_OPTIONAL),
    TN_COLUMN(line, basis, NULL),
    TN_COLUMN_AS("batch_size", line, bill.batch, "batch", TN_FIXED(0)),
    TN_RANGE("batch_interval", line, batch_low, "range", TN_FIXED(0)),
    TN_COLUMN(line, batch_by, NULL),
    TN_COLUMN_AS("queries_per_s", line, bill.queries_per_s.value, "examples/s", TN_DIGITS(3)),
    TN_RANGE("queries_per_s_interval", line, bill.queries_per_s.low, NULL),
    TN_COLUMN_AS("hours", line, bill.hours.value, "hours", TN_DIGITS(3)),
    TN_RANGE("hours_interval", line, bill.hours.low, NULL),
    TN_COLUMN_AS("usd", line, bill.usd.value, "cost, $", TN_FIXED(2)),
    TN_RANGE("usd_interval", line, bill.usd.low, "range", TN_DIGITS(3)),
    TN_COLUMN_AS("usd_per_hour", line, bill.usd_per_hour, NULL),
    TN_WRITTEN(NULL, NULL, "$/h", .cell = show_price),
    TN_COLUMN_AS("price_unverified", line, bill.price_unverified, NULL),
    TN_COLUMN_AS("price_origin", line, bill.price_origin, NULL),
    TN_COLUMN_AS("price_date", line, bill.price_date, NULL),
    TN_COLUMN_AS("padded_tokens", line, estimate.tokens, NULL, TN_WHEN(line, is_estimate)),
    TN_COLUMN(line, own_tokens, NULL, TN_WHEN(line, is_estimate)),
    TN_COLUMN_AS("kernels_per_step", line, estimate.kernels, NULL, TN_WHEN(line, is_estimate)),
    TN_COLUMN_AS("seconds_per_step", line, estimate.seconds.value, NULL, TN_WHEN(line, is_estimate)),
    TN_COLUMN_AS("host_seconds", line, estimate.host_s, NULL, TN_WHEN(line, is_estimate)),
    TN_COLUMN_AS("weights_seconds", line, estimate.weights_s, NULL, TN_WHEN(line, is_estimate)),
    TN_COLUMN_AS("products_seconds", line, estimate.products_s, NULL, TN_WHEN(line, is_estimate)),
    TN_COLUMN_AS("activations_seconds", line, estimate.activations_s, NULL, TN_WHEN(line, is_estimate)),
    TN_COLUMN_AS("optimizer_seconds", line, estimate.optimizer_s, NULL, TN_WHEN(line, is_estimate)),
    TN_COLUMN_AS("communication_seconds", line, estimate.communication_s, NULL, TN_WHEN(line, is_estimate)),
    TN_COLUMN(line, note, NULL),
    TN_WRITTEN(NULL, NULL, "note", .cell = show_note),
};
static const tn_record line_record = TN_RECORD(line, line_columns);

static const tn_column comparison_columns[] = {
    TN_COLUMN(comparison, gpu, "gpu"),
    TN_COLUMN(comparison, dataset, "data"),
    TN_COLUMN_AS("tokens", comparison, lengths.median, "tokens"),
    TN_COLUMN(comparison, points, "measured"),
    TN_COLUMN_AS("within", comparison, covered, "within a factor of 1.5"),
    TN_COLUMN(comparison, least_ratio, "estimated / measured, least", TN_FIXED(2)),
    TN_COLUMN(comparison, most_ratio, "greatest", TN_FIXED(2)),
    TN_COLUMN_AS("mean_error", comparison, mean_error, "mean error", TN_PERCENT),
    TN_COLUMN(comparison, in_range, "in their range"),
    TN_COLUMN(comparison, all_in_range, NULL),
};
static const tn_record comparison_record = TN_RECORD(comparison, comparison_columns);

static const tn_column answer_columns[] = {
    TN_COLUMN_AS("model", work, name, NULL),
    TN_COLUMN(work, method, NULL),
    TN_AMOUNT("tokens", work, tokens, NULL),
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

static void say_lengths(const work *w) {
    const tn_query_lengths *l = &w->lengths;
    double mean = tn_query_lengths_mean(l);
    if (!w->has_lengths) return;
    if (l->count)
        tn_say("%zu lengths: median %g tokens, at most %llu", l->count, l->median,
               (unsigned long long)l->token[l->count - 1]);
    else
        tn_say("%g tokens an example%s", l->median, l->spread > 0 ? " (median)" : "");
    if (l->spread > 0) tn_say(", spread %g", l->spread);
    if (l->packed)
        tn_say(", packed: %.4g each, nothing is padded", mean);
    else if (!w->lengths_known)
        tn_say("; ranges go from no padding to that of usual data (--spread, --lengths)");
    else if (w->lines && w->line[0].is_estimate && w->line[0].estimate.tokens > 1.005 * mean)
        tn_say("; %.0f %% of what %s computes is padding", 100 * (1 - mean / w->line[0].estimate.tokens),
               w->line[0].bill.gpu);
    tn_say("\n");
}

static tn_status print_people(const work *w) {
    char parameters[32], trained[32];
    tn_say("%s, %s: %s parameters, %s trained", w->name, w->method, tn_count_text(w->parameters, parameters),
           tn_count_text(w->trained_parameters, trained));
    tn_say("\n");
    say_lengths(w);
    tn_say("\n");
    if (w->lines) TN_TRY(tn_output_rows(&line_record, w->line, w->lines, w->error));
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
    char examples[32];
    TN_TRY(tn_arena_format(w->arena, &heading, w->error, "%s examples, %g %s: %s, %s, %g tokens",
                           tn_count_text(w->queries, examples), w->epochs,
                           w->epochs == 1 ? "epoch" : "epochs", w->name, w->method, w->tokens));
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
    if (!w.has_lengths && !asked->data)
        return tn_fail(error, TN_INPUT, "--tokens N is missing: tokens of an example, or their median");
    size_t most = w.table.count + TN_FINETUNE_MOST_GROUPS + GPUS_MOST;
    TN_TRY(TN_NEW(w.arena, most, &w.line, error));
    TN_TRY(TN_NEW(w.arena, most, &w.left, error));
    if (w.has_lengths) TN_TRY(estimate_all(&w));
    TN_TRY(beside_measurements(&w));
    qsort(w.line, w.lines, sizeof *w.line, by_cost);
    TN_TRY(plot(&w));
    *answer = w.lines == 0;
    return asked->common->json ? tn_output_json(&answer_record, &w, error) : print_people(&w);
}
