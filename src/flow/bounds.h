/* A smaller network none of whose trees costs more, to bound networks that the exact search can't take.
 * Internal to the room.
 *
 * Leave out a tensor, or give an index size 1: every tree of the network is then one of what is left (without
 * the leaf, and without the merge that consumed it), and no merge of it spans more. So the least cost of what
 * is left, or any bound on it, bounds the network. Kept are the tensors with the most elements and, of the
 * indices between those, the largest. */
#ifndef TN_FLOW_BOUNDS_H
#define TN_FLOW_BOUNDS_H

#include "base/error.h"
#include "base/memory.h"
#include "flow/problem.h"
#include "tensor/network.h"

/* *problem may have fewer than 2 tensors; it then bounds nothing. Outer products must be allowed in its
 * trees whatever the network's may do. Scratch memory comes from the arena. */
tn_status tn_relax(const tn_network *network, tn_arena *arena, tn_problem *problem, tn_error *error);

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

/* A lower bound on the peak of every tree: what the last merge needs. Internal to the room.
 *
 * The last merge takes two tensors, made from two halves of the network, and makes the result; all three are
 * live beside the resident ones (a half of one tensor is resident itself). The least of that over all halves
 * bounds every tree. The halves are found by branch and bound: tensors are given to one side or the other in
 * an order in which neighbours come soon, and what is open between the sides only grows. */

/* Elements above what is resident; where the search takes too many steps, the result alone. For at least 2
 * tensors. *work grows by the steps taken. */
uint64_t tn_last_merge_bound(const tn_problem *problem, uint64_t *work);

#endif
