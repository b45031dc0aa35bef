/* Lengths of queries: what a batch is padded to against drawing batches, files, cuts, packing. */
#include "base/random.h"
#include "finetune/lengths.h"
#include "support/finetune.h"
#include "support/folder.h"

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
static char path[96];

static tn_status load(const char *text, double longest, tn_query_lengths *lengths) {
    snprintf(path, sizeof path, "%s/lengths.csv", test_folder);
    FILE *stream = fopen(path, "w");
    assert_non_null(stream);
    fputs(text, stream);
    assert_int_equal(fclose(stream), 0);
    return tn_query_lengths_load(path, longest, &arena, lengths, &error);
}

/* Normal, by Box and Muller. */
static double normal(uint64_t *state) {
    double u = 1 - test_uniform(state), v = test_uniform(state);
    return sqrt(-2 * log(u)) * cos(6.283185307179586 * v);
}

static void padding_is_what_batches_drawn_have(void **state) {
    enum { ROUNDS = 20000 };
    (void)state;
    static const double spreads[] = {0.2, 0.7, 1.1}, cuts[] = {INFINITY, 300};
    uint64_t dice = 3;
    for (int s = 0; s < 3; s++)
        for (int c = 0; c < 2; c++)
            for (int batch = 1; batch <= 27; batch *= 3) {
                tn_query_lengths lengths = {.median = 80, .spread = spreads[s], .longest = cuts[c]};
                double sum = 0;
                for (int round = 0; round < ROUNDS; round++) {
                    double longest = 0;
                    for (int i = 0; i < batch; i++)
                        longest = fmax(longest, fmin(cuts[c], 80 * exp(spreads[s] * normal(&dice))));
                    sum += longest;
                }
                double drawn = sum / ROUNDS, told = tn_query_lengths_padded(&lengths, batch);
                if (fabs(told / drawn - 1) > 0.04)
                    print_error("%g %g %d: %g, %g\n", spreads[s], cuts[c], batch, told, drawn);
                assert_true(fabs(told / drawn - 1) <= 0.04);
            }
    /* the mean of a log-normal distribution */
    tn_query_lengths whole = {.median = 80, .spread = 0.7, .longest = INFINITY};
    assert_true(fabs(tn_query_lengths_mean(&whole) / (80 * exp(0.7 * 0.7 / 2)) - 1) < 0.01);
    tn_query_lengths alike = {.median = 80, .longest = INFINITY};
    assert_true(tn_query_lengths_padded(&alike, 64) == 80 && tn_query_lengths_longest(&alike, 1e6) == 80);
}

/* The longest of N: half of all data sets of that size have a shorter one. */
static void the_longest_of_a_data_set(void **state) {
    enum { ROUNDS = 4000, QUERIES = 200 };
    (void)state;
    uint64_t dice = 7;
    tn_query_lengths lengths = {.median = 100, .spread = 0.5, .longest = INFINITY};
    double told = tn_query_lengths_longest(&lengths, QUERIES);
    int shorter = 0;
    for (int round = 0; round < ROUNDS; round++) {
        double longest = 0;
        for (int i = 0; i < QUERIES; i++) longest = fmax(longest, 100 * exp(0.5 * normal(&dice)));
        shorter += longest < told;
    }
    assert_true(abs(shorter - ROUNDS / 2) < ROUNDS / 20);
    lengths.longest = 120;
    assert_true(tn_query_lengths_longest(&lengths, QUERIES) == 120);
}

/* Of 10, 20 and 60 tokens the longer of two is 10 once in nine, 20 three times, 60 five times. */
static void a_file(void **state) {
    (void)state;
    tn_query_lengths lengths;
    assert_int_equal(load("tokens\n20\n60\n10\n", INFINITY, &lengths), TN_OK);
    assert_true(lengths.count == 3 && lengths.median == 20);
    assert_true(fabs(tn_query_lengths_mean(&lengths) - 30) < 1e-9);
    assert_true(fabs(tn_query_lengths_padded(&lengths, 2) - (10 + 3 * 20 + 5 * 60) / 9.) < 1e-9);
    assert_true(tn_query_lengths_longest(&lengths, 5) == 60);
    lengths.packed = true;
    assert_true(fabs(tn_query_lengths_padded(&lengths, 2) - 30) < 1e-9 &&
                fabs(tn_query_lengths_longest(&lengths, 5) - 30) < 1e-9);
    assert_int_equal(load("tokens\n20\n60\n10\n", 40, &lengths), TN_OK);
    assert_true(tn_query_lengths_longest(&lengths, 5) == 40);
}

static void refused(const char *text, const char *words, size_t line, size_t column) {
    tn_query_lengths lengths;
    assert_int_equal(load(text, INFINITY, &lengths), TN_INPUT);
    if (!strstr(error.message, words)) print_error("%s\n", error.message);
    assert_non_null(strstr(error.message, words));
    assert_int_equal(error.line, line);
    assert_int_equal(error.column, column);
    assert_string_equal(error.file, path);
}

static void files_that_are_refused(void **state) {
    (void)state;
    refused("tokens\n", "no lengths", 1, 1);
    refused("tokens\n12\n0\n", "0", 3, 1);
    refused("tokens\n12\n-3\n", "-3", 3, 1);
    refused("tokens\n12.5\n", "12.5", 2, 1);
    refused("tokns\n12\n", "tokens", 1, 1);
    refused("tokens,more\n12,3\n", "more", 1, 8);
}

static int clear(void **state) {
    tn_arena_free(&arena);
    return test_folder_remove(state);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(padding_is_what_batches_drawn_have),
        cmocka_unit_test(the_longest_of_a_data_set),
        cmocka_unit_test(a_file),
        cmocka_unit_test(files_that_are_refused),
    };
    return cmocka_run_group_tests(tests, test_folder_make, clear);
}
