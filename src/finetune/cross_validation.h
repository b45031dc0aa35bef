/* Leave-one-out cross-validation of the throughput laws: each measurement predicted from all others. A group
 * of more than TN_CROSS_PARTS measurements is left out in that many parts, every TN_CROSS_PARTS-th
 * measurement together, so that the work grows no faster than that of a fit. */
#ifndef TN_FINETUNE_CROSS_VALIDATION_H
#define TN_FINETUNE_CROSS_VALIDATION_H

#include "base/error.h"
#include "base/public.h"
#include "finetune/fit.h"

TN_PUBLIC_BEGIN

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
