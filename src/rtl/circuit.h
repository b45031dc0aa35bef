/* What one lane of the vector unit computes in each pass of each vector kernel (the passes of model/operation.h): a
 * small graph of operators. One text says it; from the graph come the lane's SystemVerilog, the reference arithmetic
 * of a simulation and the pass's depth in cycles, which must be that of the price.
 *
 * A pass takes for every element up to three operands a, b, c, four scalars s0..s3 of its row, two constants k0, k1 of
 * the operation, and for a loss the row's share and whether the column is the row's label (hit). It gives y, which is
 * written (of a row: a scalar), u and v, which are summed along the row or down the column (of a row: scalars), and l,
 * kept of the column that is hit.
 */
#ifndef TN_RTL_CIRCUIT_H
#define TN_RTL_CIRCUIT_H

#include "base/error.h"
#include "model/operation.h"

enum { TN_CIRCUIT_NODES = 40, TN_ROW_SCALARS = 4, TN_CIRCUIT_LANES_MOST = 1024 };

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
    TN_NODE_MOVE,   /* its first input, a cycle later */
    TN_NODE_DOUBLE, /* its first input with the exponent one higher */
    TN_NODE_HIT,    /* its first input where the column is the row's label, else 0 */
    TN_NODE_MULTIPLY,
    TN_NODE_ADD,
    TN_NODE_SUBTRACT,
    TN_NODE_GREATER,  /* the greater input */
    TN_NODE_POSITIVE, /* the second input where the first is above 0, else 0 */
    TN_NODE_DIVIDE,
    TN_NODE_EXPONENTIAL,
    TN_NODE_LOGARITHM,
    TN_NODE_SQUARE_ROOT
} tn_node_kind;

typedef struct tn_circuit_node {
    tn_node_kind kind;
    uint32_t in[2];    /* earlier nodes */
    float value;       /* of a constant */
    uint64_t ready;    /* cycles after the inputs */
    uint32_t instance; /* among the pass's operators of that kind */
} tn_circuit_node;

enum { TN_CIRCUIT_Y, TN_CIRCUIT_U, TN_CIRCUIT_V, TN_CIRCUIT_L, TN_CIRCUIT_OUTPUTS };

typedef struct tn_circuit {
    tn_operation_kind kind;
    uint32_t pass;
    tn_pass_form form;
    bool greatest;                      /* u is not summed: the greatest is kept */
    uint8_t scalar[TN_CIRCUIT_OUTPUTS]; /* which scalar of the row the output becomes, where it becomes one */
    uint32_t nodes;
    tn_circuit_node node[TN_CIRCUIT_NODES];
    uint32_t output[TN_CIRCUIT_OUTPUTS]; /* nodes; UINT32_MAX: none */
    uint64_t depth;                      /* cycles from inputs to all outputs, at least 1 */
} tn_circuit;

/* Cycles of the operators, by tn_operator. */
typedef struct tn_circuit_latencies {
    uint64_t of[TN_OPERATORS];
} tn_circuit_latencies;

/* Passes of a kind that have a circuit; 0: the kind has no template. */
uint32_t tn_circuit_passes(tn_operation_kind kind);
/* TN_INPUT where the kind or pass has none. */
tn_status tn_circuit_make(tn_operation_kind kind, uint32_t pass, const tn_circuit_latencies *latencies,
                          tn_circuit *circuit, tn_error *error);
/* The operator that a node takes; TN_OPERATORS: none. */
tn_operator tn_circuit_operator(tn_node_kind kind);

/* True where the output (TN_CIRCUIT_Y ..) becomes a scalar of the row: y of a pass over rows, sums over a row, l. */
bool tn_circuit_has_scalar(const tn_circuit *circuit, int output);

/* Scalar arithmetic: that of the hardware's operators, or float64. */
typedef struct tn_scalar_arithmetic {
    double (*multiply)(double a, double b);
    double (*add)(double a, double b);
    double (*greater)(double a, double b, double x, double z); /* a > b ? x : z */
    double (*divide)(double a, double b);
    double (*exponential)(double x);
    double (*logarithm)(double x);
    double (*square_root)(double x);
} tn_scalar_arithmetic;
extern const tn_scalar_arithmetic tn_hardware_arithmetic, tn_float64_arithmetic;

typedef struct tn_circuit_inputs {
    double a, b, c, s[TN_ROW_SCALARS], k[2], share;
    bool hit;
} tn_circuit_inputs;

/* out[TN_CIRCUIT_OUTPUTS]; those that the circuit has not become 0. */
void tn_circuit_run(const tn_circuit *circuit, const tn_scalar_arithmetic *arithmetic,
                    const tn_circuit_inputs *inputs, double *out);

#endif
