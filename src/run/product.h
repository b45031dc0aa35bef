/* One step of a program as BLAS products of unfolded operands.
 *
 * An operand is an array in C order with one axis per index. It is unfolded into batch x rows x reduction
 * (the other: batch x reduction x columns), by permuting its axes into a scratch array unless they already
 * lie so, transposed or not; then one gemm per batch entry; then the result is permuted into the order asked
 * for, unless it already is. Axes of size 1 are no axes.
 */
#ifndef TN_RUN_PRODUCT_H
#define TN_RUN_PRODUCT_H

#include "base/error.h"
#include "base/public.h"
#include "tensor/network.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Axes of arrays in C order, and permutations of them. Axes of size 1 are left out, so that an array of fewer
 * than 2^64 elements has at most 63. Internal to the room. */

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

/* out, with axes `target`, = values, with the same axes in the order `source`; elements of 4 or 8 bytes. */
void tn_permute(size_t element_bytes, const tn_axes *source, const tn_axes *target, const void *values,
                void *out);

TN_PUBLIC_BEGIN

typedef enum tn_real { TN_FLOAT64, TN_FLOAT32, TN_REALS } tn_real;
extern const char *const tn_real_names[]; /* "float64", "float32"; ended by NULL */
size_t tn_real_bytes(tn_real real);

typedef struct tn_operand {
    tn_indices indices;
    const void *values;
} tn_operand;

/* What was really done, summed over calls: multiply-adds from the dimensions of each gemm, gemm calls,
 * elements copied by permutations; and the most elements of scratch at once. */
typedef struct tn_product_work {
    uint64_t macs, calls, permuted_elements, scratch_elements;
} tn_product_work;

/* out = the contraction of a and b, with the indices `out_indices`; every index is on two of the three at
 * least. A gemm dimension beyond what BLAS takes (2^31 - 1) is TN_LIMIT. */
tn_status tn_run_product(tn_real real, const uint64_t *index_size, tn_operand a, tn_operand b,
                         tn_indices out_indices, void *out, tn_product_work *work, tn_error *error);

TN_PUBLIC_END

#endif
