/* One call of the search: what its parts share. Internal to the room. */
#ifndef TN_FLOW_SEARCH_STATE_H
#define TN_FLOW_SEARCH_STATE_H

#include "flow/anytime.h"
#include "flow/exact.h"
#include "flow/exact_live.h"
#include "flow/problem.h"
#include "flow/search.h"

typedef struct tn_search_state {
    const tn_network *network;
    tn_search_options options; /* defaults filled in */
    tn_problem problem;
    bool fits;       /* the network is small enough for `problem` */
    uint64_t inputs; /* elements of the network's own tensors */
    tn_arena *arena; /* of results */
    tn_arena scratch;
    tn_error *error;
} tn_search_state;

/* options NULL: defaults. Ended with tn_search_state_end also where it failed. */
tn_status tn_search_state_begin(tn_search_state *state, const tn_network *network,
                                const tn_search_options *options, tn_arena *arena, tn_error *error);
void tn_search_state_end(tn_search_state *state);

/* *result = the tree `merge` (scratch memory), reordered and costed; found, not proven. */
tn_status tn_search_state_result(tn_search_state *state, const tn_merge *merge, tn_search_result *result);

/* Replaces *best by the tree where that is better: within max_live_elements first, then by the objective. A
 * tree past 64 bits is passed over. */
tn_status tn_search_state_offer(tn_search_state *state, const tn_merge *merge, tn_search_result *best);

/* Anytime rounds that sum `goal`, each offered to *best. */
tn_status tn_search_state_climb(tn_search_state *state, tn_anytime_goal goal, tn_search_result *best);

/* The only tree of a network of one tensor. */
tn_status tn_search_state_single(tn_search_state *state, tn_search_result *result);

/* The three objectives; result zeroed before. For at least 2 tensors. */
tn_status tn_search_least_macs(tn_search_state *state, tn_search_result *result);
tn_status tn_search_least_live(tn_search_state *state, tn_search_result *result);
tn_status tn_search_least_price(tn_search_state *state, tn_search_result *result);
/* Least MACs within max_live_elements. */
tn_status tn_search_bounded(tn_search_state *state, tn_search_result *result);

/* Why an exact search that did not complete stopped. */
tn_stop tn_search_state_stop(const tn_search_state *state);

#endif
