/* A published design as a design of a space: priced like the model file with the same choices as overrides. */
#include "results/claims.h"
#include "support/shared.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

static tn_arena arena;
static tn_space space;
static tn_claims claims;
static tn_evaluator *evaluator;

static int set_up(void **state) {
    tn_error error = {0};
    (void)state;
    bool ok = tn_space_load(test_source("tests/space/data/small.yaml"), NULL, 0, NULL, &arena, &space,
                            &error) == TN_OK &&
              tn_claims_load("arxiv-2501.06663", &arena, &claims, &error) == TN_OK &&
              tn_evaluator_new(&space, &evaluator, &error) == TN_OK;
    if (!ok) print_error("%s\n", error.message);
    return ok ? 0 : -1;
}

static int tear_down(void **state) {
    (void)state;
    tn_evaluator_free(evaluator);
    tn_arena_free(&arena);
    return 0;
}

static bool find(const tn_claimed_design *design, tn_evaluation *evaluation) {
    bool found;
    assert_int_equal(tn_published_design(evaluator, &space, design, evaluation, &found, NULL), TN_OK);
    return found;
}

static tn_price price_of_file(const char *const *set, size_t sets) {
    tn_model *model;
    tn_program_cache *cache;
    tn_step step;
    tn_workload *workload;
    tn_build build;
    tn_price price;
    assert_int_equal(tn_model_load("atis-2enc", set, sets, &arena, &model, NULL), TN_OK);
    assert_int_equal(tn_program_cache_new(&cache, NULL), TN_OK);
    assert_int_equal(tn_step_build(model, cache, &arena, &step, NULL), TN_OK);
    assert_int_equal(tn_build_decode(tn_model_build(model), &arena, &build, NULL), TN_OK);
    assert_int_equal(tn_workload_prepare(&step, space.device, &arena, &workload, NULL), TN_OK);
    assert_int_equal(tn_price_step(workload, &build, &price, NULL), TN_OK);
    tn_program_cache_free(cache);
    return price;
}

static void priced_as_the_model_file(void **state) {
    static const char *const set[] = {"build.layouts=ideal", "weights.square.flow=bidirectional-published",
                                      "build.columns=8"};
    const char *said[] = {"weights.square.folding=12x8x8,8x8x12", "weights.square.rank=12",
                          "weights.square.flow=bidirectional-published", "build.columns=8"};
    tn_evaluation evaluation;
    (void)state;
    assert_int_equal(claims.designs, 3);
    assert_true(find(&claims.design[0], &evaluation));
    tn_price price = price_of_file(set, 2);
    assert_int_equal(evaluation.price.cycles_per_step, price.cycles_per_step);
    assert_int_equal(evaluation.price.on_chip_bytes, price.on_chip_bytes);
    assert_int_equal(evaluation.price.used.dsp, price.used.dsp);
    /* A key of the build that is said: rows and reduction stay the model file's. */
    tn_claimed_design design = claims.design[0];
    design.choices = (tn_text_list){4, said};
    assert_true(find(&design, &evaluation));
    assert_true(evaluation.price.used.dsp > price.used.dsp);
    price = price_of_file(set, 3);
    assert_int_equal(evaluation.price.cycles_per_step, price.cycles_per_step);
    assert_int_equal(evaluation.price.used.dsp, price.used.dsp);
}

/* Another model, another device, a value that the space has not, a choice that is not said. */
static void not_of_the_space(void **state) {
    const char *said[] = {"weights.square.folding=12x8x8,8x8x12", "weights.square.rank=13",
                          "weights.square.flow=optimal"};
    tn_claimed_design design = claims.design[0];
    tn_evaluation evaluation;
    (void)state;
    assert_false(find(&claims.design[1], &evaluation));
    design.device = "u5";
    assert_false(find(&design, &evaluation));
    design.device = "u50@user-area";
    assert_true(find(&design, &evaluation));
    design.choices = (tn_text_list){3, said};
    assert_false(find(&design, &evaluation));
    said[1] = "weights.square.rank=24";
    assert_true(find(&design, &evaluation));
    design.choices.count = 2;
    assert_false(find(&design, &evaluation));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(priced_as_the_model_file),
        cmocka_unit_test(not_of_the_space),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
