/* The dot-product kernel against rows counted in RTL simulation and against a simulation of its own, which
 * multiplies, adds and accumulates real numbers and sees whether the sums come out right. */
#include "kernel/pipeline.h"
#include "support/shared.h"
#include "text/csv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

static tn_dot_result ask(const tn_dot *dot) {
    tn_dot_result result;
    assert_int_equal(tn_dot_cycles(dot, &result, NULL), TN_OK);
    return result;
}

/* Counted in RTL simulation; the last number: sums came out right. */
static const struct {
    tn_dot dot;
    uint64_t cycles;
    bool legal;
} counted[] = {
    {{1, 3, 6, 6, 3, 16, 5, TN_DOT_IJK}, 1443, true},  {{4, 3, 6, 6, 3, 16, 5, TN_DOT_IJK}, 375, true},
    {{4, 3, 6, 1, 3, 16, 5, TN_DOT_IJK}, 80, false},   {{4, 3, 6, 1, 3, 16, 5, TN_DOT_IKJ}, 80, false},
    {{16, 3, 6, 1, 8, 12, 32, TN_DOT_IKJ}, 288, true}, {{5, 3, 4, 4, 6, 23, 7, TN_DOT_IJK}, 855, true},
};

static void small_table(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof counted / sizeof *counted; i++) {
        tn_dot_result result = ask(&counted[i].dot);
        assert_int_equal(result.cycles, counted[i].cycles);
        assert_int_equal(result.legal, counted[i].legal);
        assert_int_equal(counted[i].dot.interval_cycles >= result.least_interval_cycles, counted[i].legal);
    }
}

/* --- The simulation: every issue is a group of `lanes` products that walks through multipliers, tree and
 * accumulator; the accumulator reads what has been written by then. */

enum { MOST = 4096, SLOTS = 16 };

typedef struct {
    uint64_t cycles;
    bool right;
} played;

typedef struct {
    uint64_t arrives, slot, output;
    long sum;
    bool first, last;
} group;

static long a_value(uint64_t i, uint64_t k) {
    return (long)(i * 7 + k * 13 + 3) % 17 - 8;
}

static long b_value(uint64_t k, uint64_t j) {
    return (long)(k * 5 + j * 11 + 1) % 19 - 9;
}

static long inner(const tn_dot *d, uint64_t i, uint64_t j, uint64_t begin, uint64_t end) {
    long sum = 0;
    for (uint64_t k = begin; k < end && k < d->k; k++) sum += a_value(i, k) * b_value(k, j);
    return sum;
}

static uint64_t levels(uint64_t lanes) {
    uint64_t count = 0;
    for (uint64_t left = lanes; left > 1; left = (left + 1) / 2) count++;
    return count;
}

static group issue(const tn_dot *d, uint64_t number, uint64_t groups) {
    bool ikj = d->order == TN_DOT_IKJ;
    uint64_t i = number / (groups * d->n), span = number % (groups * d->n);
    uint64_t g = ikj ? span / d->n : span % groups, j = ikj ? span % d->n : span / groups;
    return (group){
        .arrives = number * d->interval_cycles + d->multiply_cycles + levels(d->lanes) * d->add_cycles,
        .slot = ikj ? j : 0,
        .output = i * d->n + j,
        .sum = inner(d, i, j, g * d->lanes, (g + 1) * d->lanes),
        .first = g == 0,
        .last = g == groups - 1,
    };
}

static played play(const tn_dot *d) {
    static group line[MOST];
    static long written[MOST];
    uint64_t groups = (d->k + d->lanes - 1) / d->lanes, issues = d->m * d->n * groups;
    assert_true(issues <= MOST && d->n <= SLOTS);
    played result = {.right = true};
    for (uint64_t n = 0; n < issues; n++) line[n] = issue(d, n, groups);
    for (uint64_t n = 0; n < issues; n++) {
        /* The slot holds what the latest addition left that was finished when this group arrived. */
        long held = 0;
        for (uint64_t earlier = n; !line[n].first && earlier-- > 0;)
            if (line[earlier].slot == line[n].slot &&
                line[earlier].arrives + d->add_cycles <= line[n].arrives) {
                held = written[earlier];
                break;
            }
        written[n] = (line[n].first ? 0 : held) + line[n].sum;
        if (!line[n].last) continue;
        result.cycles = line[n].arrives + d->add_cycles;
        result.right &= written[n] == inner(d, line[n].output / d->n, line[n].output % d->n, 0, d->k);
    }
    return result;
}

static void played_cycle_by_cycle(void **state) {
    (void)state;
    static const uint64_t sizes[][3] = {{1, 1, 1}, {2, 7, 3}, {3, 16, 5}, {1, 9, 8}, {4, 5, 2}, {2, 12, 6}};
    size_t compared = 0, illegal = 0;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (uint64_t lanes = 1; lanes <= 17; lanes += 1 + lanes / 3)
            for (uint64_t add = 1; add <= 7; add += 2)
                for (uint64_t interval = 1; interval <= 8; interval++)
                    for (tn_dot_order order = TN_DOT_IJK; order <= TN_DOT_IKJ; order++) {
                        tn_dot d = {lanes,       1 + add % 3, add,         interval,
                                    sizes[s][0], sizes[s][1], sizes[s][2], order};
                        tn_dot_result result = ask(&d);
                        played simulated = play(&d);
                        assert_int_equal(result.cycles, simulated.cycles);
                        assert_int_equal(result.legal, simulated.right);
                        compared++;
                        illegal += !result.legal;
                    }
    assert_true(illegal > compared / 20 && illegal < compared / 2);
}

static void either_order(void **state) {
    (void)state;
    for (uint64_t interval = 1; interval < 9; interval++)
        for (uint64_t n = 1; n < 9; n++) {
            tn_dot d = {4, 3, 6, interval, 2, 16, n, TN_DOT_ANY}, ijk = d, ikj = d;
            ijk.order = TN_DOT_IJK;
            ikj.order = TN_DOT_IKJ;
            tn_dot_result any = ask(&d);
            assert_int_equal(any.legal, ask(&ijk).legal || ask(&ikj).legal);
            assert_int_equal(any.accumulators, ask(&ijk).legal ? 1 : n);
        }
}

static void rtl_table(void **state) {
    (void)state;
    const char *path = test_shared_or_skip("oracles/systolic/dot_cycles.csv");
    tn_arena arena = {0};
    tn_csv csv;
    enum { P, MUL, ADD, II, M, K, N, CYCLES, ERRORS, COLUMNS };
    const char *const names[] = {"P", "mul_lat", "add_lat", "II", "M", "K", "N", "cycles", "numeric_errors"};
    size_t column[COLUMNS], kernel, exact = 0;
    assert_int_equal(tn_csv_load(path, &arena, &csv, NULL), TN_OK);
    assert_int_equal(tn_csv_columns(&csv, names, COLUMNS, false, column, NULL), TN_OK);
    kernel = tn_csv_column(&csv, "kernel");
    for (size_t row = 0; row < csv.rows; row++) {
        uint64_t v[COLUMNS];
        for (size_t i = 0; i < COLUMNS; i++)
            assert_int_equal(tn_csv_count(&csv, row, column[i], 0, 1u << 30, &v[i], NULL), TN_OK);
        bool ijk = strcmp(tn_csv_at(&csv, row, kernel)->text, "dot_ijk") == 0;
        tn_dot d = {v[P], v[MUL], v[ADD], v[II], v[M], v[K], v[N], ijk ? TN_DOT_IJK : TN_DOT_IKJ};
        tn_dot_result result = ask(&d);
        exact += result.cycles == v[CYCLES] && result.legal == (v[ERRORS] == 0);
    }
    print_message("dot_cycles.csv: %zu of %zu rows exact in cycles and legality\n", exact, csv.rows);
    assert_true(csv.rows >= 9);
    assert_int_equal(exact, csv.rows);
    tn_arena_free(&arena);
}

static void bad_input_is_refused(void **state) {
    (void)state;
    const tn_dot good = {4, 3, 6, 6, 3, 16, 5, TN_DOT_IJK};
    tn_dot_result result = {.cycles = 9};
    tn_error error;
    for (size_t field = 0; field < 7; field++) {
        tn_dot bad = good;
        uint64_t *const fields[] = {
            &bad.lanes, &bad.multiply_cycles, &bad.add_cycles, &bad.interval_cycles, &bad.m, &bad.k, &bad.n};
        *fields[field] = 0;
        assert_int_equal(tn_dot_cycles(&bad, &result, &error), TN_INPUT);
    }
    tn_dot huge = good;
    huge.m = huge.n = (uint64_t)1 << 32;
    assert_int_equal(tn_dot_cycles(&huge, &result, &error), TN_OVERFLOW);
    huge = good;
    huge.interval_cycles = UINT64_MAX;
    assert_int_equal(tn_dot_cycles(&huge, &result, &error), TN_OVERFLOW);
    huge = good;
    huge.add_cycles = UINT64_MAX / 2;
    huge.lanes = 1024;
    assert_int_equal(tn_dot_cycles(&huge, &result, &error), TN_OVERFLOW);
    assert_int_equal(result.cycles, 9);
}

static void tree_depth(void **state) {
    (void)state;
    assert_int_equal(tn_tree_depth(1), 0);
    assert_int_equal(tn_tree_depth(UINT64_MAX), 64);
    for (uint64_t lanes = 1; lanes < 300; lanes++) assert_int_equal(tn_tree_depth(lanes), levels(lanes));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_table),          cmocka_unit_test(played_cycle_by_cycle),
        cmocka_unit_test(either_order),         cmocka_unit_test(rtl_table),
        cmocka_unit_test(bad_input_is_refused), cmocka_unit_test(tree_depth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
