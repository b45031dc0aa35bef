/* Named flows against the closed formulas of the reference facts, which the library itself never uses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "flow/named.h"

static tn_weight weight_of(tn_format format, uint32_t d, const uint64_t *m, const uint64_t *n,
                           uint64_t rank) {
    tn_weight weight = {.format = format, .d = d};
    memcpy(weight.m, m, d * sizeof *m);
    memcpy(weight.n, n, d * sizeof *n);
    assert_int_equal(tn_weight_set_rank(&weight, rank, NULL), TN_OK);
    return weight;
}

static uint64_t flow_macs(const tn_weight *weight, uint64_t tokens, tn_flow_name name) {
    tn_arena arena = {0};
    tn_network network;
    tn_tree tree;
    tn_tree_cost cost;
    tn_error error;
    tn_status status = tn_flow_tree(weight, tokens, name, &arena, &tree, &error);
    if (status != TN_OK) print_error("%s\n", error.message);
    assert_int_equal(status, TN_OK);
    assert_int_equal(tn_weight_forward(weight, tokens, &arena, &network, NULL), TN_OK);
    assert_int_equal(tn_tree_cost_of(&network, &tree, &cost, NULL), TN_OK);
    tn_arena_free(&arena);
    return cost.macs;
}

static const uint64_t M[] = {12, 8, 8}, N[] = {8, 8, 12};

static void worked_example(void **state) {
    (void)state;
    static const struct {
        uint64_t rank, right_to_left, bidirectional, optimal;
    } row[] = {{12, 1253376, 838656, 691200}, {10, 952320, 664320, 561920}};
    for (int i = 0; i < 2; i++) {
        tn_weight weight = weight_of(TN_TT, 3, M, N, row[i].rank);
        assert_int_equal(flow_macs(&weight, 32, TN_FLOW_RIGHT_TO_LEFT), row[i].right_to_left);
        assert_int_equal(flow_macs(&weight, 32, TN_FLOW_BIDIRECTIONAL), row[i].bidirectional);
        assert_int_equal(flow_macs(&weight, 32, TN_FLOW_BIDIRECTIONAL_PUBLISHED), row[i].bidirectional);
        assert_int_equal(flow_macs(&weight, 32, TN_FLOW_OPTIMAL), row[i].optimal);
    }
}

static uint64_t product(const uint64_t *factor, uint32_t begin, uint32_t end) {
    uint64_t value = 1;
    for (uint32_t k = begin; k < end; k++) value *= factor[k];
    return value;
}

/* K [ sum_i r_{d+i-1} r_{d+i} prod_{j<=i} n_j + sum_i r_{i-1} r_i prod_{j>=i} m_j ] */
static uint64_t right_to_left_formula(const tn_weight *w, uint64_t tokens) {
    uint64_t sum = 0;
    for (uint32_t i = 1; i <= w->d; i++) {
        sum += w->rank[w->d + i - 1] * w->rank[w->d + i] * product(w->n, 0, i);
        sum += w->rank[i - 1] * w->rank[i] * product(w->m, i - 1, w->d);
    }
    return tokens * sum;
}

static uint64_t bidirectional_formula(const tn_weight *w, uint64_t tokens) {
    uint32_t d = w->d;
    uint64_t sum = tokens * w->rank[d] * (product(w->n, 0, d) + product(w->m, 0, d));
    for (uint32_t i = 2; i <= d; i++) sum += w->rank[i - 1] * w->rank[i] * product(w->m, 0, i);
    for (uint32_t i = 1; i < d; i++) sum += w->rank[d + i - 1] * w->rank[d + i] * product(w->n, i - 1, d);
    return sum;
}

static void tensor_train_formulas(void **state) {
    (void)state;
    static const uint64_t m[] = {3, 5, 2, 4, 2}, n[] = {2, 4, 3, 2, 5};
    for (uint32_t d = 1; d <= 5; d++) {
        tn_weight weight = weight_of(TN_TT, d, m, n, 3);
        for (uint32_t j = 1; j < 2 * d; j++) weight.rank[j] = 2 + j % 4;
        for (uint64_t tokens = 1; tokens <= 9; tokens += 4) {
            assert_int_equal(flow_macs(&weight, tokens, TN_FLOW_RIGHT_TO_LEFT),
                             right_to_left_formula(&weight, tokens));
            assert_int_equal(flow_macs(&weight, tokens, TN_FLOW_BIDIRECTIONAL),
                             bidirectional_formula(&weight, tokens));
        }
    }
}

/* The dense flow ends with the K x M x N product, and costs just that where there is nothing to rebuild. */
static void dense_flow(void **state) {
    (void)state;
    tn_weight dense = {.format = TN_DENSE, .d = 1, .m = {768}, .n = {768}};
    assert_int_equal(flow_macs(&dense, 32, TN_FLOW_DENSE), 18874368);
    assert_int_equal(flow_macs(&dense, 32, TN_FLOW_RIGHT_TO_LEFT), 18874368);
    assert_int_equal(flow_macs(&dense, 32, TN_FLOW_OPTIMAL), 18874368);
    tn_weight two = weight_of(TN_TT, 1, M, N, 4); /* (12 x 4)(4 x 8) */
    assert_int_equal(flow_macs(&two, 5, TN_FLOW_DENSE), 12 * 4 * 8 + 5 * 12 * 8);
}

static void every_format_has_its_flows(void **state) {
    (void)state;
    for (int format = TN_DENSE; format < TN_FORMATS; format++)
        for (uint32_t d = 1; d <= 3; d++) {
            tn_weight weight = weight_of((tn_format)format, d, M, N, 3);
            uint64_t best = flow_macs(&weight, 7, TN_FLOW_OPTIMAL);
            assert_true(flow_macs(&weight, 7, TN_FLOW_DENSE) >= best);
            assert_true(flow_macs(&weight, 7, TN_FLOW_RIGHT_TO_LEFT) >= best);
            if (tn_flow_exists(&weight, TN_FLOW_BIDIRECTIONAL))
                assert_true(flow_macs(&weight, 7, TN_FLOW_BIDIRECTIONAL) >= best);
        }
}

/* X (tokens, 8, 12), then the two n factors, core and m factors, by hand. */
static void tucker_and_tree_by_hand(void **state) {
    (void)state;
    static const uint64_t m[] = {5, 7}, n[] = {8, 12};
    tn_weight tucker = weight_of(TN_TUCKER, 2, m, n, 3);
    uint64_t k = 10;
    assert_int_equal(flow_macs(&tucker, k, TN_FLOW_RIGHT_TO_LEFT),
                     k * 8 * 12 * 3 + k * 8 * 3 * 3 + k * 9 * 9 + k * 9 * 7 + k * 3 * 7 * 5);
    assert_int_equal(flow_macs(&tucker, k, TN_FLOW_BIDIRECTIONAL),
                     5 * 81 + 5 * 7 * 27 + 8 * 12 * 9 + k * 8 * 12 * 9 + k * 9 * 35);
    tn_weight tree = weight_of(TN_HT, 2, m, n, 3);
    assert_int_equal(flow_macs(&tree, k, TN_FLOW_RIGHT_TO_LEFT),
                     k * 8 * 12 * 3 + k * 8 * 3 * 3 + k * 27 + k * 9 + k * 27 + k * 9 * 7 + k * 3 * 7 * 5);
    assert_int_equal(flow_macs(&tree, k, TN_FLOW_BIDIRECTIONAL),
                     27 * 5 + 9 * 35 + 35 * 9 + 27 * 8 + 9 * 96 + k * 96 * 3 + k * 3 * 35);
}

static void absent_flows_are_refused(void **state) {
    (void)state;
    tn_arena arena = {0};
    tn_tree tree;
    tn_error error;
    tn_weight ttm = weight_of(TN_TTM, 3, M, N, 4), tt = weight_of(TN_TT, 2, M, N, 4);
    assert_int_equal(tn_flow_tree(&ttm, 4, TN_FLOW_BIDIRECTIONAL, &arena, &tree, &error), TN_INPUT);
    assert_non_null(strstr(error.message, "ttm"));
    assert_int_equal(tn_flow_tree(&tt, 4, TN_FLOW_BIDIRECTIONAL_PUBLISHED, &arena, &tree, &error), TN_INPUT);
    assert_int_equal(tn_flow_tree(&tt, 0, TN_FLOW_RIGHT_TO_LEFT, &arena, &tree, &error), TN_INPUT);
    tn_arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(worked_example),
        cmocka_unit_test(tensor_train_formulas),
        cmocka_unit_test(dense_flow),
        cmocka_unit_test(every_format_has_its_flows),
        cmocka_unit_test(tucker_and_tree_by_hand),
        cmocka_unit_test(absent_flows_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
