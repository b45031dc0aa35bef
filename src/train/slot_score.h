/* How well labels were found: the share of right labels, and F1 of whole chunks by the rules of conlleval (CoNLL-2000
 * shared task): a chunk begins at B, or at an I that follows O or another type, and ends before O, B or another type;
 * it is found if type, begin and end are right. */
#ifndef TN_TRAIN_SLOT_SCORE_H
#define TN_TRAIN_SLOT_SCORE_H

#include <stddef.h>

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

#endif
