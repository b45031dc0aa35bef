/* Sparse training by magnitude, executed: a fixed share of every dense matrix is live, that of the greatest magnitude;
 * multiply-adds, counted by the mask, are as predicted. */
#include "support/models.h"
#include "support/trained.h"
#include "train/initial.h"
#include "train/selection.h"

#include "base/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Against sorting; values with many equals. */
static int falling(const void *a, const void *b) {
    const double *x = a, *y = b;
    return (*x < *y) - (*x > *y);
}

static void the_greatest_stay(void **state) {
    (void)state;
    enum { MOST = 200 };
    uint64_t random = 3;
    const tn_kernels *kernels = tn_kernels_of(TN_FLOAT64);
    for (int trial = 0; trial < 2000; trial++) {
        size_t count = 1 + tn_splitmix_below(&random, MOST), live = 1 + tn_splitmix_below(&random, count),
               kept = 0;
        double value[MOST], given[MOST], size[MOST], mask[MOST], scratch[TN_SELECTION_ROOM * MOST];
        for (size_t i = 0; i < count; i++) {
            given[i] = value[i] = (double)tn_splitmix_below(&random, trial % 3 ? 9 : 1000000) - 4.5;
            size[i] = fabs(value[i]);
        }
        qsort(size, count, sizeof *size, falling);
        tn_select_greatest(kernels, value, count, live, mask, scratch);
        for (size_t i = 0; i < count; i++) {
            bool stays = value[i] != 0;
            assert_true(value[i] == (stays ? given[i] : 0) && mask[i] == (double)stays);
            assert_true(fabs(given[i]) > size[live - 1]   ? stays
                        : fabs(given[i]) < size[live - 1] ? !stays
                                                          : true);
            kept += stays;
        }
        assert_int_equal(kept, live);
        assert_int_equal(tn_count_live(kernels, value, count, scratch), live);
    }
}

static const char model_text[] = "kind: model\nname: m\nsequence: 6\n"
                                 "sparsity: {weights: 0.3}\n"
                                 "layers:\n"
                                 "  - {name: words, kind: embedding, vocabulary: 20, width: 16}\n"
                                 "  - {name: query, kind: linear, outputs: 16}\n"
                                 "  - {name: key, kind: linear, outputs: 16, input: words}\n"
                                 "  - {name: mix, kind: attention, heads: 2, input: [query, key, words]}\n"
                                 "  - {name: wide, kind: linear, outputs: 33}\n"
                                 "  - {name: bend, kind: relu}\n"
                                 "  - {name: head, kind: linear, outputs: 7}\n"
                                 "  - {name: loss, kind: cross-entropy}\n";

/* Live elements of every matrix after every update. */
static void count_live(void *user, const tn_step *step, uint32_t operation, uint32_t array,
                       const void *values) {
    const float *value = values;
    const tn_array *this_array = &step->array[array];
    if (step->operation[operation].kind != TN_OP_SELECT || this_array->part == TN_PART_MASK) return;
    uint64_t live = 0;
    for (uint64_t i = 0; i < this_array->elements; i++) live += value[i] != 0;
    assert_int_equal(live, this_array->live);
    assert_int_equal(live, (uint64_t)llround(0.3 * (double)this_array->elements));
    ++*(int *)user;
}

static void a_fixed_share_is_live(void **state) {
    (void)state;
    tn_arena arena = {0};
    int selections = 0;
    tn_model *model = test_model_of(model_text, &arena);
    const tn_step step = test_step_of(model, &arena);
    /* Dense but for the four matrices. */
    uint64_t dense_forward = 2 * 6 * 16 * 16 + 2 * 6 * 6 * 16 + 6 * 16 * 33 + 6 * 33 * 7;
    uint64_t live = 2 * 77 + 158 + 69, all = 2 * 256 + 528 + 231;
    assert_int_equal(step.macs[TN_FORWARD], dense_forward - 6 * (all - live));
    assert_int_equal(step.macs[TN_WEIGHT_GRADIENT], 6 * all);
    assert_int_equal(step.optimizer_elements, all);
    assert_int_equal(step.optimizer_bytes, 2 * 32 + 66 + 29); /* bits, each mask in whole bytes */
    for (int early = 0; early < 2; early++) {
        tn_model *varied;
        const char *set = early ? "update.when=write-back" : "update.when=end";
        assert_int_equal(tn_model_vary(tn_model_root(model), &set, 1, &arena, &varied, NULL), TN_OK);
        selections = 0;
        const test_trained trained = test_train(varied, TN_FLOAT32, 5, count_live, &selections);
        assert_int_equal(selections, 5 * 4);
        assert_true(trained.loss < 2);
        free(trained.values);
    }
    tn_arena_free(&arena);
}

/* A run that begins anew selects anew: its first step multiplies live weights alone, which a measured one before it must
 * not have done for it; and a pass of given weights does too. */
static void a_new_run_selects_anew(void **state) {
    (void)state;
    tn_arena arena = {0};
    tn_trainer *trainer;
    tn_train_settings settings;
    tn_step_result result;
    uint32_t token[] = {2, 9, 4, 7, 1, 5};
    int32_t slot[] = {0, 1, 0, 2, 0, 1};
    const tn_example example = {.tokens = 6, .token = token, .slot = slot, .intent = -1};
    assert_int_equal(tn_train_settings_decode(NULL, &arena, &settings, NULL), TN_OK);
    assert_int_equal(tn_trainer_new(test_model_of(model_text, &arena), &settings, TN_FLOAT32, &trainer, NULL),
                     TN_OK);
    for (int run = 0; run < 3; run++) {
        assert_int_equal(tn_initialise(trainer, &settings, NULL), TN_OK);
        for (int step = 0; step < 2; step++) {
            if (run == 2 && step == 0)
                assert_int_equal(tn_trainer_forward(trainer, &example, 1, false, NULL, &result, NULL), TN_OK);
            else
                assert_int_equal(tn_trainer_step(trainer, &example, 1, false, 0.1, &result, NULL), TN_OK);
            assert_int_equal(result.macs, result.macs_predicted);
        }
    }
    tn_trainer_free(trainer);
    tn_arena_free(&arena);
}

/* The fullest of so many tiles lies above their mean and below all of them being one; halves in pairs are fairer. */
static void tiles_wait_for_the_fullest(void **state) {
    (void)state;
    tn_arena arena = {0};
    double before = 1;
    for (int tiles = 1; tiles <= 64; tiles *= 4)
        for (int pairs = 0; pairs < 2; pairs++) {
            char key[64];
            const char *const set[] = {key, pairs ? "sparsity.balance=pairs" : "sparsity.balance=none"};
            tn_model *model;
            snprintf(key, sizeof key, "sparsity.tiles=%d", tiles);
            assert_int_equal(
                tn_model_vary(tn_model_root(test_model_of(model_text, &arena)), set, 2, &arena, &model, NULL),
                TN_OK);
            const tn_step step = test_step_of(model, &arena);
            for (uint32_t i = 0; i < step.operations; i++) {
                const tn_operation *o = &step.operation[i];
                if (!o->live) continue;
                assert_true(o->cycle_ratio <= 1 && o->cycle_ratio >= 0.29);
                if (tiles == 1)
                    assert_true(fabs(o->cycle_ratio - (double)o->live / (double)o->live_of) < 1e-12);
                if (pairs) assert_true(o->cycle_ratio <= before);
                before = o->cycle_ratio;
                break;
            }
        }
    tn_arena_free(&arena);
}

static void what_has_no_dense_matrix_is_refused(void **state) {
    (void)state;
    static const char *const sets[][2] = {{"sparsity.weights=0.5", "sparsity.activations=0.5"},
                                          {"sparsity.weights=0.5", "format=as-given"}};
    for (int i = 0; i < 2; i++) {
        tn_arena arena = {0};
        tn_model *model;
        tn_program_cache *cache;
        tn_step step;
        tn_error error = {0};
        assert_int_equal(tn_program_cache_new(&cache, NULL), TN_OK);
        assert_int_equal(tn_model_load("atis-2enc", sets[i], 2, &arena, &model, NULL), TN_OK);
        tn_status status = tn_step_build(model, cache, &arena, &step, &error);
        if (i == 0) {
            assert_int_equal(status, TN_INPUT);
            assert_non_null(strstr(error.message, "can't be combined"));
        } else { /* the heads are dense */
            assert_int_equal(status, TN_OK);
        }
        tn_program_cache_free(cache);
        tn_arena_free(&arena);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_greatest_stay),
        cmocka_unit_test(a_fixed_share_is_live),
        cmocka_unit_test(a_new_run_selects_anew),
        cmocka_unit_test(tiles_wait_for_the_fullest),
        cmocka_unit_test(what_has_no_dense_matrix_is_refused),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    test_models_end(NULL);
    return failed;
}
