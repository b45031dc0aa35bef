/* Searches that are large, awkward, cut short, or short of memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/interrupt.h"
#include "base/memory.h"
#include "flow/bounds.h"
#include "flow/exact.h"
#include "flow/search.h"
#include "support/brute.h"
#include "tensor/einsum.h"
#include "tensor/weight.h"

/* tensors in a row, indices of sizes 2 to 9 between them, open ends. */
static tn_network chain(uint32_t tensors, tn_arena *arena) {
    char expression[8192], sizes[8192];
    size_t length = 0, size_length = 0;
    for (uint32_t i = 0; i <= tensors; i++) { /* index i is U+4E00 + i */
        unsigned c = 0x4e00 + i;
        char name[4] = {(char)(0xe0 | c >> 12), (char)(0x80 | (c >> 6 & 0x3f)), (char)(0x80 | (c & 0x3f)), 0};
        if (i) length += (size_t)sprintf(expression + length, "%s%s", name, i < tensors ? "," : "");
        if (i < tensors) length += (size_t)sprintf(expression + length, "%s", name);
        size_length += (size_t)sprintf(sizes + size_length, "%s%s=%u", i ? "," : "", name, 2 + i * 7 % 8);
    }
    tn_network network;
    assert_int_equal(tn_einsum_parse(expression, (tn_position){0}, arena, &network, NULL), TN_OK);
    assert_int_equal(tn_einsum_sizes(sizes, (tn_position){0}, &network, NULL), TN_OK);
    return network;
}

/* The matrix-chain recursion: the optimum of a chain without outer products. */
static uint64_t chain_optimum(const tn_network *network) {
    static uint64_t best[TN_TENSORS_MOST][TN_TENSORS_MOST];
    uint32_t n = network->tensors;
    uint64_t edge[TN_TENSORS_MOST + 1];
    for (uint32_t i = 0; i <= n; i++) edge[i] = 2 + i * 7 % 8;
    for (uint32_t length = 2; length <= n; length++)
        for (uint32_t i = 0; i + length <= n; i++) {
            best[i][i + length - 1] = UINT64_MAX;
            for (uint32_t k = i; k < i + length - 1; k++) {
                uint64_t cost =
                    best[i][k] + best[k + 1][i + length - 1] + edge[i] * edge[k + 1] * edge[i + length];
                if (cost < best[i][i + length - 1]) best[i][i + length - 1] = cost;
            }
        }
    return best[0][n - 1];
}

static void long_chains(void **state) {
    (void)state;
    static const uint32_t lengths[] = {60, 64, 65, 150};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        tn_arena arena = {0};
        tn_search_result result;
        tn_network network = chain(lengths[i], &arena);
        tn_search_options options = {.work_most = 20000000};
        assert_int_equal(tn_search(&network, &options, &arena, &result, NULL), TN_OK);
        assert_int_equal(tn_tree_check(&network, &result.tree, NULL), TN_OK);
        uint64_t optimum = chain_optimum(&network);
        assert_true(result.lower_bound <= optimum);
        assert_true(result.cost.macs <= optimum + optimum / 50);
        if (lengths[i] > 64) assert_int_equal(result.stop, TN_STOP_TOO_LARGE);
        if (result.exact) assert_true(result.cost.macs <= optimum);
        options.objective = TN_LEAST_LIVE;
        assert_int_equal(tn_search(&network, &options, &arena, &result, NULL), TN_OK);
        assert_true(result.lower_bound <= result.cost.peak_elements);
        tn_arena_free(&arena);
    }
}

/* More indices than the exact search takes: its bound comes from cuts and from a part of the network, and more
 * work moves it. */
static void more_effort_moves_the_bound(void **state) {
    (void)state;
    tn_arena arena = {0};
    tn_network network = test_closed(40, 45, 5, &arena);
    uint64_t last = 0;
    for (uint64_t work = 270000; work <= 7290000; work = work < 1000000 ? 9 * work : 3 * work) {
        tn_search_options options = {.work_most = work};
        tn_search_result result, again;
        assert_int_equal(tn_search(&network, &options, &arena, &result, NULL), TN_OK);
        assert_int_equal(tn_search(&network, &options, &arena, &again, NULL), TN_OK);
        assert_int_equal(result.stop, TN_STOP_TOO_LARGE);
        assert_int_equal(result.lower_bound, again.lower_bound);
        assert_int_equal(result.cost.macs, again.cost.macs);
        assert_true(result.lower_bound > last);
        assert_true(result.lower_bound <= result.cost.macs);
        last = result.lower_bound;
    }
    tn_search_options usual = {.work_most = 1000}, more = {.work_most = 1000, .effort = 6};
    tn_search_result one, six;
    assert_int_equal(tn_search(&network, &usual, &arena, &one, NULL), TN_OK);
    assert_int_equal(tn_search(&network, &more, &arena, &six, NULL), TN_OK);
    assert_true(six.cost.macs <= one.cost.macs);
    tn_arena_free(&arena);
}

/* What is left out of a network can only make it cheaper. */
static void a_part_of_a_network_bounds_it(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 30; seed++) {
        tn_arena arena = {0};
        tn_problem problem;
        tn_exact_result exact;
        tn_merge merge[TN_PROBLEM_TENSORS];
        tn_network network = chain(60 + (uint32_t)seed, &arena);
        assert_int_equal(tn_relax(&network, &arena, &problem, NULL), TN_OK);
        assert_true(problem.tensors <= 64 && problem.groups <= 64 && problem.tensors > 50);
        tn_exact_options options = {.work_most = 3000000};
        assert_int_equal(tn_exact_search(&problem, &options, &arena, merge, &exact, NULL), TN_OK);
        assert_true(exact.level > 0 && exact.level <= chain_optimum(&network));
        tn_arena_free(&arena);
    }
}

static void cut_short(void **state) {
    (void)state;
    unsigned proven = 0, cut = 0;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        tn_arena arena = {0};
        test_random_network kind = {.tensors = 7, .most_indices = 12, .most_size = 6, .hyperedges = seed % 2};
        tn_network network = test_network(&kind, seed, &arena);
        uint64_t least = test_least_macs(&network, true, NULL);
        for (uint64_t work = 1; work < 10000000; work *= 10) {
            tn_search_options options = {.work_most = work};
            tn_search_result result;
            assert_int_equal(tn_search(&network, &options, &arena, &result, NULL), TN_OK);
            assert_true(result.lower_bound <= least && result.cost.macs >= least);
            if (result.exact) assert_int_equal(result.cost.macs, least);
            proven += result.exact;
            cut += result.stop == TN_STOP_WORK;
        }
        tn_arena_free(&arena);
    }
    assert_true(proven > 40 && cut > 40);
}

/* Whatever is cut short still gives bounds on the right side and points that are not dominated. */
static void live_cut_short(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        tn_arena arena = {0};
        test_random_network kind = {.tensors = 6, .most_indices = 12, .most_size = 6, .hyperedges = seed % 2};
        tn_network network = test_network(&kind, seed, &arena);
        test_brute brute = test_brute_force(&network, true);
        for (uint64_t work = 1; work < 1000000; work *= 10) {
            tn_search_options options = {.objective = TN_LEAST_LIVE, .work_most = work};
            tn_search_result result;
            tn_tree_front front;
            assert_int_equal(tn_search(&network, &options, &arena, &result, NULL), TN_OK);
            assert_true(result.lower_bound <= brute.least_peak &&
                        result.cost.peak_elements >= brute.least_peak);
            if (result.exact) assert_int_equal(result.cost.peak_elements, brute.least_peak);
            assert_int_equal(tn_search_front(&network, &options, &arena, &front, NULL), TN_OK);
            assert_true(front.count >= 1);
            if (front.exact) assert_int_equal(front.count, brute.count);
            for (size_t i = 1; i < front.count; i++)
                assert_true(front.item[i].cost.macs > front.item[i - 1].cost.macs &&
                            front.item[i].cost.peak_elements < front.item[i - 1].cost.peak_elements);
            options = (tn_search_options){.max_live_elements = brute.least_peak, .work_most = work};
            assert_int_equal(tn_search(&network, &options, &arena, &result, NULL), TN_OK);
            if (result.found) assert_true(result.cost.peak_elements <= brute.least_peak);
            assert_true(result.found || !result.exact);
        }
        tn_arena_free(&arena);
    }
}

static void same_seed_same_tree(void **state) {
    (void)state;
    tn_arena arena = {0};
    tn_network network = test_star(30, 3, &arena);
    tn_search_options options = {.work_most = 1000, .seed = 5};
    tn_search_result first, second;
    assert_int_equal(tn_search(&network, &options, &arena, &first, NULL), TN_OK);
    assert_int_equal(tn_search(&network, &options, &arena, &second, NULL), TN_OK);
    assert_memory_equal(first.tree.merge, second.tree.merge, 29 * sizeof *first.tree.merge);
    tn_arena_free(&arena);
}

static void without_outer_products(void **state) {
    (void)state;
    tn_arena arena = {0};
    tn_network network = test_star(30, 3, &arena),
               parts = test_einsum("ab,bc,de->ace", "a=2,b=3,c=4,d=5,e=6", &arena);
    tn_search_options options = {.work_most = 1000, .no_outer = true};
    tn_search_result result;
    tn_indices *tensor;
    assert_int_equal(tn_search(&network, &options, &arena, &result, NULL), TN_OK);
    assert_int_equal(tn_tree_tensors(&network, &result.tree, &arena, &tensor, NULL), TN_OK);
    for (uint32_t i = 0; i < 29; i++) {
        bool share = false;
        tn_indices a = tensor[result.tree.merge[i].a], b = tensor[result.tree.merge[i].b];
        for (uint32_t j = 0; j < a.count; j++)
            for (uint32_t k = 0; k < b.count; k++) share |= a.index[j] == b.index[k];
        assert_true(share);
    }
    assert_int_equal(tn_search(&parts, &options, &arena, &result, NULL), TN_INPUT);
    tn_arena_free(&arena);
}

static void overflow_and_huge_indices(void **state) {
    (void)state;
    tn_arena arena = {0};
    tn_search_result result;
    tn_error error;
    /* 2^40: fine while the products stay below 2^64. */
    tn_network network = test_einsum("ab,bc,cd->ad", "a=4,b=1099511627776,c=4,d=4", &arena);
    assert_int_equal(tn_search(&network, NULL, &arena, &result, &error), TN_OK);
    assert_true(result.exact && result.cost.macs == ((uint64_t)1 << 44) + 64);
    network = test_einsum("ab,bc,cd->ad", "a=4096,b=1099511627776,c=4096,d=4096", &arena);
    assert_int_equal(tn_search(&network, NULL, &arena, &result, &error), TN_OVERFLOW);
    network = test_einsum("ab,ab->", "a=1099511627776,b=1099511627776", &arena);
    assert_int_equal(tn_search(&network, NULL, &arena, &result, &error), TN_OVERFLOW);
    /* Only some trees are past 64 bits: (a b)(c d) is, the others are not. */
    network = test_einsum("ab,bc,cd,de->ae", "a=2,b=4294967296,c=2,d=4294967296,e=2", &arena);
    assert_int_equal(tn_search(&network, NULL, &arena, &result, &error), TN_OK);
    assert_true(result.exact);
    tn_tree_front front;
    assert_int_equal(tn_search_front(&network, NULL, &arena, &front, &error), TN_OK);
    assert_true(front.exact && front.count == 1);
    tn_arena_free(&arena);
}

static void small_networks(void **state) {
    (void)state;
    tn_arena arena = {0};
    tn_search_result result;
    tn_tree_front front;
    tn_network network = test_einsum("ab->a", "a=2,b=3", &arena);
    assert_int_equal(tn_search(&network, NULL, &arena, &result, NULL), TN_OK);
    assert_true(result.found && result.exact && result.cost.macs == 0 && result.cost.peak_elements == 6);
    tn_search_options tight = {.max_live_elements = 5};
    assert_int_equal(tn_search(&network, &tight, &arena, &result, NULL), TN_OK);
    assert_true(!result.found && result.exact && result.lower_bound == 6);
    assert_int_equal(tn_search_front(&network, NULL, &arena, &front, NULL), TN_OK);
    assert_true(front.count == 1 && front.exact);
    network = test_einsum("a,b,c->abc", "a=2,b=3,c=4", &arena); /* all outer: smallest first */
    assert_int_equal(tn_search(&network, NULL, &arena, &result, NULL), TN_OK);
    assert_int_equal(result.cost.macs, 6 + 24);
    network = test_einsum(",,a->a", "a=5", &arena); /* scalars */
    assert_int_equal(tn_search(&network, NULL, &arena, &result, NULL), TN_OK);
    assert_int_equal(result.cost.macs, 1 + 5);
    tn_arena_free(&arena);
}

static void an_interrupt_keeps_what_is_found(void **state) {
    (void)state;
    tn_arena arena = {0};
    tn_search_result result;
    tn_network network = test_star(30, 9, &arena);
    tn_interrupt();
    tn_status status = tn_search(&network, NULL, &arena, &result, NULL);
    tn_interrupt_clear();
    assert_int_equal(status, TN_OK);
    assert_true(result.found && !result.exact);
    assert_int_equal(result.stop, TN_STOP_INTERRUPTED);
    tn_arena_free(&arena);
}

static tn_status count_tree(void *user, const tn_tree *tree, const tn_tree_cost *cost, tn_error *error) {
    (void)tree;
    (void)cost;
    (void)error;
    ++*(unsigned *)user;
    return TN_OK;
}

static void every_tree_once(void **state) {
    (void)state;
    static const unsigned counts[] = {1, 1, 3, 15, 105, 945, 10395};
    for (uint32_t n = 1; n <= 7; n++) {
        tn_arena arena = {0};
        test_random_network kind = {.tensors = n, .most_indices = 8, .most_size = 4};
        tn_network network = test_network(&kind, 11, &arena);
        unsigned count = 0;
        assert_int_equal(tn_search_every_tree(&network, NULL, count_tree, &count, NULL), TN_OK);
        assert_int_equal(count, counts[n - 1]);
        tn_arena_free(&arena);
    }
    tn_arena arena = {0};
    unsigned count = 0;
    tn_search_options no_outer = {.no_outer = true};
    tn_network network = test_einsum("ab,bc,cd,de->ae", "a=2,b=3,c=4,d=5,e=6", &arena);
    assert_int_equal(tn_search_every_tree(&network, &no_outer, count_tree, &count, NULL), TN_OK);
    assert_int_equal(count, 5); /* the bracketings of a product of four */
    network = test_star(9, 1, &arena);
    assert_int_equal(tn_search_every_tree(&network, NULL, count_tree, &count, NULL), TN_LIMIT);
    tn_arena_free(&arena);
}

static uint64_t unit_price(void *user, const tn_product_shape *shape) {
    (void)user;
    return shape->rows + shape->columns;
}

/* One search of every kind, some cut short so that the anytime search takes over. */
enum { KINDS = 8 };

static tn_status one_search(int kind, const tn_network *network, tn_arena *arena) {
    static const tn_search_options options[KINDS] = {
        {.objective = TN_LEAST_MACS}, {.objective = TN_LEAST_MACS, .work_most = 1},
        {.objective = TN_LEAST_LIVE}, {.objective = TN_LEAST_LIVE, .work_most = 1},
        {.max_live_elements = 700},   {.objective = TN_LEAST_PRICE, .pricing = {unit_price, NULL}},
    };
    tn_search_result result;
    tn_tree_front front;
    unsigned count = 0;
    if (kind == KINDS - 2) return tn_search_front(network, NULL, arena, &front, NULL);
    if (kind == KINDS - 1) return tn_search_every_tree(network, NULL, count_tree, &count, NULL);
    return tn_search(network, &options[kind], arena, &result, NULL);
}

static void every_failing_allocation_is_reported(void **state) {
    (void)state;
    tn_arena arena = {0};
    tn_network small = test_einsum("abc,bd,dce,efg,gh->afh", "a=8,b=4,c=2,d=3,e=3,f=2,g=3,h=4", &arena);
    for (int kind = 0; kind < KINDS; kind++) {
        tn_status status = TN_MEMORY;
        long n = 1;
        for (; status != TN_OK; n++) {
            tn_arena results = {0};
            tn_memory_fail_at(n);
            status = one_search(kind, &small, &results);
            tn_memory_fail_at(0);
            tn_arena_free(&results);
            if (status != TN_OK) assert_int_equal(status, TN_MEMORY);
            assert_true(n < 20000);
        }
        assert_true(n > 2);
    }
    tn_arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(long_chains),
        cmocka_unit_test(more_effort_moves_the_bound),
        cmocka_unit_test(a_part_of_a_network_bounds_it),
        cmocka_unit_test(cut_short),
        cmocka_unit_test(live_cut_short),
        cmocka_unit_test(same_seed_same_tree),
        cmocka_unit_test(without_outer_products),
        cmocka_unit_test(overflow_and_huge_indices),
        cmocka_unit_test(small_networks),
        cmocka_unit_test(an_interrupt_keeps_what_is_found),
        cmocka_unit_test(every_tree_once),
        cmocka_unit_test(every_failing_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
