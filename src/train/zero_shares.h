/* How many of the operands of products are zero, measured in some of a run's steps: what `sparsity.activations` and
 * `sparsity.gradients` of a model say (step/precision_schedule.c). Operands are counted as they lie in memory, each as often as the
 * product has multiply-adds. Internal to the room. */
#ifndef TN_TRAIN_ZERO_SHARES_H
#define TN_TRAIN_ZERO_SHARES_H

#include "base/error.h"
#include "base/memory.h"
#include "model/step.h"
#include "train/kernels.h"
#include "train/trainer.h"

enum { TN_ZERO_STEPS = 64 }; /* one step of so many is counted */

/* Sums over products: multiply-adds, and those whose operand is zero. */
typedef struct tn_zero_sum {
    double macs[TN_VALUES], zero[TN_VALUES];
    double played
        [TN_VALUES]; /* multiply-adds by the cycles of the scheduler that skips zeros, over those without */
} tn_zero_sum;

typedef struct tn_zero_counter {
    bool counts;                     /* in the step that runs */
    tn_zero_sum (*layer)[TN_PHASES]; /* [layers of the step] */
    uint32_t layers;
} tn_zero_counter;

/* Adds the product's operands. */
void tn_count_zeros(tn_zero_counter *target, const tn_step *step, const tn_operation *product,
                    const tn_kernels *kernels, const void *left, const void *right);
void tn_zero_counter_reset(tn_zero_counter *counter);

/* Shares of the whole run, and of every layer and phase that has products; texts of *to are those of `step`. */
tn_status tn_zero_shares(const tn_zero_counter *counter, const tn_step *step, tn_arena *arena,
                         tn_zeros *target, tn_error *error);

#endif
