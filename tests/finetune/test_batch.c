/* The largest batch: the published formula's published values, a fit that finds the coefficients that made
 * its data, counts that fit to the last byte. */
#include "finetune/batch.h"
#include "support/finetune.h"
#include "support/shared.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

static tn_error error;

/* arXiv 2408.04693's script: C0 62, C1 0.89, Mixtral 23.35 GB, sequence 512, sparsity 0.25. */
static void published_formula(void **state) {
    (void)state;
    const tn_batch_formula formula = {62, 0.89, 23.35};
    assert_int_equal(tn_batch_by_formula(&formula, 40, 512, 0.25), 6);
    assert_int_equal(tn_batch_by_formula(&formula, 48, 512, 0.25), 8);
    assert_int_equal(tn_batch_by_formula(&formula, 80, 512, 0.25), 20);
    assert_int_equal(tn_batch_by_formula(&formula, 20, 512, 0.25), 0);
    assert_int_equal(tn_batch_by_formula(&formula, 23.35, 512, 0.25), 0);
    assert_int_equal(tn_batch_by_formula(&(tn_batch_formula){1e9, 1, 1}, 1e6, 1, 1e-6), (uint64_t)1 << 53);
}

static void count_fits_to_the_byte(void **state) {
    (void)state;
    const tn_language_count count = {.weight_bytes = 5000000000,
                                     .gradient_bytes = 1000000000,
                                     .optimizer_bytes = 1500000000,
                                     .workspace_bytes = 400000000,
                                     .reserve_bytes = 100000000,
                                     .activation_bytes = 250000000};
    assert_int_equal(tn_batch_by_count(&count, 10), 8);
    assert_int_equal(tn_batch_by_count(&count, 9.9999), 7);
    assert_int_equal(tn_batch_by_count(&count, 8.2), 0);
    assert_int_equal(tn_batch_by_count(&count, 3), 0);
    assert_true(fabs(tn_batch_implied_sequence(&count, 10, 4) - 2) < 1e-9);
    assert_true(tn_batch_implied_sequence(&count, 3, 4) == 0);
}

static size_t make_rows(tn_batch_measured *row, const tn_batch_formula *truth) {
    static const double memory[] = {24, 40, 48, 80}, sequence[] = {79, 174}, sparsity[] = {1, 0.25};
    size_t count = 0;
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 2; j++)
            for (int k = 0; k < 2; k++)
                row[count++] = (tn_batch_measured){
                    .gpu = "g",
                    .memory_GB = memory[i],
                    .sequence = sequence[j],
                    .sparsity = sparsity[k],
                    .batch = (double)tn_batch_by_formula(truth, memory[i], sequence[j], sparsity[k])};
    return count;
}

static void fit_finds_the_coefficients(void **state) {
    (void)state;
    static const tn_batch_formula truths[] = {{820, 0.9, 5}, {300, 0.5, 8}, {2000, 0.97, 12}};
    for (int i = 0; i < 3; i++) {
        tn_batch_measured row[16];
        tn_batch_fit fit;
        size_t count = make_rows(row, &truths[i]);
        assert_int_equal(tn_batch_fit_rows(row, count, truths[i].model_GB, &fit, &error), TN_OK);
        assert_true(fabs(fit.c0.value / truths[i].c0 - 1) < 0.03);
        assert_true(fabs(fit.c1.value - truths[i].c1) < 0.03);
        assert_true(fit.c0.low < fit.c0.value && fit.c0.value < fit.c0.high &&
                    fit.c0.high < 1.2 * fit.c0.low);
        assert_true(fit.c1.low < fit.c1.value && fit.c1.value < fit.c1.high &&
                    fit.c1.high < fit.c1.low + 0.2);
    }
}

static void fit_refuses(void **state) {
    (void)state;
    tn_batch_measured row[16];
    tn_batch_fit fit;
    size_t count = make_rows(row, &(tn_batch_formula){820, 0.9, 5});
    assert_int_equal(tn_batch_fit_rows(row, 0, 5, &fit, &error), TN_INPUT);
    assert_int_equal(tn_batch_fit_rows(row, 1, 5, &fit, &error), TN_INPUT);
    assert_int_equal(tn_batch_fit_rows(row, count, 30, &fit, &error), TN_INPUT);
    assert_non_null(strstr(error.message, "the model alone takes 30"));
    for (size_t i = 0; i < count; i++) row[i].sparsity = 1;
    assert_int_equal(tn_batch_fit_rows(row, count, 5, &fit, &error), TN_INPUT);
    assert_non_null(strstr(error.message, "C1 can't be fitted"));
    /* two rows determine both and leave no interval */
    row[1].sparsity = 0.25;
    assert_int_equal(tn_batch_fit_rows(row, 2, 5, &fit, &error), TN_OK);
    assert_true(isnan(fit.c0.low) && isnan(fit.c1.high));
}

static void largest_of_each_group_and_sparsity(void **state) {
    (void)state;
    static const char text[] = "gpu,model,dataset,sparsity,batch_size,queries_per_s\n"
                               "A,m,D,1,2,1\nA,m,D,0.25,8,1\nA,m,D,0.25,3,1\nA,m,D,1,1,1\n"
                               "A,n,D,1,64,1\nB,m,D,0.25,17,1\nA,m,E,1,4,1\n";
    static const struct {
        const char *gpu, *dataset;
        double sparsity, batch;
    } expected[] = {{"A", "D", 1, 2}, {"A", "D", 0.25, 8}, {"B", "D", 0.25, 17}, {"A", "E", 1, 4}};
    tn_arena arena = {0};
    tn_finetune_data data;
    tn_batch_measured *row;
    size_t count;
    assert_int_equal(tn_finetune_parse("m.csv", text, strlen(text), &arena, &data, &error), TN_OK);
    assert_int_equal(tn_batch_largest(&data, "m", &arena, &row, &count, &error), TN_OK);
    assert_int_equal(count, 4);
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(row[i].gpu, expected[i].gpu);
        assert_string_equal(row[i].dataset, expected[i].dataset);
        assert_true(row[i].sparsity == expected[i].sparsity && row[i].batch == expected[i].batch);
    }
    assert_int_equal(tn_batch_largest(&data, "x", &arena, &row, &count, &error), TN_INPUT);
    tn_arena_free(&arena);
}

/* The largest batches that were published, every GPU left out in turn: those of the others, at the medians of the data sets,
 * say within 30 % (median) what fits it, and hold at least 9 of 10 in their interval. The two memory sizes of one kind have
 * the same answer, so H100 and A100-80GB are left out together as well. */
static void gpus_left_out(void **state) {
    (void)state;
    enum { MOST = 64 };
    static const char *const names[] = {"mixtral-8x7b", "blackmamba-2.8b"};
    tn_arena arena = {0};
    tn_finetune_data data;
    tn_gpu_table table;
    const char *gpu_of[MOST];
    double implied[MOST], memory[MOST], batch[MOST], off[MOST];
    tn_language_count counts[MOST];
    size_t rows = 0;
    assert_int_equal(
        tn_finetune_load(test_shared_or_skip("data/finetune/measured_throughput.csv"), &arena, &data, &error),
        TN_OK);
    assert_int_equal(tn_gpu_table_load(test_source("models/prices/gpus.yaml"), &arena, &table, &error),
                     TN_OK);
    for (int m = 0; m < 2; m++) {
        tn_language_model model;
        tn_batch_measured *row;
        size_t count;
        char path[64] = "models/";
        assert_int_equal(tn_language_model_load(test_source(strcat(strcat(path, names[m]), ".yaml")), NULL, 0,
                                                &arena, &model, &error),
                         TN_OK);
        assert_int_equal(tn_batch_largest(&data, names[m], &arena, &row, &count, &error), TN_OK);
        for (size_t i = 0; i < count; i++, rows++) {
            const tn_gpu *gpu;
            uint64_t active;
            assert_int_equal(tn_gpu_find(&table, row[i].gpu, &gpu, &error), TN_OK);
            assert_int_equal(tn_language_active(&model, row[i].sparsity, &active, &error), TN_OK);
            assert_int_equal(tn_language_count_of(&model, strcmp(row[i].dataset, "CS") == 0 ? 79 : 174,
                                                  active, &counts[rows], &error),
                             TN_OK);
            gpu_of[rows] = gpu->name;
            memory[rows] = gpu->memory_GB;
            batch[rows] = row[i].batch;
            implied[rows] = tn_batch_implied_factor(&counts[rows], memory[rows], batch[rows]);
        }
    }
    assert_int_equal(rows, 14);
    for (int alike = 0; alike < 2; alike++) {
        size_t inside = 0;
        for (size_t i = 0; i < rows; i++) {
            double others[MOST];
            size_t count = 0;
            tn_batch_factor factor;
            for (size_t j = 0; j < rows; j++)
                if (alike ? memory[j] != memory[i] : strcmp(gpu_of[j], gpu_of[i]) != 0)
                    others[count++] = implied[j];
            assert_true(tn_batch_calibrate(others, count, &factor));
            tn_batch_interval b = tn_batch_by_memory(&counts[i], memory[i], &factor);
            inside += (double)b.low <= batch[i] && batch[i] <= (double)b.high;
            off[i] = fabs((double)b.value / batch[i] - 1);
            if (!alike)
                print_message("%-10s measured %2g, from the others %d (%d to %d)\n", gpu_of[i], batch[i],
                              (int)b.value, (int)b.low, (int)b.high);
        }
        for (size_t i = 0; i < rows; i++) /* in order */
            for (size_t j = i; j > 0 && off[j] < off[j - 1]; j--) {
                double swapped = off[j];
                off[j] = off[j - 1];
                off[j - 1] = swapped;
            }
        double median = (off[rows / 2] + off[(rows - 1) / 2]) / 2;
        print_message("%zu of %zu in their interval, median error %.1f %%\n", inside, rows, 100 * median);
        assert_true(10 * inside >= 9 * rows);
        assert_true(median <= 0.3);
    }
    tn_arena_free(&arena);
}

/* Factors that scatter as the prior says are recovered, and their interval holds the next one about 95 of 100 times. */
static void calibration_holds(void **state) {
    (void)state;
    uint64_t dice = 5;
    int held = 0, rounds = 2000;
    for (int round = 0; round < rounds; round++) {
        double implied[7];
        tn_batch_factor factor;
        for (int i = 0; i < 7; i++) implied[i] = 1.9 * exp(0.2 * test_noise(&dice));
        implied[3] = NAN;
        assert_true(tn_batch_calibrate(implied, 7, &factor));
        held += fabs(log(1.9 * exp(0.2 * test_noise(&dice)) / factor.value)) < factor.half_width;
    }
    print_message("%d of %d next ones held\n", held, rounds);
    assert_true(held > 0.93 * rounds && held < 0.985 * rounds);
    tn_framework none = {0}, some = {.given = true,
                                     .kept_factor = 1.1,
                                     .kept_error = 0.1,
                                     .unknown_longest = 2,
                                     .unknown_error = 0.2};
    assert_true(tn_framework_factor(&none, false).value == 1 &&
                tn_framework_factor(&none, true).half_width == 0);
    assert_true(tn_framework_factor(&some, true).value == 1.1 &&
                fabs(tn_framework_factor(&some, false).value - 2.2) < 1e-12);
    assert_true(tn_framework_factor(&some, false).half_width > tn_framework_factor(&some, true).half_width);
    assert_false(tn_batch_calibrate(NULL, 0, &(tn_batch_factor){0}));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_formula),
        cmocka_unit_test(count_fits_to_the_byte),
        cmocka_unit_test(fit_finds_the_coefficients),
        cmocka_unit_test(fit_refuses),
        cmocka_unit_test(gpus_left_out),
        cmocka_unit_test(calibration_holds),
        cmocka_unit_test(largest_of_each_group_and_sparsity),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
