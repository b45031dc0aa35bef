#include "train/slot_score.h"

#include <stdbool.h>
#include <string.h>

/* "B-x": tag 'B', type "x"; "O": tag 'O', type "". */
typedef struct label {
    char tag;
    const char *type;
} label;

static label part(const char *text) {
    return (label){text[0], text[0] == 'O' ? "" : text + 2};
}

static bool ends(label before, label now) {
    if (before.tag == 'O') return false;
    return now.tag == 'O' || now.tag == 'B' || strcmp(before.type, now.type) != 0;
}

static bool begins(label before, label now) {
    if (now.tag == 'O') return false;
    return now.tag == 'B' || before.tag == 'O' || strcmp(before.type, now.type) != 0;
}

void tn_slot_score_add(tn_slot_score *score, const char *const *expected, const char *const *found,
                       size_t words) {
    const label outside = {'O', ""};
    label before = outside, before_found = outside;
    bool right = false; /* inside a chunk that is right so far */
    for (size_t i = 0; i <= words; i++) {
        label now = i < words ? part(expected[i]) : outside, now_found = i < words ? part(found[i]) : outside;
        bool end = ends(before, now), end_found = ends(before_found, now_found);
        bool begin = begins(before, now), begin_found = begins(before_found, now_found);
        if (right && end && end_found) {
            score->right_chunks++;
            right = false;
        } else if (right && (end || end_found)) {
            right = false;
        }
        if (begin && begin_found && strcmp(now.type, now_found.type) == 0) right = true;
        score->chunks += begin;
        score->found_chunks += begin_found;
        if (i < words) {
            score->labels++;
            score->right_labels += strcmp(expected[i], found[i]) == 0;
        }
        before = now;
        before_found = now_found;
    }
}

double tn_slot_score_f1(const tn_slot_score *score) {
    size_t all = score->chunks + score->found_chunks;
    return all ? 2.0 * (double)score->right_chunks / (double)all : 0;
}

double tn_slot_score_accuracy(const tn_slot_score *score) {
    return score->labels ? (double)score->right_labels / (double)score->labels : 0;
}
