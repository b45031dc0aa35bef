/* What routers of a mixture of experts chose in the last pass of a run, and its files: OUT/experts.csv, all routers together,
 * and OUT/experts-LAYER.csv of each, as `tenfold finetune ... --load` takes them. Internal to the room. */
#ifndef TN_LEARN_ROUTES_H
#define TN_LEARN_ROUTES_H

#include "learn/training.h"

/* Copies the trainer's counts into result->load. */
tn_status tn_note_routes(const tn_trainer *trainer, tn_arena *arena, tn_training_result *result,
                         tn_error *error);

/* Nothing is written where there is no router. */
tn_status tn_routes_write(const char *folder, const tn_training_result *result, tn_error *error);

#endif
