/* What one lane of the vector unit computes in each pass of each vector kernel: the formula of the operation's row
 * (model/formula.h, model/operation.h) with the cycles that its operators take. From it come the lane's SystemVerilog, the
 * arithmetic of a simulation and the pass's depth in cycles, which must be that of the price.
 */
#ifndef TN_RTL_CIRCUIT_H
#define TN_RTL_CIRCUIT_H

#include "base/buffer.h"
#include "base/error.h"
#include "model/operation.h"

/* The arithmetic of the generated operators beyond product and sum (templates/fp32_greater.sv, fp32_divide.sv,
 * fp32_square_root.sv, fp32_exponential.sv, fp32_logarithm.sv) in C, bit for bit. As theirs, subnormal operands count as
 * zero of their sign, results below 2^-126 are zero of their sign, and every NaN made is 0x7fc00000.
 *
 * Division and square root are exact to IEEE 754 (to nearest even). The exponential is a table of 256 values and a
 * polynomial of second degree behind an argument reduced by multiples of ln 2; the logarithm a table of 128 reciprocals
 * and a polynomial of fourth degree: the methods of Tang (ACM TOMS 15, 1989; 16, 1990) in the fixed-point form of Detrey
 * and de Dinechin (2005). The exponential errs by less than one unit in the last place, the logarithm by less than
 * one or 2^-33, whichever is more.
 */

/* The arithmetic of the generated operators (templates/fp32_multiply.sv, fp32_add.sv) in C, templates/fp32.c: IEEE 754 binary32, to
 * nearest even, subnormals flushed to zero of their sign, every NaN 0x7fc00000. */

/* A subnormal becomes zero. An exact result is rounded once, as every operator does it. */
float tn_ieee_flushed(float value);
float tn_ieee_rounded(double exact);

float tn_ieee_multiply(float a, float b);
float tn_ieee_add(float a, float b);

/* x where a > b, else z; false where one is a NaN. x and z pass as they are. */
float tn_ieee_greater(float a, float b, float x, float z);
float tn_ieee_divide(float a, float b);
float tn_ieee_square_root(float a);
float tn_special_exponential(float x);
float tn_special_logarithm(float x);

/* exponential.hex and logarithm.hex, the tables that the templates read. */
void tn_special_exponential_table(tn_buffer *out);
void tn_special_logarithm_table(tn_buffer *out);

enum { TN_CIRCUIT_NODES = TN_FORMULA_NODES, TN_CIRCUIT_LANES_MOST = 1024 };

typedef struct tn_circuit_node {
    tn_node_kind kind;
    uint32_t input[2]; /* earlier nodes */
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
    uint64_t lanes;                     /* that have it */
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
    uint64_t cycles[TN_OPERATORS];
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

/* A pass's name in the lane, its kernel and its number there: PASS_LAYERNORM_2. */
void tn_circuit_name(const tn_circuit *circuit, tn_buffer *out);

/* One lane of the vector unit as SystemVerilog: the operators that the passes of a program need, each once, and what
 * each of them takes in each pass. An operator exists in the lanes of the passes that need it, one that passes over rows
 * alone need in the first. */

/* Writes module vector_lane for `count` circuits; a pass's number is its circuit's place. */
void tn_circuit_lane(const tn_circuit *circuit, uint32_t count, const tn_circuit_latencies *latencies,
                     tn_buffer *out);

#endif
