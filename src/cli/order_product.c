/* `tenfold order` without --training (cli/order.h). */
#include "base/clock.h"
#include "base/memory.h"
#include "cli/order.h"

#include <stdlib.h>
#include <string.h>

enum { FRONT_TENSORS = 16 }; /* networks up to this size get their front without being asked */
/* What the front of a network that nobody asked for may take: a tenth of a second. */
static const uint64_t UNASKED_WORK = 100000000;

static void add_flow(tn_order *order, const char *name, tn_tree tree, tn_tree_cost cost) {
    order->flow[order->flows++] = (tn_order_flow){.name = name, .tree = tree, .cost = cost};
}

/* The product with the uncompressed matrix. */
static tn_status add_dense(tn_order *order, tn_arena *arena, tn_error *error) {
    tn_weight dense = order->weight;
    tn_network network;
    tn_tree tree;
    tn_tree_cost cost;
    dense.format = TN_DENSE;
    dense.rank_count = 0;
    TN_TRY(tn_weight_forward(&dense, order->tokens, arena, &network, error));
    TN_TRY(tn_flow_tree(&dense, order->tokens, TN_FLOW_DENSE, arena, &tree, error));
    TN_TRY(tn_tree_cost_of(&network, &tree, &cost, error));
    add_flow(order, tn_flow_names[TN_FLOW_DENSE], tree, cost);
    return TN_OK;
}

static tn_status add_named(tn_order *order, tn_flow_name name, tn_arena *arena, tn_error *error) {
    tn_tree tree;
    tn_tree_cost cost;
    if (!tn_flow_exists(&order->weight, name)) return TN_OK;
    TN_TRY(tn_flow_tree(&order->weight, order->tokens, name, arena, &tree, error));
    TN_TRY(tn_tree_cost_of(&order->network, &tree, &cost, error));
    add_flow(order, tn_flow_names[name], tree, cost);
    return TN_OK;
}

static tn_status add_layer_flows(tn_order *order, tn_arena *arena, tn_error *error) {
    TN_TRY(add_dense(order, arena, error));
    if (order->weight.format == TN_DENSE) return TN_OK;
    TN_TRY(add_named(order, TN_FLOW_RIGHT_TO_LEFT, arena, error));
    return add_named(order, TN_FLOW_BIDIRECTIONAL, arena, error);
}

static tn_status search_front(tn_order *order, tn_arena *arena, tn_error *error) {
    tn_search_options options = order->search;
    bool asked = order->objective == TN_ORDER_FRONT;
    if (!asked && order->network.tensors > FRONT_TENSORS) return TN_OK;
    if (!asked && !options.work_most) options.work_most = UNASKED_WORK;
    return tn_search_front(&order->network, &options, arena, &order->front, error);
}

static tn_status search(tn_order *order, tn_arena *arena, tn_error *error) {
    double start = tn_clock_seconds();
    TN_TRY(tn_search(&order->network, &order->search, arena, &order->best, error));
    TN_TRY(search_front(order, arena, error));
    order->seconds = tn_clock_seconds() - start;
    /* Of the cheapest trees the front has the leanest. */
    const tn_tree_front *front = &order->front;
    if (front->count && order->best.found && front->item[0].cost.macs == order->best.cost.macs &&
        front->item[0].cost.peak_elements < order->best.cost.peak_elements) {
        order->best.tree = front->item[0].tree;
        order->best.cost = front->item[0].cost;
    }
    return TN_OK;
}

/* ---- every tree ---- */

typedef struct collector {
    tn_order *order;
    tn_arena *arena;
} collector;

static tn_status keep_tree(void *user, const tn_tree *tree, const tn_tree_cost *cost, tn_error *error) {
    collector *c = user;
    tn_order *order = c->order;
    if (!tn_order_admits(order, cost->peak_elements)) return TN_OK;
    TN_TRY(tn_grow(&order->tree, &order->tree_capacity, order->trees + 1, sizeof *order->tree, error));
    tn_order_flow *kept = &order->tree[order->trees];
    *kept = (tn_order_flow){.tree = {.tensors = tree->tensors}, .cost = *cost};
    size_t merges = tree->tensors - 1;
    TN_TRY(tn_arena_alloc(c->arena, merges, sizeof *kept->tree.merge, &kept->tree.merge, error));
    memcpy(kept->tree.merge, tree->merge, merges * sizeof *tree->merge);
    order->trees++;
    return TN_OK;
}

static int compare(uint64_t a, uint64_t b) {
    return (a > b) - (a < b);
}

/* Fewest MACs first, then the least peak; trees that are alike in both by their merges. */
static int by_cost(const void *a, const void *b) {
    const tn_order_flow *p = a, *q = b;
    int order = compare(p->cost.macs, q->cost.macs);
    if (!order) order = compare(p->cost.peak_elements, q->cost.peak_elements);
    for (uint32_t i = 0; !order && i + 1 < p->tree.tensors; i++) {
        order = compare(p->tree.merge[i].a, q->tree.merge[i].a);
        if (!order) order = compare(p->tree.merge[i].b, q->tree.merge[i].b);
    }
    return order;
}

static tn_status list_trees(tn_order *order, tn_arena *arena, tn_error *error) {
    collector c = {order, arena};
    TN_TRY(tn_search_every_tree(&order->network, &order->search, keep_tree, &c, error));
    if (order->trees) qsort(order->tree, order->trees, sizeof *order->tree, by_cost);
    return TN_OK;
}

tn_status tn_order_contract(tn_order *order, tn_arena *arena, tn_error *error) {
    if (order->tokens) TN_TRY(add_layer_flows(order, arena, error));
    order->search.objective = order->objective == TN_ORDER_LIVE ? TN_LEAST_LIVE : TN_LEAST_MACS;
    TN_TRY(search(order, arena, error));
    if (order->best.found)
        add_flow(order, tn_flow_names[TN_FLOW_OPTIMAL], order->best.tree, order->best.cost);
    return order->every_tree ? list_trees(order, arena, error) : TN_OK;
}
