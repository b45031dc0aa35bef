/* A staircase: places in order along one axis, each empty or a step with a height, heights falling along the axis. What lies
 * below it in both axes is found by the step before. Steps are the bits of words, and words that are not empty the bits of
 * words above them, so that the nearest step on either side is found in the logarithm (base 64) of the places: what a
 * balanced tree does, for places that are known beforehand. Internal to the room.
 *
 * Of three values sorted by one, the sweep in that order over the staircase of the other two finds which points none covers
 * (Kung, Luccio, Preparata, On finding the maxima of a set of vectors, Journal of the ACM 22(4), 1975) and the volume that
 * they dominate (Fonseca, Paquete, López-Ibáñez, An improved dimension-sweep algorithm for the hypervolume indicator, CEC
 * 2006), both in O(n log n). */
#ifndef TN_FRONT_STAIRCASE_H
#define TN_FRONT_STAIRCASE_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TN_STAIR_NONE SIZE_MAX

enum { TN_STAIR_LEVELS = 11 }; /* 64^11 > 2^64 */

typedef struct tn_staircase {
    size_t places, levels;
    double *height; /* [places] of the steps */
    uint64_t *word; /* of all levels, one behind the other */
    size_t first[TN_STAIR_LEVELS];
} tn_staircase;

/* No step at any of the places. */
tn_status tn_staircase_new(size_t places, tn_staircase *stairs, tn_error *error);
void tn_staircase_free(tn_staircase *stairs);
/* Empty again, of fewer places or as many. */
void tn_staircase_reset(tn_staircase *stairs, size_t places);

/* The last step up to the place, the first step from it on; TN_STAIR_NONE: there is none. */
size_t tn_stair_before(const tn_staircase *stairs, size_t place);
size_t tn_stair_from(const tn_staircase *stairs, size_t place);
void tn_stair_put(tn_staircase *stairs, size_t place, double height);
void tn_stair_drop(tn_staircase *stairs, size_t place);

#endif
