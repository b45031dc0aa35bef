/* The trees among which training flows are looked for. Internal to the room. */
#ifndef TN_PROGRAM_TRAINING_TREES_H
#define TN_PROGRAM_TRAINING_TREES_H

#include "program/training_plan.h"

typedef struct tn_set_trees {
    tn_set_tree *item;
    size_t count, capacity;
} tn_set_trees;

/* Every tree over the network's tensors; for up to TN_TRAINING_EXACT of them. */
tn_status tn_set_trees_all(const tn_network *network, tn_set_trees *trees, tn_error *error);

/* Those of least MACs and of least peak that searches find, the hints, and what one exchange of neighbouring
 * subtrees makes of each, cheapest first, at most `most`; each once. *forward_bound: a lower bound on the
 * MACs of any tree. */
tn_status tn_set_trees_near(const tn_network *network, const tn_closed *closed,
                            const tn_training_options *options, size_t most, tn_set_trees *trees,
                            uint64_t *forward_bound, tn_error *error);
void tn_set_trees_free(tn_set_trees *trees);

#endif
