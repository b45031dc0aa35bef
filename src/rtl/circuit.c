#include "rtl/circuit.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static uint32_t bits_of(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float of_bits(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

enum { NOT_A_NUMBER = 0x7fc00000, INFINITE = 0x7f800000 };

/* ---- exact operators ---- */

float tn_ieee_greater(float a, float b, float x, float z) {
    return tn_ieee_flushed(a) > tn_ieee_flushed(b) ? x : z;
}

/* Rounded to 53 bits first, a quotient or a root of 24-bit numbers rounds to the same 24 (Figueroa 1995). */
float tn_ieee_divide(float a, float b) {
    return tn_ieee_rounded((double)tn_ieee_flushed(a) / (double)tn_ieee_flushed(b));
}

float tn_ieee_square_root(float a) {
    return tn_ieee_rounded(sqrt((double)tn_ieee_flushed(a)));
}

/* ---- exponential: x = k ln 2 + r, exp(r) = table exp(z) ---- */

enum { FRACTION = 36, TABLE_FRACTION = 30, LOG2_E = 5909 /* log2(e), 12 bits of fraction */ };

static int64_t ln_2(void) {
    return llround(ldexp(0.69314718055994530942, FRACTION));
}

static int64_t exponential_entry(int64_t i) {
    return llround(ldexp(exp(((double)i + 0.5) / 256 - 0.5), TABLE_FRACTION));
}

float tn_special_exponential(float x) {
    uint32_t bits = bits_of(x);
    int exponent = (int)(bits >> 23 & 255) - 127, shift = exponent - 23 + FRACTION;
    if (isnan(x)) return of_bits(NOT_A_NUMBER);
    if (exponent > 6) return x > 0 ? of_bits(INFINITE) : 0;
    int64_t fixed = (bits >> 23 & 255) == 0 ? 0 : (int64_t)(bits & 0x7fffff) | 0x800000;
    fixed = shift >= 0 ? fixed * (INT64_C(1) << shift) : shift > -32 ? fixed >> -shift : 0;
    if (bits >> 31) fixed = -fixed;
    int64_t k = (fixed * LOG2_E + (INT64_C(1) << 47)) >> 48, place = fixed - k * ln_2() + (INT64_C(1) << 35),
            z = (place & ((1 << 28) - 1)) - (1 << 27), power = z + ((z * z) >> 37),
            table = exponential_entry(place >> 28), value = table + ((table * power) >> FRACTION);
    if (value < INT64_C(1) << TABLE_FRACTION) {
        value *= 2;
        k--;
    }
    int64_t packed = ((k + 126) * (1 << 23)) + (value >> 7) + (value >> 6 & 1);
    if (packed < 1 << 23) return 0;
    return packed >= INFINITE ? of_bits(INFINITE) : of_bits((uint32_t)packed);
}

/* ---- logarithm: x = 2^e m, m = (1 + z) / reciprocal ---- */

static int64_t reciprocal(int64_t i) {
    if (i == 0) return 1 << 17;
    if (i == 127) return 1 << 16;
    return llround(ldexp(1 / (1 + ((double)i + 0.5) / 128), 17));
}

static int64_t logarithm_entry(int64_t i) {
    return llround(ldexp(-log(ldexp((double)reciprocal(i), -17)), FRACTION));
}

static float packed_fixed(int64_t fixed) {
    if (fixed == 0) return 0;
    uint64_t magnitude = (uint64_t)(fixed < 0 ? -fixed : fixed);
    int top = 63 - __builtin_clzll(magnitude);
    uint64_t mantissa =
        top >= 24 ? (magnitude >> (top - 23)) + (magnitude >> (top - 24) & 1) : magnitude << (23 - top);
    uint32_t bits = (uint32_t)(top - FRACTION + 126) * (1u << 23) + (uint32_t)mantissa;
    return of_bits(bits | (fixed < 0 ? 0x80000000 : 0));
}

float tn_special_logarithm(float x) {
    uint32_t bits = bits_of(x);
    if (isnan(x)) return of_bits(NOT_A_NUMBER);
    if ((bits & INFINITE) == 0) return of_bits(0x80000000 | INFINITE);
    if (bits >> 31) return of_bits(NOT_A_NUMBER);
    if (bits == INFINITE) return x;
    int64_t exponent = (int64_t)(bits >> 23) - 127, mantissa = (bits & 0x7fffff) | 0x800000,
            i = (bits >> 16) & 127;
    int64_t z = (mantissa * reciprocal(i) - (INT64_C(1) << 40)) >> 4;
    int64_t square = (z * z) >> FRACTION, cube = (square * z) >> FRACTION,
            fourth = (square * square) >> FRACTION;
    int64_t power = z - (square >> 1) + ((cube * 21845) >> 16) - (fourth >> 2);
    return packed_fixed(exponent * ln_2() + logarithm_entry(i) + power);
}

/* ---- tables ---- */

void tn_special_exponential_table(tn_buffer *out) {
    for (int64_t i = 0; i < 256; i++)
        tn_buffer_format(out, "%08" PRIx64 "\n", (uint64_t)exponential_entry(i));
}

/* The reciprocal above 40 bits of its logarithm. */
void tn_special_logarithm_table(tn_buffer *out) {
    for (int64_t i = 0; i < 128; i++)
        tn_buffer_format(out, "%015" PRIx64 "\n",
                         (uint64_t)reciprocal(i) << 40 | (uint64_t)logarithm_entry(i));
}

/* A scatter adds rows one by one, with the template of an addition; its own is the sums' beginning. */
static const tn_pass_row beginning = {.form = TN_PASS_MAP, .text = "y = move zero"};

static const tn_pass_row *find_row(tn_operation_kind kind, uint32_t pass) {
    return kind == TN_OP_SCATTER && pass == 0 ? &beginning : &tn_operation_rows[kind].pass[pass];
}

uint32_t tn_circuit_passes(tn_operation_kind kind) {
    uint32_t passes = 0;
    for (; passes < TN_PASSES_MOST && find_row(kind, passes)->form != TN_PASS_NONE; passes++)
        if (!tn_pass_has_lane(find_row(kind, passes))) return 0;
    return passes;
}

static uint64_t later(const tn_circuit *circuit, const uint32_t subject[2]) {
    uint64_t first = circuit->node[subject[0]].ready, second = circuit->node[subject[1]].ready;
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
        const tn_formula_node *source = &formula->node[i];
        const tn_operator operator_kind = tn_node_operator(source->kind);
        tn_circuit_node *node = &circuit->node[i];
        circuit->formula.node[i].value = (double)(float)source->value; /* as a lane has it */
        *node = (tn_circuit_node){.kind = source->kind,
                                  .input = {source->subject[0], source->subject[1]},
                                  .value = (float)source->value,
                                  .instance = source->number};
        if (source->kind <= TN_NODE_ELSEWHERE) continue; /* inputs are there at once */
        node->ready =
            later(circuit, source->subject) +
            (operator_kind < TN_OPERATORS ? latencies->cycles[operator_kind] : source->kind == TN_NODE_MOVE);
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

/* ---- signals ---- */

static const char *const operator_names[TN_OPERATORS] = {"multiply",    "add",       "greater",     "divide",
                                                         "exponential", "logarithm", "square_root", "draw"};
static const char *const input_names[] = {"a", "b", "c", "s0", "s1", "s2", "s3", "k0", "k1", "share"};

/* A signal's delayed copies: the longest that any pass asks for, by producer. */
typedef struct {
    uint64_t input[TN_NODE_SHARE + 1], hit, instance[TN_OPERATORS][TN_CIRCUIT_NODES], move[TN_CIRCUIT_NODES];
} delays;

typedef struct {
    const tn_circuit *circuit;
    uint32_t count;
    const tn_circuit_latencies *latencies;
    delays longest;
    uint32_t instances[TN_OPERATORS]; /* the most that a pass has */
    tn_buffer *out;
} writer;

static bool is_input(tn_node_kind kind) {
    return kind <= TN_NODE_SHARE;
}

static bool is_steady(tn_node_kind kind) { /* the same throughout a pass */
    return kind == TN_NODE_K0 || kind == TN_NODE_K1 || kind == TN_NODE_CONSTANT;
}

/* Where the value of node i comes from, `late` cycles after it is ready: text, or (out NULL) the delay is noted. */
static void source(writer *output, tn_buffer *out, const tn_circuit *circuit, uint32_t i, uint64_t late) {
    const tn_circuit_node *node = &circuit->node[i];
    uint64_t *longest = NULL;
    tn_operator kind = tn_node_operator(node->kind);
    if (is_steady(node->kind)) {
        uint32_t bits;
        memcpy(&bits, &node->value, sizeof bits);
        if (out && node->kind == TN_NODE_CONSTANT)
            tn_buffer_format(out, "32'h%08" PRIx32, bits);
        else if (out)
            tn_buffer_text(out, input_names[node->kind]);
        return;
    }
    if (node->kind == TN_NODE_MOVE) {
        source(output, out, circuit, node->input[0], late + 1);
        return;
    }
    if (node->kind == TN_NODE_DOUBLE || node->kind == TN_NODE_HIT) {
        if (out) tn_buffer_text(out, node->kind == TN_NODE_DOUBLE ? "twice(" : "(");
        if (node->kind == TN_NODE_HIT) {
            uint64_t start = node->ready + late; /* the inputs came */
            if (out)
                tn_buffer_format(out, "{32{hit_late[%" PRIu64 "]}} & ", start);
            else if (output->longest.hit < start)
                output->longest.hit = start;
        }
        source(output, out, circuit, node->input[0], late);
        if (out) tn_buffer_text(out, ")");
        return;
    }
    if (is_input(node->kind)) {
        longest = &output->longest.input[node->kind];
        if (out) tn_buffer_format(out, "%s_late[%" PRIu64 "*32+:32]", input_names[node->kind], late);
    } else {
        longest = &output->longest.instance[kind][node->instance];
        if (out)
            tn_buffer_format(out, "%s%" PRIu32 "_late[%" PRIu64 "*32+:32]", operator_names[kind],
                             node->instance, late);
    }
    if (!out && *longest < late) *longest = late;
}

/* When a node's operator takes its inputs. */
static uint64_t begins(const writer *output, const tn_circuit_node *node) {
    return node->ready - output->latencies->cycles[tn_node_operator(node->kind)];
}

/* Input `which` of a node's operator. */
static void operand(writer *output, tn_buffer *out, const tn_circuit *circuit, const tn_circuit_node *node,
                    int which) {
    uint32_t i = node->input[which];
    uint64_t late = begins(output, node) - circuit->node[i].ready;
    bool minus = node->kind == TN_NODE_SUBTRACT && which == 1;
    if (minus && out) tn_buffer_text(out, "32'h80000000 ^ ");
    source(output, out, circuit, i, late);
}

/* ---- needs ---- */

static void note(writer *output) {
    for (uint32_t p = 0; p < output->count; p++) {
        const tn_circuit *circuit = &output->circuit[p];
        for (uint32_t i = 0; i < circuit->nodes; i++) {
            const tn_circuit_node *node = &circuit->node[i];
            tn_operator kind = tn_node_operator(node->kind);
            if (kind == TN_OPERATORS) continue;
            if (output->instances[kind] <= node->instance) output->instances[kind] = node->instance + 1;
            operand(output, NULL, circuit, node, 0);
            operand(output, NULL, circuit, node, 1);
        }
        for (int o = 0; o < TN_CIRCUIT_OUTPUTS; o++)
            if (circuit->output[o] != UINT32_MAX)
                source(output, NULL, circuit, circuit->output[o],
                       circuit->depth - circuit->node[circuit->output[o]].ready);
    }
}

static const tn_circuit_node *node_of(const tn_circuit *circuit, tn_operator kind, uint32_t instance) {
    for (uint32_t i = 0; i < circuit->nodes; i++)
        if (tn_node_operator(circuit->node[i].kind) == kind && circuit->node[i].instance == instance)
            return &circuit->node[i];
    return NULL;
}

/* The first lanes, as many as the pass with the most that uses it; passes over rows use one. */
static uint64_t lanes_of(const writer *output, tn_operator kind, uint32_t instance) {
    uint64_t lanes = 1;
    for (uint32_t p = 0; p < output->count; p++)
        if (output->circuit[p].form != TN_PASS_PER_ROW && node_of(&output->circuit[p], kind, instance) &&
            output->circuit[p].lanes > lanes)
            lanes = output->circuit[p].lanes;
    return lanes;
}

/* ---- text ---- */

void tn_circuit_name(const tn_circuit *circuit, tn_buffer *out) {
    tn_buffer_text(out, "PASS_");
    for (const char *c = tn_operation_rows[circuit->kind].kernel; *c; c++)
        tn_buffer_format(out, "%c", *c == '-' ? '_' : toupper((unsigned char)*c));
    tn_buffer_format(out, "_%" PRIu32, circuit->pass);
}

/* "this pass runs?" */
static void put_when(tn_buffer *out, const tn_circuit *circuit) {
    tn_buffer_text(out, "pass == ");
    tn_circuit_name(circuit, out);
    tn_buffer_text(out, " ? ");
}

static void put_choice(writer *output, tn_operator kind, uint32_t instance, int which) {
    tn_buffer *out = output->out;
    for (uint32_t p = 0; p < output->count; p++) {
        const tn_circuit_node *node = node_of(&output->circuit[p], kind, instance);
        if (!node) continue;
        put_when(out, &output->circuit[p]);
        if (which < 2) {
            operand(output, out, &output->circuit[p], node, which);
        } else { /* of a comparison: what comes out */
            bool positive = node->kind == TN_NODE_POSITIVE;
            if (positive && which == 3)
                tn_buffer_text(out, "32'b0");
            else
                operand(output, out, &output->circuit[p], node, which == 2 && !positive ? 0 : 1);
        }
        tn_buffer_text(out, " : ");
    }
    tn_buffer_text(out, "32'b0");
}

/* What the second input of a comparison is compared with: 0 where the first is to be positive. */
static void put_bound(writer *output, uint32_t instance) {
    tn_buffer *out = output->out;
    for (uint32_t p = 0; p < output->count; p++) {
        const tn_circuit_node *node = node_of(&output->circuit[p], TN_COMPARE, instance);
        if (!node || node->kind == TN_NODE_POSITIVE) continue;
        put_when(out, &output->circuit[p]);
        operand(output, out, &output->circuit[p], node, 1);
        tn_buffer_text(out, " : ");
    }
    tn_buffer_text(out, "32'b0");
}

static void put_late(tn_buffer *out, const char *name, uint64_t width, uint64_t longest, const char *source) {
    tn_buffer_format(
        out, "  taps #(.WIDTH(%" PRIu64 "), .CYCLES(%" PRIu64 ")) taps_of_%s (.clk, .d(%s), .q(%s_late));\n",
        width, longest, name, source, name);
}

static void put_instance(writer *output, tn_operator kind, uint32_t i) {
    tn_buffer *out = output->out;
    const char *name = operator_names[kind];
    static const char *const ports[TN_OPERATORS][4] = {
        {"a", "b"}, {"a", "b"}, {"a", "b", "x", "z"}, {"a", "b"}, {"x"}, {"x"}, {"a"}, {"place"}};
    tn_buffer_format(out, "  generate\n    if (NUMBER < %" PRIu64 ") begin : g_%s%" PRIu32 "\n",
                     lanes_of(output, kind, i), name, i);
    tn_buffer_format(out, "      fp32_%s #(.LATENCY(%" PRIu64 ")) of (\n          .clk", name,
                     output->latencies->cycles[kind]);
    for (int port = 0; port < 4 && ports[kind][port]; port++) {
        tn_buffer_format(out, ",\n          .%s(", ports[kind][port]);
        if (kind == TN_COMPARE && port == 1)
            put_bound(output, i);
        else
            put_choice(output, kind, i, port);
        tn_buffer_text(out, ")");
    }
    tn_buffer_format(out, ",\n          .y(%s%" PRIu32 "));\n    end else begin : g_no_%s%" PRIu32 "\n", name,
                     i, name, i);
    tn_buffer_format(out, "      assign %s%" PRIu32 " = '0;\n    end\n  endgenerate\n", name, i);
}

static void put_outputs(writer *output) {
    static const char *const names[TN_CIRCUIT_OUTPUTS] = {"y", "u", "v", "l"};
    for (int o = 0; o < TN_CIRCUIT_OUTPUTS; o++) {
        tn_buffer_format(output->out, "  assign %s = ", names[o]);
        for (uint32_t p = 0; p < output->count; p++) {
            const tn_circuit *circuit = &output->circuit[p];
            if (circuit->output[o] == UINT32_MAX) continue;
            put_when(output->out, circuit);
            source(output, output->out, circuit, circuit->output[o],
                   circuit->depth - circuit->node[circuit->output[o]].ready);
            tn_buffer_text(output->out, " : ");
        }
        tn_buffer_text(output->out, "32'b0;\n");
    }
}

static const char *instance_name(tn_operator kind, uint32_t i, char text[static 32]) {
    snprintf(text, 32, "%s%" PRIu32, operator_names[kind], i);
    return text;
}

/* All signals stand before what takes them. */
static void put_signal(tn_buffer *out, const char *name, uint64_t width, uint64_t longest) {
    tn_buffer_format(out, "  wire [%" PRIu64 ":0] %s_late;\n", (longest + 1) * width - 1, name);
}

/* The passes by name, each with its formula. */
static void put_passes(writer *output) {
    for (uint32_t p = 0; p < output->count; p++) {
        const tn_circuit *circuit = &output->circuit[p];
        tn_buffer_text(output->out, "  localparam logic [PASS-1:0] ");
        tn_circuit_name(circuit, output->out);
        tn_buffer_format(output->out, " = PASS'(%" PRIu32 ");  // %s\n", p,
                         find_row(circuit->kind, circuit->pass)->text);
    }
}

void tn_circuit_lane(const tn_circuit *circuit, uint32_t count, const tn_circuit_latencies *latencies,
                     tn_buffer *out) {
    writer output = {.circuit = circuit, .count = count, .latencies = latencies, .out = out};
    note(&output);
    tn_buffer_text(
        out,
        "// One lane of the vector unit: what it computes in each pass of this program. NAME_late[i] is NAME "
        "i cycles ago.\n"
        "module vector_lane #(\n    parameter int NUMBER = 0,  // of the lane; the first computes scalars of "
        "rows\n"
        "    parameter int PASS   = 8\n) (\n    input  logic            clk,\n"
        "    input  logic [PASS-1:0] pass,\n"
        "    input  logic [31:0] a, b, c, s0, s1, s2, s3, k0, k1, share,\n    input  logic hit,\n"
        "    output logic [31:0] y, u, v, l\n);\n"
        "  function automatic [31:0] twice(input [31:0] x);\n"
        "    twice = x[30:23] == 0 ? {x[31], 31'b0} : x[30:23] == 8'd254 ? {x[31], 31'h7f800000}\n"
        "          : x[30:23] == 8'd255 ? (x[22:0] != 0 ? 32'h7fc00000 : x) : x + 32'h00800000;\n"
        "  endfunction\n");
    put_passes(&output);
    for (int i = 0; i <= TN_NODE_SHARE; i++)
        if (!is_steady((tn_node_kind)i)) put_signal(out, input_names[i], 32, output.longest.input[i]);
    put_signal(out, "hit", 1, output.longest.hit);
    for (int kind = 0; kind < TN_OPERATORS; kind++)
        for (uint32_t i = 0; i < output.instances[kind]; i++) {
            tn_buffer_format(out, "  wire [31:0] %s%" PRIu32 ";\n", operator_names[kind], i);
            put_signal(out, instance_name((tn_operator)kind, i, (char[32]){0}), 32,
                       output.longest.instance[kind][i]);
        }
    for (int i = 0; i <= TN_NODE_SHARE; i++)
        if (!is_steady((tn_node_kind)i))
            put_late(out, input_names[i], 32, output.longest.input[i], input_names[i]);
    put_late(out, "hit", 1, output.longest.hit, "hit");
    for (int kind = 0; kind < TN_OPERATORS; kind++)
        for (uint32_t i = 0; i < output.instances[kind]; i++) {
            char text[32];
            const char *name = instance_name((tn_operator)kind, i, text);
            put_instance(&output, (tn_operator)kind, i);
            put_late(out, name, 32, output.longest.instance[kind][i], name);
        }
    put_outputs(&output);
    tn_buffer_text(out, "endmodule\n");
}
