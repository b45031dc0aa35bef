/* Initial parameters, drawn from the settings' seed by one SplitMix64 stream in the order of the parameters:
 * uniform with the deviation of the settings. A core's deviation is such that the matrix it belongs to has the
 * wanted one: an element of a matrix of d cores is a sum of as many products of d core elements as its inner
 * ranks multiply to, so the core's variance is (matrix variance / product of ranks)^(1/d). Biases and shifts
 * start at 0, scales at 1.
 */
#ifndef TN_TRAIN_INITIAL_H
#define TN_TRAIN_INITIAL_H

#include "base/error.h"
#include "model/train_settings.h"
#include "train/trainer.h"

/* Sets all parameters, and the trainer to its first step. */
tn_status tn_initialise(tn_trainer *trainer, const tn_train_settings *settings, tn_error *error);

/* Elements start .. start + count - 1 of a parameter as the last tn_initialise drew them, in any order and as often as wanted:
 * nothing but the seed is kept of them. */
void tn_initial_values(const tn_trainer *trainer, size_t parameter, uint64_t start, uint64_t count,
                       double *values);

#endif
