/* What the sorts of step of a run come to (model/model.h, tn_step_sorts). Internal to the room. */
#ifndef TN_TRAIN_STEP_SORTS_H
#define TN_TRAIN_STEP_SORTS_H

#include "train/training.h"

/* Notes one execution of the next sort at the full sequence in to->sort, which has room for all, and mean and most of those
 * so far. */
tn_status tn_note_sort(tn_trainer *trainer, uint32_t sort, const tn_step_result *result, tn_arena *arena,
                       tn_training_result *to, tn_error *error);

#endif
