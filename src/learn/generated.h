/* Travel questions from a grammar of our own: sentences with a label per word and a class, in the form of
 * learn/dataset.h, for runs where no data are at hand. The same seed gives the same sentences. They are far
 * easier than what people say: a model that learns them works, one that does not is broken; accuracies say nothing
 * about real questions.
 */
#ifndef TN_LEARN_GENERATED_H
#define TN_LEARN_GENERATED_H

#include "base/error.h"

#include <stdint.h>

typedef struct tn_generated {
    uint64_t train, dev, test; /* sentences */
    uint64_t seed;
} tn_generated;

extern const tn_generated tn_generated_default;

/* Writes FOLDER/train, dev and test, each with seq.in, seq.out and label. */
tn_status tn_generated_write(const char *folder, const tn_generated *how, tn_error *error);

#endif
