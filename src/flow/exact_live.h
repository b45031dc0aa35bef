/* The exact search where peak live elements count: least peak, least MACs under a peak, the front of both.
 * Internal to the room.
 *
 * The peak of a tree is not a sum over merges, so one best tree per set of tensors is not enough. Kept per
 * set are all trees of which none is better than another in MACs and in profile (flow/profile.h): a tree
 * whose profile dominates another's can take its place beside whatever else is executed. Trees are finished
 * in order of MACs (or of peak), as in flow/exact.h; every pair of disjoint sets is tried, outer products
 * among them, for they may save live elements where they cost MACs.
 */
#ifndef TN_FLOW_EXACT_LIVE_H
#define TN_FLOW_EXACT_LIVE_H

#include "base/error.h"
#include "base/memory.h"
#include "flow/problem.h"
#include "flow/tree.h"

#include <stdbool.h>
#include <stddef.h>

typedef enum tn_live_goal {
    TN_LIVE_LEAST_PEAK, /* one tree of least peak */
    TN_LIVE_LEAST_MACS, /* one tree of least MACs within peak_most, of least peak among those */
    TN_LIVE_FRONT,      /* one tree per point of the front within peak_most */
} tn_live_goal;

/* Peaks are above what is resident: the network's own tensors are not counted. */
typedef struct tn_live_options {
    tn_live_goal goal;
    bool no_outer;
    uint64_t peak_most;  /* no tree over this peak is wanted; UINT64_MAX: any */
    uint64_t peak_floor; /* no tree has less: a search for the least peak or the front ends there */
    uint64_t work_most;
} tn_live_options;

typedef struct tn_live_point {
    uint64_t macs, peak;
    tn_merge *merge; /* [tensors - 1], in any valid order */
} tn_live_point;

typedef struct tn_live_result {
    bool complete; /* false: gave up; then `level` is a lower bound of what the goal orders by */
    size_t count;
    tn_live_point *point; /* fewest MACs first */
    uint64_t level, work;
} tn_live_result;

/* For at least 2 tensors. Results and scratch live in the arena. */
tn_status tn_exact_live_search(const tn_problem *problem, const tn_live_options *options, tn_arena *arena,
                               tn_live_result *result, tn_error *error);

#endif
