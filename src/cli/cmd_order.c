/* tenfold order (--layer SPEC | --einsum EXPR --sizes SIZES | NETWORK.yaml | --batch FILE.csv) */
#include "cli/cmd_order.h"

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

const char *const tn_order_objectives[] = {"macs", "live", "front", NULL};

bool tn_order_admits(const tn_order *order, uint64_t peak_elements) {
    uint64_t bound = order->search.max_live_elements;
    return !bound || peak_elements <= bound;
}

bool tn_order_exact(const tn_order *order) {
    if (order->training) return order->training_front.exact;
    return order->best.exact && (order->objective != TN_ORDER_FRONT || order->front.exact);
}

/* `tenfold order --training` (cli/cmd_order.h). */

/* The named flow's training step; where the publication orders the backward pass of the bidirectional flow
 * (TT, d = 3), that order stands under its name, and reverse mode beside it. */
static tn_status order_training_add_named(tn_order *order, const tn_weight *weight, tn_flow_name flow,
                                          const char *name, tn_arena *arena, tn_error *error) {
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

/* Of training steps: flows, best, training_front and seconds. */
static tn_status order_train(tn_order *order, tn_arena *arena, tn_error *error) {
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

/* `tenfold order` without --training (cli/cmd_order.h). */

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
static tn_status order_contract(tn_order *order, tn_arena *arena, tn_error *error) {
    if (order->tokens) TN_TRY(order_product_add_layer_flows(order, arena, error));
    order->search.objective = order->objective == TN_ORDER_LIVE ? TN_LEAST_LIVE : TN_LEAST_MACS;
    TN_TRY(search(order, arena, error));
    if (order->best.found)
        add_flow(order, tn_flow_names[TN_FLOW_OPTIMAL], order->best.tree, order->best.cost);
    return order->every_tree ? list_trees(order, arena, error) : TN_OK;
}

enum { EFFORT_MOST = 1000000 };

typedef struct request {
    tn_common common;
    const char *layer, *einsum, *sizes, *file, *batch; /* what to search */
    const char *outer, *objective, *plot;
    uint64_t max_live, seed, effort, micro_batches;
    bool every_tree, training, no_input_gradient;
} request;

static tn_status one_of(const char *option, const char *given, const char *const *names, uint32_t *place,
                        tn_error *error) {
    uint32_t count = 0;
    for (; names[count]; count++)
        if (strcmp(given, names[count]) == 0) {
            *place = count;
            return TN_OK;
        }
    char told[256];
    return tn_fail(error, TN_INPUT, "unknown %s '%.60s'; %s", option, given,
                   tn_suggestion(given, names, count, told, sizeof told));
}

static tn_status read_choices(const request *asked, tn_order *order, tn_error *error) {
    static const char *const yes_no[] = {"yes", "no", NULL};
    uint32_t place = 0;
    TN_TRY(one_of("--outer", asked->outer, yes_no, &place, error));
    order->search.no_outer = place == 1;
    TN_TRY(one_of("--objective", asked->objective, tn_order_objectives, &place, error));
    order->objective = (tn_order_objective)place;
    order->search.max_live_elements = asked->max_live;
    order->search.seed = asked->seed;
    if (asked->effort < 1 || asked->effort > EFFORT_MOST)
        return tn_fail(error, TN_INPUT, "--effort is %" PRIu64 "; it must be 1 to %d", asked->effort,
                       EFFORT_MOST);
    order->search.effort = (uint32_t)asked->effort;
    order->every_tree = asked->every_tree;
    order->training = asked->training;
    order->micro_batches = asked->micro_batches;
    order->no_input_gradient = asked->no_input_gradient;
    return TN_OK;
}

/* What --training does not go with, and what goes with it alone. */
static tn_status check_training(const request *asked, tn_error *error) {
    bool outer = strcmp(asked->outer, "yes") == 0;
    if (!asked->training && (asked->micro_batches != 1 || asked->no_input_gradient))
        return tn_fail(error, TN_INPUT, "%s goes with --training",
                       asked->no_input_gradient ? "--no-input-gradient" : "--micro-batches");
    if (asked->training && asked->micro_batches == 0)
        return tn_fail(error, TN_INPUT, "--micro-batches is 0; a training step has at least 1");
    if (asked->training && (asked->batch || asked->every_tree || asked->plot || !outer))
        return tn_fail(error, TN_INPUT, "--training does not go with %s",
                       asked->batch        ? "--batch"
                       : asked->every_tree ? "--all"
                       : asked->plot       ? "--plot"
                                           : "--outer no");
    return TN_OK;
}

/* Exactly one of layer, einsum, network file and batch. */
static tn_status check_subject(const request *asked, tn_error *error) {
    int subjects = !!asked->layer + !!asked->einsum + !!asked->file + !!asked->batch;
    if (subjects != 1)
        return tn_fail(error, TN_INPUT,
                       "order takes one of --layer, --einsum, --batch and a network file; %s",
                       subjects ? "more than one is given" : "none is given");
    if (asked->einsum && !asked->sizes)
        return tn_fail(error, TN_INPUT, "--einsum needs --sizes, such as --sizes a=32,b=8");
    if (asked->sizes && !asked->einsum)
        return tn_fail(error, TN_INPUT, "--sizes goes with --einsum; a layer and a file bring their own");
    return TN_OK;
}

static tn_status read_network(const request *asked, tn_order *order, tn_arena *arena, tn_error *error) {
    const tn_position layer = {.file = "--layer", .line = 1, .column = 1};
    const tn_position einsum = {.file = "--einsum", .line = 1, .column = 1};
    const tn_position sizes = {.file = "--sizes", .line = 1, .column = 1};
    order->name = "";
    if (asked->layer) {
        TN_TRY(tn_spec_parse(asked->layer, layer, &order->weight, &order->tokens, error));
        return tn_weight_forward(&order->weight, order->tokens, arena, &order->network, error);
    }
    if (asked->file) return tn_network_load(asked->file, arena, &order->network, &order->name, error);
    TN_TRY(tn_einsum_parse(asked->einsum, einsum, arena, &order->network, error));
    return tn_einsum_sizes(asked->sizes, sizes, &order->network, error);
}

/* The optimum is on the front; of the flows it is the last. */
static tn_status draw(const request *asked, tn_order *order, tn_error *error) {
    tn_figure_flow flow[TN_FLOWS + 1];
    const char *title = asked->layer ? asked->layer : order->name[0] ? order->name : asked->einsum;
    tn_order_figure figure = {.title = title ? title : asked->file,
                              .network = &order->network,
                              .tree = &order->best.tree,
                              .front = &order->front,
                              .flows = order->flows,
                              .flow = flow};
    if (!asked->plot || !order->best.found) return TN_OK;
    for (uint32_t i = 0; i < order->flows; i++)
        flow[i] = (tn_figure_flow){order->flow[i].name, order->flow[i].cost};
    order->figure = asked->plot;
    return tn_order_draw(asked->plot, &figure, error);
}

static tn_status answer_one(const request *asked, tn_order *order, tn_arena *arena, int *answer,
                            tn_error *error) {
    TN_TRY(read_network(asked, order, arena, error));
    TN_TRY(order->training ? order_train(order, arena, error) : order_contract(order, arena, error));
    TN_TRY(draw(asked, order, error));
    TN_TRY(tn_order_prepare(order, arena, error));
    if (asked->common.json && order->past_flops)
        return tn_fail(error, TN_OVERFLOW, "flow %s takes more than 2^64 FLOPs; use smaller sizes",
                       order->past_flops);
    TN_TRY(asked->common.json ? tn_output_json(&tn_order_record, order, error)
                              : tn_order_print(order, error));
    *answer = order->best.found ? 0 : 1;
    if (tn_interrupted()) return tn_fail(error, TN_INTERRUPTED, "interrupted; the best tree so far is given");
    return TN_OK;
}

static tn_status answer_batch(const request *asked, const tn_order *order, tn_arena *arena, tn_error *error) {
    tn_csv csv;
    tn_buffer out = {0};
    if (order->every_tree || asked->plot || order->objective != TN_ORDER_MACS)
        return tn_fail(error, TN_INPUT, "--batch searches for the least MACs of each row; leave out %s",
                       order->every_tree ? "--all"
                       : asked->plot     ? "--plot"
                                         : "--objective");
    TN_TRY(tn_csv_load(asked->batch, arena, &csv, error));
    return tn_output_made(tn_order_batch(&csv, &order->search, asked->common.json, &out, error), &out, error);
}

static tn_status answer(void *request_asked, int *answer, tn_error *error) {
    request *asked = request_asked;
    tn_arena *arena = &asked->common.arena;
    tn_order order = {0};
    asked->file = asked->common.argument[0];
    TN_TRY(check_subject(asked, error));
    TN_TRY(check_training(asked, error));
    TN_TRY(read_choices(asked, &order, error));
    if (asked->batch) return answer_batch(asked, &order, arena, error);
    tn_status status = answer_one(asked, &order, arena, answer, error);
    tn_free(order.tree);
    return status;
}

static const request defaults = {
    .outer = "yes", .objective = "macs", .seed = 1, .effort = 1, .micro_batches = 1};
static const tn_option options[] = {
    {"--layer", TN_INTO(request, layer), "SPEC",
     "a layer: tt:m=12x8x8,n=8x8x12,rank=12,tokens=32; formats tt, ttm, tr, tucker, ht, cp, bt"},
    {"--einsum", TN_INTO(request, einsum), "EXPR", "a network in einsum notation: ab,bc->ac"},
    {"--sizes", TN_INTO(request, sizes), "SIZES", "the sizes of its indices: a=32,b=8,c=4"},
    {"--batch", TN_INTO(request, batch), "FILE",
     "a CSV of networks: columns name, einsum, sizes (a JSON object)"},
    {"--objective", TN_INTO(request, objective), "GOAL",
     "macs, live (least peak live elements) or front (of both); default macs"},
    {"--max-live", TN_INTO(request, max_live), "ELEMENTS",
     "only trees whose peak of live elements is within this"},
    {"--outer", TN_INTO(request, outer), "yes|no",
     "whether tensors that share no index may be merged; default yes"},
    {"--training", TN_INTO(request, training), NULL,
     "the forward product and all gradients together; the first tensor is the input"},
    {"--micro-batches", TN_INTO(request, micro_batches), "B",
     "with --training: micro-batches per step, which share merges of cores; default 1"},
    {"--no-input-gradient", TN_INTO(request, no_input_gradient), NULL,
     "with --training: without the gradient of the input, as for a first layer"},
    {"--all", TN_INTO(request, every_tree), NULL, "list every tree (up to 8 tensors)"},
    {"--plot", TN_INTO(request, plot), "FILE",
     "draw tree and front: FILE ends in .png, .svg or .pdf; the script lies beside it"},
    {"--effort", TN_INTO(request, effort), "N",
     "N times the usual work before the search gives up the proof; default 1"},
    {"--seed", TN_INTO(request, seed), "S", "seed of the search of networks too large to prove; default 1"},
};

const tn_command tn_command_order = {
    .name = "order",
    .summary = "find the cheapest contraction flows of one layer or network",
    .usage = "--layer SPEC [OPTIONS]\n--einsum EXPR --sizes SIZES [OPTIONS]\nNETWORK.yaml [OPTIONS]\n--batch "
             "FILE.csv",
    .arguments = {0, 1},
    TN_OPTIONS(options),
    TN_REQUEST(request, &defaults),
    .answer = answer,
};
