/* What a search for a contraction tree is asked, and what it answers. */
#ifndef TN_FLOW_SEARCH_RESULT_H
#define TN_FLOW_SEARCH_RESULT_H

#include "base/public.h"
#include "flow/pricing.h"
#include "flow/tree.h"

#include <stdbool.h>
#include <stdint.h>

TN_PUBLIC_BEGIN

typedef enum tn_objective { TN_LEAST_MACS, TN_LEAST_LIVE, TN_LEAST_PRICE } tn_objective;

typedef struct tn_search_options {
    tn_objective objective;
    bool no_outer;              /* forbid merging tensors that share no index */
    uint64_t max_live_elements; /* bound on peak_elements; 0: none. Not with TN_LEAST_PRICE */
    tn_pricing pricing;         /* of TN_LEAST_PRICE */
    uint32_t effort;            /* how many times the usual work, memory (up to 4 times) and rounds; 0: 1 */
    uint64_t work_most; /* pairs the exact search may look at before it gives up the proof; 0: by effort */
    uint64_t seed;      /* of the anytime search that then takes over */
} tn_search_options;

/* Why a search ended. */
typedef enum tn_stop {
    TN_STOP_PROVEN, /* nothing better exists */
    TN_STOP_WORK, /* the exact search had done work_most, or had a million sets or 2 million trees in memory; the
                            anytime search went on */
    TN_STOP_TOO_LARGE,   /* more tensors or indices than the exact search takes: the anytime search found
                            the tree, the exact search of a smaller network the bound */
    TN_STOP_INTERRUPTED, /* tn_interrupt() was called */
} tn_stop;
/* One line for people. */
const char *tn_stop_text(tn_stop stop);

typedef struct tn_search_result {
    bool found;   /* false: no tree stays within max_live_elements (only then), and lower_bound is the least
                     peak known to be needed; no tree is given */
    tn_tree tree; /* in its best execution order */
    tn_tree_cost cost;
    uint64_t price;       /* TN_LEAST_PRICE */
    bool exact;           /* proven optimal (or proven that there is none) */
    uint64_t lower_bound; /* of the objective; equals the cost where exact */
    tn_stop stop;
    uint64_t
        work; /* done; a unit is about a nanosecond: looking at a pair of sets 1, costing a merge 16 to 200 */
} tn_search_result;

TN_PUBLIC_END

#endif
