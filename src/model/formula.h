/* The arithmetic of one pass of an operation (model/operation.h), read from its text: a small graph of scalar operators.
 *
 * A text is statements "name = x op z", "name = function x [z]" or "name = other", parted by "; ". An element takes the
 * pass's operands a, b, c (what the operation reads, in its order), `result` (what an earlier pass wrote in the place
 * where this one writes), scalars s0..s3 of its row, two constants k0, k1 of the operation, and of a loss the row's
 * `share` and whether the column is the row's label (hit). Any other name that no statement made is a value from
 * elsewhere: an optimizer's number, a neighbour of the element. The outputs are y, which is written (of a pass over
 * rows: a scalar of the row), u and v, which are summed (of a map: further results; of a pass over rows: a scalar), and
 * l, kept of the column that is hit.
 *
 * From the graph follow the operators of a pass and their longest paths (model/operation.h), the lane of a vector unit
 * (rtl/circuit.h), the values that a CPU computes where no kernel of its own does (train/kernels.h), and the arithmetic
 * that tests hold the others to.
 */
#ifndef TN_MODEL_FORMULA_H
#define TN_MODEL_FORMULA_H

#include "base/error.h"
#include "base/public.h"

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
    TN_DRAW, /* a random number by its place in a sequence; devices may have none */
    TN_OPERATORS
} tn_operator;
extern const char *const tn_operator_names[]; /* ended by NULL */

/* Inputs, then what needs no operator, then operators. */
typedef enum tn_node_kind {
    TN_NODE_A,
    TN_NODE_B,
    TN_NODE_C,
    TN_NODE_S0,
    TN_NODE_S1,
    TN_NODE_S2,
    TN_NODE_S3,
    TN_NODE_K0,
    TN_NODE_K1,
    TN_NODE_SHARE,
    TN_NODE_CONSTANT,
    TN_NODE_ELSEWHERE, /* an input that no lane of a vector unit has */
    TN_NODE_MOVE,      /* its first input, a cycle later */
    TN_NODE_DOUBLE,    /* its first input with the exponent one higher */
    TN_NODE_HIT,       /* its first input where the column is the row's label, else 0 */
    TN_NODE_AFTER,     /* its first input, once the second is there, too */
    TN_NODE_MULTIPLY,
    TN_NODE_ADD,
    TN_NODE_SUBTRACT,
    TN_NODE_GREATER,  /* the greater input */
    TN_NODE_POSITIVE, /* the second input where the first is above 0, else 0 */
    TN_NODE_ABOVE,    /* 1 where the first input is above the second, else -1 */
    TN_NODE_DIVIDE,
    TN_NODE_EXPONENTIAL,
    TN_NODE_LOGARITHM,
    TN_NODE_SQUARE_ROOT,
    TN_NODE_DRAW /* a random number, -1 to 1, of its input's place; what it is only the operation knows */
} tn_node_kind;

enum { TN_FORMULA_NODES = 40, TN_FORMULA_ELSEWHERE = 8, TN_ROW_SCALARS = 4 };
enum { TN_OUTPUT_Y, TN_OUTPUT_U, TN_OUTPUT_V, TN_OUTPUT_L, TN_FORMULA_OUTPUTS };

typedef struct tn_formula_node {
    tn_node_kind kind;
    uint32_t subject[2]; /* earlier nodes; of one input both are it */
    double value;        /* of a constant */
    uint32_t number; /* of an operator: among the formula's of its kind; of a value from elsewhere: which */
} tn_formula_node;

typedef struct tn_formula {
    uint32_t nodes;
    tn_formula_node node[TN_FORMULA_NODES];
    uint32_t output[TN_FORMULA_OUTPUTS]; /* nodes; UINT32_MAX: none */
    uint32_t elsewhere;                  /* values from elsewhere, in the order of their first use */
    bool takes_result;                   /* it reads `result` */
} tn_formula;

/* TN_INPUT names the statement that is none. */
tn_status tn_formula_read(const char *text, tn_formula *formula, tn_error *error);

/* The operator that a node takes; TN_OPERATORS: none. */
tn_operator tn_node_operator(tn_node_kind kind);

/* Scalar arithmetic, each value in a double: of float64, of float32, of an FPGA's operators (rtl/circuit.h). */
typedef struct tn_scalar_arithmetic {
    double (*multiply)(double a, double b);
    double (*add)(double a, double b);
    double (*greater)(double a, double b, double x, double z); /* a > b ? x : z */
    double (*divide)(double a, double b);
    double (*exponential)(double x);
    double (*logarithm)(double x);
    double (*square_root)(double x);
} tn_scalar_arithmetic;
extern const tn_scalar_arithmetic tn_float64_arithmetic, tn_float32_arithmetic;

typedef struct tn_formula_inputs {
    double a, b, c, s[TN_ROW_SCALARS], k[2], share;
    bool hit;
    double elsewhere[TN_FORMULA_ELSEWHERE];
} tn_formula_inputs;

/* out[TN_FORMULA_OUTPUTS]; those that the formula has not become 0. */
void tn_formula_run(const tn_formula *formula, const tn_scalar_arithmetic *arithmetic,
                    const tn_formula_inputs *inputs, double *out);

TN_PUBLIC_END

#endif
