/* `tenfold order --json` (cli/order.h). */
#include "base/checked.h"
#include "cli/order.h"
#include "text/json.h"

static void put_tree(tn_json *json, const char *key, const tn_tree *tree) {
    tn_json_key(json, key);
    tn_json_row(json);
    for (uint32_t i = 0; i + 1 < tree->tensors; i++) {
        tn_json_row(json);
        tn_json_count(json, tree->merge[i].a);
        tn_json_count(json, tree->merge[i].b);
        tn_json_end(json);
    }
    tn_json_end(json);
}

static void put_path(tn_json *json, const tn_tree *tree) {
    put_tree(json, "path", tree);
}

static void put_training_cost(tn_json *json, const tn_training_cost *cost) {
    tn_json_put_count(json, "forward_macs", cost->forward_macs);
    tn_json_put_count(json, "backward_macs", cost->backward_macs);
    tn_json_put_count(json, "total_macs", cost->total_macs);
    tn_json_put_count(json, "saved_elements", cost->saved_elements);
    tn_json_put_count(json, "recomputed_macs", cost->recomputed_macs);
}

/* The steps of a flow's program in order: phase, what is made, and of what. */
static void put_steps(tn_json *json, const tn_program *program) {
    char out[32], a[32], b[32];
    tn_json_key(json, "steps");
    tn_json_array(json);
    for (uint32_t s = 0; s < program->steps; s++) {
        const tn_program_step *step = &program->step[s];
        tn_json_row(json);
        tn_json_text(json, tn_phase_names[step->phase]);
        tn_json_text(json, tn_program_tensor_name(program, step->out, out));
        tn_json_text(json, tn_program_tensor_name(program, step->a, a));
        tn_json_text(json, tn_program_tensor_name(program, step->b, b));
        tn_json_end(json);
    }
    tn_json_end(json);
}

/* The points are (total_macs, saved_elements, peak_elements); path is the forward tree. */
static void put_training_front(tn_json *json, const tn_order *order) {
    tn_json_key(json, "front");
    tn_json_array(json);
    for (size_t i = 0; i < order->training_front.count; i++) {
        const tn_training_flow *flow = &order->training_front.item[i];
        if (!tn_order_admits(order, flow->cost.peak_elements)) continue;
        tn_json_object(json);
        put_training_cost(json, &flow->cost);
        tn_json_put_count(json, "peak_elements", flow->cost.peak_elements);
        put_path(json, &flow->forward);
        if (flow->backward.tensors) put_tree(json, "backward_path", &flow->backward);
        put_steps(json, &flow->program);
        tn_json_end(json);
    }
    tn_json_end(json);
}

static tn_status put_flow(tn_json *json, const tn_order *order, const tn_order_flow *flow, tn_error *error) {
    uint64_t flops;
    if (!tn_mul(2, flow->cost.macs, &flops))
        return tn_fail(error, TN_OVERFLOW, "flow %s takes more than 2^64 FLOPs; use smaller sizes",
                       flow->name);
    tn_json_object(json);
    tn_json_put_text(json, "name", flow->name);
    tn_json_put_count(json, "macs", flow->cost.macs);
    tn_json_put_count(json, "flops", flops);
    tn_json_put_count(json, "peak_elements",
                      order->training ? flow->training.peak_elements : flow->cost.peak_elements);
    tn_json_put_count(json, "largest_intermediate", flow->cost.largest_intermediate);
    if (order->training) put_training_cost(json, &flow->training);
    put_path(json, &flow->tree);
    if (flow->backward) put_tree(json, "backward_path", flow->backward);
    tn_json_end(json);
    return TN_OK;
}

static void put_front(tn_json *json, const tn_tree_front *front) {
    tn_json_key(json, "front");
    tn_json_array(json);
    for (size_t i = 0; i < front->count; i++) {
        tn_json_object(json);
        tn_json_put_count(json, "macs", front->item[i].cost.macs);
        tn_json_put_count(json, "peak_elements", front->item[i].cost.peak_elements);
        put_path(json, &front->item[i].tree);
        tn_json_end(json);
    }
    tn_json_end(json);
}

static void put_trees(tn_json *json, const tn_order *order) {
    tn_json_key(json, "trees");
    tn_json_array(json);
    for (size_t i = 0; i < order->trees; i++) {
        tn_json_object(json);
        tn_json_put_count(json, "macs", order->tree[i].cost.macs);
        tn_json_put_count(json, "peak_elements", order->tree[i].cost.peak_elements);
        tn_json_put_count(json, "largest_intermediate", order->tree[i].cost.largest_intermediate);
        put_path(json, &order->tree[i].tree);
        tn_json_end(json);
    }
    tn_json_end(json);
}

tn_status tn_order_json(const tn_order *order, tn_buffer *out, tn_error *error) {
    tn_json json;
    tn_json_begin(&json, out);
    tn_json_object(&json);
    if (order->name[0]) tn_json_put_text(&json, "name", order->name);
    tn_json_put_count(&json, "tensors", order->network.tensors);
    tn_json_put_text(&json, "objective", tn_order_objectives[order->objective]);
    tn_json_key(&json, "flows");
    tn_json_array(&json);
    for (uint32_t i = 0; i < order->flows; i++) TN_TRY(put_flow(&json, order, &order->flow[i], error));
    tn_json_end(&json);
    if (order->training)
        put_training_front(&json, order);
    else
        put_front(&json, &order->front);
    tn_json_put_bool(&json, "front_exact",
                     order->training ? order->training_front.exact : order->front.exact);
    if (order->every_tree) put_trees(&json, order);
    tn_json_put_bool(&json, "found", order->best.found);
    tn_json_put_bool(&json, "exact", tn_order_exact(order));
    tn_json_put_count(&json, "lower_bound", order->best.lower_bound);
    if (!order->training) tn_json_put_text(&json, "stopped", tn_stop_text(order->best.stop));
    if (!order->training && !tn_order_exact(order)) tn_json_put_count(&json, "seed", order->search.seed);
    if (order->figure) tn_json_put_text(&json, "figure", order->figure);
    tn_json_put_real(&json, "seconds", order->seconds);
    tn_json_end(&json);
    return out->status == TN_OK ? TN_OK : tn_fail(error, out->status, "no memory for the answer");
}
