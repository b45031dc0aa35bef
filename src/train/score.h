/* What a model answers about a split of a data set, against what is right. Internal to the room. */
#ifndef TN_TRAIN_SCORE_H
#define TN_TRAIN_SCORE_H

#include "train/training.h"

/* Whether a head's answers, and what is right, are one and the same all over a split. */
typedef struct tn_sameness {
    bool any, found_differ, expected_differ;
    uint32_t found;
    int64_t expected;
} tn_sameness;

/* How a split is run. */
typedef struct tn_scoring {
    tn_trainer *trainer;
    const tn_dataset *data;
    bool padded;
    const uint32_t *sort_of;     /* [examples] the sort of step that each takes; NULL: the trainer's own */
    tn_predicted_executed *macs; /* of all passes are added; NULL: nobody wants them */
} tn_scoring;

/* *to: means over the split. answers[head]. */
tn_status tn_score_split(const tn_scoring *how, const tn_split *split, tn_scores *to,
                         tn_sameness answers[TN_HEADS_MOST], tn_error *error);

#endif
