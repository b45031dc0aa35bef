/* Axes of arrays in C order, and permutations of them. Axes of size 1 are left out, so that an array of fewer
 * than 2^64 elements has at most 63. Internal to the room. */
#ifndef TN_RUN_PERMUTE_H
#define TN_RUN_PERMUTE_H

#include "tensor/network.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TN_PERMUTE_AXES_MOST = 64 };

typedef struct tn_axes {
    size_t count;
    uint32_t index[TN_PERMUTE_AXES_MOST];
    uint64_t size[TN_PERMUTE_AXES_MOST];
} tn_axes;

tn_axes tn_axes_of(const uint64_t *index_size, tn_indices indices);
void tn_axes_add(tn_axes *axes, uint32_t index, uint64_t size);
bool tn_axes_have(const tn_axes *axes, uint32_t index);
bool tn_axes_equal(const tn_axes *a, const tn_axes *b);
uint64_t tn_axes_elements(const tn_axes *axes);

/* stride[j] = how far one step along loop axis j is in the array; 0 for axes that the array has not (stride
 * starts zeroed). */
void tn_axes_strides(const tn_axes *array, const tn_axes *loop, size_t *stride);

/* out, with axes `to`, = values, with the same axes in the order `from`; elements of 4 or 8 bytes. */
void tn_permute(size_t element_bytes, const tn_axes *from, const tn_axes *to, const void *values, void *out);

#endif
