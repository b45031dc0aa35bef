/* Mixtures of experts and sequences of a step, executed, and what routers chose. Internal to the room. */
#ifndef TN_TRAIN_EXPERTS_H
#define TN_TRAIN_EXPERTS_H

#include "train/trainer_state.h"

/* Operations of the shapes TN_SHAPE_ROUTE, TN_SHAPE_ROUTED and TN_SHAPE_SEQUENCE. */
void tn_run_route(const tn_step_run *run, const tn_operation *operation);
void tn_run_routed(const tn_step_run *run, const tn_operation *operation);
void tn_run_sequence(const tn_step_run *run, const tn_operation *operation);

/* Room for the counts of the model's routers. */
tn_status tn_make_routes(tn_trainer *trainer, tn_error *error);

#endif
