/* Loop latencies against rows of synthesis reports and against playing the pipeline cycle by cycle. */
#include "kernel/pipeline.h"
#include "support/shared.h"
#include "text/csv.h"
#include "text/number.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

static uint64_t cycles_of(uint64_t trips, uint64_t iteration, bool pipelined, uint64_t interval) {
    tn_loop loop = {trips, iteration, pipelined, interval};
    uint64_t cycles;
    assert_int_equal(tn_loop_cycles(&loop, &cycles, NULL), TN_OK);
    return cycles;
}

/* Rows of public reports: latency, iteration latency, II (0: not pipelined), trips. */
static const struct {
    uint64_t cycles, iteration, interval, trips;
} reports[] = {
    {120, 12, 0, 10},
    {87, 65, 1, 24},
    {6206, 17, 2, 3096},
    {200, 25, 16, 12},
    {1290, 129, 0, 10},
    {9, 1, 1, 9},
    {8, 7, 2, 2},
    {64, 2, 2, 32},
    {1047562, 27, 16, 65472},
    {223, 44, 12, 16},
    {945200000, 9452, 0, 100000},
};

static void small_table(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof reports / sizeof *reports; i++)
        assert_int_equal(
            cycles_of(reports[i].trips, reports[i].iteration, reports[i].interval > 0, reports[i].interval),
            reports[i].cycles);
}

/* Plays a pipeline: iteration i enters at i * II and leaves its last stage one cycle before its registered
 * end; the loop's counter is busy for II cycles an iteration. */
static uint64_t play(uint64_t trips, uint64_t iteration, uint64_t interval) {
    uint64_t busy_until = 0, free_at = 0;
    for (uint64_t i = 0; i < trips; i++) {
        uint64_t start = free_at;
        free_at = start + interval;
        uint64_t leaves = start + iteration - 1;
        if (leaves > busy_until) busy_until = leaves;
    }
    return busy_until > free_at ? busy_until : free_at;
}

static void played(void **state) {
    (void)state;
    for (uint64_t trips = 0; trips < 9; trips++)
        for (uint64_t iteration = 1; iteration < 12; iteration++)
            for (uint64_t interval = 1; interval < 7; interval++) {
                assert_int_equal(cycles_of(trips, iteration, true, interval),
                                 play(trips, iteration, interval));
                assert_int_equal(cycles_of(trips, iteration, false, 0), trips * iteration);
            }
}

/* "12", or "124 ~ 126"; false for "?" and "-". */
static bool range(const char *text, uint64_t *least, uint64_t *most) {
    char low[32], high[32];
    size_t length = strcspn(text, " ~");
    const char *tilde = strchr(text, '~');
    if (length >= sizeof low) return false;
    memcpy(low, text, length);
    low[length] = '\0';
    strcpy(high, low);
    if (tilde) {
        const char *second = tilde + 1 + strspn(tilde + 1, " ");
        if (strlen(second) >= sizeof high) return false;
        strcpy(high, second);
    }
    return tn_read_count(low, least) == TN_NUMBER_OK && tn_read_count(high, most) == TN_NUMBER_OK;
}

typedef struct {
    const tn_csv *csv;
    size_t row;
    size_t *column;
} report_row;

static const char *text(const report_row *row, size_t which) {
    return tn_csv_at(row->csv, row->row, row->column[which])->text;
}

/* A row counts where the report itself knows its latency; ranges must be met at both ends. */
static void reports_table(void **state) {
    (void)state;
    const char *path = test_shared_or_skip("oracles/fpga/hls_loops.csv");
    tn_arena arena = {0};
    tn_csv csv;
    enum { LEAST, MOST, ITERATION, INTERVAL, TRIPS, PIPELINED, COLUMNS };
    const char *const names[COLUMNS] = {"lat_min", "lat_max", "iter_lat", "II", "trip", "pipelined"};
    size_t column[COLUMNS], counted = 0, exact = 0;
    assert_int_equal(tn_csv_load(path, &arena, &csv, NULL), TN_OK);
    assert_int_equal(tn_csv_columns(&csv, names, COLUMNS, false, column, NULL), TN_OK);
    for (size_t r = 0; r < csv.rows; r++) {
        report_row row = {&csv, r, column};
        uint64_t least, most, same, iteration[2], trips[2], interval = 0;
        bool pipelined = strcmp(text(&row, PIPELINED), "yes") == 0;
        if (!range(text(&row, LEAST), &least, &same) || !range(text(&row, MOST), &most, &same) ||
            !range(text(&row, ITERATION), &iteration[0], &iteration[1]) ||
            !range(text(&row, TRIPS), &trips[0], &trips[1]) ||
            (pipelined && !range(text(&row, INTERVAL), &interval, &same)))
            continue;
        counted++;
        bool met = cycles_of(trips[0], iteration[0], pipelined, interval) == least &&
                   cycles_of(trips[1], iteration[1], pipelined, interval) == most;
        exact += met;
        if (!met)
            print_message("not met: %s, reported %s to %s, computed %llu to %llu\n",
                          tn_csv_at(&csv, r, 2)->text, text(&row, LEAST), text(&row, MOST),
                          (unsigned long long)cycles_of(trips[0], iteration[0], pipelined, interval),
                          (unsigned long long)cycles_of(trips[1], iteration[1], pipelined, interval));
    }
    print_message("hls_loops.csv: %zu rows, %zu with a known latency, %zu of them exact\n", csv.rows, counted,
                  exact);
    assert_true(counted >= 100);
    assert_true(exact * 100 >= counted * 95);
    tn_arena_free(&arena);
}

static void bad_loops_are_refused(void **state) {
    (void)state;
    uint64_t cycles = 5;
    const tn_loop no_iteration = {3, 0, false, 0}, no_interval = {3, 4, true, 0};
    const tn_loop long_one = {UINT64_MAX, 2, false, 0}, long_pipeline = {UINT64_MAX, 4, true, 2};
    const tn_loop edge = {UINT64_MAX, 3, true, 1};
    assert_int_equal(tn_loop_cycles(&no_iteration, &cycles, NULL), TN_INPUT);
    assert_int_equal(tn_loop_cycles(&no_interval, &cycles, NULL), TN_INPUT);
    assert_int_equal(tn_loop_cycles(&long_one, &cycles, NULL), TN_OVERFLOW);
    assert_int_equal(tn_loop_cycles(&long_pipeline, &cycles, NULL), TN_OVERFLOW);
    assert_int_equal(tn_loop_cycles(&edge, &cycles, NULL), TN_OVERFLOW);
    assert_int_equal(cycles, 5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_table),
        cmocka_unit_test(played),
        cmocka_unit_test(reports_table),
        cmocka_unit_test(bad_loops_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
