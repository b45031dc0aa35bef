/* The kinds of operations of a training step, one table row each: its names, how it goes over its rows x
 * columns elements, and the passes that it takes. What an operation costs follows from the passes alone: its
 * scalar operations (FLOPs) here, a vector kernel's cycles, operators and memory traffic in
 * kernel/vector.h. What each kind reads and writes stands with the kinds in model/step.h.
 *
 * A pass goes over all elements, or over the rows:
 *   map          every element on its own
 *   reduce       a sum or maximum along each row
 *   accumulate   a sum down the columns
 *   per row      scalars of a row (a division, a square root)
 * Its operators are those of a circuit that takes an element a cycle. A FLOP is one addition, subtraction,
 * multiplication, division, comparison, exponential, logarithm, square root or hyperbolic tangent of the
 * formula. That is the number of the pass's operators, unless circuit and formula differ, which
 * `formula_less_circuit` then says: a circuit recomputes what an earlier pass had rather than store it, and
 * spells out a function that it has no operator for. operation.c has formula and circuit of every kind.
 */
#ifndef TN_MODEL_OPERATION_H
#define TN_MODEL_OPERATION_H

#include "base/error.h"
#include "base/public.h"
#include "model/step.h"

#include <stdbool.h>
#include <stdint.h>

TN_PUBLIC_BEGIN

/* Scalar operators, of which devices say cycles and resources. */
typedef enum tn_operator {
    TN_MULTIPLY,
    TN_ADDER, /* also subtracts */
    TN_COMPARE,
    TN_DIVIDE,
    TN_EXPONENTIAL,
    TN_LOGARITHM,
    TN_SQUARE_ROOT,
    TN_OPERATORS
} tn_operator;
extern const char *const tn_operator_names[]; /* ended by NULL */

typedef enum tn_pass_form {
    TN_PASS_NONE,
    TN_PASS_MAP,
    TN_PASS_REDUCE,
    TN_PASS_ACCUMULATE,
    TN_PASS_PER_ROW
} tn_pass_form;

enum { TN_PASSES_MOST = 5 };

typedef struct tn_pass {
    tn_pass_form form;
    uint8_t sums;                    /* REDUCE, ACCUMULATE: how many at once */
    uint8_t with;                    /* the operator that sums: TN_ADDER or TN_COMPARE */
    uint8_t series[TN_OPERATORS];    /* along the longest path of an element */
    uint8_t operators[TN_OPERATORS]; /* of an element (PER_ROW: of a row), those that sum apart */
    int8_t formula_less_circuit;     /* FLOPs of an element or row, less the operators and sums */
} tn_pass;

/* Which elements of its operands an operation needs for one row of its result. */
typedef enum tn_operation_shape {
    TN_ELEMENTWISE, /* of each element its own, so that rows and columns are one */
    TN_ROW_WISE,    /* of each row its own */
    TN_ACROSS_ROWS  /* any */
} tn_operation_shape;

typedef struct tn_operation_row {
    const char *name;   /* of the operation: "layer-norm" */
    const char *kernel; /* of the vector kernel that does it: "layernorm" */
    tn_operation_shape shape;
    tn_pass pass[TN_PASSES_MOST]; /* up to the first TN_PASS_NONE; a product has none */
} tn_operation_row;
extern const tn_operation_row tn_operation_rows[TN_OPERATION_KINDS];

/* FLOPs per element of rows x columns, and per row. */
typedef struct tn_vector_cost {
    uint64_t per_element, per_row;
} tn_vector_cost;
tn_vector_cost tn_vector_cost_of(tn_operation_kind kind);

/* Fills macs and flops from kind and sizes. */
tn_status tn_operation_count(tn_operation *operation, tn_error *error);

/* What an optimizer does: its update, and numbers of state a parameter. */
typedef struct tn_optimizer_row {
    tn_operation_kind update;
    uint64_t state_numbers;
} tn_optimizer_row;
extern const tn_optimizer_row tn_optimizer_rows[TN_OPTIMIZERS];

/* Whether an optimizer changes a parameter by it. */
bool tn_operation_is_update(const tn_operation *operation);

TN_PUBLIC_END

#endif
