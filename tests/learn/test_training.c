/* Training runs on generated questions: that a model learns, that a run goes on bit for bit, that counts are as
 * predicted, and how runs end that can't go on. */
#include "support/shared.h"
#include "support/small_run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "learn/training.h"
#include "text/arrays.h"
#include "train/initial.h"

static void learns(void **state) {
    (void)state;
    static const char *const optimizers[] = {"optimizer=sgd", "optimizer=momentum", "optimizer=adam"};
    static const double rate[] = {0.05, 0.01, 0.005};
    for (int i = 0; i < 3; i++) {
        test_small_run b;
        test_small_begin(&b, &optimizers[i], 1);
        b.run.settings.learning_rate = rate[i];
        b.run.settings.epochs = 6;
        assert_int_equal(test_small_train(&b), TN_OK);
        assert_null(b.result.diverged);
        assert_int_equal(b.result.epochs, 6);
        assert_int_equal(b.result.steps, 6 * 200);
        assert_int_equal(b.result.macs.predicted, b.result.macs.executed);
        assert_int_equal(b.result.macs_per_step.predicted, b.result.macs_per_step.executed);
        assert_int_equal(b.result.peak_elements.predicted, b.result.peak_elements.executed);
        assert_true(b.result.macs.executed > 0);
        assert_true(b.result.epoch[5].loss < 0.5 * b.result.epoch[0].loss);
        assert_true(b.result.epoch[5].test.slot_accuracy > 0.7);
        assert_true(b.result.epoch[5].test.slot_f1 > 0.3);
        tn_arena_free(&b.arena);
    }
}

static bool same_files(const char *a, const char *b) {
    char command[512];
    snprintf(command, sizeof command, "cmp -s '%s' '%s'", test_in_folder(a), test_in_folder(b));
    return system(command) == 0;
}

/* Stopped after an epoch and gone on with, twice run, and batches of 3: the same bits. */
static void goes_on(void **state) {
    (void)state;
    static const char *const sets[][2] = {{"optimizer=adam", "batch=1"}, {"optimizer=momentum", "batch=3"}};
    for (int i = 0; i < 2; i++) {
        test_small_run whole, part, rest;
        test_small_begin(&whole, sets[i], 2);
        whole.run.settings.learning_rate = 0.005;
        whole.run.folder = test_in_folder("whole");
        assert_int_equal(test_small_train(&whole), TN_OK);
        test_small_begin(&part, sets[i], 2);
        part.run.settings.learning_rate = 0.005;
        part.run.folder = test_in_folder("part");
        part.run.stop_after = 1;
        assert_int_equal(test_small_train(&part), TN_OK);
        test_small_begin(&rest, sets[i], 2);
        rest.run.settings.learning_rate = 0.005;
        rest.run.folder = test_in_folder("part");
        rest.run.resume = true;
        assert_int_equal(test_small_train(&rest), TN_OK);
        assert_int_equal(rest.result.epochs, 3);
        assert_int_equal(rest.result.steps, whole.result.steps);
        assert_memory_equal(rest.result.epoch, whole.result.epoch, 3 * sizeof *whole.result.epoch);
        assert_true(same_files("whole/weights.npz", "part/weights.npz"));
        assert_true(same_files("whole/weights.safetensors", "part/weights.safetensors"));
        /* another seed is another run */
        rest.run.settings.seed = 99;
        rest.run.folder = test_in_folder("part");
        assert_int_equal(test_small_train(&rest), TN_INPUT);
        assert_non_null(strstr(rest.error.message, "another run"));
        tn_arena_free(&whole.arena);
        tn_arena_free(&part.arena);
        tn_arena_free(&rest.arena);
    }
}

/* Weights out and in again: the first loss of a run that begins with them is the same from either file. */
static void weights_return(void **state) {
    (void)state;
    test_small_run b;
    double loss[2];
    static const char *const files[] = {"out/weights.npz", "out/weights.safetensors"};
    test_small_begin(&b, NULL, 0);
    b.run.folder = test_in_folder("out");
    assert_int_equal(test_small_train(&b), TN_OK);
    tn_arena_free(&b.arena);
    for (int i = 0; i < 2; i++) {
        test_small_begin(&b, NULL, 0);
        b.run.weights = test_in_folder(files[i]);
        b.run.settings.epochs = 1;
        b.run.settings.learning_rate = 0;
        assert_int_equal(test_small_train(&b), TN_OK);
        loss[i] = b.result.epoch[0].dev.loss;
        tn_arena_free(&b.arena);
    }
    assert_true(loss[0] == loss[1]);
    assert_true(loss[0] < 5);
}

/* A padded example gives the gradients of the shorter one: losses agree but for the order of sums. */
static void padding_is_masked(void **state) {
    (void)state;
    double loss[2];
    for (int i = 0; i < 2; i++) {
        test_small_run b;
        test_small_begin(&b, NULL, 0);
        b.run.real = TN_FLOAT64;
        b.run.settings.epochs = 1;
        b.run.settings.lengths = i ? TN_LENGTHS_PADDED : TN_LENGTHS_TRUE;
        assert_int_equal(test_small_train(&b), TN_OK);
        loss[i] = b.result.epoch[0].loss;
        tn_arena_free(&b.arena);
    }
    assert_true(fabs(loss[0] - loss[1]) < 1e-9 * loss[0]);
}

static void diverges(void **state) {
    (void)state;
    test_small_run b;
    test_small_begin(&b, NULL, 0);
    b.run.settings.learning_rate = 1e4;
    b.run.settings.schedule = TN_RATE_CONSTANT;
    b.run.folder = test_in_folder("diverged");
    assert_int_equal(test_small_train(&b), TN_OK);
    assert_non_null(b.result.diverged);
    assert_non_null(strstr(b.result.diverged, "learning rate"));
    assert_int_not_equal(access(test_in_folder("diverged/weights.npz"), F_OK), 0);
    for (size_t i = 0; i < b.result.epochs; i++) assert_true(isfinite(b.result.epoch[i].loss));
    tn_arena_free(&b.arena);
}

/* The parameters' change in one step of rate 1: the gradient's norm, or what it is clipped to. */
static double change_of(double clip, const char *optimizer, bool *refused) {
    test_small_run b;
    const char *const set[] = {optimizer};
    double squares = 0;
    tn_trainer *t;
    tn_step_result result;
    test_small_begin(&b, set, 1);
    b.run.settings.clip_norm = clip;
    tn_status status = tn_trainer_new(b.model, &b.run.settings, TN_FLOAT64, &t, &b.error);
    *refused = status == TN_INPUT;
    if (status == TN_OK) {
        assert_int_equal(tn_initialise(t, &b.run.settings, NULL), TN_OK);
        double *before[64];
        assert_true(tn_trainer_parameters(t) <= 64);
        for (size_t i = 0; i < tn_trainer_parameters(t); i++) {
            const tn_train_parameter *p = tn_trainer_parameter(t, i);
            before[i] = malloc(p->elements * sizeof(double));
            memcpy(before[i], p->values, p->elements * sizeof(double));
        }
        assert_int_equal(tn_trainer_step(t, b.data.train.example, 1, false, 1, &result, NULL), TN_OK);
        for (size_t i = 0; i < tn_trainer_parameters(t); i++) {
            const tn_train_parameter *p = tn_trainer_parameter(t, i);
            for (uint64_t k = 0; k < p->elements; k++) {
                double difference = ((const double *)p->values)[k] - before[i][k];
                squares += difference * difference;
            }
            free(before[i]);
        }
        tn_trainer_free(t);
    }
    tn_arena_free(&b.arena);
    return sqrt(squares);
}

static void clips(void **state) {
    (void)state;
    bool refused;
    double whole = change_of(0, "batch=1", &refused);
    assert_true(whole > 0.1);
    assert_true(fabs(change_of(whole / 4, "batch=1", &refused) - whole / 4) < 1e-9 * whole);
    assert_true(fabs(change_of(whole * 2, "batch=1", &refused) - whole) < 1e-9 * whole);
    (void)change_of(1, "update.when=write-back", &refused);
    assert_true(refused);
}

static void too_small(void **state) {
    (void)state;
    static const char *const sets[] = {"layers.embedding.vocabulary=16", "layers.slot-head.outputs=3",
                                       "layers.intent-head.outputs=2"};
    static const char *const others[] = {"weights.table.m=4x4", "batch=1", "batch=1"};
    static const char *const message[] = {"words", "labels", "classes"};
    for (int i = 0; i < 3; i++) {
        test_small_run b;
        const char *const set[] = {sets[i], others[i]};
        test_small_begin(&b, set, 2);
        assert_int_equal(test_small_train(&b), TN_INPUT);
        assert_non_null(strstr(b.error.message, message[i]));
        tn_arena_free(&b.arena);
    }
}

static void no_memory(void **state) {
    (void)state;
    long step = 1;
    for (long n = 1;; n += step) {
        test_small_run b;
        test_small_begin(&b, NULL, 0);
        b.data.train.count = 3;
        b.data.dev.count = b.data.test.count = 1;
        b.run.settings.epochs = 1;
        b.run.folder = test_in_folder("memory");
        b.run.settings.rank_penalty = 0.1;
        tn_memory_fail_at(n);
        tn_status status = tn_training_run(&b.run, &b.arena, &b.result, &b.error);
        tn_memory_fail_at(0);
        tn_arena_free(&b.arena);
        if (status == TN_OK) break;
        assert_int_equal(status, TN_MEMORY);
        assert_true(n < 1000000);
        if (n > 200) step = 17;
    }
}

static void begin_in(test_small_run *b, const char *name, bool resume) {
    test_small_begin(b, NULL, 0);
    b->run.folder = test_in_folder(name);
    b->run.resume = resume;
}

/* The time of a step is that of the steps that a run took itself. */
static void a_step_takes_as_long_after_a_resume(void **state) {
    (void)state;
    test_small_run part, rest, none;
    begin_in(&part, "timed", false);
    part.run.stop_after = 2;
    assert_int_equal(test_small_train(&part), TN_OK);
    begin_in(&rest, "timed", true);
    assert_int_equal(test_small_train(&rest), TN_OK);
    assert_int_equal(rest.result.steps, 600);
    assert_true(part.result.seconds_per_step > 0 && rest.result.seconds_per_step > 0);
    begin_in(&none, "timed", true);
    assert_int_equal(test_small_train(&none), TN_OK);
    assert_int_equal(none.result.steps, 600);
    assert_true(isnan(none.result.seconds_per_step));
    tn_arena_free(&part.arena);
    tn_arena_free(&rest.arena);
    tn_arena_free(&none.arena);
}

/* Writes the checkpoint again as a valid file, number `place` of the array overwritten. */
static void forge(const char *source, const char *target, const char *name, size_t place, double number) {
    enum { ARRAYS = 200 };
    tn_arrays *arrays;
    tn_arena arena = {0};
    tn_array_out out[ARRAYS];
    char path[512];
    snprintf(path, sizeof path, "%s", test_in_folder(source));
    assert_int_equal(tn_arrays_open(path, &arrays, NULL), TN_OK);
    size_t count = tn_arrays_count(arrays);
    assert_true(count < ARRAYS);
    bool found = false;
    for (size_t i = 0; i < count; i++) {
        const tn_array_info *info = tn_arrays_info(arrays, i);
        double *values;
        assert_int_equal(TN_NEW(&arena, info->elements, &values, NULL), TN_OK);
        assert_int_equal(tn_arrays_read(arrays, i, values, NULL), TN_OK);
        if (strcmp(info->name, name) == 0) {
            assert_true(place < info->elements);
            values[place] = number;
            found = true;
        }
        out[i] = (tn_array_out){.name = info->name,
                                .axes = info->axes,
                                .shape = info->shape,
                                .values = values,
                                .single = strcmp(info->type, "f4") == 0};
    }
    assert_true(found);
    assert_int_equal(tn_npz_write(test_in_folder(target), out, count, NULL), TN_OK);
    tn_arrays_close(arrays);
    tn_arena_free(&arena);
}

/* What no run writes is refused with the file's name; what one wrote goes on. */
static void forged_history_is_refused(void **state) {
    (void)state;
    static const struct {
        const char *array;
        size_t place;
        double number;
    } forged[] = {
        {"run.steps", 0, NAN},         {"run.steps", 0, 1e300},   {"run.steps", 0, 199},
        {"run.steps", 1, -1},          {"run.steps", 1, 200.5},   {"run.steps", 1, 1e15},
        {"run.history", 0, NAN},       {"run.history", 0, 1e19},  {"run.history", 0, 2},
        {"run.history", 1, -1},        {"run.history", 1, 1e300}, {"run.history", 1, INFINITY},
        {"run.history", 2, 7},         {"run.history", 2, NAN},   {"run.history", 3, -0.5},
        {"run.history", 4, 1.5},       {"run.history", 5, -5},    {"run.history", 6, INFINITY},
        {"run.history", 7, -INFINITY}, {"run.history", 8, 1e300}, {"run.history", 9, -1e-9},
        {"run.history", 10, 2},        {"run.history", 11, 0.5},  {"run.identity", 0, NAN},
    };
    test_small_run b;
    begin_in(&b, "honest", false);
    b.run.stop_after = 1;
    assert_int_equal(test_small_train(&b), TN_OK);
    tn_arena_free(&b.arena);
    begin_in(&b, "forged", false);
    b.run.stop_after = 1;
    assert_int_equal(test_small_train(&b), TN_OK);
    tn_arena_free(&b.arena);
    for (size_t i = 0; i < sizeof forged / sizeof *forged; i++) {
        forge("honest/checkpoint.npz", "forged/checkpoint.npz", forged[i].array, forged[i].place,
              forged[i].number);
        begin_in(&b, "forged", true);
        tn_status status = test_small_train(&b);
        if (status != TN_INPUT || !strstr(b.error.file, "forged/checkpoint.npz"))
            fail_msg("%s[%zu] = %g: status %d, %s: %s", forged[i].array, forged[i].place, forged[i].number,
                     status, b.error.file, b.error.message);
        tn_arena_free(&b.arena);
    }
    forge("honest/checkpoint.npz", "forged/checkpoint.npz", "run.history", 0, 1);
    begin_in(&b, "forged", true);
    assert_int_equal(test_small_train(&b), TN_OK);
    tn_arena_free(&b.arena);
}

static void one_run_a_folder(void **state) {
    (void)state;
    test_small_run b;
    tn_locked_folder other;
    assert_int_equal(tn_folder_lock(test_in_folder("both"), &other, NULL), TN_OK);
    begin_in(&b, "both", false);
    assert_int_equal(test_small_train(&b), TN_IO);
    assert_non_null(strstr(b.error.message, "writes in this folder"));
    tn_arena_free(&b.arena);
    tn_folder_unlock(&other);
    begin_in(&b, "both", false);
    assert_int_equal(test_small_train(&b), TN_OK);
    assert_int_not_equal(access(test_in_folder("both/.lock"), F_OK), 0);
    tn_arena_free(&b.arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_takes_as_long_after_a_resume),
        cmocka_unit_test(forged_history_is_refused),
        cmocka_unit_test(one_run_a_folder),
        cmocka_unit_test(learns),
        cmocka_unit_test(goes_on),
        cmocka_unit_test(weights_return),
        cmocka_unit_test(padding_is_masked),
        cmocka_unit_test(diverges),
        cmocka_unit_test(clips),
        cmocka_unit_test(too_small),
        cmocka_unit_test(no_memory),
    };
    return cmocka_run_group_tests(tests, test_small_set_up, test_folder_remove);
}
