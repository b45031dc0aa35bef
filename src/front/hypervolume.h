/* Hypervolume of a front: the share of the box between its ideal point (least value of each objective) and
 * its nadir (greatest value over the front) that the front dominates; 0 to 1. It is exact for one and two
 * objectives and for fronts of up to 1000, 300 and 100 points in three, four and five (front/hypervolume.h); else the share of `samples` points of a Sobol sequence (GSL) that the front covers, whose error
 * shrinks nearly as 1/samples. An objective in which all points are equal is left out. An
 * interruption (base/interrupt.h) ends it after the next 65536 samples, with no share (NaN). */
#ifndef TN_FRONT_HYPERVOLUME_H
#define TN_FRONT_HYPERVOLUME_H

#include "base/error.h"
#include "base/public.h"
#include "front/archive.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The exact hypervolume of a front in the unit cube: the algorithm of L. While, L. Bradstreet, L. Barone, A fast way of
 * calculating exact hypervolumes, IEEE Transactions on Evolutionary Computation 16(1), 2012 (WFG), with points taken
 * from the worst in the last objective on, so that each exclusive part has one objective less, down to three, which are swept
 * over (front/staircase.h) in O(n log n). Beyond, time grows with the number of points to the power of the number of axes
 * less two, in the worst case. */

enum { TN_WFG_AXES_MOST = 8 };

/* *volume = what is dominated of the cube below 1 by the points, point[count][axes], values to minimise; values of 1 and
 * more dominate nothing. Axes 1 to TN_WFG_AXES_MOST. */
tn_status tn_wfg_volume(const double *point, size_t count, size_t axes, double *volume, tn_error *error);

TN_PUBLIC_BEGIN

typedef struct tn_hypervolume {
    double share;
    bool exact;
    uint64_t samples; /* 0 where exact */
} tn_hypervolume;

tn_status tn_hypervolume_of(tn_archive *front, uint64_t samples, tn_hypervolume *volume, tn_error *error);

TN_PUBLIC_END

#endif
