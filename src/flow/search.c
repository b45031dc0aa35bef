#include "flow/search.h"

#include "flow/problem.h"

#include <inttypes.h>

/* The best of each set of tensors. */
typedef struct plan {
    uint64_t open, macs;
    uint32_t left; /* the part with the lowest tensor; 0: a tensor of the network */
} plan;

enum { MOST_TENSORS = 16 };

static void best_split(const tn_problem *problem, plan *table, uint32_t set) {
    uint32_t low = set & (~set + 1), rest = set ^ low;
    plan best = {.macs = UINT64_MAX, .left = low};
    best.open = tn_problem_open(problem, table[low].open | table[rest].open, set);
    for (uint32_t part = rest; part;) {
        part = (part - 1) & rest;
        const plan *a = &table[low | part], *b = &table[rest ^ part];
        uint64_t below = tn_saturating_add(a->macs, b->macs);
        uint64_t macs = tn_saturating_add(below, tn_problem_product(problem, a->open | b->open));
        if (macs >= best.macs) continue;
        best.macs = macs;
        best.left = low | part;
    }
    table[set] = best;
}

static uint32_t write_merges(const plan *table, uint32_t set, uint32_t *next, tn_tree *tree) {
    uint32_t left = table[set].left;
    if (!left) return (uint32_t)__builtin_ctz(set);
    uint32_t a = write_merges(table, left, next, tree), b = write_merges(table, set ^ left, next, tree);
    tree->merge[*next] = (tn_merge){a, b};
    return tree->tensors + (*next)++;
}

tn_status tn_search(const tn_network *network, const tn_search_options *options, tn_arena *arena,
                    tn_search_result *result, tn_error *error) {
    tn_problem problem;
    plan *table = NULL;
    (void)options;
    TN_TRY(tn_network_check(network, error));
    if (network->tensors > MOST_TENSORS || !tn_problem_of(network, &problem))
        return tn_fail(error, TN_LIMIT, "a search over %" PRIu32 " tensors; at most %d", network->tensors,
                       MOST_TENSORS);
    uint32_t n = network->tensors, next = 0;
    TN_TRY(tn_arena_alloc(arena, (size_t)1 << n, sizeof *table, &table, error));
    for (uint32_t t = 0; t < n; t++) table[(uint32_t)1 << t].open = problem.tensor[t];
    for (uint32_t set = 1; set <= problem.all; set++)
        if (set & (set - 1)) best_split(&problem, table, set);
    *result = (tn_search_result){.tree.tensors = n, .found = true, .exact = true};
    TN_TRY(tn_arena_alloc(arena, n, sizeof *result->tree.merge, &result->tree.merge, error));
    write_merges(table, (uint32_t)problem.all, &next, &result->tree);
    TN_TRY(tn_tree_reorder(network, &result->tree, arena, error));
    TN_TRY(tn_tree_cost_of(network, &result->tree, &result->cost, error));
    result->lower_bound = result->cost.macs;
    return TN_OK;
}
