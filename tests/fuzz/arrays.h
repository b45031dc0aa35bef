/* Any bytes as a file of arrays: refused with an error, or arrays whose rows, read one by one, are those of
 * the whole. Shared by the targets of the three formats, whose seeds differ. */
#ifndef TEST_FUZZ_ARRAYS_H
#define TEST_FUZZ_ARRAYS_H

#include "text/arrays.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_ELEMENTS = 1 << 20, MOST_ROWS = 64 };

static inline void check_rows(tn_arrays *arrays, size_t position, const double *whole, double *values) {
    const tn_array_info *info = tn_arrays_info(arrays, position);
    uint64_t rows = info->axes ? info->shape[0] : 1, width = info->elements / rows;
    tn_error error;
    for (uint64_t row = 0; row < rows && row < MOST_ROWS; row++) {
        if (tn_arrays_read_rows(arrays, position, row, 1, values, &error) != TN_OK) abort();
        if (memcmp(values, whole + row * width, width * sizeof *values) != 0) abort();
    }
}

static inline void check_array(tn_arrays *arrays, size_t position) {
    uint64_t elements = tn_arrays_info(arrays, position)->elements;
    tn_error error;
    if (elements > MOST_ELEMENTS) return;
    double *whole = malloc((elements + 1) * sizeof *whole), *values = malloc((elements + 1) * sizeof *values);
    if (!whole || !values) abort();
    if (tn_arrays_read(arrays, position, whole, &error) == TN_OK && elements > 0)
        check_rows(arrays, position, whole, values);
    free(values);
    free(whole);
}

static inline int check_arrays(const uint8_t *data, size_t size) {
    tn_arrays *arrays;
    tn_error error;
    if (tn_arrays_open_memory("fuzz", data, size, &arrays, &error) != TN_OK) return 0;
    for (size_t i = 0; i < tn_arrays_count(arrays); i++) check_array(arrays, i);
    tn_arrays_close(arrays);
    return 0;
}

#endif
