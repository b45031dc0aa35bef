/* Vector kernels: everything of a training step that is not a matrix product, on V lanes.
 *
 * Each kernel is a few passes over a rows x columns array:
 *   map          every element on its own: a pipelined loop over rows * ceil(columns/V) trips
 *   reduce       a sum or maximum along each row: V lanes, a tree and an accumulation, rows interleaved; the
 *                cycles of a dot product whose products are the lanes' work (hardware/dot.h)
 *   accumulate   a sum down the columns: V columns at a time, column groups interleaved
 *   per row      one scalar a row (a division, a square root): a pipelined loop over the rows
 * The passes follow each other and use the same operators, so a kernel has of each operator what its
 * hungriest pass needs. vector.c has the table: passes, operators in series, operators a lane.
 */
#ifndef TN_HARDWARE_VECTOR_H
#define TN_HARDWARE_VECTOR_H

#include "base/error.h"
#include "hardware/kernel.h"
#include "model/step.h"

#include <stdint.h>

typedef enum tn_vector_kind {
    TN_VECTOR_LOOKUP,
    TN_VECTOR_SCATTER,
    TN_VECTOR_ADD,
    TN_VECTOR_COLUMN_SUM,
    TN_VECTOR_SCALE_GRADIENT,
    TN_VECTOR_SOFTMAX,
    TN_VECTOR_SOFTMAX_GRADIENT,
    TN_VECTOR_LAYER_NORM,
    TN_VECTOR_LAYER_NORM_GRADIENT,
    TN_VECTOR_GELU,
    TN_VECTOR_GELU_GRADIENT,
    TN_VECTOR_TANH,
    TN_VECTOR_TANH_GRADIENT,
    TN_VECTOR_CROSS_ENTROPY,
    TN_VECTOR_UPDATE_SGD,
    TN_VECTOR_UPDATE_MOMENTUM,
    TN_VECTOR_UPDATE_ADAM,
    TN_VECTOR_KINDS
} tn_vector_kind;
extern const char *const tn_vector_names[]; /* "lookup", .., ended by NULL */

/* The kernel of an operation that is no product. A column sum that reads more than its array is a scale
 * gradient. */
tn_vector_kind tn_vector_of(const tn_step *step, const tn_operation *operation);

typedef struct tn_vector {
    tn_vector_kind kind;
    uint64_t lanes; /* V */
    const tn_operator_set *operators;
} tn_vector;

/* Cycles for rows x columns elements (each at least 1). TN_OVERFLOW where they do not fit. */
tn_status tn_vector_cycles(const tn_vector *kernel, uint64_t rows, uint64_t columns, uint64_t *cycles,
                           tn_error *error);
/* True where elements need nothing of their neighbours, so that rows and columns are one. */
bool tn_vector_elementwise(tn_vector_kind kind);
/* Passes that go over all elements: how often each is read. */
uint64_t tn_vector_passes(tn_vector_kind kind);
tn_resources tn_vector_resources(const tn_device *device, const tn_vector *kernel);
/* True where the kernel has an operator of that kind. */
bool tn_vector_uses(tn_vector_kind kind, tn_operator operator_kind);

#endif
