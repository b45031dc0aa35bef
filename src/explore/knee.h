/* The knee of a front: the design whose objectives, each scaled to 0..1 between the front's least and
 * greatest value, lie nearest (Euclidean) to the ideal point; of equally near ones the lowest id. Quantities
 * that are positive over the whole front are scaled by their logarithm, since costs differ by factors, not by
 * amounts. */
#ifndef TN_EXPLORE_KNEE_H
#define TN_EXPLORE_KNEE_H

#include "explore/archive.h"

/* How an objective is scaled: 0 at `least`, the best of the front, 1 at `most`, the worst. */
typedef struct tn_scale {
    double least, most;
    double sign; /* +1 or -1: by logarithms of sign * value; 0: without */
} tn_scale;

/* Of each objective of `count` >= 1 points. */
void tn_scales(const tn_point *point, size_t count, size_t objectives, tn_scale *scale);
/* 0 where all points have the same value. */
double tn_scaled(tn_scale scale, double value);
/* From the ideal point. */
double tn_knee_distance(const tn_point *point, size_t objectives, const tn_scale *scale);

/* position of the knee among `count` >= 1 points. */
size_t tn_knee(const tn_point *point, size_t count, size_t objectives);

#endif
