#include "run/permute.h"

#include <string.h>

void tn_axes_add(tn_axes *axes, uint32_t index, uint64_t size) {
    if (size == 1) return;
    axes->index[axes->count] = index;
    axes->size[axes->count++] = size;
}

tn_axes tn_axes_of(const uint64_t *index_size, tn_indices indices) {
    tn_axes axes = {0};
    for (uint32_t i = 0; i < indices.count; i++)
        tn_axes_add(&axes, indices.index[i], index_size[indices.index[i]]);
    return axes;
}

bool tn_axes_have(const tn_axes *axes, uint32_t index) {
    for (size_t i = 0; i < axes->count; i++)
        if (axes->index[i] == index) return true;
    return false;
}

bool tn_axes_equal(const tn_axes *a, const tn_axes *b) {
    return a->count == b->count && memcmp(a->index, b->index, a->count * sizeof *a->index) == 0;
}

uint64_t tn_axes_elements(const tn_axes *axes) {
    uint64_t elements = 1;
    for (size_t i = 0; i < axes->count; i++) elements *= axes->size[i];
    return elements;
}

void tn_axes_strides(const tn_axes *array, const tn_axes *loop, size_t *stride) {
    size_t step = 1;
    for (size_t i = array->count; i-- > 0;) {
        for (size_t j = 0; j < loop->count; j++)
            if (loop->index[j] == array->index[i]) stride[j] = step;
        step *= array->size[i];
    }
}

static void copy_run(size_t element_bytes, const char *values, size_t stride, uint64_t count, char *out) {
    if (stride == 1) {
        memcpy(out, values, count * element_bytes);
    } else if (element_bytes == sizeof(double)) {
        for (uint64_t i = 0; i < count; i++)
            memcpy(out + i * sizeof(double), values + i * stride * sizeof(double), sizeof(double));
    } else {
        for (uint64_t i = 0; i < count; i++)
            memcpy(out + i * sizeof(float), values + i * stride * sizeof(float), sizeof(float));
    }
}

void tn_permute(size_t element_bytes, const tn_axes *from, const tn_axes *to, const void *values, void *out) {
    size_t stride[TN_PERMUTE_AXES_MOST] = {0}, at = 0, outer = to->count ? to->count - 1 : 0;
    uint64_t counter[TN_PERMUTE_AXES_MOST] = {0}, run = to->count ? to->size[outer] : 1;
    uint64_t runs = tn_axes_elements(to) / run;
    char *next = out;
    tn_axes_strides(from, to, stride);
    for (uint64_t r = 0; r < runs; r++) {
        copy_run(element_bytes, (const char *)values + at * element_bytes, stride[outer], run, next);
        next += run * element_bytes;
        for (size_t axis = outer; axis-- > 0;) {
            at += stride[axis];
            if (++counter[axis] < to->size[axis]) break;
            at -= to->size[axis] * stride[axis];
            counter[axis] = 0;
        }
    }
}
