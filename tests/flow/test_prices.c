/* Searches under prices from outside, against every tree by brute force. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "flow/search.h"
#include "support/brute.h"

/* A kernel with parallelism 4 over rows, 3 over columns, 2 over the reduction, and a start-up of 5. Turning a
 * merge changes its price. */
static uint64_t kernel_cycles(void *user, const tn_product_shape *shape) {
    (void)user;
    return 5 +
           shape->batch * ((shape->rows + 3) / 4) * ((shape->columns + 2) / 3) * ((shape->reduction + 1) / 2);
}

static uint64_t macs_as_price(void *user, const tn_product_shape *shape) {
    (void)user;
    return shape->batch * shape->rows * shape->columns * shape->reduction;
}

/* Shapes from the definitions: which indices each operand of a merge has. */
static void prices_of(const tn_network *network, const tn_tree *tree, uint64_t *price) {
    tn_arena arena = {0};
    tn_indices *tensor;
    uint32_t n = tree->tensors;
    assert_int_equal(tn_tree_tensors(network, tree, &arena, &tensor, NULL), TN_OK);
    for (uint32_t i = 0; i + 1 < n; i++) {
        tn_product_shape shape = {1, 1, 1, 1};
        for (uint32_t index = 0; index < network->indices; index++) {
            bool enabled[3] = {false};
            const uint32_t which[3] = {tree->merge[i].a, tree->merge[i].b, n + i};
            for (int k = 0; k < 3; k++)
                for (uint32_t j = 0; j < tensor[which[k]].count; j++)
                    enabled[k] |= tensor[which[k]].index[j] == index;
            uint64_t size = network->index_size[index];
            if (!enabled[0] && !enabled[1]) continue;
            if (!enabled[2])
                shape.reduction *= size;
            else if (enabled[0] && enabled[1])
                shape.batch *= size;
            else if (enabled[0])
                shape.rows *= size;
            else
                shape.columns *= size;
        }
        price[i] = kernel_cycles(NULL, &shape);
        uint64_t rows = shape.rows;
        shape.rows = shape.columns;
        shape.columns = rows;
        uint64_t turned = kernel_cycles(NULL, &shape);
        if (turned < price[i]) price[i] = turned;
    }
    tn_arena_free(&arena);
}

typedef struct least {
    const tn_network *network;
    uint64_t price;
} least;

static tn_status keep_least(void *user, const tn_tree *tree, const tn_tree_cost *cost, tn_error *error) {
    least *l = user;
    uint64_t price[16], sum = 0;
    (void)cost;
    (void)error;
    prices_of(l->network, tree, price);
    for (uint32_t i = 0; i + 1 < tree->tensors; i++) sum += price[i];
    if (sum < l->price) l->price = sum;
    return TN_OK;
}

static void least_sums(void **state) {
    (void)state;
    const tn_search_options options = {.objective = TN_LEAST_PRICE, .pricing = {kernel_cycles, NULL}};
    for (uint64_t seed = 1; seed <= 120; seed++) {
        tn_arena arena = {0};
        test_random_network kind = {
            .tensors = 2 + (uint32_t)(seed % 5), .most_indices = 9, .most_size = 9, .hyperedges = seed % 2};
        tn_network network = test_network(&kind, seed, &arena);
        least l = {&network, UINT64_MAX};
        tn_search_result result;
        uint64_t again;
        assert_int_equal(tn_search_every_tree(&network, NULL, keep_least, &l, NULL), TN_OK);
        assert_int_equal(tn_search(&network, &options, &arena, &result, NULL), TN_OK);
        assert_true(result.found && result.exact);
        assert_int_equal(result.price, l.price);
        assert_int_equal(result.lower_bound, l.price);
        assert_int_equal(tn_tree_price(&network, &result.tree, &options.pricing, &again, NULL), TN_OK);
        assert_int_equal(again, l.price);
        tn_arena_free(&arena);
    }
}

/* With MACs as the price the priced search must agree with the search for least MACs, lemma and all. */
static void macs_as_a_price(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        tn_arena arena = {0};
        tn_network network = test_star(5 + (uint32_t)(seed % 6), seed, &arena);
        tn_search_options options = {.objective = TN_LEAST_PRICE, .pricing = {macs_as_price, NULL}};
        tn_search_result priced, counted;
        assert_int_equal(tn_search(&network, &options, &arena, &priced, NULL), TN_OK);
        assert_int_equal(tn_search(&network, NULL, &arena, &counted, NULL), TN_OK);
        assert_int_equal(priced.price, counted.cost.macs);
        assert_int_equal(priced.cost.macs, counted.cost.macs);
        tn_arena_free(&arena);
    }
}

static uint64_t no_price(void *user, const tn_product_shape *shape) {
    (void)user;
    (void)shape;
    return UINT64_MAX;
}

static void wrong_use_and_overflow(void **state) {
    (void)state;
    tn_arena arena = {0};
    tn_network network = test_einsum("ab,bc,cd->ad", "a=2,b=3,c=4,d=5", &arena);
    tn_search_options options = {.objective = TN_LEAST_PRICE};
    tn_search_result result;
    assert_int_equal(tn_search(&network, &options, &arena, &result, NULL), TN_INPUT);
    options.pricing.price = no_price;
    assert_int_equal(tn_search(&network, &options, &arena, &result, NULL), TN_OVERFLOW);
    options.max_live_elements = 100;
    assert_int_equal(tn_search(&network, &options, &arena, &result, NULL), TN_INPUT);
    tn_arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(least_sums),
        cmocka_unit_test(macs_as_a_price),
        cmocka_unit_test(wrong_use_and_overflow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
