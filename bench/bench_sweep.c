/* bench_sweep [STRIDE [KEY=VALUE]...]: designs per second of one thread in the demo's space: every STRIDEth outer combination (17th)
 * with all its builds, as a sweep goes through them: by what each costs at least whatever its layouts. */
#include "base/clock.h"
#include "search/evaluator.h"

#include <stdio.h>
#include <stdlib.h>

static int fail(const tn_error *error) {
    char text[2048];
    tn_error_text(error, text, sizeof text);
    fprintf(stderr, "bench_sweep: %s\n", text);
    return 1;
}

int main(int argc, char **argv) {
    uint64_t stride = argc > 1 ? strtoull(argv[1], NULL, 10) : 17;
    const char **set = (const char **)argv + 2;
    size_t sets = argc > 2 ? (size_t)argc - 2 : 0;
    tn_arena arena = {0};
    tn_error error = {0};
    static tn_space space;
    tn_evaluator *evaluator;
    if (!stride) return 2;
    if (tn_space_load(BENCH_SOURCE_DIR "/spaces/atis-2enc-u50.yaml", set, sets, NULL, &arena, &space,
                      &error) != TN_OK)
        return fail(&error);
    if (tn_evaluator_new(&space, &evaluator, &error) != TN_OK) return fail(&error);
    uint64_t designs = 0, outers = 0, feasible = 0, undefined = 0;
    double steps_seconds = 0, started = tn_clock_seconds();
    for (uint64_t outer = 0; outer < space.outer_count; outer += stride, outers++)
        for (uint64_t inner = 0; inner < space.inner_count; inner++, designs++) {
            tn_evaluation evaluation;
            uint32_t cause;
            bool exact;
            double before = inner ? 0 : tn_clock_seconds();
            if (tn_evaluate_bound(evaluator, outer, inner, &evaluation, &cause, &exact, &error) != TN_OK)
                return fail(&error);
            if (!inner) steps_seconds += tn_clock_seconds() - before;
            feasible += cause == TN_CAUSE_NONE;
            undefined += cause == TN_CAUSE_UNDEFINED;
        }
    double seconds = tn_clock_seconds() - started;
    printf("space %s: %llu designs, %llu outer combinations\n", space.name,
           (unsigned long long)space.choices.designs, (unsigned long long)space.outer_count);
    printf("evaluated %llu designs of %llu outer combinations in %.3f s on one thread: %.0f designs/s (%llu "
           "feasible)\n",
           (unsigned long long)designs, (unsigned long long)outers, seconds, (double)designs / seconds,
           (unsigned long long)feasible);
    printf("%llu of them undefined; the others alone: %.0f designs/s\n", (unsigned long long)undefined,
           (double)(designs - undefined) / seconds);
    printf("of that %.1f us an outer combination (search of flows, training step), %.3f us a design\n",
           1e6 * steps_seconds / (double)outers, 1e6 * (seconds - steps_seconds) / (double)designs);
    tn_evaluator_free(evaluator);
    tn_arena_free(&arena);
    return 0;
}
