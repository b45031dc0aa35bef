/* A training step as a list of operations over arrays: what `model` writes, `hardware` prices and `explore`
 * varies.
 *
 * Operations are listed in an order in which they can be executed; `after` are the operations whose results
 * they need. Arrays live from `first` to `last` operation (inclusive); resident ones (cores, optimizer state)
 * throughout. No operation knows hardware. Precision, sparsity and recomputation are transformations of this
 * list.
 */
#ifndef TN_MODEL_STEP_H
#define TN_MODEL_STEP_H

#include "base/arena.h"
#include "base/error.h"
#include "flow/program.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum tn_operation_kind {
    TN_OP_PRODUCT,          /* batch x (rows x reduction) (reduction x columns) */
    TN_OP_LOOKUP,           /* rows tokens fetch a vector of `columns` elements (dense table or positions) */
    TN_OP_SCATTER,          /* its gradient: rows vectors added into a table */
    TN_OP_ADD,              /* rows x columns additions: bias, residual, gradient joins */
    TN_OP_COLUMN_SUM,       /* bias gradient: sum over rows of rows x columns */
    TN_OP_SOFTMAX,          /* over `columns`, rows times; with the scale of attention */
    TN_OP_SOFTMAX_GRADIENT, /* ds/dz = diag(s) - s s^T */
    TN_OP_LAYER_NORM,
    TN_OP_LAYER_NORM_GRADIENT,
    TN_OP_GELU,
    TN_OP_GELU_GRADIENT,
    TN_OP_TANH,
    TN_OP_TANH_GRADIENT,
    TN_OP_CROSS_ENTROPY, /* loss and gradient of the logits, rows x columns */
    TN_OP_UPDATE,        /* optimizer on rows * columns parameters */
    TN_OPERATION_KINDS
} tn_operation_kind;
extern const char *const tn_operation_names[];

typedef struct tn_operation {
    tn_operation_kind kind;
    tn_phase phase;
    uint32_t layer; /* position in tn_step.layer */
    uint64_t batch, rows, reduction,
        columns;          /* products: all four; others: rows x columns, batch and reduction 1 */
    uint64_t macs, flops; /* macs of products only; flops = 2 * macs there, else scalar operations */
    uint32_t after_count;
    uint32_t *after;                       /* earlier operations whose results are needed */
    uint32_t reads[3], read_count, writes; /* arrays; writes: one array */
} tn_operation;

typedef enum tn_array_role {
    TN_ARRAY_PARAMETER, /* cores, biases, scales, tables */
    TN_ARRAY_GRADIENT,
    TN_ARRAY_OPTIMIZER,    /* momentum, Adam moments */
    TN_ARRAY_ACTIVATION,   /* layer inputs and outputs, attention scores, what the backward pass keeps */
    TN_ARRAY_INTERMEDIATE, /* inside a layer's contraction */
    TN_ARRAY_ROLES
} tn_array_role;
extern const char *const tn_array_role_names[];

typedef struct tn_array {
    const char *name; /* "encoder1.query.core2" */
    tn_array_role role;
    uint32_t layer;
    uint64_t elements;
    uint32_t first, last; /* operations; resident: 0 and UINT32_MAX */
    bool is_core; /* a small tensor core (may be grouped in one memory), or its gradient or optimizer state */
} tn_array;

typedef struct tn_step_layer {
    const char *name, *kind, *format, *flow;
    uint32_t rank_count;
    const uint64_t *rank;
    uint64_t parameters, degrees_of_freedom;
    uint64_t macs[TN_PHASES], flops[TN_PHASES];
    uint64_t
        peak_elements; /* live inside the layer at its worst operation, its parameters and inputs included */
    uint64_t saved_elements; /* kept from forward for the backward pass */
} tn_step_layer;

typedef struct tn_step {
    const char *name;
    uint64_t batch, sequence, element_bytes, steps_per_epoch;
    const char *precision; /* of every value: "fp32", "fp16", "bf16" */
    uint32_t layers, operations, arrays;
    tn_step_layer *layer;
    tn_operation *operation;
    tn_array *array;
    uint64_t parameters, degrees_of_freedom;
    uint64_t macs[TN_PHASES], flops[TN_PHASES];
    /* Elements: parameters, their gradients, the optimizer's state, saved activations, and the most that is
     * live at once. */
    uint64_t gradient_elements, optimizer_elements, activation_elements, peak_elements;
} tn_step;

#endif
