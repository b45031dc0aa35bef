/* The flows that have names, as trees of a weight's forward network. */
#ifndef TN_FLOW_NAMED_H
#define TN_FLOW_NAMED_H

#include "base/arena.h"
#include "base/error.h"
#include "flow/tree.h"
#include "tensor/weight.h"

typedef enum tn_flow_name {
    TN_FLOW_DENSE, /* the whole matrix is rebuilt, then one product (dense format: the product alone) */
    TN_FLOW_RIGHT_TO_LEFT, /* X first, cores from the last to the first */
    TN_FLOW_BIDIRECTIONAL, /* output half and input half merged without X, then two products with X */
    TN_FLOW_BIDIRECTIONAL_PUBLISHED, /* the same forward; the backward order of the publication (d = 3 only)
                                      */
    TN_FLOW_OPTIMAL,                 /* least MACs over all trees */
    TN_FLOWS
} tn_flow_name;

extern const char *const tn_flow_names[]; /* in that order, ended by NULL */

/* The forward tree of the flow for `tokens` rows, over the network that tn_weight_forward gives. A flow that
 * the format does not have is TN_INPUT. */
tn_status tn_flow_tree(const tn_weight *weight, uint64_t tokens, tn_flow_name name, tn_arena *arena,
                       tn_tree *tree, tn_error *error);

#endif
