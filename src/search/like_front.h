/* The front of bounds of one build, by merging blocks of like units (search/unit_blocks.h).
 *
 * Sets are merged one after the other, a set species by species: front[n] holds the sums of all earlier sets with blocks that take
 * n_t units of each type t. A block of a species is added to the fronts of before that species, so a design has one of each.
 *
 * Rounding (front/sums.h): what is sure to be added to front[n] follows from n alone, so its boxes stay while species come, and a
 * point that is not added to may be covered again and again within one factor of 1 + w: being in a box that is at most
 * another's is transitive. A design's sum is added to once for each of its blocks, of which it has no more than units. So all
 * prunings together lose no more than (1 + w)^units. */
#ifndef TN_SEARCH_LIKE_FRONT_H
#define TN_SEARCH_LIKE_FRONT_H

#include "search/like_units.h"

typedef struct tn_like_front {
    tn_sums sums;      /* of all units; `left` counts: */
    uint32_t **option; /* [units][sums.count] */
} tn_like_front;

/* start[dimensions]: what no unit adds. boxes: but for shifts; sure[dimensions]: what else is sure to be added to a rounded one.
 * Free with tn_like_front_free, also after an error. */
tn_status tn_like_front_find(const tn_like_units *likes, const double *start, const tn_boxes *boxes,
                             const double *sure, size_t most, double deadline, tn_like_front *front,
                             tn_error *error);
void tn_like_front_free(tn_like_front *front, uint32_t units);

#endif
