#include "support/arrays.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

tn_arrays *test_arrays_open(const char *path) {
    tn_arrays *arrays = NULL;
    tn_error error;
    tn_status status = tn_arrays_open(path, &arrays, &error);
    if (status != TN_OK) print_error("%s: %s\n", path, error.message);
    assert_int_equal(status, TN_OK);
    return arrays;
}

double *test_arrays_values(tn_arrays *arrays, const char *name, const tn_array_info **info) {
    size_t position = 0;
    tn_error error;
    assert_int_equal(tn_arrays_find(arrays, name, &position, &error), TN_OK);
    const tn_array_info *found = tn_arrays_info(arrays, position);
    double *values = malloc(((size_t)found->elements + 1) * sizeof *values);
    assert_non_null(values);
    tn_status status = tn_arrays_read(arrays, position, values, &error);
    if (status != TN_OK) print_error("%s: %s\n", name, error.message);
    assert_int_equal(status, TN_OK);
    if (info) *info = found;
    return values;
}
