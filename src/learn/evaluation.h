/* What a trained model answers: the step of `phase: inference`, executed on dev and test with what its techniques leave
 * out. Internal to the room. */
#ifndef TN_LEARN_EVALUATION_H
#define TN_LEARN_EVALUATION_H

#include "learn/training.h"

#include <stddef.h>

/* What a model answers about a split of a data set, against what is right. Internal to the room. */

/* How well labels were found: the share of right labels, and F1 of whole chunks by the rules of conlleval (CoNLL-2000
 * shared task): a chunk begins at B, or at an I that follows O or another type, and ends before O, B or another type;
 * it is found if type, begin and end are right. */

typedef struct tn_slot_score {
    size_t labels, right_labels;               /* words, and those with the right label */
    size_t chunks, found_chunks, right_chunks; /* there are, were found, were found rightly */
} tn_slot_score;

/* One sentence: true and found labels, "O", "B-x" or "I-x". */
void tn_slot_score_add(tn_slot_score *score, const char *const *expected, const char *const *found,
                       size_t words);
/* 2 precision recall / (precision + recall), 0 where nothing is right. */
double tn_slot_score_f1(const tn_slot_score *score);
double tn_slot_score_accuracy(const tn_slot_score *score);

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
tn_status tn_score_split(const tn_scoring *how, const tn_split *split, tn_scores *target,
                         tn_sameness answers[TN_HEADS_MOST], tn_error *error);

/* Fills evaluated, dev, test, exits, macs and steps of *result. With early exits dev is run at every exit first, and so
 * low an entropy of the answers is set for each that the wanted share leaves there; then dev and test leave by it. */
tn_status tn_infer_data(const tn_training *run, tn_trainer *trainer, tn_arena *arena,
                        tn_training_result *result, tn_error *error);

#endif
