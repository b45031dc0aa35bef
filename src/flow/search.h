/* The best contraction tree of a network, exactly where that is possible (docs/flows.md says how and proves
 * what it relies on). Outer products are allowed unless `no_outer`. The search's own memory is an arena that
 * is gone when it returns; results live in the caller's arena. Equal input gives equal output: what limits a
 * search is counted work, never time.
 *
 * Objectives: least MACs (ties: the smaller largest intermediate, exactly, where `exact`); least peak live
 * elements over all trees and all execution orders (ties: fewer MACs); least price.
 */
#ifndef TN_FLOW_SEARCH_H
#define TN_FLOW_SEARCH_H

#include "base/error.h"
#include "base/memory.h"
#include "base/public.h"
#include "flow/pricing.h"
#include "flow/tree.h"
#include "tensor/network.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a search for a contraction tree is asked, and what it answers. */

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
    TN_STOP_TIME,        /* the time of tn_interrupt_after() was up */
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

/* options NULL: least MACs, outer products allowed. TN_INPUT where no_outer forbids every tree; TN_OVERFLOW
 * where every tree found is past 64 bits. */
tn_status tn_search(const tn_network *network, const tn_search_options *options, tn_arena *arena,
                    tn_search_result *result, tn_error *error);

/* Every tree on the front of (macs, peak_elements), fewest MACs first; one tree per point. With
 * max_live_elements only the points within it (possibly none). The objective is not looked at. */
typedef struct tn_tree_front {
    size_t count;
    tn_search_result *item;
    bool exact; /* nothing is missing and nothing dominated */
    tn_stop stop;
} tn_tree_front;
tn_status tn_search_front(const tn_network *network, const tn_search_options *options, tn_arena *arena,
                          tn_tree_front *front, tn_error *error);

/* Every tree there is, outer products among them unless no_outer: `visit` is called with each in its best
 * execution order; its failure ends the walk. TN_LIMIT for more than 8 tensors (135,135 trees). */
typedef tn_status (*tn_tree_visitor)(void *user, const tn_tree *tree, const tn_tree_cost *cost,
                                     tn_error *error);
tn_status tn_search_every_tree(const tn_network *network, const tn_search_options *options,
                               tn_tree_visitor visit, void *user, tn_error *error);

TN_PUBLIC_END

#endif
