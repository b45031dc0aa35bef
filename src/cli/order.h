/* What `tenfold order` prints: the flows of one network, its front, every tree. */
#ifndef TN_CLI_ORDER_H
#define TN_CLI_ORDER_H

#include "base/buffer.h"
#include "base/error.h"
#include "base/memory.h"
#include "flow/named.h"
#include "flow/search.h"
#include "program/training.h"
#include "text/csv.h"
#include "text/record.h"

#include <stdbool.h>

typedef enum tn_order_objective {
    TN_ORDER_MACS,
    TN_ORDER_LIVE,
    TN_ORDER_FRONT,
    TN_ORDER_TIME
} tn_order_objective;
extern const char *const tn_order_objectives[]; /* "macs", "live", "front", "time", NULL */

#define TN_ORDER_PRICES_PER_SECOND 1e12

/* How fast a machine contracts, for TN_ORDER_TIME: a merge takes seconds_per_merge, and the time of its multiply-adds,
 * and that of its operands and its result, which are read and written. */
typedef struct tn_order_rates {
    double macs_per_second, elements_per_second, seconds_per_merge;
} tn_order_rates;

/* A flow by its name; `dense` has a network of its own, X and the whole matrix. */
typedef struct tn_order_flow {
    const char *name;
    tn_tree tree; /* of the forward product */
    tn_tree_cost cost;
    const tn_tree *backward;   /* of a training flow that was searched, along one tree; else NULL */
    tn_training_cost training; /* with `training` */
    const tn_program *program; /* of a point of the training front; else NULL */
    /* To be printed: */
    uint64_t flops;
    double ratio; /* of MACs to the optimum's; NAN: there is none */
    bool has_backward;
    const char *expression; /* of the tree; of points of fronts and of every tree */
} tn_order_flow;

typedef struct tn_order {
    tn_network network;
    const char *name; /* "" where the network has none */
    tn_weight weight; /* of a layer */
    uint64_t tokens;  /* of a layer; 0: not a layer */
    tn_order_objective objective;
    tn_search_options search;
    tn_order_rates rates; /* of TN_ORDER_TIME */
    double limit_seconds; /* of the search; 0: none */
    bool alone;           /* the optimum, without named flows and front */

    bool training, no_input_gradient;
    uint64_t micro_batches; /* with `training` */
    tn_training_front training_front;

    uint32_t flows;
    tn_order_flow flow[TN_FLOWS + 1];
    tn_search_result best; /* under the objective; not found: nothing is within max_live_elements */
    tn_tree_front front;
    double seconds; /* of the searches for `best` and `front` */
    bool every_tree;
    size_t trees, tree_capacity;
    tn_order_flow *tree; /* with every_tree, fewest MACs first; freed with tn_free */
    const char *figure;  /* path of the drawn figure; NULL: none */

    /* Made of it, to be printed: */
    const char *shown_name, *stopped;
    double predicted_seconds, least_seconds; /* of the best under TN_ORDER_TIME; of any tree */
    bool is_timed, is_counted;
    const char *past_flops; /* a flow whose FLOPs are past 64 bits; NULL: there is none */
    size_t points;
    tn_order_flow *point; /* of the front, or of the training front within max_live_elements */
    bool forward_only, exact, front_exact, seeded;
} tn_order;

/* Within max_live_elements, if that is given. */
bool tn_order_admits(const tn_order *order, uint64_t peak_elements);

/* True if everything that was asked for is proven. */
bool tn_order_exact(const tn_order *order);

extern const tn_record tn_order_record;
/* Makes what is printed. */
tn_status tn_order_prepare(tn_order *order, tn_arena *arena, tn_error *error);
tn_status tn_order_print(const tn_order *order, tn_error *error); /* for people, what was prepared */

/* Rows of a file with columns name, einsum and sizes (or sizes(json)): each as it is, with macs,
 * largest_intermediate and seconds behind it; a column of such a name that the file has gets the new values
 * instead. As CSV, or as one JSON object. */
tn_status tn_order_batch(const tn_csv *csv, const tn_search_options *search, bool as_json, tn_buffer *out,
                         tn_error *error);

/* Flows, best, front and trees of the network's one product; of its training. Both need what is above seconds. */
tn_status tn_order_contract(tn_order *order, tn_arena *arena, tn_error *error);
tn_status tn_order_train(tn_order *order, tn_arena *arena, tn_error *error);

#endif
