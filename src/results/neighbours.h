/* Neighbours of a front: designs that differ from one of its designs in what is learned alone (results/learned.h), in a way that
 * the draws do not tell apart for sure.
 */
#ifndef TN_RESULTS_NEIGHBOURS_H
#define TN_RESULTS_NEIGHBOURS_H

#include "base/error.h"
#include "base/memory.h"
#include "front/archive.h"
#include "results/learned.h"

#include <stddef.h>
#include <stdint.h>

typedef struct tn_front_neighbours {
    size_t count;
    uint64_t *id;          /* [count]: by combination, then rising; none of the front */
    uint32_t *combination; /* [count] */
} tn_front_neighbours;

/* Two combinations are told apart where one is ahead in fewer than `least` of the draws. Of more neighbours than this program's
 * limit the rest are left out. front[count] by ascending id. In the arena. */
tn_status tn_front_neighbours_find(const tn_learned *learned, const tn_point *front, size_t count,
                                   double least, tn_arena *arena, tn_front_neighbours *neighbours,
                                   tn_error *error);

#endif
