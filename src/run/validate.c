#include "run/validate.h"

#include "base/interrupt.h"

#include <inttypes.h>
#include <string.h>

static tn_status validate_flow(tn_checks *checks, const tn_trial *trial, tn_flow_name flow,
                               const tn_cpu_rates *rates, tn_error *error) {
    const tn_program_options options = {.training = true};
    tn_arena arena = {0};
    tn_program program;
    tn_status status =
        tn_program_named(&trial->weight, trial->tokens, flow, &options, &arena, &program, error);
    if (status == TN_OK)
        status = tn_check_program(checks, trial, &program, trial->name, tn_flow_names[flow], rates, error);
    tn_arena_free(&arena);
    return status;
}

tn_status tn_validate_trial(tn_checks *checks, const tn_trial *trial, tn_flow_name flow,
                            const tn_cpu_rates *rates, tn_error *error) {
    if (flow < TN_FLOWS) return validate_flow(checks, trial, flow, rates, error);
    for (int each = 0; each < TN_FLOWS; each++)
        if (tn_flow_exists(&trial->weight, (tn_flow_name)each))
            TN_TRY(validate_flow(checks, trial, (tn_flow_name)each, rates, error));
    return TN_OK;
}

/* Whether the layer is executed here, and is the first with its program; *count is how many have it. */
static bool is_first(const tn_step *step, uint32_t layer, uint32_t *count) {
    const tn_program *program = step->layer[layer].program;
    if (!program || strcmp(step->layer[layer].kind, "linear") != 0) return false;
    *count = 0;
    for (uint32_t other = 0; other < step->layers; other++) {
        if (step->layer[other].program != program) continue;
        if (other < layer) return false;
        ++*count;
    }
    return true;
}

/* Rows of the layer's input, from its program. */
static uint64_t tokens_of(const tn_program *program) {
    return program->index_size[0];
}

static tn_status validate_layer(tn_checks *checks, const tn_step_layer *layer, uint32_t count, uint64_t seed,
                                const tn_cpu_rates *rates, tn_error *error) {
    tn_arena arena = {0};
    tn_trial trial;
    const char *name;
    tn_status status =
        count > 1 ? tn_arena_format(&arena, &name, error, "%s and %" PRIu32 " more", layer->name, count - 1)
                  : tn_arena_format(&arena, &name, error, "%s", layer->name);
    if (status == TN_OK)
        status = tn_trial_draw(layer->weight, tokens_of(layer->program), seed, &arena, &trial, error);
    if (status == TN_OK)
        status = tn_check_program(checks, &trial, layer->program, name, layer->flow, rates, error);
    tn_arena_free(&arena);
    return status;
}

static tn_status validate_step(tn_checks *checks, const tn_step *step, uint64_t seed,
                               const tn_cpu_rates *rates, const tn_progress *progress, tn_error *error) {
    uint32_t count;
    for (uint32_t layer = 0; layer < step->layers; layer++) {
        tn_progress_report(progress, layer, step->layers);
        if (!is_first(step, layer, &count)) continue;
        if (tn_interrupted())
            return tn_fail(error, TN_INTERRUPTED, "stopped after %zu checks", checks->count);
        TN_TRY(validate_layer(checks, &step->layer[layer], count, seed, rates, error));
    }
    return TN_OK;
}

tn_status tn_validate_model(tn_checks *checks, const tn_model *model, uint64_t seed,
                            const tn_cpu_rates *rates, const tn_progress *progress, tn_error *error) {
    tn_program_cache *cache;
    tn_arena arena = {0};
    tn_step step;
    TN_TRY(tn_program_cache_new(&cache, error));
    tn_status status = tn_step_build(model, cache, &arena, &step, error);
    if (status == TN_OK) status = validate_step(checks, &step, seed, rates, progress, error);
    tn_arena_free(&arena);
    tn_program_cache_free(cache);
    return status;
}
