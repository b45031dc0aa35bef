/* Accuracy as an objective: what a table says of designs, the front against all pairs. */
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

/* What the table rests on at folding f and the rank: the first folding was trained at 4, 8, 24 and 48, the second at 12 and
 * 36 (its row of 4 has one epoch alone), the third with one epoch and seeds that all collapsed. */
static tn_accuracy_basis expected(size_t f, double rank) {
    static const double trained[2][4] = {{4, 8, 24, 48}, {12, 36}};
    static const double least[2] = {4, 12}, most[2] = {48, 36};
    if (f == 2 || rank < least[f] || rank > most[f]) return TN_ACCURACY_CARRIED;
    for (int i = 0; i < 4; i++)
        if (trained[f][i] == rank) return TN_ACCURACY_MEASURED;
    return TN_ACCURACY_BETWEEN;
}

static size_t folding_of(const tn_space *space, uint64_t id) {
    return tn_choices_digit(&space->choices, id, 0);
}

static double rank_of(const tn_space *space, uint64_t id) {
    return (double)space->choices.axis[1].number[tn_choices_digit(&space->choices, id, 1)];
}

/* Every design has what the model says of its folding and rank, told as texts; more rank never means less accuracy. */
static void values_are_those_of_the_model(void **state) {
    (void)state;
    tn_space space;
    tn_evaluator *evaluator;
    tn_accuracy_table table;
    static const char *const set[] = {"objectives=[seconds_per_step, dsp]"};
    double last[3] = {0};
    size_t bases[4] = {0};
    ok(load(set, 1, &space));
    ok(tn_accuracy_table_read(space.accuracy_table_path, &arena, &table, &error));
    ok(tn_evaluator_new(&space, &evaluator, &error));
    for (uint64_t id = 0; id < space.choices.designs; id++) {
        tn_evaluation found;
        tn_accuracy_basis basis;
        tn_accuracy_value value[TN_ACCURACY_CHOICES_MOST];
        size_t f = folding_of(&space, id);
        double rank = rank_of(&space, id);
        char text[64];
        tn_accuracy_table_usual(&table, value);
        for (size_t i = 0; i < table.columns; i++) {
            tn_buffer folding = {0};
            tn_axis_value(&space.choices.axis[0], f, &folding);
            snprintf(text, sizeof text, "%.0f", rank);
            bool is_rank = strcmp(table.column[i].name, "rank") == 0;
            assert_true(tn_accuracy_table_value(&table, i, is_rank ? text : folding.data, &value[i]));
            tn_buffer_free(&folding);
        }
        tn_accuracy_estimate told = tn_accuracy_table_at(&table, value, table.model.passes, &basis);
        ok(tn_evaluate_design(evaluator, id, &found, &error));
        assert_true(fabs(found.accuracy - told.mean) <= 0.5e-6);
        assert_true(fabs(found.accuracy_deviation - told.deviation) <= 0.5e-6);
        assert_true(found.accuracy_interpolated == (double)basis);
        assert_int_equal(basis, expected(f, rank));
        assert_true(told.low < told.mean && told.mean < told.high && told.deviation > 0);
        if (rank > 2) assert_true(told.mean >= last[f]);
        last[f] = told.mean;
        bases[basis]++;
    }
    tn_evaluator_free(evaluator);
    assert_true(bases[TN_ACCURACY_MEASURED] > 0 && bases[TN_ACCURACY_BETWEEN] > 0 &&
                bases[TN_ACCURACY_CARRIED] > 0);
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
        tn_evaluation evaluation;
        uint64_t outer, inner;
        uint32_t cause;
        tn_space_split(&space, i, &outer, &inner);
        ok(tn_evaluate(evaluator, outer, inner, &evaluation, &cause, &error));
        if (cause >= TN_CAUSE_RESOURCE && cause < TN_CAUSE_CONSTRAINT) continue;
        known++;
        assert_true(evaluation.accuracy > 0 && evaluation.accuracy < 1);
        assert_int_equal(cause == TN_CAUSE_NONE, evaluation.accuracy >= 0.85);
        if (evaluation.accuracy < 0.85) continue;
        id[count] = i;
        memcpy(value[count++],
               (double[]){evaluation.price.seconds_per_step, (double)evaluation.price.on_chip_bytes,
                          (double)evaluation.price.used.dsp, -evaluation.accuracy},
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
        {"folding,rank,accuracy\n\"24x32;32x24\",4,0.5\n", "24x32;32x24", 2},
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

/* Every design of the demo's space has an accuracy between the constant answer and little above the dense model, rising with the
 * rank; those that were trained lie within what the noise of seeds allows. */
static void shipped_table_speaks_of_its_space(void **state) {
    (void)state;
    tn_space space;
    size_t digit[TN_AXES_MOST] = {0}, measured = 0, outside = 0;
    ok(tn_space_load(test_source("spaces/atis-2enc-u50.yaml"), NULL, 0, NULL, &arena, &space, &error));
    const tn_accuracy_table *table = &space.accuracy_table;
    tn_accuracy_estimate dense = tn_accuracy_table_dense(table);
    assert_true(dense.mean > 0.95 && dense.mean < 0.98 && table->constant > 0.65 && table->constant < 0.7);
    for (digit[0] = 0; digit[0] < space.choices.axis[0].count; digit[0]++) {
        double last = table->constant;
        for (digit[1] = 0; digit[1] < space.choices.axis[1].count; digit[1]++) {
            tn_accuracy_value value[TN_ACCURACY_CHOICES_MOST];
            tn_accuracy_basis basis;
            tn_accuracy_table_values(table, digit, value);
            tn_accuracy_estimate told = tn_accuracy_table_at(table, value, table->model.passes, &basis);
            assert_true(told.mean >= last && told.mean <= dense.mean && told.deviation < 0.02);
            last = told.mean;
            const tn_accuracy_measurement *row = tn_accuracy_table_row(table, value, table->model.passes);
            assert_int_equal(row != NULL, basis == TN_ACCURACY_MEASURED);
            if (!row) continue;
            measured++;
            outside += row->accuracy < told.low || row->accuracy > told.high;
        }
    }
    assert_true(measured > 40 && outside * 10 < measured);
}

/* Every candidate of the space of techniques was trained: no design of it is carried over. */
static void shipped_techniques_are_all_measured(void **state) {
    (void)state;
    tn_space space;
    size_t measured = 0, digits[TN_AXES_MOST] = {0};
    ok(tn_space_load(test_source("spaces/atis-2enc-techniques.yaml"), NULL, 0, NULL, &arena, &space, &error));
    for (uint64_t id = 0; id < space.choices.designs; id += space.choices.designs / 192) {
        tn_accuracy_value value[TN_ACCURACY_CHOICES_MOST];
        tn_accuracy_basis basis;
        for (size_t i = 0; i < space.choices.count; i++) digits[i] = tn_choices_digit(&space.choices, id, i);
        tn_accuracy_table_values(&space.accuracy_table, digits, value);
        tn_accuracy_estimate told =
            tn_accuracy_table_at(&space.accuracy_table, value, space.accuracy_table.model.passes, &basis);
        assert_true(told.mean > 0.7 && told.mean < 0.96);
        assert_int_equal(basis, TN_ACCURACY_MEASURED);
        measured++;
    }
    assert_int_equal(measured,
                     192); /* 2 ranks, 2 x 2 formats, 3 policies, 2 updates, 2 x 2 of frozen and sparse */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_those_of_the_model),
        cmocka_unit_test(front_equals_all_pairs),
        cmocka_unit_test(results_hold_the_table),
        cmocka_unit_test(odd_tables_are_refused),
        cmocka_unit_test(shipped_table_speaks_of_its_space),
        cmocka_unit_test(shipped_techniques_are_all_measured),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
