/* Training of some layers, executed: what is trained becomes what it becomes when all is, what is not stays, and only
 * what is needed is computed. */
#include "support/models.h"
#include "support/trained.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SETS_MOST = 3 };

static test_trained train(const char *const *set, size_t sets, int steps, tn_arena *arena) {
    tn_model *model;
    tn_error error = {0};
    if (tn_model_load("atis-2enc", set, sets, arena, &model, &error) != TN_OK) fail_msg("%s", error.message);
    return test_train(model, TN_FLOAT32, steps, NULL, NULL);
}

/* After one step from the same values: every parameter is as if all were trained, or as at the start; so many moved. */
static uint64_t moved(const test_trained *some, const test_trained *all, const test_trained *start) {
    uint64_t count = 0;
    for (uint64_t i = 0; i < all->parameters; i++) {
        assert_true(some->values[i] == all->values[i] || some->values[i] == start->values[i]);
        count += some->values[i] != start->values[i];
    }
    return count;
}

static void only_what_is_named_moves(void **state) {
    (void)state;
    static const char *const trained[] = {"train=[intent-head, slot-head]", "train=[encoder2.*, '*head*']",
                                          "train=['*.bias']", "frozen=[embedding, positions, encoder1.*]",
                                          "train=['*.core1', '*head']"};
    tn_arena arena = {0};
    const test_trained all = train(NULL, 0, 1, &arena), start = train(NULL, 0, 0, &arena);
    for (size_t i = 0; i < sizeof trained / sizeof *trained; i++) {
        const char *set[SETS_MOST] = {trained[i], "update.when=write-back", "activations.policy=recompute"};
        const test_trained some = train(set, 1, 1, &arena);
        uint64_t count = moved(&some, &all, &start);
        assert_true(count > 0 && count < all.parameters);
        assert_true(some.macs < all.macs && some.peak < all.peak);
        assert_int_equal(some.forward_macs, all.forward_macs);
        if (i ==
            0) { /* heads and their biases, and nothing but their weight gradients behind the forward pass */
            assert_true(count <= 768 * (26 + 120) + 26 + 120);
            assert_int_equal(some.macs, all.forward_macs + 768 * 26 + 32 * 768 * 120);
        }
        const test_trained early = train(set, SETS_MOST, 1, &arena);
        assert_memory_equal(early.values, some.values, some.parameters * sizeof *some.values);
        free(early.values);
        free(some.values);
    }
    free(all.values);
    free(start.values);
    tn_arena_free(&arena);
}

static void slips_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *set, *says;
    } wrong[] = {{"train=[encoder3.*]", "no layer with parameters"},
                 {"train=[encoder1.qery]", "did you mean encoder1.query"},
                 {"frozen=['*']", "nothing is left to train"},
                 {"train=[]", "nothing is left to train"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        tn_arena arena = {0};
        tn_model *model;
        tn_program_cache *cache;
        tn_step step;
        tn_error error = {0};
        assert_int_equal(tn_program_cache_new(&cache, NULL), TN_OK);
        assert_int_equal(tn_model_load("atis-2enc", &wrong[i].set, 1, &arena, &model, &error), TN_OK);
        assert_int_equal(tn_step_build(model, cache, &arena, &step, &error), TN_INPUT);
        if (!strstr(error.message, wrong[i].says)) fail_msg("%s", error.message);
        tn_program_cache_free(cache);
        tn_arena_free(&arena);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_what_is_named_moves),
        cmocka_unit_test(slips_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
