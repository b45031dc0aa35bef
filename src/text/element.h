/* Element types of array files and their bytes: IEEE 754 binary16, binary32, binary64, bfloat16 (the upper half of a
 * binary32), and the integers that an int64_t holds. */
#ifndef TN_TEXT_ELEMENT_H
#define TN_TEXT_ELEMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum tn_element {
    TN_ELEMENT_OTHER, /* uint64, complex, structures: known by name, never read */
    TN_ELEMENT_F16,
    TN_ELEMENT_BF16,
    TN_ELEMENT_F32,
    TN_ELEMENT_F64,
    TN_ELEMENT_I8,
    TN_ELEMENT_I16,
    TN_ELEMENT_I32,
    TN_ELEMENT_I64,
    TN_ELEMENT_U8,
    TN_ELEMENT_U16,
    TN_ELEMENT_U32,
} tn_element;

/* 0 for TN_ELEMENT_OTHER. */
size_t tn_element_bytes(tn_element type);
/* "f2", "bf16", "f4", "f8", "i1" to "i8", "u1" to "u4" (the digit counts bytes); NULL for TN_ELEMENT_OTHER. */
const char *tn_element_name(tn_element type);
bool tn_element_is_integer(tn_element type);
/* values[i * stride] = element i of `count`. Exact: a double holds every value of each floating-point type, */
void tn_element_decode(tn_element type, bool big_endian, const unsigned char *bytes, size_t count,
                       double *values, size_t stride);
/* and an int64_t every value of each integer type. */
void tn_element_decode_integers(tn_element type, bool big_endian, const unsigned char *bytes, size_t count,
                                int64_t *values, size_t stride);
/* Little-endian bytes of doubles; every type rounds to nearest, ties to even, and beyond its range to infinity. Of
 * TN_ELEMENT_I64, the one integer type that is written, `values` are int64_t. */
void tn_element_encode(tn_element type, const void *values, size_t count, unsigned char *bytes);

#endif
