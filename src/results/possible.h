/* Designs that may be on the front of a space whose accuracies are known with a deviation: those of the front by mean accuracies,
 * and others that lie behind it for an accuracy that may well be higher.
 *
 * Accuracies are drawn from their model (results/settled.h), one for all designs that learn alike; a design's probability is the
 * share of the draws in which no other of those looked at dominates it. Looked at are the front and its neighbours
 * (results/neighbours.h) of a doubt of at least tn_possible_least; where these are too many, those of the most doubt.
 */
#ifndef TN_RESULTS_POSSIBLE_H
#define TN_RESULTS_POSSIBLE_H

#include "base/memory.h"
#include "front/archive.h"
#include "space/space.h"

#include <stddef.h>
#include <stdint.h>

typedef struct tn_possible {
    uint64_t id;
    double probability; /* of being on the front */
    bool on_front; /* it is by mean accuracies; others have a probability of at least tn_possible_least */
    tn_evaluation evaluation;
} tn_possible;

extern const double tn_possible_least;

/* Each takes some tenths of a millisecond: of neighbours, and for each second that a search may take. */
enum { TN_POSSIBLE_NEIGHBOURS_MOST = 250000, TN_POSSIBLE_NEIGHBOURS_PER_SECOND = 2000 };

typedef struct tn_possible_list {
    size_t count;       /* 0: accuracy is no objective, or nothing is known of it, or the space is vast */
    tn_possible *item;  /* [count] by ascending id */
    double least_doubt; /* of those looked at: tn_possible_least, unless they are too many; 0: none were */
} tn_possible_list;

/* In the arena, from the front and its evaluations. most: of neighbours. threads 0: as many as there are. TN_INTERRUPTED by
 * interruptions. */
tn_status tn_possible_designs(const tn_space *space, const tn_point *front, const tn_evaluation *evaluation,
                              size_t front_count, size_t most, unsigned threads, tn_arena *arena,
                              tn_possible_list *possible, tn_error *error);

#endif
