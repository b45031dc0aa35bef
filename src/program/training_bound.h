/* A lower bound on the MACs of every program that makes a closed network's outputs. Internal to the room.
 *
 * Proof. A program makes each output o (the contraction of all tensors but one) by steps that form a tree
 * T(o); each step is executed at least once. Give each step s and each output o a share x(s,o) >= 0 with
 * sum over o of x(s,o) = 1. Then
 *     MACs >= sum over executed s of macs(s) >= sum over o, sum over s in T(o) of x(s,o) macs(s)
 *          >= sum over o of the least, over all trees T, of the sum over s in T of x(s,o) macs(s),
 * and the last is a dynamic program over sets of tensors for each o. Only outputs that the step's result does
 * not hold can use it, so shares are among those; equal shares make the bound exact up to which tree is
 * cheapest, for on one unrooted tree every such output does use the step. Subgradient steps improve the
 * shares: more to the outputs that use the step. With B micro-batches a step counts B times, unless its
 * result is of cores alone or is, summed over micro-batches, the gradient of such (program/training.h).
 * Rounding: all terms are positive, so the sum is off by less than 1e-12 of it, which is taken off.
 */
#ifndef TN_PROGRAM_TRAINING_BOUND_H
#define TN_PROGRAM_TRAINING_BOUND_H

#include "program/training_plan.h"

/* Up to this many tensors of the forward network shares are improved, and up to that many they are equal;
 * beyond, the bound is 0. */
enum { TN_BOUND_IMPROVED = 9, TN_BOUND_EQUAL = 12 };

/* `known`: the MACs of some program; there is no point in going beyond. */
tn_status tn_training_bound(const tn_closed *closed, uint64_t known, uint64_t *bound, tn_error *error);

/* The same for part of a program, again and again: for some of the outputs (a mask of the tensors that they
 * lack), with some sets made already. For up to TN_BOUND_IMPROVED tensors. */
typedef struct tn_bounder tn_bounder;
tn_status tn_bounder_new(const tn_closed *closed, tn_bounder **bounder, tn_error *error);
void tn_bounder_free(tn_bounder *bounder);

/* `made` has an entry per set, or is NULL. At most `rounds` subgradient steps, and none beyond `known`.
 * `cost`, if not NULL, is [2][tensors][sets] of the closed network, the first half for the answer: for the
 * output that lacks tensor t, the least cost of each set under the shares found. Returns the bound, the sum
 * over the outputs of the whole's cost (less rounding: see above). */
double tn_bounder_find(tn_bounder *bounder, uint32_t outputs, const bool *made, int rounds, double known,
                       double *cost);

#endif
