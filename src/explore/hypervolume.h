/* Hypervolume of a front: the share of the box between its ideal point (least value of each objective) and
 * its nadir (greatest value over the front) that the front dominates; 0 to 1. It is exact for one and two
 * objectives and for fronts of up to 1000, 300 and 100 points in three, four and five (explore/wfg.h); else the share of `samples` points of a Sobol sequence (GSL) that the front covers, whose error
 * shrinks nearly as 1/samples. An objective in which all points are equal is left out. An
 * interruption (base/interrupt.h) ends it after the next 65536 samples, with no share (NaN). */
#ifndef TN_EXPLORE_HYPERVOLUME_H
#define TN_EXPLORE_HYPERVOLUME_H

#include "base/public.h"
#include "explore/archive.h"

#include <stdbool.h>
#include <stdint.h>

TN_PUBLIC_BEGIN

typedef struct tn_hypervolume {
    double share;
    bool exact;
    uint64_t samples; /* 0 where exact */
} tn_hypervolume;

tn_status tn_hypervolume_of(tn_archive *front, uint64_t samples, tn_hypervolume *volume, tn_error *error);

TN_PUBLIC_END

#endif
