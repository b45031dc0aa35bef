/* Every tree there is (flow/search.h). Trees over the first k tensors become trees over k+1 by putting tensor
 * k beside any of their 2k-1 nodes; each tree arises once. */
#include "flow/search_state.h"

#include <inttypes.h>

enum { TENSORS_MOST = 8, NODES = 2 * TENSORS_MOST };

/* Nodes 0..n-1 are tensors, the others inner; `parent` of the root is itself. */
typedef struct shape {
    uint32_t root, parent[NODES], child[NODES][2];
} shape;

typedef struct walk {
    tn_search_state *state;
    tn_tree_visitor visit;
    void *user;
    tn_tree tree;
    tn_arena scratch;
    bool any;
} walk;

static uint32_t write_merges(const shape *s, uint32_t n, uint32_t node, uint32_t *count, tn_merge *merge) {
    if (node < n) return node;
    uint32_t a = write_merges(s, n, s->child[node][0], count, merge);
    uint32_t b = write_merges(s, n, s->child[node][1], count, merge);
    merge[*count] = (tn_merge){a, b};
    return n + (*count)++;
}

static bool share(tn_indices a, tn_indices b) {
    for (uint32_t i = 0; i < a.count; i++)
        for (uint32_t j = 0; j < b.count; j++)
            if (a.index[i] == b.index[j]) return true;
    return false;
}

/* *all false if some merge is an outer product. */
static tn_status all_share(walk *w, bool *all) {
    tn_indices *tensor = NULL;
    const tn_tree *tree = &w->tree;
    TN_TRY(tn_tree_tensors(w->state->network, tree, &w->scratch, &tensor, w->state->error));
    *all = true;
    for (uint32_t i = 0; i + 1 < tree->tensors; i++)
        *all = *all && share(tensor[tree->merge[i].a], tensor[tree->merge[i].b]);
    return TN_OK;
}

static tn_status show(walk *w, const shape *s) {
    tn_search_state *state = w->state;
    uint32_t count = 0;
    tn_tree_cost cost;
    write_merges(s, w->tree.tensors, s->root, &count, w->tree.merge);
    tn_arena_reset(&w->scratch);
    bool wanted = true;
    if (state->options.no_outer) TN_TRY(all_share(w, &wanted));
    if (!wanted) return TN_OK;
    TN_TRY(tn_tree_reorder(state->network, &w->tree, &w->scratch, state->error));
    TN_TRY(tn_tree_cost_of(state->network, &w->tree, &cost, state->error));
    w->any = true;
    return w->visit(w->user, &w->tree, &cost, state->error);
}

/* Puts tensor `leaf` beside `node` under the new inner node. */
static void insert(shape *s, uint32_t leaf, uint32_t node, uint32_t inner) {
    uint32_t above = s->parent[node];
    s->child[inner][0] = node;
    s->child[inner][1] = leaf;
    s->parent[leaf] = inner;
    s->parent[inner] = above == node ? inner : above;
    if (above == node)
        s->root = inner;
    else
        s->child[above][s->child[above][1] == node] = inner;
    s->parent[node] = inner;
}

static tn_status add_tensor(walk *w, const shape *s, uint32_t leaf) {
    uint32_t n = w->tree.tensors;
    if (leaf == n) return show(w, s);
    for (uint32_t node = 0; node < n + leaf - 1; node++) {
        if (node >= leaf && node < n) continue;
        shape wider = *s;
        insert(&wider, leaf, node, n + leaf - 1);
        TN_TRY(add_tensor(w, &wider, leaf + 1));
    }
    return TN_OK;
}

static tn_status every_tree(tn_search_state *state, tn_tree_visitor visit, void *user) {
    uint32_t n = state->network->tensors;
    tn_merge merge[TENSORS_MOST];
    shape single = {0};
    if (n > TENSORS_MOST)
        return tn_fail(state->error, TN_LIMIT, "every tree over %" PRIu32 " tensors; at most %d", n,
                       TENSORS_MOST);
    walk w = {.state = state, .visit = visit, .user = user, .tree = {n, merge}};
    tn_status status = add_tensor(&w, &single, 1);
    tn_arena_free(&w.scratch);
    TN_TRY(status);
    if (!w.any)
        return tn_fail(state->error, TN_INPUT,
                       "the network falls into parts that share no index; it needs outer products");
    return TN_OK;
}

tn_status tn_search_every_tree(const tn_network *network, const tn_search_options *options,
                               tn_tree_visitor visit, void *user, tn_error *error) {
    tn_search_state state;
    tn_status status = tn_search_state_begin(&state, network, options, NULL, error);
    if (status == TN_OK) status = every_tree(&state, visit, user);
    tn_search_state_end(&state);
    return status;
}
