#include "model/formula.h"

#include <math.h>
#include <string.h>

const char *const tn_operator_names[] = {"multiply",  "add",         "compare", "divide", "exponential",
                                         "logarithm", "square-root", "draw",    NULL};

/* GELU's constants: ga = 2 sqrt(2/pi), gb = 0.044715 ga, gc = 3 gb. */
static const struct {
    const char *name;
    tn_node_kind kind;
    double value;
} inputs[] = {
    {"a", TN_NODE_A, 0},
    {"b", TN_NODE_B, 0},
    {"c", TN_NODE_C, 0},
    {"result", TN_NODE_A, 0},
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

static const struct function {
    const char *name;
    tn_node_kind kind;
    uint32_t operands;
} functions[] = {
    {"*", TN_NODE_MULTIPLY, 2},       {"+", TN_NODE_ADD, 2},
    {"-", TN_NODE_SUBTRACT, 2},       {"max", TN_NODE_GREATER, 2},
    {"/", TN_NODE_DIVIDE, 2},         {"positive", TN_NODE_POSITIVE, 2},
    {"above", TN_NODE_ABOVE, 2},      {"after", TN_NODE_AFTER, 2},
    {"exp", TN_NODE_EXPONENTIAL, 1},  {"log", TN_NODE_LOGARITHM, 1},
    {"sqrt", TN_NODE_SQUARE_ROOT, 1}, {"double", TN_NODE_DOUBLE, 1},
    {"hit", TN_NODE_HIT, 1},          {"move", TN_NODE_MOVE, 1},
    {"draw", TN_NODE_DRAW, 1},
};

tn_operator tn_node_operator(tn_node_kind kind) {
    switch (kind) {
    case TN_NODE_MULTIPLY:
        return TN_MULTIPLY;
    case TN_NODE_ADD:
    case TN_NODE_SUBTRACT:
        return TN_ADDER;
    case TN_NODE_GREATER:
    case TN_NODE_POSITIVE:
    case TN_NODE_ABOVE:
        return TN_COMPARE;
    case TN_NODE_DIVIDE:
        return TN_DIVIDE;
    case TN_NODE_EXPONENTIAL:
        return TN_EXPONENTIAL;
    case TN_NODE_LOGARITHM:
        return TN_LOGARITHM;
    case TN_NODE_SQUARE_ROOT:
        return TN_SQUARE_ROOT;
    case TN_NODE_DRAW:
        return TN_DRAW;
    default:
        return TN_OPERATORS;
    }
}

/* ---- reading a text ---- */

enum { WORD_MOST = 16, WORDS_MOST = 5 };
typedef char word[WORD_MOST];

typedef struct {
    tn_formula *formula;
    word name[TN_FORMULA_NODES];
    uint32_t used[TN_OPERATORS];
} reader;

static const struct function *find_function(const char *name) {
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (strcmp(functions[i].name, name) == 0) return &functions[i];
    return NULL;
}

static bool add_node(reader *state, const char *name, const tn_formula_node *node, uint32_t *made) {
    tn_formula *formula = state->formula;
    if (formula->nodes == TN_FORMULA_NODES || strlen(name) >= WORD_MOST) return false;
    *made = formula->nodes++;
    formula->node[*made] = *node;
    memcpy(state->name[*made], name, strlen(name) + 1);
    return true;
}

/* A name already made, or an input that is used for the first time. */
static bool find_node(reader *state, const char *name, uint32_t *found) {
    tn_formula *formula = state->formula;
    tn_formula_node input = {.kind = TN_NODE_ELSEWHERE};
    for (*found = 0; *found < formula->nodes; ++*found)
        if (strcmp(state->name[*found], name) == 0) return true;
    if (find_function(name)) return false;
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++)
        if (strcmp(inputs[i].name, name) == 0)
            input = (tn_formula_node){.kind = inputs[i].kind, .value = inputs[i].value};
    formula->takes_result |= strcmp(name, "result") == 0;
    if (input.kind == TN_NODE_ELSEWHERE) {
        if (formula->elsewhere == TN_FORMULA_ELSEWHERE) return false;
        input.number = formula->elsewhere++;
    }
    return add_node(state, name, &input, found);
}

/* name = x op z, name = function x [z], name = x */
static bool read_expression(reader *state, word *part, uint32_t words, uint32_t *made) {
    const struct function *first = find_function(part[2]),
                          *between = words == 5 ? find_function(part[3]) : NULL;
    const struct function *function = between ? between : first;
    tn_formula_node node;
    if (words == 3) return find_node(state, part[2], made); /* another name of a node */
    if (!function || words != (between ? 5 : 3 + function->operands)) return false;
    node = (tn_formula_node){.kind = function->kind};
    if (!find_node(state, part[between ? 2 : 3], &node.subject[0])) return false;
    node.subject[1] = node.subject[0];
    if (function->operands == 2 && !find_node(state, part[4], &node.subject[1])) return false;
    tn_operator kind = tn_node_operator(node.kind);
    if (kind < TN_OPERATORS) node.number = state->used[kind]++;
    return add_node(state, part[0], &node, made);
}

static bool read_statement(reader *state, word *part, uint32_t words) {
    static const char outputs[] = "yuvl";
    uint32_t made;
    if (words < 3 || strcmp(part[1], "=") != 0 || !read_expression(state, part, words, &made)) return false;
    const char *output = strchr(outputs, part[0][0]);
    if (output && part[0][1] == '\0') state->formula->output[output - outputs] = made;
    return true;
}

tn_status tn_formula_read(const char *text, tn_formula *formula, tn_error *error) {
    reader state = {.formula = formula};
    word part[WORDS_MOST];
    uint32_t words = 0, length = 0;
    *formula = (tn_formula){0};
    for (int i = 0; i < TN_FORMULA_OUTPUTS; i++) formula->output[i] = UINT32_MAX;
    for (const char *letter = text, *statement = text;; letter++) {
        bool ends = *letter == ';' || *letter == '\0', fits = true;
        if ((ends || *letter == ' ') && length > 0) {
            part[words++][length] = '\0';
            length = 0;
        } else if (!ends && *letter != ' ') {
            fits = words < WORDS_MOST && length + 1 < WORD_MOST;
            if (fits) part[words][length++] = *letter;
        }
        if (!fits || (ends && !read_statement(&state, part, words)))
            return tn_fail(error, TN_INPUT, "\"%.60s\" is no statement of a formula: name = x op z",
                           statement);
        if (*letter == '\0') return TN_OK;
        if (!ends) continue;
        words = 0;
        statement = letter + 1;
    }
}

/* ---- arithmetic ---- */

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

/* Two floats' product, sum, quotient and root, rounded from the doubles', are as if rounded once (Figueroa 1995). */
static double short_multiply(double a, double b) {
    return (double)(float)(a * b);
}
static double short_add(double a, double b) {
    return (double)(float)(a + b);
}
static double short_divide(double a, double b) {
    return (double)(float)(a / b);
}
static double short_exponential(double x) {
    return (double)expf((float)x);
}
static double short_logarithm(double x) {
    return (double)logf((float)x);
}
static double short_square_root(double x) {
    return (double)sqrtf((float)x);
}
const tn_scalar_arithmetic tn_float32_arithmetic = {short_multiply,   short_add,         wide_greater,
                                                    short_divide,     short_exponential, short_logarithm,
                                                    short_square_root};

static double input_value(const tn_formula_node *node, const tn_formula_inputs *formula_inputs) {
    switch (node->kind) {
    case TN_NODE_A:
        return formula_inputs->a;
    case TN_NODE_B:
        return formula_inputs->b;
    case TN_NODE_C:
        return formula_inputs->c;
    case TN_NODE_SHARE:
        return formula_inputs->share;
    case TN_NODE_CONSTANT:
        return node->value;
    case TN_NODE_ELSEWHERE:
        return formula_inputs->elsewhere[node->number];
    default:
        return node->kind < TN_NODE_K0 ? formula_inputs->s[node->kind - TN_NODE_S0]
                                       : formula_inputs->k[node->kind - TN_NODE_K0];
    }
}

static double node_value(const tn_formula_node *node, const tn_scalar_arithmetic *arithmetic, bool hit,
                         double x, double z) {
    switch (node->kind) {
    case TN_NODE_DOUBLE:
        return arithmetic->add(x, x);
    case TN_NODE_HIT:
        return hit ? x : 0;
    case TN_NODE_MULTIPLY:
        return arithmetic->multiply(x, z);
    case TN_NODE_ADD:
        return arithmetic->add(x, z);
    case TN_NODE_SUBTRACT:
        return arithmetic->add(x, -z);
    case TN_NODE_GREATER:
        return arithmetic->greater(x, z, x, z);
    case TN_NODE_POSITIVE:
        return arithmetic->greater(x, 0, z, 0);
    case TN_NODE_ABOVE:
        return arithmetic->greater(x, z, 1, -1);
    case TN_NODE_DIVIDE:
        return arithmetic->divide(x, z);
    case TN_NODE_EXPONENTIAL:
        return arithmetic->exponential(x);
    case TN_NODE_LOGARITHM:
        return arithmetic->logarithm(x);
    case TN_NODE_SQUARE_ROOT:
        return arithmetic->square_root(x);
    default: /* moved, or waited for */
        return x;
    }
}

void tn_formula_run(const tn_formula *formula, const tn_scalar_arithmetic *arithmetic,
                    const tn_formula_inputs *formula_inputs, double *out) {
    double made[TN_FORMULA_NODES] = {0};
    for (uint32_t i = 0; i < formula->nodes; i++) {
        const tn_formula_node *node = &formula->node[i];
        made[i] = node->kind <= TN_NODE_ELSEWHERE
                      ? input_value(node, formula_inputs)
                      : node_value(node, arithmetic, formula_inputs->hit, made[node->subject[0]],
                                   made[node->subject[1]]);
    }
    for (int i = 0; i < TN_FORMULA_OUTPUTS; i++)
        out[i] = formula->output[i] == UINT32_MAX ? 0 : made[formula->output[i]];
}
