/* One training flow as choices, and what follows from them: its steps and their cost. Internal to the room.
 * Counts saturate at UINT64_MAX. */
#ifndef TN_PROGRAM_TRAINING_PLAN_H
#define TN_PROGRAM_TRAINING_PLAN_H

#include "base/error.h"
#include "flow/problem.h"
#include "program/step_order.h"
#include "program/training.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The closed network: the forward network's tensors, then dY; no output. */
typedef struct tn_closed {
    uint32_t leaves; /* of the forward network */
    uint64_t wanted; /* leaves whose gradients are */
    uint64_t micro_batches;
    tn_problem problem;
    uint64_t open[1 << (TN_TRAINING_EXACT + 1)]; /* groups on each contraction, in networks that are searched
                                                    exactly */
} tn_closed;

/* The network must have passed tn_network_check. */
tn_status tn_closed_of(const tn_network *network, const tn_training_options *options, tn_closed *closed,
                       tn_error *error);
uint64_t tn_closed_elements(const tn_closed *closed, uint64_t set);
/* MACs of merging two disjoint sets. */
uint64_t tn_closed_macs(const tn_closed *closed, uint64_t a, uint64_t b);

/* A tree as sets: node t < leaves is a leaf, node leaves + i merge i, children before parents. */
typedef struct tn_set_tree {
    uint32_t leaves;
    uint8_t a[TN_TRAINING_MOST], b[TN_TRAINING_MOST]; /* children of the merges */
    uint64_t set[TN_TRAINING_MOST];                   /* of the merges */
} tn_set_tree;

void tn_set_tree_of(const tn_tree *tree, tn_set_tree *sets);

/* A step of a backward pass along several trees: the sets that it merges. */
typedef struct tn_set_pair {
    uint64_t a, b;
} tn_set_pair;

/* Either `backward` is a tree: `kept` and `shared` are masks over its merges (never its root). A kept value
 * is one that `forward` has too. A shared one is of cores alone; shared values are disjoint, and both trees
 * agree below them.
 * Or the backward pass is a list of `pairs`, each of sets that are single tensors, kept or made before, and
 * `kept` is a mask over the merges of `forward`; nothing is shared. */
typedef struct tn_training_plan {
    const tn_closed *closed;
    const tn_set_tree *forward, *backward;
    uint64_t kept, shared;
    const tn_set_pair *pair;
    uint32_t pairs;
} tn_training_plan;

/* Parts of a program, in order (program/program.h). */
typedef enum tn_part { TN_PRELUDE, TN_FORWARD_PART, TN_BACKWARD_PART, TN_EPILOGUE, TN_PARTS } tn_part;

typedef struct tn_training_plan_item {
    uint64_t set, elements;
    tn_role role;
    uint8_t made_in; /* tn_part; TN_PARTS for inputs */
    bool read_in[TN_PARTS];
} tn_training_plan_item;

typedef struct tn_training_plan_step {
    uint16_t a, b, out;
    uint8_t part;
    bool recomputed, for_input; /* for_input: dX needs it */
    uint64_t macs;
} tn_training_plan_step;

/* The flow written out, steps in some order in which they can be executed. Items: leaves, dY, then one per
 * step. */
typedef struct tn_flow_steps {
    const tn_closed *closed;
    uint32_t items, steps;
    tn_training_plan_item item[TN_ORDER_ITEMS];
    tn_training_plan_step step[5 * TN_TRAINING_MOST];
    uint64_t forward_macs, backward_macs, total_macs, saved_elements;
} tn_flow_steps;

void tn_training_plan_write(const tn_training_plan *plan, tn_flow_steps *flow);
/* A bound on the least peak of any order of the forward or backward part's steps. */
uint64_t tn_flow_peak_bound(const tn_flow_steps *flow, tn_part part);

/* Orders one part of the steps for least memory. peak: of that part, with all that is live throughout. */
tn_status tn_flow_order_part(const tn_flow_steps *flow, tn_part part, tn_orderer *orderer,
                             size_t entries_most, uint32_t *order, uint32_t *count, uint64_t *peak,
                             bool *exact, tn_error *error);

/* The program of the flow, its parts in the best orders. */
tn_status tn_flow_program(const tn_flow_steps *flow, const tn_network *network, tn_orderer *orderer,
                          size_t entries_most, tn_arena *arena, tn_program *program, bool *exact,
                          tn_error *error);

/* Training flows that are not worse than another in all three counts, as choices. Internal to the room. */

typedef struct tn_training_candidate {
    uint64_t total_macs, saved_elements, peak_elements;
    uint32_t forward, backward; /* positions in the list of trees */
    uint64_t kept, shared;      /* masks over the backward tree's merges */
    const tn_set_pair *pair; /* not NULL: the backward pass along several trees; `kept` is over `forward` */
    uint32_t pairs;
} tn_training_candidate;

typedef struct tn_training_candidates {
    tn_training_candidate *item;
    size_t count, capacity;
} tn_training_candidates;

/* True if one of them is as good in all three counts. */
bool tn_training_candidates_cover(const tn_training_candidates *front, uint64_t total_macs,
                                  uint64_t saved_elements, uint64_t peak_elements);
/* Adds it unless it is covered, and drops what it covers. */
tn_status tn_training_candidates_add(tn_training_candidates *front, const tn_training_candidate *candidate,
                                     tn_error *error);
/* Fewest MACs first, then fewest saved, then lowest peak. */
void tn_training_candidates_sort(tn_training_candidates *front);
void tn_training_candidates_free(tn_training_candidates *front);

#endif
