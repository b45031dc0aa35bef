/* How firmly accuracies settle a choice: against draws of this test's own, and where nothing is open. */
#include "base/file.h"
#include "base/random.h"
#include "front/knee.h"
#include "results/possible.h"
#include "results/recommendation.h"
#include "results/result.h"
#include "results/settled.h"
#include "search/evaluator.h"
#include "support/folder.h"
#include "support/shared.h"
#include "support/status.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static tn_arena arena;
static tn_error error;
static tn_result result;
static tn_point *point;

static void ok(tn_status status) {
    test_ok(status, &error);
}

static int set_up(void **state) {
    return test_folder_make(state);
}

static int tear_down(void **state) {
    tn_arena_free(&arena);
    return test_folder_remove(state);
}

/* The front of the space with accuracies, by a table of so many seeds a row. */
static void sweep(const char *name, unsigned seeds, double spread) {
    tn_space space;
    tn_summary summary;
    char text[2048], file[64];
    const char *set;
    int length = snprintf(text, sizeof text, "folding,rank,epochs,seeds,spread,accuracy\n");
    static const double measured[3][3] = {{0.87, 0.93, 0.955}, {0.872, 0.935, 0.952}, {0.865, 0.929, 0.951}};
    static const char *const folding[] = {"12x8x8,8x8x12", "24x32,32x24", "4x4x6x8,8x6x4x4"};
    static const int rank[] = {2, 8, 24};
    for (int f = 0; f < 3; f++)
        for (int r = 0; r < 3; r++)
            length += snprintf(text + length, sizeof text - (size_t)length, "\"%s\",%d,4,%u,%g,%g\n",
                               folding[f], rank[r], seeds, spread, measured[f][r]);
    snprintf(file, sizeof file, "%s.csv", name);
    ok(tn_file_write(test_in_folder(file), text, (size_t)length, &error));
    ok(tn_arena_format(&arena, &set, &error, "accuracy_table=%s", test_in_folder(file)));
    ok(tn_space_load(test_source("tests/space/data/accuracy.yaml"), &set, 1, NULL, &arena, &space, &error));
    ok(tn_sweep_folder(&space, &(tn_sweep_options){.threads = 1}, test_in_folder(name), NULL, &summary,
                       &error));
    ok(tn_result_load(test_in_folder(name), &arena, &result, &error));
    ok(tn_result_points(&result, &arena, &point, &error));
}

static void values_of(uint64_t id, tn_accuracy_value *value) {
    size_t digit[TN_AXES_MOST];
    for (size_t i = 0; i < result.space->choices.count; i++)
        digit[i] = tn_choices_digit(&result.space->choices, id, i);
    tn_accuracy_table_values(&result.space->accuracy_table, digit, value);
}

/* Designs that may be on the front, against the fronts of all designs of the space in each draw: what is listed has the
 * probability that it has among all, and no more than a few likely ones are missed. */
static void possible_designs_are_those_of_all_fronts(void **state) {
    (void)state;
    enum { DESIGNS = 432, DRAWS = TN_SETTLED_DRAWS };
    static tn_point all[DESIGNS];
    static tn_accuracy_value value[DESIGNS * TN_ACCURACY_CHOICES_MOST];
    static double drawn[DESIGNS * DRAWS];
    static size_t owner[DESIGNS];
    size_t count = 0, combinations = 0, columns, expected = 0, found = 0;
    tn_possible_list possible;
    tn_evaluator *evaluator;
    tn_evaluation *evaluation;
    sweep("possible", 1, 0.004);
    const tn_space *space = result.space;
    columns = space->accuracy_table.columns;
    assert_int_equal(space->choices.designs, DESIGNS);
    ok(tn_evaluator_new(space, &evaluator, &error));
    /* Combinations in the order of their first designs, as accuracies are drawn in it. */
    for (uint64_t id = 0; id < DESIGNS; id++) {
        uint64_t outer, inner;
        uint32_t cause;
        tn_evaluation one;
        tn_accuracy_value *own = value + combinations * columns;
        values_of(id, own);
        size_t c = 0;
        while (memcmp(value + c * columns, own, columns * sizeof *own) != 0) c++;
        combinations += c == combinations;
        tn_space_split(space, id, &outer, &inner);
        ok(tn_evaluate(evaluator, outer, inner, &one, &cause, &error));
        if (cause != TN_CAUSE_NONE) continue;
        tn_space_point(space, &one, id, &all[count]);
        owner[count++] = c;
    }
    ok(tn_draw_accuracies(&space->accuracy_table, value, combinations, drawn, &arena, &error));
    ok(TN_NEW(&arena, result.front_count, &evaluation, &error));
    for (size_t i = 0; i < result.front_count; i++)
        ok(tn_evaluate_design(evaluator, point[i].id, &evaluation[i], &error));
    ok(tn_possible_designs(space, point, evaluation, result.front_count, TN_POSSIBLE_NEIGHBOURS_MOST, 2,
                           &arena, &possible, &error));
    assert_true(possible.count > result.front_count);
    for (size_t i = 0; i < count; i++) {
        double share = 0;
        for (size_t k = 0; k < DRAWS; k++) {
            bool beaten = false;
            for (size_t j = 0; j < count && !beaten; j++) {
                bool worse = j == i, better = false;
                double gain = drawn[owner[j] * DRAWS + k] - drawn[owner[i] * DRAWS + k];
                for (size_t o = 0; o + 1 < space->objectives; o++) { /* accuracy is the last */
                    worse |= all[j].value[o] > all[i].value[o];
                    better |= all[j].value[o] < all[i].value[o];
                }
                worse |= gain < 0;
                better |= gain > 0 || all[j].id < all[i].id;
                beaten = !worse && better;
            }
            share += !beaten;
        }
        share /= DRAWS;
        size_t place = 0;
        while (place < possible.count && possible.item[place].id != all[i].id) place++;
        expected += share >= tn_possible_least;
        if (place == possible.count) continue;
        found += share >= tn_possible_least;
        if (fabs(share - possible.item[place].probability) > 0.05)
            fail_msg("design %d: %g, of all designs %g", (int)all[i].id, possible.item[place].probability,
                     share);
    }
    assert_true(expected > result.front_count / 2 && found >= 0.95 * expected);
    tn_evaluator_free(evaluator);
}

/* The small changes of the question have accuracies lower and higher by a deviation among them. */
static void robustness_has_accuracy(void **state) {
    (void)state;
    tn_robustness told;
    uint64_t *id;
    size_t found = 0;
    sweep("firm", 1, 0.004);
    size_t count = result.front_count, last = result.space->objectives - 1;
    assert_string_equal(result.space->objective[last]->name, "accuracy");
    ok(TN_NEW(&arena, count, &id, &error));
    for (size_t i = 0; i < count; i++) id[i] = point[i].id;
    ok(tn_robustness_of(result.space, id, count, result.recommended[0].id, &arena, &told, &error));
    assert_int_equal(told.changes, 10);
    for (size_t i = 0; i < told.changes; i++) {
        if (strncmp(told.change[i].change, "accuracies", 10) != 0) continue;
        double sign = strstr(told.change[i].change, "higher") ? 1 : -1;
        for (size_t k = 0; k < count; k++)
            point[k].value[last] = -(tn_result_value(&result.front[k], "accuracy") +
                                     sign * tn_result_value(&result.front[k], "accuracy_deviation"));
        assert_int_equal(told.change[i].design, point[tn_knee(point, count, last + 1)].id);
        found++;
    }
    assert_int_equal(found, 2);
}

static size_t most_accurate(const tn_point *this_point, size_t count, size_t objectives, void *user) {
    size_t best = 0;
    (void)user;
    for (size_t i = 1; i < count; i++)
        if (this_point[i].value[objectives - 1] < this_point[best].value[objectives - 1]) best = i;
    return best;
}

/* Folding and rank, of which the most accurate design is chosen. */
static uint64_t combination(uint64_t id) {
    return tn_choices_digit(&result.space->choices, id, 0) * 1000 +
           tn_choices_digit(&result.space->choices, id, 1);
}

static void shares_are_those_of_other_draws(void **state) {
    (void)state;
    enum { DRAWS = 3000, FRONT_MOST = 512 };
    tn_settled settled;
    sweep("open", 1, 0.004);
    size_t count = result.front_count, objectives = result.space->objectives;
    assert_true(count > 10 && count < FRONT_MOST);
    uint64_t chosen = point[most_accurate(point, count, objectives, NULL)].id;
    ok(tn_settled_of(result.space, point, count, chosen, most_accurate, NULL, &arena, &settled, &error));
    assert_true(settled.asked);
    assert_int_equal(settled.draws, TN_SETTLED_DRAWS);
    assert_true(settled.kept > 0 && settled.kept <= settled.alike && settled.alike < settled.draws);
    assert_true(settled.rival_draws > 0 && settled.rival != chosen);
    assert_true(settled.gain > 0 && settled.gain <= 1);

    const tn_accuracy_model *m = &result.space->accuracy_table.model;
    tn_random *random;
    double *normal, *parameter;
    size_t kept = 0;
    ok(tn_random_open(11, &random, &error));
    ok(TN_NEW(&arena, m->parameters, &normal, &error));
    ok(TN_NEW(&arena, m->parameters, &parameter, &error));
    for (int k = 0; k < DRAWS; k++) {
        static double deviation[256 * 1000];
        uint64_t best = 0;
        double most = -1;
        for (size_t i = 0; i < m->parameters; i++) normal[i] = tn_random_normal(random);
        tn_accuracy_model_draw(m, normal, parameter);
        for (size_t i = 0; i < count; i++) deviation[combination(point[i].id)] = NAN;
        for (size_t i = 0; i < count; i++) {
            tn_accuracy_value value[TN_ACCURACY_CHOICES_MOST];
            double *own = &deviation[combination(point[i].id)];
            if (isnan(*own)) *own = tn_random_normal(random);
            values_of(point[i].id, value);
            double accuracy = tn_accuracy_model_by(m, parameter, value, m->passes, *own);
            if (accuracy > most) {
                most = accuracy;
                best = combination(point[i].id);
            }
        }
        kept += best == combination(chosen);
    }
    tn_random_close(random);
    double share = (double)kept / DRAWS, found = (double)settled.alike / (double)settled.draws;
    assert_true(fabs(share - found) < 4 * sqrt(share * (1 - share) / TN_SETTLED_DRAWS) + 0.01);
}

/* With many seeds of little spread less is open: what is left is what lies between the trained ranks. */
static void seeds_settle(void **state) {
    (void)state;
    tn_settled open, closed;
    sweep("few", 1, 0.004);
    size_t objectives = result.space->objectives;
    uint64_t knee = point[tn_choose_knee(point, result.front_count, objectives, NULL)].id;
    ok(tn_settled_of(result.space, point, result.front_count, knee, tn_choose_knee, NULL, &arena, &open,
                     &error));
    assert_int_equal(knee, result.recommended[0].id);
    sweep("many", 4000, 0.0004);
    knee = result.recommended[0].id;
    ok(tn_settled_of(result.space, point, result.front_count, knee, tn_choose_knee, NULL, &arena, &closed,
                     &error));
    assert_true(closed.kept >= open.kept);
    assert_true(closed.alike >= open.alike);
}

/* A space of other objectives leaves nothing open. */
static void nothing_is_asked_without_the_objective(void **state) {
    (void)state;
    tn_settled settled;
    sweep("other", 1, 0.004);
    tn_space space = *result.space;
    space.objectives--;
    ok(tn_settled_of(&space, point, result.front_count, point[0].id, tn_choose_knee, NULL, &arena, &settled,
                     &error));
    assert_false(settled.asked);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_are_those_of_other_draws),          cmocka_unit_test(seeds_settle),
        cmocka_unit_test(possible_designs_are_those_of_all_fronts), cmocka_unit_test(robustness_has_accuracy),
        cmocka_unit_test(nothing_is_asked_without_the_objective),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
