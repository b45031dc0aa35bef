#include "finetune/fit.h"

#include "base/memory.h"
#include "finetune/student.h"

#include <gsl/gsl_fit.h>
#include <math.h>

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
        double at = fit->step.parameter[i], gradient[TN_STEP_PARAMETERS] = {0};
        gradient[i] = 1;
        double half = tn_step_half_width(&fit->step, gradient);
        fit->coefficient[i] = (tn_finetune_interval){
            tn_step_coefficient(i, at), tn_step_coefficient(i, at - half), tn_step_coefficient(i, at + half)};
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
    return tn_fail_at(error, status, group->at, "%s, %s, %s: %s", group->gpu, group->model, group->dataset,
                      cause.message);
}

tn_finetune_interval tn_finetune_fitted(const tn_finetune_fit *fit, double batch, double sparsity) {
    if (fit->law == TN_FINETUNE_LOG) {
        double u = log(batch) / sparsity;
        double value = fit->coefficient[TN_LOG_C4].value +
                       fit->coefficient[TN_LOG_C2].value / fit->coefficient[TN_LOG_C3].value * u;
        return around(value, fit->offset_variance + 2 * u * fit->covariance + u * u * fit->slope_variance,
                      fit->degrees);
    }
    tn_finetune_point point = {.batch = batch, .sparsity = sparsity};
    double gradient[TN_STEP_PARAMETERS];
    double value = exp(tn_step_log_throughput(fit->step.parameter, &point, gradient));
    double factor = exp(tn_step_half_width(&fit->step, gradient));
    return (tn_finetune_interval){value, value / factor, value * factor};
}

double tn_finetune_saturation(const tn_finetune_fit *fit, double sparsity) {
    if (fit->law == TN_FINETUNE_LOG) return INFINITY;
    double h = fit->coefficient[TN_STEP_EXPERT_QUERY].value;
    return 1 / (fit->coefficient[TN_STEP_QUERY_S].value * (1 - h + h * sparsity));
}
