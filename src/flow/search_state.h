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

/* The three objectives; result zeroed before. For at least 2 tensors. */
tn_status tn_search_least_macs(tn_search_state *state, tn_search_result *result);

#endif
