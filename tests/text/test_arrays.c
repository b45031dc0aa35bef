#include "text/arrays.h"

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
#include <string.h>

static tn_error error;

static tn_arrays *opened_data(const char *name) {
    char path[256];
    snprintf(path, sizeof path, "tests/text/data/%s", name);
    return test_arrays_open(test_source(path));
}

/* The files of tests/text/data hold 0.25 i - 2 for i = 0 .. 59 in C order; row by row they hold the same. */
static void assert_ramp(tn_arrays *arrays, const char *name, const char *type, size_t axes) {
    const tn_array_info *info;
    double *values = test_arrays_values(arrays, name, &info);
    assert_string_equal(info->name, name);
    assert_string_equal(info->type, type);
    assert_int_equal(info->axes, axes);
    assert_int_equal(info->elements, 60);
    for (int i = 0; i < 60; i++) assert_true(values[i] == 0.25 * i - 2);
    size_t position, width = 60 / (size_t)info->shape[0];
    assert_int_equal(tn_arrays_find(arrays, name, &position, &error), TN_OK);
    for (uint64_t first = 0; first < info->shape[0]; first++)
        for (uint64_t count = 0; first + count <= info->shape[0]; count++) {
            memset(values, 0, 61 * sizeof *values);
            values[count * width] = 99;
            assert_int_equal(tn_arrays_read_rows(arrays, position, first, count, values, &error), TN_OK);
            for (size_t i = 0; i < count * width; i++)
                assert_true(values[i] == 0.25 * (double)(first * width + i) - 2);
            assert_true(values[count * width] == 99);
        }
    assert_int_equal(tn_arrays_read_rows(arrays, position, 1, info->shape[0], values, &error), TN_INPUT);
    assert_int_equal(tn_arrays_read_rows(arrays, position, UINT64_MAX, 2, values, &error), TN_INPUT);
    free(values);
}

static void assert_scalar(tn_arrays *arrays, const char *name) {
    const tn_array_info *info;
    double *values = test_arrays_values(arrays, name, &info);
    assert_int_equal(info->axes, 0);
    assert_int_equal(info->elements, 1);
    assert_true(values[0] == 7.5);
    free(values);
}

static void assert_empty(tn_arrays *arrays, const char *name) {
    const tn_array_info *info;
    free(test_arrays_values(arrays, name, &info));
    assert_int_equal(info->elements, 0);
    assert_int_equal(info->axes, 2);
}

static void assert_unreadable(tn_arrays *arrays, const char *name, const char *type) {
    size_t position;
    double value;
    assert_int_equal(tn_arrays_find(arrays, name, &position, &error), TN_OK);
    assert_string_equal(tn_arrays_info(arrays, position)->type, type);
    assert_int_equal(tn_arrays_read(arrays, position, &value, &error), TN_INPUT);
    assert_non_null(strstr(error.message, "only floating-point ones are read"));
}

static void npy_by_numpy(void **state) {
    (void)state;
    tn_arrays *arrays = opened_data("v2.npy");
    assert_ramp(arrays, "v2", "f2", 3);
    tn_arrays_close(arrays);
    arrays = opened_data("v3.npy");
    assert_ramp(arrays, "v3", "f4", 3);
    tn_arrays_close(arrays);
}

static void npz_by_numpy(void **state) {
    (void)state;
    tn_arrays *arrays = opened_data("stored.npz");
    assert_int_equal(tn_arrays_count(arrays), 5);
    assert_ramp(arrays, "a", "f8", 3);
    assert_ramp(arrays, "half", "f2", 3);
    assert_ramp(arrays, "fortran", "f4", 3);
    assert_scalar(arrays, "scalar");
    assert_unreadable(arrays, "steps", "<i8");
    size_t position;
    assert_int_equal(tn_arrays_find(arrays, "fortan", &position, &error), TN_INPUT);
    assert_non_null(strstr(error.message, "did you mean \"fortran\"?"));
    assert_int_equal(tn_arrays_find(arrays, "zzzzzzz", &position, &error), TN_INPUT);
    tn_arrays_close(arrays);
    arrays = opened_data("deflated.npz");
    assert_ramp(arrays, "a", "f8", 3);
    assert_ramp(arrays, "fortran", "f8", 3);
    assert_empty(arrays, "empty");
    tn_arrays_close(arrays);
    arrays = opened_data("streamed.npz");
    assert_ramp(arrays, "a", "f8", 3);
    tn_arrays_close(arrays);
}

static void safetensors_types(void **state) {
    (void)state;
    tn_arrays *arrays = opened_data("types.safetensors");
    assert_int_equal(tn_arrays_count(arrays), 7);
    assert_ramp(arrays, "f64", "f8", 3);
    assert_ramp(arrays, "f32", "f4", 1);
    assert_ramp(arrays, "f16", "f2", 3);
    assert_ramp(arrays, "bf16", "bf16", 2);
    assert_scalar(arrays, "scalar");
    assert_empty(arrays, "none");
    assert_unreadable(arrays, "ids", "I64");
    tn_arrays_close(arrays);
}

typedef struct bytes {
    size_t length;
    unsigned char data[1 << 18];
} bytes;

static void append(bytes *target, const void *source, size_t length) {
    assert_true(target->length + length <= sizeof target->data);
    memcpy(target->data + target->length, source, length);
    target->length += length;
}

static void begin_npy(bytes *data, const char *header) {
    size_t length = strlen(header);
    data->length = 0;
    append(data, "\x93NUMPY\x01\x00", 8);
    append(data, (unsigned char[]){(unsigned char)length, (unsigned char)(length >> 8)}, 2);
    append(data, header, length);
}

static tn_status open_bytes(const bytes *source, tn_arrays **arrays) {
    return tn_arrays_open_memory("bytes", source->data, source->length, arrays, &error);
}

/* IEEE 754 binary16 by its definition. */
static double half_value(unsigned bits) {
    int exponent = (int)(bits >> 10 & 31), significand = (int)(bits & 1023);
    double magnitude = exponent == 0    ? ldexp(significand, -24)
                       : exponent == 31 ? (significand ? NAN : INFINITY)
                                        : ldexp(1024 + significand, exponent - 25);
    return bits & 0x8000 ? -magnitude : magnitude;
}

static void every_half(void **state) {
    (void)state;
    bytes *file = malloc(sizeof *file);
    double *values = malloc(65536 * sizeof *values);
    assert_true(file && values);
    begin_npy(file, "{'descr': '>f2', 'fortran_order': True, 'shape': (65536,), }\n");
    for (unsigned i = 0; i < 65536; i++)
        append(file, (unsigned char[]){(unsigned char)(i >> 8), (unsigned char)i}, 2);
    tn_arrays *arrays;
    assert_int_equal(open_bytes(file, &arrays), TN_OK);
    assert_int_equal(tn_arrays_read(arrays, 0, values, &error), TN_OK);
    for (unsigned i = 0; i < 65536; i++) {
        double expected = half_value(i);
        assert_true(isnan(expected) ? isnan(values[i])
                                    : values[i] == expected && signbit(values[i]) == signbit(expected));
    }
    tn_arrays_close(arrays);
    free(values);
    free(file);
}

static void header_spellings(void **state) {
    (void)state;
    static const struct {
        const char *header;
        tn_status status;
        const char *message;
    } cases[] = {
        {"{'shape':(2,3),'descr':\"<f4\",'fortran_order':False}", TN_OK, ""},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3L, 2L), }   \n", TN_OK, ""},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (6), }", TN_OK, ""},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (), }", TN_INPUT,
         "claims 4 bytes of values, 24 are there"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (7,), }", TN_INPUT,
         "claims 28 bytes of values, 24 are there"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (-2, -3), }", TN_INPUT, "not a whole number"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3,, ), }", TN_INPUT, "not a whole number"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2 3), }", TN_INPUT, "no comma between axes"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': [2, 3], }", TN_INPUT, "no tuple after 'shape'"},
        {"{'descr': '<f4', 'fortran_order': 0, 'shape': (2, 3), }", TN_INPUT, "neither True nor False"},
        {"{'descr': '<f4', 'fortran_order': False, }", TN_INPUT, "is missing"},
        {"{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (6,)}", TN_INPUT, "stands twice"},
        {"{'descr': '<f4', 'order': False, 'shape': (6,)}", TN_INPUT, "unknown"},
        {"{'descr': '<f4' 'fortran_order': False, 'shape': (6,)}", TN_INPUT, "no comma between keys"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (6,)} x", TN_INPUT, "text behind"},
        {"{'descr': '<f4", TN_INPUT, "no type"},
        {"{'descr': [('x', '<f4'), ('y', '<f4')], 'fortran_order': False, 'shape': (3,)}", TN_INPUT,
         "type structured"},
        {"{'descr': [[[", TN_INPUT, "no type"},
        {"{'descr': '<c8', 'fortran_order': False, 'shape': (3,)}", TN_INPUT, "type <c8"},
        {"{'descr': '|O', 'fortran_order': False, 'shape': (3,)}", TN_INPUT, "type |O"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (18446744073709551616,)}", TN_OVERFLOW, "2^64"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}", TN_OVERFLOW,
         "64 bits"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904,)}", TN_OVERFLOW, "64 bits"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (288230376151711744,)}", TN_INPUT,
         "claims 1152921504606846976 bytes"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': "
         "(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,6)}",
         TN_LIMIT, "more than 32 axes"},
        {"", TN_INPUT, "no dictionary"},
    };
    bytes *file = malloc(sizeof *file);
    assert_non_null(file);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tn_arrays *arrays = NULL;
        float zero[6] = {0};
        begin_npy(file, cases[i].header);
        append(file, zero, sizeof zero);
        tn_status status = open_bytes(file, &arrays);
        bool good = status == cases[i].status && (status == TN_OK || strstr(error.message, cases[i].message));
        if (!good) print_error("%s\ngave %d: %s\n", cases[i].header, (int)status, error.message);
        assert_true(good);
        tn_arrays_close(arrays);
    }
    free(file);
}

static void slurp(const char *path, bytes *file) {
    FILE *stream = fopen(path, "rb");
    assert_non_null(stream);
    file->length = fread(file->data, 1, sizeof file->data, stream);
    fclose(stream);
}

/* Opens and reads everything; whether that worked. */
static bool read_all(const unsigned char *data, size_t length) {
    tn_arrays *arrays = NULL;
    if (tn_arrays_open_memory("damaged", data, length, &arrays, &error) != TN_OK) {
        assert_true(error.message[0]);
        assert_null(arrays);
        return false;
    }
    bool good = true;
    for (size_t i = 0; i < tn_arrays_count(arrays); i++) {
        uint64_t elements = tn_arrays_info(arrays, i)->elements;
        if (elements > 1 << 20) continue; /* of a type that is refused; all others are in the file */
        double *values = malloc(((size_t)elements + 1) * sizeof *values);
        assert_non_null(values);
        good = tn_arrays_read(arrays, i, values, &error) == TN_OK && good;
        free(values);
    }
    tn_arrays_close(arrays);
    return good;
}

static const char *const WHOLE[] = {"v2.npy", "v3.npy", "deflated.npz", "streamed.npz"};

/* Every proper beginning of a file is refused. Copies of exact size let the sanitizers see reads beyond. */
static void truncated_anywhere(void **state) {
    (void)state;
    bytes *file = malloc(sizeof *file);
    assert_non_null(file);
    for (size_t i = 0; i < sizeof WHOLE / sizeof *WHOLE; i++) {
        char path[256];
        snprintf(path, sizeof path, "tests/text/data/%s", WHOLE[i]);
        slurp(test_source(path), file);
        assert_true(read_all(file->data, file->length));
        for (size_t length = 0; length < file->length; length++) {
            unsigned char *copy = malloc(length + 1);
            assert_non_null(copy);
            memcpy(copy, file->data, length);
            assert_false(read_all(copy, length));
            free(copy);
        }
    }
    free(file);
}

/* A changed byte may still make a file (of other numbers or names), but never a crash; where a CRC watches, a
 * change of the values is seen. */
static void changed_anywhere(void **state) {
    (void)state;
    static const char *const files[] = {"v2.npy", "stored.npz", "deflated.npz", "streamed.npz",
                                        "types.safetensors"};
    bytes *file = malloc(sizeof *file);
    assert_non_null(file);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[256];
        snprintf(path, sizeof path, "tests/text/data/%s", files[i]);
        slurp(test_source(path), file);
        for (size_t index = 0; index < file->length; index++)
            for (unsigned mask = 1; mask < 256; mask = mask == 1 ? 0x80 : mask == 0x80 ? 0xff : 256) {
                file->data[index] ^= (unsigned char)mask;
                read_all(file->data, file->length);
                file->data[index] ^= (unsigned char)mask;
            }
    }
    free(file);
}

static void crc_is_checked(void **state) {
    (void)state;
    bytes *file = malloc(sizeof *file);
    assert_non_null(file);
    slurp(test_source("tests/text/data/stored.npz"), file);
    file->data[200] ^= 1; /* among the values of the first member */
    tn_arrays *arrays;
    double values[60];
    assert_int_equal(open_bytes(file, &arrays), TN_OK);
    assert_int_equal(tn_arrays_read(arrays, 0, values, &error), TN_INPUT);
    assert_non_null(strstr(error.message, "CRC"));
    tn_arrays_close(arrays);
    free(file);
}

static void not_a_file(void **state) {
    (void)state;
    tn_arrays *arrays = NULL;
    assert_int_equal(tn_arrays_open("/no/such/file.npy", &arrays, &error), TN_INPUT);
    assert_int_equal(tn_arrays_open("/", &arrays, &error), TN_INPUT);
    assert_int_equal(tn_arrays_open("/dev/zero", &arrays, &error), TN_INPUT);
    assert_null(arrays);
    tn_arrays_close(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(npy_by_numpy),      cmocka_unit_test(npz_by_numpy),
        cmocka_unit_test(safetensors_types), cmocka_unit_test(every_half),
        cmocka_unit_test(header_spellings),  cmocka_unit_test(truncated_anywhere),
        cmocka_unit_test(changed_anywhere),  cmocka_unit_test(crc_is_checked),
        cmocka_unit_test(not_a_file)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
