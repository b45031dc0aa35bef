/* The state of a training run in one file, written whole or not at all: parameters, the optimizer's state and the
 * history as arrays of an .npz, so that a run goes on bit for bit; and parameters alone as weight files. Order of
 * examples and hidden words follow from seed and epoch and need no state. Internal to the room. */
#ifndef TN_LEARN_CHECKPOINT_H
#define TN_LEARN_CHECKPOINT_H

#include "base/digest.h"
#include "base/error.h"
#include "base/memory.h"
#include "learn/training.h"

enum { TN_EPOCH_NUMBERS = 12 };

/* `identity`: what must be the same for a run to go on: model, settings, data. */
tn_status tn_checkpoint_write(const char *path, const tn_trainer *trainer,
                              const char identity[TN_DIGEST_TEXT], const tn_training_result *result,
                              tn_error *error);
/* *found false where there is no such file. */
tn_status tn_checkpoint_read(const char *path, tn_trainer *trainer, const char identity[TN_DIGEST_TEXT],
                             tn_arena *arena, tn_training_result *result, bool *found, tn_error *error);

/* FOLDER/weights.npz and FOLDER/weights.safetensors. */
tn_status tn_weights_write(const char *folder, const tn_trainer *trainer, tn_error *error);
/* Sets every parameter from a file of either kind; other arrays in it are not looked at. */
tn_status tn_weights_read(const char *path, tn_trainer *trainer, tn_error *error);

#endif
