/* Cycles of systolic arrays against RTL simulation and SCALE-Sim. (test_systolic_player.c holds them against arrays that
 * are played.) */
#include "kernel/systolic.h"
#include "support/shared.h"
#include "text/csv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    int rows, columns, m, k, n;
} shape;

static uint64_t formula(tn_dataflow dataflow, const shape *s) {
    tn_systolic array = {(uint64_t)s->rows, (uint64_t)s->columns};
    tn_array_product product = {(uint64_t)s->m, (uint64_t)s->k, (uint64_t)s->n};
    tn_systolic_result result;
    assert_int_equal(tn_systolic_cycles(&array, dataflow, &product, &result, NULL), TN_OK);
    return result.cycles;
}

/* Counted in RTL simulation (first seven) and by SCALE-Sim (the rest). */
static const struct {
    tn_dataflow dataflow;
    shape s;
    uint64_t cycles;
} counted[] = {
    {TN_WS_SERIAL, {8, 4, 5, 16, 9}, 135},         {TN_WS_SERIAL, {16, 4, 20, 33, 10}, 484},
    {TN_OS_SERIAL, {2, 3, 5, 7, 11}, 144},         {TN_WS_DOUBLE_BUFFERED, {8, 8, 32, 24, 40}, 495},
    {TN_WS_DOUBLE_BUFFERED, {2, 3, 5, 7, 11}, 83}, {TN_OS_OVERLAPPED, {1, 1, 1, 1, 1}, 2},
    {TN_OS_OVERLAPPED, {16, 4, 20, 33, 10}, 206},  {TN_SCALESIM_OS, {16, 16, 32, 12, 768}, 4031},
    {TN_SCALESIM_IS, {16, 16, 32, 768, 12}, 5567}, {TN_SCALESIM_WS, {32, 32, 100, 300, 200}, 13579},
};

static void small_table(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof counted / sizeof *counted; i++)
        assert_int_equal(formula(counted[i].dataflow, &counted[i].s), counted[i].cycles);
}

static tn_dataflow dataflow_named(const char *prefix, const char *name) {
    char whole[64];
    snprintf(whole, sizeof whole, "%s%s", prefix, name);
    for (int i = 0; tn_dataflow_names[i]; i++)
        if (strcmp(tn_dataflow_names[i], whole) == 0) return (tn_dataflow)i;
    fail_msg("no dataflow '%s'", whole);
    return 0;
}

/* names: the columns of rows, columns, m, k, n, cycles, dataflow. */
static void compare_table(const char *file, const char *prefix, const char *const *names, size_t least_rows) {
    const char *path = test_shared_or_skip(file);
    tn_arena arena = {0};
    tn_csv csv;
    size_t column[7], exact = 0;
    assert_int_equal(tn_csv_load(path, &arena, &csv, NULL), TN_OK);
    assert_int_equal(tn_csv_columns(&csv, names, 7, false, column, NULL), TN_OK);
    for (size_t row = 0; row < csv.rows; row++) {
        uint64_t v[6];
        for (size_t i = 0; i < 6; i++)
            assert_int_equal(tn_csv_count(&csv, row, column[i], 1, 1u << 30, &v[i], NULL), TN_OK);
        shape s = {(int)v[0], (int)v[1], (int)v[2], (int)v[3], (int)v[4]};
        exact += formula(dataflow_named(prefix, tn_csv_at(&csv, row, column[6])->text), &s) == v[5];
    }
    print_message("%s: %zu of %zu rows exact\n", file, exact, csv.rows);
    assert_true(csv.rows >= least_rows);
    assert_int_equal(exact, csv.rows);
    tn_arena_free(&arena);
}

static void rtl_table(void **state) {
    (void)state;
    const char *const names[] = {"R", "C", "M", "K", "N", "cycles", "dataflow"};
    compare_table("oracles/systolic/rtl_cycles.csv", "", names, 32);
}

static void scalesim_table(void **state) {
    (void)state;
    const char *const names[] = {"rows", "cols", "M", "K", "N", "cycles_v2", "dataflow"};
    compare_table("oracles/systolic/scalesim_cycles.csv", "scalesim_", names, 18);
}

static void bad_sizes_are_refused(void **state) {
    (void)state;
    for (int dataflow = 0; tn_dataflow_names[dataflow]; dataflow++)
        for (int which = 0; which < 5; which++)
            for (int big = 0; big < 2; big++) {
                uint64_t v[5] = {4, 4, 8, 8, 8};
                v[which] = big ? UINT64_MAX : 0;
                tn_systolic array = {v[0], v[1]};
                tn_array_product product = {v[2], v[3], v[4]};
                tn_systolic_result result = {.cycles = 3};
                assert_int_equal(tn_systolic_cycles(&array, (tn_dataflow)dataflow, &product, &result, NULL),
                                 TN_INPUT);
                assert_int_equal(result.cycles, 3);
            }
}

static void overflow_is_reported(void **state) {
    (void)state;
    tn_systolic one = {1, 1};
    tn_array_product most = {TN_SYSTOLIC_MOST_SIZE, TN_SYSTOLIC_MOST_SIZE, TN_SYSTOLIC_MOST_SIZE};
    for (int dataflow = 0; tn_dataflow_names[dataflow]; dataflow++) {
        tn_systolic_result result = {.cycles = 3};
        assert_int_equal(tn_systolic_cycles(&one, (tn_dataflow)dataflow, &most, &result, NULL), TN_OVERFLOW);
        assert_int_equal(result.cycles, 3);
        tn_array_product single = {1, 1, 1};
        assert_int_equal(tn_systolic_cycles(&one, (tn_dataflow)dataflow, &single, &result, NULL), TN_OK);
        assert_true(result.utilisation >= 0 && result.utilisation <= 1);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_table),          cmocka_unit_test(rtl_table),
        cmocka_unit_test(scalesim_table),       cmocka_unit_test(bad_sizes_are_refused),
        cmocka_unit_test(overflow_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
