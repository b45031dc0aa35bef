#include "support/trained.h"

#include "train/initial.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>

enum { TOKENS_MOST = 32 };

static test_trained train(const tn_model *model, tn_real real, int steps, tn_trainer_watcher watcher,
                          void *user, double progress, double *wide) {
    uint32_t token[TOKENS_MOST];
    int32_t slot[TOKENS_MOST];
    tn_arena arena = {0};
    tn_train_settings settings;
    tn_trainer *trainer;
    tn_step_result result = {0};
    tn_error error = {0};
    test_trained out = {0};
    assert_int_equal(tn_train_settings_decode(tn_model_training(model), &arena, &settings, NULL), TN_OK);
    if (tn_trainer_new(model, &settings, real, &trainer, &error) != TN_OK) fail_msg("%s", error.message);
    tn_example example = {.tokens = (uint32_t)tn_trainer_sequence(trainer), .token = token, .slot = slot};
    assert_true(example.tokens <= TOKENS_MOST);
    for (uint32_t i = 0; i < example.tokens; i++) {
        token[i] = (uint32_t)((5 * i + 3) % tn_trainer_vocabulary(trainer));
        slot[i] = -1;
    }
    for (uint32_t h = 0; h < tn_trainer_heads(trainer); h++) {
        tn_head_info head = tn_trainer_head(trainer, h);
        for (uint32_t i = 0; !head.of_example && i < example.tokens; i++)
            slot[i] = i == 2 ? -1 : (int32_t)(i * 7 % head.outputs);
        if (head.of_example) example.intent = (int32_t)(head.outputs - 1);
    }
    assert_int_equal(tn_initialise(trainer, &settings, NULL), TN_OK);
    tn_trainer_watch(trainer, watcher, user);
    tn_trainer_set_progress(trainer, progress);
    for (int i = 0; i < steps; i++) {
        assert_int_equal(tn_trainer_step(trainer, &example, 1, false, 0.1, &result, NULL), TN_OK);
        assert_int_equal(result.macs, result.macs_predicted);
        assert_int_equal(result.peak_elements, result.peak_elements_predicted);
        assert_true(isfinite(result.loss));
    }
    *wide = tn_trainer_wide_share(trainer);
    out.loss = result.loss;
    out.macs = result.macs;
    out.peak = result.peak_elements;
    assert_int_equal(tn_trainer_forward(trainer, &example, 1, false, NULL, &result, NULL), TN_OK);
    assert_int_equal(result.macs, result.macs_predicted);
    out.forward_macs = result.macs;
    out.parameters = tn_trainer_parameter_elements(trainer);
    out.values = malloc(out.parameters * sizeof *out.values);
    assert_non_null(out.values);
    uint64_t index = 0;
    for (size_t p = 0; p < tn_trainer_parameters(trainer); p++) {
        const tn_train_parameter *one = tn_trainer_parameter(trainer, p);
        tn_trainer_kernels(trainer)->to_double(one->values, out.values + index, one->elements);
        index += one->elements;
    }
    assert_int_equal(index, out.parameters);
    tn_trainer_free(trainer);
    tn_arena_free(&arena);
    return out;
}

test_trained test_train(const tn_model *model, tn_real real, int steps, tn_trainer_watcher watcher,
                        void *user) {
    double wide;
    return train(model, real, steps, watcher, user, 0, &wide);
}

test_trained test_train_at(const tn_model *model, tn_real real, int steps, double progress, double *wide) {
    return train(model, real, steps, NULL, NULL, progress, wide);
}

double test_trained_distance(const test_trained *a, const test_trained *b) {
    double difference = 0, size = 0;
    assert_int_equal(a->parameters, b->parameters);
    for (uint64_t i = 0; i < a->parameters; i++) {
        difference += (a->values[i] - b->values[i]) * (a->values[i] - b->values[i]);
        size += b->values[i] * b->values[i];
    }
    return sqrt(difference / size);
}
