/* Small products in float32, by every instruction set that this machine has, against loops in float64; an element
 * must not depend on which rows and columns are computed with it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "train/kernels.h"

enum { SIDE_MOST = 260, GUARD = 64 };

static float a[SIDE_MOST * SIDE_MOST], b[SIDE_MOST * SIDE_MOST], out[SIDE_MOST * SIDE_MOST + GUARD],
    part[SIDE_MOST * SIDE_MOST + GUARD];

static void fill(float *values, size_t count, uint64_t *state) {
    for (size_t i = 0; i < count; i++) values[i] = (float)(tn_splitmix_unit(state) - 0.5);
}

static double expected(const tn_gemm *g, int i, int j, double before) {
    double sum = g->accumulate ? before : 0;
    for (int k = 0; k < g->reduction; k++) {
        size_t left = g->transpose_a ? (size_t)k * (size_t)g->lead_a + (size_t)i
                                     : (size_t)i * (size_t)g->lead_a + (size_t)k;
        size_t right = g->transpose_b ? (size_t)j * (size_t)g->lead_b + (size_t)k
                                      : (size_t)k * (size_t)g->lead_b + (size_t)j;
        sum += (double)a[left] * (double)b[right];
    }
    return sum;
}

static void holds(const tn_kernels *kernels, const tn_gemm *g) {
    uint64_t state = 7;
    size_t elements = (size_t)g->rows * (size_t)g->lead_out;
    fill(out, elements + GUARD, &state);
    memcpy(part, out, sizeof out);
    kernels->gemm(g, a, b, out);
    for (int i = 0; i < g->rows; i++)
        for (int j = 0; j < g->columns; j++) {
            size_t index = (size_t)i * (size_t)g->lead_out + (size_t)j;
            assert_true(fabs((double)out[index] - expected(g, i, j, (double)part[index])) < 2e-5);
        }
    for (size_t i = 0; i < elements + GUARD; i++) /* nothing beside the result is touched */
        if (i >= elements || i % (size_t)g->lead_out >= (size_t)g->columns) assert_true(out[i] == part[i]);
    /* the last row, and the last column, on their own */
    tn_gemm row = *g, column = *g;
    row.rows = column.columns = 1;
    size_t last = (size_t)g->rows - 1, across = (size_t)g->columns - 1;
    float *target = part + last * (size_t)g->lead_out;
    kernels->gemm(&row, a + last * (g->transpose_a ? 1 : (size_t)g->lead_a), b, target);
    assert_memory_equal(target, out + last * (size_t)g->lead_out, (size_t)g->columns * sizeof *target);
    if (g->accumulate) return;
    kernels->gemm(&column, a, b + across * (g->transpose_b ? (size_t)g->lead_b : 1), part + across);
    for (int i = 0; i < g->rows; i++)
        assert_true(part[(size_t)i * (size_t)g->lead_out + across] ==
                    out[(size_t)i * (size_t)g->lead_out + across]);
}

static void products(void **state) {
    (void)state;
    static const int sides[][3] = {{1, 1, 1},    {1, 12, 33},  {3, 5, 2},    {12, 96, 12},  {32, 12, 96},
                                   {33, 17, 50}, {8, 30, 8},   {30, 240, 8}, {7, 193, 13},  {32, 200, 12},
                                   {9, 128, 49}, {5, 260, 64}, {240, 8, 30}, {2, 129, 100}, {13, 3, 79}};
    const tn_kernels *set[TN_KERNEL_SETS];
    size_t sets = tn_kernels_float32_sets(set);
    uint64_t seed = 1;
    assert_true(sets >= 1);
    fill(a, sizeof a / sizeof *a, &seed);
    fill(b, sizeof b / sizeof *b, &seed);
    for (size_t s = 0; s < sets; s++)
        for (size_t i = 0; i < sizeof sides / sizeof *sides; i++)
            for (int how = 0; how < 16; how++) {
                bool across_a = how & 1, across_b = how & 2;
                int rows = sides[i][0], reduction = sides[i][1], columns = sides[i][2],
                    more = how & 8 ? 3 : 0;
                if (rows + more > SIDE_MOST || reduction + more > SIDE_MOST || columns + more > SIDE_MOST)
                    continue;
                const tn_gemm g = {.rows = rows,
                                   .reduction = reduction,
                                   .columns = columns,
                                   .lead_a = (across_a ? rows : reduction) + more,
                                   .lead_b = (across_b ? reduction : columns) + more,
                                   .lead_out = columns + more,
                                   .transpose_a = across_a,
                                   .transpose_b = across_b,
                                   .accumulate = how & 4};
                holds(set[s], &g);
            }
}

/* The polynomials against the C library. */
static void functions(void **state) {
    (void)state;
    enum { POINTS = 4001 };
    static float x[POINTS], y[POINTS];
    const tn_kernels *set[TN_KERNEL_SETS];
    size_t sets = tn_kernels_float32_sets(set);
    for (size_t s = 0; s < sets; s++) {
        for (int i = 0; i < POINTS; i++) x[i] = (float)(i - POINTS / 2) * 0.005f;
        set[s]->map[TN_OP_TANH](y, x, NULL, POINTS);
        for (int i = 0; i < POINTS; i++) assert_true(fabs((double)y[i] - tanh((double)x[i])) < 3e-7);
        memcpy(y, x, sizeof y);
        set[s]->softmax(y, 1, POINTS, POINTS - 1, 1);
        double sum = 0;
        for (int i = 0; i < POINTS - 1; i++) sum += exp((double)x[i]);
        for (int i = 0; i < POINTS - 1; i++)
            assert_true(fabs((double)y[i] * sum / exp((double)x[i]) - 1) < 3e-6);
        assert_true(y[POINTS - 1] == 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(products), cmocka_unit_test(functions)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
