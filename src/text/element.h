/* Element types of array files and their bytes: IEEE 754 binary16, binary32, binary64, and bfloat16 (the
 * upper half of a binary32). */
#ifndef TN_TEXT_ELEMENT_H
#define TN_TEXT_ELEMENT_H

#include <stdbool.h>
#include <stddef.h>

typedef enum tn_element {
    TN_ELEMENT_OTHER, /* integers, complex, structures: known by name, never read */
    TN_ELEMENT_F16,
    TN_ELEMENT_BF16,
    TN_ELEMENT_F32,
    TN_ELEMENT_F64,
} tn_element;

/* 0 for TN_ELEMENT_OTHER. */
size_t tn_element_bytes(tn_element type);
/* "f2", "bf16", "f4", "f8"; NULL for TN_ELEMENT_OTHER. */
const char *tn_element_name(tn_element type);
/* values[i * stride] = element i of `count`. Exact: a double holds every value of each type. */
void tn_element_decode(tn_element type, bool big_endian, const unsigned char *bytes, size_t count,
                       double *values, size_t stride);
/* Little-endian bytes; every type rounds to nearest, ties to even, and beyond its range to infinity. */
void tn_element_encode(tn_element type, const double *values, size_t count, unsigned char *bytes);

#endif
