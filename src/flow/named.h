/* The flows that have names: trees of a weight's forward network (tn_weight_forward: tensor 0 is X, tensor
 * k+1 core k), and points of the front of its training flows. */
#ifndef TN_FLOW_NAMED_H
#define TN_FLOW_NAMED_H

#include "base/error.h"
#include "base/memory.h"
#include "base/public.h"
#include "flow/tree.h"
#include "tensor/network.h"
#include "tensor/weight.h"

#include <stdbool.h>

/* The trees of fewest MACs, one after the other: what a device may do faster than the very cheapest one, as its cycles
 * are not MACs (kernel/issue.h).
 *
 * A tree's MACs are the sum over its merges, and a merge's depend only on which sets of tensors it joins. So the k
 * cheapest trees over a set are made of the k cheapest ones over the halves of each of its splits: a dynamic programme
 * over the sets that keeps k trees of each is exact. Outer products are splits as any other.
 */

enum {
    TN_CHEAPEST_MOST = 8,     /* trees */
    TN_CHEAPEST_TENSORS = 13, /* of a network: 3^13 splits of its sets, some milliseconds */
};

/* tree[TN_CHEAPEST_MOST]: the cheapest first, each in its best execution order; *count of them, fewer where the network has
 * no more trees within 64 bits. Trees of equally many MACs are in a fixed order. The network must have passed
 * tn_network_check. TN_LIMIT beyond TN_CHEAPEST_TENSORS tensors. */
tn_status tn_cheapest_trees(const tn_network *network, tn_arena *arena, tn_tree *tree, uint32_t *count,
                            tn_error *error);

TN_PUBLIC_BEGIN

typedef enum tn_flow_name {
    TN_FLOW_DENSE,         /* the whole matrix is rebuilt from its cores in the cheapest way, then one product
                              with X (dense format: that product alone) */
    TN_FLOW_RIGHT_TO_LEFT, /* X first, one core after the other. Chains (TT, TTM, ring) and CP: from the last
                              to the first; Tucker, block-term: the input factors, the core tensor, the output
                              factors; HT: the input leaves, the input half's nodes upwards, the root, the
                              output half's nodes downwards, the output leaves. Dense: the product */
    TN_FLOW_BIDIRECTIONAL, /* output half and input half merged without X, then two products with X: the input
                              half, the output half. Chains and CP: each half from its outer end; Tucker,
                              block-term: the core tensor belongs to the output half; HT: the root belongs to
                              the side with fewer rows or columns. Not TTM (its cores carry both sides), not
                              dense */
    TN_FLOW_BIDIRECTIONAL_PUBLISHED, /* the same forward; the backward order of the publication (TT, d = 3) */
    TN_FLOW_OPTIMAL,                 /* least MACs over all trees */
    TN_FLOWS,                        /* those that are trees */
    /* Points of the front of training flows (program/training.h) of the weight's network: of total MACs, saved
     * elements and peak, fewest MACs first. Which values are kept and which recomputed is part of each. */
    TN_FLOW_TRAINING_OPTIMAL = TN_FLOWS, /* the first: fewest MACs of forward and all gradients */
    TN_FLOW_TRAINING_LEAST_SAVED, /* fewest elements kept from the forward phase; of equals, fewest MACs */
    TN_FLOW_TRAINING_LEAST_PEAK,  /* lowest peak of live elements; of equals, fewest MACs */
    TN_FLOW_TRAINING_FRONT_2,     /* the second point ... */
    TN_FLOW_TRAINING_FRONT_32 = TN_FLOW_TRAINING_FRONT_2 + 30, /* ... to the 32nd */
    /* Trees again: of all but the optimal one that of the fewest MACs, and so on. A device may well be faster with one of
     * them: which index a product cuts decides how many cycles its blocks take. Not of networks of more than
     * TN_CHEAPEST_TENSORS tensors (flow/named.h), nor where there are not so many trees. */
    TN_FLOW_CHEAPEST_2,
    TN_FLOW_CHEAPEST_8 = TN_FLOW_CHEAPEST_2 + 6,
    TN_FLOW_FASTEST, /* whichever of the trees a device does fastest: settled before there is a step
                        (design/changes.h) */
    TN_FLOW_NAMES
} tn_flow_name;

extern const char *const tn_flow_names[]; /* in that order, ended by NULL */

/* True if the format has the flow. (How many points a front has, only its search tells.) */
bool tn_flow_exists(const tn_weight *weight, tn_flow_name name);
static inline bool tn_flow_is_training(tn_flow_name name) {
    return name >= TN_FLOW_TRAINING_OPTIMAL && name <= TN_FLOW_TRAINING_FRONT_32;
}
/* One of the cheapest trees by its place. */
static inline bool tn_flow_is_cheapest(tn_flow_name name) {
    return name >= TN_FLOW_CHEAPEST_2 && name <= TN_FLOW_CHEAPEST_8;
}

/* The forward tree of the flow for `tokens` rows, in its best execution order. A flow that the format does
 * not have is TN_INPUT, and so is a training flow, which is more than one tree. */
tn_status tn_flow_tree(const tn_weight *weight, uint64_t tokens, tn_flow_name name, tn_arena *arena,
                       tn_tree *tree, tn_error *error);

TN_PUBLIC_END

#endif
