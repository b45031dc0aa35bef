/* TT-SVD against the reference data made with NumPy, and against its own definition on small tensors. */
#include "decompose/ttsvd.h"

#include "base/memory.h"
#include "support/arrays.h"
#include "support/brute.h"
#include "support/matrix.h"
#include "support/shared.h"
#include "text/csv.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static tn_error error;

/* The tensor of the cores by summing over all bonds, index by index. */
static double *rebuild(const tn_train *train) {
    double *row = test_zeros(1);
    size_t rows = 1;
    row[0] = 1;
    for (size_t k = 0; k < train->cores; k++) {
        double *next =
            test_multiply(rows, train->mode[k] * train->rank[k + 1], train->rank[k], row, train->core[k]);
        free(row);
        row = next;
        rows *= train->mode[k];
    }
    return row;
}

static size_t elements(const uint64_t *mode, size_t modes) {
    size_t product = 1;
    for (size_t k = 0; k < modes; k++) product *= mode[k];
    return product;
}

/* Ranks as requested where useful, error as stated, and within what the unfoldings allow. */
static void check_train(const tn_train *train, const double *tensor, const tn_train_rule *rule) {
    size_t count = elements(train->mode, train->cores);
    double *again = rebuild(train), scale = train->squared_norm + 1e-300, measured, upper = 0;
    double distance = test_distance(tensor, again, count);
    assert_true(fabs(distance - train->squared_loss) <= 1e-13 * scale);
    assert_int_equal(tn_train_error(train, tensor, &measured, &error), TN_OK);
    assert_true(fabs(distance - measured) <= 1e-13 * scale);
    for (size_t bond = 1; bond < train->cores; bond++) {
        size_t p = elements(train->mode, bond), q = count / p;
        double *value = test_singular_values(p, q, tensor), *found, tail = 0;
        uint64_t values;
        assert_int_equal(
            tn_unfolding_values(tensor, train->mode, train->cores, bond, &found, &values, &error), TN_OK);
        assert_int_equal(values, p < q ? p : q);
        for (size_t i = 0; i < values; i++) {
            assert_true(fabs(found[i] - value[i]) <= 1e-13 * (value[0] + 1e-300));
            if (i >= train->rank[bond]) tail += value[i] * value[i];
        }
        assert_true(tail <= distance + 1e-13 * scale);
        upper += tail;
        if (rule->cap) assert_true(train->rank[bond] <= rule->cap[bond - 1]);
        free(value);
        tn_free(found);
    }
    assert_true(distance <= upper + 1e-13 * scale);
    free(again);
}

static const uint64_t shapes[][6] = {{3, 4, 5, 2}, {7, 1, 3, 4, 2}, {2, 2, 2, 2, 2, 2}, {30, 5}, {5, 30},
                                     {12},         {1, 1, 9}};
static const size_t shape_modes[] = {4, 5, 6, 2, 2, 1, 3};
enum { SHAPES = sizeof shape_modes / sizeof *shape_modes };

static void small_tensors_by_cap(void **state) {
    (void)state;
    uint64_t seed = 1;
    for (size_t s = 0; s < SHAPES; s++)
        for (int round = 0; round < 6; round++) {
            double *tensor = test_normal(seed, elements(shapes[s], shape_modes[s]));
            uint64_t cap[8];
            for (size_t k = 0; k < 8; k++) cap[k] = round == 5 ? UINT64_MAX : 1 + test_random(&seed) % 9;
            tn_train_rule rule = {.cap = cap};
            tn_train train;
            assert_int_equal(tn_train_decompose(tensor, shapes[s], shape_modes[s], &rule, &train, &error),
                             TN_OK);
            check_train(&train, tensor, &rule);
            if (round == 5) assert_true(train.squared_loss == 0);
            tn_train_free(&train);
            free(tensor);
        }
}

static void small_tensors_by_tolerance(void **state) {
    (void)state;
    for (size_t s = 0; s < SHAPES; s++)
        for (double tolerance = 0; tolerance < 1.2; tolerance += 0.3) {
            size_t bonds = shape_modes[s] - 1, count = elements(shapes[s], shape_modes[s]);
            double *tensor = test_normal(s + 50, count), tail[8];
            for (size_t k = 0; k < 8; k++)
                tail[k] = tn_train_tail(tolerance, test_squares(tensor, count), bonds);
            tn_train_rule rule = {.tail = tail};
            tn_train train;
            assert_int_equal(tn_train_decompose(tensor, shapes[s], shape_modes[s], &rule, &train, &error),
                             TN_OK);
            check_train(&train, tensor, &rule);
            assert_true(train.squared_loss <= tolerance * tolerance * train.squared_norm * (1 + 1e-12));
            tn_train_free(&train);
            free(tensor);
        }
}

/* A tensor made of cores of known ranks comes back with those ranks. */
static void ranks_of_a_train_are_found(void **state) {
    (void)state;
    const uint64_t mode[] = {4, 5, 3, 4}, rank[] = {1, 3, 2, 4, 1};
    tn_train made = {.cores = 4}, found;
    for (size_t k = 0; k < 4; k++) {
        made.mode[k] = mode[k];
        made.rank[k + 1] = rank[k + 1];
        made.core[k] = test_normal(k, rank[k] * mode[k] * rank[k + 1]);
    }
    made.rank[0] = 1;
    double *tensor = rebuild(&made), tail[3];
    for (size_t k = 0; k < 3; k++) tail[k] = tn_train_tail(1e-10, test_squares(tensor, 240), 3);
    tn_train_rule rule = {.tail = tail};
    assert_int_equal(tn_train_decompose(tensor, mode, 4, &rule, &found, &error), TN_OK);
    for (size_t k = 0; k <= 4; k++) assert_int_equal(found.rank[k], rank[k]);
    assert_true(found.squared_loss < 1e-26 * found.squared_norm);
    uint64_t parameters;
    assert_int_equal(tn_train_parameters(&found, &parameters, &error), TN_OK);
    assert_int_equal(parameters, 4 * 3 + 3 * 5 * 2 + 2 * 3 * 4 + 4 * 4);
    tn_train_free(&found);
    for (size_t k = 0; k < 4; k++) free(made.core[k]);
    free(tensor);
}

static void zeros_have_rank_one(void **state) {
    (void)state;
    const uint64_t mode[] = {3, 4, 3};
    double *tensor = test_zeros(36), tail[] = {0, 0};
    tn_train_rule rule = {.tail = tail};
    tn_train train;
    assert_int_equal(tn_train_decompose(tensor, mode, 3, &rule, &train, &error), TN_OK);
    assert_true(train.rank[1] == 1 && train.rank[2] == 1 && train.squared_loss == 0);
    tn_train_free(&train);
    free(tensor);
}

/* --- the reference data --- */

typedef struct {
    double *w;
    tn_weight tt, ttm;
    double *folded; /* for TTM */
} reference;

static void load_reference(reference *r) {
    tn_arrays *arrays = test_arrays_open(test_shared_or_skip("oracles/ttsvd/w768_tt.npy"));
    r->w = test_arrays_values(arrays, tn_arrays_info(arrays, 0)->name, NULL);
    tn_arrays_close(arrays);
    r->tt = (tn_weight){.format = TN_TT, .d = 3, .m = {12, 8, 8}, .n = {8, 8, 12}};
    r->ttm = r->tt;
    r->ttm.format = TN_TTM;
    r->folded = test_zeros(768 * 768);
    assert_int_equal(tn_fold(&r->ttm, r->w, r->folded, &error), TN_OK);
}

static void free_reference(reference *r) {
    free(r->w);
    free(r->folded);
}

static bool near(double found, double expected) {
    return fabs(found - expected) <= 1e-6 * expected + 1e-13;
}

static void check_row(const reference *r, const tn_csv *csv, size_t row, bool by_cap, double *worst) {
    static const char *const names[] = {"format", "ranks", "params", "err_rebuilt", "err_tail"};
    size_t column[5], asked = tn_csv_column(csv, by_cap ? "cap" : "eps");
    assert_int_equal(tn_csv_columns(csv, names, 5, false, column, &error), TN_OK);
    const tn_weight *weight = strcmp(tn_csv_at(csv, row, column[0])->text, "TT") ? &r->ttm : &r->tt;
    const double *tensor = weight == &r->tt ? r->w : r->folded;
    uint64_t mode[TN_TRAIN_MODES], cap[TN_TRAIN_MODES], parameters, expected_parameters;
    double tail[TN_TRAIN_MODES], wanted, rebuilt, by_tail, squares;
    size_t modes = tn_fold_modes(weight, mode);
    assert_int_equal(tn_csv_real(csv, row, asked, 0, INFINITY, &wanted, &error), TN_OK);
    for (size_t k = 0; k < modes; k++) {
        cap[k] = (uint64_t)wanted;
        tail[k] = tn_train_tail(wanted, test_squares(r->w, 768 * 768), modes - 1);
    }
    tn_train_rule rule = {.cap = by_cap ? cap : NULL, .tail = by_cap ? NULL : tail};
    tn_train train;
    assert_int_equal(tn_train_decompose(tensor, mode, modes, &rule, &train, &error), TN_OK);
    char ranks[256] = "";
    for (size_t k = 0, index = 0; k <= modes; k++)
        index += (size_t)snprintf(ranks + index, sizeof ranks - index, k ? " %d" : "%d", (int)train.rank[k]);
    assert_string_equal(ranks, tn_csv_at(csv, row, column[1])->text);
    assert_int_equal(tn_train_parameters(&train, &parameters, &error), TN_OK);
    assert_int_equal(tn_csv_count(csv, row, column[2], 1, UINT64_MAX, &expected_parameters, &error), TN_OK);
    assert_int_equal(parameters, expected_parameters);
    assert_int_equal(tn_csv_real(csv, row, column[3], 0, 2, &rebuilt, &error), TN_OK);
    assert_int_equal(tn_csv_real(csv, row, column[4], 0, 2, &by_tail, &error), TN_OK);
    assert_int_equal(tn_train_error(&train, tensor, &squares, &error), TN_OK);
    double found = sqrt(squares / train.squared_norm),
           found_tail = sqrt(train.squared_loss / train.squared_norm);
    assert_true(near(found, rebuilt));
    assert_true(near(found_tail, by_tail));
    if (by_tail > 0) *worst = fmax(*worst, fmax(fabs(found / rebuilt - 1), fabs(found_tail / by_tail - 1)));
    tn_train_free(&train);
}

static void check_table(const char *name, bool by_cap) {
    reference r;
    tn_arena arena = {0};
    tn_csv csv;
    double worst = 0;
    load_reference(&r);
    assert_int_equal(tn_csv_load(test_shared_or_skip(name), &arena, &csv, &error), TN_OK);
    size_t checked = 0;
    for (size_t row = 0; row < csv.rows; row++)
        if (strcmp(tn_csv_at(&csv, row, tn_csv_column(&csv, "matrix"))->text, "w768_tt") == 0) {
            check_row(&r, &csv, row, by_cap, &worst);
            checked++;
        }
    assert_true(checked > 0);
    printf("%s: %zu rows, ranks and parameters equal, errors within %.1e\n", name, checked, worst);
    tn_arena_free(&arena);
    free_reference(&r);
}

static void reference_by_cap(void **state) {
    (void)state;
    check_table("oracles/ttsvd/ttsvd_oracle.csv", true);
}

static void reference_by_tolerance(void **state) {
    (void)state;
    check_table("oracles/ttsvd/eps_oracle.csv", false);
}

static void reference_singular_values(void **state) {
    (void)state;
    static const char *const names[] = {"format", "bond", "index", "sigma"};
    reference r;
    tn_arena arena = {0};
    tn_csv csv;
    size_t column[4];
    load_reference(&r);
    assert_int_equal(tn_csv_load(test_shared_or_skip("oracles/ttsvd/unfold_sv.csv"), &arena, &csv, &error),
                     TN_OK);
    assert_int_equal(tn_csv_columns(&csv, names, 4, false, column, &error), TN_OK);
    double *value = NULL, worst = 0;
    uint64_t count = 0;
    for (size_t row = 0; row < csv.rows; row++) {
        uint64_t bond, index, mode[TN_TRAIN_MODES];
        double sigma;
        bool ttm = strcmp(tn_csv_at(&csv, row, column[0])->text, "TTM") == 0;
        assert_int_equal(tn_csv_count(&csv, row, column[1], 1, 9, &bond, &error), TN_OK);
        assert_int_equal(tn_csv_count(&csv, row, column[2], 0, 9999, &index, &error), TN_OK);
        assert_int_equal(tn_csv_real(&csv, row, column[3], 0, INFINITY, &sigma, &error), TN_OK);
        if (index == 0) {
            tn_free(value);
            size_t modes = tn_fold_modes(ttm ? &r.ttm : &r.tt, mode);
            assert_int_equal(
                tn_unfolding_values(ttm ? r.folded : r.w, mode, modes, (size_t)bond, &value, &count, &error),
                TN_OK);
        }
        assert_true(index < count);
        worst = fmax(worst, fabs(value[index] - sigma) / value[0]);
    }
    printf("unfold_sv.csv: %zu singular values within %.1e of the largest\n", csv.rows, worst);
    assert_true(worst < 1e-9);
    tn_free(value);
    tn_arena_free(&arena);
    free_reference(&r);
}

static void same_bits_whatever_the_threads(void **state) {
    (void)state;
    const uint64_t mode[] = {24, 20, 10, 12}, cap[] = {15, 15, 8};
    double *tensor = test_normal(77, 24 * 20 * 10 * 12);
    tn_train_rule rule = {.cap = cap};
    tn_train train[2];
    int threads = omp_get_max_threads();
    for (int i = 0; i < 2; i++) {
        omp_set_num_threads(i ? 3 : 1);
        assert_int_equal(tn_train_decompose(tensor, mode, 4, &rule, &train[i], &error), TN_OK);
    }
    omp_set_num_threads(threads);
    assert_true(train[0].squared_loss == train[1].squared_loss);
    for (size_t k = 0; k < 4; k++)
        assert_memory_equal(train[0].core[k], train[1].core[k],
                            train[0].rank[k] * mode[k] * train[0].rank[k + 1] * sizeof(double));
    tn_train_free(&train[0]);
    tn_train_free(&train[1]);
    free(tensor);
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    const uint64_t mode[] = {4, 5, 30, 2}, cap[] = {3, 4, 2};
    double *tensor = test_normal(2, 1200);
    tn_train_rule rule = {.cap = cap};
    for (long n = 1;; n++) {
        tn_train train;
        double squares;
        tn_memory_fail_at(n);
        tn_status status = tn_train_decompose(tensor, mode, 4, &rule, &train, &error);
        if (status == TN_OK) status = tn_train_error(&train, tensor, &squares, &error);
        long requests = tn_memory_requests();
        tn_memory_fail_at(0);
        tn_train_free(&train);
        assert_int_equal(status, requests < n ? TN_OK : TN_MEMORY);
        if (requests < n) break;
    }
    free(tensor);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_tensors_by_cap),       cmocka_unit_test(small_tensors_by_tolerance),
        cmocka_unit_test(ranks_of_a_train_are_found), cmocka_unit_test(zeros_have_rank_one),
        cmocka_unit_test(reference_by_cap),           cmocka_unit_test(reference_by_tolerance),
        cmocka_unit_test(reference_singular_values),  cmocka_unit_test(same_bits_whatever_the_threads),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
