/* Training flows: one layer's forward product and all its gradients as one problem.
 *
 * Close the network with dY. Every value is then the contraction of a set of the closed network's tensors;
 * Y and the gradients are the sets that lack one tensor. A training flow says
 *   - along which tree the forward phase makes Y,
 *   - along which tree, the same or another, or along which several trees, the backward pass makes the
 *     gradients (rooted where dY sits: each gradient is what comes down to its leaf, from the values that
 * come up elsewhere),
 *   - which values are kept from the forward phase; the others that are needed are recomputed, once,
 *   - with several micro-batches, which merges of cores alone are made once and used by all, and where
 *     gradients are summed over micro-batches before they are taken further,
 * and each phase runs in the order of steps that needs least memory (program/program.h says what is live).
 *
 * The front is over three counts of one training step: total MACs, saved elements (intermediates live between
 * forward and backward pass, X apart) and peak live elements. For networks of up to TN_TRAINING_EXACT tensors
 * it covers every flow of one tree forward and one backward in all three counts (`exact`), and every flow of
 * one tree forward and any number backward in the first two (`exact_any_trees`; the peak of those is that of
 * their best order, but there may be others of the same MACs and lower peak). With several micro-batches: in
 * all three, every flow whose one tree is both. Larger networks take the trees that searches and hints give,
 * and those one exchange away.
 *
 * lower_bound_macs holds for every program whatsoever that makes the outputs step by step, along any number
 * of trees: each output needs some tree of steps, and each step's MACs may be shared out among the outputs
 * that use it; whatever the shares, the sum of each output's cheapest tree under its shares is a bound
 * (Lagrangian relaxation; the shares are improved by subgradient steps). docs/training-flows.md has the
 * proof.
 */
#ifndef TN_PROGRAM_TRAINING_H
#define TN_PROGRAM_TRAINING_H

#include "base/error.h"
#include "base/memory.h"
#include "flow/tree.h"
#include "program/program.h"
#include "tensor/network.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TN_TRAINING_EXACT = 7, TN_TRAINING_MOST = 32 };

typedef struct tn_training_options {
    bool no_input_gradient;
    uint64_t micro_batches; /* per training step, each of the network's rows; 0 counts as 1 */
    bool one_backward_tree; /* leave several trees out */
    const tn_tree *hint;    /* forward trees to try besides the search's own (named flows, say) */
    size_t hints;
} tn_training_options;

/* Of one training step, all its micro-batches. */
typedef struct tn_training_cost {
    uint64_t forward_macs, backward_macs, total_macs;
    uint64_t recomputed_macs; /* of backward_macs: what the forward phase had made and did not keep */
    uint64_t saved_elements;
    uint64_t peak_elements;
} tn_training_cost;

typedef struct tn_training_flow {
    tn_training_cost cost;
    tn_tree forward;  /* over the network's tensors */
    tn_tree backward; /* the same, rooted where dY sits; 0 tensors: the backward pass is along several trees,
                         and only the program has it all */
    uint64_t kept;    /* bit i: merge i of `backward` (of `forward`, with several trees) is a value kept from
                         the forward phase */
    uint64_t shared;  /* bit i: made once for all micro-batches, its gradient summed over them */
    tn_program program; /* executable, in its order */
} tn_training_flow;

typedef struct tn_training_front {
    size_t count;           /* fewest MACs first */
    tn_training_flow *item; /* none is worse than another in all three counts */
    bool exact;             /* no flow of one tree forward and one backward is better than all of these */
    bool exact_any_trees;   /* nor has one of one tree forward and any number backward fewer MACs at no more
                               saved elements */
    uint64_t lower_bound_macs; /* of total_macs, over all programs */
} tn_training_front;

/* Tensor 0 of the network is the layer's input, the others its parameters. options NULL: all gradients, one
 * micro-batch. TN_LIMIT for more than TN_TRAINING_MOST tensors; TN_INPUT as tn_program_of_network. Everything
 * in *front lives in `arena`. */
tn_status tn_training_search(const tn_network *network, const tn_training_options *options, tn_arena *arena,
                             tn_training_front *front, tn_error *error);

/* The same counts of any program (of a named flow, say). */
tn_status tn_training_cost_of(const tn_program *program, tn_training_cost *cost, tn_error *error);

#endif
