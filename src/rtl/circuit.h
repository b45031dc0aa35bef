/* What one lane of the vector unit computes in each pass of each vector kernel: the formula of the operation's row
 * (model/formula.h, model/operation.h) with the cycles that its operators take. From it come the lane's SystemVerilog, the
 * arithmetic of a simulation and the pass's depth in cycles, which must be that of the price.
 */
#ifndef TN_RTL_CIRCUIT_H
#define TN_RTL_CIRCUIT_H

#include "base/error.h"
#include "model/operation.h"

enum { TN_CIRCUIT_NODES = TN_FORMULA_NODES, TN_CIRCUIT_LANES_MOST = 1024 };

typedef struct tn_circuit_node {
    tn_node_kind kind;
    uint32_t in[2];    /* earlier nodes */
    float value;       /* of a constant */
    uint64_t ready;    /* cycles after the inputs */
    uint32_t instance; /* among the pass's operators of that kind */
} tn_circuit_node;

enum {
    TN_CIRCUIT_Y = TN_OUTPUT_Y,
    TN_CIRCUIT_U = TN_OUTPUT_U,
    TN_CIRCUIT_V = TN_OUTPUT_V,
    TN_CIRCUIT_L = TN_OUTPUT_L,
    TN_CIRCUIT_OUTPUTS = TN_FORMULA_OUTPUTS
};

typedef struct tn_circuit {
    tn_operation_kind kind;
    uint32_t pass;
    tn_pass_form form;
    bool greatest;                      /* u is not summed: the greatest is kept */
    uint8_t scalar[TN_CIRCUIT_OUTPUTS]; /* which scalar of the row the output becomes, where it becomes one */
    tn_formula formula;
    uint32_t nodes; /* of the formula, with their cycles */
    tn_circuit_node node[TN_CIRCUIT_NODES];
    uint32_t output[TN_CIRCUIT_OUTPUTS]; /* nodes; UINT32_MAX: none */
    uint64_t depth;                      /* cycles from inputs to all outputs, at least 1 */
} tn_circuit;

/* Cycles of the operators, by tn_operator. */
typedef struct tn_circuit_latencies {
    uint64_t of[TN_OPERATORS];
} tn_circuit_latencies;

/* Passes of a kind; 0: the kind has no template, as it takes what no lane has. */
uint32_t tn_circuit_passes(tn_operation_kind kind);
/* TN_INPUT where the kind or pass has none. */
tn_status tn_circuit_make(tn_operation_kind kind, uint32_t pass, const tn_circuit_latencies *latencies,
                          tn_circuit *circuit, tn_error *error);
/* True where the output (TN_CIRCUIT_Y ..) becomes a scalar of the row: y of a pass over rows, sums over a row, l. */
bool tn_circuit_has_scalar(const tn_circuit *circuit, int output);

/* The arithmetic of the hardware's operators. */
extern const tn_scalar_arithmetic tn_hardware_arithmetic;

#endif
