#include "roofline/kriging.h"

#include "base/blas.h"
#include "base/gsl.h"
#include "base/interrupt.h"
#include "base/memory.h"

#include <gsl/gsl_errno.h>
#include <gsl/gsl_linalg.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <string.h>

enum {
    LEAST_POINTS = 8,
    SWEEPS = 8,      /* of the compass search over all scales and the noise */
    TRUST_ROUNDS = 3 /* of reweighting within one evaluation */
};

static const double start_scale = 0.25, start_noise = 0.02, start_step = 0.8, least_step_share = 0.6;
static const double most_error_counted = 0.4; /* beyond it an error counts no more: robust */
static const double degrees_of_freedom = 3;

static double covariance(const double *a, const double *b, const double *scale, size_t dimensions) {
    double square = 0;
    for (size_t i = 0; i < dimensions; i++) {
        double difference = (a[i] - b[i]) * scale[i];
        square += difference * difference;
    }
    double d = sqrt(3 * square);
    return (1 + d) * exp(-d);
}

double tn_kriging_at(const tn_kriging *s, const double *x) {
    if (s->points == 0) return 0;
    double value = s->mean;
    for (size_t i = 0; i < s->points; i++)
        value += s->weight[i] * covariance(x, s->x + i * s->dimensions, s->scale, s->dimensions);
    return value;
}

/* Room for one evaluation after another. */
typedef struct {
    const double *x, *y;
    size_t points, dimensions;
    double mean;
    gsl_matrix *covariances, *inverse;
    double *trust, *weight, *residual, *sorted;
} work;

static void close_work(work *w) {
    gsl_matrix_free(w->covariances);
    gsl_matrix_free(w->inverse);
    tn_free(w->trust);
    tn_free(w->weight);
    tn_free(w->residual);
    tn_free(w->sorted);
}

static double median(double *sorted, const double *values, size_t count, bool absolute) {
    for (size_t i = 0; i < count; i++) sorted[i] = absolute ? fabs(values[i]) : values[i];
    return gsl_stats_median(sorted, 1, count);
}

static tn_status open_work(work *w, tn_error *error) {
    size_t n = w->points;
    double **const vectors[] = {&w->trust, &w->weight, &w->residual, &w->sorted};
    for (size_t i = 0; i < 4; i++) TN_TRY(tn_alloc(n, sizeof **vectors[i], vectors[i], error));
    w->covariances = gsl_matrix_alloc(n, n);
    w->inverse = gsl_matrix_alloc(n, n);
    if (!w->covariances || !w->inverse)
        return tn_fail(error, TN_MEMORY, "no memory for a surface of %zu points", n);
    w->mean = median(w->sorted, w->y, n, false);
    return TN_OK;
}

static void fill_covariances(work *w, const double *scale) {
    for (size_t i = 0; i < w->points; i++)
        for (size_t j = 0; j <= i; j++) {
            double value =
                covariance(w->x + i * w->dimensions, w->x + j * w->dimensions, scale, w->dimensions);
            gsl_matrix_set(w->covariances, i, j, value);
            gsl_matrix_set(w->covariances, j, i, value);
        }
}

/* Weights and leave-one-out residuals at the present trust. False where the matrix is numerically singular.
 */
static bool solve(work *w, double noise) {
    gsl_matrix_memcpy(w->inverse, w->covariances);
    for (size_t i = 0; i < w->points; i++) *gsl_matrix_ptr(w->inverse, i, i) += noise / w->trust[i];
    if (gsl_linalg_cholesky_decomp1(w->inverse) != GSL_SUCCESS) return false;
    if (gsl_linalg_cholesky_invert(w->inverse) != GSL_SUCCESS) return false;
    for (size_t i = 0; i < w->points; i++) {
        double sum = 0;
        const double *row = gsl_matrix_const_ptr(w->inverse, i, 0);
        for (size_t j = 0; j < w->points; j++) sum += row[j] * (w->y[j] - w->mean);
        w->weight[i] = sum;
        w->residual[i] = sum / row[i];
    }
    return true;
}

static void update_trust(work *w) {
    double spread = 1.4826 * median(w->sorted, w->residual, w->points, true) + 1e-9;
    for (size_t i = 0; i < w->points; i++) {
        double z = w->residual[i] / spread, trust = (degrees_of_freedom + 1) / (degrees_of_freedom + z * z);
        w->trust[i] = trust < 1 ? trust : 1;
    }
}

/* parameter[dimensions + 1]: logarithms of scales and noise. */
static double evaluate(work *w, const double *parameter) {
    double scale[TN_KRIGING_MOST_DIMENSIONS];
    for (size_t i = 0; i < w->dimensions; i++) scale[i] = exp(parameter[i]);
    fill_covariances(w, scale);
    for (size_t i = 0; i < w->points; i++) w->trust[i] = 1;
    for (int round = 0; round < TRUST_ROUNDS; round++) {
        if (!solve(w, exp(parameter[w->dimensions]))) return HUGE_VAL;
        if (round + 1 < TRUST_ROUNDS) update_trust(w);
    }
    double sum = 0;
    for (size_t i = 0; i < w->points; i++) sum += fmin(fabs(w->residual[i]), most_error_counted);
    return sum / (double)w->points;
}

/* Tries a step up and down; keeps what is better. */
static bool try_steps(work *w, double *parameter, size_t which, double step, double *best) {
    double old = parameter[which];
    for (int direction = 1; direction >= -1; direction -= 2) {
        parameter[which] = old + direction * step;
        double value = fabs(parameter[which]) < 7 ? evaluate(w, parameter) : HUGE_VAL;
        if (value < *best) {
            *best = value;
            return true;
        }
    }
    parameter[which] = old;
    return false;
}

static tn_status search(work *w, double *parameter, tn_error *error) {
    double step[TN_KRIGING_MOST_DIMENSIONS + 1];
    for (size_t i = 0; i <= w->dimensions; i++) {
        parameter[i] = log(i < w->dimensions ? start_scale : start_noise);
        step[i] = start_step;
    }
    double best = evaluate(w, parameter);
    for (int sweep = 0; sweep < SWEEPS; sweep++)
        for (size_t i = 0; i <= w->dimensions; i++) {
            if (tn_interrupted()) return tn_fail(error, TN_INTERRUPTED, "interrupted");
            if (!try_steps(w, parameter, i, step[i], &best)) step[i] *= least_step_share;
        }
    /* The evaluation last made may have been a rejected one. */
    if (evaluate(w, parameter) == HUGE_VAL)
        return tn_fail(error, TN_INPUT, "the measurements give no surface: too many fall on the same point");
    return TN_OK;
}

static tn_status keep(const work *w, const double *parameter, tn_arena *arena, tn_kriging *s,
                      tn_error *error) {
    tn_kriging made = {.points = w->points, .dimensions = w->dimensions, .mean = w->mean};
    TN_TRY(tn_arena_alloc(arena, made.points * made.dimensions, sizeof *made.x, &made.x, error));
    TN_TRY(tn_arena_alloc(arena, made.points, sizeof *made.weight, &made.weight, error));
    TN_TRY(tn_arena_alloc(arena, made.dimensions, sizeof *made.scale, &made.scale, error));
    memcpy(made.x, w->x, made.points * made.dimensions * sizeof *made.x);
    memcpy(made.weight, w->weight, made.points * sizeof *made.weight);
    for (size_t i = 0; i < made.dimensions; i++) made.scale[i] = exp(parameter[i]);
    made.noise = exp(parameter[made.dimensions]);
    *s = made;
    return TN_OK;
}

tn_status tn_kriging_fit(const double *x, const double *y, size_t points, size_t dimensions, tn_arena *arena,
                         tn_kriging *surface, tn_error *error) {
    if (points < LEAST_POINTS || points > TN_KRIGING_MOST_POINTS)
        return tn_fail(error, TN_LIMIT, "a surface through %zu measurements; it takes %d to %d", points,
                       LEAST_POINTS, TN_KRIGING_MOST_POINTS);
    if (dimensions == 0 || dimensions > TN_KRIGING_MOST_DIMENSIONS)
        return tn_fail(error, TN_LIMIT, "a surface over %zu dimensions; it takes 1 to %d", dimensions,
                       TN_KRIGING_MOST_DIMENSIONS);
    double parameter[TN_KRIGING_MOST_DIMENSIONS + 1];
    work w = {.x = x, .y = y, .points = points, .dimensions = dimensions};
    tn_gsl_quiet();
    tn_blas_serial();
    tn_status status = open_work(&w, error);
    if (status == TN_OK) status = search(&w, parameter, error);
    if (status == TN_OK) status = keep(&w, parameter, arena, surface, error);
    close_work(&w);
    tn_blas_restore();
    tn_gsl_restore();
    return status;
}
