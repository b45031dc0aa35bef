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

#include <stddef.h>
#include <stdint.h>

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
