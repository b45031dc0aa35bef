/* The kinds of operations of a training step, one table row each: its names, how it goes over its rows x columns
 * elements, what it reads and writes, and the passes that it takes with their arithmetic (model/formula.h). From a
 * row follow what the operation costs (FLOPs here; a vector kernel's cycles, operators and memory traffic in
 * kernel/vector.h), the circuit of its lanes (rtl/circuit.h), whether generated hardware can have it, how layouts
 * and training go through its arrays, and what a CPU computes where it has no kernel of its own.
 *
 * A pass goes over all elements, or over the rows:
 *   map          every element on its own
 *   reduce       a sum or maximum along each row
 *   accumulate   a sum down the columns
 *   per row      scalars of a row (a division, a square root)
 * Its operators are those of its text, a circuit that takes an element a cycle. A FLOP is one addition, subtraction,
 * multiplication, division, comparison, exponential, logarithm, square root or hyperbolic tangent of the published
 * formula. That is the number of the pass's operators, unless circuit and formula differ, which the row declares: a
 * circuit recomputes what an earlier pass had rather than store it, and spells out a function that it has no
 * operator for.
 */
#ifndef TN_MODEL_OPERATION_H
#define TN_MODEL_OPERATION_H

#include "base/error.h"
#include "base/public.h"
#include "model/formula.h"
#include "model/step.h"

#include <stdbool.h>
#include <stdint.h>

TN_PUBLIC_BEGIN

typedef enum tn_pass_form {
    TN_PASS_NONE,
    TN_PASS_MAP,
    TN_PASS_REDUCE,
    TN_PASS_ACCUMULATE,
    TN_PASS_PER_ROW
} tn_pass_form;

enum { TN_PASSES_MOST = 5 };

/* A pass as a row declares it. */
typedef struct tn_pass_row {
    tn_pass_form form;
    tn_operator
        sum; /* REDUCE, ACCUMULATE: the operator that sums, TN_ADDER or TN_COMPARE (the greatest stays) */
    const char *text;
    uint8_t scalar[TN_FORMULA_OUTPUTS]; /* which scalar of the row an output becomes, where it becomes one */
    int8_t published;                   /* FLOPs of an element or row, less the operators and sums */
} tn_pass_row;

/* How an operation goes over its elements, and so by which code it is executed, laid out and built. */
typedef enum tn_operation_shape {
    TN_SHAPE_PRODUCT,
    TN_SHAPE_LOOKUP,     /* rows of what it reads, by word, by place, or those that stay */
    TN_SHAPE_SCATTER,    /* rows of what it reads are added to rows of what it writes */
    TN_SHAPE_APPEND,     /* rows of what it reads take the place of rows of what it writes */
    TN_SHAPE_ADD,        /* of each element its own, where the second operand may repeat */
    TN_SHAPE_MAP,        /* of each element its own */
    TN_SHAPE_SUM,        /* sums down the columns */
    TN_SHAPE_SCORES,     /* rows of attention's scores, in place */
    TN_SHAPE_ROWS,       /* of each row its own */
    TN_SHAPE_ROTATION,   /* rows, of whose features pairs turn */
    TN_SHAPE_LOSS,       /* rows, each with its label */
    TN_SHAPE_IMPORTANCE, /* of tokens or heads of every example */
    TN_SHAPE_TOP,        /* of each row the places of the greatest */
    TN_SHAPE_UPDATE,     /* of a parameter, its gradient and its state */
    TN_SHAPE_SELECT,     /* of a parameter's elements the greatest */
    TN_SHAPE_TRACK,      /* of a parameter, its gradient and its mask */
    TN_SHAPE_REGENERATE, /* of a parameter and its mask */
    TN_SHAPE_ENTROPY,    /* of rows, one number */
    TN_SHAPE_MEAN,       /* of the rows of an example one row, or back to all of them */
    TN_SHAPE_ROUTE,      /* of the rows of an example each expert's share */
    TN_SHAPE_ROUTED,     /* rows of an example that chose an expert, or back to them (tn_routing) */
    TN_SHAPE_SEQUENCE,   /* of each feature its tokens, in their order */
    TN_SHAPES
} tn_operation_shape;

/* What an operation reads and writes: a letter an array, in the order of tn_operation.reads and writes.
 *   x d     rows x columns: what the forward operation reads; the gradient of what it makes
 *   y e     rows x columns: what the forward operation makes; the gradient of what it reads
 *   b       rows x columns, or fewer elements that repeat: a bias for every row, positions for every example
 *   v       a number for each column: scale, shift, bias, or the gradient of one
 *   s       numbers of each row: mean and 1/deviation
 *   t       a table or matrix, of which rows are taken or added to
 *   c       a constant of the step: sines and cosines
 *   w g o   a parameter, its gradient, its optimizer's state
 *   k n     a mask of a parameter; one number
 *   l r     left and right operand of a product
 *   a       of a size that its shape tells: tokens and gates beside an expert's rows, what a sequence's rows share
 * Behind `|` stands what may be absent. */
typedef struct tn_operation_row {
    const char *name;   /* of the operation: "layer-norm" */
    const char *kernel; /* of the vector kernel that does it: "layernorm" */
    tn_operation_shape shape;
    const char *reads, *writes;
    tn_pass_row pass[TN_PASSES_MOST]; /* up to the first TN_PASS_NONE; a product has none */
    const char
        *published; /* where FLOPs and operators differ: the formula that is counted, and who published it */
    bool may_fuse;  /* a product may do it on its results before they are written (step/fusion.h) */
    bool of_heads;  /* its rows may be heads of tokens */
} tn_operation_row;
extern const tn_operation_row tn_operation_rows[TN_OPERATION_KINDS];

/* Whether a lane of generated hardware does its passes (src/rtl/circuit.h): with the inputs and operators that a lane has, and
 * one result of each element. A product and a scatter, which is made of additions, have no passes of their own there. */
bool tn_operation_has_lane(tn_operation_kind kind);
bool tn_pass_has_lane(const tn_pass_row *row);

bool tn_operation_is_elementwise(tn_operation_kind kind); /* rows and columns are one */
/* It adds to an array that it does not read: to zeros. */
bool tn_operation_begins_at_zero(const tn_operation *operation);
bool tn_operation_is_across_rows(
    tn_operation_kind kind); /* a row of its result needs any row of its operands */

/* What follows from a pass of a row. Operators in series are those along the longest paths of an element: of several
 * paths where it depends on the operators' cycles which is the longest. */
enum { TN_PATHS_MOST = 4 };
typedef struct tn_pass {
    tn_pass_form form;
    uint8_t sums; /* REDUCE, ACCUMULATE: how many at once */
    uint8_t sum;  /* the operator that sums */
    uint8_t paths;
    uint8_t series[TN_PATHS_MOST][TN_OPERATORS];
    uint8_t operators[TN_OPERATORS]; /* of an element (PER_ROW: of a row), those that sum apart */
    uint8_t flops;                   /* of an element or row, as published */
    bool writes;                     /* an element of the result for every element */
    bool takes_result;               /* it reads what an earlier pass wrote, and nothing else */
} tn_pass;
const tn_pass *
tn_operation_passes(tn_operation_kind kind); /* [TN_PASSES_MOST], up to the first TN_PASS_NONE */

/* FLOPs per element of rows x columns, and per row. */
typedef struct tn_vector_cost {
    uint64_t per_element, per_row;
} tn_vector_cost;
tn_vector_cost tn_vector_cost_of(tn_operation_kind kind);

/* Fills macs and flops from kind and sizes. */
tn_status tn_operation_count(tn_operation *operation, tn_error *error);

/* Features of a pixel, of a look-up or scatter of windows. */
uint64_t tn_window_features(const tn_operation *operation);

/* What an optimizer does: its update, and arrays of state, each with a number a parameter. */
typedef struct tn_optimizer_row {
    tn_operation_kind update;
    uint32_t states;
} tn_optimizer_row;
extern const tn_optimizer_row tn_optimizer_rows[TN_OPTIMIZERS];

/* Whether an optimizer changes a parameter by it. */
bool tn_operation_is_update(const tn_operation *operation);

TN_PUBLIC_END

#endif
