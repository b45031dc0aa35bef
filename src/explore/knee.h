/* The knee of a front: the design whose objectives, each scaled to 0..1 between the front's least and
 * greatest value, lie nearest (Euclidean) to the ideal point; of equally near ones the lowest id. Quantities
 * that are positive over the whole front are scaled by their logarithm, since costs differ by factors, not by
 * amounts. */
#ifndef TN_EXPLORE_KNEE_H
#define TN_EXPLORE_KNEE_H

#include "explore/archive.h"

/* position of the knee among `count` >= 1 points. */
size_t tn_knee(const tn_point *point, size_t count, size_t objectives);

#endif
