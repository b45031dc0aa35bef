/* What `tenfold order` answers about one network: rows, the columns that they print by, tables (cli/order.h). */
#include "base/checked.h"
#include "base/clock.h"
#include "base/interrupt.h"
#include "cli/order.h"
#include "cli/output.h"
#include "tensor/einsum.h"
#include "text/json.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* `tenfold order --batch` (cli/order.h). */

enum { MACS, LARGEST, SECONDS, ADDED };
static const char *const added[ADDED] = {"macs", "largest_intermediate", "seconds"};

typedef struct batch {
    const tn_csv *csv;
    const tn_search_options *search;
    size_t einsum, sizes;  /* columns */
    size_t present[ADDED]; /* columns of those names that the file has already; csv->columns: none */
    tn_error *error;
} batch;

static tn_status find_columns(batch *b) {
    static const char *const needed[] = {"name", "einsum"};
    const tn_csv *csv = b->csv;
    size_t column[2];
    TN_TRY(tn_csv_columns(csv, needed, 2, false, column, b->error));
    b->einsum = column[1];
    b->sizes = tn_csv_column(csv, "sizes");
    if (b->sizes == csv->columns) b->sizes = tn_csv_column(csv, "sizes(json)");
    if (b->sizes == csv->columns)
        return tn_fail_at(
            b->error, TN_INPUT, csv->head[0].position,
            "column \"sizes\" is missing; it holds a JSON object such as {\"a\": 32, \"b\": 8}");
    for (int i = 0; i < ADDED; i++) b->present[i] = tn_csv_column(csv, added[i]);
    return TN_OK;
}

/* An error without a place gets the row's. */
static tn_status placed(const batch *b, tn_status status, tn_position position) {
    tn_error *error = b->error;
    if (status == TN_OK || !error || error->file[0] || status == TN_MEMORY) return status;
    tn_error plain = *error;
    return tn_fail_at(error, status, position, "%s", plain.message);
}

static tn_status solve(const batch *b, size_t row, tn_arena *arena, tn_search_result *result,
                       double *seconds) {
    const tn_csv_cell *einsum = tn_csv_at(b->csv, row, b->einsum), *sizes = tn_csv_at(b->csv, row, b->sizes);
    tn_network network;
    TN_TRY(tn_einsum_parse(einsum->text, einsum->position, arena, &network, b->error));
    TN_TRY(tn_einsum_json_sizes(sizes->text, sizes->position, &network, b->error));
    double started_seconds = tn_clock_seconds();
    TN_TRY(placed(b, tn_search(&network, b->search, arena, result, b->error), einsum->position));
    *seconds = tn_clock_seconds() - started_seconds;
    return TN_OK;
}

/* One of the added values; nothing where no tree was found. */
static void put_value(int which, const tn_search_result *result, double seconds, tn_buffer *out) {
    if (which == SECONDS)
        tn_csv_put_real(out, seconds);
    else if (!result->found)
        tn_csv_put(out, "");
    else
        tn_csv_put_count(out, which == MACS ? result->cost.macs : result->cost.largest_intermediate);
}

/* Which of the added values the column holds; ADDED: none, it is the file's own. */
static int which_value(const batch *b, size_t column) {
    int which = 0;
    while (which < ADDED && b->present[which] != column) which++;
    return which;
}

static void put_csv_row(const batch *b, size_t row, const tn_search_result *result, double seconds,
                        tn_buffer *out) {
    for (size_t column = 0; column < b->csv->columns; column++) {
        int which = which_value(b, column);
        if (which < ADDED)
            put_value(which, result, seconds, out);
        else
            tn_csv_put(out, tn_csv_at(b->csv, row, column)->text);
    }
    for (int which = 0; which < ADDED; which++)
        if (b->present[which] == b->csv->columns) put_value(which, result, seconds, out);
    tn_csv_line(out);
}

static void put_json_row(const batch *b, size_t row, const tn_search_result *result, double seconds,
                         tn_json *json) {
    tn_json_object(json);
    for (size_t column = 0; column < b->csv->columns; column++)
        if (which_value(b, column) == ADDED)
            tn_json_put_text(json, b->csv->head[column].text, tn_csv_at(b->csv, row, column)->text);
    if (result->found) {
        tn_json_put_count(json, "macs", result->cost.macs);
        tn_json_put_count(json, "largest_intermediate", result->cost.largest_intermediate);
    }
    tn_json_put_bool(json, "found", result->found);
    tn_json_put_bool(json, "exact", result->exact);
    tn_json_put_count(json, "lower_bound", result->lower_bound);
    tn_json_put_real(json, "seconds", seconds);
    tn_json_end(json);
}

static tn_status put_rows(const batch *b, tn_json *json, tn_buffer *out) {
    tn_arena arena = {0};
    tn_status status = TN_OK;
    for (size_t row = 0; status == TN_OK && row < b->csv->rows; row++) {
        tn_search_result result;
        double seconds = 0;
        tn_arena_reset(&arena);
        status = tn_interrupted() ? tn_fail(b->error, TN_INTERRUPTED, "interrupted before row %zu", row + 1)
                                  : solve(b, row, &arena, &result, &seconds);
        if (status == TN_OK && json)
            put_json_row(b, row, &result, seconds, json);
        else if (status == TN_OK)
            put_csv_row(b, row, &result, seconds, out);
    }
    tn_arena_free(&arena);
    return status;
}

static tn_status put_csv(const batch *b, tn_buffer *out) {
    for (size_t column = 0; column < b->csv->columns; column++) tn_csv_put(out, b->csv->head[column].text);
    for (int which = 0; which < ADDED; which++)
        if (b->present[which] == b->csv->columns) tn_csv_put(out, added[which]);
    tn_csv_line(out);
    return put_rows(b, NULL, out);
}

static tn_status put_json(const batch *b, tn_buffer *out) {
    tn_json json;
    tn_answer_begin(&json, out);
    tn_json_key(&json, "rows");
    tn_json_array(&json);
    TN_TRY(put_rows(b, &json, out));
    tn_json_end(&json);
    tn_json_end(&json);
    return TN_OK;
}

tn_status tn_order_batch(const tn_csv *csv, const tn_search_options *search, bool as_json, tn_buffer *out,
                         tn_error *error) {
    batch b = {.csv = csv, .search = search, .error = error};
    TN_TRY(find_columns(&b));
    TN_TRY(as_json ? put_json(&b, out) : put_csv(&b, out));
    return out->status == TN_OK ? TN_OK : tn_fail(error, out->status, "no memory for the answer");
}

/* ---- rows ---- */

static tn_status name_tree(const tn_order *order, tn_order_flow *flow, bool several_backward, tn_arena *arena,
                           tn_error *error) {
    tn_buffer text = {0};
    tn_tree_expression(&order->network, &flow->tree, &text);
    if (several_backward) tn_buffer_text(&text, ", several backward");
    tn_status status =
        text.status == TN_OK
            ? tn_arena_copy_text(arena, text.data ? text.data : "", text.length, &flow->expression, error)
            : tn_fail(error, text.status, "no memory for a tree's expression");
    tn_buffer_free(&text);
    return status;
}

static tn_status make_point(tn_order *order, tn_order_flow point, bool several_backward, tn_arena *arena,
                            tn_error *error) {
    point.has_backward = point.backward != NULL;
    TN_TRY(name_tree(order, &point, several_backward, arena, error));
    order->point[order->points++] = point;
    return TN_OK;
}

static tn_status make_points(tn_order *order, double least, tn_arena *arena, tn_error *error) {
    size_t most = order->training ? order->training_front.count : order->front.count;
    TN_TRY(TN_NEW(arena, most, &order->point, error));
    for (size_t i = 0; i < order->front.count && !order->training; i++) {
        const tn_search_result *result = &order->front.item[i];
        TN_TRY(make_point(order, (tn_order_flow){.tree = result->tree, .cost = result->cost}, false, arena,
                          error));
    }
    for (size_t i = 0; i < order->training_front.count && order->training; i++) {
        const tn_training_flow *flow = &order->training_front.item[i];
        bool several = flow->backward.tensors == 0;
        const tn_order_flow point = {.tree = flow->forward,
                                     .backward = several ? NULL : &flow->backward,
                                     .training = flow->cost,
                                     .program = &flow->program,
                                     .ratio = (double)flow->cost.total_macs / least};
        if (tn_order_admits(order, flow->cost.peak_elements))
            TN_TRY(make_point(order, point, several, arena, error));
    }
    return TN_OK;
}

/* MACs of a step of the least training flow, within max_live_elements or not; of the optimal tree otherwise. */
static double least_macs(const tn_order *order) {
    if (order->training)
        return order->training_front.count ? (double)order->training_front.item[0].cost.total_macs : 1;
    return order->best.found && order->best.cost.macs ? (double)order->best.cost.macs : NAN;
}

tn_status tn_order_prepare(tn_order *order, tn_arena *arena, tn_error *error) {
    double least = least_macs(order);
    for (uint32_t i = 0; i < order->flows; i++) {
        tn_order_flow *flow = &order->flow[i];
        if (!tn_mul(2, flow->cost.macs, &flow->flops)) order->past_flops = flow->name;
        flow->ratio = (double)(order->training ? flow->training.total_macs : flow->cost.macs) / least;
        flow->has_backward = flow->backward != NULL;
    }
    for (size_t i = 0; i < order->trees; i++) TN_TRY(name_tree(order, &order->tree[i], false, arena, error));
    TN_TRY(make_points(order, least, arena, error));
    order->shown_name = order->name[0] ? order->name : NULL;
    order->forward_only = !order->training;
    order->exact = tn_order_exact(order);
    order->front_exact = order->training ? order->training_front.exact : order->front.exact;
    order->seeded = !order->training && !order->exact;
    order->is_timed = order->objective == TN_ORDER_TIME && order->best.found;
    order->is_counted = order->objective != TN_ORDER_TIME;
    order->predicted_seconds = (double)order->best.price / TN_ORDER_PRICES_PER_SECOND;
    order->least_seconds = (double)order->best.lower_bound / TN_ORDER_PRICES_PER_SECOND;
    order->stopped = tn_stop_text(order->best.stop);
    return TN_OK;
}

/* ---- columns ---- */

static void put_tree(const tn_tree *tree, tn_json *json) {
    tn_json_row(json);
    for (uint32_t i = 0; i + 1 < tree->tensors; i++) {
        const uint64_t merge[] = {tree->merge[i].a, tree->merge[i].b};
        tn_json_counts(json, merge, 2);
    }
    tn_json_end(json);
}

static void put_path(const void *row, tn_json *json) {
    put_tree(&((const tn_order_flow *)row)->tree, json);
}

static void put_backward(const void *row, tn_json *json) {
    put_tree(((const tn_order_flow *)row)->backward, json);
}

/* The steps of a flow's program in order: phase, what is made, and of what. */
static void put_steps(const void *row, tn_json *json) {
    const tn_program *program = ((const tn_order_flow *)row)->program;
    char out[32], a[32], b[32];
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

#define COST(key, member, ...)     TN_COLUMN_AS(key, tn_order_flow, cost.member, __VA_ARGS__)
#define TRAINING(key, member, ...) TN_COLUMN_AS(key, tn_order_flow, training.member, __VA_ARGS__)
#define PATH                       TN_WRITTEN("path", put_path, NULL, .type = "array")
#define BACKWARD                                                                                             \
    TN_WRITTEN("backward_path", put_backward, NULL, .type = "array", TN_OPTIONAL,                            \
               TN_WHEN(tn_order_flow, has_backward))
#define RATIO TN_COLUMN_AS(NULL, tn_order_flow, ratio, "ratio to optimum", TN_FIXED(3))
#define TREE  TN_COLUMN_AS(NULL, tn_order_flow, expression, "tree")

static const tn_column flow_columns[] = {
    TN_COLUMN(tn_order_flow, name, "flow"),
    COST("macs", macs, "MACs"),
    RATIO,
    TN_COLUMN(tn_order_flow, flops, NULL),
    COST("peak_elements", peak_elements, "peak live, elements"),
    COST("largest_intermediate", largest_intermediate, "largest intermediate, elements"),
    PATH,
};
static const tn_record flow_record = TN_RECORD(tn_order_flow, flow_columns);

#define TRAINING_COLUMNS                                                                                     \
    TRAINING("forward_macs", forward_macs, "forward MACs"),                                                  \
        TRAINING("backward_macs", backward_macs, "backward MACs"),                                           \
        TRAINING("total_macs", total_macs, "total MACs"), RATIO,                                             \
        TRAINING(NULL, recomputed_macs, "recomputed MACs"),                                                  \
        TRAINING("saved_elements", saved_elements, "saved, elements"),                                       \
        TRAINING("recomputed_macs", recomputed_macs, NULL)

static const tn_column training_flow_columns[] = {
    TN_COLUMN(tn_order_flow, name, "flow"),
    COST("macs", macs, NULL),
    TN_COLUMN(tn_order_flow, flops, NULL),
    TRAINING("peak_elements", peak_elements, NULL),
    COST("largest_intermediate", largest_intermediate, NULL),
    TRAINING_COLUMNS,
    TRAINING(NULL, peak_elements, "peak live, elements"),
    PATH,
    BACKWARD,
};
static const tn_record training_flow_record = TN_RECORD(tn_order_flow, training_flow_columns);

static const tn_column point_columns[] = {
    COST("macs", macs, "MACs"), COST("peak_elements", peak_elements, "peak live, elements"), TREE, PATH};
static const tn_record point_record = TN_RECORD(tn_order_flow, point_columns);

static const tn_column training_point_columns[] = {
    TRAINING_COLUMNS,
    TRAINING("peak_elements", peak_elements, "peak live, elements"),
    TN_COLUMN_AS(NULL, tn_order_flow, expression, "forward tree"),
    PATH,
    BACKWARD,
    TN_WRITTEN("steps", put_steps, NULL, .type = "array"),
};
static const tn_record training_point_record = TN_RECORD(tn_order_flow, training_point_columns);

static const tn_column tree_columns[] = {
    COST("macs", macs, "MACs"),
    COST("peak_elements", peak_elements, "peak live, elements"),
    COST("largest_intermediate", largest_intermediate, "largest intermediate, elements"),
    TREE,
    PATH,
};
static const tn_record tree_record = TN_RECORD(tn_order_flow, tree_columns);

#define FORWARD_ONLY TN_OPTIONAL, TN_WHEN(tn_order, forward_only)
#define IN_TRAINING  TN_OPTIONAL, TN_WHEN(tn_order, training)
static const tn_column order_columns[] = {
    TN_COLUMN_AS("name", tn_order, shown_name, NULL, TN_OPTIONAL),
    TN_COLUMN_AS("tensors", tn_order, network.tensors, NULL),
    TN_NAME("objective", tn_order, objective, tn_order_objectives, NULL),
    TN_ROWS("flows", tn_order, flow, flows, flow_record, NULL, .in_place = true, FORWARD_ONLY),
    TN_ROWS("flows", tn_order, flow, flows, training_flow_record, NULL, .in_place = true, IN_TRAINING),
    TN_ROWS("front", tn_order, point, points, point_record, NULL, FORWARD_ONLY),
    TN_ROWS("front", tn_order, point, points, training_point_record, NULL, IN_TRAINING),
    TN_COLUMN(tn_order, front_exact, NULL),
    TN_ROWS("trees", tn_order, tree, trees, tree_record, NULL, TN_OPTIONAL, TN_WHEN(tn_order, every_tree)),
    TN_COLUMN_AS("found", tn_order, best.found, NULL),
    TN_COLUMN(tn_order, exact, NULL),
    TN_COLUMN_AS("lower_bound", tn_order, best.lower_bound, NULL, TN_OPTIONAL, TN_WHEN(tn_order, is_counted)),
    TN_COLUMN(tn_order, predicted_seconds, NULL, TN_OPTIONAL, TN_WHEN(tn_order, is_timed)),
    TN_COLUMN(tn_order, least_seconds, NULL, TN_OPTIONAL, TN_WHEN(tn_order, is_timed)),
    TN_COLUMN(tn_order, stopped, NULL, FORWARD_ONLY),
    TN_COLUMN_AS("seed", tn_order, search.seed, NULL, TN_OPTIONAL, TN_WHEN(tn_order, seeded)),
    TN_COLUMN(tn_order, figure, NULL, TN_OPTIONAL),
    TN_COLUMN(tn_order, seconds, NULL),
};
const tn_record tn_order_record = TN_RECORD(tn_order, order_columns);

/* ---- people ---- */

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
    if (order->points < 2 && order->objective != TN_ORDER_FRONT) return TN_OK;
    tn_say("\nfront of MACs and peak live elements%s\n",
           order->front_exact ? "" : " (as far as it is known)");
    return tn_output_rows(&point_record, order->point, order->points, error);
}

static tn_status print_trees(const tn_order *order, tn_error *error) {
    char text[32];
    if (!order->every_tree) return TN_OK;
    tn_say("\nevery tree: %s\n", tn_count_text(order->trees, text));
    return tn_output_rows(&tree_record, order->tree, order->trees, error);
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
    if (order->is_timed) {
        tn_say("predicted: %.4g s, at least %.4g s whatever the tree; %s\n", order->predicted_seconds,
               order->least_seconds, tn_stop_text(best->stop));
        return;
    }
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

static tn_status print_training(const tn_order *order, tn_error *error) {
    const tn_training_front *front = &order->training_front;
    char text[32];
    TN_TRY(tn_output_rows(&training_flow_record, order->flow, order->flows, error));
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
    tn_say("\nfront of total MACs, saved elements and peak live elements%s\n",
           order->front_exact ? "" : " (as far as it is known)");
    TN_TRY(tn_output_rows(&training_point_record, order->point, order->points, error));
    print_training_proof(order, front->count ? front->item[0].cost.total_macs : 1);
    return TN_OK;
}

static tn_status print_forward(const tn_order *order, tn_error *error) {
    TN_TRY(tn_output_rows(&flow_record, order->flow, order->flows, error));
    if (order->best.found)
        TN_TRY(print_best(order, error));
    else
        print_none(order);
    TN_TRY(print_front(order, error));
    TN_TRY(print_trees(order, error));
    if (order->best.found) print_proof(order);
    return TN_OK;
}

tn_status tn_order_print(const tn_order *order, tn_error *error) {
    char text[32];
    TN_TRY(order->training ? print_training(order, error) : print_forward(order, error));
    tn_say("%" PRIu32 " tensors, searched in %s\n", order->network.tensors,
           tn_si_text(order->seconds, "s", text));
    if (order->figure) tn_say("figure: %s\n", order->figure);
    return TN_OK;
}
