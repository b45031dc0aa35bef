/* The best contraction tree of a network, exactly where that is possible (flow/search*.c say how).
 * Outer products are allowed unless `outer` is false. All memory of a search comes from one arena. */
#ifndef TN_FLOW_SEARCH_H
#define TN_FLOW_SEARCH_H

#include "base/arena.h"
#include "base/error.h"
#include "flow/tree.h"
#include "tensor/network.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum tn_objective { TN_LEAST_MACS, TN_LEAST_LIVE } tn_objective;

typedef struct tn_search_options {
    tn_objective objective;
    bool no_outer;              /* forbid outer products */
    uint64_t max_live_elements; /* bound on peak_elements; 0: none */
} tn_search_options;

typedef struct tn_search_result {
    tn_tree tree; /* in its best execution order */
    tn_tree_cost cost;
    bool exact;           /* proven optimal */
    uint64_t lower_bound; /* of the objective; equals the cost where exact */
} tn_search_result;

/* options NULL: least MACs, outer products allowed. */
tn_status tn_search(const tn_network *network, const tn_search_options *options, tn_arena *arena,
                    tn_search_result *result, tn_error *error);

/* Every tree on the front of (macs, peak_elements), fewest MACs first. */
typedef struct tn_tree_front {
    size_t count;
    tn_search_result *item;
    bool exact;
} tn_tree_front;
tn_status tn_search_front(const tn_network *network, const tn_search_options *options, tn_arena *arena,
                          tn_tree_front *front, tn_error *error);

#endif
