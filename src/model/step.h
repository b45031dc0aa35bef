/* A training step as a list of operations over arrays: what `model` writes, `hardware` prices and `explore`
 * varies.
 *
 * Operations are listed in an order in which they can be executed; `after` are the operations that must be
 * done before (those that wrote what it reads, and for an update all that read the parameter). Arrays live
 * from `first` to `last` operation (inclusive); resident ones (parameters, optimizer state) throughout. An
 * operation may write an array that it also reads (in place): biases, softmax, sums of gradients, updates.
 * No operation knows hardware. Precision, sparsity and recomputation are transformations of this list.
 */
#ifndef TN_MODEL_STEP_H
#define TN_MODEL_STEP_H

#include "base/arena.h"
#include "base/error.h"
#include "base/public.h"
#include "flow/program.h"
#include "model/precision.h"

#include <stdbool.h>
#include <stdint.h>

TN_PUBLIC_BEGIN

typedef enum tn_optimizer { TN_SGD, TN_MOMENTUM, TN_ADAM, TN_OPTIMIZERS } tn_optimizer;
extern const char *const tn_optimizer_names[]; /* "sgd", "momentum", "adam"; ended by NULL */

typedef enum tn_operation_kind {
    TN_OP_PRODUCT,          /* batch x (rows x reduction) (reduction x columns) */
    TN_OP_LOOKUP,           /* rows tokens fetch a vector of `columns` elements (a table, first tokens) */
    TN_OP_SCATTER,          /* its gradient: rows vectors added into an array */
    TN_OP_ADD,              /* rows x columns additions: bias, positions, residual, gradient sums */
    TN_OP_COLUMN_SUM,       /* sum over rows of rows x columns: gradients of biases, scales, shifts */
    TN_OP_SOFTMAX,          /* over `columns`, rows times; with the scale of attention */
    TN_OP_SOFTMAX_GRADIENT, /* ds/dz = diag(s) - s s^T */
    TN_OP_LAYER_NORM,
    TN_OP_LAYER_NORM_GRADIENT,
    TN_OP_GELU,
    TN_OP_GELU_GRADIENT,
    TN_OP_TANH,
    TN_OP_TANH_GRADIENT,
    TN_OP_CROSS_ENTROPY, /* loss and gradient of the logits, rows x columns; begins the backward phase */
    TN_OP_UPDATE,        /* optimizer on rows * columns parameters */
    TN_OPERATION_KINDS
} tn_operation_kind;
extern const char *const tn_operation_names[]; /* "product", "lookup", ...; ended by NULL */

enum { TN_OPERATION_READS = 4, TN_OPERATION_WRITES = 2 };

typedef struct tn_operation {
    tn_operation_kind kind;
    tn_phase phase;
    uint32_t layer; /* position in tn_step.layer */
    uint64_t batch, rows, reduction,
        columns;          /* products: all four; others: rows x columns, batch and reduction 1 */
    uint64_t macs, flops; /* macs of products only; flops = 2 * macs there, else scalar operations */
    uint32_t after_count;
    const uint32_t *after;           /* earlier operations, ascending */
    const tn_arithmetic *arithmetic; /* of a product; NULL: that of the step's precision */
    uint32_t read_count, write_count;
    uint32_t reads[TN_OPERATION_READS], writes[TN_OPERATION_WRITES]; /* arrays */
} tn_operation;

typedef enum tn_array_role {
    TN_ARRAY_PARAMETER,    /* cores, biases, scales, tables */
    TN_ARRAY_GRADIENT,     /* of parameters */
    TN_ARRAY_OPTIMIZER,    /* momentum, Adam moments */
    TN_ARRAY_ACTIVATION,   /* layer inputs and outputs, what the backward pass keeps, and their gradients */
    TN_ARRAY_INTERMEDIATE, /* inside a layer's contraction */
    TN_ARRAY_ROLES
} tn_array_role;
extern const char *const tn_array_role_names[];

typedef struct tn_array {
    const char *part; /* its name within the layer: "core", "bias", "output" ... */
    uint32_t number;  /* ... and number there, from 1; 0: it has none. The role makes ".gradient", ".state" */
    tn_array_role role;
    uint32_t layer;
    uint64_t elements;
    uint32_t first, last; /* operations; resident: 0 and UINT32_MAX */
    bool is_core; /* a small tensor core (may be grouped in one memory), or its gradient or optimizer state */
} tn_array;

typedef struct tn_step_layer {
    const char *name, *kind;   /* "encoder1.query", "linear" */
    const char *format, *flow; /* of its weight; NULL where it has none */
    const char *weight_name;   /* entry of the model's `weights`; NULL where it has none */
    const tn_weight *weight;   /* as used (format: dense applied); NULL where it has none */
    const tn_program *program; /* of a linear layer's products; NULL otherwise */
    uint64_t tokens;           /* rows of its output */
    uint32_t rank_count;       /* of tensor formats */
    const uint64_t *rank;      /* as requested */
    const uint64_t *useful_rank;
    uint64_t parameters, degrees_of_freedom;
    uint64_t macs[TN_PHASES], flops[TN_PHASES];
    /* The most elements, over the layer's operations, of the arrays that any of them reads or writes and that
     * live then: parameters, inputs and gradients included. */
    uint64_t peak_elements;
    /* Made in the forward phase and read by the layer's later operations. What two layers keep (the input of
     * query, key and value, say) counts in both; tn_step.activation_elements counts it once. */
    uint64_t saved_elements;
} tn_step_layer;

typedef struct tn_step {
    const char *name;
    tn_precision precision;
    tn_optimizer optimizer;
    uint64_t batch, sequence, element_bytes, steps_per_epoch;
    uint32_t layers, operations, arrays;
    tn_step_layer *layer;
    tn_operation *operation;
    tn_array *array;
    uint64_t parameters, degrees_of_freedom;
    uint64_t macs[TN_PHASES], flops[TN_PHASES];
    /* Elements: parameters' gradients, the optimizer's state, saved activations (made in the forward phase
     * and read later), and the most that is live at once, all roles together. */
    uint64_t gradient_elements, optimizer_elements, activation_elements, peak_elements;
} tn_step;

/* "encoder1.query.core2", in the arena. */
tn_status tn_step_array_name(const tn_step *step, uint32_t array, tn_arena *arena, const char **name,
                             tn_error *error);

TN_PUBLIC_END

#endif
