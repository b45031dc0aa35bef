/* The model of accuracies against runs drawn from a truth of this test's own: what it finds, how far it strays, whether its
 * intervals hold what they say, and leaving out against fitting anew. */
#include "base/random.h"
#include "space/accuracy_model.h"
#include "support/status.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

enum { FOLDINGS = 24, ROWS = 72, SEEDS = 2, SEEDS_ALL = 6 };

static tn_arena arena;
static tn_error error;
static tn_random *generator;

static const double ladder[] = {2, 3, 4, 6, 8, 12, 16, 24};

/* The truth: a logistic between ends, as docs/train.md has it, with foldings that differ by `spread`. */
typedef struct {
    double spread, noise, bend[FOLDINGS];
} truth;

static double true_accuracy(const truth *this_truth, size_t folding, double rank, double passes) {
    double excess = 0.75 * exp(this_truth->bend[folding]) * pow(rank / 8, -1.25);
    double odds = 0.036 / (0.33 - 0.036) * (1 + excess) * pow(passes / 4, -0.5);
    return 1 - 0.33 * odds / (1 + odds);
}

static double run_of(const truth *this_truth, double mean) {
    return 1 - (1 - mean) * exp(this_truth->noise * tn_random_normal(generator));
}

typedef struct {
    tn_accuracy_choice choice[2];
    double factors[FOLDINGS];
    tn_accuracy_value value[ROWS][2];
    tn_accuracy_measurement row[ROWS];
} table;

static tn_accuracy_value folding_value(const table *t, size_t folding) {
    return (tn_accuracy_value){folding, 0, {t->factors[folding] - 2.5}};
}

static void draw_truth(truth *this_truth, double spread, double noise) {
    *this_truth = (truth){.spread = spread, .noise = noise};
    for (size_t i = 0; i < FOLDINGS; i++) this_truth->bend[i] = spread * tn_random_normal(generator);
}

/* Three ranks a folding, in turn; every third row has two seeds. */
static void draw_table(const truth *this_truth, table *t) {
    for (size_t i = 0; i < FOLDINGS; i++) t->factors[i] = 2 + (double)(i % 3);
    t->choice[0] = (tn_accuracy_choice){.kind = TN_ACCURACY_FOLDING, .levels = FOLDINGS, .rank = 1};
    t->choice[1] = (tn_accuracy_choice){.kind = TN_ACCURACY_RANK};
    for (size_t i = 0; i < ROWS; i++) {
        size_t folding = i % FOLDINGS, runs = i % 3 == 0 ? SEEDS : 1;
        double rank = ladder[(i * 5 + i / FOLDINGS * 3) % 8], sum = 0, squares = 0;
        t->value[i][0] = folding_value(t, folding);
        t->value[i][1] = (tn_accuracy_value){0, rank, {0}};
        for (size_t k = 0; k < runs; k++) {
            double run = run_of(this_truth, true_accuracy(this_truth, folding, rank, 4));
            sum += run;
            squares += run * run;
        }
        double mean = sum / (double)runs;
        t->row[i] =
            (tn_accuracy_measurement){.value = t->value[i],
                                      .passes = 4,
                                      .accuracy = mean,
                                      .spread = runs > 1 ? sqrt(fmax(0, squares - 2 * mean * mean)) : NAN,
                                      .test = mean - 0.02,
                                      .runs = runs};
    }
}

static void fit(const table *t, tn_accuracy_model *model) {
    test_ok(tn_accuracy_model_fit(t->choice, 2, t->row, ROWS, 0.67, SEEDS_ALL, &arena, model, &error),
            &error);
}

static int set_up(void **state) {
    (void)state;
    test_ok(tn_random_open(7, &generator, &error), &error);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    tn_random_close(generator);
    tn_arena_free(&arena);
    return 0;
}

/* At ranks and foldings that no row has together, over many truths: closer than the noise of one run, intervals of runs hold 95 of 100,
 * intervals of the mean what a normal deviation says. */
static void tells_what_was_not_measured(void **state) {
    (void)state;
    enum { TRUTHS = 12 };
    double squares = 0, noise_squares = 0, inside = 0, tolerance = 0, count = 0;
    for (int k = 0; k < TRUTHS; k++) {
        truth this_truth;
        static table t;
        tn_accuracy_model model;
        draw_truth(&this_truth, 0.1, 0.07);
        draw_table(&this_truth, &t);
        fit(&t, &model);
        for (size_t i = 0; i < FOLDINGS; i++)
            for (size_t r = 0; r < 8; r++) {
                tn_accuracy_value value[2] = {folding_value(&t, i), {0, ladder[r] + 1, {0}}};
                double mean = true_accuracy(&this_truth, i, ladder[r] + 1, 4),
                       run = run_of(&this_truth, mean);
                tn_accuracy_estimate told = tn_accuracy_model_at(&model, value, 4);
                squares += pow(told.mean - mean, 2);
                noise_squares += pow(run - mean, 2);
                inside += run >= told.low && run <= told.high;
                tolerance += fabs(told.mean - mean) < 2 * told.deviation;
                count++;
            }
    }
    assert_true(squares < 0.5 * noise_squares);
    assert_true(sqrt(squares / count) < 0.004);
    assert_true(inside / count > 0.92 && inside / count < 0.985);
    assert_true(tolerance / count > 0.9);
}

static void rises_with_every_rank(void **state) {
    (void)state;
    truth this_truth;
    static table t;
    tn_accuracy_model model;
    draw_truth(&this_truth, 0.3, 0.1);
    draw_table(&this_truth, &t);
    fit(&t, &model);
    tn_accuracy_value dense[2] = {folding_value(&t, 0), {0, INFINITY, {0}}};
    double most = tn_accuracy_model_at(&model, dense, 4).mean;
    for (size_t i = 0; i < FOLDINGS; i++) {
        double last = 0.67;
        for (double rank = 1; rank <= 768; rank++) {
            tn_accuracy_value value[2] = {folding_value(&t, i), {0, rank, {0}}};
            double now = tn_accuracy_model_at(&model, value, 4).mean;
            assert_true(now > last && now < most);
            last = now;
        }
    }
}

/* Foldings that do not differ are taken as one: no row wins by luck. Those that do are told apart. */
static void foldings_are_pooled(void **state) {
    (void)state;
    for (int differ = 0; differ < 2; differ++) {
        truth this_truth;
        static table t;
        tn_accuracy_model model;
        double told = 0, measured = 0;
        draw_truth(&this_truth, differ ? 0.5 : 0, 0.08);
        draw_table(&this_truth, &t);
        fit(&t, &model);
        for (size_t i = 0; i < ROWS; i++) {
            double common = true_accuracy(&(truth){0}, 0, t.value[i][1].number, 4);
            told += pow(log((1 - tn_accuracy_model_at(&model, t.value[i], 4).mean) / (1 - common)), 2);
            measured += pow(log((1 - t.row[i].accuracy) / (1 - common)), 2);
        }
        if (differ)
            assert_true(told > 0.6 * measured && model.folding > 0.25 && model.folding < 1);
        else
            assert_true(told < 0.25 * measured && model.folding < 0.2);
        assert_true(model.noise > 0.05 && model.noise < 0.12);
    }
}

/* Without a row: the same as fitting the rest, but for the four deviations, which are kept. */
static void leaving_out_is_fitting_the_rest(void **state) {
    (void)state;
    truth this_truth;
    static table t, rest;
    tn_accuracy_model model, other;
    tn_accuracy_estimate left[ROWS];
    draw_truth(&this_truth, 0.1, 0.07);
    draw_table(&this_truth, &t);
    fit(&t, &model);
    test_ok(tn_accuracy_model_leave_one_out(&model, &arena, left, &error), &error);
    for (size_t i = 0; i < ROWS; i += 9) {
        rest = t;
        for (size_t k = i; k + 1 < ROWS; k++) rest.row[k] = rest.row[k + 1];
        test_ok(tn_accuracy_model_fit(rest.choice, 2, rest.row, ROWS - 1, 0.67, SEEDS_ALL, &arena, &other,
                                      &error),
                &error);
        double alone = tn_accuracy_model_at(&other, t.value[i], 4).mean;
        assert_true(fabs(alone - left[i].mean) < 0.0015);
        /* It moves away from the row that is left out, or hardly at all. */
        double start = tn_accuracy_model_at(&model, t.value[i], 4).mean;
        assert_true(fabs(left[i].mean - t.row[i].accuracy) > fabs(start - t.row[i].accuracy) - 1e-4);
    }
}

/* What a seed does to every design is told apart: the others are foretold better than where nobody says which seed it was. */
static void seeds_are_told_apart(void **state) {
    (void)state;
    enum { TRUTHS = 10 };
    double squares[2] = {0}, found = 0;
    for (int k = 0; k < TRUTHS; k++) {
        truth this_truth;
        static table t;
        size_t seed[ROWS];
        double effect[SEEDS_ALL];
        draw_truth(&this_truth, 0.05, 0.04);
        draw_table(&this_truth, &t);
        for (size_t i = 0; i < SEEDS_ALL; i++) effect[i] = 0.12 * tn_random_normal(generator);
        for (size_t i = 0; i < ROWS; i++) {
            /* One seed for most rows, as anchors have it. */
            seed[i] = i % 2 ? 0 : i / 2 % SEEDS_ALL;
            double mean = true_accuracy(&this_truth, i % FOLDINGS, t.value[i][1].number, 4);
            t.row[i].accuracy = 1 - (1 - run_of(&this_truth, mean)) * exp(effect[seed[i]]);
            t.row[i].spread = NAN;
            t.row[i].runs = 1;
        }
        for (int told = 0; told < 2; told++) {
            tn_accuracy_model model;
            for (size_t i = 0; i < ROWS; i++) {
                t.row[i].seed = &seed[i];
                t.row[i].seeds = (size_t)told;
            }
            fit(&t, &model);
            if (told) found += model.seed / TRUTHS;
            double average = 0;
            for (size_t i = 0; i < SEEDS_ALL; i++) average += effect[i] / SEEDS_ALL;
            for (size_t i = 0; i < FOLDINGS; i++) {
                tn_accuracy_value value[2] = {folding_value(&t, i), {0, 10, {0}}};
                double mean = 1 - (1 - true_accuracy(&this_truth, i, 10, 4)) * exp(average);
                squares[told] += pow(tn_accuracy_model_at(&model, value, 4).mean - mean, 2);
            }
        }
    }
    assert_true(found > 0.06 && found < 0.2);
    assert_true(squares[1] < 0.8 * squares[0]);
}

/* Draws of the parameters have the mean and deviation that are told. */
static void draws_spread_as_told(void **state) {
    (void)state;
    enum { DRAWS = 3000 };
    truth this_truth;
    static table t;
    tn_accuracy_model model;
    draw_truth(&this_truth, 0.1, 0.07);
    draw_table(&this_truth, &t);
    fit(&t, &model);
    double *normal, *parameter, sum = 0, squares = 0;
    test_ok(tn_arena_alloc(&arena, model.parameters, sizeof *normal, &normal, &error), &error);
    test_ok(tn_arena_alloc(&arena, model.parameters, sizeof *parameter, &parameter, &error), &error);
    for (int k = 0; k < DRAWS; k++) {
        for (size_t i = 0; i < model.parameters; i++) normal[i] = tn_random_normal(generator);
        tn_accuracy_model_draw(&model, normal, parameter);
        double value = tn_accuracy_model_by(&model, parameter, t.value[5], 4, tn_random_normal(generator));
        sum += value;
        squares += value * value;
    }
    tn_accuracy_estimate told = tn_accuracy_model_at(&model, t.value[5], 4);
    double mean = sum / DRAWS, deviation = sqrt(squares / DRAWS - mean * mean);
    assert_true(fabs(mean - told.mean) < 0.2 * told.deviation);
    assert_true(fabs(deviation / told.deviation - 1) < 0.15);
}

/* With one row there is a model yet: that row, as far as its noise lets it be believed. */
static void one_row_is_enough(void **state) {
    (void)state;
    truth this_truth;
    static table t;
    tn_accuracy_model model;
    draw_truth(&this_truth, 0, 0.07);
    draw_table(&this_truth, &t);
    test_ok(tn_accuracy_model_fit(t.choice, 2, t.row, 1, 0, 0, &arena, &model, &error), &error);
    tn_accuracy_estimate told = tn_accuracy_model_at(&model, t.value[0], 4);
    assert_true(fabs(told.mean - t.row[0].accuracy) < 0.03);
    assert_true(told.low < t.row[0].accuracy && t.row[0].accuracy < told.high);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tells_what_was_not_measured), cmocka_unit_test(rises_with_every_rank),
        cmocka_unit_test(foldings_are_pooled),         cmocka_unit_test(leaving_out_is_fitting_the_rest),
        cmocka_unit_test(draws_spread_as_told),        cmocka_unit_test(seeds_are_told_apart),
        cmocka_unit_test(one_row_is_enough),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
