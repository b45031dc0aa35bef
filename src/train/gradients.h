/* What is done with all gradients of a step at once, between the backward pass and the updates. Internal to the room. */
#ifndef TN_TRAIN_GRADIENTS_H
#define TN_TRAIN_GRADIENTS_H

#include "train/trainer_state.h"

/* By one factor, where their norm is above training.clip_norm. */
void tn_clip_gradients(const tn_step_run *run);

/* Adds them to trainer->gradients. */
void tn_note_gradients(const tn_step_run *run);

#endif
