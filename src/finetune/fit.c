#include "finetune/fit.h"

#include "base/interrupt.h"
#include "base/memory.h"
#include "finetune/law.h"

#include <gsl/gsl_fit.h>
#include <math.h>

/* ---- one group ---- */

static void measure(const tn_finetune_point *point, size_t count, tn_finetune_fit *fit) {
    double c[TN_FINETUNE_MOST_COEFFICIENTS], sum = 0, relative = 0;
    for (int i = 0; i < TN_FINETUNE_MOST_COEFFICIENTS; i++) c[i] = fit->coefficient[i].value;
    for (size_t i = 0; i < count; i++) {
        double measured = point[i].queries_per_s;
        double off = tn_finetune_throughput(fit->law, c, point[i].batch, point[i].sparsity) - measured;
        sum += off * off;
        relative += off / measured * (off / measured);
    }
    fit->rmse = sqrt(sum / (double)count);
    fit->relative_rmse = sqrt(relative / (double)count);
}

/* --- log law: y = C4 + (C2/C3) u, u = log(b)/s. */

static tn_finetune_interval around(double value, double variance, double degrees) {
    double half = degrees > 0 ? tn_student_half_width(variance, degrees) : NAN;
    return (tn_finetune_interval){value, value - half, value + half};
}

static tn_status fit_line(const tn_finetune_point *point, size_t count, double *u, double *y, double c3,
                          tn_finetune_fit *fit, tn_error *error) {
    bool spread = false;
    for (size_t i = 0; i < count; i++) {
        u[i] = log(point[i].batch) / point[i].sparsity;
        y[i] = point[i].queries_per_s;
        spread = spread || u[i] != u[0];
    }
    if (!spread)
        return tn_fail(
            error, TN_INPUT,
            "log(batch)/sparsity is the same for all %zu measurements; the log law needs two values", count);
    double slope, offset, squares;
    gsl_fit_linear(u, 1, y, 1, count, &offset, &slope, &fit->offset_variance, &fit->covariance,
                   &fit->slope_variance, &squares);
    bool given = c3 > 0;
    if (!given) c3 = 1;
    fit->degrees = (double)count - 2;
    fit->run_variance = squares / fit->degrees; /* without degrees nothing is said of intervals */
    fit->coefficient[TN_LOG_C2] = around(slope * c3, fit->slope_variance * c3 * c3, fit->degrees);
    fit->coefficient[TN_LOG_C3] = (tn_finetune_interval){c3, NAN, NAN};
    fit->coefficient[TN_LOG_C4] = around(offset, fit->offset_variance, fit->degrees);
    fit->determined[TN_LOG_C2] = fit->determined[TN_LOG_C4] = true;
    fit->determined[TN_LOG_C3] = given;
    return TN_OK;
}

static tn_status fit_log(const tn_finetune_point *point, size_t count, double c3, tn_finetune_fit *fit,
                         tn_error *error) {
    double *u = NULL, *y = NULL;
    tn_status status = TN_ALLOC(count, &u, error);
    if (status == TN_OK) status = TN_ALLOC(count, &y, error);
    if (status == TN_OK) status = fit_line(point, count, u, y, c3, fit, error);
    tn_free(u);
    tn_free(y);
    return status;
}

/* --- step law */

static tn_status fit_step(const tn_finetune_point *point, size_t count, tn_finetune_fit *fit,
                          tn_error *error) {
    TN_TRY(tn_step_fit(point, count, NULL, &fit->step, error));
    for (int i = 0; i < TN_STEP_COEFFICIENTS; i++) {
        double value = fit->step.parameter[i], gradient[TN_STEP_PARAMETERS] = {0};
        gradient[i] = 1;
        double half = tn_step_half_width(&fit->step, gradient);
        fit->coefficient[i] =
            (tn_finetune_interval){tn_step_coefficient(i, value), tn_step_coefficient(i, value - half),
                                   tn_step_coefficient(i, value + half)};
        fit->determined[i] = tn_step_determined(&fit->step, i);
    }
    return TN_OK;
}

tn_status tn_finetune_fit_points(const tn_finetune_point *point, size_t count, tn_finetune_law law, double c3,
                                 tn_finetune_fit *fit, tn_error *error) {
    TN_TRY(tn_finetune_need_two_batches(point, count, error));
    tn_finetune_fit made = {.law = law,
                            .points = count,
                            .one_sparsity = !tn_finetune_two_sparsities(point, count),
                            .sparsity = point[0].sparsity};
    if (law == TN_FINETUNE_LOG)
        TN_TRY(fit_log(point, count, c3, &made, error));
    else
        TN_TRY(fit_step(point, count, &made, error));
    measure(point, count, &made);
    *fit = made;
    return TN_OK;
}

tn_status tn_finetune_fit_group(const tn_finetune_group *group, tn_finetune_law law, double c3,
                                tn_finetune_fit *fit, tn_error *error) {
    tn_error cause = {0};
    tn_status status = tn_finetune_fit_points(group->point, group->count, law, c3, fit, &cause);
    if (status == TN_OK) return TN_OK;
    return tn_fail_at(error, status, group->position, "%s, %s, %s: %s", group->gpu, group->model,
                      group->dataset, cause.message);
}

tn_finetune_interval tn_finetune_fitted(const tn_finetune_fit *fit, double batch, double sparsity) {
    if (fit->law == TN_FINETUNE_LOG) {
        double u = log(batch) / sparsity;
        double value = fit->coefficient[TN_LOG_C4].value +
                       fit->coefficient[TN_LOG_C2].value / fit->coefficient[TN_LOG_C3].value * u;
        return around(value,
                      fit->offset_variance + 2 * u * fit->covariance + u * u * fit->slope_variance +
                          fit->run_variance,
                      fit->degrees);
    }
    tn_finetune_point point = {.batch = batch, .sparsity = sparsity};
    double gradient[TN_STEP_PARAMETERS];
    double value = exp(tn_step_log_throughput(fit->step.parameter, &point, gradient));
    double factor = exp(tn_step_run_half_width(&fit->step, value, gradient));
    return (tn_finetune_interval){value, value / factor, value * factor};
}

double tn_finetune_saturation(const tn_finetune_fit *fit, double sparsity) {
    if (fit->law == TN_FINETUNE_LOG) return INFINITY;
    double h = fit->coefficient[TN_STEP_EXPERT_QUERY].value;
    return 1 / (fit->coefficient[TN_STEP_QUERY_S].value * (1 - h + h * sparsity));
}

/* ---- leaving one out ---- */

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
