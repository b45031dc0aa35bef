/* Ranks that adapt while a model is trained: a penalty under which slices of cores vanish.
 *
 * Slice r of a bond between two cores is what the bond's index r joins: left[.., r] of the one before it and right[r, ..]
 * of the one behind it. The penalty is the sum over all bonds and r of
 *     penalty * sqrt(cost of the slice) * mean * log(norm of the slice)
 * with the root mean square of the norms of the bond's slices as mean: a group lasso, reweighted by the norms as they are,
 * so that a slice as large as the others shrinks as under the lasso, a small one faster, and a large one hardly; the
 * logarithm is also what is left of a prior with a scale of its own for every slice. The cost is the slice's elements, the
 * group's size of the group lasso, or what it costs on a device, scaled to the same mean (learn/adapted_model.h).
 *
 * The penalty is applied as its proximal step, which brings slices to exactly zero: both factors of the slice are given the
 * same norm, which leaves the matrix as it is, and shrink by what the penalty takes off. A slice that is zero stays so,
 * since the gradient of each factor has the other one as a factor; leaving it out changes no output. A bond keeps its
 * greatest slice.
 *
 * Sources: group lasso, Yuan and Lin, Model selection and estimation in regression with grouped variables, 2006;
 * reweighting, Candes, Wakin and Boyd, Enhancing sparsity by reweighted l1 minimization, 2008; one scale for the slices of a
 * bond in both neighbouring cores, Hawkins, Liu and Zhang, Towards compact neural networks via end-to-end training: a
 * Bayesian tensor approach with automatic rank determination, 2022. Internal to the room.
 */
#ifndef TN_LEARN_RANK_PENALTY_H
#define TN_LEARN_RANK_PENALTY_H

#include "base/error.h"
#include "base/memory.h"
#include "train/trainer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A bond whose slices are penalised: inner ones of tensor trains and of tensor-train matrices that are updated, all
 * elements of which are kept. */
typedef struct tn_rank_bond {
    uint32_t layer;     /* in the step */
    uint32_t place;     /* in the weight's list of ranks */
    size_t left, right; /* parameters: the bond is the last axis of left and the first of right */
    uint64_t rank;
    double cost; /* of a slice, in elements */
    bool *lives; /* [rank] */
} tn_rank_bond;

typedef struct tn_rank_penalty {
    size_t bonds;
    tn_rank_bond *bond;
    double *left, *right, *factor; /* room for one bond's cores and for a number a slice */
} tn_rank_penalty;

/* Steps of training to one proximal step, which makes up for all of them. */
enum { TN_RANK_PENALTY_STEPS = 16 };

/* The bonds of the trainer's model, whole, a slice's cost its elements; *penalty lives in `arena`. TN_INPUT: it has none. */
tn_status tn_rank_penalty_new(const tn_trainer *trainer, tn_arena *arena, tn_rank_penalty *penalty,
                              tn_error *error);

/* One proximal step: `amount` is the learning rate times the penalty times the steps that it makes up for. */
void tn_rank_penalty_shrink(const tn_rank_penalty *penalty, const tn_trainer *trainer, double amount);

/* Sets every bond's `lives` from the parameters as they stand. */
void tn_rank_penalty_look(const tn_rank_penalty *penalty, const tn_trainer *trainer);
uint64_t tn_rank_bond_left(const tn_rank_bond *bond);

#endif
