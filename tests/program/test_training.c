/* Training flows against brute force (support/training_brute.h), the worked numbers of the reference facts,
 * and the published flow. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>
#include <time.h>

#include "base/memory.h"
#include "flow/named.h"
#include "program/training.h"
#include "support/audit.h"
#include "support/brute.h"
#include "support/training_brute.h"

static tn_training_front search(const tn_network *network, const tn_training_options *options,
                                tn_arena *arena) {
    tn_training_front front;
    tn_error error;
    tn_status status = tn_training_search(network, options, arena, &front, &error);
    if (status != TN_OK) print_error("%s\n", error.message);
    assert_int_equal(status, TN_OK);
    return front;
}

/* A random network whose every index is on two tensors or in the output; NULL tensors if the seed has none.
 */
static bool trainable(const tn_network *network) {
    for (uint32_t i = 0; i < network->indices; i++) {
        int carriers = 0;
        for (uint32_t t = 0; t <= network->tensors; t++) {
            tn_indices indices = t < network->tensors ? network->tensor[t] : network->output;
            for (uint32_t k = 0; k < indices.count; k++) carriers += indices.index[k] == i;
        }
        if (carriers == 1) return false;
    }
    return network->tensors > 1;
}

static void print_fronts(const tn_training_front *front, const test_training_front *brute) {
    for (size_t i = 0; i < front->count; i++)
        print_error("found %llu %llu %llu kept %llx shared %llx\n",
                    (unsigned long long)front->item[i].cost.total_macs,
                    (unsigned long long)front->item[i].cost.saved_elements,
                    (unsigned long long)front->item[i].cost.peak_elements,
                    (unsigned long long)front->item[i].kept, (unsigned long long)front->item[i].shared);
    for (size_t i = 0; i < brute->count; i++)
        print_error("brute %llu %llu %llu\n", (unsigned long long)brute->point[i].macs,
                    (unsigned long long)brute->point[i].saved, (unsigned long long)brute->point[i].peak);
}

static void compare(const tn_network *network, const tn_training_options *options) {
    tn_arena arena = {0};
    tn_training_front front = search(network, options, &arena);
    test_training_front brute = test_training_brute(network, !options->no_input_gradient,
                                                    options->micro_batches ? options->micro_batches : 1);
    bool same = front.count == brute.count;
    for (size_t i = 0; i < front.count && same; i++) {
        const tn_training_cost *cost = &front.item[i].cost;
        same = cost->total_macs == brute.point[i].macs && cost->saved_elements == brute.point[i].saved &&
               cost->peak_elements == brute.point[i].peak;
    }
    if (!same) print_fronts(&front, &brute);
    assert_true(same);
    assert_true(front.exact);
    assert_true(front.lower_bound_macs <= front.item[0].cost.total_macs);
    for (size_t i = 0; i < front.count; i++)
        test_audit_program(network, &front.item[i].program, !options->no_input_gradient);
    tn_arena_free(&arena);
}

/* `rounds` random networks of that many tensors. */
static void compare_random(uint32_t tensors, int rounds, uint64_t micro_batches, uint64_t seed) {
    for (int done = 0; done < rounds; seed++) {
        tn_arena arena = {0};
        const test_random_network kind = {tensors, 4 + (uint32_t)(seed % 6), 5, seed % 3 == 0};
        tn_network network = test_network(&kind, seed, &arena);
        if (trainable(&network)) {
            compare(&network, &(tn_training_options){.no_input_gradient = done % 4 == 3,
                                                     .one_backward_tree = true,
                                                     .micro_batches = micro_batches});
            done++;
        }
        tn_arena_free(&arena);
    }
}

static void fronts_equal_brute_force(void **state) {
    (void)state;
    compare_random(2, 20, 1, 100);
    compare_random(3, 60, 1, 200);
    compare_random(4, 60, 1, 300);
    compare_random(5, 20, 1, 400);
}

static void fronts_of_six_tensors_equal_brute_force(void **state) {
    (void)state;
    compare_random(6, 1, 1, 500);
}

static void fronts_with_micro_batches_equal_brute_force(void **state) {
    (void)state;
    compare_random(2, 10, 3, 600);
    compare_random(3, 30, 2, 700);
    compare_random(4, 30, 3, 800);
    compare_random(5, 6, 4, 900);
}

/* Any number of backward trees: no flow has fewer MACs at no more saved elements, and nothing that two trees
 * give is lost. */
static bool check_any_trees(const tn_network *network, bool input_gradient, int *unproven) {
    tn_arena arena = {0};
    tn_training_options options = {.no_input_gradient = !input_gradient};
    tn_training_front front = search(network, &options, &arena);
    test_training_point point[TEST_TRAINING_FRONT];
    bool several = false;
    assert_true(front.exact && front.count <= TEST_TRAINING_FRONT);
    *unproven += !front.exact_any_trees;
    for (size_t i = 0; i < front.count; i++) {
        const tn_training_flow *flow = &front.item[i];
        point[i] =
            (test_training_point){flow->cost.total_macs, flow->cost.saved_elements, flow->cost.peak_elements};
        several |= flow->backward.tensors == 0;
        test_audit_program(network, &flow->program, input_gradient);
    }
    if (front.exact_any_trees) assert_false(test_training_beats(network, input_gradient, point, front.count));
    options.one_backward_tree = true;
    tn_training_front trees = search(network, &options, &arena);
    assert_false(trees.exact_any_trees);
    for (size_t i = 0; i < trees.count; i++) {
        bool covered = false;
        for (size_t k = 0; k < front.count && !covered; k++)
            covered = point[k].macs <= trees.item[i].cost.total_macs &&
                      point[k].saved <= trees.item[i].cost.saved_elements &&
                      point[k].peak <= trees.item[i].cost.peak_elements;
        assert_true(covered);
    }
    tn_arena_free(&arena);
    return several;
}

static tn_weight weight_of(tn_format format, uint32_t d, const uint64_t *m, const uint64_t *n,
                           uint64_t rank) {
    tn_weight weight = {.format = format, .d = d};
    memcpy(weight.m, m, d * sizeof *m);
    memcpy(weight.n, n, d * sizeof *n);
    assert_int_equal(tn_weight_set_rank(&weight, rank, NULL), TN_OK);
    return weight;
}

static void several_backward_trees(void **state) {
    (void)state;
    int rounds = 0, several = 0, unproven = 0;
    for (uint64_t seed = 1000; rounds < 90; seed++) {
        tn_arena arena = {0};
        const test_random_network kind = {2 + (uint32_t)(seed % 3), 4 + (uint32_t)(seed % 6), 6,
                                          seed % 3 == 0};
        tn_network network = test_network(&kind, seed, &arena);
        if (trainable(&network)) {
            several += check_any_trees(&network, seed % 5 != 0, &unproven);
            rounds++;
        }
        tn_arena_free(&arena);
    }
    assert_true(several > 5);
    assert_int_equal(unproven, 0);
}

/* On layers as they are: trains of two factors a side, five tensors. */
static void several_backward_trees_of_trains(void **state) {
    (void)state;
    int several = 0, unproven = 0;
    uint64_t seed = 9;
    for (int round = 0; round < 30; round++) {
        tn_arena arena = {0};
        tn_network network;
        tn_weight weight = {.format = TN_TT, .d = 2, .rank_count = 5, .rank = {1, 0, 0, 0, 1}};
        for (int k = 0; k < 2; k++) {
            weight.m[k] = 1 + test_random(&seed) % 16;
            weight.n[k] = 1 + test_random(&seed) % 16;
        }
        for (int k = 1; k < 4; k++) weight.rank[k] = 1 + test_random(&seed) % 16;
        uint64_t tokens = 1 + test_random(&seed) % 40;
        assert_int_equal(tn_weight_forward(&weight, tokens, &arena, &network, NULL), TN_OK);
        several += check_any_trees(&network, round % 5 != 0, &unproven);
        tn_arena_free(&arena);
    }
    assert_true(several > 0);
    assert_int_equal(unproven, 0);
}

static const uint64_t M[] = {12, 8, 8}, N[] = {8, 8, 12};

/* The least over all sets of trees is three times the cheapest forward, and that is proven. */
static void worked_example(void **state) {
    (void)state;
    static const struct { uint64_t rank, total; } row[] = {{12, 2073600}, {10, 1685760}};
    for (int i = 0; i < 2; i++) {
        tn_arena arena = {0};
        tn_network network;
        tn_weight weight = weight_of(TN_TT, 3, M, N, row[i].rank);
        assert_int_equal(tn_weight_forward(&weight, 32, &arena, &network, NULL), TN_OK);
        tn_training_front front = search(&network, NULL, &arena);
        assert_true(front.exact);
        assert_int_equal(front.item[0].cost.total_macs, row[i].total);
        assert_int_equal(front.item[0].cost.recomputed_macs, 0);
        assert_int_equal(front.lower_bound_macs, row[i].total);
        assert_true(front.exact_any_trees);
        assert_int_equal(front.item[front.count - 1].cost.saved_elements, 0);
        tn_arena_free(&arena);
    }
}

/* Four micro-batches of 32 rows: G1 G2 and the like are merged once, and their gradients taken apart once. */
static void micro_batches_share_merges(void **state) {
    (void)state;
    tn_arena arena = {0};
    tn_network network;
    tn_weight weight = weight_of(TN_TT, 2, (const uint64_t[]){24, 32}, (const uint64_t[]){32, 24}, 12);
    assert_int_equal(tn_weight_forward(&weight, 32, &arena, &network, NULL), TN_OK);
    tn_training_front front = search(&network, &(tn_training_options){.micro_batches = 4}, &arena);
    /* Both halves shared: 110,592 each, three times, once; two products with X, three times, four times. */
    assert_int_equal(front.item[0].cost.total_macs, 3 * (2 * 110592 + 4 * 2 * 32 * 768 * 12));
    assert_int_equal(front.lower_bound_macs, front.item[0].cost.total_macs);
    assert_int_equal(front.item[0].program.prelude_steps, 2);
    assert_int_equal(front.item[0].program.epilogue_steps, 4);
    assert_int_equal(front.item[0].program.micro_batches, 4);
    for (size_t i = 0; i < front.count; i++) test_audit_program(&network, &front.item[i].program, true);
    tn_arena_free(&arena);
}

static tn_training_cost cost_of_flow(const tn_weight *weight, uint64_t tokens, tn_flow_name name) {
    tn_arena arena = {0};
    tn_program program;
    tn_training_cost cost;
    const tn_program_options options = {.training = true};
    assert_int_equal(tn_program_named(weight, tokens, name, &options, &arena, &program, NULL), TN_OK);
    assert_int_equal(tn_training_cost_of(&program, &cost, NULL), TN_OK);
    tn_arena_free(&arena);
    return cost;
}

static bool is_beaten(const tn_training_front *front, const tn_training_cost *cost) {
    for (size_t i = 0; i < front->count; i++) {
        const tn_training_cost *one = &front->item[i].cost;
        if (one->total_macs <= cost->total_macs && one->saved_elements <= cost->saved_elements &&
            one->peak_elements <= cost->peak_elements)
            return true;
    }
    return false;
}

/* Never worse than the published flow, in any of the three counts, on any train; nor than reverse mode on a
 * named forward flow. */
static void never_worse_than_named_flows(void **state) {
    (void)state;
    uint64_t seed = 77;
    for (int round = 0; round < 12; round++) {
        tn_arena arena = {0};
        tn_network network;
        tn_weight weight = {.format = TN_TT, .d = (const uint32_t[]){2, 3, 2, 4}[round % 4]};
        for (uint32_t k = 0; k < weight.d; k++) {
            weight.m[k] = 1 + test_random(&seed) % 12;
            weight.n[k] = 1 + test_random(&seed) % 12;
        }
        assert_int_equal(tn_weight_set_rank(&weight, 1, NULL), TN_OK);
        for (uint32_t k = 1; k < 2 * weight.d; k++) weight.rank[k] = 1 + test_random(&seed) % 16;
        uint64_t tokens = 1 + test_random(&seed) % 40;
        assert_int_equal(tn_weight_forward(&weight, tokens, &arena, &network, NULL), TN_OK);
        tn_tree hint[2];
        assert_int_equal(tn_flow_tree(&weight, tokens, TN_FLOW_BIDIRECTIONAL, &arena, &hint[0], NULL), TN_OK);
        assert_int_equal(tn_flow_tree(&weight, tokens, TN_FLOW_RIGHT_TO_LEFT, &arena, &hint[1], NULL), TN_OK);
        tn_training_front front = search(&network, &(tn_training_options){.hint = hint, .hints = 2}, &arena);
        for (int flow = TN_FLOW_RIGHT_TO_LEFT; flow < TN_FLOWS; flow++) {
            if (!tn_flow_exists(&weight, (tn_flow_name)flow)) continue;
            tn_training_cost cost = cost_of_flow(&weight, tokens, (tn_flow_name)flow);
            assert_true(front.item[0].cost.total_macs <= cost.total_macs);
            if (!is_beaten(&front, &cost)) print_error("round %d, flow %s\n", round, tn_flow_names[flow]);
            assert_true(is_beaten(&front, &cost));
        }
        tn_arena_free(&arena);
    }
}

/* The bound holds for any number of trees, and is met where three times the cheapest tree is the least. */
static void lower_bound_holds_for_several_trees(void **state) {
    (void)state;
    int met = 0, rounds = 0;
    for (uint64_t seed = 0; rounds < 150; seed++) {
        tn_arena arena = {0};
        const test_random_network kind = {2 + (uint32_t)(seed % 3), 7, 6, seed % 2};
        tn_network network = test_network(&kind, seed, &arena);
        if (trainable(&network)) {
            const tn_training_options options = {.no_input_gradient = seed % 5 == 0};
            tn_training_front front = search(&network, &options, &arena);
            uint64_t least = test_training_least_macs(&network, !options.no_input_gradient);
            assert_true(front.lower_bound_macs <= least);
            assert_true(least <= front.item[0].cost.total_macs);
            met += front.lower_bound_macs == front.item[0].cost.total_macs;
            rounds++;
        }
        tn_arena_free(&arena);
    }
    assert_true(met > rounds * 3 / 4);
}

/* Beyond exact size: audited, not worse than three times the cheapest tree, and bounded. */
static void larger_networks(void **state) {
    (void)state;
    static const uint64_t m[] = {3, 2, 4, 2, 3, 2}, n[] = {2, 3, 2, 3, 2, 2};
    static const struct {
        tn_format format;
        uint32_t d;
        uint64_t micro_batches;
    } row[] = {{TN_TT, 4, 1}, {TN_TT, 4, 3}, {TN_TT, 6, 1}, {TN_HT, 3, 1}, {TN_TUCKER, 4, 1}, {TN_CP, 4, 2}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        tn_arena arena = {0};
        tn_network network;
        tn_weight weight = weight_of(row[i].format, row[i].d, m, n, 3);
        assert_int_equal(tn_weight_forward(&weight, 5, &arena, &network, NULL), TN_OK);
        tn_training_front front =
            search(&network, &(tn_training_options){.micro_batches = row[i].micro_batches}, &arena);
        assert_false(front.exact);
        for (size_t k = 0; k < front.count; k++) {
            test_audit_program(&network, &front.item[k].program, true);
            for (size_t j = 0; j < k; j++) {
                const tn_training_cost *one = &front.item[j].cost, *other = &front.item[k].cost;
                assert_true(one->total_macs <= other->total_macs);
                assert_true(one->saved_elements > other->saved_elements ||
                            one->peak_elements > other->peak_elements);
            }
        }
        tn_training_cost optimal = cost_of_flow(&weight, 5, TN_FLOW_OPTIMAL);
        assert_true(front.item[0].cost.total_macs <= optimal.total_macs * row[i].micro_batches);
        assert_true(front.lower_bound_macs <= front.item[0].cost.total_macs);
        tn_arena_free(&arena);
    }
}

static void hostile_input(void **state) {
    (void)state;
    tn_arena arena = {0};
    tn_training_front front;
    tn_error error;
    tn_network network = test_einsum("ab,bc,d->ac", "a=2,b=3,c=4,d=5", &arena);
    assert_int_equal(tn_training_search(&network, NULL, &arena, &front, &error), TN_INPUT);
    assert_non_null(strstr(error.message, "sum that tensor over it first"));
    network = test_einsum("ab->ba", "a=2,b=3", &arena);
    assert_int_equal(tn_training_search(&network, NULL, &arena, &front, &error), TN_INPUT);
    tn_weight weight =
        weight_of(TN_CP, 16, (const uint64_t[]){1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1},
                  (const uint64_t[]){1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, 2);
    assert_int_equal(tn_weight_forward(&weight, 1, &arena, &network, NULL), TN_OK);
    assert_int_equal(tn_training_search(&network, NULL, &arena, &front, &error), TN_LIMIT);
    network = test_einsum("ab,bc,cd->ad", "a=4294967296,b=4294967296,c=4294967296,d=2", &arena);
    assert_int_equal(tn_training_search(&network, NULL, &arena, &front, &error), TN_OVERFLOW);
    network = test_einsum("ab,bc->ac", "a=65536,b=65536,c=65536", &arena);
    assert_int_equal(tn_training_search(&network, &(tn_training_options){.micro_batches = UINT64_C(1) << 60},
                                        &arena, &front, &error),
                     TN_OVERFLOW);
    tn_arena_free(&arena);
}

static tn_status search_each(tn_arena *arena) {
    tn_network network;
    tn_training_front front;
    tn_weight weight = {.format = TN_TT, .d = 1, .m = {2}, .n = {3}, .rank_count = 3, .rank = {1, 2, 1}};
    TN_TRY(tn_weight_forward(&weight, 2, arena, &network, NULL));
    TN_TRY(tn_training_search(&network, NULL, arena, &front, NULL));
    TN_TRY(tn_training_search(&network, &(tn_training_options){.micro_batches = 2}, arena, &front, NULL));
    /* Too large to be searched exactly. */
    weight = (tn_weight){.format = TN_TTM, .d = 7, .rank_count = 8};
    for (int k = 0; k < 8; k++) weight.rank[k] = weight.m[k] = weight.n[k] = 1;
    TN_TRY(tn_weight_forward(&weight, 2, arena, &network, NULL));
    return tn_training_search(&network, NULL, arena, &front, NULL);
}

/* Where every size is 1, all trees tie and no bound cuts: the search gives up on several trees backward, and
 * it must not go on to bound the sets of kept values that it can no longer prove anything about. The products
 * of all but one of k numbers take 3 k - 6 multiplications where nothing is made twice. */
static void where_all_trees_tie_the_search_ends(void **state) {
    (void)state;
    static const uint64_t one[] = {1, 1, 1};
    for (uint32_t d = 1; d <= 3; d++) {
        tn_arena arena = {0};
        tn_network network;
        tn_weight weight = weight_of(TN_TT, d, one, one, 1);
        assert_int_equal(tn_weight_forward(&weight, 1, &arena, &network, NULL), TN_OK);
        clock_t start = clock();
        tn_training_front front = search(&network, NULL, &arena);
        assert_true((double)(clock() - start) / CLOCKS_PER_SEC < 10);
        assert_true(front.exact);
        assert_int_equal(front.count, 2 * d); /* from nothing kept to all of it */
        for (uint32_t i = 0; i < front.count; i++) {
            assert_int_equal(front.item[i].cost.total_macs, 3 * 2 * d + i);
            assert_int_equal(front.item[i].cost.saved_elements, 2 * d - 1 - i);
        }
        tn_arena_free(&arena);
    }
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    long failed = 0;
    for (long n = 1;; n += n < 150 ? 1 : n / 5, failed++) {
        tn_arena arena = {0};
        tn_memory_fail_at(n);
        tn_status status = search_each(&arena);
        long requests = tn_memory_requests();
        tn_memory_fail_at(0);
        tn_arena_free(&arena);
        if (requests < n) {
            assert_int_equal(status, TN_OK);
            assert_true(failed > 50);
            return;
        }
        assert_int_equal(status, TN_MEMORY);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fronts_equal_brute_force),
        cmocka_unit_test(fronts_of_six_tensors_equal_brute_force),
        cmocka_unit_test(fronts_with_micro_batches_equal_brute_force),
        cmocka_unit_test(several_backward_trees),
        cmocka_unit_test(several_backward_trees_of_trains),
        cmocka_unit_test(worked_example),
        cmocka_unit_test(micro_batches_share_merges),
        cmocka_unit_test(never_worse_than_named_flows),
        cmocka_unit_test(lower_bound_holds_for_several_trees),
        cmocka_unit_test(larger_networks),
        cmocka_unit_test(hostile_input),
        cmocka_unit_test(where_all_trees_tie_the_search_ends),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
