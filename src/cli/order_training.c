/* `tenfold order --training` (cli/order.h). */
#include "base/clock.h"
#include "cli/order.h"

/* The named flow's training step; where the publication orders the backward pass of the bidirectional flow
 * (TT, d = 3), that order stands under its name, and reverse mode beside it. */
static tn_status add_named(tn_order *order, const tn_weight *weight, tn_flow_name flow, const char *name,
                           tn_arena *arena, tn_error *error) {
    const tn_program_options options = {.training = true, .no_input_gradient = order->no_input_gradient};
    tn_order_flow *to = &order->flow[order->flows];
    tn_network network;
    tn_program program;
    if (!tn_flow_exists(weight, flow)) return TN_OK;
    to->name = name;
    TN_TRY(tn_weight_forward(weight, order->tokens, arena, &network, error));
    TN_TRY(tn_flow_tree(weight, order->tokens, flow, arena, &to->tree, error));
    TN_TRY(tn_tree_cost_of(&network, &to->tree, &to->cost, error));
    TN_TRY(tn_program_named(weight, order->tokens, flow, &options, arena, &program, error));
    TN_TRY(tn_training_cost_of(&program, &to->training, error));
    order->flows++;
    return TN_OK;
}

static tn_status add_layer_flows(tn_order *order, tn_arena *arena, tn_error *error) {
    const tn_weight *weight = &order->weight;
    tn_weight dense = *weight;
    bool published = tn_flow_exists(weight, TN_FLOW_BIDIRECTIONAL_PUBLISHED) && !order->no_input_gradient;
    const char *bidirectional = tn_flow_names[TN_FLOW_BIDIRECTIONAL];
    dense.format = TN_DENSE;
    dense.rank_count = 0;
    TN_TRY(add_named(order, &dense, TN_FLOW_DENSE, tn_flow_names[TN_FLOW_DENSE], arena, error));
    if (weight->format == TN_DENSE) return TN_OK;
    TN_TRY(
        add_named(order, weight, TN_FLOW_RIGHT_TO_LEFT, tn_flow_names[TN_FLOW_RIGHT_TO_LEFT], arena, error));
    if (published)
        TN_TRY(add_named(order, weight, TN_FLOW_BIDIRECTIONAL_PUBLISHED, bidirectional, arena, error));
    return add_named(order, weight, TN_FLOW_BIDIRECTIONAL,
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
    tn_order_flow *to = &order->flow[order->flows];
    order->best.found = best != NULL;
    if (!best) return TN_OK;
    *to = (tn_order_flow){.name = tn_flow_names[TN_FLOW_OPTIMAL],
                          .tree = best->forward,
                          .backward = best->backward.tensors ? &best->backward : NULL,
                          .training = best->cost};
    TN_TRY(tn_tree_cost_of(&order->network, &to->tree, &to->cost, error));
    order->best.tree = to->tree;
    order->best.cost = to->cost;
    order->flows++;
    return TN_OK;
}

tn_status tn_order_train(tn_order *order, tn_arena *arena, tn_error *error) {
    tn_tree hint[TN_FLOWS + 1];
    size_t hints = 0;
    double start = tn_clock_seconds();
    /* Named flows are of one micro-batch a step. */
    if (order->tokens && order->micro_batches <= 1) TN_TRY(add_layer_flows(order, arena, error));
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
