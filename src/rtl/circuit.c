#include "rtl/circuit.h"

#include "rtl/special.h"

#include <string.h>

/* A scatter adds rows one by one, with the template of an addition; its own is the sums' beginning. */
static const tn_pass_row beginning = {.form = TN_PASS_MAP, .text = "y = move zero"};

static const tn_pass_row *find_row(tn_operation_kind kind, uint32_t pass) {
    return kind == TN_OP_SCATTER && pass == 0 ? &beginning : &tn_operation_rows[kind].pass[pass];
}

/* A lane has the inputs and operators of circuit_lane.c, and a map of it gives one result. */
static bool has_template(const tn_pass_row *row, tn_formula *formula) {
    if (tn_formula_read(row->text, formula, NULL) != TN_OK) return false;
    for (uint32_t i = 0; i < formula->nodes; i++) {
        const tn_node_kind kind = formula->node[i].kind;
        if (kind == TN_NODE_ELSEWHERE || kind == TN_NODE_AFTER || kind == TN_NODE_ABOVE) return false;
    }
    return row->form != TN_PASS_MAP ||
           (formula->output[TN_OUTPUT_Y] != UINT32_MAX && formula->output[TN_OUTPUT_U] == UINT32_MAX);
}

uint32_t tn_circuit_passes(tn_operation_kind kind) {
    tn_formula formula;
    uint32_t passes = 0;
    for (; passes < TN_PASSES_MOST && find_row(kind, passes)->form != TN_PASS_NONE; passes++)
        if (!has_template(find_row(kind, passes), &formula)) return 0;
    return passes;
}

static uint64_t later(const tn_circuit *circuit, const uint32_t in[2]) {
    uint64_t first = circuit->node[in[0]].ready, second = circuit->node[in[1]].ready;
    return first > second ? first : second;
}

tn_status tn_circuit_make(tn_operation_kind kind, uint32_t pass, const tn_circuit_latencies *latencies,
                          tn_circuit *circuit, tn_error *error) {
    *circuit = (tn_circuit){.kind = kind, .pass = pass, .depth = 1};
    if (pass >= tn_circuit_passes(kind))
        return tn_fail(error, TN_INPUT, "%s has no template", tn_operation_rows[kind].kernel);
    const tn_pass_row *row = find_row(kind, pass);
    const tn_formula *formula = &circuit->formula;
    TN_TRY(tn_formula_read(row->text, &circuit->formula, error));
    circuit->form = row->form;
    circuit->greatest = row->form == TN_PASS_REDUCE && row->sum == TN_COMPARE;
    memcpy(circuit->scalar, row->scalar, sizeof circuit->scalar);
    memcpy(circuit->output, formula->output, sizeof circuit->output);
    circuit->nodes = formula->nodes;
    for (uint32_t i = 0; i < formula->nodes; i++) {
        const tn_formula_node *from = &formula->node[i];
        const tn_operator operator_kind = tn_node_operator(from->kind);
        tn_circuit_node *node = &circuit->node[i];
        circuit->formula.node[i].value = (double)(float)from->value; /* as a lane has it */
        *node = (tn_circuit_node){.kind = from->kind,
                                  .in = {from->in[0], from->in[1]},
                                  .value = (float)from->value,
                                  .instance = from->number};
        if (from->kind <= TN_NODE_ELSEWHERE) continue; /* inputs are there at once */
        node->ready = later(circuit, from->in) + (operator_kind < TN_OPERATORS ? latencies->of[operator_kind]
                                                                               : from->kind == TN_NODE_MOVE);
    }
    for (int i = 0; i < TN_CIRCUIT_OUTPUTS; i++) {
        if (circuit->output[i] == UINT32_MAX) continue;
        uint64_t ready = circuit->node[circuit->output[i]].ready;
        if (ready > circuit->depth) circuit->depth = ready;
    }
    return TN_OK;
}

bool tn_circuit_has_scalar(const tn_circuit *circuit, int output) {
    if (circuit->output[output] == UINT32_MAX) return false;
    return circuit->form == TN_PASS_PER_ROW || (circuit->form == TN_PASS_REDUCE && output != TN_CIRCUIT_Y);
}

/* ---- arithmetic ---- */

static double hardware_multiply(double a, double b) {
    return (double)tn_ieee_multiply((float)a, (float)b);
}
static double hardware_add(double a, double b) {
    return (double)tn_ieee_add((float)a, (float)b);
}
static double hardware_greater(double a, double b, double x, double z) {
    return (double)tn_ieee_greater((float)a, (float)b, (float)x, (float)z);
}
static double hardware_divide(double a, double b) {
    return (double)tn_ieee_divide((float)a, (float)b);
}
static double hardware_exponential(double x) {
    return (double)tn_special_exponential((float)x);
}
static double hardware_logarithm(double x) {
    return (double)tn_special_logarithm((float)x);
}
static double hardware_square_root(double x) {
    return (double)tn_ieee_square_root((float)x);
}
const tn_scalar_arithmetic tn_hardware_arithmetic = {
    hardware_multiply,    hardware_add,       hardware_greater,    hardware_divide,
    hardware_exponential, hardware_logarithm, hardware_square_root};
