/* The cheapest trees against the enumeration of every tree, on random networks and as flows of weights. */
#include "flow/named.h"
#include "flow/search.h"
#include "support/brute.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

/* The least MACs of all trees that were shown, in order. */
typedef struct {
    uint64_t macs[TN_CHEAPEST_MOST];
    uint32_t count;
} least;

static tn_status take(void *user, const tn_tree *tree, const tn_tree_cost *cost, tn_error *error) {
    least *minima = user;
    uint32_t index = minima->count < TN_CHEAPEST_MOST ? minima->count++ : TN_CHEAPEST_MOST;
    (void)tree;
    (void)error;
    for (; index > 0 && minima->macs[index - 1] > cost->macs; index--)
        if (index < TN_CHEAPEST_MOST) minima->macs[index] = minima->macs[index - 1];
    if (index < TN_CHEAPEST_MOST) minima->macs[index] = cost->macs;
    return TN_OK;
}

static void check_all_differ(const tn_tree *tree, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t j = 0; j < i; j++) assert_false(tn_tree_equal(&tree[i], &tree[j]));
}

static void are_the_least_of_all(void **state) {
    (void)state;
    unsigned full = 0;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        tn_arena arena = {0};
        const test_random_network kind = {
            .tensors = 1 + (uint32_t)(seed % 6), .most_indices = 9, .most_size = 5, .hyperedges = seed % 2};
        tn_network network = test_network(&kind, seed, &arena);
        tn_tree tree[TN_CHEAPEST_MOST];
        uint32_t count;
        least all = {.count = 0};
        assert_int_equal(tn_search_every_tree(&network, NULL, take, &all, NULL), TN_OK);
        assert_int_equal(tn_cheapest_trees(&network, &arena, tree, &count, NULL), TN_OK);
        assert_int_equal(count, all.count);
        for (uint32_t i = 0; i < count; i++) {
            tn_tree_cost cost;
            assert_int_equal(tn_tree_check(&network, &tree[i], NULL), TN_OK);
            assert_int_equal(tn_tree_cost_of(&network, &tree[i], &cost, NULL), TN_OK);
            assert_int_equal(cost.macs, all.macs[i]);
        }
        check_all_differ(tree, count);
        full += count == TN_CHEAPEST_MOST;
        tn_arena_free(&arena);
    }
    assert_true(full > 90);
}

static tn_weight weight_of(tn_format format, uint32_t d, uint64_t rank) {
    static const uint64_t m[] = {12, 8, 8, 2, 2, 2, 2}, n[] = {8, 8, 12, 2, 2, 2, 2};
    tn_weight weight = {.format = format, .d = d};
    memcpy(weight.m, m, d * sizeof *m);
    memcpy(weight.n, n, d * sizeof *n);
    assert_int_equal(tn_weight_set_rank(&weight, rank, NULL), TN_OK);
    return weight;
}

/* `optimal` and the flows behind it are different trees, and the cheapest there are. */
static void check_flows(const tn_weight *weight, uint64_t tokens) {
    tn_arena arena = {0};
    tn_network network;
    tn_tree tree[TN_CHEAPEST_MOST];
    tn_tree_cost cost;
    least all = {.count = 0};
    uint32_t count = 1;
    assert_int_equal(tn_weight_forward(weight, tokens, &arena, &network, NULL), TN_OK);
    assert_int_equal(tn_search_every_tree(&network, NULL, take, &all, NULL), TN_OK);
    assert_int_equal(tn_flow_tree(weight, tokens, TN_FLOW_OPTIMAL, &arena, &tree[0], NULL), TN_OK);
    for (int flow = TN_FLOW_CHEAPEST_2; flow <= TN_FLOW_CHEAPEST_8; flow++)
        if (tn_flow_exists(weight, (tn_flow_name)flow))
            assert_int_equal(tn_flow_tree(weight, tokens, (tn_flow_name)flow, &arena, &tree[count++], NULL),
                             TN_OK);
    assert_int_equal(count, all.count);
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(tn_tree_cost_of(&network, &tree[i], &cost, NULL), TN_OK);
        assert_int_equal(cost.macs, all.macs[i]);
    }
    check_all_differ(tree, count);
    tn_arena_free(&arena);
}

static void flows_are_the_cheapest_trees(void **state) {
    (void)state;
    const tn_format formats[] = {TN_TT, TN_TTM, TN_RING, TN_TUCKER, TN_CP, TN_HT};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        for (uint32_t d = 1; d <= (formats[i] == TN_HT ? 1 : 2); d++) {
            const tn_weight weight = weight_of(formats[i], d, 3);
            check_flows(&weight, 1);
            check_flows(&weight, 32);
        }
    const tn_weight layer = weight_of(TN_TT, 3, 12);
    check_flows(&layer, 32);
}

static void absent_ones_are_refused(void **state) {
    (void)state;
    tn_arena arena = {0};
    tn_tree tree[TN_CHEAPEST_MOST];
    tn_error error;
    uint32_t count;
    const tn_weight three = weight_of(TN_TT, 1, 4), two = weight_of(TN_TTM, 1, 4),
                    many = weight_of(TN_TT, 7, 2), dense = {.format = TN_DENSE, .d = 1, .m = {12}, .n = {8}};
    assert_true(tn_flow_exists(&three, (tn_flow_name)(TN_FLOW_CHEAPEST_2 + 1)));
    assert_false(tn_flow_exists(&three, (tn_flow_name)(TN_FLOW_CHEAPEST_2 + 2)));
    assert_false(tn_flow_exists(&two, TN_FLOW_CHEAPEST_2));
    assert_false(tn_flow_exists(&dense, TN_FLOW_CHEAPEST_2));
    assert_false(tn_flow_exists(&many, TN_FLOW_CHEAPEST_2)); /* 15 tensors */
    assert_int_equal(tn_flow_tree(&two, 4, TN_FLOW_CHEAPEST_2, &arena, &tree[0], &error), TN_INPUT);
    assert_non_null(strstr(error.message, "cheapest-2"));
    assert_int_equal(tn_flow_tree(&three, 4, TN_FLOW_FASTEST, &arena, &tree[0], &error), TN_INPUT);
    assert_non_null(strstr(error.message, "fastest"));
    tn_network network;
    assert_int_equal(tn_weight_forward(&many, 4, &arena, &network, NULL), TN_OK);
    assert_int_equal(tn_cheapest_trees(&network, &arena, tree, &count, &error), TN_LIMIT);
    tn_arena_free(&arena);
}

/* Trees past 64 bits are none. */
static void trees_past_64_bits_are_passed_over(void **state) {
    (void)state;
    tn_arena arena = {0};
    tn_tree tree[TN_CHEAPEST_MOST];
    uint32_t count;
    const tn_network network =
        test_einsum("ab,bc,cd->ad", "a=4294967296,b=2,c=4294967296,d=2", &arena); /* only (ab (bc cd)) fits */
    assert_int_equal(tn_cheapest_trees(&network, &arena, tree, &count, NULL), TN_OK);
    assert_int_equal(count, 1);
    tn_arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(are_the_least_of_all),
        cmocka_unit_test(flows_are_the_cheapest_trees),
        cmocka_unit_test(absent_ones_are_refused),
        cmocka_unit_test(trees_past_64_bits_are_passed_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
