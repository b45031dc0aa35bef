/* Least cuts against every way to part the tensors; the bound against least MACs by definition. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "flow/bounds.h"
#include "flow/search.h"
#include "support/brute.h"

/* log2 of the indices that are on both sides, by the least over all sets of each size. */
static void every_cut(const tn_network *network, double *least) {
    uint32_t n = network->tensors;
    for (uint32_t k = 0; k <= n; k++) least[k] = INFINITY;
    for (uint32_t set = 0; set < (uint32_t)1 << n; set++) {
        uint32_t k = (uint32_t)__builtin_popcount(set);
        double bits = 0;
        for (uint32_t i = 0; i < network->indices; i++) {
            bool side[2] = {false, false};
            for (uint32_t t = 0; t < n; t++)
                for (uint32_t j = 0; j < network->tensor[t].count; j++)
                    if (network->tensor[t].index[j] == i) side[set >> t & 1] = true;
            if (side[0] && side[1]) bits += log2((double)network->index_size[i]);
        }
        least[k] = fmin(least[k], bits);
    }
}

static void cuts_are_the_least(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        tn_arena arena = {0};
        double least[16], cut[16], rough[16];
        bool hyperedges = seed % 3 == 0;
        test_random_network kind = {
            .tensors = 2 + seed % 9, .most_indices = 16, .most_size = 9, .hyperedges = hyperedges};
        tn_network network = test_network(&kind, seed, &arena);
        every_cut(&network, least);
        assert_int_equal(tn_least_cuts(&network, 1 << 16, &arena, cut, NULL), TN_OK);
        assert_int_equal(tn_least_cuts(&network, 4, &arena, rough, NULL), TN_OK);
        for (uint32_t k = 0; k <= network.tensors; k++) {
            assert_true(hyperedges ? cut[k] <= least[k] + 1e-9 : fabs(cut[k] - least[k]) < 1e-9);
            assert_true(rough[k] <= cut[k] + 1e-9);
        }
        tn_arena_free(&arena);
    }
}

static void no_tree_takes_less(void **state) {
    (void)state;
    double share = 0;
    unsigned networks = 0;
    for (uint64_t seed = 1; seed <= 80; seed++) {
        tn_arena arena = {0};
        uint64_t work = 0, bound;
        test_random_network kind = {
            .tensors = 2 + seed % 8, .most_indices = 14, .most_size = 7, .hyperedges = seed % 2};
        tn_network network = test_network(&kind, seed, &arena);
        uint64_t least = test_least_macs(&network, true, NULL);
        assert_int_equal(tn_cut_bound(&network, 1 << 20, &arena, &bound, &work, NULL), TN_OK);
        assert_true(bound <= least && work > 0);
        share += (double)bound / (double)least;
        networks++;
        tn_arena_free(&arena);
    }
    assert_true(share / networks > 0.1);
}

/* Closed networks of 40 tensors and more: the tree that is found is within a factor of the bound. */
static void closed_networks_are_bounded(void **state) {
    (void)state;
    for (uint64_t seed = 5; seed <= 6; seed++) {
        tn_arena arena = {0};
        tn_network network = test_closed(40, 45, seed, &arena);
        const tn_search_options options = {.work_most = 50000000};
        tn_search_result result;
        assert_int_equal(tn_search(&network, &options, &arena, &result, NULL), TN_OK);
        assert_int_equal(result.stop, TN_STOP_TOO_LARGE);
        assert_true(result.lower_bound <= result.cost.macs && result.cost.macs / result.lower_bound < 150);
        tn_arena_free(&arena);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cuts_are_the_least),
        cmocka_unit_test(no_tree_takes_less),
        cmocka_unit_test(closed_networks_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
