/* The three passes of training on one array: the worked numbers, a played input-gradient pass, and bounds. */
#include "kernel/systolic.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

static tn_systolic_training ask(uint64_t rows, uint64_t columns, uint64_t tokens, uint64_t inputs,
                                uint64_t outputs) {
    tn_systolic array = {rows, columns};
    tn_array_product layer = {tokens, inputs, outputs};
    tn_systolic_training training;
    assert_int_equal(tn_systolic_training_cycles(&array, &layer, &training, NULL), TN_OK);
    return training;
}

static void worked_numbers(void **state) {
    (void)state;
    tn_systolic_training t = ask(16, 16, 32, 16, 16);
    assert_int_equal(t.in_place.forward_cycles, 78);
    assert_int_equal(t.in_place.input_gradient_cycles, 62);
    assert_int_equal(t.in_place.weight_gradient_cycles, 78);
    assert_int_equal(t.in_place.transposition_accesses, 0);
    assert_int_equal(t.explicit_transposition.forward_cycles, 78);
    assert_int_equal(t.explicit_transposition.input_gradient_cycles, 78);
    assert_int_equal(t.explicit_transposition.weight_gradient_cycles, 2 * 62);
    assert_int_equal(t.explicit_transposition.transposition_accesses, 2 * 16 * 16 + 2 * 32 * 16);
    assert_int_equal(t.explicit_transposition.transposition_cycles, 32 + 64);
}

/* --- The input-gradient pass played: weights rest in their forward places, dY enters from above (column c
 * gets vector s at cycle s + c), moves down, sums move left to right and leave at the right edge. */

enum { EDGE = 6, MOST = 16 };

typedef struct {
    long dy, sum;
    int dy_vector, sum_vector;
} element;

static long weight(int k, int n) {
    return (k * 5 + n * 11 + 1) % 19 - 9;
}

static long dy_value(int s, int n) {
    return (s * 7 + n * 13 + 3) % 17 - 8;
}

typedef struct {
    int rows, columns, tokens, inputs, outputs;
} shape;

/* One tile; returns the cycle of the last valid output and adds dX's part. */
static long pass(const shape *l, int row0, int column0, long dx[MOST][MOST], long *occupied) {
    element at[EDGE][EDGE], next[EDGE][EDGE];
    long last = 0;
    for (int r = 0; r < EDGE; r++)
        for (int c = 0; c < EDGE; c++) at[r][c] = (element){0, 0, -1, -1};
    int left = l->tokens * l->rows; /* outputs, padding included, that have still to leave */
    long cycle = 0;
    for (; left > 0; cycle++) {
        memcpy(next, at, sizeof next);
        for (int r = 0; r < l->rows; r++)
            for (int c = 0; c < l->columns; c++) {
                long s = cycle - c;
                bool fed = s >= 0 && s < l->tokens;
                element *e = &next[r][c];
                e->dy_vector = r ? at[r - 1][c].dy_vector : fed ? (int)s : -1;
                e->dy = r                                 ? at[r - 1][c].dy
                        : fed && column0 + c < l->outputs ? dy_value((int)s, column0 + c)
                                                          : 0;
                e->sum_vector = c ? at[r][c - 1].sum_vector : e->dy_vector;
                bool valid = row0 + r < l->inputs && column0 + c < l->outputs;
                e->sum = (c ? at[r][c - 1].sum : 0) + e->dy * (valid ? weight(row0 + r, column0 + c) : 0);
            }
        memcpy(at, next, sizeof at);
        for (int r = 0; r < l->rows; r++) {
            element out = at[r][l->columns - 1];
            if (out.sum_vector < 0) continue;
            left--;
            if (row0 + r >= l->inputs) continue;
            dx[out.sum_vector][row0 + r] += out.sum;
            last = cycle + 1;
        }
    }
    *occupied = cycle;
    return last;
}

static long play_input_gradient(const shape *l) {
    long dx[MOST][MOST] = {{0}}, cycle = 0, last = 0;
    int row_tiles = (l->inputs + l->rows - 1) / l->rows,
        column_tiles = (l->outputs + l->columns - 1) / l->columns;
    for (int tile = row_tiles * column_tiles - 1; tile >= 0; tile--) {
        long occupied, end;
        if (tile != row_tiles * column_tiles - 1) cycle += l->rows; /* a row of weights a cycle */
        end = pass(l, tile % row_tiles * l->rows, tile / row_tiles * l->columns, dx, &occupied);
        last = cycle + end;
        cycle += occupied;
    }
    for (int s = 0; s < l->tokens; s++)
        for (int k = 0; k < l->inputs; k++) {
            long sum = 0;
            for (int n = 0; n < l->outputs; n++) sum += dy_value(s, n) * weight(k, n);
            assert_int_equal(dx[s][k], sum);
        }
    return last;
}

static void played_input_gradient(void **state) {
    (void)state;
    srand(7);
    for (int trial = 0; trial < 300; trial++) {
        shape l = {1 + rand() % EDGE, 1 + rand() % EDGE, 1 + rand() % MOST, 1 + rand() % MOST,
                   1 + rand() % MOST};
        tn_systolic_training t = ask((uint64_t)l.rows, (uint64_t)l.columns, (uint64_t)l.tokens,
                                     (uint64_t)l.inputs, (uint64_t)l.outputs);
        assert_int_equal(t.in_place.input_gradient_cycles, play_input_gradient(&l));
    }
}

/* Saves where weights fill one tile; the input gradient saves always. The weight gradient of a layer much
 * wider than its tokens does not: in place it drains every tile after few tokens. */
static void where_in_place_saves(void **state) {
    (void)state;
    for (uint64_t edge = 1; edge <= 32; edge *= 2)
        for (uint64_t size = 1; size <= 100; size += 7) {
            tn_systolic_training wide = ask(edge, edge, size, 3 * size, 2 * size),
                                 one = ask(edge, edge, size, edge, edge);
            assert_true(wide.in_place.input_gradient_cycles <=
                        wide.explicit_transposition.input_gradient_cycles);
            assert_true(one.in_place.total_cycles < one.explicit_transposition.total_cycles);
        }
    tn_systolic_training atis = ask(16, 16, 32, 768, 768);
    assert_true(atis.in_place.weight_gradient_cycles > atis.explicit_transposition.weight_gradient_cycles);
}

static void bad_sizes_are_refused(void **state) {
    (void)state;
    tn_systolic_training training;
    tn_systolic array = {0, 4}, one = {1, 1};
    tn_array_product layer = {4, 4, 4}, none = {4, 0, 4};
    tn_array_product most = {TN_SYSTOLIC_MOST_SIZE, TN_SYSTOLIC_MOST_SIZE, TN_SYSTOLIC_MOST_SIZE};
    assert_int_equal(tn_systolic_training_cycles(&array, &layer, &training, NULL), TN_INPUT);
    assert_int_equal(tn_systolic_training_cycles(&one, &none, &training, NULL), TN_INPUT);
    assert_int_equal(tn_systolic_training_cycles(&one, &most, &training, NULL), TN_OVERFLOW);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(worked_numbers),
        cmocka_unit_test(played_input_gradient),
        cmocka_unit_test(where_in_place_saves),
        cmocka_unit_test(bad_sizes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
