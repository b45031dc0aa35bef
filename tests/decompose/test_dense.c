/* Dense kernels against their definitions, and that results do not depend on threads. */
#include "base/guard.h"
#include "decompose/dense.h"

#include "support/matrix.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

static tn_error error;

static void products_of_every_orientation(void **state) {
    (void)state;
    static const size_t sizes[][3] = {{3, 5, 4},    {1, 1, 1},    {700, 3, 9},
                                      {5, 1100, 7}, {513, 20, 2}, {2, 512, 33}};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        size_t m = sizes[s][0], n = sizes[s][1], k = sizes[s][2];
        double *a = test_normal(s, m * k), *b = test_normal(s + 99, k * n), *c = test_zeros(m * n);
        double *element = test_transpose(m, k, a), *bt = test_transpose(k, n, b),
               *expected = test_multiply(m, n, k, a, b);
        for (int way = 0; way < 4; way++) {
            tn_dense_multiply(way & 1, way & 2, m, n, k, way & 1 ? element : a, way & 2 ? bt : b, c);
            assert_true(test_distance(c, expected, m * n) <= 1e-26 * test_squares(expected, m * n));
        }
        free(a);
        free(b);
        free(c);
        free(element);
        free(bt);
        free(expected);
    }
}

static void thin_svd_gives_the_matrix_back(void **state) {
    (void)state;
    static const size_t sizes[][2] = {{1, 1}, {4, 9}, {9, 4}, {20, 20}, {1, 7}, {7, 1}, {30, 200}, {200, 30}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        size_t p = sizes[i][0], q = sizes[i][1], k = p < q ? p : q;
        double *a = test_normal(i, p * q), *copy = test_zeros(p * q), *u = test_zeros(p * k),
               *s = test_zeros(k);
        double *vt = test_zeros(k * q), *alone = test_zeros(k), *expected = test_singular_values(p, q, a);
        memcpy(copy, a, p * q * sizeof *a);
        assert_int_equal(tn_dense_svd(p, q, copy, u, s, vt, &error), TN_OK);
        memcpy(copy, a, p * q * sizeof *a);
        assert_int_equal(tn_dense_svd(p, q, copy, NULL, alone, NULL, &error), TN_OK);
        for (size_t j = 0; j < k; j++) {
            assert_true(fabs(s[j] - expected[j]) <= 1e-13 * expected[0]);
            assert_true(fabs(alone[j] - expected[j]) <= 1e-13 * expected[0]);
            for (size_t t = 0; t < q; t++) vt[j * q + t] *= s[j];
        }
        double *product = test_multiply(p, q, k, u, vt);
        assert_true(test_distance(product, a, p * q) <= 1e-26 * test_squares(a, p * q));
        free(a);
        free(copy);
        free(u);
        free(s);
        free(vt);
        free(alone);
        free(expected);
        free(product);
    }
}

static void thin_qr(void **state) {
    (void)state;
    static const size_t sizes[][2] = {{1, 1}, {9, 4}, {40, 40}, {300, 7}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        size_t p = sizes[i][0], q = sizes[i][1];
        double *a = test_normal(i, p * q), *basis = test_zeros(p * q), *r = test_zeros(q * q);
        memcpy(basis, a, p * q * sizeof *a);
        assert_int_equal(tn_dense_qr(p, q, basis, r, &error), TN_OK);
        double *product = test_multiply(p, q, q, basis, r), *t = test_transpose(p, q, basis);
        double *gram = test_multiply(q, q, p, t, basis);
        assert_true(test_distance(product, a, p * q) <= 1e-26 * test_squares(a, p * q));
        for (size_t x = 0; x < q; x++)
            for (size_t y = 0; y < q; y++) {
                assert_true(fabs(gram[x * q + y] - (x == y)) < 1e-13);
                if (y < x) assert_true(r[x * q + y] == 0);
            }
        free(a);
        free(basis);
        free(r);
        free(product);
        free(t);
        free(gram);
    }
}

/* l l^T = a a^T says that l = a Q^T for an orthogonal Q; sizes that take one stream and many. */
static void reduction_keeps_rows_angles(void **state) {
    (void)state;
    static const size_t sizes[][2] = {{1, 1}, {1, 40}, {5, 5}, {5, 21}, {6, 4000}, {70, 1000}, {70, 300}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        size_t p = sizes[i][0], q = sizes[i][1];
        double *a = test_normal(i, p * q), *l = test_zeros(p * p);
        assert_int_equal(tn_dense_reduce(p, q, a, l, &error), TN_OK);
        double *element = test_transpose(p, q, a), *lt = test_transpose(p, p, l);
        double *expected = test_multiply(p, p, q, a, element), *gram = test_multiply(p, p, p, l, lt);
        assert_true(test_distance(gram, expected, p * p) <= 1e-26 * test_squares(expected, p * p));
        for (size_t x = 0; x < p; x++)
            for (size_t y = x + 1; y < p; y++) assert_true(l[x * p + y] == 0);
        free(a);
        free(l);
        free(element);
        free(lt);
        free(expected);
        free(gram);
    }
}

/* Values from 1 down to 1e-13: a Gram matrix would lose those below 1e-8. */
static void reduction_keeps_small_singular_values(void **state) {
    (void)state;
    enum { P = 14, Q = 3000 };
    double value[P], *l = test_zeros(P * P), found[P];
    for (size_t i = 0; i < P; i++) value[i] = pow(10, -(double)i);
    double *a = test_matrix_of_values(5, P, Q, value);
    assert_int_equal(tn_dense_reduce(P, Q, a, l, &error), TN_OK);
    assert_int_equal(tn_dense_svd(P, P, l, NULL, found, NULL, &error), TN_OK);
    for (size_t i = 0; i < P; i++) assert_true(fabs(found[i] - value[i]) < 2e-15);
    free(a);
    free(l);
}

static void results_do_not_depend_on_threads(void **state) {
    (void)state;
    enum { P = 60, Q = 5000, R = 40 };
    double *a = test_normal(1, P * Q), *b = test_normal(2, P * R);
    double *l[2], *c[2];
    int threads = omp_get_max_threads();
    tn_blas_serial();
    for (int i = 0; i < 2; i++) {
        omp_set_num_threads(i ? 3 : 1);
        l[i] = test_zeros(P * P);
        c[i] = test_zeros(R * Q);
        assert_int_equal(tn_dense_reduce(P, Q, a, l[i], &error), TN_OK);
        tn_dense_multiply(true, false, R, Q, P, b, a, c[i]);
    }
    tn_blas_restore();
    omp_set_num_threads(threads);
    assert_memory_equal(l[0], l[1], P * P * sizeof **l);
    assert_memory_equal(c[0], c[1], R * Q * sizeof **c);
    for (int i = 0; i < 2; i++) {
        free(l[i]);
        free(c[i]);
    }
    free(a);
    free(b);
}

static void sums_and_what_is_not_finite(void **state) {
    (void)state;
    enum { COUNT = 70001 };
    double *x = test_normal(3, COUNT), *y = test_normal(4, COUNT);
    assert_true(fabs(tn_sum_of_squares(x, COUNT) - test_squares(x, COUNT)) < 1e-14 * COUNT);
    assert_true(fabs(tn_sum_of_squared_differences(x, y, COUNT) - test_distance(x, y, COUNT)) <
                1e-13 * COUNT);
    assert_int_equal(tn_first_not_finite(x, COUNT), COUNT);
    x[COUNT - 1] = NAN;
    assert_int_equal(tn_first_not_finite(x, COUNT), COUNT - 1);
    x[40] = -INFINITY;
    assert_int_equal(tn_first_not_finite(x, COUNT), 40);
    free(x);
    free(y);
}

static void sizes_past_lapack_are_refused(void **state) {
    (void)state;
    assert_int_equal(tn_dense_check(16384, 1u << 30, &error), TN_OK);
    assert_int_equal(tn_dense_check(16385, 16385, &error), TN_LIMIT);
    assert_int_equal(tn_dense_check(2, UINT64_C(1) << 31, &error), TN_LIMIT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_of_every_orientation),
        cmocka_unit_test(thin_svd_gives_the_matrix_back),
        cmocka_unit_test(thin_qr),
        cmocka_unit_test(reduction_keeps_rows_angles),
        cmocka_unit_test(reduction_keeps_small_singular_values),
        cmocka_unit_test(results_do_not_depend_on_threads),
        cmocka_unit_test(sums_and_what_is_not_finite),
        cmocka_unit_test(sizes_past_lapack_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
