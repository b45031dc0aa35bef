/* A lower bound on the MACs of every tree, for networks that no exact search takes: what cutting the network
 * costs. Internal to the room.
 *
 * A merge of X and Y parts the tensors into X, Y and the rest, and spans every index that goes between two of
 * those. Counting an index between two tensors only, each lies on the cut of exactly two of the three parts, so
 * a merge takes at least the root of the product of its three cuts, and no less than the largest of them. The least
 * cut that parts k tensors from the others, for every k, bounds each cut by the number of its tensors alone;
 * what a tree of n tensors takes then follows by recursion over the sizes of the two halves of its last merge:
 *
 *     macs(p) >= min over q of macs(q) + macs(p - q) + max(cuts, root of the product of cut(p), cut(q), cut(p - q))
 *
 * Least cuts are found exactly by going through the tensors in an order that keeps few of them open (neighbours
 * still to come): for every way to lay the open ones on two sides, and every number of tensors on the first, the
 * least cut so far (the transfer-matrix method over a linear layout; Bodlaender, Theoretical Computer Science
 * 209, 1998, for the width of layouts). Where more stay open than memory holds, bonds of the least are left
 * out, which can only make cuts smaller: more states give a better bound. */
#ifndef TN_FLOW_CUT_BOUND_H
#define TN_FLOW_CUT_BOUND_H

#include "base/arena.h"
#include "base/error.h"
#include "tensor/network.h"

/* log2 of the least product of sizes of the indices between k tensors and the others, k = 0 .. tensors, or
 * less: an index of more than two tensors counts between the first two. At most `states_most` sides of open tensors
 * are kept (at least 2). For at least 2 tensors. */
tn_status tn_least_cuts(const tn_network *network, uint64_t states_most, tn_arena *arena, double *cut,
                        tn_error *error);

/* No tree takes fewer MACs; 1 where it says nothing. The work is about `work_most` and is added to *work; 0 once
 * tn_interrupted(). */
tn_status tn_cut_bound(const tn_network *network, uint64_t work_most, tn_arena *arena, uint64_t *bound,
                       uint64_t *work, tn_error *error);

#endif
