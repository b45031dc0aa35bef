/* Sparse training: which of a parameter's elements are live (step/sparse_weights.c). Of equal ones the earlier are. Internal to
 * the room. */
#ifndef TN_TRAIN_SELECTION_H
#define TN_TRAIN_SELECTION_H

#include "train/trainer_state.h"

#include <stddef.h>
#include <stdint.h>

/* stays[i]: size[i] is one of the `live` greatest. `room` has `elements`; 1 <= live <= elements. Sizes are at least 0 and no NaN
 * decides: one counts as 0. */
void tn_mark_greatest(const double *size, size_t elements, size_t live, bool *stays, double *room);

/* Those of the greatest magnitude stay, so many; the others become zero. `mask` (NULL: not wanted) becomes 1 and 0. `room` has
 * TN_SELECTION_ROOM doubles an element. */
void tn_select_greatest(const tn_kernels *kernels, void *values, size_t elements, size_t live, void *mask,
                        double *room);

/* Elements that are not zero. `room` has as many. */
size_t tn_count_live(const tn_kernels *kernels, const void *values, size_t elements, double *room);

/* The factor that W(0) has after so many steps; below 2^-126 it is 0. In inference what decays has. */
double tn_initial_factor(const tn_trainer *trainer, uint64_t steps);

/* Before the first step or pass: the first live elements of every sparse parameter. */
void tn_select_first(tn_step_run *run);
/* A selection, a tracking or a regeneration. */
void tn_run_selection(tn_step_run *run, const tn_operation *operation);

/* Of so many multiply-adds of a product with a sparse parameter those that count: of its live elements, which the mask says,
 * or without one, in inference, those that are not zero. Initial weights that have not decayed yet are multiplied, too. */
uint64_t tn_live_macs(const tn_step_run *run, const tn_operation *operation, uint64_t macs);
/* The same of a whole step or forward phase, as predicted. */
uint64_t tn_predicted_macs(const tn_trainer *trainer, const tn_step *step, bool forward);

/* Room for a sparse parameter of so many elements. */
tn_status tn_selection_grow(tn_trainer *trainer, size_t elements, tn_error *error);

#endif
