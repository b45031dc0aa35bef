/* The lemmas that the search rests on (docs/flows.md), by brute force. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "flow/bounds.h"
#include "flow/profile.h"
#include "flow/search.h"
#include "support/brute.h"

/* ---- lemma 2: outer products in optimal trees of plain connected networks ---- */

typedef struct lemma {
    const tn_network *network;
    uint64_t least;
    unsigned optimal, outer; /* optimal trees, outer products in them */
} lemma;

static bool has(tn_indices list, uint32_t index) {
    for (uint32_t i = 0; i < list.count; i++)
        if (list.index[i] == index) return true;
    return false;
}

static bool includes(tn_indices whole, tn_indices part) {
    for (uint32_t i = 0; i < part.count; i++)
        if (!has(whole, part.index[i])) return false;
    return true;
}

static bool share(tn_indices a, tn_indices b) {
    for (uint32_t i = 0; i < a.count; i++)
        if (has(b, a.index[i])) return true;
    return false;
}

static uint64_t size_of(const tn_network *network, tn_indices list) {
    uint64_t size;
    assert_int_equal(tn_network_elements(network, list, &size, NULL), TN_OK);
    return size;
}

/* Merge i is an outer product of a and b: some later sibling d has all indices of both, none of them is in
 * the output, and d has at least |a| |b| max(|a|, |b|) elements. */
static bool meets_lemma(const tn_network *network, const tn_tree *tree, const tn_indices *tensor,
                        uint32_t i) {
    uint32_t n = tree->tensors, node = n + i;
    tn_indices a = tensor[tree->merge[i].a], b = tensor[tree->merge[i].b];
    uint64_t size_a = size_of(network, a), size_b = size_of(network, b);
    uint64_t need = size_a * size_b * (size_a > size_b ? size_a : size_b);
    for (uint32_t j = 0; j < network->output.count; j++)
        if (has(a, network->output.index[j]) || has(b, network->output.index[j])) return false;
    for (uint32_t j = i + 1; j + 1 < n; j++) {
        if (tree->merge[j].a != node && tree->merge[j].b != node) continue;
        tn_indices d = tensor[tree->merge[j].a == node ? tree->merge[j].b : tree->merge[j].a];
        if (includes(d, a) && includes(d, b) && size_of(network, d) >= need) return true;
        node = n + j;
    }
    return false;
}

static tn_status check_optimal(void *user, const tn_tree *tree, const tn_tree_cost *cost, tn_error *error) {
    lemma *l = user;
    tn_arena arena = {0};
    tn_indices *tensor;
    if (cost->macs != l->least) return TN_OK;
    l->optimal++;
    assert_int_equal(tn_tree_tensors(l->network, tree, &arena, &tensor, error), TN_OK);
    for (uint32_t i = 0; i + 1 < tree->tensors; i++) {
        if (share(tensor[tree->merge[i].a], tensor[tree->merge[i].b])) continue;
        l->outer++;
        assert_true(meets_lemma(l->network, tree, tensor, i));
    }
    tn_arena_free(&arena);
    return TN_OK;
}

static void outer_products_in_optimal_trees(void **state) {
    (void)state;
    unsigned outer = 0;
    for (uint64_t seed = 1; seed <= 150; seed++) {
        tn_arena arena = {0};
        tn_network network = test_star(3 + (uint32_t)(seed % 5), seed, &arena);
        lemma l = {.network = &network, .least = test_least_macs(&network, true, NULL)};
        assert_int_equal(tn_search_every_tree(&network, NULL, check_optimal, &l, NULL), TN_OK);
        assert_true(l.optimal > 0);
        outer += l.outer;
        tn_arena_free(&arena);
    }
    assert_true(outer > 100);
}

/* ---- profiles: a dominated one can be replaced beside anything ---- */

enum { MERGES_MOST = 6 };

/* A tree of merges with results of random sizes: profile of executing it, the last result of `last` elements.
 */
static tn_profile random_profile(uint64_t *random, uint64_t last, tn_segment *segment) {
    tn_segment store[MERGES_MOST][2 * MERGES_MOST];
    tn_profile part[MERGES_MOST] = {{0}}, leaf = {0}, whole = {.segment = segment};
    uint32_t parts = 1 + (uint32_t)(test_random(random) % (MERGES_MOST - 1));
    for (uint32_t i = 0; i < parts; i++) {
        part[i].segment = store[i];
        assert_true(tn_profile_merge(&leaf, &leaf, 1 + test_random(random) % 30, 0, NULL, &part[i]));
    }
    while (parts > 2) {
        tn_segment room[2 * MERGES_MOST];
        tn_profile both = {.segment = room};
        uint32_t a = (uint32_t)(test_random(random) % (parts - 1)), b = parts - 1;
        assert_true(tn_profile_merge(&part[a], &part[b], 1 + test_random(random) % 30, 0, NULL, &both));
        memcpy(store[a], room, both.count * sizeof *room);
        part[a] = (tn_profile){both.count, store[a]};
        parts--;
    }
    assert_true(tn_profile_merge(&part[0], parts > 1 ? &part[1] : &leaf, last, 0, NULL, &whole));
    return whole;
}

/* Peak of executing both side by side, then merging them. */
static uint64_t joint_peak(const tn_profile *a, const tn_profile *b, uint64_t elements) {
    tn_segment room[4 * MERGES_MOST];
    tn_profile both = {.segment = room};
    assert_true(tn_profile_merge(a, b, elements, 0, NULL, &both));
    return tn_profile_peak(&both);
}

static void dominated_profiles_are_never_better(void **state) {
    (void)state;
    uint64_t random = 5;
    unsigned dominated = 0, told_apart = 0;
    for (int trial = 0; trial < 20000; trial++) {
        tn_segment room[2][2 * MERGES_MOST];
        uint64_t last = 1 + test_random(&random) % 8;
        tn_profile a = random_profile(&random, last, room[0]), b = random_profile(&random, last, room[1]);
        bool better = tn_profile_dominates(&a, &b), worse_somewhere = false;
        assert_true(tn_profile_dominates(&a, &a));
        for (int neighbours = 0; neighbours < 20; neighbours++) {
            tn_segment other_room[2 * MERGES_MOST];
            tn_profile other = random_profile(&random, 1 + test_random(&random) % 30, other_room);
            worse_somewhere |= joint_peak(&a, &other, 1) > joint_peak(&b, &other, 1);
        }
        assert_false(better && worse_somewhere);
        dominated += better;
        told_apart += !better && worse_somewhere;
    }
    assert_true(dominated > 1000 && told_apart > 1000);
}

/* ---- the bound of the last merge ---- */

static void the_last_merge_bounds_every_peak(void **state) {
    (void)state;
    unsigned met = 0;
    for (uint64_t seed = 1; seed <= 400; seed++) {
        tn_arena arena = {0};
        test_random_network kind = {
            .tensors = 2 + (uint32_t)(seed % 5), .most_indices = 10, .most_size = 6, .hyperedges = seed % 2};
        tn_network network =
            seed % 3 ? test_network(&kind, seed, &arena) : test_star(kind.tensors, seed, &arena);
        tn_problem problem;
        uint64_t inputs, work = 0;
        assert_true(tn_problem_of(&network, false, &problem));
        assert_int_equal(tn_network_input_elements(&network, &inputs, NULL), TN_OK);
        uint64_t bound = inputs + tn_last_merge_bound(&problem, &work);
        test_brute brute = test_brute_force(&network, true);
        assert_true(bound <= brute.least_peak);
        met += bound == brute.least_peak;
        tn_arena_free(&arena);
    }
    assert_true(met > 200);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outer_products_in_optimal_trees),
        cmocka_unit_test(dominated_profiles_are_never_better),
        cmocka_unit_test(the_last_merge_bounds_every_peak),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
