/* The range finder: what it states about its own error holds on matrices whose singular values are known. */
#include "decompose/truncated_svd.h"

#include "decompose/dense.h"
#include "support/matrix.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { P = 150, Q = 190 };
static tn_error error;

/* Singular values that fall fast, slowly, not at all, and to nothing at once. */
static void spectrum(int kind, double *value) {
    for (int i = 0; i < P; i++)
        value[i] = kind == 0   ? exp(-i / 6.0)
                   : kind == 1 ? 1 / sqrt(1 + i)
                   : kind == 2 ? 1
                   : i < 12    ? 1 + i
                               : 0;
    if (kind == 3)
        for (int i = 0; i < 6; i++) {
            double swap = value[i];
            value[i] = value[11 - i];
            value[11 - i] = swap;
        }
}

static double tail(const double *value, size_t rank) {
    return test_squares(value + rank, P - rank);
}

static void states_its_residual_and_bounds_its_excess(void **state) {
    (void)state;
    for (int kind = 0; kind < 4; kind++) {
        double value[P];
        spectrum(kind, value);
        double *a = test_matrix_of_values((uint64_t)kind, P, Q, value);
        for (size_t width = 5; width <= 45; width += 20) {
            tn_range range;
            assert_int_equal(tn_range_find(P, Q, a, width, 7, &range, &error), TN_OK);
            double *t = test_transpose(P, width, range.basis), *b = test_multiply(width, Q, P, t, a);
            double *caught = test_multiply(P, Q, width, range.basis, b);
            assert_true(fabs(test_distance(a, caught, P * Q) - range.residual_squares) <
                        1e-13 * tail(value, 0));
            for (size_t i = 0; i < width; i++) assert_true(range.value[i] <= value[i] + 1e-13 * value[0]);
            for (size_t rank = 1; rank <= width; rank += 7) {
                double excess, loss = range.residual_squares;
                for (size_t i = rank; i < width; i++) loss += range.value[i] * range.value[i];
                assert_int_equal(tn_range_excess(P, Q, a, &range, rank, 7, &excess, &error), TN_OK);
                assert_true(loss >= tail(value, rank) - 1e-13 * tail(value, 0));
                assert_true(loss - tail(value, rank) <= excess + 1e-13 * tail(value, 0));
            }
            free(t);
            free(b);
            free(caught);
            tn_range_free(&range);
        }
        free(a);
    }
}

/* Where the values fall fast the basis is as good as the singular vectors. */
static void nearly_optimal_where_values_fall(void **state) {
    (void)state;
    double value[P];
    spectrum(0, value);
    double *a = test_matrix_of_values(3, P, Q, value);
    tn_truncated_svd cut;
    tn_svd_rule rule = {.cap = 20, .tail = -1, .method = TN_SVD_RANDOMISED, .seed = 3};
    assert_int_equal(tn_truncated_svd_make(P, Q, a, &rule, &cut, &error), TN_OK);
    assert_true(cut.randomised);
    assert_int_equal(cut.rank, 20);
    assert_true(fabs(cut.squared_loss / tail(value, 20) - 1) < 1e-6);
    double *product = test_multiply(P, Q, 20, cut.u, cut.rest);
    assert_true(fabs(test_distance(a, product, P * Q) / cut.squared_loss - 1) < 1e-9);
    free(product);
    tn_truncated_svd_free(&cut);
    free(a);
}

/* With a tail to keep it widens until that is met, and gives up for the exact way where it can't be. */
static void widens_to_a_tail(void **state) {
    (void)state;
    double value[P];
    for (int kind = 0; kind < 4; kind++) {
        spectrum(kind, value);
        double *a = test_matrix_of_values((uint64_t)kind + 10, P, Q, value),
               allowed = 0.1 * sqrt(tail(value, 0));
        size_t best = P;
        while (best > 1 && tail(value, best - 1) <= allowed * allowed) best--;
        for (int exact = 0; exact < 2; exact++) {
            tn_truncated_svd cut;
            tn_svd_rule rule = {.cap = UINT64_MAX,
                                .tail = allowed,
                                .method = exact ? TN_SVD_EXACT : TN_SVD_RANDOMISED,
                                .seed = 1};
            assert_int_equal(tn_truncated_svd_make(P, Q, a, &rule, &cut, &error), TN_OK);
            assert_true(cut.squared_loss <= allowed * allowed);
            assert_true(exact ? cut.rank == best : cut.rank >= best && cut.rank <= best + 1);
            tn_truncated_svd_free(&cut);
        }
        free(a);
    }
}

static void same_seed_same_basis(void **state) {
    (void)state;
    double *a = test_normal(8, P * Q);
    tn_range range[3];
    for (int i = 0; i < 3; i++)
        assert_int_equal(tn_range_find(P, Q, a, 10, i < 2 ? 5 : 6, &range[i], &error), TN_OK);
    assert_memory_equal(range[0].basis, range[1].basis, P * 10 * sizeof(double));
    assert_memory_not_equal(range[0].basis, range[2].basis, P * 10 * sizeof(double));
    for (int i = 0; i < 3; i++) tn_range_free(&range[i]);
    free(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(states_its_residual_and_bounds_its_excess),
        cmocka_unit_test(nearly_optimal_where_values_fall),
        cmocka_unit_test(widens_to_a_tail),
        cmocka_unit_test(same_seed_same_basis),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
