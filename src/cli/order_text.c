/* `tenfold order` for people (cli/order.h). */
#include "cli/order.h"
#include "cli/output.h"
#include "text/table.h"

#include <inttypes.h>
#include <math.h>

static void head(tn_table *table, size_t columns, const char *const *name) {
    tn_table_begin(table, columns);
    for (size_t i = 0; i < columns; i++) tn_table_text(table, name[i]);
}

static tn_status print_flows(const tn_order *order, tn_error *error) {
    static const char *const names[] = {"flow", "MACs", "ratio to optimum", "peak live, elements",
                                        "largest intermediate, elements"};
    tn_table table;
    head(&table, 5, names);
    for (uint32_t i = 0; i < order->flows; i++) {
        const tn_tree_cost *cost = &order->flow[i].cost;
        tn_table_text(&table, order->flow[i].name);
        tn_table_count(&table, cost->macs);
        if (order->best.found && order->best.cost.macs)
            tn_table_format(&table, "%.3f", (double)cost->macs / (double)order->best.cost.macs);
        else
            tn_table_text(&table, "");
        tn_table_count(&table, cost->peak_elements);
        tn_table_count(&table, cost->largest_intermediate);
    }
    return tn_table_end(&table, error);
}

static tn_status print_expression(const tn_network *network, const tn_tree *tree, tn_error *error) {
    tn_buffer text = {0};
    tn_tree_expression(network, tree, &text);
    return tn_output(&text, error);
}

static tn_status print_best(const tn_order *order, tn_error *error) {
    tn_buffer text = {0};
    tn_say("\noptimal: ");
    TN_TRY(print_expression(&order->network, &order->best.tree, error));
    tn_say("\n\n");
    tn_tree_draw(&order->network, &order->best.tree, &text);
    return tn_output(&text, error);
}

static tn_status print_front(const tn_order *order, tn_error *error) {
    static const char *const names[] = {"MACs", "peak live, elements", "tree"};
    tn_table table;
    if (order->front.count < 2 && order->objective != TN_ORDER_FRONT) return TN_OK;
    tn_say("\nfront of MACs and peak live elements%s\n",
           order->front.exact ? "" : " (as far as it is known)");
    head(&table, 3, names);
    for (size_t i = 0; i < order->front.count; i++) {
        tn_buffer text = {0};
        tn_tree_expression(&order->network, &order->front.item[i].tree, &text);
        tn_table_count(&table, order->front.item[i].cost.macs);
        tn_table_count(&table, order->front.item[i].cost.peak_elements);
        if (text.status != TN_OK && table.status == TN_OK) table.status = text.status;
        tn_table_text(&table, text.data ? text.data : "");
        tn_buffer_free(&text);
    }
    return tn_table_end(&table, error);
}

static tn_status print_trees(const tn_order *order, tn_error *error) {
    char text[32];
    if (!order->every_tree) return TN_OK;
    tn_say("\nevery tree: %s\n%20s %20s   tree\n", tn_count_text(order->trees, text), "MACs",
           "peak live, elements");
    for (size_t i = 0; i < order->trees; i++) {
        const tn_order_flow *tree = &order->tree[i];
        tn_say("%20s ", tn_count_text(tree->cost.macs, text));
        tn_say("%20s   ", tn_count_text(tree->cost.peak_elements, text));
        TN_TRY(print_expression(&order->network, &tree->tree, error));
        tn_say("\n");
    }
    return TN_OK;
}

static void print_none(const tn_order *order) {
    char bound[32], least[32];
    tn_say("\nno tree %s %s live elements; at least %s are needed\n",
           order->best.exact ? "stays within" : "was found within",
           tn_count_text(order->search.max_live_elements, bound),
           tn_count_text(order->best.lower_bound, least));
}

static void print_proof(const tn_order *order) {
    const tn_search_result *best = &order->best;
    bool live = order->objective == TN_ORDER_LIVE;
    uint64_t value = live ? best->cost.peak_elements : best->cost.macs;
    char bound[32];
    tn_say("\n");
    if (best->exact) {
        tn_say("%s over all trees%s: proven\n", live ? "least peak" : "least MACs",
               order->search.no_outer ? " without outer products" : ", outer products among them");
    } else {
        double gap = value ? 100 * (1 - (double)best->lower_bound / (double)value) : 0;
        tn_say("not proven: lower bound %s %s, gap %.3g %% (at most %.4g times the least); %s (seed %" PRIu64
               ")\n",
               tn_count_text(best->lower_bound, bound), live ? "elements" : "MACs", gap,
               best->lower_bound ? (double)value / (double)best->lower_bound : INFINITY,
               tn_stop_text(best->stop), order->search.seed);
    }
    if (order->objective == TN_ORDER_FRONT && !order->front.exact)
        tn_say("the front is not proven: %s\n", tn_stop_text(order->front.stop));
}

/* ---- training ---- */

static void put_training_row(tn_table *table, const tn_training_cost *cost, uint64_t least) {
    tn_table_count(table, cost->forward_macs);
    tn_table_count(table, cost->backward_macs);
    tn_table_count(table, cost->total_macs);
    tn_table_format(table, "%.3f", (double)cost->total_macs / (double)least);
    tn_table_count(table, cost->recomputed_macs);
    tn_table_count(table, cost->saved_elements);
    tn_table_count(table, cost->peak_elements);
}

static tn_status print_training_flows(const tn_order *order, uint64_t least, tn_error *error) {
    static const char *const names[] = {"flow",
                                        "forward MACs",
                                        "backward MACs",
                                        "total MACs",
                                        "ratio to optimum",
                                        "recomputed MACs",
                                        "saved, elements",
                                        "peak live, elements"};
    tn_table table;
    head(&table, 8, names);
    for (uint32_t i = 0; i < order->flows; i++) {
        tn_table_text(&table, order->flow[i].name);
        put_training_row(&table, &order->flow[i].training, least);
    }
    return tn_table_end(&table, error);
}

static tn_status print_training_front(const tn_order *order, uint64_t least, tn_error *error) {
    static const char *const names[] = {"forward MACs",        "backward MACs",   "total MACs",
                                        "ratio to optimum",    "recomputed MACs", "saved, elements",
                                        "peak live, elements", "forward tree"};
    tn_table table;
    tn_say("\nfront of total MACs, saved elements and peak live elements%s\n",
           order->training_front.exact ? "" : " (as far as it is known)");
    head(&table, 8, names);
    for (size_t i = 0; i < order->training_front.count; i++) {
        const tn_training_flow *flow = &order->training_front.item[i];
        tn_buffer text = {0};
        if (!tn_order_admits(order, flow->cost.peak_elements)) continue;
        put_training_row(&table, &flow->cost, least);
        tn_tree_expression(&order->network, &flow->forward, &text);
        if (flow->backward.tensors == 0) tn_buffer_text(&text, ", several backward");
        if (text.status != TN_OK && table.status == TN_OK) table.status = text.status;
        tn_table_text(&table, text.data ? text.data : "");
        tn_buffer_free(&text);
    }
    return tn_table_end(&table, error);
}

static void print_training_proof(const tn_order *order, uint64_t least) {
    const tn_training_front *front = &order->training_front;
    char bound[32];
    double gap = least ? 100 * (1 - (double)front->lower_bound_macs / (double)least) : 0;
    tn_say("\n%s%s; no program of any kind takes fewer than %s MACs (gap %.3g %%)\n",
           front->exact ? "proven over all training flows of one tree forward and one backward"
                        : "not proven: the best of the trees that searches and exchanges gave",
           front->exact_any_trees ? ", in MACs and saved elements over any number of trees backward" : "",
           tn_count_text(front->lower_bound_macs, bound), gap);
}

tn_status tn_order_print_training(const tn_order *order, tn_error *error) {
    const tn_training_front *front = &order->training_front;
    uint64_t least = front->count ? front->item[0].cost.total_macs : 1;
    char text[32];
    TN_TRY(print_training_flows(order, least, error));
    if (order->best.found) {
        tn_say("\noptimal: forward ");
        TN_TRY(print_expression(&order->network, &order->best.tree, error));
        const tn_tree *backward = order->flow[order->flows - 1].backward;
        tn_say(", backward along %s", backward ? "" : "several trees");
        if (backward) TN_TRY(print_expression(&order->network, backward, error));
        tn_say("\n");
    } else {
        tn_say("\nno training flow was found within %s live elements\n",
               tn_count_text(order->search.max_live_elements, text));
    }
    TN_TRY(print_training_front(order, least, error));
    print_training_proof(order, least);
    tn_say("%" PRIu32 " tensors, searched in %s\n", order->network.tensors,
           tn_si_text(order->seconds, "s", text));
    return TN_OK;
}

tn_status tn_order_print(const tn_order *order, tn_error *error) {
    char text[32];
    TN_TRY(print_flows(order, error));
    if (order->best.found)
        TN_TRY(print_best(order, error));
    else
        print_none(order);
    TN_TRY(print_front(order, error));
    TN_TRY(print_trees(order, error));
    if (order->best.found) print_proof(order);
    tn_say("%" PRIu32 " tensors, searched in %s\n", order->network.tensors,
           tn_si_text(order->seconds, "s", text));
    if (order->figure) tn_say("figure: %s\n", order->figure);
    return TN_OK;
}
