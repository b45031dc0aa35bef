/* Steps whose activations are made a second time, executed: the same bits, and multiply-adds and peaks as
 * predicted. */
#include "support/trained.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 2 };

static test_trained train(const char *const *set, size_t sets) {
    tn_arena arena = {0};
    tn_model *model;
    tn_error error = {0};
    const char *all[3] = {"sequence=9"};
    for (size_t i = 0; i < sets; i++) all[1 + i] = set[i];
    if (tn_model_load("atis-2enc", all, 1 + sets, &arena, &model, &error) != TN_OK)
        fail_msg("%s", error.message);
    const test_trained out = test_train(model, TN_FLOAT32, STEPS, NULL, NULL);
    tn_arena_free(&arena);
    return out;
}

static void no_bit_changes(void **state) {
    (void)state;
    static const char *const extended[] = {"flow=bidirectional",     "flow=optimal",
                                           "flow=right-to-left",     "format=dense",
                                           "update.when=write-back", "optimizer=adam"};
    static const char *const segments[] = {
        "activations.segments=1",       "activations.segments=2",
        "activations.segments=3",       "activations.segments=1000",
        "activations.policy=recompute", "activations={policy: optimal, budget_bytes: 300000}"};
    for (size_t w = 0; w < sizeof extended / sizeof *extended; w++) {
        const test_trained plain = train(&extended[w], 1);
        for (size_t s = 0; s < sizeof segments / sizeof *segments; s++) {
            const char *const set[] = {extended[w], segments[s]};
            const test_trained other = train(set, 2);
            assert_true(plain.loss == other.loss);
            assert_int_equal(plain.parameters, other.parameters);
            assert_memory_equal(plain.values, other.values, plain.parameters * sizeof *plain.values);
            assert_int_equal(plain.forward_macs, other.forward_macs);
            /* At most one more forward pass; with one segment none of it. */
            assert_true(other.macs >= plain.macs && other.macs <= plain.macs + plain.forward_macs);
            if (s == 0) assert_true(other.macs == plain.macs && other.peak == plain.peak);
            if (s == 2) assert_true(other.macs > plain.macs);
            if (w == 0 && s == 2) assert_true(other.peak < plain.peak);
            free(other.values);
        }
        free(plain.values);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_bit_changes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
