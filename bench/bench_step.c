/* Time to build a training step: with the programs of its weights at hand, and with an empty cache. */
#include "base/clock.h"
#include "model/model.h"

#include <stdio.h>

enum { WARM_STEPS = 2000, COLD_STEPS = 20 };

/* Microseconds a step; a negative number where it fails. */
static double time_steps(const tn_model *model, int steps, bool warm, tn_error *error) {
    tn_arena arena = {0};
    tn_program_cache *cache = NULL;
    tn_step step;
    tn_status status = tn_program_cache_new(&cache, error);
    if (warm && status == TN_OK) status = tn_step_build(model, cache, &arena, &step, error);
    double started = tn_clock_seconds();
    for (int i = 0; i < steps && status == TN_OK; i++) {
        if (!warm) {
            tn_program_cache_free(cache);
            status = tn_program_cache_new(&cache, error);
        }
        tn_arena_reset(&arena);
        if (status == TN_OK) status = tn_step_build(model, cache, &arena, &step, error);
    }
    double seconds = tn_clock_seconds() - started;
    tn_program_cache_free(cache);
    tn_arena_free(&arena);
    return status == TN_OK ? 1e6 * seconds / steps : -1;
}

int main(void) {
    static const char *const names[] = {"atis-2enc", "atis-4enc", "atis-6enc"};
    static const char *const sets[] = {"flow=right-to-left", "flow=bidirectional", "flow=optimal",
                                       "format=dense"};
    printf("%-10s %-20s %14s %14s\n", "model", "set", "warm, us/step", "cold, us/step");
    for (size_t m = 0; m < sizeof names / sizeof *names; m++)
        for (size_t s = 0; s < sizeof sets / sizeof *sets; s++) {
            tn_arena arena = {0};
            tn_error error = {0};
            tn_model *model;
            double warm = -1, cold = -1;
            if (tn_model_load(names[m], &sets[s], 1, &arena, &model, &error) == TN_OK) {
                warm = time_steps(model, WARM_STEPS, true, &error);
                cold = time_steps(model, COLD_STEPS, false, &error);
            }
            if (warm < 0 || cold < 0) {
                fprintf(stderr, "bench_step: %s\n", error.message);
                return 1;
            }
            printf("%-10s %-20s %14.1f %14.1f\n", names[m], sets[s], warm, cold);
            tn_arena_free(&arena);
        }
    return 0;
}
