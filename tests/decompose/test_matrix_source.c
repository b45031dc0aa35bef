/* Matrices out of array files: conventions, slices, cores, and what is refused. */
#include "decompose/matrix_source.h"

#include "base/memory.h"
#include "decompose/ttsvd.h"
#include "support/matrix.h"
#include "text/arrays.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROWS = 6, COLUMNS = 20 };
static tn_error error;
static char path[64];
static double *w, *fused, *turned;
static const tn_weight tt = {.format = TN_TT, .d = 2, .m = {2, 3}, .n = {4, 5}};
static const tn_weight ttm = {.format = TN_TTM, .d = 2, .m = {2, 3}, .n = {4, 5}};

static tn_array_out array(const char *name, const uint64_t *shape, size_t axes, const double *values) {
    return (tn_array_out){.name = name, .axes = axes, .shape = shape, .values = values};
}

/* w, its transpose, a fused array that holds it in its rows 6..11 and columns 3..22, and odd ones. */
static int make_file(void **state) {
    (void)state;
    static const uint64_t plain[] = {ROWS, COLUMNS}, other[] = {COLUMNS, ROWS},
                          wide[] = {3 * ROWS, COLUMNS + 5};
    static const uint64_t four[] = {ROWS, COLUMNS, 1, 1}, line[] = {ROWS * COLUMNS};
    strcpy(path, "/tmp/tenfold-source-XXXXXX");
    assert_true(mkstemp(path) >= 0);
    w = test_normal(1, ROWS * COLUMNS);
    turned = test_transpose(ROWS, COLUMNS, w);
    fused = test_normal(2, 3 * ROWS * (COLUMNS + 5));
    for (size_t i = 0; i < ROWS; i++)
        memcpy(fused + (ROWS + i) * (COLUMNS + 5) + 3, w + i * COLUMNS, COLUMNS * sizeof *w);
    double bad[ROWS * COLUMNS];
    memcpy(bad, w, sizeof bad);
    bad[2 * COLUMNS + 7] = NAN;
    const tn_array_out arrays[] = {array("plain", plain, 2, w),    array("turned", other, 2, turned),
                                   array("fused", wide, 2, fused), array("conv", four, 4, w),
                                   array("flat", line, 1, w),      array("bad", plain, 2, bad),
                                   array("a.weight", plain, 2, w)};
    assert_int_equal(tn_npz_write(path, arrays, 7, &error), TN_OK);
    return 0;
}

static int remove_file(void **state) {
    (void)state;
    unlink(path);
    free(w);
    free(fused);
    free(turned);
    return 0;
}

static tn_status read_with(const char *file, const tn_matrix_source *source, const tn_weight *weight,
                           double *folded) {
    tn_arrays *arrays;
    assert_int_equal(tn_arrays_open(file, &arrays, &error), TN_OK);
    tn_status status = tn_matrix_read(arrays, file, source, weight, folded, &error);
    tn_arrays_close(arrays);
    return status;
}

static void every_way_gives_the_same_matrix(void **state) {
    (void)state;
    const tn_matrix_source ways[] = {
        {.tensor = "plain"},
        {.tensor = "turned", .transposed = true},
        {.tensor = "fused", .rows = {ROWS, ROWS}, .columns = {3, COLUMNS}},
        {.tensor = "conv"},
    };
    double folded[ROWS * COLUMNS], expected[ROWS * COLUMNS];
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        assert_int_equal(read_with(path, &ways[i], &tt, folded), TN_OK);
        assert_memory_equal(folded, w, sizeof folded);
        assert_int_equal(read_with(path, &ways[i], &ttm, folded), TN_OK);
        assert_int_equal(tn_fold(&ttm, w, expected, &error), TN_OK);
        assert_memory_equal(folded, expected, sizeof folded);
    }
}

static void what_does_not_fit_is_refused(void **state) {
    (void)state;
    static const struct {
        tn_matrix_source source;
        const char *message;
    } cases[] = {
        {{0}, "holds 7 arrays"},
        {{.tensor = "plan"}, "did you mean \"plain\""},
        {{.tensor = "plain", .transposed = true}, "it may have to be transposed"},
        {{.tensor = "turned"}, "it may have to be transposed"},
        {{.tensor = "fused"}, "is 18x25"},
        {{.tensor = "fused", .rows = {15, 6}}, "6 from 15 on are more"},
        {{.tensor = "fused", .columns = {UINT64_MAX, 20}}, "on are more"},
        {{.tensor = "flat"}, "a weight matrix has two axes"},
        {{.tensor = "bad"}, "holds NaN at (2, 7)"},
    };
    double folded[ROWS * COLUMNS];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(read_with(path, &cases[i].source, &tt, folded), TN_INPUT);
        if (!strstr(error.message, cases[i].message)) fail_msg("%s: %s", cases[i].message, error.message);
        assert_string_equal(error.file, path);
    }
}

/* A train whose matrix is known entry by entry; cores of ranks 1, 2, .. */
static void cores_in_every_convention(void **state) {
    (void)state;
    static const uint64_t tt_mode[] = {2, 3, 4, 5}, tt_rank[] = {1, 2, 3, 2, 1}, ttm_rank[] = {1, 3, 1};
    static const char *const names[] = {"g1", "g2", "g3", "g4"};
    char file[] = "/tmp/tenfold-cores-XXXXXX";
    double folded[ROWS * COLUMNS];
    assert_true(mkstemp(file) >= 0);
    for (int paired = 0; paired < 2; paired++)
        for (int input_first = 0; input_first < 2; input_first++) {
            size_t count = paired ? 2 : 4;
            uint64_t shape[4][4];
            tn_array_out out[4];
            double *core[4];
            tn_train train = {.cores = count};
            for (size_t k = 0; k < count; k++) {
                uint64_t m = tt.m[k % 2], n = tt.n[k % 2], first = input_first ? n : m,
                         second = input_first ? m : n;
                uint64_t left = paired ? ttm_rank[k] : tt_rank[k],
                         right = paired ? ttm_rank[k + 1] : tt_rank[k + 1];
                uint64_t mode = input_first ? tt_mode[(k + 2) % 4] : tt_mode[k];
                const uint64_t four[] = {left, first, second, right}, three[] = {left, mode, right};
                memcpy(shape[k], paired ? four : three, (paired ? 4 : 3) * sizeof *four);
                train.mode[k] = paired ? m * n : mode;
                train.rank[k] = left;
                train.rank[k + 1] = right;
                train.core[k] = core[k] = test_normal(k + 5, left * train.mode[k] * right);
                out[k] = array(names[k], shape[k], paired ? 4 : 3, core[k]);
            }
            assert_int_equal(tn_npz_write(file, out, count, &error), TN_OK);
            tn_matrix_source source = {.cores = count, .core = names, .transposed = input_first};
            assert_int_equal(read_with(file, &source, &tt, folded), TN_OK);
            /* The stored train is of W or of its transpose; unfold it by its own folding. */
            tn_weight stored = paired ? ttm : tt;
            if (input_first) {
                memcpy(stored.m, tt.n, sizeof stored.m);
                memcpy(stored.n, tt.m, sizeof stored.n);
            }
            double *tensor, *matrix = test_zeros(ROWS * COLUMNS);
            assert_int_equal(tn_train_merge(&train, 0, count, &tensor, &error), TN_OK);
            assert_int_equal(tn_unfold(&stored, tensor, matrix, &error), TN_OK);
            double *expected = input_first ? test_transpose(COLUMNS, ROWS, matrix)
                                           : test_transpose(1, ROWS * COLUMNS, matrix);
            assert_true(test_distance(folded, expected, ROWS * COLUMNS) <
                        1e-26 * test_squares(expected, ROWS * COLUMNS));
            source.transposed = !input_first;
            assert_int_equal(read_with(file, &source, &tt, folded), TN_INPUT);
            assert_non_null(strstr(error.message, paired ? "a TTM core" : "a TT core"));
            source.cores = 3;
            assert_int_equal(read_with(file, &source, &tt, folded), TN_INPUT);
            assert_non_null(strstr(error.message, "3 cores are named"));
            tn_free(tensor);
            free(matrix);
            free(expected);
            for (size_t k = 0; k < count; k++) free(core[k]);
        }
    unlink(file);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_way_gives_the_same_matrix),
        cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(cores_in_every_convention),
    };
    return cmocka_run_group_tests(tests, make_file, remove_file);
}
