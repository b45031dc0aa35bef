/* Folding, trains by the shared first cut, and activation-aware errors, against dense matrices built index by
 * index. */
#include "decompose/middle_cut.h"

#include "base/memory.h"
#include "decompose/ttsvd.h"
#include "support/matrix.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static tn_error error;

static const tn_weight foldings[] = {
    {.format = TN_TT, .d = 3, .m = {4, 3, 2}, .n = {2, 3, 5}},
    {.format = TN_TT, .d = 2, .m = {6, 4}, .n = {5, 6}},
    {.format = TN_TT, .d = 1, .m = {24}, .n = {30}},
    {.format = TN_TT, .d = 4, .m = {2, 3, 2, 2}, .n = {5, 1, 3, 2}},
    {.format = TN_TTM, .d = 3, .m = {4, 3, 2}, .n = {2, 3, 5}},
    {.format = TN_TTM, .d = 2, .m = {6, 4}, .n = {5, 6}},
    {.format = TN_TTM, .d = 4, .m = {2, 3, 2, 2}, .n = {5, 1, 3, 2}},
    {.format = TN_TTM, .d = 2, .m = {1, 24}, .n = {30, 1}},
};
enum { ROWS = 24, COLUMNS = 30, FOLDINGS = sizeof foldings / sizeof *foldings };

static void digits(uint64_t value, const uint64_t *factor, uint32_t d, uint64_t *digit) {
    for (uint32_t k = d; k-- > 0; value /= factor[k]) digit[k] = value % factor[k];
}

/* Entry (i, j) of the matrix of a train, by multiplying the slices that the definition names. */
static double entry(const tn_train *train, const tn_weight *weight, uint64_t i, uint64_t j) {
    uint64_t row[TN_FACTORS_MOST], column[TN_FACTORS_MOST];
    double vector[64] = {1}, next[64];
    digits(i, weight->m, weight->d, row);
    digits(j, weight->n, weight->d, column);
    for (size_t k = 0; k < train->cores; k++) {
        uint64_t mode = weight->format == TN_TTM ? row[k] * weight->n[k] + column[k]
                        : k < weight->d          ? row[k]
                                                 : column[k - weight->d];
        for (uint64_t b = 0; b < train->rank[k + 1]; b++) {
            next[b] = 0;
            for (uint64_t a = 0; a < train->rank[k]; a++)
                next[b] += vector[a] * train->core[k][(a * train->mode[k] + mode) * train->rank[k + 1] + b];
        }
        memcpy(vector, next, sizeof next);
    }
    return vector[0];
}

static double *matrix_of(const tn_train *train, const tn_weight *weight) {
    double *w = test_zeros(ROWS * COLUMNS);
    for (uint64_t i = 0; i < ROWS; i++)
        for (uint64_t j = 0; j < COLUMNS; j++) w[i * COLUMNS + j] = entry(train, weight, i, j);
    return w;
}

static void folding_is_a_permutation_that_unfolds(void **state) {
    (void)state;
    double *w = test_normal(1, ROWS * COLUMNS), *folded = test_zeros(ROWS * COLUMNS),
           *back = test_zeros(ROWS * COLUMNS);
    for (size_t f = 0; f < FOLDINGS; f++) {
        assert_int_equal(tn_fold(&foldings[f], w, folded, &error), TN_OK);
        assert_int_equal(tn_unfold(&foldings[f], folded, back, &error), TN_OK);
        assert_memory_equal(back, w, ROWS * COLUMNS * sizeof *w);
        if (!tn_fold_moves(&foldings[f])) assert_memory_equal(folded, w, ROWS * COLUMNS * sizeof *w);
    }
    free(w);
    free(folded);
    free(back);
}

/* Nothing is cut: the train is the matrix, entry by entry, which pins the order of modes. */
static void uncut_trains_are_the_matrix(void **state) {
    (void)state;
    double *w = test_normal(2, ROWS * COLUMNS), *folded = test_zeros(ROWS * COLUMNS);
    for (size_t f = 0; f < FOLDINGS; f++) {
        uint64_t mode[TN_TRAIN_MODES];
        size_t modes = tn_fold_modes(&foldings[f], mode);
        tn_train_rule rule = {0};
        tn_train train;
        assert_int_equal(tn_fold(&foldings[f], w, folded, &error), TN_OK);
        assert_int_equal(tn_train_decompose(folded, mode, modes, &rule, &train, &error), TN_OK);
        double *again = matrix_of(&train, &foldings[f]);
        assert_true(test_distance(again, w, ROWS * COLUMNS) < 1e-24 * test_squares(w, ROWS * COLUMNS));
        free(again);
        tn_train_free(&train);
    }
    free(w);
    free(folded);
}

static void make_halves(const double *w, const tn_weight *weight, uint64_t width,
                        const tn_covariance *covariance, tn_middle_cut *halves) {
    uint64_t rows_before, columns_before;
    tn_middle_cut_bond(weight, &rows_before, &columns_before);
    assert_int_equal(tn_middle_cut_make(w, ROWS, COLUMNS, rows_before, columns_before, width, TN_SVD_AUTO, 1,
                                        covariance, halves, &error),
                     TN_OK);
}

/* What the train of every rank states as its loss is its distance, and it is no further from the best than
 * the number of its bonds allows. */
static void trains_from_halves_state_their_loss(void **state) {
    (void)state;
    double *w = test_normal(3, ROWS * COLUMNS), *folded = test_zeros(ROWS * COLUMNS);
    for (size_t i = 0; i < ROWS * COLUMNS; i++) w[i] *= exp(-(double)(i % COLUMNS) / 8);
    for (size_t f = 0; f < FOLDINGS; f++) {
        tn_middle_cut halves;
        make_halves(w, &foldings[f], 12, NULL, &halves);
        assert_int_equal(tn_fold(&foldings[f], w, folded, &error), TN_OK);
        for (uint64_t rank = 1; rank <= 12; rank += 3) {
            uint64_t cap[TN_TRAIN_MODES], mode[TN_TRAIN_MODES];
            size_t modes = tn_fold_modes(&foldings[f], mode);
            for (size_t k = 0; k < modes; k++) cap[k] = rank;
            tn_train train, direct;
            bool met;
            assert_int_equal(tn_middle_cut_train(&halves, &foldings[f], cap, -1, &met, &train, &error),
                             TN_OK);
            assert_true(met && train.cores == modes);
            for (size_t k = 0; k <= modes; k++) assert_true(train.rank[k] <= rank);
            double *again = matrix_of(&train, &foldings[f]),
                   distance = test_distance(again, w, ROWS * COLUMNS);
            assert_true(fabs(distance - train.squared_loss) < 1e-12 * train.squared_norm);
            tn_train_rule rule = {.cap = cap};
            assert_int_equal(tn_train_decompose(folded, mode, modes, &rule, &direct, &error), TN_OK);
            double bonds = (double)(modes - 1);
            assert_true(distance <= bonds * direct.squared_loss + 1e-12 * train.squared_norm);
            assert_true(direct.squared_loss <= bonds * distance + 1e-12 * train.squared_norm);
            if (modes == 2) assert_true(fabs(distance - direct.squared_loss) < 1e-12 * train.squared_norm);
            free(again);
            tn_train_free(&train);
            tn_train_free(&direct);
        }
        tn_middle_cut_free(&halves);
    }
    free(w);
    free(folded);
}

static void tails_are_kept_or_refused(void **state) {
    (void)state;
    double *w = test_normal(4, ROWS * COLUMNS);
    for (size_t f = 0; f < FOLDINGS; f++) {
        tn_middle_cut halves;
        uint64_t mode[TN_TRAIN_MODES];
        size_t bonds = tn_fold_modes(&foldings[f], mode) - 1;
        make_halves(w, &foldings[f], 10, NULL, &halves);
        for (double tolerance = 0.05; tolerance < 1.4; tolerance *= 1.5) {
            tn_train train;
            bool met;
            assert_int_equal(
                tn_middle_cut_train(&halves, &foldings[f], NULL, tolerance, &met, &train, &error), TN_OK);
            if (met)
                assert_true(train.squared_loss <= tolerance * tolerance * train.squared_norm * (1 + 1e-12));
            if (!met)
                assert_true(halves.tail_norm > tolerance * tolerance * halves.squared_norm / (double)bonds);
            tn_train_free(&train);
        }
        tn_middle_cut_free(&halves);
    }
    free(w);
}

/* C = S S^T of random S; the error of D is |D S|^2. */
static double *random_moments(uint64_t seed, double **root) {
    *root = test_normal(seed, COLUMNS * COLUMNS);
    for (size_t i = 0; i < COLUMNS * COLUMNS; i++) (*root)[i] *= exp(-(double)(i / COLUMNS) / 4);
    double *turned = test_transpose(COLUMNS, COLUMNS, *root);
    double *c = test_multiply(COLUMNS, COLUMNS, COLUMNS, *root, turned);
    free(turned);
    return c;
}

static double weighed(const double *w, const double *v, const double *root) {
    double *d = test_zeros(ROWS * COLUMNS);
    for (size_t i = 0; i < ROWS * COLUMNS; i++) d[i] = w[i] - (v ? v[i] : 0);
    double *out = test_multiply(ROWS, COLUMNS, COLUMNS, d, root), squares = test_squares(out, ROWS * COLUMNS);
    free(d);
    free(out);
    return squares;
}

static void moments_steer_the_cuts(void **state) {
    (void)state;
    double *root, *w = test_normal(5, ROWS * COLUMNS), *values = random_moments(6, &root), squares;
    tn_covariance covariance = {.inputs = COLUMNS, .values = values};
    assert_int_equal(tn_covariance_check(&covariance, "c", &error), TN_OK);
    assert_int_equal(tn_covariance_squares(&covariance, ROWS, w, &squares, &error), TN_OK);
    assert_true(fabs(squares / weighed(w, NULL, root) - 1) < 1e-12);
    /* With one bond the weighted cut is the best there is: that of W S. */
    const tn_weight *matrix = &foldings[2];
    tn_middle_cut aware, plain;
    make_halves(w, matrix, 8, &covariance, &aware);
    make_halves(w, matrix, 8, NULL, &plain);
    double *image = test_multiply(ROWS, COLUMNS, COLUMNS, w, root),
           *value = test_singular_values(ROWS, COLUMNS, image);
    for (uint64_t rank = 1; rank <= 8; rank++) {
        tn_train by_output, by_weight;
        bool met;
        assert_int_equal(tn_middle_cut_train(&aware, matrix, &rank, -1, &met, &by_output, &error), TN_OK);
        assert_int_equal(tn_middle_cut_train(&plain, matrix, &rank, -1, &met, &by_weight, &error), TN_OK);
        double *v = matrix_of(&by_output, matrix), *u = matrix_of(&by_weight, matrix);
        double best = test_squares(value + rank, ROWS - rank), found = weighed(w, v, root);
        assert_true(fabs(found / best - 1) < 1e-9);
        assert_true(fabs(test_distance(w, v, ROWS * COLUMNS) / by_output.squared_loss - 1) < 1e-12);
        assert_true(weighed(w, u, root) > found);
        free(v);
        free(u);
        tn_train_free(&by_output);
        tn_train_free(&by_weight);
    }
    tn_middle_cut_free(&aware);
    tn_middle_cut_free(&plain);
    free(image);
    free(value);
    free(values);
    free(root);
    free(w);
}

/* A diagonal is the matrix with zeros beside it. */
static void diagonal_moments(void **state) {
    (void)state;
    double *w = test_normal(7, ROWS * COLUMNS), *full = test_zeros(COLUMNS * COLUMNS), diagonal[COLUMNS], a,
           b;
    for (size_t i = 0; i < COLUMNS; i++) full[i * COLUMNS + i] = diagonal[i] = 0.5 + (double)i;
    tn_covariance one = {.inputs = COLUMNS, .diagonal = true, .values = diagonal};
    tn_covariance two = {.inputs = COLUMNS, .values = full};
    assert_int_equal(tn_covariance_squares(&one, ROWS, w, &a, &error), TN_OK);
    assert_int_equal(tn_covariance_squares(&two, ROWS, w, &b, &error), TN_OK);
    assert_true(fabs(a / b - 1) < 1e-14);
    free(w);
    free(full);
}

static void impossible_moments_are_refused(void **state) {
    (void)state;
    double *w = test_normal(8, ROWS * COLUMNS), *c = test_zeros(COLUMNS * COLUMNS);
    double *u = test_zeros(ROWS * ROWS), value[ROWS];
    for (size_t i = 0; i < COLUMNS; i++) c[i * COLUMNS + i] = 1;
    tn_covariance covariance = {.inputs = COLUMNS, .values = c};
    assert_int_equal(tn_covariance_check(&covariance, "c", &error), TN_OK);
    c[5] = 0.1;
    assert_int_equal(tn_covariance_check(&covariance, "c", &error), TN_INPUT);
    c[5 * COLUMNS] = 0.1;
    assert_int_equal(tn_covariance_check(&covariance, "c", &error), TN_OK);
    c[3] = c[3 * COLUMNS] = 50; /* symmetric, but no longer positive */
    assert_int_equal(tn_covariance_directions(&covariance, ROWS, w, u, value, &error), TN_INPUT);
    c[0] = -1;
    assert_int_equal(tn_covariance_check(&covariance, "c", &error), TN_INPUT);
    c[0] = NAN;
    assert_int_equal(tn_covariance_check(&covariance, "c", &error), TN_INPUT);
    free(w);
    free(c);
    free(u);
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    double *w = test_normal(9, ROWS * COLUMNS), *root, *values = random_moments(6, &root);
    tn_covariance covariance = {.inputs = COLUMNS, .values = values};
    for (int way = 0; way < 3; way++)
        for (long n = 1;; n++) {
            const tn_weight *weight = &foldings[way == 0 ? 4 : 0];
            uint64_t rows_before, columns_before, cap[] = {2, 3, 2, 3, 2};
            tn_middle_cut halves;
            tn_train train = {0};
            bool met;
            tn_middle_cut_bond(weight, &rows_before, &columns_before);
            tn_memory_fail_at(n);
            tn_status status =
                tn_middle_cut_make(w, ROWS, COLUMNS, rows_before, columns_before, 4, TN_SVD_AUTO, 1,
                                   way == 2 ? &covariance : NULL, &halves, &error);
            if (status == TN_OK) status = tn_middle_cut_train(&halves, weight, cap, -1, &met, &train, &error);
            long requests = tn_memory_requests();
            tn_memory_fail_at(0);
            tn_middle_cut_free(&halves);
            tn_train_free(&train);
            assert_int_equal(status, requests < n ? TN_OK : TN_MEMORY);
            if (requests < n) break;
        }
    free(w);
    free(root);
    free(values);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(folding_is_a_permutation_that_unfolds),
        cmocka_unit_test(uncut_trains_are_the_matrix),
        cmocka_unit_test(trains_from_halves_state_their_loss),
        cmocka_unit_test(tails_are_kept_or_refused),
        cmocka_unit_test(moments_steer_the_cuts),
        cmocka_unit_test(diagonal_moments),
        cmocka_unit_test(impossible_moments_are_refused),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
