#include "support/steps.h"

#include <stdlib.h>
#include <string.h>

enum { ARRAYS_MOST = 8192, OPERATIONS_MOST = 8192 };

static void *get(tn_arena *arena, size_t count, size_t size) {
    void *items;
    if (tn_arena_alloc(arena, count, size, &items, NULL) != TN_OK) abort();
    return items;
}

static tn_formats formats;

void test_step_begin(test_step *made, const char *name, tn_arena *arena) {
    *made = (test_step){.arena = arena};
    formats.accumulate = tn_fp32;
    made->step = (tn_step){.name = name,
                           .batch = 1,
                           .sequence = 32,
                           .element_bytes = 4,
                           .formats = &formats,
                           .precision = "fp32",
                           .steps_per_epoch = 1};
    made->step.array = get(arena, ARRAYS_MOST, sizeof *made->step.array);
    made->step.operation = get(arena, OPERATIONS_MOST, sizeof *made->step.operation);
    made->maker = get(arena, ARRAYS_MOST, sizeof *made->maker);
}

uint32_t test_step_array(test_step *made, tn_array_role role, uint64_t elements, bool is_core) {
    if (made->step.arrays == ARRAYS_MOST) abort();
    uint32_t position = made->step.arrays++;
    made->step.array[position] = (tn_array){.part = is_core ? TN_PART_CORE : TN_PART_INTERMEDIATE,
                                            .number = position + 1,
                                            .layer = made->layer,
                                            .role = role,
                                            .elements = elements,
                                            .is_core = is_core,
                                            .first = UINT32_MAX};
    made->maker[position] = UINT32_MAX;
    return position;
}

static void touch(test_step *made, uint32_t *after, uint32_t *count, uint32_t array, uint32_t position) {
    tn_array *this_array = &made->step.array[array];
    if (this_array->first == UINT32_MAX) this_array->first = position;
    this_array->last = position;
    uint32_t maker = made->maker[array];
    if (maker == UINT32_MAX || maker == position) return;
    for (uint32_t i = 0; i < *count; i++)
        if (after[i] == maker) return;
    after[(*count)++] = maker;
}

static void add(test_step *made, tn_operation operation) {
    if (made->step.operations == OPERATIONS_MOST) abort();
    uint32_t position = made->step.operations++;
    uint32_t *after = get(made->arena, 4, sizeof *after);
    operation.after = after;
    operation.layer = made->layer;
    for (uint32_t i = 0; i < operation.read_count; i++)
        touch(made, after, &operation.after_count, operation.reads[i], position);
    touch(made, after, &operation.after_count, operation.writes[0], position);
    made->maker[operation.writes[0]] = position;
    made->step.operation[position] = operation;
}

void test_step_product(test_step *made, tn_phase phase, uint32_t left, uint32_t right, uint32_t result,
                       uint64_t rows, uint64_t reduction, uint64_t columns) {
    uint64_t macs = rows * reduction * columns;
    add(made, (tn_operation){.kind = TN_OP_PRODUCT,
                             .phase = phase,
                             .batch = 1,
                             .rows = rows,
                             .reduction = reduction,
                             .columns = columns,
                             .macs = macs,
                             .flops = 2 * macs,
                             .reads = {left, right},
                             .read_count = 2,
                             .writes = {result},
                             .write_count = 1});
}

void test_step_vector(test_step *made, tn_operation_kind kind, tn_phase phase, uint32_t first,
                      uint32_t second, uint32_t result, uint64_t rows, uint64_t columns) {
    add(made, (tn_operation){.kind = kind,
                             .phase = phase,
                             .batch = 1,
                             .rows = rows,
                             .reduction = 1,
                             .columns = columns,
                             .flops = rows * columns,
                             .reads = {first, second},
                             .read_count = second == UINT32_MAX ? 1 : 2,
                             .writes = {result},
                             .write_count = 1});
}

static void name_layers(test_step *made) {
    for (uint32_t i = 0; i < made->step.arrays; i++)
        if (made->step.array[i].layer >= made->step.layers) made->step.layers = made->step.array[i].layer + 1;
    made->step.layer = get(made->arena, made->step.layers, sizeof *made->step.layer);
    for (uint32_t i = 0; i < made->step.layers; i++)
        if (tn_arena_format(made->arena, &made->step.layer[i].name, NULL, "layer%u", (unsigned)i) != TN_OK)
            abort();
}

tn_step *test_step_end(test_step *made) {
    name_layers(made);
    for (uint32_t i = 0; i < made->step.arrays; i++) {
        tn_array *array = &made->step.array[i];
        bool resident = array->role == TN_ARRAY_PARAMETER || array->role == TN_ARRAY_OPTIMIZER;
        if (!resident && array->first != UINT32_MAX) continue;
        array->first = 0;
        array->last = UINT32_MAX;
    }
    tn_step *step = get(made->arena, 1, sizeof *step);
    *step = made->step;
    return step;
}

/* One half of a train: cores (a x r), (r b r), (r c r) merged to (abc x r); the products of its gradient. */
typedef struct {
    uint64_t a, b, c;
    uint32_t core[3], gradient[3], pair, half;
} half_train;

static uint32_t made_of(test_step *made, uint32_t layer, tn_array_role role, uint64_t elements,
                        bool is_core) {
    made->layer = layer;
    return test_step_array(made, role, elements, is_core);
}

static half_train begin_half(test_step *made, uint32_t layer, uint64_t a, uint64_t b, uint64_t c,
                             uint64_t r) {
    half_train half = {a, b, c, {0}, {0}, 0, 0};
    const uint64_t size[] = {a * r, r * b * r, r * c * r};
    for (int i = 0; i < 3; i++) {
        half.core[i] = made_of(made, layer, TN_ARRAY_PARAMETER, size[i], true);
        half.gradient[i] = made_of(made, layer, TN_ARRAY_GRADIENT, size[i], true);
    }
    half.pair = made_of(made, layer, TN_ARRAY_INTERMEDIATE, a * b * r, false);
    half.half = made_of(made, layer, TN_ARRAY_INTERMEDIATE, a * b * c * r, false);
    test_step_product(made, TN_FORWARD, half.core[0], half.core[1], half.pair, a, r, b * r);
    test_step_product(made, TN_FORWARD, half.pair, half.core[2], half.half, a * b, r, c * r);
    return half;
}

static void end_half(test_step *made, uint32_t layer, const half_train *half, uint32_t gradient, uint64_t r) {
    uint32_t pair = made_of(made, layer, TN_ARRAY_INTERMEDIATE, half->a * half->b * r, false);
    test_step_product(made, TN_WEIGHT_GRADIENT, half->pair, gradient, half->gradient[2], r, half->a * half->b,
                      half->c * r);
    test_step_product(made, TN_WEIGHT_GRADIENT, gradient, half->core[2], pair, half->a * half->b, half->c * r,
                      r);
    test_step_product(made, TN_WEIGHT_GRADIENT, half->core[0], pair, half->gradient[1], r, half->a,
                      half->b * r);
    test_step_product(made, TN_WEIGHT_GRADIENT, pair, half->core[1], half->gradient[0], half->a, half->b * r,
                      r);
    const uint64_t size[] = {half->a * r, r * half->b * r, r * half->c * r};
    for (int i = 0; i < 3; i++)
        test_step_vector(made, TN_OP_UPDATE_SGD, TN_UPDATE, half->core[i], half->gradient[i], half->core[i],
                         1, size[i]);
}

tn_step *test_step_trains(uint32_t layers, uint64_t rank, tn_arena *arena) {
    enum { K = 32, N = 768 };
    const uint64_t r = rank;
    test_step made;
    test_step_begin(&made, "trains", arena);
    uint32_t *x = get(arena, layers + 1, sizeof *x), *z = get(arena, layers, sizeof *z),
             *before = get(arena, layers, sizeof *before), *bias = get(arena, layers, sizeof *bias);
    half_train *out = get(arena, layers, sizeof *out), *half = get(arena, layers, sizeof *half);
    x[0] = test_step_array(&made, TN_ARRAY_ACTIVATION, (uint64_t)K * N, false);
    for (uint32_t i = 0; i < layers; i++) {
        out[i] = begin_half(&made, i, 12, 8, 8, r);
        half[i] = begin_half(&made, i, 12, 8, 8, r);
        z[i] = made_of(&made, i, TN_ARRAY_INTERMEDIATE, K * r, false);
        before[i] = made_of(&made, i, TN_ARRAY_ACTIVATION, (uint64_t)K * N, false);
        x[i + 1] = made_of(&made, i, TN_ARRAY_ACTIVATION, (uint64_t)K * N, false);
        bias[i] = made_of(&made, i, TN_ARRAY_PARAMETER, N, false);
        test_step_product(&made, TN_FORWARD, x[i], half[i].half, z[i], K, N, r);
        test_step_product(&made, TN_FORWARD, z[i], out[i].half, before[i], K, r, N);
        test_step_vector(&made, TN_OP_ADD, TN_FORWARD, before[i], bias[i], before[i], K, N);
        test_step_vector(&made, TN_OP_GELU, TN_FORWARD, before[i], UINT32_MAX, x[i + 1], K, N);
    }
    uint32_t dy = test_step_array(&made, TN_ARRAY_ACTIVATION, (uint64_t)K * N, false);
    test_step_vector(&made, TN_OP_CROSS_ENTROPY, TN_FORWARD, x[layers], UINT32_MAX, dy, K, N);
    for (uint32_t i = layers; i-- > 0;) {
        uint32_t d = made_of(&made, i, TN_ARRAY_ACTIVATION, (uint64_t)K * N, false);
        uint32_t dz = made_of(&made, i, TN_ARRAY_INTERMEDIATE, K * r, false);
        uint32_t dx = made_of(&made, i, TN_ARRAY_ACTIVATION, (uint64_t)K * N, false);
        uint32_t db = made_of(&made, i, TN_ARRAY_GRADIENT, N, false);
        uint32_t dout = made_of(&made, i, TN_ARRAY_INTERMEDIATE, N * r, false);
        uint32_t din = made_of(&made, i, TN_ARRAY_INTERMEDIATE, N * r, false);
        test_step_vector(&made, TN_OP_GELU_GRADIENT, TN_INPUT_GRADIENT, before[i], dy, d, K, N);
        test_step_product(&made, TN_INPUT_GRADIENT, d, out[i].half, dz, K, N, r);
        test_step_product(&made, TN_INPUT_GRADIENT, dz, half[i].half, dx, K, r, N);
        test_step_vector(&made, TN_OP_COLUMN_SUM, TN_WEIGHT_GRADIENT, d, UINT32_MAX, db, K, N);
        test_step_product(&made, TN_WEIGHT_GRADIENT, d, z[i], dout, N, K, r);
        test_step_product(&made, TN_WEIGHT_GRADIENT, dz, x[i], din, r, K, N);
        end_half(&made, i, &out[i], dout, r);
        end_half(&made, i, &half[i], din, r);
        test_step_vector(&made, TN_OP_UPDATE_SGD, TN_UPDATE, bias[i], db, bias[i], 1, N);
        dy = dx;
    }
    return test_step_end(&made);
}

/* splitmix64 */
static uint64_t draw(uint64_t *state, uint64_t bound) {
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (z ^ (z >> 31)) % bound;
}

typedef struct {
    uint32_t array;
    uint64_t rows, columns;
} matrix;

static matrix random_matrix(test_step *made, uint64_t *state, tn_array_role role) {
    matrix operand = {0, 1 + draw(state, 12), 1 + draw(state, 12)};
    bool is_core = role != TN_ARRAY_ACTIVATION && role != TN_ARRAY_INTERMEDIATE && draw(state, 2);
    operand.array = test_step_array(made, role, operand.rows * operand.columns, is_core);
    return operand;
}

/* A vector kernel over `operand`, in place now and then. */
static matrix add_vector(test_step *made, uint64_t *state, tn_phase phase, matrix operand, matrix other) {
    tn_operation_kind kind = phase == TN_UPDATE ? TN_OP_UPDATE_SGD : (tn_operation_kind)(1 + draw(state, 13));
    bool in_place = draw(state, 4) == 0;
    matrix out = operand;
    if (!in_place)
        out.array = test_step_array(made, draw(state, 2) ? TN_ARRAY_ACTIVATION : TN_ARRAY_INTERMEDIATE,
                                    operand.rows * operand.columns, false);
    test_step_vector(made, kind, phase, operand.array, draw(state, 2) ? other.array : UINT32_MAX, out.array,
                     operand.rows, operand.columns);
    return out;
}

tn_step *test_step_random(uint64_t seed, uint32_t operations, tn_arena *arena) {
    enum { MATRICES = 256 };
    matrix known[MATRICES];
    uint32_t count = 0;
    uint64_t state = seed;
    test_step made;
    test_step_begin(&made, "random", arena);
    for (; count < 4; count++)
        known[count] = random_matrix(&made, &state, count % 2 ? TN_ARRAY_ACTIVATION : TN_ARRAY_PARAMETER);
    for (uint32_t i = 0; i < operations; i++) {
        /* Forward operations first, then the two gradients and updates in any mixture. */
        tn_phase phase = i < operations / 3 ? TN_FORWARD : (tn_phase)(1 + draw(&state, 3));
        /* The last result is taken up often, so that there are chains. */
        matrix a = known[draw(&state, 2) ? count - 1 : draw(&state, count)], b = known[draw(&state, count)],
               out;
        made.layer = (uint32_t)draw(&state, 3);
        if (phase == TN_UPDATE || draw(&state, 3) == 0) {
            out = add_vector(&made, &state, phase, a, b);
        } else {
            tn_array_role role = phase == TN_WEIGHT_GRADIENT ? TN_ARRAY_GRADIENT : TN_ARRAY_INTERMEDIATE;
            out = (matrix){0, a.rows, 1 + draw(&state, 12)};
            out.array = test_step_array(&made, role, out.rows * out.columns,
                                        role == TN_ARRAY_GRADIENT && draw(&state, 2));
            test_step_product(&made, phase, a.array, b.array, out.array, a.rows, a.columns, out.columns);
        }
        if (count < MATRICES) known[count++] = out;
    }
    return test_step_end(&made);
}
