/* The reference files of every format beside the source tree. */
#include "support/arrays.h"
#include "support/shared.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* The reference folder: one core in every form equals the plain float64 one. */
static void oracle_forms(void **state) {
    (void)state;
    static const struct {
        const char *file;
        double precision;
    } forms[] = {{"core2_bigendian", 0},
                 {"core2_fortran", 0},
                 {"core2_v2", 0},
                 {"core2_f32", 0x1p-24},
                 {"core2_f16", 0x1p-11}};
    const tn_array_info *info, *other;
    tn_arrays *plain = test_arrays_open(test_shared_or_skip("oracles/gradients/tt_d3_r3_K7/core2.npy"));
    double *expected = test_arrays_values(plain, "core2", &info);
    assert_int_equal(info->elements, 27);
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        char path[128];
        snprintf(path, sizeof path, "oracles/gradients/formats/%s.npy", forms[i].file);
        tn_arrays *arrays = test_arrays_open(test_shared_or_skip(path));
        double *values = test_arrays_values(arrays, forms[i].file, &other);
        assert_int_equal(other->axes, info->axes);
        for (size_t k = 0; k < 27; k++)
            assert_true(fabs(values[k] - expected[k]) <= forms[i].precision * fabs(expected[k]));
        free(values);
        tn_arrays_close(arrays);
    }
    tn_arrays *scalar = test_arrays_open(test_shared_or_skip("oracles/gradients/formats/scalar_0d.npy"));
    double *value = test_arrays_values(scalar, "scalar_0d", &other);
    assert_int_equal(other->axes, 0);
    assert_true(isfinite(value[0]));
    free(value);
    tn_arrays_close(scalar);
    free(expected);
    tn_arrays_close(plain);
}

static void oracle_archives(void **state) {
    (void)state;
    static const char *const files[] = {"cores_stored.npz", "cores_deflated.npz", "cores.safetensors"};
    for (size_t i = 0; i < 3; i++) {
        char path[128], name[16];
        snprintf(path, sizeof path, "oracles/gradients/formats/%s", files[i]);
        tn_arrays *arrays = test_arrays_open(test_shared_or_skip(path));
        assert_int_equal(tn_arrays_count(arrays), 6);
        for (int core = 1; core <= 6; core++) {
            const tn_array_info *info, *plain_info;
            snprintf(path, sizeof path, "oracles/gradients/tt_d3_r3_K7/core%d.npy", core);
            snprintf(name, sizeof name, "core%d", core);
            tn_arrays *plain = test_arrays_open(test_shared_or_skip(path));
            double *expected = test_arrays_values(plain, name, &plain_info),
                   *values = test_arrays_values(arrays, name, &info);
            assert_int_equal(info->axes, 3);
            assert_memory_equal(info->shape, plain_info->shape, 3 * sizeof *info->shape);
            assert_memory_equal(values, expected, info->elements * sizeof *values);
            free(values);
            free(expected);
            tn_arrays_close(plain);
        }
        tn_arrays_close(arrays);
    }
}

static void oracle_rejects(void **state) {
    (void)state;
    static const char *const files[] = {"badmagic.npy", "hugeheader.safetensors", "int64.npy",
                                        "truncated.npy", "truncated.safetensors"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[128];
        tn_arrays *arrays = NULL;
        tn_error error;
        snprintf(path, sizeof path, "oracles/gradients/formats/reject_%s", files[i]);
        assert_int_equal(tn_arrays_open(test_shared_or_skip(path), &arrays, &error), TN_INPUT);
        print_message("%s: %s\n", files[i], error.message);
        assert_null(arrays);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(oracle_forms), cmocka_unit_test(oracle_archives),
                                       cmocka_unit_test(oracle_rejects)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
