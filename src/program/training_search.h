/* The state of a search for training flows, and its three ways. Internal to the room. */
#ifndef TN_PROGRAM_TRAINING_SEARCH_H
#define TN_PROGRAM_TRAINING_SEARCH_H

#include "program/training_plan.h"
#include "program/training_trees.h"

/* Sets of done steps that ordering keeps per layer where it must be exact: more than there ever are. */
enum { TN_TRAINING_ENTRIES = 1 << 20 };

/* A set of values that a forward phase may keep, with the tree of fewest MACs that has them all. */
typedef struct tn_kept_values {
    uint32_t forward;
    uint64_t kept; /* mask over its merges */
    uint64_t forward_macs, saved_elements;
} tn_kept_values;

typedef struct tn_training_state {
    tn_closed closed;
    tn_set_trees trees;
    tn_training_candidates front;
    tn_orderer orderer;
    tn_arena arena;         /* of pairs */
    tn_flow_steps flow;     /* the one looked at */
    tn_kept_values *values; /* every set of values that some forward tree has */
    size_t value_count, value_capacity;
    size_t entries_most;
    uint64_t forward_bound; /* on the MACs of Y alone; 0: not looked for */
    bool exact;             /* no tree, choice or order was left out so far */
    tn_error *error;
} tn_training_state;

/* Every tree of a network of up to TN_TRAINING_EXACT tensors; of a larger one as many as its size allows. */
tn_status tn_training_find_trees(tn_training_state *state, const tn_network *network,
                                 const tn_training_options *options);
/* The same for a candidate. */
void tn_training_look_at_candidate(tn_training_state *state, const tn_training_candidate *candidate);

/* One micro-batch: every pair of trees, with every set of values that both have kept. Flows split into two
 * halves that share nothing but what is kept; so each tree's halves are costed once for every set that it may
 * keep, and joined over equal sets. */
tn_status tn_training_pairs(tn_training_state *state);
/* One micro-batch, backward passes along any number of trees: where that takes fewer MACs than the front so
 * far has at no more saved elements. Each set of kept values is bounded first, as in program/training_bound.h,
 * and where the bound leaves room the least MACs are found by trying all ways to make what is needed.
 * *proven: none was given up for too much work. */
tn_status tn_training_several(tn_training_state *state, bool *proven);
/* Several micro-batches: every tree, with every set of its values kept and of its merges of cores shared. */
tn_status tn_training_shared(tn_training_state *state);

#endif
