/* A curve through measured points that never swings beyond two neighbours: Steffen's monotone cubic (GSL), a straight
 * line where there are but two points. Source: Steffen, "A simple method for monotonic interpolation in one
 * dimension", Astron. Astrophys. 239 (1990). */
#ifndef TN_BASE_MONOTONE_H
#define TN_BASE_MONOTONE_H

#include "base/error.h"

#include <stddef.h>

/* *value of the curve through the `count` points (x[i], y[i]), x strictly rising, at `point` within them. TN_INPUT for
 * fewer than 2 points or outside of them. */
tn_status tn_monotone_at(const double *x, const double *y, size_t count, double point, double *value,
                         tn_error *error);

#endif
