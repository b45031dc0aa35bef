/* What the designs of a space learn: one candidate for every combination of the choices that accuracy depends on
 * (formats, foldings, ranks and other keys of the model; never flows, parallelism or memories), trained by successive
 * halving. Candidates spread over the space begin; after 1, 2, 4 .. epochs of their run the half that could matter
 * goes on: those that no other beats in both parameters and accuracy, then those that only they beat, and so on.
 * Source: Jamieson, Talwalkar, Non-stochastic best arm identification, AISTATS 2016.
 *
 * Every candidate has a checkpoint, so a study that was stopped goes on where it was. A shard halves its own
 * candidates.
 */
#ifndef TN_TRAIN_ACCURACY_STUDY_H
#define TN_TRAIN_ACCURACY_STUDY_H

#include "base/error.h"
#include "base/memory.h"
#include "space/space.h"
#include "train/training.h"

#include <stddef.h>
#include <stdint.h>

typedef struct tn_study_options {
    const char *folder;     /* DIR: candidates' checkpoints, accuracy.csv */
    uint64_t effort;        /* epochs to spend, all candidates together */
    uint64_t seeds;         /* with which the last survivors are trained; at least 1 */
    uint64_t shard, shards; /* 0 .. shards - 1 */
    tn_train_settings settings;
    tn_training_watch watch;
} tn_study_options;

/* One candidate: mean over those of its seeds that did not collapse, at the most epochs that it had; NAN where all did. Accuracy is the mean of the shares of right
 * classes and right labels on dev, of those the data have. */
typedef struct tn_study_row {
    uint64_t id; /* of the first design with its choices */
    uint64_t parameters, epochs, seeds,
        collapsed;           /* collapsed: seeds that diverged or give one answer to all */
    double accuracy, spread; /* spread: standard deviation over seeds; NAN for one */
    tn_scores dev, test;
    size_t curve_epochs;
    const double *curve; /* [curve_epochs] accuracy of the first seed after each epoch */
} tn_study_row;

typedef struct tn_study {
    size_t count;
    tn_study_row *row;
    uint64_t combinations, epochs; /* in all; spent */
} tn_study;

tn_status tn_accuracy_study(const tn_space *space, const char *data, const tn_study_options *options,
                            tn_arena *arena, tn_study *study, tn_error *error);

/* Appends the table: id, the choices, parameters, epochs, seeds, accuracy .. . */
void tn_study_csv(const tn_space *space, const tn_study *study, tn_buffer *out);

#endif
