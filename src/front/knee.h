/* The knee of a front: the design whose objectives, each scaled to 0..1 between the front's least and
 * greatest value, lie nearest (Euclidean) to the ideal point; of equally near ones the lowest id. Quantities
 * that are positive over the whole front are scaled by their logarithm, since costs differ by factors, not by
 * amounts. */
#ifndef TN_FRONT_KNEE_H
#define TN_FRONT_KNEE_H

#include "base/error.h"
#include "front/archive.h"

#include <stdbool.h>
#include <stdint.h>

/* The order of what is sorted by a value: ascending, and of equal values by their places (or ids), so that no answer
 * depends on how a sort treats equals. */

/* As a comparison for qsort: below 0, 0 or above 0. Neither value is NaN. */
static inline int tn_value_order(double a, uint64_t a_place, double b, uint64_t b_place) {
    if (a != b) return a < b ? -1 : 1;
    return (a_place > b_place) - (a_place < b_place);
}

/* A front thinned for people: a few of its points such that each of the others has a kept one that is hardly worse
 * in anything.
 *
 * A point p covers q if in every objective p is at most q plus epsilon |q| (values minimised; a maximised one is
 * negative, so p has at least 1 - epsilon of it). Points are taken in the order of the sum of their scaled
 * objectives (front/knee.h), so that the balanced ones, which cover most, come first; one that a kept point
 * covers is left out. What is kept depends on the set of points alone.
 * Source: epsilon-dominance of Laumanns, Thiele, Deb and Zitzler (Evolutionary Computation, 2002).
 */

/* kept[i] says whether point i of `count` stays; what is set on entry stays in any case. *left = how many are
 * kept. epsilon >= 0. */
tn_status tn_thin(const tn_point *point, size_t count, size_t objectives, double epsilon, bool *kept,
                  size_t *left, tn_error *error);

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
