/* Least cuts against every way to part the tensors; bounds against least MACs by definition and against every tree. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

#include "flow/cut_bound.h"
#include "flow/problem.h"
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
        tn_cut_bound bound;
        test_random_network kind = {
            .tensors = 2 + seed % 8, .most_indices = 14, .most_size = 7, .hyperedges = seed % 2};
        tn_network network = test_network(&kind, seed, &arena);
        uint64_t least = test_least_macs(&network, true, NULL);
        assert_int_equal(tn_cut_bound_of(&network, 1 << 20, &arena, &bound, NULL), TN_OK);
        uint64_t within = bound.within[network.tensors];
        assert_true(within <= least);
        share += (double)within / (double)least;
        networks++;
        tn_arena_free(&arena);
    }
    assert_true(share / networks > 0.1);
}

typedef struct walk {
    const tn_problem *problem;
    const tn_cut_bound *bound;
    uint64_t checked, tight; /* subtrees, and those whose bound is what the rest costs */
} walk;

typedef struct part {
    uint64_t set, open, macs, beside; /* `beside`: bound of what is merged outside */
} part;

/* The bound never exceeds what is merged outside, nor falls towards the root by more than what is merged on the way. */
static tn_status check_tree(void *user, const tn_tree *tree, const tn_tree_cost *cost, tn_error *error) {
    walk *w = user;
    part node[16] = {{0}};
    const uint32_t n = tree->tensors;
    (void)error;
    for (uint32_t v = 0; v < 2 * n - 1; v++) {
        part *own = &node[v], *a = NULL, *b = NULL;
        *own = (part){.set = (uint64_t)1 << v, .open = v < n ? w->problem->tensor[v] : 0};
        if (v >= n) {
            a = &node[tree->merge[v - n].a], b = &node[tree->merge[v - n].b];
            own->set = a->set | b->set;
            own->open = tn_problem_open(w->problem, a->open | b->open, own->set);
            own->macs = a->macs + b->macs + tn_problem_product(w->problem, a->open | b->open);
        }
        const uint32_t tensors = (uint32_t)__builtin_popcountll(own->set);
        own->beside = tn_cut_bound_beside(w->bound, tensors, tn_problem_product(w->problem, own->open));
        assert_true(own->macs >= w->bound->within[tensors]);
        assert_true(own->macs + own->beside <= cost->macs);
        assert_true(own->beside >= w->bound->beside[tensors]);
        assert_true(!a || (a->macs + a->beside <= own->macs + own->beside &&
                           b->macs + b->beside <= own->macs + own->beside));
        w->checked++;
        w->tight += own->macs + own->beside == cost->macs && own->set != w->problem->all;
    }
    return TN_OK;
}

static void no_rest_of_a_tree_takes_less(void **state) {
    (void)state;
    uint64_t checked = 0, tight = 0;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        tn_arena arena = {0};
        tn_problem problem;
        tn_cut_bound bound;
        const uint32_t tensors = 3 + (uint32_t)(seed % 4);
        tn_network network = seed % 3 == 0   ? test_closed(tensors, (uint32_t)(seed % 7), seed, &arena)
                             : seed % 3 == 1 ? test_star(tensors, seed, &arena)
                                             : test_tree(tensors, seed, &arena);
        assert_true(tn_problem_of(&network, false, &problem));
        if (tn_problem_is_plain(&problem)) {
            assert_int_equal(tn_cut_bound_of(&network, 1 << 20, &arena, &bound, NULL), TN_OK);
            walk w = {.problem = &problem, .bound = &bound};
            assert_int_equal(tn_search_every_tree(&network, NULL, check_tree, &w, NULL), TN_OK);
            checked += w.checked;
            tight += w.tight;
        }
        tn_arena_free(&arena);
    }
    assert_true(checked > 100000 && tight > 1000);
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
        cmocka_unit_test(no_rest_of_a_tree_takes_less),
        cmocka_unit_test(closed_networks_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
