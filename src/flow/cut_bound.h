/* Lower bounds on MACs from the least cuts of a network. Internal to the room.
 *
 * A merge of X and Y parts the tensors into X, Y and the rest, and spans every index that goes between two of
 * those. Counting an index between two tensors only, each lies on the cut of exactly two of the three parts, so
 * a merge takes at least the root of the product of its three cuts, and no less than the largest of them. The least
 * cut that parts k tensors from the others, for every k, bounds each cut by the number of its tensors alone.
 * What a tree of p tensors takes then follows by recursion over the sizes of the two halves of its last merge,
 * and what is merged outside of it by recursion over the number q of tensors that it is merged with next:
 *
 *     least_merge(x, y, z) = max(x, y, z, root of x y z)
 *     within(p) >= min over q of within(q) + within(p - q) + least_merge(cut(q), cut(p - q), cut(p))
 *     beside(p) >= min over q of within(q) + beside(p + q) + least_merge(cut(p), cut(q), cut(p + q))
 *
 * Least cuts are found exactly by going through the tensors in an order that keeps few of them open (neighbours
 * still to come): for every way to lay the open ones on two sides, and every number of tensors on the first, the
 * least cut so far (the transfer-matrix method over a linear layout; Bodlaender, Theoretical Computer Science
 * 209, 1998, for the width of layouts). Where more stay open than memory holds, bonds of the least are left
 * out, which can only make cuts smaller: more states give a better bound. */
#ifndef TN_FLOW_CUT_BOUND_H
#define TN_FLOW_CUT_BOUND_H

#include "base/error.h"
#include "base/memory.h"
#include "tensor/network.h"

#include <stdint.h>

/* log2 of the least product of sizes of the indices between k tensors and the others, k = 0 .. tensors, or
 * less: an index of more than two tensors counts between the first two. At most `states_most` sides of open tensors
 * are kept (at least 2). For at least 2 tensors. */
tn_status tn_least_cuts(const tn_network *network, uint64_t states_most, tn_arena *arena, double *cut,
                        tn_error *error);

/* What trees take at least by the number of their tensors alone. */
typedef struct tn_cut_bound {
    uint32_t tensors;
    double cut[TN_TENSORS_MOST + 1]; /* [k] elements of a tensor made of k, at least */
    uint64_t
        within[TN_TENSORS_MOST + 1]; /* [k] MACs of a tree of k tensors, at least; 2^63 stands for more */
    uint64_t
        beside[TN_TENSORS_MOST + 1]; /* [k] MACs of all merges outside of a tree of k tensors, at least */
} tn_cut_bound;

/* For at least 2 tensors. The work is about `work_most`; all bounds are 0 once tn_interrupted(). */
tn_status tn_cut_bound_of(const tn_network *network, uint64_t work_most, tn_arena *arena, tn_cut_bound *bound,
                          tn_error *error);

/* MACs of all merges outside of a tree of so many tensors that makes so many elements, at least. For networks whose
 * indices are each on two tensors, or on one and in the output. It rises with the elements and never falls from a
 * subtree to a larger one by more than the merges between take, so that a search may take sets in order of cost + bound. */
uint64_t tn_cut_bound_beside(const tn_cut_bound *bound, uint32_t tensors, uint64_t elements);

#endif
