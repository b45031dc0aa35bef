#include "cli/order.h"

#include "base/clock.h"
#include "base/interrupt.h"
#include "base/memory.h"
#include "base/name_index.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "plot/scatter.h"
#include "tensor/einsum.h"
#include "tensor/folding.h"
#include "tensor/network_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const tn_order_objectives[] = {"macs", "live", "front", "time", NULL};

bool tn_order_admits(const tn_order *order, uint64_t peak_elements) {
    uint64_t bound = order->search.max_live_elements;
    return !bound || peak_elements <= bound;
}

bool tn_order_exact(const tn_order *order) {
    if (order->training) return order->training_front.exact;
    return order->best.exact && (order->objective != TN_ORDER_FRONT || order->front.exact);
}

/* `tenfold order --training` (cli/order.h). */

/* The named flow's training step; where the publication orders the backward pass of the bidirectional flow
 * (TT, d = 3), that order stands under its name, and reverse mode beside it. */
static tn_status order_training_add_named(tn_order *order, const tn_weight *weight, tn_flow_name flow,
                                          const char *name, tn_arena *arena, tn_error *error) {
    const tn_program_options options = {.training = true, .no_input_gradient = order->no_input_gradient};
    tn_order_flow *target = &order->flow[order->flows];
    tn_network network;
    tn_program program;
    if (!tn_flow_exists(weight, flow)) return TN_OK;
    target->name = name;
    TN_TRY(tn_weight_forward(weight, order->tokens, arena, &network, error));
    TN_TRY(tn_flow_tree(weight, order->tokens, flow, arena, &target->tree, error));
    TN_TRY(tn_tree_cost_of(&network, &target->tree, &target->cost, error));
    TN_TRY(tn_program_named(weight, order->tokens, flow, &options, arena, &program, error));
    TN_TRY(tn_training_cost_of(&program, &target->training, error));
    order->flows++;
    return TN_OK;
}

static tn_status order_training_add_layer_flows(tn_order *order, tn_arena *arena, tn_error *error) {
    const tn_weight *weight = &order->weight;
    tn_weight dense = *weight;
    bool published = tn_flow_exists(weight, TN_FLOW_BIDIRECTIONAL_PUBLISHED) && !order->no_input_gradient;
    const char *bidirectional = tn_flow_names[TN_FLOW_BIDIRECTIONAL];
    dense.format = TN_DENSE;
    dense.rank_count = 0;
    TN_TRY(
        order_training_add_named(order, &dense, TN_FLOW_DENSE, tn_flow_names[TN_FLOW_DENSE], arena, error));
    if (weight->format == TN_DENSE) return TN_OK;
    TN_TRY(order_training_add_named(order, weight, TN_FLOW_RIGHT_TO_LEFT,
                                    tn_flow_names[TN_FLOW_RIGHT_TO_LEFT], arena, error));
    if (published)
        TN_TRY(order_training_add_named(order, weight, TN_FLOW_BIDIRECTIONAL_PUBLISHED, bidirectional, arena,
                                        error));
    return order_training_add_named(order, weight, TN_FLOW_BIDIRECTIONAL,
                                    published ? "bidirectional-reverse-mode" : bidirectional, arena, error);
}

/* Of the flows within --max-live the one that the objective asks for; NULL if there is none. */
static const tn_training_flow *choose(const tn_order *order) {
    const tn_training_flow *best = NULL;
    for (size_t i = 0; i < order->training_front.count; i++) {
        const tn_training_flow *flow = &order->training_front.item[i];
        if (!tn_order_admits(order, flow->cost.peak_elements)) continue;
        if (!best ||
            (order->objective == TN_ORDER_LIVE && flow->cost.peak_elements < best->cost.peak_elements))
            best = flow;
    }
    return best;
}

static tn_status add_optimal(tn_order *order, tn_error *error) {
    const tn_training_flow *best = choose(order);
    tn_order_flow *target = &order->flow[order->flows];
    order->best.found = best != NULL;
    if (!best) return TN_OK;
    *target = (tn_order_flow){.name = tn_flow_names[TN_FLOW_OPTIMAL],
                              .tree = best->forward,
                              .backward = best->backward.tensors ? &best->backward : NULL,
                              .training = best->cost};
    TN_TRY(tn_tree_cost_of(&order->network, &target->tree, &target->cost, error));
    order->best.tree = target->tree;
    order->best.cost = target->cost;
    order->flows++;
    return TN_OK;
}

/* Of training steps: flows, best, training_front and seconds. */
tn_status tn_order_train(tn_order *order, tn_arena *arena, tn_error *error) {
    tn_tree hint[TN_FLOWS + 1];
    size_t hints = 0;
    double start = tn_clock_seconds();
    /* Named flows are of one micro-batch a step. */
    if (order->tokens && order->micro_batches <= 1)
        TN_TRY(order_training_add_layer_flows(order, arena, error));
    for (uint32_t i = 0; i < order->flows; i++)
        if (order->flow[i].tree.tensors == order->network.tensors) hint[hints++] = order->flow[i].tree;
    tn_training_options options = {.no_input_gradient = order->no_input_gradient,
                                   .micro_batches = order->micro_batches,
                                   .hint = hint,
                                   .hints = hints};
    TN_TRY(tn_training_search(&order->network, &options, arena, &order->training_front, error));
    order->seconds = tn_clock_seconds() - start;
    order->best.exact = order->training_front.exact;
    order->best.lower_bound = order->training_front.lower_bound_macs;
    return add_optimal(order, error);
}

/* `tenfold order` without --training (cli/order.h). */

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

static tn_status order_product_add_named(tn_order *order, tn_flow_name name, tn_arena *arena,
                                         tn_error *error) {
    tn_tree tree;
    tn_tree_cost cost;
    if (!tn_flow_exists(&order->weight, name)) return TN_OK;
    TN_TRY(tn_flow_tree(&order->weight, order->tokens, name, arena, &tree, error));
    TN_TRY(tn_tree_cost_of(&order->network, &tree, &cost, error));
    add_flow(order, tn_flow_names[name], tree, cost);
    return TN_OK;
}

static tn_status order_product_add_layer_flows(tn_order *order, tn_arena *arena, tn_error *error) {
    TN_TRY(add_dense(order, arena, error));
    if (order->weight.format == TN_DENSE) return TN_OK;
    TN_TRY(order_product_add_named(order, TN_FLOW_RIGHT_TO_LEFT, arena, error));
    return order_product_add_named(order, TN_FLOW_BIDIRECTIONAL, arena, error);
}

static tn_status search_front(tn_order *order, tn_arena *arena, tn_error *error) {
    tn_search_options options = order->search;
    bool asked = order->objective == TN_ORDER_FRONT;
    if (order->alone || (!asked && order->network.tensors > FRONT_TENSORS)) return TN_OK;
    if (!asked && !options.work_most) options.work_most = UNASKED_WORK;
    return tn_search_front(&order->network, &options, arena, &order->front, error);
}

static uint64_t price_merge(void *user, const tn_product_shape *shape) {
    const tn_order_rates *rates = user;
    double batch = (double)shape->batch, rows = (double)shape->rows, columns = (double)shape->columns;
    double reduction = (double)shape->reduction;
    double elements = batch * (rows * reduction + reduction * columns + rows * columns);
    double seconds = rates->seconds_per_merge + batch * rows * reduction * columns / rates->macs_per_second +
                     elements / rates->elements_per_second;
    return seconds < 1e6 ? (uint64_t)(seconds * TN_ORDER_PRICES_PER_SECOND) : UINT64_MAX;
}

/* With a time limit the exact search gets half of it, a unit of its work being about a nanosecond. */
static tn_status search_best(tn_order *order, tn_arena *arena, tn_error *error) {
    static const uint32_t ROUNDS_WITHOUT_END = 1u << 30;
    tn_search_options *options = &order->search;
    if (order->objective == TN_ORDER_TIME) options->pricing = (tn_pricing){price_merge, &order->rates};
    if (order->limit_seconds > 0) {
        options->effort = ROUNDS_WITHOUT_END;
        options->work_most = (uint64_t)(order->limit_seconds * 0.5e9) + 1;
    }
    tn_interrupt_after(order->limit_seconds);
    tn_status status = tn_search(&order->network, options, arena, &order->best, error);
    tn_interrupt_after(0);
    return status;
}

static tn_status search(tn_order *order, tn_arena *arena, tn_error *error) {
    double start = tn_clock_seconds();
    TN_TRY(search_best(order, arena, error));
    TN_TRY(search_front(order, arena, error));
    order->seconds = tn_clock_seconds() - start;
    if (order->objective == TN_ORDER_TIME) return TN_OK;
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
    TN_TRY(TN_GROW(&order->tree, &order->tree_capacity, order->trees + 1, error));
    tn_order_flow *kept = &order->tree[order->trees];
    *kept = (tn_order_flow){.tree = {.tensors = tree->tensors}, .cost = *cost};
    size_t merges = tree->tensors - 1;
    TN_TRY(TN_NEW(c->arena, merges, &kept->tree.merge, error));
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

/* Of the network's one product: flows, best, front and trees from network (and weight), and seconds. */
tn_status tn_order_contract(tn_order *order, tn_arena *arena, tn_error *error) {
    static const tn_objective objectives[] = {
        [TN_ORDER_MACS] = TN_LEAST_MACS,
        [TN_ORDER_LIVE] = TN_LEAST_LIVE,
        [TN_ORDER_FRONT] = TN_LEAST_MACS,
        [TN_ORDER_TIME] = TN_LEAST_PRICE,
    };
    if (order->tokens && !order->alone) TN_TRY(order_product_add_layer_flows(order, arena, error));
    order->search.objective = objectives[order->objective];
    TN_TRY(search(order, arena, error));
    if (order->best.found)
        add_flow(order, tn_flow_names[TN_FLOW_OPTIMAL], order->best.tree, order->best.cost);
    return order->every_tree ? list_trees(order, arena, error) : TN_OK;
}
