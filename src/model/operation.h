/* What an operation costs: multiply-adds of products, scalar operations of vector kernels.
 *
 * A vector kernel's count is per element of rows x columns plus per row; every addition, subtraction,
 * multiplication, division, comparison, exponential, logarithm, root and hyperbolic tangent is one.
 * operation.c writes each count out beside its formula.
 */
#ifndef TN_MODEL_OPERATION_H
#define TN_MODEL_OPERATION_H

#include "base/error.h"
#include "model/step.h"

typedef struct tn_vector_cost {
    uint64_t per_element, per_row;
} tn_vector_cost;

/* The optimizer matters to updates, `normalised` to column sums: the gradient of a layer norm's scale, which
 * sums dy * z where that of a bias sums dy. */
tn_vector_cost tn_vector_cost_of(tn_operation_kind kind, tn_optimizer optimizer, bool normalised);

/* Fills macs and flops from kind and sizes. `cost` is that of vector kernels. */
tn_status tn_operation_count(tn_operation *operation, tn_vector_cost cost, tn_error *error);

#endif
