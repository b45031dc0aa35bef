#include "hardware/vector.h"

#include "base/checked.h"
#include "hardware/dot.h"
#include "hardware/loop.h"

const char *const tn_vector_names[] = {"lookup",
                                       "scatter",
                                       "add",
                                       "column-sum",
                                       "scale-gradient",
                                       "softmax",
                                       "softmax-gradient",
                                       "layernorm",
                                       "layernorm-gradient",
                                       "gelu",
                                       "gelu-gradient",
                                       "tanh",
                                       "tanh-gradient",
                                       "cross-entropy",
                                       "update-sgd",
                                       "update-momentum",
                                       "update-adam",
                                       NULL};

typedef enum { NO_PASS, MAP, REDUCE, ACCUMULATE, PER_ROW } pass_form;

enum { PASSES_MOST = 4 };

/* Operators by kind: multiply, add, compare, divide, exponential, logarithm, square root. */
typedef struct {
    pass_form form;
    uint8_t sums;                  /* REDUCE, ACCUMULATE: how many at once */
    uint8_t with;                  /* the operator that sums: TN_ADDER or TN_COMPARE */
    uint8_t series[TN_OPERATORS];  /* along the longest path of an element */
    uint8_t present[TN_OPERATORS]; /* of a lane; per row: of the kernel */
} pass;

typedef struct {
    pass pass[PASSES_MOST];
} recipe;

/* How each kernel computes. In order of tn_vector_kind.
 *   softmax           maximum of the scaled scores; exponentials and their sum; 1/sum; products
 *   its gradient      sum of g*s; s*(g - sum), scaled
 *   layer norm        sum; sum of squared differences; 1/sqrt; (x - mean) * r * gain + shift
 *   its gradient      with z = (x - mean) * r: sums of h = g*gain and h*z along the rows;
 *                     r * (h - sum/n - z*sum/n)
 *   scale gradient    sum of g*z down the columns, of a layer norm's gain
 *   GELU              x * (1 - 1/(exp(x*(a + b*x*x)) + 1)), the tanh form
 *   its gradient      the same s = 1 - 1/(..) and s + x*s*(1-s)*(a + 3*b*x*x), times g
 *   tanh              1 - 2/(exp(2x) + 1); its gradient g*(1 - y*y)
 *   cross entropy     a softmax, the logarithm of a row's sum, probabilities less the label
 *   updates           w - rate*g; with momentum m = beta*m + g; Adam with both moments and their corrections
 */
static const recipe recipes[TN_VECTOR_KINDS] = {
    [TN_VECTOR_LOOKUP] = {{{.form = MAP}}},
    [TN_VECTOR_SCATTER] = {{{.form = ACCUMULATE, .sums = 1, .with = TN_ADDER}}},
    [TN_VECTOR_ADD] = {{{.form = MAP, .series = {0, 1}, .present = {0, 1}}}},
    [TN_VECTOR_COLUMN_SUM] = {{{.form = ACCUMULATE, .sums = 1, .with = TN_ADDER}}},
    [TN_VECTOR_SCALE_GRADIENT] = {{{ACCUMULATE, 1, TN_ADDER, {2, 1}, {2, 1}}}},
    [TN_VECTOR_SOFTMAX] = {{{REDUCE, 1, TN_COMPARE, {1}, {1}},
                            {REDUCE, 1, TN_ADDER, {0, 1, 0, 0, 1}, {0, 1, 0, 0, 1}},
                            {PER_ROW, 0, 0, {0, 0, 0, 1}, {0, 0, 0, 1}},
                            {MAP, 0, 0, {1}, {1}}}},
    [TN_VECTOR_SOFTMAX_GRADIENT] = {{{REDUCE, 1, TN_ADDER, {1}, {1}}, {MAP, 0, 0, {2, 1}, {2, 1}}}},
    [TN_VECTOR_LAYER_NORM] = {{{REDUCE, 1, TN_ADDER, {0}, {0}},
                               {REDUCE, 1, TN_ADDER, {1, 1}, {1, 1}},
                               {PER_ROW, 0, 0, {1, 1, 0, 1, 0, 0, 1}, {1, 1, 0, 1, 0, 0, 1}},
                               {MAP, 0, 0, {2, 2}, {2, 2}}}},
    [TN_VECTOR_LAYER_NORM_GRADIENT] = {{{REDUCE, 2, TN_ADDER, {3, 1}, {3, 1}},
                                        {PER_ROW, 0, 0, {1}, {2}},
                                        {MAP, 0, 0, {3, 3}, {4, 3}}}},
    [TN_VECTOR_GELU] = {{{MAP, 0, 0, {4, 3, 0, 1, 1}, {4, 3, 0, 1, 1}}}},
    [TN_VECTOR_GELU_GRADIENT] = {{{MAP, 0, 0, {7, 4, 0, 1, 1}, {8, 5, 0, 1, 1}}}},
    [TN_VECTOR_TANH] = {{{MAP, 0, 0, {0, 2, 0, 1, 1}, {0, 2, 0, 1, 1}}}},
    [TN_VECTOR_TANH_GRADIENT] = {{{MAP, 0, 0, {2, 1}, {2, 1}}}},
    [TN_VECTOR_CROSS_ENTROPY] = {{{REDUCE, 1, TN_COMPARE, {0}, {0}},
                                  {REDUCE, 1, TN_ADDER, {0, 1, 0, 0, 1}, {0, 1, 0, 0, 1}},
                                  {PER_ROW, 0, 0, {0, 1, 0, 1, 0, 1}, {0, 1, 0, 1, 0, 1}},
                                  {MAP, 0, 0, {1, 1}, {1, 1}}}},
    [TN_VECTOR_UPDATE_SGD] = {{{MAP, 0, 0, {1, 1}, {1, 1}}}},
    [TN_VECTOR_UPDATE_MOMENTUM] = {{{MAP, 0, 0, {2, 2}, {2, 2}}}},
    [TN_VECTOR_UPDATE_ADAM] = {{{MAP, 0, 0, {4, 3, 0, 1, 0, 0, 1}, {7, 4, 0, 1, 0, 0, 1}}}},
};

tn_vector_kind tn_vector_of(const tn_step *step, const tn_operation *operation) {
    static const tn_vector_kind kinds[TN_OPERATION_KINDS] = {
        [TN_OP_LOOKUP] = TN_VECTOR_LOOKUP,
        [TN_OP_SCATTER] = TN_VECTOR_SCATTER,
        [TN_OP_ADD] = TN_VECTOR_ADD,
        [TN_OP_COLUMN_SUM] = TN_VECTOR_COLUMN_SUM,
        [TN_OP_SOFTMAX] = TN_VECTOR_SOFTMAX,
        [TN_OP_SOFTMAX_GRADIENT] = TN_VECTOR_SOFTMAX_GRADIENT,
        [TN_OP_LAYER_NORM] = TN_VECTOR_LAYER_NORM,
        [TN_OP_LAYER_NORM_GRADIENT] = TN_VECTOR_LAYER_NORM_GRADIENT,
        [TN_OP_GELU] = TN_VECTOR_GELU,
        [TN_OP_GELU_GRADIENT] = TN_VECTOR_GELU_GRADIENT,
        [TN_OP_TANH] = TN_VECTOR_TANH,
        [TN_OP_TANH_GRADIENT] = TN_VECTOR_TANH_GRADIENT,
        [TN_OP_CROSS_ENTROPY] = TN_VECTOR_CROSS_ENTROPY,
    };
    bool normalised = operation->kind == TN_OP_COLUMN_SUM && operation->read_count > 1;
    if (normalised) return TN_VECTOR_SCALE_GRADIENT;
    if (operation->kind != TN_OP_UPDATE) return kinds[operation->kind];
    static const tn_vector_kind updates[TN_OPTIMIZERS] = {[TN_SGD] = TN_VECTOR_UPDATE_SGD,
                                                          [TN_MOMENTUM] = TN_VECTOR_UPDATE_MOMENTUM,
                                                          [TN_ADAM] = TN_VECTOR_UPDATE_ADAM};
    return updates[step->optimizer];
}

static uint64_t depth_of(const pass *of, const tn_operator_set *operators) {
    uint64_t depth = 0;
    for (int kind = 0; kind < TN_OPERATORS; kind++)
        if (of->series[kind]) depth += of->series[kind] * operators->row[kind]->stages;
    return depth ? depth : 1; /* a pass that only moves still takes a cycle */
}

static tn_status loop_of(uint64_t trips, uint64_t depth, uint64_t *cycles, tn_error *error) {
    const tn_loop loop = {.trips = trips, .iteration_cycles = depth, .pipelined = true, .interval_cycles = 1};
    return tn_loop_cycles(&loop, cycles, error);
}

/* `outputs` sums of `terms` terms, `lanes` at a time: a matmul kernel of one row and column whose multiplier
 * is the lane's work. */
static tn_status sum_of(uint64_t outputs, uint64_t terms, uint64_t lanes, uint64_t depth, uint64_t add_cycles,
                        uint64_t *cycles, tn_error *error) {
    const tn_matmul kernel = {1, 1, lanes, {.multiply.stages = depth, .sum.stages = add_cycles, .group = 1}};
    const tn_product_size product = {outputs, 1, terms, 1};
    tn_matmul_time time;
    TN_TRY(tn_matmul_cycles(&kernel, &product, &time, error));
    *cycles = time.cycles;
    return TN_OK;
}

static tn_status pass_cycles(const pass *of, const tn_vector *kernel, uint64_t rows, uint64_t columns,
                             uint64_t *cycles, tn_error *error) {
    uint64_t depth = depth_of(of, kernel->operators), groups = tn_ceil_div(columns, kernel->lanes), trips;
    uint64_t add_cycles =
        of->form == REDUCE || of->form == ACCUMULATE ? kernel->operators->row[of->with]->stages : 1;
    switch (of->form) {
    case REDUCE:
        return sum_of(rows, columns, kernel->lanes, depth, add_cycles, cycles, error);
    case ACCUMULATE:
        return sum_of(groups, rows, 1, depth, add_cycles, cycles, error);
    case PER_ROW:
        return loop_of(rows, depth, cycles, error);
    default:
        if (!tn_mul(rows, groups, &trips))
            return tn_fail(error, TN_OVERFLOW, "a vector kernel's trips do not fit 64 bits");
        return loop_of(trips, depth, cycles, error);
    }
}

tn_status tn_vector_cycles(const tn_vector *kernel, uint64_t rows, uint64_t columns, uint64_t *cycles,
                           tn_error *error) {
    uint64_t sum = 0;
    if (tn_vector_elementwise(kernel->kind)) {
        if (!tn_mul(rows, columns, &columns))
            return tn_fail(error, TN_OVERFLOW, "a vector kernel's elements do not fit 64 bits");
        rows = 1;
    }
    for (int i = 0; i < PASSES_MOST && recipes[kernel->kind].pass[i].form != NO_PASS; i++) {
        uint64_t part;
        TN_TRY(pass_cycles(&recipes[kernel->kind].pass[i], kernel, rows, columns, &part, error));
        if (!tn_add(sum, part, &sum))
            return tn_fail(error, TN_OVERFLOW, "a vector kernel's cycles do not fit 64 bits");
    }
    *cycles = sum;
    return TN_OK;
}

bool tn_vector_elementwise(tn_vector_kind kind) {
    return kind != TN_VECTOR_LOOKUP && recipes[kind].pass[0].form == MAP;
}

uint64_t tn_vector_passes(tn_vector_kind kind) {
    uint64_t count = 0;
    for (int i = 0; i < PASSES_MOST; i++)
        count += recipes[kind].pass[i].form != NO_PASS && recipes[kind].pass[i].form != PER_ROW;
    return count;
}

/* Operators of that kind that a pass needs. */
static uint64_t amount_of(const pass *of, int kind, uint64_t lanes) {
    uint64_t present = of->form == PER_ROW ? of->present[kind] : of->present[kind] * lanes;
    bool sums = (of->form == REDUCE || of->form == ACCUMULATE) && of->with == kind;
    return present + (sums ? of->sums * lanes : 0);
}

static uint64_t most_of(tn_vector_kind vector, int kind, uint64_t lanes) {
    uint64_t most = 0;
    for (int i = 0; i < PASSES_MOST; i++) {
        uint64_t amount = amount_of(&recipes[vector].pass[i], kind, lanes);
        if (amount > most) most = amount;
    }
    return most;
}

bool tn_vector_uses(tn_vector_kind kind, tn_operator operator_kind) {
    return most_of(kind, operator_kind, 1) > 0;
}

tn_resources tn_vector_resources(const tn_device *device, const tn_vector *kernel) {
    /* Two operands read and one written: what most of them reach in a cycle. */
    enum { PORTS = 3 };
    tn_resources used = {.lut = device->control.lut + PORTS * kernel->lanes * device->control.lane_lut,
                         .ff = device->control.ff};
    for (int kind = 0; kind < TN_OPERATORS; kind++) {
        uint64_t count = most_of(kernel->kind, kind, kernel->lanes);
        if (count == 0) continue;
        const tn_operator_row *row = kernel->operators->row[kind];
        const tn_resources one = {.lut = row->lut, .ff = row->ff, .dsp = row->dsp};
        tn_resources_add(&used, &one, count);
    }
    return used;
}
