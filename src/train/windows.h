/* Windows of pictures (model/step.h, tn_window): the look-up that lays their pixels side by side, and the scatter that adds
 * gradients up to them. Internal to the room. */
#ifndef TN_TRAIN_WINDOWS_H
#define TN_TRAIN_WINDOWS_H

#include "train/trainer_state.h"

void tn_run_windows(const tn_step_run *run, const tn_operation *operation);

#endif
