/* The exact search for the least sum of merge costs (or the least longest path). Internal to the room.
 *
 * Sets of tensors are finished in order of their least cost, the way Dijkstra's algorithm finishes vertices
 * (D. E. Knuth, "A generalization of Dijkstra's algorithm", Information Processing Letters 6, 1977): whenever
 * a set is finished it is paired with every finished set disjoint from it, and the first finished set of all
 * tensors is the optimum. Only sets cheaper than the optimum are ever looked at, and the cost of the last
 * finished set is a lower bound of the optimum at any time.
 *
 * Outer products: in a plain connected network (tn_problem_is_plain) an outer product of A and B is part of
 * an optimal tree only under the condition that docs/flows.md proves (lemma 2), and few pairs meet it; in
 * other networks, or under foreign prices, every pair is tried.
 */
#ifndef TN_FLOW_EXACT_H
#define TN_FLOW_EXACT_H

#include "base/error.h"
#include "base/memory.h"
#include "flow/cut_bound.h"
#include "flow/problem.h"
#include "flow/search.h"

typedef struct tn_exact_options {
    bool no_outer;
    const tn_pricing *pricing; /* NULL: MACs */
    uint64_t known;            /* what some tree costs, which makes the search faster; 0: nothing is known */
    const tn_cut_bound *cuts;  /* of the same network, which makes the search faster; may be NULL */
    uint64_t work_most;
    uint32_t memory; /* how many times the usual number of sets may be kept, up to 4; 0: 1 */
} tn_exact_options;

typedef struct tn_exact_result {
    bool complete; /* false: gave up at `work_most` or on an interrupt; then `level` is a lower bound */
    bool found;    /* `merge` holds a tree of cost `cost`: optimal if complete */
    uint64_t cost, level, work;
} tn_exact_result;

/* merge has room for problem->tensors - 1. Scratch memory comes from the arena. For at least 2 tensors. */
tn_status tn_exact_search(const tn_problem *problem, const tn_exact_options *options, tn_arena *arena,
                          tn_merge *merge, tn_exact_result *result, tn_error *error);

/* Cost of the tree that `merge` is, under the same options; UINT64_MAX past 64 bits. For at most 64 tensors.
 */
uint64_t tn_exact_cost_of(const tn_problem *problem, const tn_exact_options *options, const tn_merge *merge);

#endif
