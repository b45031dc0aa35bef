/* A design of a space with keys set otherwise is the design of the space that has those values: every price, step and weight of
 * pairs of designs, drawn among choices of all kinds. */
#include "base/random.h"
#include "search/evaluator.h"
#include "support/shared.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

enum { PAIRS = 60, SETS_MOST = 16 };

static tn_arena arena;
static tn_space space;

static int set_up(void **state) {
    (void)state;
    return tn_space_load(test_source("tests/cli/data/what-if.yaml"), NULL, 0, NULL, &arena, &space, NULL) !=
           TN_OK;
}

static int tear_down(void **state) {
    (void)state;
    tn_arena_free(&arena);
    return 0;
}

/* KEY=VALUE of the choices in which `end` differs; now and then of one in which it does not. */
static size_t sets_between(uint64_t begin, uint64_t end, uint64_t *random, tn_arena *own,
                           const char *set[SETS_MOST]) {
    size_t count = 0;
    for (size_t i = 0; i < space.choices.count; i++) {
        const tn_axis *choice = &space.choices.axis[i];
        const uint32_t digit = tn_choices_digit(&space.choices, end, i);
        tn_buffer value = {0};
        if (digit == tn_choices_digit(&space.choices, begin, i) && tn_splitmix_below(random, 4)) continue;
        tn_axis_value(choice, digit, &value);
        assert_int_equal(value.status, TN_OK);
        const char *comma = choice->kind == TN_AXIS_FOLDING ? strchr(value.data, ',') : NULL;
        if (comma) {
            const int rows = (int)(comma - value.data);
            assert_int_equal(
                tn_arena_format(own, &set[count++], NULL, "weights.square.m=%.*s", rows, value.data), TN_OK);
            assert_int_equal(tn_arena_format(own, &set[count++], NULL, "weights.square.n=%s", comma + 1),
                             TN_OK);
        } else {
            assert_int_equal(tn_arena_format(own, &set[count++], NULL, "%s=%s",
                                             choice->more ? "layers.encoder*.value.rank" : choice->key,
                                             value.data),
                             TN_OK);
        }
        tn_buffer_free(&value);
    }
    return count;
}

static void check_weights(tn_model *changed, tn_model *model) {
    for (size_t i = 0; i < tn_model_layers(model); i++) {
        const tn_model_weight *a = tn_model_layer_at(model, i).weight,
                              *b = tn_model_layer_at(changed, i).weight;
        assert_int_equal(a != NULL, b != NULL);
        if (!a) continue;
        assert_true(tn_weight_equal(&a->weight, &b->weight));
        assert_int_equal(a->flow, b->flow);
    }
}

static void neighbours_are_what_ifs(void **state) {
    (void)state;
    uint64_t random = 7;
    tn_program_cache *cache;
    tn_evaluator *source, *target;
    assert_int_equal(tn_program_cache_new(&cache, NULL), TN_OK);
    assert_int_equal(tn_evaluator_new(&space, &source, NULL), TN_OK);
    assert_int_equal(tn_evaluator_new(&space, &target, NULL), TN_OK);
    for (int i = 0; i < PAIRS; i++) {
        const uint32_t designs = (uint32_t)space.choices.designs;
        const uint64_t a = tn_splitmix_below(&random, designs), b = tn_splitmix_below(&random, designs);
        const char *set[SETS_MOST];
        tn_arena own = {0};
        tn_evaluation evaluation;
        tn_design design, changed;
        tn_priced priced;
        assert_int_equal(tn_evaluate_design(source, a, &evaluation, NULL), TN_OK);
        assert_int_equal(tn_evaluator_design(source, &own, &design, NULL), TN_OK);
        check_weights(design.model, tn_evaluator_model(source));
        const size_t count = sets_between(a, b, &random, &own, set);
        assert_int_equal(tn_design_change(&design, set, count, &own, &changed, NULL), TN_OK);
        assert_int_equal(tn_design_price(&changed, NULL, cache, &own, &priced, NULL), TN_OK);
        assert_int_equal(tn_evaluate_design(target, b, &evaluation, NULL), TN_OK);
        check_weights(changed.model, tn_evaluator_model(target));
        assert_memory_equal(&changed.build, tn_evaluator_build(target), sizeof changed.build);
        assert_int_equal(priced.price.cycles_per_step, evaluation.price.cycles_per_step);
        assert_true(priced.price.joules_per_step == evaluation.price.joules_per_step);
        assert_memory_equal(&priced.price.used, &evaluation.price.used, sizeof evaluation.price.used);
        assert_int_equal(priced.step->parameters, evaluation.parameters);
        assert_int_equal(priced.step->peak_elements, evaluation.peak_elements);
        tn_arena_free(&own);
    }
    tn_evaluator_free(source);
    tn_evaluator_free(target);
    tn_program_cache_free(cache);
}

/* Layers that the file has otherwise are as the sweep has them when something else changes. */
static void other_layers_stay(void **state) {
    (void)state;
    enum { DESIGNS = 20 };
    static const char *const sets[] = {
        "set=[layers.encoder2.key.rank=5, layers.encoder2.widen.flow=right-to-left]"};
    uint64_t random = 11;
    tn_space other;
    tn_arena all = {0};
    tn_program_cache *cache;
    tn_evaluator *evaluator;
    tn_error error = {0};
    if (tn_space_load(test_source("tests/cli/data/what-if.yaml"), sets, 1, NULL, &all, &other, &error) !=
        TN_OK)
        fail_msg("%s", error.message);
    assert_int_equal(tn_program_cache_new(&cache, NULL), TN_OK);
    assert_int_equal(tn_evaluator_new(&other, &evaluator, NULL), TN_OK);
    for (int i = 0; i < DESIGNS; i++) {
        const uint64_t id = tn_splitmix_below(&random, (uint32_t)other.choices.designs);
        static const char *const set[] = {"optimizer=adam", "optimizer=sgd"};
        tn_arena own = {0};
        tn_evaluation evaluation;
        tn_design design;
        tn_priced priced;
        assert_int_equal(tn_evaluate_design(evaluator, id, &evaluation, NULL), TN_OK);
        assert_int_equal(tn_evaluator_design(evaluator, &own, &design, NULL), TN_OK);
        for (int k = 0; k < 2; k++)
            assert_int_equal(tn_design_change(&design, &set[k], 1, &own, &design, NULL), TN_OK);
        check_weights(design.model, tn_evaluator_model(evaluator));
        assert_int_equal(tn_design_price(&design, NULL, cache, &own, &priced, NULL), TN_OK);
        assert_int_equal(priced.price.cycles_per_step, evaluation.price.cycles_per_step);
        assert_memory_equal(&priced.price.used, &evaluation.price.used, sizeof evaluation.price.used);
        tn_arena_free(&own);
    }
    tn_evaluator_free(evaluator);
    tn_program_cache_free(cache);
    tn_arena_free(&all);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(neighbours_are_what_ifs),
                                       cmocka_unit_test(other_layers_stay)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
