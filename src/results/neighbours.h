/* Neighbours of a front: designs that differ from one of its designs in what is learned alone (results/learned.h), in a way that
 * the draws do not tell apart for sure.
 */
#ifndef TN_RESULTS_NEIGHBOURS_H
#define TN_RESULTS_NEIGHBOURS_H

#include "base/error.h"
#include "base/memory.h"
#include "front/archive.h"
#include "results/learned.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tn_front_neighbours {
    size_t count;
    uint64_t *id;          /* [count]: by combination, then rising; none of the front */
    uint32_t *combination; /* [count] */
    bool is_cut;           /* there are more, of less doubt than is asked for here: */
    double least_doubt;
} tn_front_neighbours;

/* The doubt about two combinations is the share of the draws in which one is ahead, whichever is in fewer; a neighbour's is the
 * greatest that there is about it and a design of the front from which it differs in what is learned alone. Neighbours are those
 * of a doubt of at least `least`; where these are over `most`, of the least doubt beyond which they are not. front[count] by
 * ascending id. In the arena. */
tn_status tn_front_neighbours_find(const tn_learned *learned, const tn_point *front, size_t count,
                                   double least, size_t most, tn_arena *arena,
                                   tn_front_neighbours *neighbours, tn_error *error);

#endif
