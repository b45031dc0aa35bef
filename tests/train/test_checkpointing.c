/* Steps whose activations are made a second time, executed: the same bits, and multiply-adds and peaks as
 * predicted. */
#include "train/initial.h"
#include "train/trainer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TOKENS = 9, STEPS = 2 };

typedef struct outcome {
    uint64_t parameters, macs, peak, forward_macs;
    double loss;
    double *values; /* [parameters] after the steps */
} outcome;

static outcome train(const char *const *set, size_t sets) {
    static const uint32_t tokens[TOKENS] = {3, 17, 4, 4, 11, 600, 2, 5, 9};
    static const int32_t slots[TOKENS] = {0, 5, 2, 2, 1, 100, 7, -1, 3};
    const tn_example example = {.tokens = TOKENS, .token = tokens, .slot = slots, .intent = 7};
    tn_arena arena = {0};
    tn_model *model;
    tn_train_settings settings;
    tn_trainer *trainer;
    tn_step_result result = {0};
    tn_error error;
    outcome out = {0};
    if (tn_model_load("atis-2enc", set, sets, &arena, &model, &error) != TN_OK) fail_msg("%s", error.message);
    assert_int_equal(tn_train_settings_decode(NULL, &arena, &settings, NULL), TN_OK);
    if (tn_trainer_new(model, &settings, TN_FLOAT32, &trainer, &error) != TN_OK)
        fail_msg("%s", error.message);
    assert_int_equal(tn_initialise(trainer, &settings, NULL), TN_OK);
    for (int i = 0; i < STEPS; i++) {
        assert_int_equal(tn_trainer_step(trainer, &example, 1, false, 0.1, &result, NULL), TN_OK);
        assert_int_equal(result.macs, result.macs_predicted);
        assert_int_equal(result.peak_elements, result.peak_elements_predicted);
    }
    out.loss = result.loss;
    out.macs = result.macs;
    out.peak = result.peak_elements;
    assert_int_equal(tn_trainer_forward(trainer, &example, 1, false, NULL, &result, NULL), TN_OK);
    assert_int_equal(result.macs, result.macs_predicted);
    out.forward_macs = result.macs;
    out.parameters = tn_trainer_parameter_elements(trainer);
    out.values = malloc(out.parameters * sizeof *out.values);
    assert_non_null(out.values);
    uint64_t at = 0;
    for (size_t p = 0; p < tn_trainer_parameters(trainer); p++) {
        const tn_train_parameter *one = tn_trainer_parameter(trainer, p);
        tn_trainer_kernels(trainer)->to_double(one->values, out.values + at, one->elements);
        at += one->elements;
    }
    assert_int_equal(at, out.parameters);
    tn_trainer_free(trainer);
    tn_arena_free(&arena);
    return out;
}

static void no_bit_changes(void **state) {
    (void)state;
    static const char *const with[] = {"flow=bidirectional", "flow=optimal",           "flow=right-to-left",
                                       "format=dense",       "update.when=write-back", "optimizer=adam"};
    static const char *const segments[] = {"activations.segments=1", "activations.segments=2",
                                           "activations.segments=3", "activations.segments=7",
                                           "activations.segments=1000"};
    for (size_t w = 0; w < sizeof with / sizeof *with; w++) {
        const outcome plain = train(&with[w], 1);
        for (size_t s = 0; s < sizeof segments / sizeof *segments; s++) {
            const char *const set[] = {with[w], segments[s]};
            const outcome other = train(set, 2);
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
