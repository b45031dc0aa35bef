/* tenfold order (--layer SPEC | --einsum EXPR --sizes SIZES | NETWORK.yaml | --batch FILE.csv) */
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
#include "text/number.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EFFORT_MOST = 1000000 };

typedef struct request {
    tn_common common;
    const char *layer, *einsum, *sizes, *file, *batch; /* what to search */
    const char *outer, *objective, *plot, *rates;
    double limit_seconds;
    bool alone;
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

/* Three numbers above zero, set apart by commas. */
static tn_status read_rates(const request *asked, tn_order *order, tn_error *error) {
    double rate[3];
    const char *rest = asked->rates;
    bool is_timed = order->objective == TN_ORDER_TIME;
    if (!rest && !is_timed) return TN_OK;
    if (!rest || !is_timed)
        return tn_fail(error, TN_INPUT,
                       "--objective time and --rates go together; rates are those of a machine: "
                       "multiply-adds a second, elements a second, seconds a merge");
    for (int i = 0; i < 3; i++) {
        char text[64];
        size_t length = strcspn(rest, ",");
        snprintf(text, sizeof text, "%.*s", length < sizeof text ? (int)length : 0, rest);
        bool is_last = rest[length] == '\0';
        if (tn_read_real(text, &rate[i]) != TN_NUMBER_OK || rate[i] <= 0 || is_last != (i == 2))
            return tn_fail(error, TN_INPUT,
                           "--rates takes three numbers above 0, such as 5e10,1e9,1e-5, not '%.100s'",
                           asked->rates);
        rest += length + !is_last;
    }
    order->rates = (tn_order_rates){rate[0], rate[1], rate[2]};
    return TN_OK;
}

static tn_status check_limits(const request *asked, const tn_order *order, tn_error *error) {
    if (!(asked->limit_seconds >= 0 && asked->limit_seconds <= 1e6))
        return tn_fail(error, TN_INPUT, "--time takes seconds from 0 (no limit) to 1e6");
    if (asked->training && (asked->limit_seconds > 0 || asked->alone || order->objective == TN_ORDER_TIME))
        return tn_fail(error, TN_INPUT, "--training does not go with %s",
                       asked->limit_seconds > 0 ? "--time"
                       : asked->alone           ? "--alone"
                                                : "--objective time");
    if (asked->alone && (order->objective == TN_ORDER_FRONT || asked->every_tree))
        return tn_fail(error, TN_INPUT, "--alone gives the optimum only; leave out %s",
                       asked->every_tree ? "--all" : "--objective front");
    if (order->objective == TN_ORDER_TIME && asked->max_live)
        return tn_fail(error, TN_INPUT, "--max-live does not go with --objective time");
    return TN_OK;
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
    TN_TRY(read_rates(asked, order, error));
    order->limit_seconds = asked->limit_seconds;
    order->alone = asked->alone;
    order->every_tree = asked->every_tree;
    order->training = asked->training;
    order->micro_batches = asked->micro_batches;
    order->no_input_gradient = asked->no_input_gradient;
    return check_limits(asked, order, error);
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
    TN_TRY(order->training ? tn_order_train(order, arena, error) : tn_order_contract(order, arena, error));
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
     "macs, live (least peak live elements), front (of both) or time (with --rates); default macs"},
    {"--rates", TN_INTO(request, rates), "M,E,S",
     "of a machine, for --objective time: multiply-adds a second, elements a second, seconds a merge"},
    {"--time", TN_INTO(request, limit_seconds), "SECONDS",
     "the best tree found in that time, where none is proven sooner; default: by --effort"},
    {"--alone", TN_INTO(request, alone), NULL, "the optimum alone, without named flows and front"},
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

static const tn_column batch_row_keys[] = {
    TN_ANSWER_KEY("macs", "integer", TN_OPTIONAL),
    TN_ANSWER_KEY("largest_intermediate", "integer", TN_OPTIONAL),
    TN_ANSWER_KEY("found", "boolean"),
    TN_ANSWER_KEY("exact", "boolean"),
    TN_ANSWER_KEY("lower_bound", "integer"),
    TN_ANSWER_KEY("seconds", "number"),
};
static const tn_record batch_row_record = {.column = batch_row_keys,
                                           .columns = sizeof batch_row_keys / sizeof *batch_row_keys};
static const tn_column batch_keys[] = {
    TN_ANSWER_ROWS("rows", batch_row_record),
};
static const tn_record batch_record = {.column = batch_keys,
                                       .columns = sizeof batch_keys / sizeof *batch_keys};

const tn_command tn_command_order = {
    .name = "order",
    .summary = "find the cheapest contraction flows of one layer or network",
    .usage = "--layer SPEC [OPTIONS]\n--einsum EXPR --sizes SIZES [OPTIONS]\nNETWORK.yaml [OPTIONS]\n--batch "
             "FILE.csv",
    .arguments = {0, 1},
    TN_OPTIONS(options),
    TN_REQUEST(request, &defaults),
    TN_ANSWERS(&tn_order_record, &batch_record),
    .answer = answer,
};
