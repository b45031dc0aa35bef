/* The history of a run: its seconds and joules are those of prices, added up step by step, its scores those of the run, and the
 * variance of gradients what all of them say when each is kept. */
#include "support/small_run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/random.h"
#include "device/build.h"
#include "train/gradient_sums.h"

enum { COLUMNS = 11, EXAMPLES = 200, EPOCHS = 3 };

/* Rows of the file; `values` of COLUMNS each. */
static size_t read_history(const char *path, double *values, size_t most) {
    char *text, *line, *rest = NULL;
    size_t length, rows = 0;
    assert_int_equal(tn_file_read(path, 1 << 24, &text, &length, NULL), TN_OK);
    for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        if (line[0] == 's') continue; /* the heading */
        assert_true(rows < most);
        for (int c = 0; c < COLUMNS; c++) {
            char *end;
            values[rows * COLUMNS + c] = strtod(line, &end);
            assert_true(end > line);
            line = end + (c + 1 < COLUMNS);
        }
        rows++;
    }
    tn_free(text);
    return rows;
}

static double seconds_of(const tn_design *design, const char *keys, tn_arena *arena, double *joules) {
    tn_design changed = *design;
    tn_price price;
    if (keys) assert_int_equal(tn_model_change(design->model, keys, arena, &changed.model, NULL), TN_OK);
    assert_int_equal(tn_design_price_alone(&changed, &price, NULL), TN_OK);
    *joules = price.joules_per_step;
    return price.seconds_per_step;
}

static void steps_are_priced(void **state) {
    (void)state;
    static const char *const set[] = {"precision.products=bfp4,8,4",
                                      "precision_schedule={begin: \"bfp4,8,2\", steps: 0.25}"};
    static double row[EPOCHS * EXAMPLES * COLUMNS];
    for (int scheduled = 0; scheduled < 2; scheduled++) {
        test_small_run b;
        tn_device *device;
        test_small_begin(&b, set, scheduled ? 2 : 1);
        assert_int_equal(tn_device_load("u50", NULL, 0, &b.arena, &device, &b.error), TN_OK);
        tn_design design = {.model = b.model, .device = device};
        assert_int_equal(tn_build_decode(NULL, &b.arena, &design.build, &b.error), TN_OK);
        b.run.design = &design;
        b.run.priced = true;
        b.run.history = test_in_folder("history.csv");
        b.run.score_steps = 150;
        b.run.gradient_steps = 100;
        if (test_small_train(&b) != TN_OK) fail_msg("%s", b.error.message);
        assert_int_equal(read_history(b.run.history, row, EPOCHS * EXAMPLES), EPOCHS * EXAMPLES);
        double joules[2], seconds[2];
        for (int end = 0; end < 2; end++)
            seconds[end] = seconds_of(&design,
                                      !scheduled ? NULL
                                      : end      ? "precision_schedule: {begin: \"bfp4,8,2\", steps: 0}"
                                                 : "precision_schedule: {begin: \"bfp4,8,2\", steps: 1}",
                                      &b.arena, &joules[end]);
        if (scheduled) assert_true(seconds[0] < seconds[1]);
        double sum = 0, energy = 0;
        for (int i = 0; i < EPOCHS * EXAMPLES; i++) {
            const double *r = row + (ptrdiff_t)i * COLUMNS;
            const int end = i >= EPOCHS * EXAMPLES / 4,
                      scored = (i + 1) % 150 == 0 || (i + 1) % EXAMPLES == 0;
            sum += seconds[end];
            energy += joules[end];
            assert_true(r[0] == i + 1 && r[1] == 1 + i / EXAMPLES); /* step, epoch */
            assert_true(fabs(r[3] / sum - 1) < 1e-6 && fabs(r[4] / energy - 1) < 1e-6);
            assert_true(isnan(r[5]) == ((i + 1) % 100 != 0));
            assert_true(isnan(r[8]) == !scored);
            if ((i + 1) % EXAMPLES == 0)
                assert_true(fabs(r[8] - b.result.epoch[i / EXAMPLES].dev.intent_accuracy) < 1e-8);
        }
        assert_true(fabs(b.result.device_seconds / sum - 1) < 1e-6);
        tn_arena_free(&b.arena);
    }
}

/* Noting gradients and scoring in between change nothing of what is learned. */
static void history_changes_nothing(void **state) {
    (void)state;
    test_small_run with, without;
    test_small_begin(&without, NULL, 0);
    assert_int_equal(test_small_train(&without), TN_OK);
    test_small_begin(&with, NULL, 0);
    with.run.history = test_in_folder("history.csv");
    with.run.score_steps = 7;
    with.run.gradient_steps = 50;
    assert_int_equal(test_small_train(&with), TN_OK);
    for (int e = 0; e < EPOCHS; e++) {
        assert_true(with.result.epoch[e].loss == without.result.epoch[e].loss);
        assert_true(with.result.epoch[e].dev.loss == without.result.epoch[e].dev.loss);
    }
    tn_arena_free(&with.arena);
    tn_arena_free(&without.arena);
    test_small_run early;
    static const char *const write_back[] = {"update.when=write-back"};
    test_small_begin(&early, write_back, 1);
    early.run.history = test_in_folder("history.csv");
    early.run.gradient_steps = 50;
    assert_int_equal(test_small_train(&early), TN_INPUT);
    assert_non_null(strstr(early.error.message, "all gradients of a step at once"));
    tn_arena_free(&early.arena);
}

/* Two passes over gradients that are all kept. */
static void variance_is_that_of_two_passes(void **state) {
    (void)state;
    enum { STEPS = 40, ELEMENTS = 33, FIRST = 20 };
    static float gradient[STEPS][ELEMENTS];
    uint64_t random = 5;
    tn_gradient_sums sums;
    assert_int_equal(tn_gradient_sums_make(&sums, ELEMENTS, NULL), TN_OK);
    for (int round = 0; round < 2; round++) {
        double variance = 0, square = 0, found, mean_square;
        uint64_t steps;
        for (int s = 0; s < STEPS; s++) {
            for (int i = 0; i < ELEMENTS; i++)
                gradient[s][i] = (float)(tn_splitmix_unit(&random) - 0.4 * (i % 3) + round);
            tn_gradient_sums_add(&sums, tn_kernels_of(TN_FLOAT32), gradient[s], FIRST);
            tn_gradient_sums_add(&sums, tn_kernels_of(TN_FLOAT32), gradient[s] + FIRST, ELEMENTS - FIRST);
            tn_gradient_sums_step(&sums);
        }
        for (int i = 0; i < ELEMENTS; i++) {
            double mean = 0;
            for (int s = 0; s < STEPS; s++) mean += (double)gradient[s][i] / STEPS;
            for (int s = 0; s < STEPS; s++)
                variance += ((double)gradient[s][i] - mean) * ((double)gradient[s][i] - mean) / (STEPS - 1);
            square += mean * mean;
        }
        tn_gradient_sums_take(&sums, &found, &mean_square, &steps);
        assert_int_equal(steps, STEPS);
        assert_true(fabs(found / variance - 1) < 1e-9);
        assert_true(fabs(mean_square - (square - variance / STEPS)) < 1e-9);
    }
    double none, least;
    uint64_t steps;
    tn_gradient_sums_take(&sums, &none, &least, &steps);
    assert_true(steps == 0 && isnan(none) && isnan(least));
    tn_gradient_sums_free(&sums);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_are_priced),
        cmocka_unit_test(history_changes_nothing),
        cmocka_unit_test(variance_is_that_of_two_passes),
    };
    return cmocka_run_group_tests(tests, test_small_set_up, test_folder_remove);
}
