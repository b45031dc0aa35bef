/* What a trained model answers: the step of `phase: inference`, executed on dev and test with what its techniques leave
 * out. Internal to the room. */
#ifndef TN_TRAIN_EVALUATION_H
#define TN_TRAIN_EVALUATION_H

#include "train/training.h"

/* Fills evaluated, dev, test, exits, macs and steps of *result. With early exits dev is run at every exit first, and so
 * low an entropy of the answers is set for each that the wanted share leaves there; then dev and test leave by it. */
tn_status tn_infer_data(const tn_training *run, tn_trainer *trainer, tn_arena *arena,
                        tn_training_result *result, tn_error *error);

#endif
