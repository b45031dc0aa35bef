#include "rtl/circuit.h"

#include "rtl/special.h"

#include <math.h>
#include <string.h>

/* A pass: statements "name = x op y" or "name = function x [y]", and the row's scalars that y, u, v, l become. A name is
 * used after it is made; y, u, v, l are the outputs. */
typedef struct {
    const char *text;
    uint8_t scalar[TN_CIRCUIT_OUTPUTS];
} pass_text;

/* Order of reads as in model/step.h; GELU's constants: ga = 2 sqrt(2/pi), gb = 0.044715 ga, gc = 3 gb. */
static const pass_text texts[TN_OPERATION_KINDS][TN_PASSES_MOST] = {
    [TN_OP_LOOKUP] = {{"y = move a", {0}}},
    [TN_OP_SCATTER] = {{"y = move zero", {0}}}, /* the sums' beginning; rows are added one by one */
    [TN_OP_ADD] = {{"y = a + b", {0}}},
    [TN_OP_SUBTRACT] = {{"y = a - b", {0}}},
    [TN_OP_COLUMN_SUM] = {{"u = move a", {0}}},
    [TN_OP_SCALE_GRADIENT] = {{"d = b - s0; z = d * s1; u = a * z", {0}}},
    [TN_OP_RMS_SCALE_GRADIENT] = {{"z = b * s0; u = a * z", {0}}},
    /* k0: 1/sqrt(depth). s0 the maximum, s1 the sum and its reciprocal */
    [TN_OP_SOFTMAX] = {{"y = a * k0; u = y", {0, 0}},
                       {"d = a - s0; y = exp d; u = y", {0, 1}},
                       {"y = one / s1", {1}},
                       {"y = a * s1", {0}}},
    [TN_OP_SOFTMAX_GRADIENT] = {{"u = a * b", {0, 0}}, {"d = b - s0; p = a * d; y = p * k0", {0}}},
    /* k0: 1/columns, k1: epsilon. s0 the mean, s1 the reciprocal deviation */
    [TN_OP_LAYER_NORM] = {{"u = move a", {0, 0}},
                          {"y = s0 * k0", {0}},
                          {"d = a - s0; u = d * d", {0, 1}},
                          {"m = s1 * k0; e = m + k1; r = sqrt e; y = one / r", {1}},
                          {"d = a - s0; z = d * s1; g = z * b; y = g + c", {0}}},
    [TN_OP_LAYER_NORM_GRADIENT] = {{"d = b - s0; z = d * s1; g = a * c; u = g; v = g * z", {0, 2, 3}},
                                   {"y = s2 * k0; u = s3 * k0", {2, 3}},
                                   {"d = b - s0; z = d * s1; g = a * c; h = g - s2; k = z * s3; m = h - k; "
                                    "y = s1 * m",
                                    {0}}},
    [TN_OP_RMS_NORM] = {{"u = a * a", {0, 0}},
                        {"m = s0 * k0; e = m + k1; r = sqrt e; y = one / r", {0}},
                        {"z = a * s0; y = z * b", {0}}},
    [TN_OP_RMS_NORM_GRADIENT] = {{"z = b * s0; g = a * c; u = g * z", {0, 1}},
                                 {"y = s1 * k0", {1}},
                                 {"z = b * s0; g = a * c; k = z * s1; m = g - k; y = s0 * m", {0}}},
    [TN_OP_GELU] = {{"q = a * a; p = q * gb; w = p + ga; e = a * w; x = exp e; n = x + one; d = one / n; "
                     "s = one - d; y = a * s",
                     {0}}},
    [TN_OP_GELU_GRADIENT] =
        {{"q = b * b; p = q * gb; w = p + ga; e = b * w; x = exp e; n = x + one; d = one / n; "
          "s = one - d; r = q * gc; o = r + ga; f = b * s; g = f * d; h = g * o; t = s + h; "
          "y = a * t",
          {0}}},
    [TN_OP_SILU] = {{"x = exp a; n = x + one; d = one / n; s = one - d; y = a * s", {0}}},
    [TN_OP_SILU_GRADIENT] =
        {{"x = exp b; n = x + one; d = one / n; s = one - d; f = b * s; g = f * d; t = s + g; y = a * t",
          {0}}},
    [TN_OP_MULTIPLY] = {{"y = a * b", {0}}},
    [TN_OP_TANH] = {{"t = double a; x = exp t; n = x + one; d = two / n; y = one - d", {0}}},
    [TN_OP_TANH_GRADIENT] = {{"q = b * b; d = one - q; y = a * d", {0}}},
    [TN_OP_RELU] = {{"y = a max zero", {0}}},
    [TN_OP_RELU_GRADIENT] = {{"y = positive b a", {0}}},
    /* s0 the maximum, s1 the sum and the share over it, s2 the label's logit less the maximum and the row's loss */
    [TN_OP_CROSS_ENTROPY] = {{"u = move a", {0, 0}},
                             {"l = a - s0; y = exp l; u = y", {0, 1, 0, 2}},
                             {"y = share / s1; g = log s1; u = g - s2", {1, 2}},
                             {"p = a * s1; t = hit share; y = p - t", {0}}},
    /* k0: the rate */
    [TN_OP_UPDATE_SGD] = {{"g = b * k0; y = a - g", {0}}},
};

static const struct {
    const char *name;
    tn_node_kind kind;
    double value;
} inputs[] = {
    {"a", TN_NODE_A, 0},
    {"b", TN_NODE_B, 0},
    {"c", TN_NODE_C, 0},
    {"s0", TN_NODE_S0, 0},
    {"s1", TN_NODE_S1, 0},
    {"s2", TN_NODE_S2, 0},
    {"s3", TN_NODE_S3, 0},
    {"k0", TN_NODE_K0, 0},
    {"k1", TN_NODE_K1, 0},
    {"share", TN_NODE_SHARE, 0},
    {"zero", TN_NODE_CONSTANT, 0},
    {"one", TN_NODE_CONSTANT, 1},
    {"two", TN_NODE_CONSTANT, 2},
    {"ga", TN_NODE_CONSTANT, 1.59576912160573071176},
    {"gb", TN_NODE_CONSTANT, 0.07135481627260025778},
    {"gc", TN_NODE_CONSTANT, 0.21406444881780077334},
};

static const struct {
    const char *name;
    tn_node_kind kind;
    uint32_t operands;
} functions[] = {
    {"*", TN_NODE_MULTIPLY, 2},      {"+", TN_NODE_ADD, 2},         {"-", TN_NODE_SUBTRACT, 2},
    {"max", TN_NODE_GREATER, 2},     {"/", TN_NODE_DIVIDE, 2},      {"positive", TN_NODE_POSITIVE, 2},
    {"exp", TN_NODE_EXPONENTIAL, 1}, {"log", TN_NODE_LOGARITHM, 1}, {"sqrt", TN_NODE_SQUARE_ROOT, 1},
    {"double", TN_NODE_DOUBLE, 1},   {"hit", TN_NODE_HIT, 1},       {"move", TN_NODE_MOVE, 1},
};

tn_operator tn_circuit_operator(tn_node_kind kind) {
    switch (kind) {
    case TN_NODE_MULTIPLY:
        return TN_MULTIPLY;
    case TN_NODE_ADD:
    case TN_NODE_SUBTRACT:
        return TN_ADDER;
    case TN_NODE_GREATER:
    case TN_NODE_POSITIVE:
        return TN_COMPARE;
    case TN_NODE_DIVIDE:
        return TN_DIVIDE;
    case TN_NODE_EXPONENTIAL:
        return TN_EXPONENTIAL;
    case TN_NODE_LOGARITHM:
        return TN_LOGARITHM;
    case TN_NODE_SQUARE_ROOT:
        return TN_SQUARE_ROOT;
    default:
        return TN_OPERATORS;
    }
}

uint32_t tn_circuit_passes(tn_operation_kind kind) {
    uint32_t passes = 0;
    while (passes < TN_PASSES_MOST && texts[kind][passes].text) passes++;
    return passes;
}

/* ---- reading a text ---- */

enum { WORD_MOST = 12, WORDS_MOST = 5 };

typedef struct {
    const tn_circuit_latencies *latencies;
    tn_circuit *to;
    char name[TN_CIRCUIT_NODES][WORD_MOST];
    uint32_t used[TN_OPERATORS];
} reader;

static uint32_t add_node(reader *with, const char *name, const tn_circuit_node *node) {
    tn_circuit *to = with->to;
    uint32_t at = to->nodes++;
    to->node[at] = *node;
    for (size_t i = 0; name[i] && i + 1 < WORD_MOST; i++) with->name[at][i] = name[i];
    return at;
}

/* A name already made, or an input that is used for the first time. */
static uint32_t find_node(reader *with, const char *name) {
    for (uint32_t i = 0; i < with->to->nodes; i++)
        if (strcmp(with->name[i], name) == 0) return i;
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++)
        if (strcmp(inputs[i].name, name) == 0)
            return add_node(with, name,
                            &(tn_circuit_node){.kind = inputs[i].kind, .value = (float)inputs[i].value});
    return 0; /* the texts above have no such name */
}

static uint64_t latest(const tn_circuit *of, const tn_circuit_node *node) {
    uint64_t first = of->node[node->in[0]].ready, second = of->node[node->in[1]].ready;
    return first > second ? first : second;
}

static void read_statement(reader *with, char (*word)[WORD_MOST], uint32_t words) {
    tn_circuit *to = with->to;
    bool infix = words == 5 && strcmp(word[3], "=") != 0;
    uint32_t at = 0;
    if (words == 3) { /* another name of a node */
        at = find_node(with, word[2]);
    } else {
        for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
            bool here = strcmp(functions[i].name, word[2]) == 0;
            if (!here && !(infix && strcmp(functions[i].name, word[3]) == 0)) continue;
            tn_circuit_node node = {.kind = functions[i].kind};
            node.in[0] = find_node(with, word[here ? 3 : 2]);
            node.in[1] = functions[i].operands == 2 ? find_node(with, word[4]) : node.in[0];
            tn_operator kind = tn_circuit_operator(node.kind);
            node.ready = latest(to, &node) +
                         (kind < TN_OPERATORS ? with->latencies->of[kind] : node.kind == TN_NODE_MOVE);
            if (kind < TN_OPERATORS) node.instance = with->used[kind]++;
            at = add_node(with, word[0], &node);
        }
    }
    static const char outputs[] = "yuvl";
    const char *output = strchr(outputs, word[0][0]);
    if (output && word[0][1] == '\0') to->output[output - outputs] = at;
}

static void read_text(reader *with, const char *text) {
    char word[WORDS_MOST][WORD_MOST];
    uint32_t words = 0, length = 0;
    for (const char *at = text;; at++) {
        bool ends = *at == ';' || *at == '\0';
        if ((ends || *at == ' ') && length > 0) {
            word[words++][length] = '\0';
            length = 0;
        } else if (!ends && *at != ' ') {
            word[words][length++] = *at;
        }
        if (ends) {
            read_statement(with, word, words);
            words = 0;
        }
        if (*at == '\0') return;
    }
}

tn_status tn_circuit_make(tn_operation_kind kind, uint32_t pass, const tn_circuit_latencies *latencies,
                          tn_circuit *circuit, tn_error *error) {
    reader with = {.latencies = latencies, .to = circuit};
    *circuit = (tn_circuit){.kind = kind, .pass = pass};
    if (pass >= tn_circuit_passes(kind))
        return tn_fail(error, TN_INPUT, "%s has no template", tn_operation_rows[kind].kernel);
    const tn_pass *row = &tn_operation_rows[kind].pass[pass];
    circuit->form = kind == TN_OP_SCATTER ? TN_PASS_MAP : row->form;
    circuit->greatest = circuit->form == TN_PASS_REDUCE && row->with == TN_COMPARE;
    memcpy(circuit->scalar, texts[kind][pass].scalar, sizeof circuit->scalar);
    for (int i = 0; i < TN_CIRCUIT_OUTPUTS; i++) circuit->output[i] = UINT32_MAX;
    read_text(&with, texts[kind][pass].text);
    circuit->depth = 1;
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

static double wide_multiply(double a, double b) {
    return a * b;
}
static double wide_add(double a, double b) {
    return a + b;
}
static double wide_greater(double a, double b, double x, double z) {
    return a > b ? x : z;
}
static double wide_divide(double a, double b) {
    return a / b;
}
const tn_scalar_arithmetic tn_float64_arithmetic = {wide_multiply, wide_add, wide_greater, wide_divide,
                                                    exp,           log,      sqrt};

static double node_value(const tn_circuit_node *node, const tn_scalar_arithmetic *with,
                         const tn_circuit_inputs *in, const double *made) {
    double x = made[node->in[0]], z = made[node->in[1]];
    switch (node->kind) {
    case TN_NODE_A:
        return in->a;
    case TN_NODE_B:
        return in->b;
    case TN_NODE_C:
        return in->c;
    case TN_NODE_S0:
    case TN_NODE_S1:
    case TN_NODE_S2:
    case TN_NODE_S3:
        return in->s[node->kind - TN_NODE_S0];
    case TN_NODE_K0:
    case TN_NODE_K1:
        return in->k[node->kind - TN_NODE_K0];
    case TN_NODE_SHARE:
        return in->share;
    case TN_NODE_CONSTANT:
        return (double)node->value;
    case TN_NODE_MOVE:
        return x;
    case TN_NODE_DOUBLE:
        return with->add(x, x);
    case TN_NODE_HIT:
        return in->hit ? x : 0;
    case TN_NODE_MULTIPLY:
        return with->multiply(x, z);
    case TN_NODE_ADD:
        return with->add(x, z);
    case TN_NODE_SUBTRACT:
        return with->add(x, -z);
    case TN_NODE_GREATER:
        return with->greater(x, z, x, z);
    case TN_NODE_POSITIVE:
        return with->greater(x, 0, z, 0);
    case TN_NODE_DIVIDE:
        return with->divide(x, z);
    case TN_NODE_EXPONENTIAL:
        return with->exponential(x);
    case TN_NODE_LOGARITHM:
        return with->logarithm(x);
    case TN_NODE_SQUARE_ROOT:
        return with->square_root(x);
    }
    return 0;
}

void tn_circuit_run(const tn_circuit *circuit, const tn_scalar_arithmetic *arithmetic,
                    const tn_circuit_inputs *in, double *out) {
    double made[TN_CIRCUIT_NODES] = {0};
    for (uint32_t i = 0; i < circuit->nodes; i++)
        made[i] = node_value(&circuit->node[i], arithmetic, in, made);
    for (int i = 0; i < TN_CIRCUIT_OUTPUTS; i++)
        out[i] = circuit->output[i] == UINT32_MAX ? 0 : made[circuit->output[i]];
}
