#include "results/comparison.h"

#include "base/buffer.h"
#include "base/c_locale.h"
#include "device/block.h"
#include "device/device_data.h"
#include "search/chunk_search.h"
#include "search/evaluator.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const char *const tn_way_names[] = {"launched",     "graph", "measured", "fastest",
                                    "least-energy", "given", NULL};

void tn_compare_add_host(tn_comparison_row *row, double host_W) {
    row->joules_per_step += host_W * row->seconds_per_step;
    row->joules.least += host_W * row->seconds.least;
    row->joules.most += host_W * row->seconds.most;
    row->power_W += host_W;
    row->power.least += host_W;
    row->power.most += host_W;
}

/* ---- GPUs and CPUs ---- */

static tn_status check_host(const tn_roofline *r, const tn_roofline_step *predicted, tn_error *error) {
    if (predicted->launched_us > 0 && predicted->joules > 0) return TN_OK;
    return tn_fail(
        error, TN_INPUT,
        "device %s does not say %s; give it, measured or assumed with a range, to compare with it", r->name,
        predicted->launched_us > 0 ? "step_power_W" : "host_us_per_operation and host_us_per_contraction");
}

/* What the row says of a step and its price on the device. */
static void fill_row(const tn_compared_step *asked, const tn_step *step, const tn_roofline_step *p,
                     tn_comparison_row *row) {
    bool graph = asked->way == TN_WAY_GRAPH;
    const tn_roofline *r = asked->roofline;
    double least_us = graph ? p->least_graph_us : p->least_us,
           most_us = graph ? p->most_graph_us : p->most_us,
           least_J = graph ? p->least_graph_joules : p->least_joules,
           most_J = graph ? p->most_graph_joules : p->most_joules;
    *row = (tn_comparison_row){.model = step->name,
                               .system = r->name,
                               .kind = asked->kind,
                               .way = asked->way,
                               .is_dense = asked->is_dense,
                               .batch = (double)step->batch,
                               .parameters_bytes = (double)step->parameter_bytes,
                               .live_bytes = (double)step->peak_bytes,
                               .steps_per_epoch = (double)step->steps_per_epoch,
                               .seconds_per_step = 1e-6 * (graph ? p->graph_us : p->launched_us),
                               .joules_per_step = graph ? p->graph_joules : p->joules,
                               .seconds = {1e-6 * least_us, 1e-6 * most_us},
                               .joules = {least_J, most_J},
                               .kernels_seconds = 1e-6 * p->graph_us,
                               .power_W = graph ? p->graph_W : 1e6 * p->joules / p->launched_us,
                               .power = {1e6 * least_J / least_us, 1e6 * most_J / most_us},
                               .rest_W = NAN,
                               .rest = {NAN, NAN},
                               .rest_joules = NAN,
                               .bram_bytes = NAN,
                               .uram_bytes = NAN};
}

/* Models of a batch live in an arena of their own, as a search asks for many, and so does what the row rests on. *fits: the
 * memory, with more than one step an epoch. */
static tn_status price_step(const tn_compared_step *asked, uint64_t batch, tn_program_cache *cache,
                            tn_arena *scratch, tn_comparison_row *row, bool *fits, tn_error *error) {
    static const char *const dense[] = {"format=dense"};
    tn_roofline_step predicted;
    tn_step step;
    tn_model *made, *whole = NULL;
    const tn_model *model = asked->model;
    if (asked->is_dense) {
        TN_TRY(tn_model_vary(tn_model_root(model), dense, 1, scratch, &whole, error));
        model = whole;
    }
    if (batch) {
        TN_TRY(tn_model_resize(model, batch, tn_model_sequence(model), scratch, &made, error));
        model = made;
    }
    TN_TRY(tn_step_build(model, cache, scratch, &step, error));
    TN_TRY(tn_roofline_step_predict(asked->roofline, &step, 0, scratch, &predicted, error));
    TN_TRY(check_host(asked->roofline, &predicted, error));
    fill_row(asked, &step, &predicted, row);
    row->model = tn_model_name(asked->model);
    *fits = step.peak_bytes <= asked->roofline->memory_bytes && step.steps_per_epoch > 1;
    return tn_roofline_unverified_step(asked->roofline, step.precision, scratch, &row->unverified, error);
}

/* One step after the other, their programs searched once. */
typedef struct {
    const tn_compared_step *asked;
    tn_program_cache *cache;
    tn_arena scratch;
} pricing;

static tn_status begin(pricing *p, const tn_compared_step *asked, tn_error *error) {
    *p = (pricing){.asked = asked};
    return tn_program_cache_new(&p->cache, error);
}

static void end(pricing *p) {
    tn_arena_free(&p->scratch);
    tn_program_cache_free(p->cache);
}

static tn_status price_at(pricing *p, uint64_t batch, tn_comparison_row *row, bool *fits, tn_error *error) {
    tn_arena_reset(&p->scratch);
    return price_step(p->asked, batch, p->cache, &p->scratch, row, fits, error);
}

/* The row as one that outlives the pricing. */
static tn_status keep_at(pricing *p, uint64_t batch, tn_arena *arena, tn_comparison_row *row,
                         tn_error *error) {
    bool fits;
    TN_TRY(price_at(p, batch, row, &fits, error));
    return tn_arena_copy_text(arena, row->unverified, strlen(row->unverified), &row->unverified, error);
}

tn_status tn_compare_step(const tn_compared_step *asked, uint64_t batch, tn_arena *arena,
                          tn_comparison_row *row, tn_error *error) {
    pricing p;
    TN_TRY(begin(&p, asked, error));
    tn_status status = keep_at(&p, batch, arena, row, error);
    end(&p);
    return status;
}

enum { BATCHES_MOST = 40 };
/* An epoch this much longer than the shortest is as good: larger batches take fewer updates, which cost accuracy. */
static const double as_good = 1.05;

/* The least batch of rows by doubling batches whose epoch is as good as the shortest. */
static size_t best_of(const tn_comparison_row *row, size_t count) {
    double shortest = INFINITY;
    size_t best = 0;
    for (size_t i = 0; i < count; i++) shortest = fmin(shortest, tn_epoch_seconds(&row[i]));
    while (tn_epoch_seconds(&row[best]) > as_good * shortest) best++;
    return best;
}

tn_status tn_compare_best_batch(const tn_compared_step *asked, tn_arena *arena, tn_comparison_row *row,
                                tn_error *error) {
    tn_comparison_row tried[BATCHES_MOST];
    pricing p;
    size_t count = 1;
    bool fits;
    TN_TRY(begin(&p, asked, error));
    tn_status status = price_at(&p, 0, &tried[0], &fits, error);
    for (; status == TN_OK && count < BATCHES_MOST; count++) {
        status = price_at(&p, (uint64_t)tried[count - 1].batch * 2, &tried[count], &fits, error);
        if (status == TN_OK && !fits) break;
    }
    if (status == TN_OK)
        status = keep_at(&p, (uint64_t)tried[best_of(tried, count)].batch, arena, row, error);
    end(&p);
    row->is_best = true;
    return status;
}

/* An epoch rounds its steps up; an example does not. */
static double of_an_example(const tn_comparison_row *row, bool joules, double host_W) {
    return (joules ? row->joules_per_step + host_W * row->seconds_per_step : row->seconds_per_step) /
           row->batch;
}

/* Below `low` an example takes more than the value, from `high` on less. */
static tn_status find_crossing(pricing *p, bool joules, double value, double host_W, uint64_t *batch,
                               tn_error *error) {
    tn_comparison_row row;
    uint64_t low, high;
    bool fits;
    *batch = 0;
    TN_TRY(price_at(p, 0, &row, &fits, error));
    low = high = (uint64_t)row.batch;
    while (of_an_example(&row, joules, host_W) >= value) {
        low = high;
        high *= 2;
        TN_TRY(price_at(p, high, &row, &fits, error));
        if (!fits) return TN_OK;
    }
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        TN_TRY(price_at(p, middle, &row, &fits, error));
        if (of_an_example(&row, joules, host_W) < value)
            high = middle;
        else
            low = middle;
    }
    *batch = high;
    return TN_OK;
}

tn_status tn_compare_crossing(const tn_compared_step *asked, bool joules, double value, double host_W,
                              uint64_t *batch, tn_error *error) {
    pricing p;
    TN_TRY(begin(&p, asked, error));
    tn_status status = find_crossing(&p, joules, value, host_W, batch, error);
    end(&p);
    return status;
}

/* ---- the FPGA ---- */

/* The design that was evaluated last, its layouts kept, where every unverified figure of the device is at one end. */
static tn_status evaluate_extreme(tn_evaluator *evaluator, const tn_space *space, bool most, tn_arena *arena,
                                  tn_evaluation *evaluation, tn_error *error) {
    tn_external_memory external;
    tn_device energy = tn_energy_extreme(space->device, most, &external), *extreme;
    uint32_t cause;
    TN_TRY(tn_operators_extreme(&energy, most, arena, &extreme, error));
    TN_TRY(tn_evaluate_on(evaluator, extreme, evaluation, &cause, error));
    if (cause == TN_CAUSE_NONE || cause >= TN_CAUSE_RESOURCE) return TN_OK;
    return tn_fail(error, TN_INPUT, "the design has no price: %s", tn_cause_name(space, cause));
}

static tn_status unverified_text(const tn_explanation *why, tn_arena *arena, const char **text,
                                 tn_error *error) {
    *text = "";
    for (uint32_t i = 0; i < why->unverified_count; i++)
        TN_TRY(tn_arena_format(arena, text, error, "%s%s%s", *text, i ? ", " : "", why->unverified[i]));
    return TN_OK;
}

static tn_status explain(tn_evaluator *evaluator, const tn_space *space, uint64_t id, tn_way way,
                         tn_arena *arena, tn_comparison_row *row, tn_error *error) {
    tn_explanation why;
    TN_TRY(tn_evaluate_explain(evaluator, id, arena, &why, error));
    const tn_step *step = tn_evaluator_step(evaluator);
    const tn_price *price = &why.price;
    *row = (tn_comparison_row){.model = tn_model_name(space->model),
                               .system = tn_device_name(space->device),
                               .kind = TN_SYSTEM_FPGA,
                               .way = way,
                               .design = id,
                               .batch = (double)step->batch,
                               .parameters_bytes = (double)step->parameter_bytes,
                               .live_bytes = (double)step->peak_bytes,
                               .steps_per_epoch = (double)step->steps_per_epoch,
                               .seconds_per_step = price->seconds_per_step,
                               .joules_per_step = price->joules_per_step,
                               .kernels_seconds = NAN,
                               .power_W = price->watts,
                               .rest_W = price->static_joules_per_step / price->seconds_per_step,
                               .rest_joules = price->static_joules_per_step,
                               .bram_bytes = (double)price->used.bram18 * TN_MEMORY_CAPACITY_BRAM18_BITS / 8,
                               .uram_bytes = (double)price->used.uram * TN_MEMORY_CAPACITY_URAM_BITS / 8};
    TN_TRY(tn_choices_text(&space->choices, id, arena, &row->build, error));
    return unverified_text(&why, arena, &row->unverified, error);
}

/* Slower operators may make other blocks pay, so that the figure itself can be an end. */
static tn_interval around(double figure, double least, double most) {
    return (tn_interval){fmin(figure, fmin(least, most)), fmax(figure, fmax(least, most))};
}

/* A price at another clock: the same cycles, so the same switching, and at rest for as long as they take. */
typedef struct {
    double seconds, joules, dynamic_joules, rest_W;
} clocked;

static clocked at_clock(const tn_price *price, double MHz) {
    clocked c = {.seconds = (double)price->cycles_per_step / (MHz * 1e6),
                 .dynamic_joules = price->joules_per_step - price->static_joules_per_step,
                 .rest_W = price->static_joules_per_step / price->seconds_per_step};
    c.joules = c.dynamic_joules + c.rest_W * c.seconds;
    return c;
}

static tn_status find_ranges(tn_evaluator *evaluator, const tn_space *space, tn_arena *arena,
                             tn_comparison_row *row, tn_error *error) {
    tn_evaluation least, most;
    const tn_device *device = space->device;
    const tn_real_list *clocks = &device->clock_range_MHz;
    double slow = device->clock_MHz, fast = device->clock_MHz;
    if (clocks->count == 2) {
        slow = fmin(slow, clocks->item[0]);
        fast = fmax(fast, clocks->item[1]);
    }
    TN_TRY(evaluate_extreme(evaluator, space, false, arena, &least, error));
    TN_TRY(evaluate_extreme(evaluator, space, true, arena, &most, error));
    clocked low = at_clock(&least.price, fast), high = at_clock(&most.price, slow);
    row->seconds = around(row->seconds_per_step, low.seconds, high.seconds);
    row->joules = around(row->joules_per_step, low.joules, high.joules);
    row->rest = around(row->rest_W, low.rest_W, high.rest_W);
    row->power = around(row->power_W, low.rest_W + low.dynamic_joules / high.seconds,
                        high.rest_W + high.dynamic_joules / low.seconds);
    return TN_OK;
}

tn_status tn_compare_fpga(const tn_space *space, uint64_t id, tn_way way, tn_arena *arena,
                          tn_comparison_row *row, tn_error *error) {
    tn_evaluator *evaluator;
    TN_TRY(tn_evaluator_new(space, &evaluator, error));
    tn_status status = explain(evaluator, space, id, way, arena, row, error);
    if (status == TN_OK) status = find_ranges(evaluator, space, arena, row, error);
    tn_evaluator_free(evaluator);
    return status;
}

/* ---- the search ---- */

static void put_quoted(tn_buffer *out, const char *text) {
    tn_buffer_text(out, "\"");
    for (; *text; text++) {
        if (*text == '"' || *text == '\\') tn_buffer_text(out, "\\");
        tn_buffer_bytes(out, text, 1);
    }
    tn_buffer_text(out, "\"");
}

/* The space with its model, device, objectives and the model's overrides replaced. */
static tn_status load_search(const char *model, const char *const *set, size_t sets, uint64_t batch,
                             const char *device, tn_arena *arena, tn_space *space, tn_error *error) {
    enum { KEYS = 4 };
    tn_buffer text[KEYS] = {{0}};
    tn_buffer_text(&text[0], "model=");
    put_quoted(&text[0], model);
    tn_buffer_text(&text[1], "device=");
    put_quoted(&text[1], device);
    tn_buffer_text(&text[2], "set=[");
    for (size_t i = 0; i < sets; i++) {
        put_quoted(&text[2], set[i]);
        tn_buffer_text(&text[2], ", ");
    }
    if (batch) tn_buffer_format(&text[2], "\"batch=%llu\"", (unsigned long long)batch);
    tn_buffer_text(&text[2], "]");
    tn_buffer_text(&text[3], "objectives=[seconds_per_step, joules_per_step]");
    tn_status status = TN_OK;
    const char *own[KEYS];
    for (int i = 0; i < KEYS; i++) {
        if (text[i].status != TN_OK) status = tn_fail(error, text[i].status, "no memory for a search");
        own[i] = text[i].data;
    }
    if (status == TN_OK) status = tn_space_load("build-search", own, KEYS, NULL, arena, space, error);
    for (int i = 0; i < KEYS; i++) tn_buffer_free(&text[i]);
    return status;
}

static tn_status sweep_all(const tn_space *space, tn_archive *front, tn_error *error) {
    tn_chunk_search search;
    tn_outcome found;
    uint64_t chunks;
    TN_TRY(tn_chunk_count(space, &chunks, error));
    TN_TRY(tn_chunk_search_begin(space, false, &search, error));
    tn_outcome_begin(space, &found);
    tn_status status = TN_OK;
    for (uint64_t i = 0; status == TN_OK && i < chunks; i++) {
        const tn_chunk chunk = tn_chunk_at(space, i);
        tn_outcome_clear(&found);
        status = tn_chunk_search_run(&search, &chunk, NULL, NULL, &found, error);
        if (status == TN_OK) status = tn_archive_absorb(&search.known, &found.front, error);
    }
    if (status == TN_OK) status = tn_archive_absorb(front, &search.known, error);
    tn_outcome_free(&found);
    tn_chunk_search_free(&search);
    return status;
}

/* The ends of the front: the least in each of the two objectives. */
static tn_status ends_of(const tn_archive *front, tn_arena *arena, tn_searched_builds *found,
                         tn_error *error) {
    tn_point *point;
    uint64_t *const id[] = {&found->fastest, &found->least_energy};
    found->fastest = found->least_energy = TN_NO_DESIGN;
    if (front->count == 0) return TN_OK;
    TN_TRY(TN_NEW(arena, front->count, &point, error));
    tn_archive_points(front, point);
    for (int objective = 0; objective < 2; objective++) {
        size_t best = 0;
        for (size_t i = 1; i < front->count; i++)
            if (point[i].value[objective] < point[best].value[objective]) best = i;
        *id[objective] = point[best].id;
    }
    return TN_OK;
}

tn_status tn_compare_search(const char *model, const char *const *set, size_t sets, uint64_t batch,
                            const char *device, tn_arena *arena, tn_searched_builds *found, tn_error *error) {
    tn_archive front;
    tn_space *made;
    TN_TRY(TN_NEW(arena, 1, &made, error));
    TN_TRY(load_search(model, set, sets, batch, device, arena, made, error));
    found->space = made;
    tn_archive_begin(&front, made->objectives);
    tn_status status = sweep_all(made, &front, error);
    if (status == TN_OK) status = ends_of(&front, arena, found, error);
    tn_archive_free(&front);
    return status;
}

/* The rows of both designs at a batch; *rows 0 where none fits. */
static tn_status search_rows(const char *model, const char *const *set, size_t sets, uint64_t batch,
                             const char *device, tn_arena *arena, tn_comparison_row row[2], size_t *rows,
                             tn_error *error) {
    tn_searched_builds found;
    *rows = 0;
    TN_TRY(tn_compare_search(model, set, sets, batch, device, arena, &found, error));
    if (found.fastest == TN_NO_DESIGN) return TN_OK;
    TN_TRY(tn_compare_fpga(found.space, found.fastest, TN_WAY_FASTEST, arena, &row[0], error));
    TN_TRY(tn_compare_fpga(found.space, found.least_energy, TN_WAY_LEAST_ENERGY, arena, &row[1], error));
    *rows = 2;
    return TN_OK;
}

/* The best of doubling batches: activations grow with them, so that soon none fits. */
static tn_status best_batches(const char *model, const char *const *set, size_t sets, const char *device,
                              tn_arena *arena, tn_comparison_row row[TN_FPGA_ROWS], size_t *rows,
                              tn_error *error) {
    tn_comparison_row tried[2][BATCHES_MOST], next[2] = {row[0], row[1]};
    size_t count = 0, found = 2;
    while (found && count < BATCHES_MOST) {
        for (int way = 0; way < 2; way++) tried[way][count] = next[way];
        count++;
        if (next[0].steps_per_epoch <= 1) break;
        TN_TRY(
            search_rows(model, set, sets, (uint64_t)next[0].batch * 2, device, arena, next, &found, error));
    }
    for (int way = 0; way < 2; way++) {
        size_t best = best_of(tried[way], count);
        if (best == 0) continue;
        row[*rows] = tried[way][best];
        row[(*rows)++].is_best = true;
    }
    return TN_OK;
}

tn_status tn_compare_fpga_rows(const char *model, const char *const *set, size_t sets, uint64_t batch,
                               bool best, const char *device, tn_arena *arena,
                               tn_comparison_row row[TN_FPGA_ROWS], size_t *rows, tn_error *error) {
    TN_TRY(search_rows(model, set, sets, batch, device, arena, row, rows, error));
    if (*rows == 0 || !best) return TN_OK;
    return best_batches(model, set, sets, device, arena, row, rows, error);
}

/* A number this near to a published one counts as nearly it: publications round, and count a little differently. */
static const double NEARLY = 0.03;

typedef struct {
    const tn_comparison_row *row;
    size_t rows;
    tn_arena *arena;
    tn_verdicts *out;
    tn_error *error;
} judging;

/* At the own batch: the design of least energy, or the given one; of a GPU the launched step, as publications measure it. */
static const tn_comparison_row *find(const judging *judge, const char *model, const char *system, bool fpga,
                                     bool dense) {
    for (size_t i = 0; i < judge->rows; i++) {
        const tn_comparison_row *row = &judge->row[i];
        bool asked =
            fpga ? row->way == TN_WAY_LEAST_ENERGY || row->way == TN_WAY_GIVEN : row->way == TN_WAY_LAUNCHED;
        if (strcmp(row->model, model) == 0 && asked && !row->is_best && row->is_dense == dense &&
            (!system || strcmp(row->system, system) == 0))
            return row;
    }
    return NULL;
}

static const char *verdict_of(const tn_claim *claim, double ours, tn_interval range) {
    if (ours >= claim->least && ours <= claim->most) return "follows";
    if (ours >= claim->least * (1 - NEARLY) && ours <= claim->most * (1 + NEARLY)) return "nearly";
    if (range.least <= claim->most && range.most >= claim->least) return "within its range";
    return "does not follow";
}

static tn_status note(judging *judge, const tn_claim *claim, const char *model, const char *measure,
                      double ours, tn_interval range, const char *why) {
    tn_verdict *next = &judge->out->verdict[judge->out->count++];
    *next = (tn_verdict){.claim = claim->text,
                         .model = model,
                         .measure = measure,
                         .published_least = claim->least,
                         .published_most = claim->most,
                         .ours = ours,
                         .range = range,
                         .verdict = verdict_of(claim, ours, range)};
    return tn_arena_format(judge->arena, &next->why, judge->error, "%s", why);
}

static tn_interval only(double value) {
    return (tn_interval){value, value};
}

/* Memory has three readings; which of them a publication meant shows in which one gives its numbers. */
static tn_status judge_memory(judging *judge, const tn_claim *claim, const tn_comparison_row *dense,
                              const tn_comparison_row *tensor, const tn_comparison_row *design) {
    if (!dense || !tensor || !design) return TN_OK;
    double parameters = dense->parameters_bytes / tensor->parameters_bytes;
    double live = dense->live_bytes / design->live_bytes;
    double blocks = dense->live_bytes / (design->bram_bytes + design->uram_bytes);
    TN_TRY(note(
        judge, claim, design->model, "ratio of parameters", parameters, only(parameters),
        "parameters of the uncompressed over those of the compressed model, counted exactly: this ratio is "
        "what is published"));
    TN_TRY(note(judge, claim, design->model, "ratio of live training memory", live, only(live),
                "gradients shrink with the parameters, activations do not, so live memory shrinks by less"));
    return note(judge, claim, design->model, "live memory over on-chip blocks taken", blocks, only(blocks),
                "blocks hold more than what is live: words are padded, banks are read in parallel");
}

/* At which step of the GPU the ratio would be the published one. */
static tn_status judge_energy(judging *judge, const tn_claim *claim, const tn_comparison_row *gpu,
                              const tn_comparison_row *design) {
    char why[400];
    if (!gpu || !design) return TN_OK;
    double ratio = gpu->joules_per_step / design->joules_per_step;
    double seconds = claim->most * design->joules_per_step / gpu->power_W;
    tn_snprintf(why, sizeof why,
                "it hangs on the host: at %.0f W the ratio is %.3g where a step takes %.3g ms; its kernels "
                "alone take %.3g ms (ratio %.3g), and as launched one by one it takes %.3g ms",
                gpu->power_W, claim->most, 1e3 * seconds, 1e3 * gpu->kernels_seconds,
                gpu->kernels_seconds * gpu->power_W / design->joules_per_step, 1e3 * gpu->seconds_per_step);
    return note(
        judge, claim, design->model, "tensor training over the design", ratio,
        (tn_interval){gpu->joules.least / design->joules.most, gpu->joules.most / design->joules.least}, why);
}

static tn_status judge_model(judging *judge, const tn_claim *claim, const char *model) {
    const tn_comparison_row *design = find(judge, model, NULL, true, false);
    const tn_comparison_row *dense = find(judge, model, claim->baseline, false, true);
    const tn_comparison_row *tensor = find(judge, model, claim->baseline, false, false);
    switch ((tn_claim_kind)claim->what) {
    case TN_CLAIM_DENSE_BYTES:
        if (!dense) return TN_OK;
        return note(judge, claim, model, "parameters, 4 bytes each in FP32", dense->parameters_bytes,
                    only(dense->parameters_bytes), "counted exactly");
    case TN_CLAIM_MEMORY_RATIO:
        return judge_memory(judge, claim, dense, tensor, design);
    case TN_CLAIM_BRAM_BYTES:
        if (!design) return TN_OK;
        return note(judge, claim, model, "block RAM taken", design->bram_bytes, only(design->bram_bytes),
                    "of the design beside it; the published figure is the device's capacity in MiB");
    case TN_CLAIM_URAM_BYTES:
        if (!design) return TN_OK;
        return note(judge, claim, model, "UltraRAM taken", design->uram_bytes, only(design->uram_bytes),
                    "of the design beside it; the published figure is the device's capacity in MiB");
    case TN_CLAIM_ENERGY_RATIO:
        return judge_energy(judge, claim, tensor, design);
    }
    return TN_OK;
}

static bool seen_before(const judging *judge, size_t index) {
    for (size_t i = 0; i < index; i++)
        if (strcmp(judge->row[i].model, judge->row[index].model) == 0) return true;
    return false;
}

tn_status tn_claims_judge(const tn_claims *claims, const tn_comparison_row *row, size_t rows, tn_arena *arena,
                          tn_verdicts *verdicts, tn_error *error) {
    enum { NUMBERS_MOST = 3 }; /* of a claim and model */
    judging judge = {row, rows, arena, verdicts, error};
    *verdicts = (tn_verdicts){0};
    TN_TRY(TN_NEW(arena, NUMBERS_MOST * claims->count * rows, &verdicts->verdict, error));
    for (size_t c = 0; c < claims->count; c++)
        for (size_t i = 0; i < rows; i++) {
            const char *only_model = claims->claim[c].model, *model = row[i].model;
            if (seen_before(&judge, i) || !tn_claims_cover(claims, model)) continue;
            if (only_model && strcmp(only_model, model) != 0) continue;
            TN_TRY(judge_model(&judge, &claims->claim[c], model));
        }
    return TN_OK;
}
