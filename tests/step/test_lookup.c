/* Look-ups in cores, executed step by step with naive sums: rows against the table that the cores make up,
 * gradients against differences of the multilinear function, MACs against the multiply-adds counted. */
#include "step/program_cache.h"

#include "flow/tree.h"
#include "support/brute.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

enum { TOKENS = 5, MOST_INDICES = 24, MOST_CORES = 16 };

typedef struct {
    tn_weight weight;
    tn_arena arena;
    uint64_t rows, columns;
    uint32_t cores;
    double *core[MOST_CORES];
    uint64_t elements[MOST_CORES];
    uint64_t word[TOKENS];
    double *dy; /* TOKENS x columns */
} table;

static void assert_close(double value, double expected, double tolerance) {
    if (fabs(value - expected) > tolerance) fail_msg("%.17g is not %.17g", value, expected);
}

static double random_value(uint64_t *state) {
    return (double)(test_random(state) % 2001) / 1000 - 1;
}

static double *numbers(tn_arena *arena, uint64_t count) {
    double *made;
    assert_int_equal(TN_NEW(arena, count, &made, NULL), TN_OK);
    return made;
}

static table make_table(tn_format format, uint32_t d, const uint64_t *m, const uint64_t *n, uint64_t rank) {
    table t = {.weight = {.format = format, .d = d}};
    uint64_t state = 7 + format;
    memcpy(t.weight.m, m, d * sizeof *m);
    memcpy(t.weight.n, n, d * sizeof *n);
    assert_int_equal(tn_weight_set_rank(&t.weight, rank, NULL), TN_OK);
    assert_int_equal(tn_weight_rows(&t.weight, &t.rows, NULL), TN_OK);
    assert_int_equal(tn_weight_columns(&t.weight, &t.columns, NULL), TN_OK);
    t.cores = tn_weight_cores(&t.weight);
    assert_true(t.cores <= MOST_CORES);
    for (uint32_t k = 0; k < t.cores; k++) {
        uint64_t shape[TN_RANKS_MOST];
        uint32_t axes = tn_weight_core_shape(&t.weight, k, shape);
        t.elements[k] = 1;
        for (uint32_t i = 0; i < axes; i++) t.elements[k] *= shape[i];
        t.core[k] = numbers(&t.arena, t.elements[k]);
        for (uint64_t i = 0; i < t.elements[k]; i++) t.core[k][i] = random_value(&state);
    }
    for (uint32_t i = 0; i < TOKENS; i++) t.word[i] = test_random(&state) % t.rows;
    t.word[TOKENS - 1] = t.word[0]; /* a word that comes twice */
    t.dy = numbers(&t.arena, TOKENS * t.columns);
    for (uint64_t i = 0; i < TOKENS * t.columns; i++) t.dy[i] = random_value(&state);
    return t;
}

static uint64_t place(const tn_network *network, tn_indices indices, const uint64_t *value) {
    uint64_t index = 0;
    for (uint32_t i = 0; i < indices.count; i++)
        index = index * network->index_size[indices.index[i]] + value[indices.index[i]];
    return index;
}

/* Steps `value` through all values of the indices flagged in `use`; false after the last. */
static bool next(const tn_network *network, const bool *use, uint64_t *value) {
    for (uint32_t i = 0; i < network->indices; i++) {
        if (!use[i]) continue;
        if (++value[i] < network->index_size[i]) return true;
        value[i] = 0;
    }
    return false;
}

static void mark(tn_indices indices, bool *use) {
    for (uint32_t i = 0; i < indices.count; i++) use[indices.index[i]] = true;
}

/* The whole table by one sum over all indices of its cores. */
static double *whole_table(table *t) {
    tn_network network;
    bool use[MOST_INDICES] = {false};
    uint64_t value[MOST_INDICES] = {0};
    double *made = numbers(&t->arena, t->rows * t->columns);
    assert_int_equal(tn_weight_matrix(&t->weight, &t->arena, &network, NULL), TN_OK);
    assert_true(network.indices <= MOST_INDICES);
    for (uint32_t k = 0; k < network.tensors; k++) mark(network.tensor[k], use);
    do {
        double product = 1;
        for (uint32_t k = 0; k < network.tensors; k++)
            product *= t->core[k][place(&network, network.tensor[k], value)];
        made[place(&network, network.output, value)] += product;
    } while (next(&network, use, value));
    return made;
}

/* Digit of the word that a core carrying m[k] is cut at. */
static uint64_t digit(const table *t, uint64_t word, uint32_t k) {
    for (uint32_t i = t->weight.d - 1; i > k; i--) word /= t->weight.m[i];
    return word % t->weight.m[k];
}

/* The core's m-axis among its indices, and which factor it is, by the names of the uncut network. */
static bool find_cut(const table *t, uint32_t core, tn_network *uncut, tn_arena *arena, uint32_t *axis,
                     uint32_t *factor) {
    uint32_t d = t->weight.d;
    assert_int_equal(tn_weight_input_gradient(&t->weight, TOKENS, arena, uncut, NULL), TN_OK);
    tn_indices indices = uncut->tensor[core + 1];
    for (uint32_t i = 0; i < indices.count; i++) {
        if (indices.index[i] <= d || indices.index[i] > 2 * d) continue;
        *axis = i;
        *factor = indices.index[i] - d - 1;
        return true;
    }
    return false;
}

/* For every element of a cut core: where in the core it lies. */
static uint64_t *cut_places(table *t, uint32_t core, const tn_network *network, uint64_t *count) {
    tn_network uncut;
    uint32_t axis = 0, factor = 0;
    bool is_cut = find_cut(t, core, &uncut, &t->arena, &axis, &factor);
    tn_indices indices = network->tensor[core];
    bool use[MOST_INDICES] = {false};
    uint64_t value[MOST_INDICES] = {0}, *places;
    *count = 1;
    for (uint32_t i = 0; i < indices.count; i++) *count *= network->index_size[indices.index[i]];
    assert_int_equal(TN_NEW(&t->arena, *count, &places, NULL), TN_OK);
    mark(indices, use);
    do {
        uint64_t index = 0;
        for (uint32_t i = 0; i < indices.count; i++) {
            bool here = is_cut && i == axis;
            uint64_t size = here ? t->weight.m[factor] : network->index_size[indices.index[i]];
            uint64_t position =
                here ? digit(t, t->word[value[indices.index[i]]], factor) : value[indices.index[i]];
            index = index * size + position;
        }
        places[place(network, indices, value)] = index;
    } while (next(network, use, value));
    return places;
}

typedef struct {
    const tn_network *network;
    const tn_program *program;
    double *data[256];
} run;

static void execute_step(run *r, const tn_program_step *step, tn_arena *arena) {
    const tn_program_tensor *tensor = r->program->tensor;
    bool use[MOST_INDICES] = {false};
    uint64_t value[MOST_INDICES] = {0}, macs = 0;
    r->data[step->out] = numbers(arena, tensor[step->out].elements);
    mark(tensor[step->a].indices, use);
    mark(tensor[step->b].indices, use);
    do {
        macs++;
        r->data[step->out][place(r->network, tensor[step->out].indices, value)] +=
            r->data[step->a][place(r->network, tensor[step->a].indices, value)] *
            r->data[step->b][place(r->network, tensor[step->b].indices, value)];
    } while (next(r->network, use, value));
    assert_int_equal(macs, step->macs);
    assert_int_equal(macs,
                     step->shape.batch * step->shape.rows * step->shape.reduction * step->shape.columns);
}

static uint32_t core_of(const tn_program_tensor *tensor) {
    bool first = tensor->role == TN_ROLE_X || tensor->role == TN_ROLE_DX;
    return first ? 0 : tensor->core + 1;
}

static void check_rows(table *t, const double *y) {
    const double *whole = whole_table(t);
    for (uint32_t i = 0; i < TOKENS; i++)
        for (uint64_t j = 0; j < t->columns; j++)
            assert_close(y[i * t->columns + j], whole[t->word[i] * t->columns + j], 1e-12);
}

/* <dY, rows> of the table as it stands. */
static double loss(table *t) {
    const double *whole = whole_table(t);
    double sum = 0;
    for (uint32_t i = 0; i < TOKENS; i++)
        for (uint64_t j = 0; j < t->columns; j++)
            sum += t->dy[i * t->columns + j] * whole[t->word[i] * t->columns + j];
    return sum;
}

static void check_gradient(table *t, uint32_t core, const double *gradient) {
    double before = loss(t);
    for (uint64_t e = 0; e < t->elements[core]; e++) {
        t->core[core][e] += 1;
        assert_close(gradient[e], loss(t) - before, 1e-10);
        t->core[core][e] -= 1;
    }
}

static void check_table(tn_format format, uint32_t d, const uint64_t *m, const uint64_t *n, uint64_t rank,
                        tn_flow_name flow) {
    table t = make_table(format, d, m, n, rank);
    tn_network network;
    tn_program program;
    assert_int_equal(tn_lookup_network(&t.weight, TOKENS, &t.arena, &network, NULL), TN_OK);
    assert_int_equal(tn_network_check(&network, NULL), TN_OK);
    assert_int_equal(tn_lookup_program(&t.weight, TOKENS, flow, &t.arena, &program, NULL), TN_OK);
    assert_true(network.indices <= MOST_INDICES && program.tensors <= 256);

    run r = {.network = &network, .program = &program};
    uint64_t *places[MOST_CORES], count[MOST_CORES], executed[TN_PHASES] = {0};
    double *gradient[MOST_CORES] = {0};
    for (uint32_t k = 0; k < t.cores; k++) places[k] = cut_places(&t, k, &network, &count[k]);
    for (uint32_t i = 0; i < program.inputs; i++) {
        if (program.tensor[i].role == TN_ROLE_DY) {
            r.data[i] = t.dy;
            continue;
        }
        uint32_t k = core_of(&program.tensor[i]);
        assert_int_equal(program.tensor[i].elements, count[k]);
        r.data[i] = numbers(&t.arena, count[k]);
        for (uint64_t e = 0; e < count[k]; e++) r.data[i][e] = t.core[k][places[k][e]];
    }
    for (uint32_t i = 0; i < program.steps; i++) {
        const tn_program_step *step = &program.step[i];
        assert_int_equal(step->phase, i < program.forward_steps ? TN_FORWARD : TN_WEIGHT_GRADIENT);
        execute_step(&r, step, &t.arena);
        executed[step->phase] += step->macs;
        const tn_program_tensor *out = &program.tensor[step->out];
        if (out->role == TN_ROLE_Y) check_rows(&t, r.data[step->out]);
        if (out->role != TN_ROLE_DX && out->role != TN_ROLE_CORE_GRADIENT) continue;
        uint32_t k = core_of(out);
        gradient[k] = numbers(&t.arena, t.elements[k]);
        for (uint64_t e = 0; e < count[k]; e++) gradient[k][places[k][e]] += r.data[step->out][e];
    }
    for (uint32_t k = 0; k < t.cores; k++) {
        assert_non_null(gradient[k]);
        check_gradient(&t, k, gradient[k]);
    }
    for (int phase = 0; phase < TN_PHASES; phase++) assert_int_equal(program.macs[phase], executed[phase]);
    assert_int_equal(executed[TN_WEIGHT_GRADIENT], 2 * executed[TN_FORWARD]);
    tn_arena_free(&t.arena);
}

static const uint64_t M2[] = {2, 3}, N2[] = {3, 2}, M3[] = {2, 3, 2}, N3[] = {2, 2, 3};

static void tensor_train_matrices(void **state) {
    (void)state;
    check_table(TN_TTM, 2, M2, N2, 3, TN_FLOW_RIGHT_TO_LEFT);
    check_table(TN_TTM, 3, M3, N3, 2, TN_FLOW_RIGHT_TO_LEFT);
    check_table(TN_TTM, 3, M3, N3, 2, TN_FLOW_OPTIMAL);
}

static void other_formats(void **state) {
    (void)state;
    check_table(TN_TT, 2, M2, N2, 2, TN_FLOW_RIGHT_TO_LEFT);
    check_table(TN_TT, 2, M2, N2, 2, TN_FLOW_OPTIMAL);
    check_table(TN_RING, 2, M2, N2, 2, TN_FLOW_OPTIMAL);
    check_table(TN_TUCKER, 2, M2, N2, 2, TN_FLOW_OPTIMAL);
    check_table(TN_CP, 2, M2, N2, 3, TN_FLOW_OPTIMAL);
}

/* Row i of a TTM table is the product of the slices G_k[:, i_k, :, :], factors of n in order. */
static void digits_are_the_factors_of_m_in_order(void **state) {
    (void)state;
    table t = make_table(TN_TTM, 2, M2, N2, 3);
    const double *whole = whole_table(&t);
    for (uint64_t i = 0; i < 6; i++)
        for (uint64_t j = 0; j < 6; j++) {
            double sum = 0;
            for (uint64_t r = 0; r < 3; r++)
                sum += t.core[0][((i / 3) * 3 + j / 2) * 3 + r] * t.core[1][(r * 3 + i % 3) * 2 + j % 2];
            assert_close(whole[i * 6 + j], sum, 1e-12);
        }
    tn_arena_free(&t.arena);
}

/* facts of the ATIS embedding: (10,10,10) x (12,8,8), rank 30. From the right a token takes 30*8*30*8 +
 * 12*30*64 multiply-adds, from the left 12*30*8*30 + 96*30*8. */
static void atis_embedding(void **state) {
    (void)state;
    tn_arena arena = {0};
    tn_program program;
    tn_weight weight = {.format = TN_TTM, .d = 3, .m = {10, 10, 10}, .n = {12, 8, 8}};
    assert_int_equal(tn_weight_set_rank(&weight, 30, NULL), TN_OK);
    const tn_flow_name flows[] = {TN_FLOW_RIGHT_TO_LEFT, TN_FLOW_OPTIMAL};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(tn_lookup_program(&weight, 32, flows[i], &arena, &program, NULL), TN_OK);
        assert_int_equal(program.macs[TN_FORWARD], 32 * (30 * 8 * 30 * 8 + 12 * 30 * 64));
        assert_int_equal(program.macs[TN_WEIGHT_GRADIENT], 2 * program.macs[TN_FORWARD]);
        assert_int_equal(program.macs[TN_INPUT_GRADIENT], 0);
    }
    tn_arena_free(&arena);
}

/* No order of merging is cheaper than the optimal flow (every tree, by brute force). */
static void optimal_is_least(void **state) {
    (void)state;
    tn_arena arena = {0};
    tn_network network;
    tn_program program;
    tn_weight weight = {.format = TN_TTM, .d = 4, .m = {3, 5, 2, 4}, .n = {4, 2, 5, 3}};
    assert_int_equal(tn_weight_set_rank(&weight, 6, NULL), TN_OK);
    weight.rank[2] = 2;
    assert_int_equal(tn_lookup_network(&weight, 7, &arena, &network, NULL), TN_OK);
    assert_int_equal(tn_lookup_program(&weight, 7, TN_FLOW_OPTIMAL, &arena, &program, NULL), TN_OK);
    assert_int_equal(program.macs[TN_FORWARD], test_brute_force(&network, true).least_macs);
    tn_arena_free(&arena);
}

static void refusals(void **state) {
    (void)state;
    tn_arena arena = {0};
    tn_program program;
    tn_error error;
    tn_weight weight = {.format = TN_TTM, .d = 2, .m = {2, 3}, .n = {3, 2}};
    assert_int_equal(tn_weight_set_rank(&weight, 2, NULL), TN_OK);
    assert_int_equal(tn_lookup_program(&weight, 3, TN_FLOW_BIDIRECTIONAL, &arena, &program, &error),
                     TN_INPUT);
    assert_non_null(strstr(error.message, "right-to-left or optimal"));
    weight = (tn_weight){.format = TN_DENSE, .d = 1, .m = {6}, .n = {6}};
    assert_int_equal(tn_lookup_program(&weight, 3, TN_FLOW_OPTIMAL, &arena, &program, &error), TN_INPUT);
    tn_arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tensor_train_matrices),
        cmocka_unit_test(other_formats),
        cmocka_unit_test(digits_are_the_factors_of_m_in_order),
        cmocka_unit_test(atis_embedding),
        cmocka_unit_test(optimal_is_least),
        cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
