#include "hardware/technique_prices.h"

#include "base/checked.h"
#include "hardware/price.h"
#include "model/transformation.h"

/* The step with the first so many transformations of the table that its model wants. */
typedef struct state {
    uint64_t macs, saved_bytes, peak_bytes, cycles_per_step;
    double joules_per_step;
} state;

typedef struct pricing {
    const tn_model *model;
    const tn_device *device;
    const tn_build *build;
    tn_program_cache *cache;
    tn_error *error;
} pricing;

static tn_status price(const pricing *with, uint32_t transformations, tn_arena *arena, state *at) {
    tn_step step;
    tn_workload *workload;
    tn_price price;
    *at = (state){0};
    TN_TRY(tn_step_build_part(with->model, with->cache, transformations, arena, &step, with->error));
    TN_TRY(tn_workload_prepare(&step, with->device, arena, &workload, with->error));
    TN_TRY(tn_price_step(workload, with->build, &price, with->error));
    for (int phase = 0; phase < TN_PHASES; phase++)
        if (!tn_add(at->macs, step.macs[phase], &at->macs))
            return tn_fail(with->error, TN_OVERFLOW, "a step of more than 2^64 multiply-adds");
    at->saved_bytes = step.activation_bytes;
    at->peak_bytes = step.peak_bytes;
    at->cycles_per_step = price.cycles_per_step;
    at->joules_per_step = price.joules_per_step;
    return TN_OK;
}

static tn_status price_in_scratch(const pricing *with, uint32_t transformations, state *at) {
    tn_arena arena = {0};
    tn_status status = price(with, transformations, &arena, at);
    tn_arena_free(&arena);
    return status;
}

tn_status tn_technique_prices(const tn_model *model, const tn_device *device, const tn_build *build,
                              tn_program_cache *cache, tn_arena *arena, tn_technique_price **line,
                              uint32_t *count, tn_error *error) {
    const pricing with = {model, device, build, cache, error};
    uint32_t all = 0;
    state before, after;
    *count = 0;
    while (tn_transformations[all]) all++;
    TN_TRY(tn_arena_alloc(arena, all, sizeof **line, line, error));
    for (uint32_t i = 0; i < all; i++) {
        const tn_transformation *one = tn_transformations[i];
        if (!one->wanted(model)) continue;
        if (*count == 0) TN_TRY(price_in_scratch(&with, i, &before));
        TN_TRY(price_in_scratch(&with, i + 1, &after));
        (*line)[(*count)++] =
            (tn_technique_price){.name = one->name,
                                 .keys = one->keys,
                                 .macs = {before.macs, after.macs},
                                 .saved_bytes = {before.saved_bytes, after.saved_bytes},
                                 .peak_bytes = {before.peak_bytes, after.peak_bytes},
                                 .cycles_per_step = {before.cycles_per_step, after.cycles_per_step},
                                 .joules_per_step = {before.joules_per_step, after.joules_per_step}};
        before = after;
    }
    return TN_OK;
}
