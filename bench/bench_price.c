/* Builds priced per second on one core, on the step of the 2-encoder ATIS model: each build for the first
 * time, and builds in the order of a sweep, where parts come back. */
#include "base/clock.h"
#include "model/model.h"
#include "price/price.h"

#include <stdint.h>
#include <stdio.h>

static tn_status fresh(tn_workload *workload, tn_build build, const char *name, tn_error *error) {
    uint64_t builds = 0;
    tn_price price;
    double start = tn_clock_seconds();
    for (build.rows = 1; build.rows <= 24; build.rows++)
        for (build.columns = 1; build.columns <= 24; build.columns++)
            for (build.reduction = 1; build.reduction <= 24; build.reduction++, builds++)
                TN_TRY(tn_price_step(workload, &build, &price, error));
    printf("%-32s %8.2f us a build\n", name, 1e6 * (tn_clock_seconds() - start) / (double)builds);
    return TN_OK;
}

static tn_status swept(tn_workload *workload, tn_build build, tn_error *error) {
    uint64_t builds = 0;
    tn_price price;
    double start = tn_clock_seconds();
    for (build.rows = 1; build.rows <= 16; build.rows *= 2)
        for (build.columns = 1; build.columns <= 8; build.columns *= 2)
            for (build.reduction = 1; build.reduction <= 16; build.reduction *= 2)
                for (build.sharing = 0; build.sharing < 2; build.sharing++)
                    for (build.core_memory = 0; build.core_memory < 2; build.core_memory++)
                        for (build.buffers = 0; build.buffers < 2; build.buffers++)
                            for (build.split = 0; build.split < 2; build.split++)
                                for (build.group = 1; build.group <= 6; build.group += 5, builds++)
                                    TN_TRY(tn_price_step(workload, &build, &price, error));
    printf("%-32s %8.2f us a build, %.0f builds a second\n", "the demo's builds of one model",
           1e6 * (tn_clock_seconds() - start) / (double)builds,
           (double)builds / (tn_clock_seconds() - start));
    return TN_OK;
}

static tn_status bench(tn_arena *arena, tn_program_cache *cache, tn_error *error) {
    tn_device *device;
    tn_model *model;
    tn_step step;
    tn_build build;
    tn_workload *workload;
    TN_TRY(tn_device_load("u50", NULL, 0, arena, &device, error));
    TN_TRY(tn_model_load("atis-2enc", NULL, 0, arena, &model, error));
    TN_TRY(tn_step_build(model, cache, arena, &step, error));
    TN_TRY(tn_build_decode(NULL, arena, &build, error));
    double start = tn_clock_seconds();
    TN_TRY(tn_workload_prepare(&step, device, arena, &workload, error));
    tn_price price;
    TN_TRY(tn_price_step(workload, &build, &price, error));
    printf("%-32s %8.2f us\n", "prepare and first price", 1e6 * (tn_clock_seconds() - start));
    TN_TRY(fresh(workload, build, "new parallelism, sequential", error));
    build.schedule = TN_SCHEDULE_PARALLEL;
    TN_TRY(fresh(workload, build, "new parallelism, parallel", error));
    build.schedule = TN_SCHEDULE_SEQUENTIAL;
    build.placement = TN_PLACE_SEARCHED;
    TN_TRY(fresh(workload, build, "new parallelism, searched", error));
    build.placement = TN_PLACE_AS_BUILT;
    return swept(workload, build, error);
}

int main(void) {
    tn_arena arena = {0};
    tn_program_cache *cache = NULL;
    tn_error error;
    tn_status status = tn_program_cache_new(&cache, &error);
    if (status == TN_OK) status = bench(&arena, cache, &error);
    if (status != TN_OK) fprintf(stderr, "bench_price: %s\n", error.message);
    tn_program_cache_free(cache);
    tn_arena_free(&arena);
    return status != TN_OK;
}
