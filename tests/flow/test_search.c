/* The search against brute force, and against the reference data beside the source tree. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "flow/exact.h"
#include "flow/search.h"
#include "support/brute.h"
#include "support/shared.h"
#include "tensor/einsum.h"
#include "text/csv.h"

static tn_search_result best_of(const tn_network *network, const tn_search_options *options,
                                tn_arena *arena) {
    tn_search_result result;
    tn_error error;
    tn_status status = tn_search(network, options, arena, &result, &error);
    if (status != TN_OK) print_error("%s\n", error.message);
    assert_int_equal(status, TN_OK);
    assert_true(result.found);
    assert_int_equal(tn_tree_check(network, &result.tree, NULL), TN_OK);
    tn_tree_cost cost;
    assert_int_equal(tn_tree_cost_of(network, &result.tree, &cost, NULL), TN_OK);
    assert_memory_equal(&cost, &result.cost, sizeof cost);
    return result;
}

/* Least peak, least MACs under bounds, and the front, of one network. */
static void check_live(const tn_network *network, const test_brute *brute, uint64_t seed, tn_arena *arena) {
    tn_search_options live = {.objective = TN_LEAST_LIVE};
    tn_search_result result = best_of(network, &live, arena);
    assert_true(result.exact);
    assert_int_equal(result.cost.peak_elements, brute->least_peak);
    assert_int_equal(result.lower_bound, brute->least_peak);
    assert_int_equal(result.cost.macs, brute->front[brute->count - 1].macs);

    tn_tree_front front;
    assert_int_equal(tn_search_front(network, NULL, arena, &front, NULL), TN_OK);
    if (front.count != brute->count)
        print_error("seed %d: %zu points, not %zu\n", (int)seed, front.count, brute->count);
    assert_int_equal(front.count, brute->count);
    assert_true(front.exact);
    for (size_t i = 0; i < front.count; i++) {
        assert_int_equal(front.item[i].cost.macs, brute->front[i].macs);
        assert_int_equal(front.item[i].cost.peak_elements, brute->front[i].peak_elements);
        tn_tree_cost cost;
        assert_int_equal(tn_tree_cost_of(network, &front.item[i].tree, &cost, NULL), TN_OK);
        assert_memory_equal(&cost, &front.item[i].cost, sizeof cost);
    }

    const test_point *point = &brute->front[seed % brute->count];
    tn_search_options bounded = {.max_live_elements = point->peak_elements};
    result = best_of(network, &bounded, arena);
    assert_true(result.exact);
    assert_int_equal(result.cost.macs, point->macs);
    assert_true(result.cost.peak_elements <= point->peak_elements);
    bounded.max_live_elements = brute->least_peak - 1;
    if (!bounded.max_live_elements) return;
    assert_int_equal(tn_search(network, &bounded, arena, &result, NULL), TN_OK);
    assert_true(!result.found && result.exact);
    assert_int_equal(result.lower_bound, brute->least_peak);
    assert_int_equal(tn_search_front(network, &bounded, arena, &front, NULL), TN_OK);
    assert_int_equal(front.count, 0);
}

static void every_objective_on_random_networks(void **state) {
    (void)state;
    unsigned outer_wins = 0;
    for (uint64_t seed = 1; seed <= 2000; seed++) {
        tn_arena arena = {0};
        test_random_network kind = {.tensors = 3 + (uint32_t)(seed % 5),
                                    .most_indices = 3 + (uint32_t)(seed % 11),
                                    .most_size = 2 + (uint32_t)(seed % 17),
                                    .hyperedges = seed % 3 != 0};
        tn_network network = test_network(&kind, seed, &arena);
        test_brute changed = test_brute_force(&network, true), plain = test_brute_force(&network, false);
        tn_search_result result = best_of(&network, NULL, &arena);
        if (result.cost.macs != changed.least_macs) print_error("seed %d\n", (int)seed);
        assert_int_equal(result.cost.macs, changed.least_macs);
        assert_true(result.exact && result.lower_bound == changed.least_macs);
        tn_search_options no_outer = {.no_outer = true};
        if (plain.least_macs == UINT64_MAX) {
            assert_int_equal(tn_search(&network, &no_outer, &arena, &result, NULL), TN_INPUT);
        } else {
            result = best_of(&network, &no_outer, &arena);
            assert_int_equal(result.cost.macs, plain.least_macs);
            outer_wins += changed.least_macs < plain.least_macs;
        }
        check_live(&network, &changed, seed, &arena);
        tn_arena_free(&arena);
    }
    assert_true(outer_wins > 40);
}

/* The lemma that skips most outer products is at work here, and outer products win. */
static void least_macs_of_stars(void **state) {
    (void)state;
    unsigned outer_wins = 0;
    for (uint64_t seed = 1; seed <= 400; seed++) {
        tn_arena arena = {0};
        tn_network network = test_star(4 + (uint32_t)(seed % 6), seed, &arena);
        uint64_t least = test_least_macs(&network, true, NULL);
        tn_search_result result = best_of(&network, NULL, &arena);
        if (result.cost.macs != least) print_error("seed %d\n", (int)seed);
        assert_int_equal(result.cost.macs, least);
        outer_wins += least < test_least_macs(&network, false, NULL);
        tn_arena_free(&arena);
    }
    assert_true(outer_wins > 100);
}

/* The bounds that the search steers by leave the fewest sets here; ties go to the smaller largest
 * intermediate all the same. */
static void least_macs_of_trees(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 150; seed++) {
        tn_arena arena = {0};
        tn_network network = test_tree(5 + (uint32_t)(seed % 7), seed, &arena);
        uint64_t largest, least = test_least_macs(&network, true, &largest);
        tn_search_result result = best_of(&network, NULL, &arena);
        if (result.cost.macs != least) print_error("seed %d\n", (int)seed);
        assert_int_equal(result.cost.macs, least);
        assert_int_equal(result.cost.largest_intermediate, largest);
        assert_true(result.exact);
        tn_arena_free(&arena);
    }
}

/* What is known of a tree's cost, and of cuts, makes the search shorter, never its answer another; below the optimum it
 * finds nothing. */
static void a_known_cost_changes_no_answer(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        tn_arena arena = {0};
        test_random_network kind = {.tensors = 7, .most_indices = 12, .most_size = 6, .hyperedges = seed % 2};
        tn_network network = seed % 3 == 0
                                 ? test_closed(5 + (uint32_t)(seed % 8), (uint32_t)(seed % 16), seed, &arena)
                             : seed % 3 == 1 ? test_star(5 + (uint32_t)(seed % 4), seed, &arena)
                                             : test_network(&kind, seed, &arena);
        tn_problem problem;
        tn_cut_bound cuts;
        assert_true(tn_problem_of(&network, false, &problem));
        assert_int_equal(tn_cut_bound_of(&network, 1 << 20, &arena, &cuts, NULL), TN_OK);
        const uint64_t least = test_least_macs(&network, true, NULL);
        const uint64_t known[] = {0, least, least + 1, 3 * least, 0, least, 3 * least};
        uint64_t largest = 0;
        for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
            tn_merge merge[TN_PROBLEM_TENSORS];
            tn_exact_result exact;
            tn_exact_options options = {
                .work_most = UINT64_MAX, .known = known[i], .cuts = i < 4 ? NULL : &cuts};
            assert_int_equal(tn_exact_search(&problem, &options, &arena, merge, &exact, NULL), TN_OK);
            assert_true(exact.complete && exact.found);
            assert_int_equal(exact.cost, least);
            tn_tree tree = {network.tensors, merge};
            tn_tree_cost cost;
            assert_int_equal(tn_tree_cost_of(&network, &tree, &cost, NULL), TN_OK);
            assert_int_equal(cost.macs, least);
            if (i == 0) largest = cost.largest_intermediate;
            assert_int_equal(cost.largest_intermediate, largest);
            options.known = least - 1;
            if (!options.known) continue;
            assert_int_equal(tn_exact_search(&problem, &options, &arena, merge, &exact, NULL), TN_OK);
            assert_true(exact.complete && !exact.found);
        }
        tn_arena_free(&arena);
    }
}

/* Networks that the first, short search does not finish: the tree that an anytime round then finds bounds a second one. It
 * finds what a search without that bound finds. */
static void least_macs_of_closed_networks(void **state) {
    (void)state;
    unsigned bounded = 0;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        tn_arena arena = {0};
        tn_network network = test_closed(24, 12, seed, &arena);
        tn_problem problem;
        tn_merge merge[TN_PROBLEM_TENSORS];
        tn_exact_result alone;
        tn_exact_options options = {.work_most = UINT64_MAX};
        assert_true(tn_problem_of(&network, false, &problem));
        assert_int_equal(tn_exact_search(&problem, &options, &arena, merge, &alone, NULL), TN_OK);
        tn_search_result result = best_of(&network, NULL, &arena);
        assert_true(result.exact && alone.complete);
        assert_int_equal(result.cost.macs, alone.cost);
        bounded += alone.work > (1 << 22);
        tn_arena_free(&arena);
    }
    assert_true(bounded > 0);
}

static void reference_flows(void **state) {
    (void)state;
    const char *path = test_shared_or_skip("oracles/order/optimal_flows.csv");
    tn_arena arena = {0};
    tn_csv csv;
    size_t column[5];
    static const char *const names[] = {"name", "einsum", "sizes(json)", "opt_flops_multiplies",
                                        "largest_intermediate"};
    assert_int_equal(tn_csv_load(path, &arena, &csv, NULL), TN_OK);
    assert_int_equal(tn_csv_columns(&csv, names, 5, false, column, NULL), TN_OK);
    assert_true(csv.rows >= 23);
    for (size_t row = 0; row < csv.rows; row++) {
        tn_network network;
        uint64_t macs, largest;
        const char *einsum = tn_csv_at(&csv, row, column[1])->text,
                   *sizes = tn_csv_at(&csv, row, column[2])->text;
        assert_int_equal(tn_einsum_parse(einsum, (tn_position){0}, &arena, &network, NULL), TN_OK);
        assert_int_equal(tn_einsum_json_sizes(sizes, (tn_position){0}, &network, NULL), TN_OK);
        assert_int_equal(tn_csv_count(&csv, row, column[3], 0, UINT64_MAX, &macs, NULL), TN_OK);
        assert_int_equal(tn_csv_count(&csv, row, column[4], 0, UINT64_MAX, &largest, NULL), TN_OK);
        tn_search_result result = best_of(&network, NULL, &arena);
        assert_int_equal(result.cost.macs, macs);
        assert_int_equal(result.cost.largest_intermediate, largest);
        assert_true(result.exact);
    }
    tn_arena_free(&arena);
}

static json_t *networks_of(const char *name, json_t **root) {
    const char *path = test_shared_or_skip(name);
    *root = json_load_file(path, 0, NULL);
    json_t *networks = json_object_get(*root, "networks");
    assert_true(json_is_array(networks) && json_array_size(networks) > 0);
    return networks;
}

static void reference_front(const json_t *reference) {
    tn_arena arena = {0};
    tn_network network;
    tn_tree_front front;
    char *sizes = json_dumps(json_object_get(reference, "sizes"), 0);
    const json_t *points = json_object_get(reference, "front");
    const char *einsum = json_string_value(json_object_get(reference, "einsum"));
    assert_int_equal(tn_einsum_parse(einsum, (tn_position){0}, &arena, &network, NULL), TN_OK);
    assert_int_equal(tn_einsum_json_sizes(sizes, (tn_position){0}, &network, NULL), TN_OK);
    assert_int_equal(tn_search_front(&network, NULL, &arena, &front, NULL), TN_OK);
    assert_true(front.exact);
    assert_int_equal(front.count, json_array_size(points));
    for (size_t i = 0; i < front.count; i++) {
        json_t *point = json_array_get(points, i);
        assert_int_equal(front.item[i].cost.macs, json_integer_value(json_object_get(point, "multiplies")));
        assert_int_equal(front.item[i].cost.peak_elements,
                         json_integer_value(json_object_get(point, "peak_elements")));
    }
    free(sizes);
    tn_arena_free(&arena);
}

static void reference_fronts_of(const char *name) {
    json_t *root, *networks = networks_of(name, &root);
    for (size_t i = 0; i < json_array_size(networks); i++) reference_front(json_array_get(networks, i));
    json_decref(root);
}

static void reference_fronts_of_trains(void **state) {
    (void)state;
    reference_fronts_of("oracles/order/pareto_tt.json");
}

static void reference_fronts_that_are_hard(void **state) {
    (void)state;
    reference_fronts_of("oracles/order/pareto_hard.json");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_objective_on_random_networks),
        cmocka_unit_test(least_macs_of_stars),
        cmocka_unit_test(least_macs_of_trees),
        cmocka_unit_test(a_known_cost_changes_no_answer),
        cmocka_unit_test(least_macs_of_closed_networks),
        cmocka_unit_test(reference_flows),
        cmocka_unit_test(reference_fronts_of_trains),
        cmocka_unit_test(reference_fronts_that_are_hard),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
