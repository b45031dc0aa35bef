#include "results/comparison.h"

#include "base/buffer.h"
#include "base/c_locale.h"
#include "device/block.h"
#include "device/device_data.h"
#include "front/knee.h"
#include "search/chunk_search.h"
#include "search/evaluator.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- GPUs ---- */

static tn_status step_of(const char *model_name, const char *const *set, size_t sets, bool dense,
                         tn_program_cache *cache, tn_arena *arena, tn_step *step, tn_error *error) {
    const char **all;
    tn_model *model;
    TN_TRY(TN_NEW(arena, sets + 1, &all, error));
    for (size_t i = 0; i < sets; i++) all[i] = set[i];
    all[sets] = "format=dense";
    TN_TRY(tn_model_load(model_name, all, sets + dense, arena, &model, error));
    return tn_step_build(model, cache, arena, step, error);
}

static tn_status check_host(const tn_roofline *r, const tn_roofline_step *predicted, tn_error *error) {
    if (predicted->launched_us > 0 && predicted->joules > 0) return TN_OK;
    return tn_fail(
        error, TN_INPUT,
        "device %s does not say %s; give it, measured or assumed with a range, to compare with it", r->name,
        predicted->launched_us > 0 ? "step_power_W" : "host_us_per_operation and host_us_per_contraction");
}

tn_status tn_compare_step(const tn_step *step, const tn_roofline *r, bool dense, tn_arena *arena,
                          tn_comparison_row *row, tn_error *error) {
    tn_roofline_step predicted;
    TN_TRY(tn_roofline_step_predict(r, step, 0, arena, &predicted, error));
    TN_TRY(check_host(r, &predicted, error));
    *row = (tn_comparison_row){.model = step->name,
                               .system = r->name,
                               .is_dense = dense,
                               .parameters_bytes = (double)step->parameter_bytes,
                               .live_bytes = (double)step->peak_bytes,
                               .steps_per_epoch = (double)step->steps_per_epoch,
                               .seconds_per_step = 1e-6 * predicted.launched_us,
                               .joules_per_step = predicted.joules,
                               .seconds = {1e-6 * predicted.least_us, 1e-6 * predicted.most_us},
                               .joules = {predicted.least_joules, predicted.most_joules},
                               .kernels_seconds = 1e-6 * predicted.graph_us,
                               .power_W = r->step_power_W};
    return tn_roofline_unverified_step(r, step->precision, arena, &row->unverified, error);
}

tn_status tn_compare_gpu(const char *model, const char *const *set, size_t sets, const tn_roofline *roofline,
                         bool dense, tn_arena *arena, tn_comparison_row *row, tn_error *error) {
    tn_program_cache *cache;
    tn_step step;
    TN_TRY(tn_program_cache_new(&cache, error));
    tn_status status = step_of(model, set, sets, dense, cache, arena, &step, error);
    if (status == TN_OK) status = tn_compare_step(&step, roofline, dense, arena, row, error);
    tn_program_cache_free(cache);
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

static tn_status explain(tn_evaluator *evaluator, const tn_space *space, uint64_t id, tn_arena *arena,
                         tn_comparison_row *row, tn_error *error) {
    tn_explanation why;
    TN_TRY(tn_evaluate_explain(evaluator, id, arena, &why, error));
    const tn_step *step = tn_evaluator_step(evaluator);
    *row =
        (tn_comparison_row){.model = tn_model_name(space->model),
                            .system = tn_device_name(space->device),
                            .is_fpga = true,
                            .design = id,
                            .parameters_bytes = (double)step->parameter_bytes,
                            .live_bytes = (double)step->peak_bytes,
                            .steps_per_epoch = (double)step->steps_per_epoch,
                            .seconds_per_step = why.price.seconds_per_step,
                            .joules_per_step = why.price.joules_per_step,
                            .bram_bytes = (double)why.price.used.bram18 * TN_MEMORY_CAPACITY_BRAM18_BITS / 8,
                            .uram_bytes = (double)why.price.used.uram * TN_MEMORY_CAPACITY_URAM_BITS / 8};
    return unverified_text(&why, arena, &row->unverified, error);
}

/* Slower operators may make other blocks pay, so that the figure itself can be an end. */
static tn_interval around(double figure, double least, double most) {
    return (tn_interval){fmin(figure, fmin(least, most)), fmax(figure, fmax(least, most))};
}

static tn_status find_ranges(tn_evaluator *evaluator, const tn_space *space, tn_arena *arena,
                             tn_comparison_row *row, tn_error *error) {
    tn_evaluation least, most;
    TN_TRY(evaluate_extreme(evaluator, space, false, arena, &least, error));
    TN_TRY(evaluate_extreme(evaluator, space, true, arena, &most, error));
    row->seconds = around(row->seconds_per_step, least.price.seconds_per_step, most.price.seconds_per_step);
    row->joules = around(row->joules_per_step, least.price.joules_per_step, most.price.joules_per_step);
    return TN_OK;
}

tn_status tn_compare_fpga(const tn_space *space, uint64_t id, tn_arena *arena, tn_comparison_row *row,
                          tn_error *error) {
    tn_evaluator *evaluator;
    TN_TRY(tn_evaluator_new(space, &evaluator, error));
    tn_status status = explain(evaluator, space, id, arena, row, error);
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

/* The space with its model, device and the model's overrides replaced. */
static tn_status load_search(const char *model, const char *const *set, size_t sets, const char *device,
                             tn_arena *arena, tn_space *space, tn_error *error) {
    tn_buffer text[3] = {{0}};
    tn_buffer_text(&text[0], "model=");
    put_quoted(&text[0], model);
    tn_buffer_text(&text[1], "device=");
    put_quoted(&text[1], device);
    tn_buffer_text(&text[2], "set=[");
    for (size_t i = 0; i < sets; i++) {
        if (i) tn_buffer_text(&text[2], ", ");
        put_quoted(&text[2], set[i]);
    }
    tn_buffer_text(&text[2], "]");
    tn_status status = TN_OK;
    for (int i = 0; i < 3; i++)
        if (text[i].status != TN_OK) status = tn_fail(error, text[i].status, "no memory for a search");
    const char *own[] = {text[0].data, text[1].data, text[2].data};
    if (status == TN_OK) status = tn_space_load("build-search", own, 3, NULL, arena, space, error);
    for (int i = 0; i < 3; i++) tn_buffer_free(&text[i]);
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

static tn_status knee_of(const tn_space *space, const tn_archive *front, tn_arena *arena, uint64_t *id,
                         tn_error *error) {
    tn_point *point;
    *id = TN_NO_DESIGN;
    if (front->count == 0) return TN_OK;
    TN_TRY(TN_NEW(arena, front->count, &point, error));
    tn_archive_points(front, point);
    *id = point[tn_knee(point, front->count, space->objectives)].id;
    return TN_OK;
}

tn_status tn_compare_search(const char *model, const char *const *set, size_t sets, const char *device,
                            tn_arena *arena, const tn_space **space, uint64_t *id, tn_error *error) {
    tn_archive front;
    tn_space *made;
    TN_TRY(TN_NEW(arena, 1, &made, error));
    TN_TRY(load_search(model, set, sets, device, arena, made, error));
    *space = made;
    tn_archive_begin(&front, (*space)->objectives);
    tn_status status = sweep_all(*space, &front, error);
    if (status == TN_OK) status = knee_of(*space, &front, arena, id, error);
    tn_archive_free(&front);
    return status;
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

static const tn_comparison_row *find(const judging *judge, const char *model, const char *system, bool fpga,
                                     bool dense) {
    for (size_t i = 0; i < judge->rows; i++) {
        const tn_comparison_row *row = &judge->row[i];
        if (strcmp(row->model, model) == 0 && row->is_fpga == fpga && row->is_dense == dense &&
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
