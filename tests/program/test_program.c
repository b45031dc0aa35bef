/* Programs against their definitions (support/audit.h) and the worked numbers of the reference facts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/memory.h"
#include "program/program.h"
#include "support/audit.h"
#include "support/brute.h"

static const tn_program_options forward_alone = {0}, training = {.training = true},
                                first_layer = {.training = true, .no_input_gradient = true};

static tn_weight weight_of(tn_format format, uint32_t d, const uint64_t *m, const uint64_t *n,
                           uint64_t rank) {
    tn_weight weight = {.format = format, .d = d};
    memcpy(weight.m, m, d * sizeof *m);
    memcpy(weight.n, n, d * sizeof *n);
    if (format == TN_BLOCK_TERM) weight.rank[2 * d] = 2;
    assert_int_equal(tn_weight_set_rank(&weight, rank, NULL), TN_OK);
    return weight;
}

static tn_program named(const tn_weight *weight, uint64_t tokens, tn_flow_name flow,
                        const tn_program_options *options, tn_arena *arena) {
    tn_program program;
    tn_error error;
    tn_status status = tn_program_named(weight, tokens, flow, options, arena, &program, &error);
    if (status != TN_OK) print_error("%s\n", error.message);
    assert_int_equal(status, TN_OK);
    return program;
}

static uint64_t total_of(const tn_program *program) {
    uint64_t total;
    assert_int_equal(tn_program_total_macs(program, &total, NULL), TN_OK);
    return total;
}

static const uint64_t M[] = {12, 8, 8}, N[] = {8, 8, 12};

static void worked_example(void **state) {
    (void)state;
    static const struct {
        tn_flow_name flow;
        uint64_t forward, total;
    } row[] = {
        {TN_FLOW_OPTIMAL, 691200, 2073600},
        {TN_FLOW_RIGHT_TO_LEFT, 1253376, 3 * 1253376},
        {TN_FLOW_BIDIRECTIONAL, 838656, 2515968},
        {TN_FLOW_BIDIRECTIONAL_PUBLISHED, 838656, 2958336},
    };
    tn_arena arena = {0};
    tn_weight weight = weight_of(TN_TT, 3, M, N, 12);
    for (int i = 0; i < 4; i++) {
        tn_program program = named(&weight, 32, row[i].flow, &training, &arena);
        assert_int_equal(program.macs[TN_FORWARD], row[i].forward);
        assert_int_equal(total_of(&program), row[i].total);
    }
    weight = weight_of(TN_TT, 3, M, N, 10);
    tn_program program = named(&weight, 32, TN_FLOW_BIDIRECTIONAL_PUBLISHED, &training, &arena);
    /* (G1 A) G3 costs r1 m2 r2 m3 r3 here, which is no longer M r^2 as at rank 12 = m1. */
    assert_int_equal(program.macs[TN_WEIGHT_GRADIENT], 2 * 245760 + 2 * (3 * 76800 + 64000 + 2 * 9600));
    assert_int_equal(total_of(&program), 2274560);
    program = named(&weight, 32, TN_FLOW_OPTIMAL, &training, &arena);
    assert_int_equal(total_of(&program), 1685760);
    tn_arena_free(&arena);
}

/* What the publication keeps and makes again, its phases, and its memory worked out by hand. */
static void published_details(void **state) {
    (void)state;
    tn_arena arena = {0};
    tn_weight weight = weight_of(TN_TT, 3, M, N, 12);
    tn_program program = named(&weight, 32, TN_FLOW_BIDIRECTIONAL_PUBLISHED, &training, &arena);
    const uint64_t half = 768 * 12, z = 32 * 12, rows = 32 * 768, cores = 4896;
    assert_int_equal(program.saved_elements, 2 * half + z);
    assert_int_equal(program.saved_input_elements, rows);
    assert_int_equal(program.recomputed_macs, 2 * 13824);
    assert_int_equal(program.macs[TN_INPUT_GRADIENT], 2 * 294912);
    assert_int_equal(program.macs[TN_WEIGHT_GRADIENT], 2 * 294912 + 940032);
    /* Forward: X, Y, both halves, Z. Backward: V = dY L with R, Z, X, then dX beside them. */
    assert_int_equal(program.peak_elements[TN_FORWARD], cores + 2 * rows + 2 * half + z);
    assert_int_equal(program.peak_elements[TN_INPUT_GRADIENT], cores + 3 * rows + half + 2 * z);
    tn_network network;
    assert_int_equal(tn_weight_forward(&weight, 32, &arena, &network, NULL), TN_OK);
    test_audit_program(&network, &program, true);
    program = named(&weight, 32, TN_FLOW_BIDIRECTIONAL_PUBLISHED, &first_layer, &arena);
    test_audit_program(&network, &program, false);
    assert_int_equal(program.macs[TN_INPUT_GRADIENT], 0);
    assert_int_equal(program.saved_elements, half + z);
    assert_int_equal(total_of(&program), 2958336 - 294912);
    program = named(&weight, 32, TN_FLOW_BIDIRECTIONAL_PUBLISHED, &forward_alone, &arena);
    test_audit_program(&network, &program, false);
    tn_arena_free(&arena);
}

static void published_needs_three_factors(void **state) {
    (void)state;
    tn_arena arena = {0};
    tn_program program;
    tn_error error;
    tn_weight weight = weight_of(TN_TT, 2, M, N, 3);
    assert_int_equal(
        tn_program_named(&weight, 4, TN_FLOW_BIDIRECTIONAL_PUBLISHED, &training, &arena, &program, &error),
        TN_INPUT);
    weight = weight_of(TN_RING, 3, M, N, 3);
    assert_int_equal(
        tn_program_named(&weight, 4, TN_FLOW_BIDIRECTIONAL_PUBLISHED, &training, &arena, &program, &error),
        TN_INPUT);
    tn_arena_free(&arena);
}

/* Forward and all gradients on one unrooted tree: three products per inner node, all of equal cost. */
static void check_reverse(const tn_weight *weight, uint64_t tokens, tn_flow_name flow) {
    tn_arena arena = {0};
    tn_network network;
    tn_tree tree;
    tn_tree_cost cost;
    assert_int_equal(tn_weight_forward(weight, tokens, &arena, &network, NULL), TN_OK);
    assert_int_equal(tn_flow_tree(weight, tokens, flow, &arena, &tree, NULL), TN_OK);
    assert_int_equal(tn_tree_cost_of(&network, &tree, &cost, NULL), TN_OK);

    tn_program program = named(weight, tokens, flow, &forward_alone, &arena);
    test_audit_program(&network, &program, false);
    assert_int_equal(program.macs[TN_FORWARD], cost.macs);
    assert_int_equal(program.peak_elements[TN_FORWARD], cost.peak_elements);

    program = named(weight, tokens, flow, &training, &arena);
    test_audit_program(&network, &program, true);
    assert_int_equal(total_of(&program), 3 * cost.macs);
    assert_int_equal(program.recomputed_macs, 0);

    program = named(weight, tokens, flow, &first_layer, &arena);
    test_audit_program(&network, &program, false);
    assert_true(total_of(&program) < 3 * cost.macs);
    assert_int_equal(program.macs[TN_INPUT_GRADIENT], 0);
    tn_arena_free(&arena);
}

static void every_format_and_flow(void **state) {
    (void)state;
    static const uint64_t m[] = {3, 2, 4, 2}, n[] = {2, 5, 1, 3};
    static const tn_flow_name flows[] = {TN_FLOW_DENSE, TN_FLOW_RIGHT_TO_LEFT, TN_FLOW_BIDIRECTIONAL,
                                         TN_FLOW_OPTIMAL};
    int checked = 0;
    for (int format = 0; format < TN_FORMATS; format++)
        for (uint32_t d = 1; d <= (format == TN_TT || format == TN_TTM ? 4 : 3); d++)
            for (int flow = 0; flow < 4; flow++) {
                tn_weight weight = weight_of((tn_format)format, d, m, n, 3);
                if (!tn_flow_exists(&weight, flows[flow])) continue;
                check_reverse(&weight, 5, flows[flow]);
                checked++;
            }
    assert_true(checked > 60);
}

static void dense_is_three_products(void **state) {
    (void)state;
    tn_arena arena = {0};
    tn_weight weight = weight_of(TN_DENSE, 2, M, N, 1);
    tn_program program = named(&weight, 7, TN_FLOW_DENSE, &training, &arena);
    assert_int_equal(program.steps, 3);
    for (int phase = TN_FORWARD; phase <= TN_WEIGHT_GRADIENT; phase++)
        assert_int_equal(program.macs[phase], 7 * 96 * 64);
    assert_int_equal(program.saved_elements, 0);
    assert_int_equal(program.saved_input_elements, 7 * 64);
    tn_arena_free(&arena);
}

/* Any tree of any network, hyperedges and outer products among them. */
static void random_trees_of_random_networks(void **state) {
    (void)state;
    tn_arena arena = {0};
    uint64_t seed = 5;
    uint32_t trained = 0;
    for (int round = 0; round < 400; round++) {
        const test_random_network kind = {2 + (uint32_t)(round % 6), 8, 4, true};
        tn_network network = test_network(&kind, (uint64_t)round, &arena);
        tn_merge merge[8];
        uint32_t alive[8], count = network.tensors;
        for (uint32_t t = 0; t < count; t++) alive[t] = t;
        for (uint32_t i = 0; count > 1; i++) {
            uint32_t a = (uint32_t)(test_random(&seed) % count), first = alive[a];
            alive[a] = alive[--count];
            uint32_t b = (uint32_t)(test_random(&seed) % count);
            merge[i] = (tn_merge){first, alive[b]};
            alive[b] = network.tensors + i;
        }
        tn_tree tree = {network.tensors, merge};
        tn_program program;
        tn_tree_cost cost;
        tn_error error = {0};
        assert_int_equal(tn_tree_cost_of(&network, &tree, &cost, NULL), TN_OK);
        tn_status status = tn_program_of_network(&network, &tree, &training, &arena, &program, &error);
        if (status == TN_OK) {
            test_audit_program(&network, &program, true);
            assert_int_equal(total_of(&program), 3 * cost.macs);
            trained++;
        } else {
            assert_int_equal(status, TN_INPUT);
            assert_non_null(strstr(error.message, "sum that tensor over it first"));
        }
        tn_arena_reset(&arena);
    }
    assert_true(trained > 50 && trained < 400);
    tn_arena_free(&arena);
}

/* A program repeated for other tokens: what its flow gives for those, multiply-add for multiply-add. */
static void other_tokens(void **state) {
    (void)state;
    static const uint64_t tokens[] = {1, 5, 32, 100};
    tn_arena arena = {0};
    tn_network network;
    tn_weight weight = weight_of(TN_TT, 3, M, N, 12);
    for (int flow = TN_FLOW_DENSE; flow <= TN_FLOW_OPTIMAL; flow++) {
        tn_program whole = named(&weight, 32, (tn_flow_name)flow, &training, &arena);
        for (size_t i = 0; i < sizeof tokens / sizeof *tokens; i++) {
            tn_program resized;
            assert_int_equal(tn_program_of_tokens(&whole, &weight, tokens[i], &arena, &resized, NULL), TN_OK);
            assert_int_equal(resized.steps, whole.steps);
            assert_int_equal(tn_weight_forward(&weight, tokens[i], &arena, &network, NULL), TN_OK);
            test_audit_program(&network, &resized, true);
            if (flow == TN_FLOW_OPTIMAL && tokens[i] != 32) continue; /* another tree may be best */
            tn_program own = named(&weight, tokens[i], (tn_flow_name)flow, &training, &arena);
            for (int phase = 0; phase < TN_PHASES; phase++)
                assert_int_equal(resized.macs[phase], own.macs[phase]);
            assert_int_equal(resized.saved_elements, own.saved_elements);
        }
    }
    tn_arena_free(&arena);
}

static void names(void **state) {
    (void)state;
    tn_arena arena = {0};
    char text[32];
    tn_weight weight = weight_of(TN_TTM, 2, M, N, 3);
    tn_program program = named(&weight, 7, TN_FLOW_RIGHT_TO_LEFT, &training, &arena);
    static const char *const expected[] = {"X", "G1", "G2", "dY", "T4", "Y"};
    for (uint32_t t = 0; t < 6; t++)
        assert_string_equal(tn_program_tensor_name(&program, t, text), expected[t]);
    assert_string_equal(tn_phase_names[TN_WEIGHT_GRADIENT], "weight_gradient");
    assert_string_equal(tn_phase_names[TN_UPDATE], "update");
    tn_arena_free(&arena);
}

static void hostile_input(void **state) {
    (void)state;
    tn_arena arena = {0};
    tn_error error;
    tn_program program;
    tn_weight weight = weight_of(TN_TT, 2, M, N, 3);
    tn_merge twice[] = {{0, 1}, {0, 2}, {5, 3}, {7, 4}};
    tn_tree tree = {5, twice};
    assert_int_equal(tn_program_from_tree(&weight, 4, &tree, &training, &arena, &program, &error), TN_INPUT);
    tn_tree small = {2, twice};
    assert_int_equal(tn_program_from_tree(&weight, 4, &small, &training, &arena, &program, &error), TN_INPUT);
    assert_int_equal(tn_program_named(&weight, 0, TN_FLOW_OPTIMAL, &training, &arena, &program, &error),
                     TN_INPUT);
    /* Each tensor fits 64 bits, the products or their sums do not. */
    tn_merge chain[] = {{0, 4}, {5, 3}, {6, 2}, {7, 1}};
    tn_tree straight = {5, chain};
    weight.rank[1] = weight.rank[2] = weight.rank[3] = UINT64_C(1) << 28;
    assert_int_equal(
        tn_program_from_tree(&weight, UINT64_C(1) << 40, &straight, &training, &arena, &program, &error),
        TN_OVERFLOW);
    assert_non_null(strstr(error.message, "2^64"));
    tn_arena_free(&arena);
}

static void overflow_of_each_sum(void **state) {
    (void)state;
    tn_arena arena = {0};
    tn_error error;
    tn_program program;
    tn_merge merge[] = {{0, 1}};
    tn_tree tree = {2, merge};
    /* MACs of one step fit, three times them do not. */
    tn_network network = test_einsum("ab,bc->ac", "a=2147483648,b=2147483648,c=2", &arena);
    assert_int_equal(tn_program_of_network(&network, &tree, NULL, &arena, &program, &error), TN_OK);
    assert_int_equal(tn_program_of_network(&network, &tree, &training, &arena, &program, &error), TN_OK);
    uint64_t total;
    network.index_size[2] = 3;
    assert_int_equal(tn_program_of_network(&network, &tree, &training, &arena, &program, &error), TN_OK);
    assert_int_equal(tn_program_total_macs(&program, &total, &error), TN_OVERFLOW);
    /* The parameters fit, their gradient beside them does not. */
    network.index_size[0] = 1;
    network.index_size[1] = UINT64_C(1) << 32;
    network.index_size[2] = UINT64_C(1) << 31;
    assert_int_equal(tn_program_of_network(&network, &tree, &training, &arena, &program, &error),
                     TN_OVERFLOW);
    assert_non_null(strstr(error.message, "live elements"));
    tn_arena_free(&arena);
}

static tn_status make_all(tn_arena *arena) {
    tn_weight weight = weight_of(TN_TT, 3, M, N, 12);
    tn_program program;
    tn_error error;
    TN_TRY(
        tn_program_named(&weight, 32, TN_FLOW_BIDIRECTIONAL_PUBLISHED, &training, arena, &program, &error));
    return tn_program_named(&weight, 32, TN_FLOW_OPTIMAL, &training, arena, &program, &error);
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    for (long n = 1;; n++) {
        tn_arena arena = {0};
        tn_memory_fail_at(n);
        tn_status status = make_all(&arena);
        long requests = tn_memory_requests();
        tn_memory_fail_at(0);
        tn_arena_free(&arena);
        if (requests < n) {
            assert_int_equal(status, TN_OK);
            assert_true(n > 3);
            return;
        }
        assert_int_equal(status, TN_MEMORY);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(worked_example),
        cmocka_unit_test(published_details),
        cmocka_unit_test(published_needs_three_factors),
        cmocka_unit_test(every_format_and_flow),
        cmocka_unit_test(dense_is_three_products),
        cmocka_unit_test(random_trees_of_random_networks),
        cmocka_unit_test(other_tokens),
        cmocka_unit_test(names),
        cmocka_unit_test(hostile_input),
        cmocka_unit_test(overflow_of_each_sum),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
