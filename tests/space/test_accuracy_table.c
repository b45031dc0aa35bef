/* Accuracy as an objective: the table against an evaluation of Steffen's formula, the front against all pairs. */
#include "base/file.h"
#include "base/memory.h"
#include "results/result.h"
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
#include <stdlib.h>
#include <string.h>

static tn_arena arena;
static tn_error error;

static void ok(tn_status status) {
    test_ok(status, &error);
}

static tn_status load(const char *const *set, size_t count, tn_space *space) {
    return tn_space_load(test_source("tests/space/data/accuracy.yaml"), set, count, NULL, &arena, space,
                         &error);
}

static int set_up(void **state) {
    return test_folder_make(state);
}

static int tear_down(void **state) {
    tn_arena_free(&arena);
    return test_folder_remove(state);
}

static double sign(double x) {
    return x < 0 ? -1 : 1;
}

/* Slope at an inner point (Steffen 1990, eq. 11), at an end (eq. 24, 26, as GSL has it: the secant's). */
static double slope(const double *x, const double *y, size_t n, size_t i) {
    if (i == 0) return (y[1] - y[0]) / (x[1] - x[0]);
    if (i == n - 1) return (y[i] - y[i - 1]) / (x[i] - x[i - 1]);
    double h0 = x[i] - x[i - 1], h1 = x[i + 1] - x[i];
    double s0 = (y[i] - y[i - 1]) / h0, s1 = (y[i + 1] - y[i]) / h1;
    double p = (s0 * h1 + s1 * h0) / (h0 + h1);
    return (sign(s0) + sign(s1)) * fmin(fmin(fabs(s0), fabs(s1)), 0.5 * fabs(p));
}

static double steffen(const double *x, const double *y, size_t n, double at) {
    size_t i = 0;
    while (i + 2 < n && at > x[i + 1]) i++;
    double h = x[i + 1] - x[i], t = (at - x[i]) / h;
    double a = slope(x, y, n, i) * h, b = slope(x, y, n, i + 1) * h;
    /* Hermite's basis. */
    return y[i] * (1 + 2 * t) * (1 - t) * (1 - t) + a * t * (1 - t) * (1 - t) +
           y[i + 1] * t * t * (3 - 2 * t) + b * t * t * (t - 1);
}

/* What the table says of folding f at the rank: rows of one epoch, and the one whose seeds all collapsed, count
 * nothing. */
static double expected(size_t f, double rank, double *interpolated) {
    static const double x[] = {4, 8, 24, 48}, y[] = {0.80, 0.86, 0.93, 0.925};
    *interpolated = NAN;
    if (f == 2 || (f == 0 && rank < 4) || (f == 1 && (rank < 12 || rank > 36))) return NAN;
    bool measured = false;
    for (int i = 0; f == 0 && i < 4; i++) measured |= rank == x[i];
    measured |= f == 1 && (rank == 12 || rank == 36);
    *interpolated = !measured;
    return f == 0 ? steffen(x, y, 4, rank) : 0.9 + 0.06 * (rank - 12) / 24;
}

static size_t folding_of(const tn_space *space, uint64_t id) {
    return tn_choices_digit(&space->choices, id, 0);
}

static double rank_of(const tn_space *space, uint64_t id) {
    return (double)space->choices.axis[1].number[tn_choices_digit(&space->choices, id, 1)];
}

static void values_follow_the_measured_ranks(void **state) {
    (void)state;
    tn_space space;
    tn_evaluator *evaluator;
    static const char *const set[] = {"objectives=[seconds_per_step, dsp]"};
    size_t known = 0, between = 0;
    ok(load(set, 1, &space));
    ok(tn_evaluator_new(&space, &evaluator, &error));
    for (uint64_t id = space.choices.designs; id-- > 0;) {
        tn_evaluation found;
        double interpolated, wanted = expected(folding_of(&space, id), rank_of(&space, id), &interpolated);
        ok(tn_evaluate_design(evaluator, id, &found, &error));
        assert_int_equal(isnan(found.accuracy), isnan(wanted));
        assert_int_equal(isnan(found.accuracy_interpolated), isnan(wanted));
        if (isnan(wanted)) continue;
        assert_true(fabs(found.accuracy - wanted) < 1e-12);
        assert_true(found.accuracy_interpolated == interpolated);
        known++;
        between += interpolated == 1;
    }
    tn_evaluator_free(evaluator);
    assert_int_equal(known, (8 + 5) * 16);
    assert_int_equal(between, (4 + 3) * 16);
}

static bool dominates(const double *a, const double *b, size_t n) {
    bool less = false;
    for (size_t i = 0; i < n; i++) {
        if (a[i] > b[i]) return false;
        less |= a[i] < b[i];
    }
    return less;
}

static tn_summary sweep(const tn_space *space, unsigned threads, const char *name) {
    tn_summary summary;
    ok(tn_sweep_folder(space, &(tn_sweep_options){.threads = threads}, test_in_folder(name), NULL, &summary,
                       &error));
    return summary;
}

/* By default accuracy is the last objective, and maximised; a design of unknown accuracy is in no front. */
static void front_equals_all_pairs(void **state) {
    (void)state;
    static const char *const set[] = {"constraints=[accuracy >= 0.85]"};
    enum { MOST = 1024 };
    static double value[MOST][4];
    static uint64_t id[MOST];
    size_t count = 0, front = 0, known = 0;
    tn_space space;
    tn_evaluator *evaluator;
    tn_result result;
    ok(load(set, 1, &space));
    assert_int_equal(space.objectives, 4);
    assert_string_equal(space.objective[3]->name, "accuracy");
    tn_summary summary = sweep(&space, 1, "front");
    ok(tn_evaluator_new(&space, &evaluator, &error));
    for (uint64_t i = 0; i < space.choices.designs; i++) {
        tn_evaluation of;
        uint64_t outer, inner;
        uint32_t cause;
        double ignored, accuracy = expected(folding_of(&space, i), rank_of(&space, i), &ignored);
        tn_space_split(&space, i, &outer, &inner);
        ok(tn_evaluate(evaluator, outer, inner, &of, &cause, &error));
        if (cause >= TN_CAUSE_RESOURCE && cause < TN_CAUSE_CONSTRAINT) continue;
        assert_int_equal(cause == TN_CAUSE_UNMEASURED, isnan(accuracy));
        if (isnan(accuracy)) continue;
        known++;
        assert_int_equal(cause == TN_CAUSE_NONE, accuracy >= 0.85);
        if (accuracy < 0.85) continue;
        id[count] = i;
        memcpy(value[count++],
               (double[]){of.price.seconds_per_step, (double)of.price.on_chip_bytes,
                          (double)of.price.used.dsp, -of.accuracy},
               sizeof value[0]);
    }
    tn_evaluator_free(evaluator);
    assert_int_equal(summary.feasible, count);
    assert_true(known > count);
    ok(tn_result_load(test_in_folder("front"), &arena, &result, &error));
    for (size_t i = 0; i < count; i++) {
        bool beaten = false;
        for (size_t k = 0; k < count && !beaten; k++)
            beaten = dominates(value[k], value[i], 4) ||
                     (k < i && memcmp(value[k], value[i], sizeof value[0]) == 0);
        if (beaten) continue;
        assert_true(front < result.front_count);
        assert_int_equal(result.front[front++].id, id[i]);
    }
    assert_int_equal(front, result.front_count);
    assert_true(front > 1);
    bool named = false;
    for (size_t i = 0; i < summary.causes; i++) named |= strcmp(summary.cause[i], "unmeasured") == 0;
    assert_true(named);
}

static void put(const char *name, const char *text) {
    assert_int_equal(tn_file_write(test_in_folder(name), text, strlen(text), NULL), TN_OK);
}

static void assert_same(const char *one, const char *other) {
    char *data[2];
    size_t length[2];
    assert_int_equal(tn_file_read(test_in_folder(one), 1 << 24, &data[0], &length[0], NULL), TN_OK);
    assert_int_equal(tn_file_read(test_in_folder(other), 1 << 24, &data[1], &length[1], NULL), TN_OK);
    assert_int_equal(length[0], length[1]);
    assert_memory_equal(data[0], data[1], length[0]);
    tn_free(data[0]);
    tn_free(data[1]);
}

/* The folder holds a copy of the table; with another the folder is refused. */
static void results_hold_the_table(void **state) {
    (void)state;
    tn_space space;
    tn_result result;
    ok(load(NULL, 0, &space));
    sweep(&space, 1, "one");
    sweep(&space, 3, "three");
    assert_same("one/front.csv", "three/front.csv");
    assert_same("one/sweep.json", "three/sweep.json");
    ok(tn_result_load(test_in_folder("one"), &arena, &result, &error));
    assert_memory_equal(space.accuracy_table.text, result.space->accuracy_table.text,
                        space.accuracy_table.length);
    put("one/accuracy_table.csv", "folding,rank,accuracy\n\"12x8x8,8x8x12\",4,1\n");
    assert_int_equal(tn_result_load(test_in_folder("one"), &arena, &result, &error), TN_INPUT);
    assert_non_null(strstr(error.file, "accuracy_table.csv"));
}

static void odd_tables_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *text, *message;
        unsigned line;
    } cases[] = {
        {"", "", 0},
        {"rank,accuracy\n4,0.5\n", "folding", 1},
        {"folding,accuracy\n\"24x32,32x24\",0.5\n", "rank", 1},
        {"folding,rank,acuracy\n\"24x32,32x24\",4,0.5\n", "accuracy", 1},
        {"folding,rank,accuracy\n", "no row that counts", 1},
        {"folding,rank,accuracy\n\"16x48,48x16\",4,0.5\n", "no row that counts", 1},
        {"folding,rank,accuracy\n\"24x32,32x24\",4,1.5\n", "1.5", 2},
        {"folding,rank,accuracy\n\"24x32,32x24\",4,nan\n", "nan", 2},
        {"folding,rank,accuracy\n\"24x32,32x24\",0,0.5\n", "0", 2},
        {"folding,rank,accuracy\n\"24x32,32x24\",4.5,0.5\n", "4.5", 2},
        {"folding,rank,accuracy\n\"24x32,32x24\",4,0.5\n\"24x32,32x24\",8,0.5\n\"24x32,32x24\",4,0.6\n",
         "choices of line 2", 4},
        {"folding,rank,seeds,collapsed,accuracy\n\"24x32,32x24\",4,1,2,0.5\n", "2", 2},
        {"folding,rank,seeds,collapsed,accuracy\n\"24x32,32x24\",4,2,2,0.5\n", "no row that counts", 1},
        {"folding,rank,epochs,accuracy\n\"24x32,32x24\",4,x,0.5\n", "x", 2},
        {"folding,rank,accuracy\n\"24x32,32x24\",4\n", "", 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tn_space space;
        const char *set;
        put("odd.csv", cases[i].text);
        ok(tn_arena_format(&arena, &set, &error, "accuracy_table=%s", test_in_folder("odd.csv")));
        error = (tn_error){0};
        assert_int_equal(load(&set, 1, &space), TN_INPUT);
        if (!strstr(error.message, cases[i].message)) fail_msg("%s: %s", cases[i].message, error.message);
        if (cases[i].line && error.line != cases[i].line) fail_msg("line %u: %s", error.line, error.message);
        assert_non_null(strstr(error.file, "odd.csv"));
    }
    tn_space space;
    static const char *const none[] = {"accuracy_table=/nonexistent/table.csv"};
    assert_int_not_equal(load(none, 1, &space), TN_OK);
}

/* Each row of the shipped table that counts is a measured value of the demo's space, every folding of which has some. */
static void shipped_table_speaks_of_its_space(void **state) {
    (void)state;
    tn_space space;
    size_t digit[TN_AXES_MOST] = {0}, measured = 0, between = 0, points = 0;
    ok(tn_space_load(test_source("spaces/atis-2enc-u50.yaml"), NULL, 0, NULL, &arena, &space, &error));
    for (digit[0] = 0; digit[0] < space.choices.axis[0].count; digit[0]++)
        for (digit[1] = 0; digit[1] < space.choices.axis[1].count; digit[1]++) {
            double accuracy;
            bool interpolated;
            ok(tn_accuracy_table_at(&space.accuracy_table, space.choices.axis, space.choices.count, digit,
                                    &accuracy, &interpolated, &error));
            assert_true(isnan(accuracy) || (accuracy > 0.7 && accuracy < 0.96));
            measured += !isnan(accuracy) && !interpolated;
            between += interpolated;
        }
    for (size_t i = 0; i < space.accuracy_table.curves; i++) points += space.accuracy_table.curve[i].count;
    assert_int_equal(space.accuracy_table.curves, space.choices.axis[0].count);
    assert_int_equal(measured, points);
    assert_true(between > 5 * measured);
}

/* Every candidate of the space of techniques was trained: no design of it is unmeasured. */
static void shipped_techniques_are_all_measured(void **state) {
    (void)state;
    tn_space space;
    size_t measured = 0, digits[TN_AXES_MOST] = {0};
    ok(tn_space_load(test_source("spaces/atis-2enc-techniques.yaml"), NULL, 0, NULL, &arena, &space, &error));
    for (uint64_t id = 0; id < space.choices.designs; id += space.choices.designs / 192) {
        double accuracy;
        bool interpolated;
        for (size_t i = 0; i < space.choices.count; i++) digits[i] = tn_choices_digit(&space.choices, id, i);
        ok(tn_accuracy_table_at(&space.accuracy_table, space.choices.axis, space.choices.count, digits,
                                &accuracy, &interpolated, &error));
        assert_true(accuracy > 0.7 && accuracy < 0.96);
        assert_false(interpolated);
        measured++;
    }
    assert_int_equal(measured,
                     192); /* 2 ranks, 2 x 2 formats, 3 policies, 2 updates, 2 x 2 of frozen and sparse */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_follow_the_measured_ranks),
        cmocka_unit_test(front_equals_all_pairs),
        cmocka_unit_test(results_hold_the_table),
        cmocka_unit_test(odd_tables_are_refused),
        cmocka_unit_test(shipped_table_speaks_of_its_space),
        cmocka_unit_test(shipped_techniques_are_all_measured),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
