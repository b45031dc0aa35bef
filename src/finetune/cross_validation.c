#include "finetune/cross_validation.h"

#include "base/interrupt.h"
#include "base/memory.h"

#include <math.h>

typedef struct {
    size_t points;
    double square[TN_FINETUNE_LAWS], relative[TN_FINETUNE_LAWS];
} sums;

/* Both laws fitted to the points that are left in; TN_INPUT where one is not determined. */
typedef struct {
    tn_finetune_fit log;
    tn_step_estimate step;
} rest_fit;

static tn_status fit_rest(const tn_finetune_point *rest, size_t count, double c3, const tn_finetune_fit *step,
                          rest_fit *fit, tn_error *error) {
    TN_TRY(tn_finetune_fit_points(rest, count, TN_FINETUNE_LOG, c3, &fit->log, error));
    return tn_step_fit(rest, count, step ? &step->step : NULL, &fit->step, error);
}

static void add_point(const tn_finetune_point *left, const rest_fit *fit, sums *sum) {
    double measured = left->queries_per_s, predicted[TN_FINETUNE_LAWS];
    predicted[TN_FINETUNE_LOG] = tn_finetune_fitted(&fit->log, left->batch, left->sparsity).value;
    predicted[TN_FINETUNE_STEP] = exp(tn_step_log_throughput(fit->step.parameter, left, NULL));
    sum->points++;
    for (int law = 0; law < TN_FINETUNE_LAWS; law++) {
        double off = predicted[law] - measured;
        sum->square[law] += off * off;
        sum->relative[law] += off / measured * (off / measured);
    }
}

static tn_status leave_each(const tn_finetune_group *group, tn_finetune_point *rest, double c3,
                            const tn_finetune_fit *step, sums *sum, tn_error *error) {
    size_t parts = group->count < TN_CROSS_PARTS ? group->count : TN_CROSS_PARTS;
    for (size_t part = 0; part < parts; part++) {
        rest_fit fit;
        size_t kept = 0;
        if (tn_interrupted()) return tn_fail(error, TN_INTERRUPTED, "interrupted in cross-validation");
        for (size_t i = 0; i < group->count; i++)
            if (i % parts != part) rest[kept++] = group->point[i];
        tn_status status = fit_rest(rest, kept, c3, step, &fit, error);
        if (status == TN_INPUT) continue;
        TN_TRY(status);
        for (size_t i = part; i < group->count; i += parts) add_point(&group->point[i], &fit, sum);
    }
    return TN_OK;
}

tn_status tn_finetune_leave_one_out(const tn_finetune_group *group, double c3, const tn_finetune_fit *step,
                                    tn_finetune_cross *cross, tn_error *error) {
    tn_finetune_point *rest;
    TN_TRY(TN_ALLOC(group->count, &rest, error));
    sums sum = {0};
    tn_status status = leave_each(group, rest, c3, step, &sum, error);
    tn_free(rest);
    for (int law = 0; law < TN_FINETUNE_LAWS && status == TN_OK; law++) {
        double points = (double)sum.points;
        cross[law] = (tn_finetune_cross){.points = sum.points,
                                         .rmse = sqrt(sum.square[law] / points),
                                         .relative_rmse = sqrt(sum.relative[law] / points)};
    }
    return status;
}

tn_finetune_law tn_finetune_best(const tn_finetune_cross *cross) {
    return cross[TN_FINETUNE_LOG].rmse < cross[TN_FINETUNE_STEP].rmse ? TN_FINETUNE_LOG : TN_FINETUNE_STEP;
}

/* What `law` comes to; a law that the points do not determine is no failure. */
static tn_status try_law(const tn_finetune_group *group, tn_finetune_law law, double c3,
                         tn_finetune_study *study, tn_error *error) {
    tn_status status = tn_finetune_fit_group(group, law, c3, &study->fit[law], error);
    study->fitted[law] = status == TN_OK;
    return status == TN_INPUT ? TN_OK : status;
}

tn_status tn_finetune_study_group(const tn_finetune_group *group, double c3, tn_finetune_study *study,
                                  tn_error *error) {
    *study = (tn_finetune_study){0};
    TN_TRY(try_law(group, TN_FINETUNE_LOG, c3, study, error));
    TN_TRY(try_law(group, TN_FINETUNE_STEP, c3, study, error));
    bool both = study->fitted[TN_FINETUNE_LOG] && study->fitted[TN_FINETUNE_STEP];
    if (!study->fitted[TN_FINETUNE_LOG] && !study->fitted[TN_FINETUNE_STEP]) return TN_INPUT;
    for (int law = 0; law < TN_FINETUNE_LAWS; law++) study->cross[law] = (tn_finetune_cross){0, NAN, NAN};
    if (both)
        TN_TRY(tn_finetune_leave_one_out(group, c3, &study->fit[TN_FINETUNE_STEP], study->cross, error));
    study->best = both                             ? tn_finetune_best(study->cross)
                  : study->fitted[TN_FINETUNE_LOG] ? TN_FINETUNE_LOG
                                                   : TN_FINETUNE_STEP;
    return TN_OK;
}
