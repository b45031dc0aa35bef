#include "roofline/fit.h"

#include "base/c_locale.h"
#include "base/guard.h"
#include "base/interrupt.h"
#include "base/random.h"
#include "device/device_data.h"
#include "text/number.h"

#include <gsl/gsl_errno.h>
#include <gsl/gsl_multifit_nlinear.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_ROWS = 16, COEFFICIENTS = 7, ITERATIONS = 60 };

static const double huber = 0.1; /* relative error from which a row counts linearly */
static const double pull = 0.05; /* of a coefficient's logarithm towards its start */
static const double start_spread = 0.5;

/* Tile edge and least depth of a split reduction: what libraries use. */
static const uint64_t tilings[][2] = {
    {32, 64}, {32, 256}, {64, 64}, {64, 256}, {64, 1024}, {128, 256}, {128, 1024},
};
enum { TILINGS = sizeof tilings / sizeof *tilings };

typedef struct {
    size_t offset;
    double start, least, most;
} coefficient;

#define TIME(name, start_us)                                                                                 \
    { offsetof(tn_roofline_law, name), start_us, 0, TN_ROOFLINE_MOST_US }
#define FACTOR(name, start)                                                                                  \
    { offsetof(tn_roofline_law, name), start, TN_ROOFLINE_LEAST_FACTOR, TN_ROOFLINE_MOST_FACTOR }

static const coefficient graph_coefficients[] = {
    TIME(launch_us, 2.7),
    TIME(pipeline_us, 0.37),
    FACTOR(compute_efficiency, 0.6),
    FACTOR(misaligned_compute, 1.2),
    FACTOR(cache_gain, 0.6),
    FACTOR(vector_launch, 0.74),
    FACTOR(misaligned_launch, 1.1),
};
static const coefficient eager_coefficients[] = {
    TIME(host_us, 10),
    FACTOR(misaligned_host, 1),
    TIME(gap_us, 2),
};

/* One search: rows of one precision and time, and which coefficients of the law are sought. */
typedef struct {
    const tn_roofline *roofline;
    const tn_roofline_precision *precision;
    const tn_roofline_law *graph; /* under an eager law */
    size_t rows;
    tn_roofline_product *product;
    double *log_us;
    const coefficient *sought;
    size_t sought_count;
    tn_roofline_law law;
} search;

static double *value_of(tn_roofline_law *law, const coefficient *c) {
    return (double *)((char *)law + c->offset);
}

static double left_over(const search *s, const tn_roofline_law *law, size_t row) {
    return s->log_us[row] -
           log(tn_roofline_law_us(s->roofline, s->precision, law, s->graph, &s->product[row]));
}

/* Residual whose square is the pseudo-Huber loss of `r`. */
static double robust(double r) {
    double scaled = r / huber;
    return copysign(huber * sqrt(2 * (sqrt(1 + scaled * scaled) - 1)), r);
}

static int residuals(const gsl_vector *x, void *user, gsl_vector *f) {
    const search *s = user;
    tn_roofline_law law = s->law;
    for (size_t i = 0; i < s->sought_count; i++) {
        double away = gsl_vector_get(x, i) - log(s->sought[i].start);
        *value_of(&law, &s->sought[i]) = exp(gsl_vector_get(x, i));
        gsl_vector_set(f, s->rows + i, pull * away);
    }
    for (size_t row = 0; row < s->rows; row++) gsl_vector_set(f, row, robust(left_over(s, &law, row)));
    return GSL_SUCCESS;
}

/* From x; leaves the found logarithms there and returns the loss, HUGE_VAL where the solver failed. */
static double descend(search *s, gsl_multifit_nlinear_workspace *solver, gsl_vector *x) {
    gsl_multifit_nlinear_fdf problem = {
        .f = residuals, .n = s->rows + s->sought_count, .p = s->sought_count, .params = s};
    int info;
    if (gsl_multifit_nlinear_init(x, &problem, solver) != GSL_SUCCESS) return HUGE_VAL;
    int status = gsl_multifit_nlinear_driver(ITERATIONS, 1e-8, 1e-8, 1e-8, NULL, NULL, &info, solver);
    if (status != GSL_SUCCESS && status != GSL_EMAXITER && status != GSL_ENOPROG) return HUGE_VAL;
    gsl_vector_memcpy(x, gsl_multifit_nlinear_position(solver));
    double norm = 0;
    const gsl_vector *f = gsl_multifit_nlinear_residual(solver);
    for (size_t i = 0; i < f->size; i++) norm += gsl_vector_get(f, i) * gsl_vector_get(f, i);
    return isfinite(norm) ? norm : HUGE_VAL;
}

/* The best of several starts; keeps the law where it beats *best. */
static void seek(search *s, gsl_multifit_nlinear_workspace *solver, gsl_vector *x, uint64_t starts,
                 tn_random *random, tn_roofline_law *best_law, double *best) {
    for (uint64_t start = 0; start < starts; start++) {
        for (size_t i = 0; i < s->sought_count; i++) {
            double away = start ? start_spread * tn_random_normal(random) : 0;
            gsl_vector_set(x, i, log(s->sought[i].start) + away);
        }
        double loss = descend(s, solver, x);
        if (loss >= *best) continue;
        *best = loss;
        *best_law = s->law;
        for (size_t i = 0; i < s->sought_count; i++)
            *value_of(best_law, &s->sought[i]) = exp(gsl_vector_get(x, i));
    }
}

static double rounded(double value) {
    char text[40];
    double short_one;
    tn_snprintf(text, sizeof text, "%.6g", value);
    return tn_read_real(text, &short_one) == TN_NUMBER_OK ? short_one : value;
}

static void round_law(tn_roofline_law *law) {
    for (size_t i = 0; i < COEFFICIENTS; i++) {
        double *value = value_of(law, &graph_coefficients[i]);
        *value = rounded(*value);
    }
    law->host_us = rounded(law->host_us);
    law->misaligned_host = rounded(law->misaligned_host);
    law->gap_us = rounded(law->gap_us);
}

static bool in_range(const search *s, tn_roofline_law *law) {
    for (size_t i = 0; i < s->sought_count; i++) {
        double value = *value_of(law, &s->sought[i]);
        if (!(value >= s->sought[i].least && value <= s->sought[i].most)) return false;
    }
    return true;
}

static tn_status find_coefficients(search *s, const tn_roofline_fit_options *options, tn_error *error) {
    const gsl_multifit_nlinear_parameters parameters = gsl_multifit_nlinear_default_parameters();
    gsl_multifit_nlinear_workspace *solver = gsl_multifit_nlinear_alloc(
        gsl_multifit_nlinear_trust, &parameters, s->rows + s->sought_count, s->sought_count);
    gsl_vector *x = gsl_vector_alloc(s->sought_count);
    tn_random *random;
    tn_status status = tn_random_open(options->seed, &random, error);
    double best = HUGE_VAL;
    tn_roofline_law law = s->law;
    if (solver && x && random) {
        size_t choices = s->graph ? 1 : TILINGS; /* an eager law adds nothing to its graph law's tiles */
        for (size_t i = 0; i < choices && !tn_interrupted(); i++) {
            s->law.tile = tilings[i][0];
            s->law.split_depth = tilings[i][1];
            seek(s, solver, x, options->starts, random, &law, &best);
        }
        if (tn_interrupted())
            status = tn_fail(error, TN_INTERRUPTED, "interrupted");
        else if (best == HUGE_VAL || !in_range(s, &law))
            status = tn_fail(error, TN_INPUT, "no law fits the %s times of %s; are they microseconds?",
                             tn_roofline_time_names[s->law.time], s->precision->name);
    } else {
        status = tn_fail(error, TN_MEMORY, "no memory for a fit over %zu rows", s->rows);
    }
    gsl_multifit_nlinear_free(solver);
    gsl_vector_free(x);
    tn_random_close(random);
    if (status != TN_OK) return status;
    if (s->graph) law.tile = s->graph->tile, law.split_depth = s->graph->split_depth;
    round_law(&law);
    s->law = law;
    return TN_OK;
}

static tn_status keep_surface(const search *s, const tn_kriging *surface, tn_arena *arena,
                              tn_roofline_surface *lists, tn_error *error) {
    size_t n = s->rows;
    lists->m.count = lists->n.count = lists->k.count = lists->weight.count = n;
    lists->scale.count = surface->dimensions;
    TN_TRY(tn_arena_alloc(arena, n, sizeof(uint64_t), &lists->m.item, error));
    TN_TRY(tn_arena_alloc(arena, n, sizeof(uint64_t), &lists->n.item, error));
    TN_TRY(tn_arena_alloc(arena, n, sizeof(uint64_t), &lists->k.item, error));
    TN_TRY(tn_arena_alloc(arena, n, sizeof(double), &lists->weight.item, error));
    TN_TRY(tn_arena_alloc(arena, surface->dimensions, sizeof(double), &lists->scale.item, error));
    for (size_t i = 0; i < n; i++) {
        lists->m.item[i] = s->product[i].m;
        lists->n.item[i] = s->product[i].n;
        lists->k.item[i] = s->product[i].k;
        lists->weight.item[i] = rounded(surface->weight[i]);
    }
    for (size_t i = 0; i < surface->dimensions; i++) lists->scale.item[i] = rounded(surface->scale[i]);
    lists->mean = rounded(surface->mean);
    lists->noise = rounded(surface->noise);
    return tn_roofline_surface_make(lists, (tn_position){0}, arena, error);
}

static tn_status find_surface(search *s, tn_arena *arena, tn_error *error) {
    double *x, *y;
    tn_kriging surface;
    TN_TRY(TN_NEW(arena, s->rows * TN_ROOFLINE_FEATURES, &x, error));
    TN_TRY(TN_NEW(arena, s->rows, &y, error));
    for (size_t row = 0; row < s->rows; row++) {
        tn_roofline_features(&s->product[row], x + row * TN_ROOFLINE_FEATURES);
        y[row] = left_over(s, &s->law, row);
    }
    TN_TRY(tn_kriging_fit(x, y, s->rows, TN_ROOFLINE_FEATURES, arena, &surface, error));
    return keep_surface(s, &surface, arena, &s->law.surface, error);
}

/* The rows of one precision and time that are not skipped; none measured is no error. */
static tn_status collect(search *s, const tn_roofline_measurements *data, const bool *skip,
                         tn_roofline_time time, tn_arena *arena, tn_error *error) {
    size_t measured = 0;
    TN_TRY(TN_NEW(arena, data->count, &s->product, error));
    TN_TRY(TN_NEW(arena, data->count, &s->log_us, error));
    for (size_t i = 0; i < data->count; i++) {
        const tn_roofline_measurement *row = &data->row[i];
        if (row->precision != s->precision || row->us[time] == 0) continue;
        measured++;
        if (skip && skip[i]) continue;
        s->product[s->rows] = row->product;
        s->log_us[s->rows++] = log(row->us[time]);
    }
    if (measured > 0 && s->rows < LEAST_ROWS)
        return tn_fail(error, TN_INPUT, "%s: %zu rows with %s times of %s; a law needs at least %d",
                       data->file, s->rows, tn_roofline_time_names[time], s->precision->name, LEAST_ROWS);
    return TN_OK;
}

/* Fits one law into *fitted, in place of the one it had. */
static tn_status fit_law(const tn_roofline_measurements *data, const bool *skip, tn_roofline_time time,
                         const tn_roofline_precision *precision, const tn_roofline_fit_options *options,
                         tn_arena *arena, tn_roofline *fitted, tn_error *error) {
    search s = {.roofline = fitted, .precision = precision};
    TN_TRY(collect(&s, data, skip, time, arena, error));
    if (s.rows == 0) return TN_OK;
    s.law = (tn_roofline_law){.precision = precision->name,
                              .time = (uint32_t)time,
                              .origin = TN_MEASURED,
                              .vector_launch = 1,
                              .misaligned_launch = 1,
                              .misaligned_host = 1,
                              .compute_efficiency = 1,
                              .misaligned_compute = 1,
                              .cache_gain = 1};
    s.sought = graph_coefficients;
    s.sought_count = COEFFICIENTS;
    if (time == TN_TIME_EAGER) {
        TN_TRY(tn_roofline_law_find(fitted, precision->name, TN_TIME_GRAPH, &s.graph, error));
        s.sought = eager_coefficients;
        s.sought_count = sizeof eager_coefficients / sizeof *eager_coefficients;
    }
    TN_TRY(find_coefficients(&s, options, error));
    TN_TRY(find_surface(&s, arena, error));
    TN_TRY(tn_arena_format(arena, &s.law.source, error, "fitted to %zu rows of %s, seed %llu", s.rows,
                           data->file, (unsigned long long)options->seed));
    tn_roofline_law *laws = fitted->laws.item;
    for (size_t i = 0; i < fitted->laws.count; i++)
        if (laws[i].time == (uint32_t)time && strcmp(laws[i].precision, precision->name) == 0) {
            laws[i] = s.law;
            return TN_OK;
        }
    laws[fitted->laws.count++] = s.law;
    return TN_OK;
}

tn_status tn_roofline_fit(const tn_roofline *roofline, const tn_roofline_measurements *data, const bool *skip,
                          const tn_roofline_fit_options *options, tn_arena *arena, tn_roofline *fitted,
                          tn_error *error) {
    const tn_roofline_precision *precisions = roofline->precisions.item;
    size_t most = roofline->precisions.count * TN_ROOFLINE_TIMES;
    if (options->starts == 0 || options->starts > 100)
        return tn_fail(error, TN_INPUT, "%llu starts of a fit; 1 to 100",
                       (unsigned long long)options->starts);
    tn_roofline made = *roofline;
    TN_TRY(
        tn_arena_alloc(arena, most + roofline->laws.count, sizeof(tn_roofline_law), &made.laws.item, error));
    if (roofline->laws.count)
        memcpy(made.laws.item, roofline->laws.item, roofline->laws.count * sizeof(tn_roofline_law));
    tn_gsl_quiet();
    tn_blas_serial();
    tn_status status = TN_OK;
    for (size_t i = 0; i < most && status == TN_OK; i++) {
        tn_roofline_time time = i % TN_ROOFLINE_TIMES == 0 ? TN_TIME_GRAPH : TN_TIME_EAGER;
        status = fit_law(data, skip, time, &precisions[i / TN_ROOFLINE_TIMES], options, arena, &made, error);
        tn_progress_report(options->progress, i + 1, most);
    }
    tn_blas_restore();
    tn_gsl_restore();
    if (status == TN_OK) *fitted = made;
    return status;
}
