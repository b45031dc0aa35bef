/* Sums over the gradients of steps, from which their variance follows (train/trainer.h). Internal to the room. */
#ifndef TN_TRAIN_GRADIENT_SUMS_H
#define TN_TRAIN_GRADIENT_SUMS_H

#include "base/error.h"
#include "train/kernels.h"

#include <stdint.h>

typedef struct tn_gradient_sums {
    uint64_t elements, steps; /* of all gradients together; that were added. sum NULL: nobody asks */
    double *sum, *values;     /* [elements]; room for one gradient */
    double squares;           /* of all gradients of all steps */
    uint64_t added;           /* elements of the step at hand */
} tn_gradient_sums;

tn_status tn_gradient_sums_make(tn_gradient_sums *sums, uint64_t elements, tn_error *error);
void tn_gradient_sums_free(tn_gradient_sums *sums);

/* Gradients of a step come one behind the other in the same order in each; behind the last one the step counts. */
void tn_gradient_sums_add(tn_gradient_sums *sums, const tn_kernels *kernels, const void *gradient,
                          uint64_t elements);
void tn_gradient_sums_step(tn_gradient_sums *sums);

/* Begins anew. Variance and mean_square as tn_gradient_noise has them, NAN of fewer than two steps. */
void tn_gradient_sums_take(tn_gradient_sums *sums, double *variance, double *mean_square, uint64_t *steps);

#endif
