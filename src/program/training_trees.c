#include "program/training_trees.h"

#include "base/memory.h"
#include "flow/search.h"

#include <stdlib.h>
#include <string.h>

static tn_status add(tn_set_trees *trees, const tn_set_tree *tree, tn_error *error) {
    TN_TRY(TN_GROW(&trees->item, &trees->capacity, trees->count + 1, error));
    trees->item[trees->count++] = *tree;
    return TN_OK;
}

static tn_status add_visited(void *user, const tn_tree *tree, const tn_tree_cost *cost, tn_error *error) {
    tn_set_tree sets = {0};
    (void)cost;
    tn_set_tree_of(tree, &sets);
    return add(user, &sets, error);
}

tn_status tn_set_trees_all(const tn_network *network, tn_set_trees *trees, tn_error *error) {
    return tn_search_every_tree(network, NULL, add_visited, trees, error);
}

void tn_set_trees_free(tn_set_trees *trees) {
    tn_free(trees->item);
    *trees = (tn_set_trees){0};
}

static uint64_t set_of(const tn_set_tree *tree, uint32_t node) {
    return node < tree->leaves ? UINT64_C(1) << node : tree->set[node - tree->leaves];
}

static bool has_set(const tn_set_tree *tree, uint64_t set) {
    for (uint32_t i = 0; i + 1 < tree->leaves; i++)
        if (tree->set[i] == set) return true;
    return false;
}

static bool is_same(const tn_set_tree *a, const tn_set_tree *b) {
    for (uint32_t i = 0; i + 1 < a->leaves; i++)
        if (!has_set(b, a->set[i])) return false;
    return true;
}

static bool holds(const tn_set_trees *trees, const tn_set_tree *tree) {
    for (size_t i = 0; i < trees->count; i++)
        if (is_same(&trees->item[i], tree)) return true;
    return false;
}

static tn_status add_new(tn_set_trees *trees, const tn_set_tree *tree, tn_error *error) {
    return holds(trees, tree) ? TN_OK : add(trees, tree, error);
}

static tn_status add_found(const tn_network *network, tn_objective objective, tn_set_trees *trees,
                           uint64_t *bound, tn_error *error) {
    const tn_search_options options = {.objective = objective};
    tn_search_result result;
    tn_set_tree sets = {0};
    tn_arena arena = {0};
    tn_status status = tn_search(network, &options, &arena, &result, error);
    if (status == TN_OK) {
        tn_set_tree_of(&result.tree, &sets);
        *bound = result.lower_bound;
        status = add_new(trees, &sets, error);
    }
    tn_arena_free(&arena);
    return status;
}

static tn_status add_hints(const tn_network *network, const tn_training_options *options, tn_set_trees *trees,
                           tn_error *error) {
    for (size_t i = 0; options && i < options->hints; i++) {
        tn_set_tree sets = {0};
        TN_TRY(tn_tree_check(network, &options->hint[i], error));
        tn_set_tree_of(&options->hint[i], &sets);
        TN_TRY(add_new(trees, &sets, error));
    }
    return TN_OK;
}

/* (x (y z)) becomes ((x y) z): the child `stays` of the inner child of merge i goes up, its sibling is merged
 * with the other child of merge i. Only the inner child's set changes. */
static tn_set_tree exchanged(const tn_set_tree *tree, uint32_t i, bool inner_is_b, bool stays_is_b) {
    tn_set_tree next = *tree;
    uint8_t *outer = inner_is_b ? &next.a[i] : &next.b[i], *inner = inner_is_b ? &next.b[i] : &next.a[i];
    uint32_t child = *inner - tree->leaves;
    uint8_t *up = stays_is_b ? &next.b[child] : &next.a[child];
    uint8_t swap = *outer;
    *outer = *up;
    *up = swap;
    next.set[child] = set_of(&next, next.a[child]) | set_of(&next, next.b[child]);
    return next;
}

/* Children before parents again: by size of their sets. */
static void reorder(tn_set_tree *tree) {
    uint32_t n = tree->leaves, place[TN_TRAINING_MOST], next = 0;
    tn_set_tree old = *tree;
    for (int size = 2; size <= (int)n; size++)
        for (uint32_t i = 0; i + 1 < n; i++)
            if (__builtin_popcountll(old.set[i]) == size) place[i] = next++;
    for (uint32_t i = 0; i + 1 < n; i++) {
        tree->a[place[i]] = old.a[i] < n ? old.a[i] : (uint8_t)(n + place[old.a[i] - n]);
        tree->b[place[i]] = old.b[i] < n ? old.b[i] : (uint8_t)(n + place[old.b[i] - n]);
        tree->set[place[i]] = old.set[i];
    }
}

static tn_status add_neighbours(tn_set_trees *trees, size_t position, tn_error *error) {
    const tn_set_tree tree = trees->item[position];
    for (uint32_t i = 0; i + 1 < tree.leaves; i++)
        for (int way = 0; way < 4; way++) {
            bool inner_is_b = way & 1;
            if ((inner_is_b ? tree.b[i] : tree.a[i]) < tree.leaves) continue;
            tn_set_tree next = exchanged(&tree, i, inner_is_b, way & 2);
            reorder(&next);
            TN_TRY(add_new(trees, &next, error));
        }
    return TN_OK;
}

typedef struct priced {
    uint64_t macs;
    size_t position;
} priced;

static int by_macs(const void *a, const void *b) {
    const priced *one = a, *other = b;
    if (one->macs != other->macs) return one->macs < other->macs ? -1 : 1;
    return one->position < other->position ? -1 : one->position > other->position;
}

static uint64_t macs_of(const tn_closed *closed, const tn_set_tree *tree) {
    uint64_t macs = 0;
    for (uint32_t i = 0; i + 1 < tree->leaves; i++)
        macs = tn_saturating_add(macs,
                                 tn_closed_macs(closed, set_of(tree, tree->a[i]), set_of(tree, tree->b[i])));
    return macs;
}

/* The first `always` trees and the cheapest of the others. */
static tn_status keep_cheapest(const tn_closed *closed, size_t always, size_t most, tn_set_trees *trees,
                               tn_error *error) {
    priced *price;
    tn_set_trees kept = {0};
    tn_status status = TN_OK;
    if (trees->count <= most) return TN_OK;
    TN_TRY(TN_ALLOC(trees->count, &price, error));
    for (size_t i = 0; i < trees->count; i++)
        price[i] = (priced){i < always ? 0 : macs_of(closed, &trees->item[i]), i};
    qsort(price, trees->count, sizeof *price, by_macs);
    for (size_t i = 0; i < most && status == TN_OK; i++)
        status = add(&kept, &trees->item[price[i].position], error);
    tn_free(price);
    tn_set_trees_free(trees);
    *trees = kept;
    return status;
}

tn_status tn_set_trees_near(const tn_network *network, const tn_closed *closed,
                            const tn_training_options *options, size_t most, tn_set_trees *trees,
                            uint64_t *forward_bound, tn_error *error) {
    uint64_t peak_bound;
    TN_TRY(add_found(network, TN_LEAST_MACS, trees, forward_bound, error));
    TN_TRY(add_found(network, TN_LEAST_LIVE, trees, &peak_bound, error));
    TN_TRY(add_hints(network, options, trees, error));
    size_t given = trees->count;
    for (size_t i = 0; i < given; i++) TN_TRY(add_neighbours(trees, i, error));
    return keep_cheapest(closed, given, most, trees, error);
}
