#include "finetune/law.h"

#include "base/guard.h"
#include "base/memory.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_errno.h>
#include <gsl/gsl_linalg.h>
#include <gsl/gsl_multifit_nlinear.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

/* ---- the laws ---- */

typedef struct {
    const char *name, *unit;
} label;

static const label log_label[] = {{"C2", "queries/s"}, {"C3", ""}, {"C4", "queries/s"}};
static const label step_label[] = {
    {"fixed_s", "s"},
    {"query_s", "s"},
    {"expert_share_of_fixed", ""},
    {"expert_share_of_query", ""},
    {"sharpness", ""},
    {"choices_per_query", ""},
    {"run_ahead_share", ""},
};

const char *tn_finetune_law_name(tn_finetune_law law) {
    return law == TN_FINETUNE_LOG ? "log" : "step";
}

int tn_finetune_coefficients(tn_finetune_law law) {
    return law == TN_FINETUNE_LOG ? TN_LOG_COEFFICIENTS : TN_STEP_COEFFICIENTS;
}

static const label *labels(tn_finetune_law law) {
    return law == TN_FINETUNE_LOG ? log_label : step_label;
}

const char *tn_finetune_coefficient_name(tn_finetune_law law, int coefficient) {
    return labels(law)[coefficient].name;
}

const char *tn_finetune_coefficient_unit(tn_finetune_law law, int coefficient) {
    return labels(law)[coefficient].unit;
}

/* log P(e^x, e^y), and its derivatives by x, y and p. */
typedef struct {
    double value, by_x, by_y, by_p;
} overlap;

static overlap log_overlap(double x, double y, double p) {
    double large = fmax(x, y), small = fmin(x, y);
    if (isinf(large)) return (overlap){.value = large};
    double tail = log1p(exp(p * (small - large)));
    overlap o = {.value = large + tail / p};
    o.by_x = exp(p * (x - large) - tail);
    o.by_y = exp(p * (y - large) - tail);
    o.by_p = (o.by_x * (x - large) + o.by_y * (y - large) - tail / p) / p;
    return o;
}

/* log v, and its derivative by m. */
static double log_touched(double batch, double sparsity, double choices, double *by_choices) {
    *by_choices = 0;
    if (sparsity == 1) return 0;
    double rate = batch * log1p(-sparsity), touched = -expm1(choices * rate);
    *by_choices = -rate * exp(choices * rate) / touched;
    return log(touched);
}

double tn_step_log_seconds(const double *c, double batch, double sparsity, double *derivative) {
    double g = c[TN_STEP_EXPERT_FIXED], h = c[TN_STEP_EXPERT_QUERY], p = c[TN_STEP_SHARPNESS],
           w = c[TN_STEP_AHEAD];
    double fixed = log(c[TN_STEP_FIXED_S]), query = log(c[TN_STEP_QUERY_S]) + log(batch), by_choices;
    double touched = log_touched(batch, sparsity, c[TN_STEP_CHOICES], &by_choices), v = exp(touched);
    double all_fixed = 1 - g + g * v, all_query = 1 - h + h * sparsity; /* shares of T and of b C */
    overlap rest = log_overlap(fixed + log1p(-g), query + log1p(-h), p);
    overlap experts = log_overlap(fixed + log(g) + touched, query + log(h) + log(sparsity), p);
    overlap all = log_overlap(fixed + log(all_fixed), query + log(all_query), p);
    double large = fmax(rest.value, experts.value);
    double r = exp(rest.value - large), e = exp(experts.value - large), a = exp(all.value - large);
    double sum = (1 - w) * (r + e) + w * a;
    if (derivative) {
        derivative[TN_STEP_AHEAD] = (a - r - e) / sum;
        r *= (1 - w) / sum;
        e *= (1 - w) / sum;
        a *= w / sum;
        double by_x = a * all.by_x / all_fixed, by_y = a * all.by_y / all_query;
        derivative[TN_STEP_FIXED_S] = (r * rest.by_x + e * experts.by_x + a * all.by_x) / c[TN_STEP_FIXED_S];
        derivative[TN_STEP_QUERY_S] = (r * rest.by_y + e * experts.by_y + a * all.by_y) / c[TN_STEP_QUERY_S];
        derivative[TN_STEP_EXPERT_FIXED] = e * experts.by_x / g - r * rest.by_x / (1 - g) - by_x * (1 - v);
        derivative[TN_STEP_EXPERT_QUERY] =
            e * experts.by_y / h - r * rest.by_y / (1 - h) - by_y * (1 - sparsity);
        derivative[TN_STEP_SHARPNESS] = r * rest.by_p + e * experts.by_p + a * all.by_p;
        derivative[TN_STEP_CHOICES] = (e * experts.by_x + by_x * g * v) * by_choices;
    }
    return large + log(sum);
}

double tn_finetune_throughput(tn_finetune_law law, const double *coefficient, double batch, double sparsity) {
    if (law == TN_FINETUNE_STEP) return batch * exp(-tn_step_log_seconds(coefficient, batch, sparsity, NULL));
    return coefficient[TN_LOG_C2] * log(batch) / (sparsity * coefficient[TN_LOG_C3]) + coefficient[TN_LOG_C4];
}

/* ---- fitting the law of the step ---- */

/* --- Priors. Normal in the parameters; mean and standard deviation.
 *
 * They are wide: the middle 95 % of a share go from 0.2 to 0.9, of w from 0.02 to 0.88, of p from 1.2 to 7, of m from 2 to 36. T and
 * C are about as large as the data's shortest step and least time per query, within a factor of 50 either
 * way. The means of g, h and m are rounded from the seven groups that arXiv 2408.04693 measured, those of a
 * and c from the four GPUs among them. */
static const double share_deviation = 0.75;
static const double sharpness_deviation = 0.9;
static const double ahead_mean = -1, ahead_deviation = 1.5;
static const double choices_mean = 8, choices_deviation = 0.75;
static const double scale_deviation = 2;
static const double bandwidth_exponent_mean = 0.3, peak_exponent_mean = 0.6, exponent_deviation = 0.25;

/* The noise: an inverse gamma prior worth `noise_weight` measurements that deviate by 2 %. */
static const double noise_mean = 0.02, noise_weight = 2;
static const double student_degrees = 4;

/* A coefficient within a factor of e^(2 x 0.5) is determined, provided that the data say so. */
static const double most_determined_deviation = 0.5;

/* Beyond this a parameter's exponential overflows in products. */
static const double most_parameter = 60;

static double logistic(double x) {
    return 1 / (1 + exp(-x));
}

double tn_step_coefficient(int coefficient, double parameter) {
    switch (coefficient) {
    case TN_STEP_EXPERT_FIXED:
    case TN_STEP_EXPERT_QUERY:
    case TN_STEP_AHEAD:
        return logistic(parameter);
    case TN_STEP_SHARPNESS:
        return 1 + exp(parameter);
    default:
        return exp(parameter);
    }
}

void tn_step_coefficients(const double parameter[TN_STEP_PARAMETERS],
                          double coefficient[TN_STEP_COEFFICIENTS]) {
    for (int i = 0; i < TN_STEP_COEFFICIENTS; i++) coefficient[i] = tn_step_coefficient(i, parameter[i]);
}

double tn_step_log_throughput(const double parameter[TN_STEP_PARAMETERS], const tn_finetune_point *point,
                              double gradient[TN_STEP_PARAMETERS]) {
    double c[TN_STEP_COEFFICIENTS], factor[TN_STEP_COEFFICIENTS];
    tn_step_coefficients(parameter, c);
    c[TN_STEP_FIXED_S] *= exp(-parameter[TN_STEP_BANDWIDTH_EXPONENT] * point->log_bandwidth);
    c[TN_STEP_QUERY_S] *= exp(-parameter[TN_STEP_PEAK_EXPONENT] * point->log_peak);
    double log_seconds = tn_step_log_seconds(c, point->batch, point->sparsity, gradient ? factor : NULL);
    if (gradient) {
        double g = c[TN_STEP_EXPERT_FIXED], h = c[TN_STEP_EXPERT_QUERY], w = c[TN_STEP_AHEAD];
        gradient[TN_STEP_FIXED_S] = -factor[TN_STEP_FIXED_S] * c[TN_STEP_FIXED_S];
        gradient[TN_STEP_QUERY_S] = -factor[TN_STEP_QUERY_S] * c[TN_STEP_QUERY_S];
        gradient[TN_STEP_EXPERT_FIXED] = -factor[TN_STEP_EXPERT_FIXED] * g * (1 - g);
        gradient[TN_STEP_EXPERT_QUERY] = -factor[TN_STEP_EXPERT_QUERY] * h * (1 - h);
        gradient[TN_STEP_SHARPNESS] = -factor[TN_STEP_SHARPNESS] * (c[TN_STEP_SHARPNESS] - 1);
        gradient[TN_STEP_CHOICES] = -factor[TN_STEP_CHOICES] * c[TN_STEP_CHOICES];
        gradient[TN_STEP_AHEAD] = -factor[TN_STEP_AHEAD] * w * (1 - w);
        gradient[TN_STEP_BANDWIDTH_EXPONENT] = -gradient[TN_STEP_FIXED_S] * point->log_bandwidth;
        gradient[TN_STEP_PEAK_EXPONENT] = -gradient[TN_STEP_QUERY_S] * point->log_peak;
    }
    return log(point->batch) - log_seconds;
}

/* --- The fit. Residuals: one a point, then one a parameter's prior. */

typedef struct {
    const tn_finetune_point *point;
    size_t count;
    double *scale;  /* [count] of a point's deviation, queries per second */
    double *weight; /* [count] of the Student distribution */
    double mean[TN_STEP_PARAMETERS], deviation[TN_STEP_PARAMETERS];
    double noise;
} problem;

static bool in_range(const gsl_vector *x) {
    for (size_t i = 0; i < TN_STEP_PARAMETERS; i++)
        if (!(fabs(gsl_vector_get(x, i)) < most_parameter)) return false;
    return true;
}

static int residuals(const gsl_vector *x, void *data, gsl_vector *f) {
    const problem *p = data;
    double parameter[TN_STEP_PARAMETERS];
    if (!in_range(x)) return GSL_EDOM;
    for (size_t i = 0; i < TN_STEP_PARAMETERS; i++) parameter[i] = gsl_vector_get(x, i);
    for (size_t i = 0; i < p->count; i++) {
        double fitted = exp(tn_step_log_throughput(parameter, &p->point[i], NULL));
        gsl_vector_set(f, i,
                       sqrt(p->weight[i]) * (fitted - p->point[i].queries_per_s) / (p->scale[i] * p->noise));
    }
    for (size_t i = 0; i < TN_STEP_PARAMETERS; i++)
        gsl_vector_set(f, p->count + i, (parameter[i] - p->mean[i]) / p->deviation[i]);
    return GSL_SUCCESS;
}

static int derivatives(const gsl_vector *x, void *data, gsl_matrix *jacobian) {
    const problem *p = data;
    double parameter[TN_STEP_PARAMETERS], gradient[TN_STEP_PARAMETERS];
    if (!in_range(x)) return GSL_EDOM;
    for (size_t i = 0; i < TN_STEP_PARAMETERS; i++) parameter[i] = gsl_vector_get(x, i);
    gsl_matrix_set_zero(jacobian);
    for (size_t i = 0; i < p->count; i++) {
        double fitted = exp(tn_step_log_throughput(parameter, &p->point[i], gradient));
        double factor = sqrt(p->weight[i]) * fitted / (p->scale[i] * p->noise);
        for (size_t j = 0; j < TN_STEP_PARAMETERS; j++) gsl_matrix_set(jacobian, i, j, factor * gradient[j]);
    }
    for (size_t i = 0; i < TN_STEP_PARAMETERS; i++)
        gsl_matrix_set(jacobian, p->count + i, i, 1 / p->deviation[i]);
    return GSL_SUCCESS;
}

/* What the data say of T and C before any fit, and the priors of the rest. */
static void set_priors(problem *p) {
    double shortest = INFINITY, least = INFINITY;
    for (size_t i = 0; i < p->count; i++) {
        const tn_finetune_point *point = &p->point[i];
        double seconds = point->batch / point->queries_per_s;
        shortest = fmin(shortest, seconds);
        least = fmin(least, seconds / point->batch / (1.0 / 3 + 2.0 / 3 * point->sparsity));
    }
    static const struct {
        int parameter;
        double mean, deviation;
    } known[] = {
        {TN_STEP_EXPERT_FIXED, 0, share_deviation},
        {TN_STEP_EXPERT_QUERY, 0.693147180559945, share_deviation},
        {TN_STEP_SHARPNESS, 0, sharpness_deviation},
        {TN_STEP_AHEAD, ahead_mean, ahead_deviation},
        {TN_STEP_BANDWIDTH_EXPONENT, bandwidth_exponent_mean, exponent_deviation},
        {TN_STEP_PEAK_EXPONENT, peak_exponent_mean, exponent_deviation},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        p->mean[known[i].parameter] = known[i].mean;
        p->deviation[known[i].parameter] = known[i].deviation;
    }
    p->mean[TN_STEP_CHOICES] = log(choices_mean);
    p->deviation[TN_STEP_CHOICES] = choices_deviation;
    p->mean[TN_STEP_FIXED_S] = log(shortest);
    p->mean[TN_STEP_QUERY_S] = log(least);
    p->deviation[TN_STEP_FIXED_S] = p->deviation[TN_STEP_QUERY_S] = scale_deviation;
}

/* Noise and weights that the present residuals call for; returns minus twice the logarithm of the posterior
 * density, up to a constant. */
static double reweight(problem *p, const gsl_vector *f) {
    double sum = 0, cost = 0;
    for (size_t i = 0; i < p->count; i++) {
        double residual = gsl_vector_get(f, i) * p->noise;
        sum += residual * residual;
    }
    double noise = sqrt((sum + noise_weight * noise_mean * noise_mean) / ((double)p->count + noise_weight));
    for (size_t i = 0; i < p->count; i++) {
        double z = gsl_vector_get(f, i) * p->noise / sqrt(p->weight[i]) / noise;
        cost += (student_degrees + 1) * log1p(z * z / student_degrees);
        p->weight[i] = (student_degrees + 1) / (student_degrees + z * z);
    }
    for (size_t i = 0; i < TN_STEP_PARAMETERS; i++) {
        double z = gsl_vector_get(f, p->count + i);
        cost += z * z;
    }
    p->noise = noise;
    return cost + 2 * ((double)p->count + noise_weight) * log(noise) +
           noise_weight * noise_mean * noise_mean / (noise * noise);
}

/* Climbs from x to a local best; *cost stays infinite where the start leads nowhere. */
static void climb(problem *p, gsl_multifit_nlinear_fdf *fdf, gsl_multifit_nlinear_workspace *work,
                  gsl_vector *x, double *cost) {
    *cost = INFINITY;
    p->noise = 2 * noise_mean;
    for (size_t i = 0; i < p->count; i++) p->weight[i] = 1;
    for (int round = 0; round < 60; round++) {
        int info;
        if (gsl_multifit_nlinear_init(x, fdf, work) != GSL_SUCCESS) return;
        gsl_multifit_nlinear_driver(round == 0 ? 60 : 10, 1e-9, 1e-9, 0, NULL, NULL, &info, work);
        gsl_vector_memcpy(x, gsl_multifit_nlinear_position(work));
        double now = reweight(p, gsl_multifit_nlinear_residual(work));
        if (!isfinite(now)) return;
        bool settled = fabs(now - *cost) < 1e-7;
        *cost = now;
        if (settled) return;
    }
}

/* The starts: fixed time and time per query near what the data's extremes say, three sharpnesses. */
enum { STARTS = 9 };
static void set_start(const problem *p, int start, gsl_vector *x) {
    static const double fixed[] = {1, 0.6, 1}, query[] = {0.9, 0.6, 0.3}, sharpness[] = {2.5, 1.2, 6};
    for (size_t i = 0; i < TN_STEP_PARAMETERS; i++) gsl_vector_set(x, i, p->mean[i]);
    gsl_vector_set(x, TN_STEP_FIXED_S, p->mean[TN_STEP_FIXED_S] + log(fixed[start % 3]));
    gsl_vector_set(x, TN_STEP_QUERY_S, p->mean[TN_STEP_QUERY_S] + log(query[start % 3]));
    gsl_vector_set(x, TN_STEP_SHARPNESS, log(sharpness[start / 3] - 1));
}

static tn_status search(problem *p, const tn_step_estimate *start, tn_step_estimate *best, tn_error *error) {
    size_t rows = p->count + TN_STEP_PARAMETERS;
    gsl_multifit_nlinear_parameters options = gsl_multifit_nlinear_default_parameters();
    gsl_multifit_nlinear_fdf fdf = {
        .f = residuals, .df = derivatives, .n = rows, .p = TN_STEP_PARAMETERS, .params = p};
    gsl_multifit_nlinear_workspace *work =
        gsl_multifit_nlinear_alloc(gsl_multifit_nlinear_trust, &options, rows, TN_STEP_PARAMETERS);
    if (!work) return tn_fail(error, TN_MEMORY, "no memory to fit %zu points", p->count);
    double values[TN_STEP_PARAMETERS], cost, least = INFINITY;
    gsl_vector_view x = gsl_vector_view_array(values, TN_STEP_PARAMETERS);
    for (int i = 0; i < (start ? 2 : STARTS); i++) {
        if (start && i == 0)
            memcpy(values, start->parameter, sizeof values);
        else
            set_start(p, i, &x.vector);
        climb(p, &fdf, work, &x.vector, &cost);
        /* A later start must be better by more than rounding, so that no platform chooses another. */
        if (!(cost < least - 1e-6)) continue;
        least = cost;
        best->noise = p->noise;
        memcpy(best->parameter, values, sizeof values);
    }
    gsl_multifit_nlinear_free(work);
    if (!isfinite(least))
        return tn_fail(error, TN_INPUT, "the step law finds no fit to these %zu points", p->count);
    return TN_OK;
}

/* The inverse of the expected information: of the Student distribution, and of the priors. */
static tn_status invert_information(const problem *p, tn_step_estimate *e, tn_error *error) {
    double gradient[TN_STEP_PARAMETERS];
    double information = (student_degrees + 1) / (student_degrees + 3) / (e->noise * e->noise);
    gsl_matrix_view m = gsl_matrix_view_array(e->covariance[0], TN_STEP_PARAMETERS, TN_STEP_PARAMETERS);
    gsl_matrix_set_zero(&m.matrix);
    for (size_t i = 0; i < p->count; i++) {
        double fitted = exp(tn_step_log_throughput(e->parameter, &p->point[i], gradient));
        double factor = information * (fitted / p->scale[i]) * (fitted / p->scale[i]);
        for (size_t j = 0; j < TN_STEP_PARAMETERS; j++)
            for (size_t k = 0; k < TN_STEP_PARAMETERS; k++)
                e->covariance[j][k] += factor * gradient[j] * gradient[k];
    }
    for (size_t i = 0; i < TN_STEP_PARAMETERS; i++)
        e->covariance[i][i] += 1 / (p->deviation[i] * p->deviation[i]);
    if (gsl_linalg_cholesky_decomp1(&m.matrix) != GSL_SUCCESS ||
        gsl_linalg_cholesky_invert(&m.matrix) != GSL_SUCCESS)
        return tn_fail(error, TN_INPUT, "the step law's coefficients have no finite uncertainty here");
    e->effective = 0;
    for (size_t i = 0; i < TN_STEP_PARAMETERS; i++) {
        e->prior_deviation[i] = p->deviation[i];
        e->effective += 1 - e->covariance[i][i] / (p->deviation[i] * p->deviation[i]);
    }
    e->degrees = fmax(1, (double)p->count + noise_weight - e->effective);
    return TN_OK;
}

/* The fit's residuals are smaller than the noise, as the coefficients followed it: the noise is corrected for
 * the degrees of freedom that they took, which depend on it in turn. */
static tn_status set_covariance(const problem *p, tn_step_estimate *e, tn_error *error) {
    double found = e->noise;
    for (int round = 0; round < 4; round++) {
        TN_TRY(invert_information(p, e, error));
        e->noise = found * sqrt(((double)p->count + noise_weight) / e->degrees);
    }
    return TN_OK;
}

static tn_status fit(problem *p, const tn_step_estimate *start, tn_step_estimate *estimate, tn_error *error) {
    double mean = 0;
    for (size_t i = 0; i < p->count; i++) mean += p->point[i].queries_per_s / (double)p->count;
    for (size_t i = 0; i < p->count; i++) p->scale[i] = sqrt(p->point[i].queries_per_s * mean);
    set_priors(p);
    tn_step_estimate best = {.mean = mean};
    TN_TRY(search(p, start, &best, error));
    TN_TRY(set_covariance(p, &best, error));
    *estimate = best;
    return TN_OK;
}

tn_status tn_step_fit(const tn_finetune_point *point, size_t count, const tn_step_estimate *start,
                      tn_step_estimate *estimate, tn_error *error) {
    TN_TRY(tn_finetune_need_two_batches(point, count, error));
    problem p = {.point = point, .count = count};
    tn_gsl_quiet();
    tn_status status = TN_ALLOC(count, &p.scale, error);
    if (status == TN_OK) status = TN_ALLOC(count, &p.weight, error);
    if (status == TN_OK) status = fit(&p, start, estimate, error);
    tn_gsl_restore();
    tn_free(p.scale);
    tn_free(p.weight);
    return status;
}

bool tn_step_determined(const tn_step_estimate *estimate, int parameter) {
    double deviation = sqrt(estimate->covariance[parameter][parameter]);
    return deviation <= fmin(estimate->prior_deviation[parameter] / 2, most_determined_deviation);
}

double tn_step_half_width(const tn_step_estimate *estimate, const double gradient[TN_STEP_PARAMETERS]) {
    double variance = 0;
    for (size_t i = 0; i < TN_STEP_PARAMETERS; i++)
        for (size_t j = 0; j < TN_STEP_PARAMETERS; j++)
            variance += gradient[i] * estimate->covariance[i][j] * gradient[j];
    return tn_student_half_width(variance, estimate->degrees);
}

/* ---- intervals ---- */

double tn_step_run_half_width(const tn_step_estimate *estimate, double queries_per_s,
                              const double gradient[TN_STEP_PARAMETERS]) {
    double noise = estimate->noise * sqrt(estimate->mean / queries_per_s);
    double run = tn_student_half_width(noise * noise, student_degrees);
    return hypot(hypot(tn_step_half_width(estimate, gradient), run), 1.96 * TN_STEP_MISFIT);
}

double tn_student_half_width(double variance, double degrees) {
    tn_gsl_quiet();
    double quantile = gsl_cdf_tdist_Pinv(0.975, degrees);
    tn_gsl_restore();
    return quantile * sqrt(fmax(variance, 0));
}
