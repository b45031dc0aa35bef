/* A law fitted to one group of measured throughputs: its coefficients, how sure they are, how well it fits.
 *
 * The log law is a straight line in log(b)/s, fitted by least squares on queries per second as in arXiv
 * 2408.04693; the law of the step's time is fitted by finetune/law.h. Intervals of coefficients hold with 95 %; those of a
 * throughput hold what the next run measures. One that the data leave open is NAN. */
#ifndef TN_FINETUNE_FIT_H
#define TN_FINETUNE_FIT_H

#include "base/error.h"
#include "base/public.h"
#include "finetune/data.h"
#include "finetune/law.h"

#include <stdbool.h>
#include <stddef.h>

TN_PUBLIC_BEGIN

typedef struct tn_finetune_interval {
    double value, low, high;
} tn_finetune_interval;

typedef struct tn_finetune_fit {
    tn_finetune_law law;
    size_t points;
    tn_finetune_interval coefficient[TN_FINETUNE_MOST_COEFFICIENTS];
    /* Whether the data say what the coefficient is: tn_step_determined, or
     * it is not just a convention (C3 of the log law when not given). */
    bool determined[TN_FINETUNE_MOST_COEFFICIENTS];
    double rmse;          /* queries per second */
    double relative_rmse; /* root mean square of (fitted - measured) / measured */
    bool one_sparsity;    /* the data have one: how throughput depends on it is not determined */
    double sparsity;      /* then this one */
    /* What intervals of a throughput follow from. */
    tn_step_estimate step;                                                     /* step law */
    double slope_variance, covariance, offset_variance, run_variance, degrees; /* log law; degrees 0: none */
} tn_finetune_fit;

/* `c3` of the log law, 0 where it is not known: then 1 is taken, as only C2/C3 can be determined.
 * Points of one batch size, or none, are TN_INPUT. */
tn_status tn_finetune_fit_points(const tn_finetune_point *point, size_t count, tn_finetune_law law, double c3,
                                 tn_finetune_fit *fit, tn_error *error);
/* The same with the group's place and name in the error. */
tn_status tn_finetune_fit_group(const tn_finetune_group *group, tn_finetune_law law, double c3,
                                tn_finetune_fit *fit, tn_error *error);

/* Queries per second at this batch and sparsity, with the interval of a next run: the coefficients' uncertainty, the
 * noise of runs, and what steps miss the law's form by. */
tn_finetune_interval tn_finetune_fitted(const tn_finetune_fit *fit, double batch, double sparsity);

/* Queries per second that the step law approaches as the batch grows; INFINITY for the log law. */
double tn_finetune_saturation(const tn_finetune_fit *fit, double sparsity);

/* Leave-one-out cross-validation of the throughput laws: each measurement predicted from all others. A group
 * of more than TN_CROSS_PARTS measurements is left out in that many parts, every TN_CROSS_PARTS-th
 * measurement together, so that the work grows no faster than that of a fit. */

enum { TN_CROSS_PARTS = 100 };

typedef struct tn_finetune_cross {
    size_t points;        /* measurements that could be left out: the rest determines both laws */
    double rmse;          /* queries per second; NAN where there are no such measurements */
    double relative_rmse; /* of measured */
} tn_finetune_cross;

/* `cross` is one a law. The same points are left out for both, so that the figures compare. `step` is the law
 * fitted to all of them (NULL: none) shortens the search. */
tn_status tn_finetune_leave_one_out(const tn_finetune_group *group, double c3, const tn_finetune_fit *step,
                                    tn_finetune_cross *cross, tn_error *error);

/* Both laws on one group, side by side. */
typedef struct tn_finetune_study {
    bool fitted[TN_FINETUNE_LAWS]; /* false: the points do not determine this law */
    tn_finetune_fit fit[TN_FINETUNE_LAWS];
    tn_finetune_cross cross[TN_FINETUNE_LAWS]; /* no points where not both laws are fitted */
    tn_finetune_law best;
} tn_finetune_study;

/* Fits and cross-validates. TN_INPUT, with the group's place, where no law is determined. */
tn_status tn_finetune_study_group(const tn_finetune_group *group, double c3, tn_finetune_study *study,
                                  tn_error *error);

/* The law with the lower leave-one-out error; where there is none, the law of the step's time, which does not
 * grow without bound. */
tn_finetune_law tn_finetune_best(const tn_finetune_cross *cross);

TN_PUBLIC_END

#endif
