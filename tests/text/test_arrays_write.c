/* What is written reads back equal; what can't be written is refused or leaves the old file as it was. */
#include "base/file.h"
#include "support/arrays.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static tn_error error;

static void written_reads_back(void **state) {
    (void)state;
    enum { ROWS = 37, COLUMNS = 101 };
    char folder[] = "/tmp/tenfold-arrays-XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    double *values = malloc(ROWS * COLUMNS * sizeof *values);
    assert_non_null(values);
    for (size_t i = 0; i < ROWS * COLUMNS; i++) values[i] = sin((double)i) * 0x1p40;
    values[3] = NAN;
    values[4] = -INFINITY;
    const uint64_t shape[] = {ROWS, COLUMNS}, none[] = {0};
    const tn_array_out out[] = {
        {.name = "a", .axes = 2, .shape = shape, .values = values},
        {.name = "core/\xc3\xa9", .axes = 2, .shape = shape, .values = values, .single = true},
        {.name = "one", .axes = 0, .shape = shape, .values = values},
        {.name = "flat", .axes = 1, .shape = shape + 1, .values = values},
        {.name = "none", .axes = 1, .shape = none, .values = values}};
    snprintf(path, sizeof path, "%s/x.npz", folder);
    assert_int_equal(tn_npz_write(path, out, 5, &error), TN_OK);
    tn_arrays *arrays = test_arrays_open(path);
    assert_int_equal(tn_arrays_count(arrays), 5);
    for (size_t k = 0; k < 5; k++) {
        const tn_array_info *info;
        double *read = test_arrays_values(arrays, out[k].name, &info);
        assert_int_equal(info->axes, out[k].axes);
        for (size_t i = 0; i < info->elements; i++) {
            double expected = out[k].single ? (double)(float)values[i] : values[i];
            assert_true(isnan(expected) ? isnan(read[i]) : read[i] == expected);
        }
        free(read);
    }
    tn_arrays_close(arrays);
    unlink(path);

    for (size_t k = 0; k < 5; k++) {
        snprintf(path, sizeof path, "%s/x.npy", folder);
        assert_int_equal(tn_npy_write(path, &out[k], &error), TN_OK);
        arrays = test_arrays_open(path);
        const tn_array_info *info;
        double *read = test_arrays_values(arrays, "x", &info);
        assert_int_equal(info->axes, out[k].axes);
        for (size_t i = 0; i < info->elements; i++)
            assert_true(isnan(values[i]) ? isnan(read[i])
                                         : read[i] == (out[k].single ? (double)(float)values[i] : values[i]));
        free(read);
        tn_arrays_close(arrays);
        unlink(path);
    }
    rmdir(folder);
    free(values);
}

static void writing_refuses(void **state) {
    (void)state;
    const uint64_t shape[] = {2}, huge[] = {UINT64_MAX, 2};
    const double values[] = {1, 1e39};
    const tn_array_out single = {.name = "a", .axes = 1, .shape = shape, .values = values, .single = true};
    const tn_array_out large = {.name = "a", .axes = 2, .shape = huge, .values = values};
    const tn_array_out twice[] = {{.name = "a", .axes = 1, .shape = shape, .values = values},
                                  {.name = "a", .axes = 1, .shape = shape, .values = values}};
    const tn_array_out unnamed = {.axes = 1, .shape = shape, .values = values};
    assert_int_equal(tn_npy_write("/tmp/tenfold-none.npy", &single, &error), TN_INPUT);
    assert_non_null(strstr(error.message, "float32 ends at"));
    assert_int_equal(tn_npy_write("/tmp/tenfold-none.npy", &large, &error), TN_OVERFLOW);
    assert_int_equal(tn_npz_write("/tmp/tenfold-none.npz", twice, 2, &error), TN_INPUT);
    assert_int_equal(tn_npz_write("/tmp/tenfold-none.npz", &unnamed, 1, &error), TN_INPUT);
    assert_int_equal(tn_npz_write("/no/such/folder/x.npz", twice, 1, &error), TN_IO);
    assert_int_not_equal(access("/tmp/tenfold-none.npy", F_OK), 0);
    assert_int_not_equal(access("/tmp/tenfold-none.npz", F_OK), 0);
}

/* A file that can't grow stands for a full disk: the old file stays, nothing else is left. */
static void full_disk(void **state) {
    (void)state;
    enum { ELEMENTS = 5000 };
    char folder[] = "/tmp/tenfold-arrays-XXXXXX", path[64];
    const uint64_t shape[] = {ELEMENTS};
    double *values = calloc(ELEMENTS, sizeof *values), kept;
    assert_true(mkdtemp(folder) && values);
    snprintf(path, sizeof path, "%s/x", folder);
    const tn_array_out small = {.name = "a", .values = values},
                       large = {.name = "a", .axes = 1, .shape = shape, .values = values};
    assert_int_equal(tn_npy_write(path, &small, &error), TN_OK);
    struct rlimit before, limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit = before;
    limit.rlim_cur = 10000;
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    tn_status npy = tn_npy_write(path, &large, &error), npz = tn_npz_write(path, &large, 1, &error);
    setrlimit(RLIMIT_FSIZE, &before);
    signal(SIGXFSZ, handler);
    assert_int_equal(npy, TN_IO);
    assert_int_equal(npz, TN_IO);
    tn_arrays *arrays = test_arrays_open(path);
    assert_int_equal(tn_arrays_read(arrays, 0, &kept, &error), TN_OK);
    tn_arrays_close(arrays);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
    free(values);
}

/* A .npy file of 2 x 2 numbers whose bytes are `bytes`, as NumPy would write it. */
static tn_status opened_as(const char *type, bool fortran, const unsigned char *bytes, size_t size,
                           const char *path, tn_arrays **arrays) {
    char file[256];
    int length = snprintf(file, sizeof file,
                          "\x93NUMPY\x01%c%c%c{'descr': '%s', 'fortran_order': %s, 'shape': (2, 2), }", 0, 80,
                          0, type, fortran ? "True" : "False");
    memset(file + length, ' ', 90 - (size_t)length);
    file[89] = '\n';
    memcpy(file + 90, bytes, 4 * size);
    assert_int_equal(tn_file_write(path, file, 90 + 4 * size, NULL), TN_OK);
    return tn_arrays_open_numbers(path, arrays, &error);
}

/* -2, 1, the greatest and the least of every type, in both byte orders and both orders of axes. */
static void integers(void **state) {
    (void)state;
    char path[] = "/tmp/tenfold-integers-XXXXXX";
    int descriptor = mkstemp(path);
    assert_true(descriptor >= 0);
    close(descriptor);
    for (size_t size = 1; size <= 8; size *= 2)
        for (int kind = 0; kind < 8; kind++) {
            bool is_signed = kind & 1, big = kind & 2, fortran = kind & 4;
            uint64_t top = UINT64_C(1) << (8 * size - 1), mask = top | (top - 1);
            uint64_t bits[4] = {(uint64_t)-2 & mask, 1, is_signed ? top - 1 : mask, is_signed ? top : 0};
            int64_t expected[4] = {is_signed ? -2 : (int64_t)bits[0], 1, (int64_t)bits[2],
                                   is_signed ? (int64_t)(0 - top) : 0};
            int64_t values[4];
            unsigned char bytes[32];
            char type[8];
            tn_arrays *arrays = NULL;
            for (size_t i = 0; i < 4; i++)
                for (size_t k = 0; k < size; k++)
                    bytes[i * size + k] = (unsigned char)(bits[i] >> 8 * (big ? size - 1 - k : k));
            snprintf(type, sizeof type, "%c%c%zu",
                     size == 1 ? '|'
                     : big     ? '>'
                               : '<',
                     is_signed ? 'i' : 'u', size);
            tn_status opened = opened_as(type, fortran, bytes, size, path, &arrays);
            if (!is_signed && size == 8) { /* not within int64 */
                assert_int_equal(opened, TN_INPUT);
                assert_non_null(strstr(error.message, "uint64"));
                continue;
            }
            assert_int_equal(opened, TN_OK);
            assert_string_equal(tn_arrays_info(arrays, 0)->type, type);
            assert_true(tn_arrays_info(arrays, 0)->integers);
            assert_int_equal(tn_arrays_read_integers(arrays, 0, values, &error), TN_OK);
            for (int i = 0; i < 4; i++)
                assert_int_equal(values[i], expected[fortran ? i % 2 * 2 + i / 2 : i]);
            double real[4];
            assert_int_equal(tn_arrays_read(arrays, 0, real, &error), TN_INPUT);
            tn_arrays_close(arrays);

            const uint64_t shape[] = {4};
            const tn_array_out out = {.name = "i", .axes = 1, .shape = shape, .integers = expected};
            assert_int_equal(tn_npy_write(path, &out, &error), TN_OK);
            assert_int_equal(tn_arrays_open_numbers(path, &arrays, &error), TN_OK);
            assert_string_equal(tn_arrays_info(arrays, 0)->type, "<i8");
            assert_int_equal(tn_arrays_read_integers(arrays, 0, values, &error), TN_OK);
            assert_memory_equal(values, expected, sizeof values);
            tn_arrays_close(arrays);
        }
    assert_int_equal(unlink(path), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(written_reads_back), cmocka_unit_test(integers),
                                       cmocka_unit_test(writing_refuses), cmocka_unit_test(full_disk)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
