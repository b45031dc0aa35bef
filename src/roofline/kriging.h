/* A smooth surface through scattered, noisy measurements: simple kriging with a Matern 3/2 covariance.
 *
 *     value(x) = mean + sum_i weight_i * c(|(x - x_i) * scale|),  c(d) = (1 + sqrt(3) d) exp(-sqrt(3) d)
 *
 * with weights (C + noise * diag(1/trust))^-1 (y - mean). Far from every measurement the value is the mean.
 * `trust` starts at 1 and falls for measurements that their neighbours contradict (Student's t with 3 degrees
 * of freedom), so an outlier does not bend its surroundings. The scales and the noise are those with the
 * least truncated mean absolute leave-one-out error, found by a compass search from fixed starts:
 * deterministic.
 *
 * Source: Rasmussen & Williams, Gaussian Processes for Machine Learning (2006), 2.2 and 5.4.2 (leave-one-out
 * residual = weight_i / (C^-1)_ii).
 */
#ifndef TN_ROOFLINE_KRIGING_H
#define TN_ROOFLINE_KRIGING_H

#include "base/arena.h"
#include "base/error.h"
#include "base/public.h"

#include <stddef.h>

TN_PUBLIC_BEGIN

/* Limits of a fit: its work grows with the cube of the points. */
enum { TN_KRIGING_MOST_POINTS = 4096, TN_KRIGING_MOST_DIMENSIONS = 16 };

typedef struct tn_kriging {
    size_t points, dimensions;
    double *x;      /* [points][dimensions] */
    double *weight; /* [points] */
    double *scale;  /* [dimensions]: inverse lengths */
    double mean, noise;
} tn_kriging;

/* At x[dimensions]. A surface of no points is 0. */
double tn_kriging_at(const tn_kriging *surface, const double *x);

/* Through values y[points] at x[points][dimensions]; the surface and copies of x live in `arena`. At least 8
 * points. */
tn_status tn_kriging_fit(const double *x, const double *y, size_t points, size_t dimensions, tn_arena *arena,
                         tn_kriging *surface, tn_error *error);

TN_PUBLIC_END

#endif
