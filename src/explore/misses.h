/* The designs of a space that come nearest to being feasible, where none is: for each cause of rejection the one
 * that exceeds what is allowed by the least factor. */
#ifndef TN_EXPLORE_MISSES_H
#define TN_EXPLORE_MISSES_H

#include "base/arena.h"
#include "explore/evaluator.h"

typedef struct tn_miss {
    uint64_t id;
    uint32_t cause;
    double factor; /* need over what is allowed, above 1; of a constraint, the value's distance by factor */
} tn_miss;

typedef struct tn_misses {
    uint64_t evaluated; /* all designs, or an even sample over the model's choices */
    size_t count;
    tn_miss miss[TN_CAUSES]; /* nearest first */
} tn_misses;

/* Evaluates about `most` designs at most, on this thread. An interruption ends the search with what it has. */
tn_status tn_misses_find(const tn_space *space, uint64_t most, tn_misses *misses, tn_error *error);

#endif
