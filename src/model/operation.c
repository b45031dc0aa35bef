#include "model/operation.h"

#include "base/checked.h"

#include <inttypes.h>
#include <math.h>
#include <stdatomic.h>
#include <string.h>
#include <threads.h>

const char *const tn_array_role_names[] = {
    [TN_ARRAY_PARAMETER] = "parameter",
    [TN_ARRAY_GRADIENT] = "gradient",
    [TN_ARRAY_OPTIMIZER] = "optimizer",
    [TN_ARRAY_CONSTANT] = "constant",
    [TN_ARRAY_CACHE] = "cache",
    [TN_ARRAY_ACTIVATION] = "activation",
    [TN_ARRAY_INTERMEDIATE] = "intermediate",
    [TN_ARRAY_ROLES] = NULL,
};

const char *const tn_array_part_names[] = {
    [TN_PART_CORE] = "core",
    [TN_PART_WEIGHT] = "weight",
    [TN_PART_TABLE] = "table",
    [TN_PART_BIAS] = "bias",
    [TN_PART_SCALE] = "scale",
    [TN_PART_SHIFT] = "shift",
    [TN_PART_OUTPUT] = "output",
    [TN_PART_INPUT_GRADIENT] = "input-gradient",
    [TN_PART_INTERMEDIATE] = "intermediate",
    [TN_PART_GRADIENT_SUM] = "gradient-sum",
    [TN_PART_STATISTICS] = "statistics",
    [TN_PART_ROTATIONS] = "rotations",
    [TN_PART_SCORES] = "scores",
    [TN_PART_SCORES_GRADIENT] = "scores-gradient",
    [TN_PART_VALUE_GRADIENT] = "value-gradient",
    [TN_PART_QUERY_GRADIENT] = "query-gradient",
    [TN_PART_KEY_GRADIENT] = "key-gradient",
    [TN_PART_KEPT] = "kept",
    [TN_PART_KEPT_HEADS] = "kept-heads",
    [TN_PART_ENTROPY] = "entropy",
    [TN_PART_MASK] = "mask",
    [TN_PART_REGENERATED] = "regenerated",
    [TN_PART_PREDICTOR_INPUT] = "predictor-input",
    [TN_PART_PREDICTOR_IN] = "predictor-in",
    [TN_PART_PREDICTOR_OUT] = "predictor-out",
    [TN_PART_PREDICTOR_HIDDEN] = "predictor-hidden",
    [TN_PART_PREDICTOR_HIDDEN_GRADIENT] = "predictor-hidden-gradient",
    [TN_PART_PREDICTED] = "predicted",
    [TN_PART_WINDOWS] = "windows",
    [TN_PART_WINDOWS_GRADIENT] = "windows-gradient",
    [TN_PART_GATES_GRADIENT] = "gates-gradient",
    [TN_PART_TAPS] = "taps",
    [TN_PART_DECAY] = "decay",
    [TN_PART_STATES] = "states",
    [TN_PART_STEP_GRADIENT] = "step-gradient",
    [TN_PART_WRITE_GRADIENT] = "write-gradient",
    [TN_PART_READ_GRADIENT] = "read-gradient",
    [TN_PART_KEY_CACHE] = "key-cache",
    [TN_PART_VALUE_CACHE] = "value-cache",
    [TN_PART_IMPORTANCE] = "importance",
    [TN_PART_CHOSEN] = "chosen",
    [TN_PART_PLACE] = "place",
    [TN_ARRAY_PARTS] = NULL,
};

/* A pass by its text, the scalars of the row that its outputs become, and FLOPs beyond the operators. */
#define MAP(...)                                                                                             \
    { TN_PASS_MAP, 0, __VA_ARGS__ }
#define REDUCE(...)                                                                                          \
    { TN_PASS_REDUCE, TN_ADDER, __VA_ARGS__ }
#define GREATEST(...)                                                                                        \
    { TN_PASS_REDUCE, TN_COMPARE, __VA_ARGS__ }
#define ACCUMULATE(...)                                                                                      \
    { TN_PASS_ACCUMULATE, TN_ADDER, __VA_ARGS__ }
#define PER_ROW(...)                                                                                         \
    { TN_PASS_PER_ROW, 0, __VA_ARGS__ }

/* clang-format off */
const tn_operation_row tn_operation_rows[TN_OPERATION_KINDS] = {
    /* batch * rows * reduction * columns multiply-adds */
    [TN_OP_PRODUCT] = {"product", "matmul", TN_SHAPE_PRODUCT, "lr|bb", "y|y", {{0}}},

    [TN_OP_LOOKUP] = {"lookup", "lookup", TN_SHAPE_LOOKUP, "t|a", "y", {MAP("y = move a")}},
    [TN_OP_APPEND] = {"append", "append", TN_SHAPE_APPEND, "x", "a", {MAP("y = move a")}},
    /* a magnitude drops the sign, which costs nothing */
    [TN_OP_IMPORTANCE] = {"importance", "importance", TN_SHAPE_IMPORTANCE, "x", "a", {ACCUMULATE("u = move a")}},
    /* a pass compares every number with a pivot; passes are those of tn_quick_select_comparisons and one that filters */
    [TN_OP_TOP] = {"top", "top", TN_SHAPE_TOP, "x", "a", {GREATEST("u = move a")},
        .published = "Wang, Zhang, Han, SpAtten, HPCA 2021, section IV-B: quick selection, then a filter"},
    [TN_OP_SCATTER] = {"scatter", "scatter", TN_SHAPE_SCATTER, "d|t", "t", {ACCUMULATE("u = move a")}},
    [TN_OP_ADD] = {"add", "add", TN_SHAPE_ADD, "xb", "y", {MAP("y = a + b")}, .may_fuse = true},
    [TN_OP_SUBTRACT] = {"subtract", "subtract", TN_SHAPE_MAP, "xx", "y", {MAP("y = a - b")}},
    [TN_OP_MULTIPLY] = {"multiply", "multiply", TN_SHAPE_MAP, "xx", "y", {MAP("y = a * b")}},
    [TN_OP_COLUMN_SUM] = {"column-sum", "column-sum", TN_SHAPE_SUM, "d", "v", {ACCUMULATE("u = move a")}},

    /* sum of dy z, z = (x - mean) r made anew from what is kept; s0 the mean, s1 r */
    [TN_OP_SCALE_GRADIENT] = {"column-sum", "scale-gradient", TN_SHAPE_SUM, "dxs", "v",
        {ACCUMULATE("d = b - s0; z = d * s1; u = a * z")}},
    /* sum of dy z, z = x r */
    [TN_OP_RMS_SCALE_GRADIENT] = {"rms-scale-gradient", "rms-scale-gradient", TN_SHAPE_SUM, "dxs", "v",
        {ACCUMULATE("z = b * s0; u = a * z")}, .of_heads = true},

    /* k0: 1/sqrt(depth). s0 the maximum of the scaled scores, s1 the sum of e = exp(z - maximum) and its reciprocal. */
    [TN_OP_SOFTMAX] = {"softmax", "softmax", TN_SHAPE_SCORES, "x", "y",
        {GREATEST("y = a * k0; u = y"),
         REDUCE("d = a - s0; y = exp d; u = y", {0, 1}),
         PER_ROW("y = one / s1", {1}, -1),
         MAP("y = a * s1")},
        .published = "the formula divides every e, one FLOP; the circuit multiplies it by a quotient of its row"},
    /* sum of p dp; p (dp - sum), scaled */
    [TN_OP_SOFTMAX_GRADIENT] = {"softmax-gradient", "softmax-gradient", TN_SHAPE_SCORES, "yd", "e",
        {REDUCE("u = a * b"),
         MAP("d = b - s0; p = a * d; y = p * k0")}},

    /* k0: 1/columns, k1: epsilon. s0 the mean, s1 r = 1/sqrt(variance + epsilon) */
    [TN_OP_LAYER_NORM] = {"layer-norm", "layernorm", TN_SHAPE_ROWS, "xvv", "ys",
        {REDUCE("u = move a"),
         PER_ROW("y = s0 * k0"),
         REDUCE("d = a - s0; u = d * d", {0, 1}),
         PER_ROW("m = s1 * k0; e = m + k1; r = sqrt e; y = one / r", {1}),
         MAP("d = a - s0; z = d * s1; g = z * b; y = g + c", {0}, -1)},
        .published = "(x - mean) r scale + shift; the circuit makes x - mean again (Ba, Kiros, Hinton 2016, equation 4)"},
    /* with z = (x - mean) r, g = dy scale: means of g and g z; r (g - mean(g) - z mean(g z)) */
    [TN_OP_LAYER_NORM_GRADIENT] = {"layer-norm-gradient", "layernorm-gradient", TN_SHAPE_ROWS, "dxsv", "e",
        {REDUCE("d = b - s0; z = d * s1; g = a * c; u = g; v = g * z", {0, 2, 3}),
         PER_ROW("y = s2 * k0; u = s3 * k0", {2, 3}),
         MAP("d = b - s0; z = d * s1; g = a * c; h = g - s2; k = z * s3; m = h - k; y = s1 * m", {0}, -3)},
        .published = "r (g - mean(g) - z mean(g z)); the circuit makes z and g again"},

    [TN_OP_RMS_NORM] = {"rms-norm", "rms-norm", TN_SHAPE_ROWS, "xv", "ys",
        {REDUCE("u = a * a"),
         PER_ROW("m = s0 * k0; e = m + k1; r = sqrt e; y = one / r"),
         MAP("z = a * s0; y = z * b")},
        .published = "x r scale, r = 1/sqrt(mean(x^2) + e) (Zhang, Sennrich 2019, equation 4)", .of_heads = true},
    /* with z = x r, g = dy scale: mean of g z; r (g - z mean(g z)) */
    [TN_OP_RMS_NORM_GRADIENT] = {"rms-norm-gradient", "rms-norm-gradient", TN_SHAPE_ROWS, "dxsv", "e",
        {REDUCE("z = b * s0; g = a * c; u = g * z", {0, 1}),
         PER_ROW("y = s1 * k0", {1}),
         MAP("z = b * s0; g = a * c; k = z * s1; m = g - k; y = s0 * m", {0}, -2)},
        .published = "r (g - z mean(g z)); the circuit makes z and g again", .of_heads = true},

    /* x (1 - 1/(exp(x (a + b q)) + 1)), q = x x: as many operators as the formula */
    [TN_OP_GELU] = {"gelu", "gelu", TN_SHAPE_MAP, "x", "y",
        {MAP("q = a * a; p = q * gb; w = p + ga; e = a * w; x = exp e; n = x + one; d = one / n; s = one - d; "
             "y = a * s")},
        .published = "x/2 (1 + tanh(k x (1 + c q))), q = x x (Hendrycks, Gimpel 2016, section 2), 9 FLOPs",
        .may_fuse = true},
    /* s = 1 - 1/(..), dy (s + x s (1 - s) (a + 3 b q)) */
    [TN_OP_GELU_GRADIENT] = {"gelu-gradient", "gelu-gradient", TN_SHAPE_MAP, "dx", "e",
        {MAP("q = b * b; p = q * gb; w = p + ga; e = b * w; x = exp e; n = x + one; d = one / n; s = one - d; "
             "r = q * gc; o = r + ga; f = b * s; g = f * d; h = g * o; t = s + h; y = a * t", {0}, 3)},
        .published = "t = tanh(..) again (6 FLOPs), dy ((1 + t)/2 + x/2 (1 - t t) k (1 + 3 c q)) (12); the circuit has "
                     "1 - s at hand"},
    [TN_OP_TANH] = {"tanh", "tanh", TN_SHAPE_MAP, "x", "y",
        {MAP("t = double a; x = exp t; n = x + one; d = two / n; y = one - d", {0}, -3)},
        .published = "a hyperbolic tangent is one FLOP; the circuit spells out 1 - 2/(exp(2x) + 1)", .may_fuse = true},
    [TN_OP_TANH_GRADIENT] = {"tanh-gradient", "tanh-gradient", TN_SHAPE_MAP, "dy", "e",
        {MAP("q = b * b; d = one - q; y = a * d")}},
    [TN_OP_RELU] = {"relu", "relu", TN_SHAPE_MAP, "x", "y", {MAP("y = a max zero")}, .may_fuse = true},
    [TN_OP_RELU_GRADIENT] = {"relu-gradient", "relu-gradient", TN_SHAPE_MAP, "dy", "e", {MAP("y = positive b a")}},
    [TN_OP_SQUARED_RELU] = {"squared-relu", "squared-relu", TN_SHAPE_MAP, "x", "y", {MAP("r = a max zero; y = r * r")}},
    [TN_OP_SQUARED_RELU_GRADIENT] = {"squared-relu-gradient", "squared-relu-gradient", TN_SHAPE_MAP, "dx", "e",
        {MAP("r = b max zero; t = double r; y = a * t", {0}, 1)},
        .published = "2 max(x, 0) dy, 3 FLOPs (So et al., Primer, NeurIPS 2021); doubling is free in a circuit"},
    /* max(x, 0) + log(1 + exp(-|x|)), which no x overflows: -|x| = x - 2 max(x, 0) */
    [TN_OP_SOFTPLUS] = {"softplus", "softplus", TN_SHAPE_MAP, "x", "y",
        {MAP("m = a max zero; t = double m; i = a - t; x = exp i; n = x + one; g = log n; y = m + g", {0}, -3)},
        .published = "log(1 + exp(x)), 3 FLOPs (Dugas et al., NeurIPS 2000)"},
    /* dy (1 - 1/(exp(x) + 1)) */
    [TN_OP_SOFTPLUS_GRADIENT] = {"softplus-gradient", "softplus-gradient", TN_SHAPE_MAP, "dx", "e",
        {MAP("x = exp b; n = x + one; d = one / n; s = one - d; y = a * s", {0}, -2)},
        .published = "dy / (1 + exp(-x)), 3 FLOPs, a sign being free"},
    /* x (1 - 1/(exp(x) + 1)) */
    [TN_OP_SILU] = {"silu", "silu", TN_SHAPE_MAP, "x", "y",
        {MAP("x = exp a; n = x + one; d = one / n; s = one - d; y = a * s", {0}, -2)},
        .published = "x / (1 + exp(-x)) (Elfwing, Uchibe, Doya 2018, equation 3), 3 FLOPs, a sign being free"},
    /* s = 1 - d with d = 1/(exp(x) + 1), dy (s + x s d) */
    [TN_OP_SILU_GRADIENT] = {"silu-gradient", "silu-gradient", TN_SHAPE_MAP, "dx", "e",
        {MAP("x = exp b; n = x + one; d = one / n; s = one - d; f = b * s; g = f * d; t = s + g; y = a * t")},
        .published = "s = 1 / (1 + exp(-x)) (3 FLOPs), dy s (1 + x (1 - s)) (5): as many"},
    /* k0: 1/tokens */
    [TN_OP_MEAN] = {"mean", "mean", TN_SHAPE_MEAN, "x", "t", {ACCUMULATE("u = a * k0")}},
    [TN_OP_MEAN_GRADIENT] = {"mean-gradient", "mean-gradient", TN_SHAPE_MEAN, "t", "e", {MAP("y = a * k0")}},
    /* s0 the maximum, s1 the sum of e = exp(z - maximum) over the chosen, or over all. The list of the greatest so far takes
     * one comparison an element, with the least in it; what is put into it is not counted. */
    [TN_OP_ROUTE] = {"route", "route", TN_SHAPE_ROUTE, "x", "y",
        {GREATEST("u = move a"),
         REDUCE("d = a - s0; y = exp d; u = y", {0, 1}),
         PER_ROW("y = one / s1", {1}),
         MAP("y = result * s1")}},
    /* Of dg, logits, gates g: g (dg - sum g dg), and of p = softmax(logits) and the balance's slope b: p (b - sum p b). */
    [TN_OP_ROUTE_GRADIENT] = {"route-gradient", "route-gradient", TN_SHAPE_ROUTE, "dxy", "e",
        {GREATEST("u = move b"),
         REDUCE("d = b - s0; y = exp d; u = y", {0, 1}),
         PER_ROW("y = one / s1", {1}),
         REDUCE("y = result * s1; u = a * c; v = y * slope", {0, 2, 3}),
         MAP("d = a - s2; g = c * d; h = slope - s3; p = result * h; y = g + p")}},
    [TN_OP_DISPATCH] = {"dispatch", "dispatch", TN_SHAPE_ROUTED, "aa", "y", {MAP("y = move a")}},
    [TN_OP_DISPATCH_GRADIENT] = {"dispatch-gradient", "dispatch-gradient", TN_SHAPE_ROUTED, "da|a", "a",
        {MAP("y = a + before")}},
    [TN_OP_COMBINE] = {"combine", "combine", TN_SHAPE_ROUTED, "xa|a", "a", {MAP("g = a * s0; y = g + before")}},
    [TN_OP_COMBINE_GRADIENT] = {"combine-gradient", "combine-gradient", TN_SHAPE_ROUTED, "aa", "e", {MAP("y = a * s0")}},
    [TN_OP_GATE_GRADIENT] = {"gate-gradient", "gate-gradient", TN_SHAPE_ROUTED, "axa|a", "a", {REDUCE("u = a * b")}},
    /* rows: features of tokens, columns: taps */
    [TN_OP_CAUSAL_CONV] = {"causal-conv", "causal-conv", TN_SHAPE_SEQUENCE, "aaa", "a",
        {REDUCE("u = earlier * tap"),
         PER_ROW("y = s0 + bias")}},
    /* to the gradients of x and of the taps; of the bias */
    [TN_OP_CAUSAL_CONV_GRADIENT] = {"causal-conv-gradient", "causal-conv-gradient", TN_SHAPE_SEQUENCE, "aaa", "aaa",
        {REDUCE("u = later * tap"),
         MAP("p = a * earlier; y = weight + p"),
         PER_ROW("y = bias + s0")}},
    /* Rows: features of tokens, columns: states. h = exp(step a) h + step x B, y = sum h C + D x, a = -exp(decay), which is made
     * once. */
    [TN_OP_SCAN] = {"scan", "scan", TN_SHAPE_SEQUENCE, "aaaaaa", "ay",
        {REDUCE("p = step * rate; e = exp p; f = e * before; i = s2 * in; h = f + i; y = h; u = h * out", {0, 1}),
         PER_ROW("m = step * x; d = skip * x; y = s1 + d")},
        .published = "Gu, Dao, Mamba, 2023, equations 2 and 4, B discretised by step B as their program does"},
    /* With g = dy C + exp(step' a) g' of the state, primes for the token behind: dx = step sum g B + D dy, dstep = x sum g B +
     * sum q a, dB += g step x, dC += dy h, da += q step, q = g exp(step a) h of the token before; dD += dy x. */
    [TN_OP_SCAN_GRADIENT] = {"scan-gradient", "scan-gradient", TN_SHAPE_SEQUENCE, "aaaaaaax", "aaaaaa",
        {REDUCE("o = dy * out; g = o + carry; p = step * rate; e = exp p; t = g * e; u = g * in; q = t * before; "
                "v = q * rate; i = g * s0; y = writes + i", {0, 1, 2}),
         MAP("r = dy * h; c = reads + r; n = q * step; y = rates + n"),
         PER_ROW("i = step * x; d = step * s1; k = skip * dy; y = d + k; m = x * s1; u = m + s2; w = dy * x; z = skips + w",
                 {0})},
        .published = "reverse mode of the scan; states are kept, exponentials made again"},
    /* the partner of x in its pair */
    [TN_OP_ROTARY] = {"rotary", "rotary", TN_SHAPE_ROTATION, "xc", "y",
        {MAP("p = a * cosine; q = partner * sine; y = p - q")}},
    [TN_OP_ROTARY_GRADIENT] = {"rotary-gradient", "rotary-gradient", TN_SHAPE_ROTATION, "dc", "e",
        {MAP("p = a * cosine; q = partner * sine; y = p + q")}},

    /* s0 the maximum, s1 the sum of e = exp(z - maximum) and the share over it, s2 the label's logit less the maximum and
     * the row's loss, which is added up by the adder that takes the label off: one FLOP more */
    [TN_OP_CROSS_ENTROPY] = {"cross-entropy", "cross-entropy", TN_SHAPE_LOSS, "x", "e",
        {GREATEST("u = move a"),
         REDUCE("l = a - s0; y = exp l; u = y", {0, 1, 0, 2}),
         PER_ROW("y = share / s1; g = log s1; u = g - s2", {1, 2}, 1),
         MAP("p = result * s1; t = hit share; y = p - t")},
        .published = "log(sum) - z of the label, added to the loss; the circuit's one adder sums, too"},

    /* k0: the rate. w - k0 g */
    [TN_OP_UPDATE_SGD] = {"update", "update-sgd", TN_SHAPE_UPDATE, "wg", "w", {MAP("g = b * k0; y = a - g")}},
    /* v = k1 v + g, w - k0 v */
    [TN_OP_UPDATE_MOMENTUM] = {"update", "update-momentum", TN_SHAPE_UPDATE, "wgo", "wo",
        {MAP("p = c * k1; u = p + b; q = u * k0; y = a - q")}},
    /* m = b1 m + (1-b1) g, v = b2 v + (1-b2) g g, w - k0 m / (sqrt(v) + e) */
    [TN_OP_UPDATE_ADAM] = {"update", "update-adam", TN_SHAPE_UPDATE, "wgoo", "woo",
        {MAP("f = c * k1; g = b * rest1; u = f + g; h = second * beta2; i = b * b; j = i * rest2; v = h + j; "
             "n = v * correction; r = sqrt n; e = r + epsilon; q = u / e; p = q * k0; y = a - p", {0}, -1)},
        .published = "bias corrections in the rate, once a step (Kingma, Ba 2015, end of section 2): 12 FLOPs; the circuit "
                     "corrects v where it is used, as most programs do, so that e keeps its meaning"},
    /* |w| against the threshold, which follows the wanted quantile by one step up or down */
    [TN_OP_SELECT] = {"select", "select", TN_SHAPE_SELECT, "w", "wk",
        {MAP("h = magnitude above threshold; u = threshold + h")},
        .published = "Yang et al., Procrustes, MICRO 2020, section 4.3"},
    /* k0: the rate, k1: where W(0) spreads to. w - k0 g, with W(0) for what the mask leaves out, against the threshold of how
     * far it is from W(0), which follows the wanted quantile by one factor up or down (Yazidi, Hammer, Multiplicative update
     * methods for incremental quantile estimation, IEEE Transactions on Cybernetics 2019). A sign is free. */
    [TN_OP_TRACK] = {"track", "track", TN_SHAPE_TRACK, "wgk", "wk",
        {MAP("g = b * k0; n = stored - g; r = draw place; i = r * k1; d = n - i; h = d above threshold; "
             "u = threshold * factor; v = h; y = n", {0}, -1)},
        .published = "update, distance and quantile of Procrustes (MICRO 2020, section 4.3), 6 FLOPs: a random number is none"},
    [TN_OP_REGENERATE] = {"regenerate", "regenerate", TN_SHAPE_REGENERATE, "wk", "y",
        {MAP("r = draw place; y = r * k1", {0}, -1)},
        .published = "where the mask leaves out, W(0); a random number is no FLOP"},
    /* s0 the maximum, s1 and s2 the sums of e = exp(z - maximum) and of e (z - maximum), k0: 1/log(columns). A row's
     * quotient is begun when its logarithm is there. */
    [TN_OP_ENTROPY] = {"entropy", "entropy", TN_SHAPE_ENTROPY, "x", "n",
        {GREATEST("u = move a"),
         REDUCE("d = a - s0; e = exp d; u = e; v = e * d", {0, 1, 2}),
         PER_ROW("g = log s1; o = s2 after g; q = o / s1; h = g - q; n = h * k0; y = total + n")}},
};
/* clang-format on */

bool tn_operation_is_elementwise(tn_operation_kind kind) {
    const tn_operation_shape shape = tn_operation_rows[kind].shape;
    return shape == TN_SHAPE_ADD || shape == TN_SHAPE_MAP || shape == TN_SHAPE_UPDATE ||
           shape == TN_SHAPE_SELECT || shape == TN_SHAPE_TRACK || shape == TN_SHAPE_REGENERATE;
}

bool tn_operation_is_across_rows(tn_operation_kind kind) {
    const tn_operation_shape shape = tn_operation_rows[kind].shape;
    return shape == TN_SHAPE_SCATTER || shape == TN_SHAPE_SUM || shape == TN_SHAPE_MEAN ||
           shape == TN_SHAPE_ROUTE || shape == TN_SHAPE_ROUTED || shape == TN_SHAPE_SEQUENCE ||
           shape == TN_SHAPE_APPEND || shape == TN_SHAPE_IMPORTANCE || shape == TN_SHAPE_TOP;
}

bool tn_operation_begins_at_zero(const tn_operation *operation) {
    const char *reads = tn_operation_rows[operation->kind].reads, *absent = strchr(reads, '|');
    return absent && operation->kind != TN_OP_PRODUCT && operation->kind != TN_OP_LOOKUP &&
           operation->read_count == (uint32_t)(absent - reads);
}

/* ---- what follows from a text ---- */

/* Operators along the paths to a node of which none is longer than another whatever the operators take. */
typedef struct {
    uint8_t count, path[TN_PATHS_MOST][TN_OPERATORS];
} paths;

static bool covers(const uint8_t *a, const uint8_t *b) {
    for (int k = 0; k < TN_OPERATORS; k++)
        if (a[k] < b[k]) return false;
    return true;
}

static void add_path(paths *all, const uint8_t *path) {
    uint8_t kept = 0;
    for (uint8_t i = 0; i < all->count; i++)
        if (covers(all->path[i], path)) return;
    for (uint8_t i = 0; i < all->count; i++)
        if (!covers(path, all->path[i])) memmove(all->path[kept++], all->path[i], TN_OPERATORS);
    if (kept < TN_PATHS_MOST) memcpy(all->path[kept++], path, TN_OPERATORS);
    all->count = kept;
}

static void add_paths(paths *all, const paths *more) {
    for (uint8_t i = 0; i < more->count; i++) add_path(all, more->path[i]);
}

static void find_paths(const tn_formula *formula, tn_pass *pass) {
    paths target[TN_FORMULA_NODES], longest = {0};
    for (uint32_t i = 0; i < formula->nodes; i++) {
        const tn_formula_node *node = &formula->node[i];
        const tn_operator kind = tn_node_operator(node->kind);
        target[i] = (paths){.count = 1};
        if (node->kind > TN_NODE_ELSEWHERE) {
            target[i] = target[node->subject[0]];
            add_paths(&target[i], &target[node->subject[1]]);
        }
        if (kind == TN_OPERATORS) continue;
        pass->operators[kind]++;
        for (uint8_t p = 0; p < target[i].count; p++) target[i].path[p][kind]++;
    }
    for (int o = 0; o < TN_FORMULA_OUTPUTS; o++)
        if (formula->output[o] != UINT32_MAX) add_paths(&longest, &target[formula->output[o]]);
    pass->paths = longest.count;
    memcpy(pass->series, longest.path, sizeof pass->series);
}

static void derive_pass(const tn_pass_row *row, tn_pass *pass) {
    tn_formula formula;
    const bool sums = row->form == TN_PASS_REDUCE || row->form == TN_PASS_ACCUMULATE;
    /* A text that cannot be read is one of the table above: a test reads them all. */
    if (row->form == TN_PASS_NONE || tn_formula_read(row->text, &formula, NULL) != TN_OK) return;
    pass->form = row->form;
    pass->sum = (uint8_t)row->sum;
    find_paths(&formula, pass);
    for (int o = TN_OUTPUT_U; sums && o <= TN_OUTPUT_V; o++) pass->sums += formula.output[o] != UINT32_MAX;
    int flops = pass->sums + row->published;
    for (int k = 0; k < TN_OPERATORS; k++) flops += pass->operators[k];
    pass->flops = (uint8_t)flops;
    pass->writes = row->form == TN_PASS_MAP || row->form == TN_PASS_ACCUMULATE ||
                   (row->form == TN_PASS_REDUCE && formula.output[TN_OUTPUT_Y] != UINT32_MAX);
    pass->takes_result = formula.takes_result;
}

/* Made once, then read alone. */
static tn_pass derived[TN_OPERATION_KINDS][TN_PASSES_MOST];
static once_flag is_derived = ONCE_FLAG_INIT;

static void derive(void) {
    for (int kind = 0; kind < TN_OPERATION_KINDS; kind++)
        for (int i = 0; i < TN_PASSES_MOST; i++)
            derive_pass(&tn_operation_rows[kind].pass[i], &derived[kind][i]);
}

const tn_pass *tn_operation_passes(tn_operation_kind kind) {
    call_once(&is_derived, derive);
    return derived[kind];
}

const tn_optimizer_row tn_optimizer_rows[TN_OPTIMIZERS] = {
    [TN_SGD] = {TN_OP_UPDATE_SGD, 0},
    [TN_MOMENTUM] = {TN_OP_UPDATE_MOMENTUM, 1},
    [TN_ADAM] = {TN_OP_UPDATE_ADAM, 2},
};

const char *const tn_optimizer_names[] = {"sgd", "momentum", "adam", NULL};

tn_vector_cost tn_vector_cost_of(tn_operation_kind kind) {
    const tn_pass *pass = tn_operation_passes(kind);
    tn_vector_cost cost = {0, 0};
    for (int i = 0; i < TN_PASSES_MOST && pass[i].form != TN_PASS_NONE; i++)
        *(pass[i].form == TN_PASS_PER_ROW ? &cost.per_row : &cost.per_element) += pass[i].flops;
    return cost;
}

/* Rounded where the whole does not divide. */
static uint64_t share_of(uint64_t count, uint64_t part, uint64_t whole) {
    if (part == 0) return count;
    return count % whole == 0 ? count / whole * part
                              : (uint64_t)llround((double)count * (double)part / (double)whole);
}

tn_status tn_operation_count(tn_operation *operation, tn_error *error) {
    uint64_t rows = operation->rows, elements;
    bool fits = tn_mul(rows, operation->columns, &elements);
    operation->macs = operation->flops = 0;
    if (operation->kind == TN_OP_PRODUCT) {
        const uint64_t size[] = {operation->batch, rows, operation->reduction, operation->columns};
        fits = tn_product(size, 4, &operation->macs);
        /* Every element of a parameter is multiplied equally often. */
        if (fits) {
            operation->macs = share_of(operation->macs, operation->live, operation->live_of);
            operation->macs = share_of(operation->macs, operation->times, operation->of_times);
        }
        fits = fits && tn_mul(2, operation->macs, &operation->flops) &&
               tn_mul(elements, operation->batch, &elements);
        for (uint32_t i = 0; i < operation->fused_count; i++)
            fits = fits && tn_mul_add(elements, tn_vector_cost_of(operation->fused[i].kind).per_element,
                                      &operation->flops);
    } else {
        tn_vector_cost cost = tn_vector_cost_of(operation->kind);
        fits = fits && tn_mul_add(elements, cost.per_element, &operation->flops) &&
               tn_mul_add(rows, cost.per_row, &operation->flops);
        if (fits) operation->flops = share_of(operation->flops, operation->times, operation->of_times);
    }
    if (fits) return TN_OK;
    return tn_fail(error, TN_OVERFLOW,
                   "the %s of %" PRIu64 " x %" PRIu64 " x %" PRIu64 " x %" PRIu64
                   " takes more than 2^64 operations; use smaller sizes",
                   tn_operation_rows[operation->kind].name, operation->batch, rows, operation->reduction,
                   operation->columns);
}

uint64_t tn_window_features(const tn_operation *operation) {
    return operation->columns / (operation->window->kernel_down * operation->window->kernel_across);
}

bool tn_operation_is_update(const tn_operation *operation) {
    const tn_operation_shape shape = tn_operation_rows[operation->kind].shape;
    return shape == TN_SHAPE_UPDATE || shape == TN_SHAPE_TRACK;
}

bool tn_pass_has_lane(const tn_pass_row *row) {
    tn_formula formula;
    if (tn_formula_read(row->text, &formula, NULL) != TN_OK) return false;
    for (uint32_t i = 0; i < formula.nodes; i++) {
        const tn_node_kind kind = formula.node[i].kind;
        if (kind == TN_NODE_ELSEWHERE || kind == TN_NODE_AFTER || kind == TN_NODE_ABOVE ||
            kind == TN_NODE_DRAW)
            return false;
    }
    return row->form != TN_PASS_MAP ||
           (formula.output[TN_OUTPUT_Y] != UINT32_MAX && formula.output[TN_OUTPUT_U] == UINT32_MAX);
}

static bool find_lane(tn_operation_kind kind) {
    const tn_operation_row *row = &tn_operation_rows[kind];
    if (row->shape == TN_SHAPE_PRODUCT || kind == TN_OP_SCATTER) return true;
    for (int i = 0; i < TN_PASSES_MOST && row->pass[i].form != TN_PASS_NONE; i++)
        if (!tn_pass_has_lane(&row->pass[i])) return false;
    return row->pass[0].form != TN_PASS_NONE;
}

/* Every step asks this of each of its operations: formulas are read once. */
bool tn_operation_has_lane(tn_operation_kind kind) {
    enum { UNKNOWN, LACKS, HAS };
    static atomic_uchar found[TN_OPERATION_KINDS];
    unsigned char answer = atomic_load_explicit(&found[kind], memory_order_relaxed);
    if (answer == UNKNOWN) {
        answer = find_lane(kind) ? HAS : LACKS;
        atomic_store_explicit(&found[kind], answer, memory_order_relaxed);
    }
    return answer == HAS;
}
