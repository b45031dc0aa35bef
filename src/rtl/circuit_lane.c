#include "rtl/circuit_lane.h"

#include <inttypes.h>
#include <string.h>

/* ---- signals ---- */

static const char *const operator_names[TN_OPERATORS] = {"multiply",    "add",       "greater",    "divide",
                                                         "exponential", "logarithm", "square_root"};
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
static void source(writer *with, tn_buffer *out, const tn_circuit *of, uint32_t i, uint64_t late) {
    const tn_circuit_node *node = &of->node[i];
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
        source(with, out, of, node->in[0], late + 1);
        return;
    }
    if (node->kind == TN_NODE_DOUBLE || node->kind == TN_NODE_HIT) {
        if (out) tn_buffer_text(out, node->kind == TN_NODE_DOUBLE ? "twice(" : "(");
        if (node->kind == TN_NODE_HIT) {
            uint64_t since = node->ready + late; /* the inputs came */
            if (out)
                tn_buffer_format(out, "{32{hit_late[%" PRIu64 "]}} & ", since);
            else if (with->longest.hit < since)
                with->longest.hit = since;
        }
        source(with, out, of, node->in[0], late);
        if (out) tn_buffer_text(out, ")");
        return;
    }
    if (is_input(node->kind)) {
        longest = &with->longest.input[node->kind];
        if (out) tn_buffer_format(out, "%s_late[%" PRIu64 "*32+:32]", input_names[node->kind], late);
    } else {
        longest = &with->longest.instance[kind][node->instance];
        if (out)
            tn_buffer_format(out, "%s%" PRIu32 "_late[%" PRIu64 "*32+:32]", operator_names[kind],
                             node->instance, late);
    }
    if (!out && *longest < late) *longest = late;
}

/* When a node's operator takes its inputs. */
static uint64_t begins(const writer *with, const tn_circuit_node *node) {
    return node->ready - with->latencies->of[tn_node_operator(node->kind)];
}

/* Input `which` of a node's operator. */
static void operand(writer *with, tn_buffer *out, const tn_circuit *of, const tn_circuit_node *node,
                    int which) {
    uint32_t i = node->in[which];
    uint64_t late = begins(with, node) - of->node[i].ready;
    bool minus = node->kind == TN_NODE_SUBTRACT && which == 1;
    if (minus && out) tn_buffer_text(out, "32'h80000000 ^ ");
    source(with, out, of, i, late);
}

/* ---- needs ---- */

static void note(writer *with) {
    for (uint32_t p = 0; p < with->count; p++) {
        const tn_circuit *of = &with->circuit[p];
        for (uint32_t i = 0; i < of->nodes; i++) {
            const tn_circuit_node *node = &of->node[i];
            tn_operator kind = tn_node_operator(node->kind);
            if (kind == TN_OPERATORS) continue;
            if (with->instances[kind] <= node->instance) with->instances[kind] = node->instance + 1;
            operand(with, NULL, of, node, 0);
            operand(with, NULL, of, node, 1);
        }
        for (int o = 0; o < TN_CIRCUIT_OUTPUTS; o++)
            if (of->output[o] != UINT32_MAX)
                source(with, NULL, of, of->output[o], of->depth - of->node[of->output[o]].ready);
    }
}

static const tn_circuit_node *node_of(const tn_circuit *of, tn_operator kind, uint32_t instance) {
    for (uint32_t i = 0; i < of->nodes; i++)
        if (tn_node_operator(of->node[i].kind) == kind && of->node[i].instance == instance)
            return &of->node[i];
    return NULL;
}

/* Only passes over rows use it. */
static bool of_rows(const writer *with, tn_operator kind, uint32_t instance) {
    for (uint32_t p = 0; p < with->count; p++)
        if (with->circuit[p].form != TN_PASS_PER_ROW && node_of(&with->circuit[p], kind, instance))
            return false;
    return true;
}

/* ---- text ---- */

static void put_choice(writer *with, tn_operator kind, uint32_t instance, int which) {
    tn_buffer *out = with->out;
    for (uint32_t p = 0; p < with->count; p++) {
        const tn_circuit_node *node = node_of(&with->circuit[p], kind, instance);
        if (!node) continue;
        tn_buffer_format(out, "pass == %" PRIu32 " ? ", p);
        if (which < 2) {
            operand(with, out, &with->circuit[p], node, which);
        } else { /* of a comparison: what comes out */
            bool positive = node->kind == TN_NODE_POSITIVE;
            if (positive && which == 3)
                tn_buffer_text(out, "32'b0");
            else
                operand(with, out, &with->circuit[p], node, which == 2 && !positive ? 0 : 1);
        }
        tn_buffer_text(out, " : ");
    }
    tn_buffer_text(out, "32'b0");
}

/* What the second input of a comparison is compared with: 0 where the first is to be positive. */
static void put_bound(writer *with, uint32_t instance) {
    tn_buffer *out = with->out;
    for (uint32_t p = 0; p < with->count; p++) {
        const tn_circuit_node *node = node_of(&with->circuit[p], TN_COMPARE, instance);
        if (!node || node->kind == TN_NODE_POSITIVE) continue;
        tn_buffer_format(out, "pass == %" PRIu32 " ? ", p);
        operand(with, out, &with->circuit[p], node, 1);
        tn_buffer_text(out, " : ");
    }
    tn_buffer_text(out, "32'b0");
}

static void put_late(tn_buffer *out, const char *name, uint64_t width, uint64_t longest, const char *from) {
    tn_buffer_format(out,
                     "  wire [%" PRIu64 ":0] %s_late;\n"
                     "  taps #(.WIDTH(%" PRIu64 "), .CYCLES(%" PRIu64
                     ")) taps_of_%s (.clk, .d(%s), .q(%s_late));\n",
                     (longest + 1) * width - 1, name, width, longest, name, from, name);
}

static void put_instance(writer *with, tn_operator kind, uint32_t i) {
    tn_buffer *out = with->out;
    const char *name = operator_names[kind];
    static const char *const ports[TN_OPERATORS][4] = {
        {"a", "b"}, {"a", "b"}, {"a", "b", "x", "z"}, {"a", "b"}, {"x"}, {"x"}, {"a"}};
    tn_buffer_format(out, "  wire [31:0] %s%" PRIu32 ";\n", name, i);
    bool rows = of_rows(with, kind, i);
    tn_buffer_format(out, "  generate\n    if (%s) begin : g_%s%" PRIu32 "\n", rows ? "FIRST" : "1", name, i);
    tn_buffer_format(out, "      fp32_%s #(.LATENCY(%" PRIu64 ")) of (\n          .clk", name,
                     with->latencies->of[kind]);
    for (int port = 0; port < 4 && ports[kind][port]; port++) {
        tn_buffer_format(out, ",\n          .%s(", ports[kind][port]);
        if (kind == TN_COMPARE && port == 1)
            put_bound(with, i);
        else
            put_choice(with, kind, i, port);
        tn_buffer_text(out, ")");
    }
    tn_buffer_format(out, ",\n          .y(%s%" PRIu32 "));\n    end else begin : g_none\n", name, i);
    tn_buffer_format(out, "      assign %s%" PRIu32 " = '0;\n    end\n  endgenerate\n", name, i);
}

static void put_outputs(writer *with) {
    static const char *const names[TN_CIRCUIT_OUTPUTS] = {"y", "u", "v", "l"};
    for (int o = 0; o < TN_CIRCUIT_OUTPUTS; o++) {
        tn_buffer_format(with->out, "  assign %s = ", names[o]);
        for (uint32_t p = 0; p < with->count; p++) {
            const tn_circuit *of = &with->circuit[p];
            if (of->output[o] == UINT32_MAX) continue;
            tn_buffer_format(with->out, "pass == %" PRIu32 " ? ", p);
            source(with, with->out, of, of->output[o], of->depth - of->node[of->output[o]].ready);
            tn_buffer_text(with->out, " : ");
        }
        tn_buffer_text(with->out, "32'b0;\n");
    }
}

void tn_circuit_lane(const tn_circuit *circuit, uint32_t count, const tn_circuit_latencies *latencies,
                     tn_buffer *out) {
    writer with = {.circuit = circuit, .count = count, .latencies = latencies, .out = out};
    note(&with);
    tn_buffer_text(
        out,
        "// One lane of the vector unit: what it computes in each pass of this program. NAME_late[i] is NAME "
        "i cycles ago.\n"
        "module vector_lane #(\n    parameter bit FIRST = 1,  // the lane that computes scalars of rows\n"
        "    parameter int PASS  = 8\n) (\n    input  logic            clk,\n"
        "    input  logic [PASS-1:0] pass,\n"
        "    input  logic [31:0] a, b, c, s0, s1, s2, s3, k0, k1, share,\n    input  logic hit,\n"
        "    output logic [31:0] y, u, v, l\n);\n"
        "  function automatic [31:0] twice(input [31:0] x);\n"
        "    twice = x[30:23] == 0 ? {x[31], 31'b0} : x[30:23] == 8'd254 ? {x[31], 31'h7f800000}\n"
        "          : x[30:23] == 8'd255 ? (x[22:0] != 0 ? 32'h7fc00000 : x) : x + 32'h00800000;\n"
        "  endfunction\n");
    for (int i = 0; i <= TN_NODE_SHARE; i++)
        if (!is_steady((tn_node_kind)i))
            put_late(out, input_names[i], 32, with.longest.input[i], input_names[i]);
    put_late(out, "hit", 1, with.longest.hit, "hit");
    for (int kind = 0; kind < TN_OPERATORS; kind++)
        for (uint32_t i = 0; i < with.instances[kind]; i++) {
            char name[32];
            tn_buffer label = {0};
            tn_buffer_format(&label, "%s%" PRIu32, operator_names[kind], i);
            strncpy(name, label.data ? label.data : "", sizeof name - 1);
            name[sizeof name - 1] = '\0';
            tn_buffer_free(&label);
            put_instance(&with, (tn_operator)kind, i);
            put_late(out, name, 32, with.longest.instance[kind][i], name);
        }
    put_outputs(&with);
    tn_buffer_text(out, "endmodule\n");
}
