/* Evaluations of designs: what the model with the design's keys set costs, whatever was evaluated before. */
#include "search/evaluator.h"
#include "support/models.h"
#include "support/prices.h"
#include "support/shared.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

enum { DESIGNS = 16, SETS = 5 };

static tn_arena arena;
static tn_space space;

static int set_up(void **state) {
    (void)state;
    return tn_space_load(test_source("tests/space/data/mini.yaml"), NULL, 0, NULL, &arena, &space, NULL) !=
               TN_OK ||
           space.choices.designs != DESIGNS;
}

static int tear_down(void **state) {
    test_models_end(state);
    tn_arena_free(&arena);
    return 0;
}

/* KEY=VALUE for the model file of every choice of the design; a folding is two keys. */
static size_t sets_of(uint64_t id, tn_arena *own, const char *set[SETS]) {
    size_t count = 0;
    for (size_t i = 0; i < space.choices.count; i++) {
        const tn_axis *choice = &space.choices.axis[i];
        tn_buffer value = {0};
        tn_axis_value(choice, tn_choices_digit(&space.choices, id, i), &value);
        assert_int_equal(value.status, TN_OK);
        const char *comma = choice->kind == TN_AXIS_FOLDING ? strchr(value.data, ',') : NULL;
        assert_true(count + 1 + (comma != NULL) <= SETS);
        if (comma) {
            assert_int_equal(tn_arena_format(own, &set[count++], NULL, "weights.square.m=%.*s",
                                             (int)(comma - value.data), value.data),
                             TN_OK);
            assert_int_equal(tn_arena_format(own, &set[count++], NULL, "weights.square.n=%s", comma + 1),
                             TN_OK);
        } else {
            assert_int_equal(tn_arena_format(own, &set[count++], NULL, "%s=%s", choice->key, value.data),
                             TN_OK);
        }
        tn_buffer_free(&value);
    }
    return count;
}

/* The price of the model file with those keys, as `tenfold cost` makes it. */
static tn_price price_of(uint64_t id, uint64_t *parameters) {
    tn_arena own = {0};
    tn_model *model;
    tn_build build;
    const char *set[SETS];
    size_t count = sets_of(id, &own, set);
    assert_int_equal(tn_model_load("atis-2enc", set, count, &own, &model, NULL), TN_OK);
    assert_int_equal(tn_build_decode(tn_model_build(model), &own, &build, NULL), TN_OK);
    tn_step step = test_step_of(model, &own);
    tn_price price = test_price(test_prepare(&step, space.device, &own), &build);
    *parameters = step.parameters;
    tn_arena_free(&own);
    return price;
}

static tn_evaluation evaluation_of(tn_evaluator *evaluator, uint64_t id) {
    tn_evaluation evaluation;
    tn_error error = {0};
    tn_status status = tn_evaluate_design(evaluator, id, &evaluation, &error);
    if (status != TN_OK) print_error("design %d: %s\n", (int)id, error.message);
    assert_int_equal(status, TN_OK);
    return evaluation;
}

static void designs_cost_what_their_model_costs(void **state) {
    (void)state;
    tn_evaluator *evaluator;
    assert_int_equal(tn_evaluator_new(&space, &evaluator, NULL), TN_OK);
    for (uint64_t id = 0; id < DESIGNS; id++) {
        uint64_t parameters;
        tn_evaluation evaluation = evaluation_of(evaluator, id);
        tn_price price = price_of(id, &parameters);
        test_same_price(&evaluation.price, &price);
        assert_int_equal(evaluation.parameters, parameters);
    }
    tn_evaluator_free(evaluator);
}

/* Jumps between outer combinations, and a fresh evaluator for each design. */
static void what_came_before_changes_nothing(void **state) {
    (void)state;
    tn_evaluator *evaluator, *fresh;
    assert_int_equal(tn_evaluator_new(&space, &evaluator, NULL), TN_OK);
    for (uint64_t i = 0; i < 2 * DESIGNS; i++) {
        uint64_t id = i * 7 % DESIGNS;
        tn_evaluation evaluation = evaluation_of(evaluator, id);
        assert_int_equal(tn_evaluator_new(&space, &fresh, NULL), TN_OK);
        tn_evaluation alone = evaluation_of(fresh, id);
        test_same_price(&evaluation.price, &alone.price);
        assert_int_equal(evaluation.peak_elements, alone.peak_elements);
        assert_int_equal(evaluation.degrees_of_freedom, alone.degrees_of_freedom);
        tn_evaluator_free(fresh);
    }
    tn_evaluator_free(evaluator);
}

static void points_are_confirmed_to_the_bit(void **state) {
    (void)state;
    tn_evaluator *evaluator;
    assert_int_equal(tn_evaluator_new(&space, &evaluator, NULL), TN_OK);
    size_t confirmed = 0;
    for (uint64_t id = 0; id < DESIGNS; id++) {
        tn_evaluation evaluation;
        tn_point point = {0};
        uint64_t outer, inner;
        uint32_t cause;
        bool same;
        tn_space_split(&space, id, &outer, &inner);
        assert_int_equal(tn_evaluate(evaluator, outer, inner, &evaluation, &cause, NULL), TN_OK);
        tn_space_point(&space, &evaluation, id, &point);
        assert_int_equal(tn_evaluator_confirm(evaluator, &point, &evaluation, &same, NULL), TN_OK);
        assert_int_equal(same, cause == TN_CAUSE_NONE);
        confirmed += same;
        point.value[0] += 1;
        assert_int_equal(tn_evaluator_confirm(evaluator, &point, &evaluation, &same, NULL), TN_OK);
        assert_false(same);
    }
    assert_true(confirmed > 0);
    tn_evaluator_free(evaluator);
}

static void designs_past_the_last_are_refused(void **state) {
    (void)state;
    tn_evaluator *evaluator;
    tn_evaluation evaluation;
    tn_error error = {0};
    assert_int_equal(tn_evaluator_new(&space, &evaluator, NULL), TN_OK);
    assert_int_equal(tn_evaluate_design(evaluator, DESIGNS, &evaluation, &error), TN_INPUT);
    assert_non_null(strstr(error.message, "designs 0 to 15"));
    tn_evaluator_free(evaluator);
    tn_evaluator_free(NULL);
}

/* All builds of the space. */
static tn_build_set every_build(const tn_space *of, tn_build_axis *axis, tn_evaluator *evaluator) {
    tn_build_set set = {.build = *tn_evaluator_build(evaluator), .axes = (uint32_t)of->inners, .axis = axis};
    for (uint32_t i = 0; i < set.axes; i++) {
        const tn_axis *choice = &of->choices.axis[of->inner[i]];
        axis[i] = (tn_build_axis){choice->field, choice->count, choice->number};
        set.free |= 1u << i;
    }
    return set;
}

/* Steps of which no build can fulfil the constraint, of those of the space. */
static unsigned refused_steps(const char *constraint) {
    tn_arena own = {0};
    tn_space asked;
    tn_evaluator *evaluator;
    unsigned refused = 0;
    const char *set;
    assert_int_equal(tn_arena_format(&own, &set, NULL, "constraints=['%s']", constraint), TN_OK);
    assert_int_equal(
        tn_space_load(test_source("tests/space/data/mini.yaml"), &set, 1, NULL, &own, &asked, NULL), TN_OK);
    assert_int_equal(tn_evaluator_new(&asked, &evaluator, NULL), TN_OK);
    for (uint64_t id = 0; id < DESIGNS; id++) {
        uint64_t outer, inner;
        uint32_t cause;
        tn_evaluation evaluation;
        tn_space_split(&asked, id, &outer, &inner);
        assert_int_equal(tn_evaluate(evaluator, outer, inner, &evaluation, &cause, NULL), TN_OK);
        tn_build_axis axis[SETS];
        const tn_build_set every = every_build(&asked, axis, evaluator);
        const uint32_t of_step = tn_evaluator_refuses_set(evaluator, &every, 0);
        assert_true(of_step == TN_CAUSE_NONE || of_step == TN_CAUSE_CONSTRAINT);
        assert_true(of_step == TN_CAUSE_NONE || cause != TN_CAUSE_NONE);
        refused += inner == 0 && of_step != TN_CAUSE_NONE;
    }
    tn_evaluator_free(evaluator);
    tn_arena_free(&own);
    return refused;
}

static void steps_are_refused_by_what_no_build_changes(void **state) {
    (void)state;
    assert_int_equal(refused_steps("degrees_of_freedom >= 1e12"), DESIGNS / 2);
    assert_int_equal(refused_steps("weights.square.rank > 4"), DESIGNS / 4);
    assert_int_equal(refused_steps("weights.square.rank > 4 or sequence = 16"), DESIGNS / 8);
    assert_int_equal(refused_steps("build.rows > 4"), DESIGNS / 2);
    assert_int_equal(refused_steps("build.rows >= 4"), 0);
    assert_int_equal(refused_steps("degrees_of_freedom >= 1 and dsp >= 2"), 0);
    assert_int_equal(refused_steps("degrees_of_freedom >= 1 and dsp >= 1e9"), DESIGNS / 2);
    assert_int_equal(refused_steps("weights.square.rank > 4 or on_chip_bytes >= 1e9"), DESIGNS / 4);
    assert_int_equal(refused_steps("weights.square.rank > 4 or seconds_per_step >= 1e9"), 0);
    assert_int_equal(refused_steps("cycles_per_step <= 2e4"), DESIGNS / 2);
    assert_int_equal(refused_steps("seconds_per_epoch <= 1 or joules_per_step <= 1e-3"), DESIGNS / 2);
}

/* The cause of builds of the step that stands, all or those with one of the two numbers of rows. */
static uint32_t cause_of_set(tn_evaluator *evaluator, const tn_build_set *set, uint64_t inner) {
    tn_evaluation evaluation;
    uint32_t cause;
    bool has;
    assert_int_equal(tn_evaluate_set(evaluator, set, inner, TN_BY_PARALLELISM, UINT64_MAX, &evaluation,
                                     &cause, &has, NULL),
                     TN_OK);
    assert_true(has);
    return cause;
}

/* Of two kernels one has fewer DSPs than are asked for: its builds are refused, not all of both. */
static void sets_are_refused_by_what_their_kernels_take(void **state) {
    (void)state;
    tn_evaluator *evaluator;
    tn_evaluation evaluation[2];
    uint32_t cause;
    tn_arena own = {0};
    tn_space asked;
    const char *set;
    assert_int_equal(tn_evaluator_new(&space, &evaluator, NULL), TN_OK);
    for (uint64_t inner = 0; inner < 2; inner++)
        assert_int_equal(tn_evaluate(evaluator, 0, inner, &evaluation[inner], &cause, NULL), TN_OK);
    tn_evaluator_free(evaluator);
    assert_true(evaluation[0].price.used.dsp < evaluation[1].price.used.dsp);
    assert_int_equal(tn_arena_format(&own, &set, NULL, "constraints=['dsp >= %llu']",
                                     (unsigned long long)evaluation[1].price.used.dsp),
                     TN_OK);
    assert_int_equal(
        tn_space_load(test_source("tests/space/data/mini.yaml"), &set, 1, NULL, &own, &asked, NULL), TN_OK);
    assert_int_equal(tn_evaluator_new(&asked, &evaluator, NULL), TN_OK);
    for (uint64_t outer = 0; outer < DESIGNS / 2; outer++) {
        tn_build_axis axis[SETS];
        assert_int_equal(tn_evaluate(evaluator, outer, 0, &evaluation[0], &cause, NULL), TN_OK);
        const tn_build_set every = every_build(&asked, axis, evaluator),
                           few = tn_build_set_fixed(&every, 0, 0), more = tn_build_set_fixed(&every, 0, 1);
        assert_int_equal(cause_of_set(evaluator, &every, 0), TN_CAUSE_NONE);
        assert_int_equal(cause_of_set(evaluator, &few, 0), TN_CAUSE_CONSTRAINT);
        assert_int_equal(cause_of_set(evaluator, &more, 1), TN_CAUSE_NONE);
    }
    tn_evaluator_free(evaluator);
    tn_arena_free(&own);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(designs_cost_what_their_model_costs),
        cmocka_unit_test(what_came_before_changes_nothing),
        cmocka_unit_test(points_are_confirmed_to_the_bit),
        cmocka_unit_test(designs_past_the_last_are_refused),
        cmocka_unit_test(steps_are_refused_by_what_no_build_changes),
        cmocka_unit_test(sets_are_refused_by_what_their_kernels_take),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
