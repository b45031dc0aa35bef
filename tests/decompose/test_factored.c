/* Ring, Tucker, TT and TTM of small matrices: what they state as their error is their distance, cores are
 * shaped and ordered as tensor/weight.h says (contracted by plain loops over its network), and files give
 * them back. */
#include "decompose/factor.h"
#include "decompose/factored.h"

#include "base/memory.h"
#include "decompose/factored_files.h"
#include "decompose/ttsvd.h"
#include "run/case.h"
#include "run/reference.h"
#include "support/arrays.h"
#include "support/matrix.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static tn_error error;
enum { ROWS = 24, COLUMNS = 30 };
static const tn_format formats[] = {TN_TT, TN_TTM, TN_RING, TN_TUCKER};

static tn_weight folding_of(tn_format format, int kind) {
    static const tn_weight foldings[] = {{.d = 3, .m = {4, 3, 2}, .n = {2, 3, 5}},
                                         {.d = 2, .m = {6, 4}, .n = {5, 6}},
                                         {.d = 1, .m = {24}, .n = {30}},
                                         {.d = 2, .m = {1, 24}, .n = {15, 2}}};
    tn_weight weight = foldings[kind];
    weight.format = format;
    return weight;
}

/* A matrix whose unfoldings have values that fall. */
static double *matrix(void) {
    double *w = test_normal(3, ROWS * COLUMNS);
    for (size_t i = 0; i < ROWS * COLUMNS; i++)
        w[i] *= exp(-(double)(i % COLUMNS) / 6 - (double)(i / COLUMNS) / 5);
    return w;
}

/* W from the cores by plain loops, in the order (m.., n..), which is its own. */
static double *contract(const tn_factored *f) {
    tn_arena arena = {0};
    tn_network network;
    double *w = test_zeros(ROWS * COLUMNS);
    assert_int_equal(tn_weight_matrix(&f->weight, &arena, &network, &error), TN_OK);
    assert_int_equal(tn_contract_plainly(&network, (const double *const *)f->core, w, &error), TN_OK);
    tn_arena_free(&arena);
    return w;
}

static void check(const tn_factored *f, const double *w, const double *folded) {
    assert_int_equal(tn_weight_check(&f->weight, &error), TN_OK);
    assert_int_equal(f->cores, tn_weight_cores(&f->weight));
    double *again = contract(f), distance = test_distance(again, w, ROWS * COLUMNS), squares, *tensor;
    assert_true(fabs(distance - f->squared_loss) < 1e-13 * f->squared_norm);
    assert_int_equal(tn_factored_error(f, folded, &squares, &error), TN_OK);
    assert_true(fabs(distance - squares) < 1e-13 * f->squared_norm);
    assert_int_equal(tn_factored_rebuild(f, &tensor, &error), TN_OK);
    assert_true(fabs(test_distance(tensor, folded, ROWS * COLUMNS) - squares) < 1e-13 * f->squared_norm);
    assert_true(fabs(tn_factored_relative(f, squares) - sqrt(squares / test_squares(w, ROWS * COLUMNS))) <
                1e-14);
    tn_free(tensor);
    free(again);
}

static void every_format_states_its_error(void **state) {
    (void)state;
    double *w = matrix(), *folded = test_zeros(ROWS * COLUMNS);
    for (size_t i = 0; i < 4; i++)
        for (int kind = 0; kind < 4; kind++) {
            tn_weight weight = folding_of(formats[i], kind);
            double before = INFINITY;
            assert_int_equal(tn_fold(&weight, w, folded, &error), TN_OK);
            for (uint64_t rank = 1; rank <= 30; rank += rank < 6 ? 1 : 8) {
                tn_factored f;
                tn_factor_rule rule = {.capped = true, .tolerance = -1};
                assert_int_equal(tn_weight_set_rank(&weight, rank, &error), TN_OK);
                assert_int_equal(tn_factor(&weight, folded, &rule, &f, &error), TN_OK);
                check(&f, w, folded);
                for (uint32_t k = 0; k < f.weight.rank_count; k++)
                    assert_true(f.weight.rank[k] <= weight.rank[k]);
                if (formats[i] != TN_RING) assert_true(f.squared_loss <= before + 1e-13 * f.squared_norm);
                before = f.squared_loss;
                tn_factored_free(&f);
            }
            /* Nothing is cut any more, but for the ring, whose first mode carries the product of two ranks.
             */
            if (formats[i] != TN_RING) assert_true(before < 1e-25 * test_squares(w, ROWS * COLUMNS));
            for (double tolerance = 0.01; tolerance < 1; tolerance *= 3) {
                tn_factored f;
                tn_factor_rule rule = {.tolerance = tolerance};
                assert_int_equal(tn_factor(&weight, folded, &rule, &f, &error), TN_OK);
                check(&f, w, folded);
                assert_true(f.squared_loss <= tolerance * tolerance * f.squared_norm * (1 + 1e-12));
                tn_factored_free(&f);
            }
        }
    free(w);
    free(folded);
}

/* Tucker at rank r of a mode loses at least what the mode's unfolding has beyond r. */
static void tucker_is_nearly_optimal(void **state) {
    (void)state;
    double *w = matrix();
    tn_weight weight = folding_of(TN_TUCKER, 1);
    tn_factored f;
    tn_factor_rule rule = {.capped = true, .tolerance = -1};
    assert_int_equal(tn_weight_set_rank(&weight, 3, &error), TN_OK);
    assert_int_equal(tn_factor(&weight, w, &rule, &f, &error), TN_OK);
    double *value = test_singular_values(6, 120, w), tail = test_squares(value + 3, 3);
    assert_true(f.squared_loss >= tail);
    for (uint32_t k = 0; k < 4; k++) assert_int_equal(f.weight.rank[k], 3);
    assert_true(f.squared_loss < 0.5 * f.squared_norm);
    free(value);
    tn_factored_free(&f);
    free(w);
}

static void other_formats_are_refused(void **state) {
    (void)state;
    double *w = matrix();
    tn_weight weight = folding_of(TN_CP, 1);
    tn_factored f;
    tn_factor_rule rule = {.capped = true, .tolerance = -1};
    assert_int_equal(tn_weight_set_rank(&weight, 3, &error), TN_OK);
    assert_int_equal(tn_factor(&weight, w, &rule, &f, &error), TN_INPUT);
    assert_non_null(strstr(error.message, "cp"));
    free(w);
}

static void files_give_the_cores_back(void **state) {
    (void)state;
    double *w = matrix(), *folded = test_zeros(ROWS * COLUMNS);
    char folder[] = "/tmp/tenfold-factored-XXXXXX", path[128], command[160];
    assert_non_null(mkdtemp(folder));
    for (size_t i = 0; i < 3; i++) {
        tn_weight weight = folding_of(formats[i], 0);
        tn_factored f;
        tn_factor_rule rule = {.capped = true, .tolerance = -1};
        tn_arena arena = {0};
        tn_trial trial;
        assert_int_equal(tn_weight_set_rank(&weight, 2, &error), TN_OK);
        assert_int_equal(tn_fold(&weight, w, folded, &error), TN_OK);
        assert_int_equal(tn_factor(&weight, folded, &rule, &f, &error), TN_OK);
        snprintf(path, sizeof path, "%s/%zu", folder, i);
        assert_int_equal(tn_factored_write_case(path, &f, 5, 1, &error), TN_OK);
        assert_int_equal(tn_case_load_folder(path, &arena, &trial, &error), TN_OK);
        assert_int_equal(trial.weight.format, formats[i]);
        assert_int_equal(trial.tokens, 5);
        /* What the loader's own product gives is what was written beside the cores. */
        assert_true(test_distance(trial.reference.y, trial.given.y, 5 * ROWS) <
                    1e-24 * test_squares(trial.given.y, 5 * ROWS));
        assert_true(test_distance(trial.reference.dx, trial.given.dx, 5 * COLUMNS) <
                    1e-24 * test_squares(trial.given.dx, 5 * COLUMNS));
        tn_arena_free(&arena);
        const tn_factored *list[] = {&f, &f};
        static const char *const names[] = {"first", "second"};
        snprintf(path, sizeof path, "%s/%zu.npz", folder, i);
        assert_int_equal(tn_factored_write_npz(path, list, names, 2, &error), TN_OK);
        tn_arrays *arrays = test_arrays_open(path);
        assert_int_equal(tn_arrays_count(arrays), 2 * f.cores);
        const tn_array_info *info;
        double *core = test_arrays_values(arrays, "second.core2", &info);
        assert_memory_equal(core, f.core[1], info->elements * sizeof *core);
        free(core);
        tn_arrays_close(arrays);
        tn_factored_free(&f);
    }
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
    free(w);
    free(folded);
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    double *w = matrix();
    for (size_t i = 0; i < 4; i++)
        for (long n = 1;; n++) {
            tn_weight weight = folding_of(formats[i], 1);
            tn_factored f = {0};
            tn_factor_rule rule = {.capped = true, .tolerance = 0.1};
            double squares;
            assert_int_equal(tn_weight_set_rank(&weight, 3, &error), TN_OK);
            tn_memory_fail_at(n);
            tn_status status = tn_factor(&weight, w, &rule, &f, &error);
            if (status == TN_OK) status = tn_factored_error(&f, w, &squares, &error);
            long requests = tn_memory_requests();
            tn_memory_fail_at(0);
            tn_factored_free(&f);
            assert_int_equal(status, requests < n ? TN_OK : TN_MEMORY);
            if (requests < n) break;
        }
    free(w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_format_states_its_error), cmocka_unit_test(tucker_is_nearly_optimal),
        cmocka_unit_test(other_formats_are_refused),     cmocka_unit_test(files_give_the_cores_back),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
