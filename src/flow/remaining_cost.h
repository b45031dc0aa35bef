/* A lower bound on the MACs that a tree still needs beside one of its subtrees. Internal to the room.
 *
 * A merge of X and Y spans the indices of both. Where each has an index that the other has not, that is at
 * least |X| + |Y| (a b >= a + b for a, b >= 2); where X has all indices of Y, it is |X|. So every tensor of
 * the network can be charged its own elements to the merge that consumes it, but for those whose indices
 * another tensor of the network has all: those two may meet, and then pay once. What the subtree's result
 * costs to consume is charged in the same way beside them. The bound holds for every network and every tree,
 * outer products included, and never falls from a subtree to a larger one, so that a search may take sets in
 * order of cost + bound (A*: Hart, Nilsson, Raphael, IEEE Transactions on Systems Science and Cybernetics 4,
 * 1968). Indices of size 1 count for nothing here. */
#ifndef TN_FLOW_REMAINING_COST_H
#define TN_FLOW_REMAINING_COST_H

#include "flow/problem.h"

typedef struct tn_remaining_cost {
    const tn_problem *problem;
    uint64_t units;   /* groups of size 1 */
    uint64_t charged; /* tensors that are charged their elements */
    uint64_t total;   /* elements of those: no tree costs less */
    uint64_t size[TN_PROBLEM_TENSORS];
} tn_remaining_cost;

/* The problem must outlive it. The network's own elements fit 64 bits together. */
void tn_remaining_cost_of(const tn_problem *problem, tn_remaining_cost *remaining);

/* What the merges outside a tree of `set` cost at least: `open` are the groups of its result, `size` its
 * elements, `charged` the elements of the charged tensors among the set. */
uint64_t tn_remaining_cost_beside(const tn_remaining_cost *remaining, uint64_t set, uint64_t open,
                                  uint64_t size, uint64_t charged);

#endif
