#include "roofline/roofline.h"

#include "base/guard.h"
#include "base/interrupt.h"
#include "base/memory.h"
#include "base/name_index.h"
#include "device/device_data.h"

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
    for (size_t i = 0; i < 4; i++) TN_TRY(TN_ALLOC(n, vectors[i], error));
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
    TN_TRY(TN_NEW(arena, made.points * made.dimensions, &made.x, error));
    TN_TRY(TN_NEW(arena, made.points, &made.weight, error));
    TN_TRY(TN_NEW(arena, made.dimensions, &made.scale, error));
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

static const double pipeline_terms = 16; /* below this depth a product's pipeline does not count */
enum { ALIGNED_BYTES = 16 };

/* How often `value` can be halved, up to `most`. */
static unsigned halvings(uint64_t value, unsigned most) {
    unsigned count = 0;
    while (count < most && value % 2 == 0) {
        value /= 2;
        count++;
    }
    return count;
}

/* How many halvings the rows of A (K elements), B and C (N elements) lie below 16 bytes. */
static unsigned misalignment(const tn_roofline_precision *precision, const tn_roofline_product *p) {
    unsigned wanted = 0;
    for (uint64_t bytes = precision->element_bytes; bytes < ALIGNED_BYTES; bytes *= 2) wanted++;
    unsigned along_n = halvings(p->n, wanted), along_k = halvings(p->k, wanted);
    return wanted - (along_n < along_k ? along_n : along_k);
}

static bool has_vector(const tn_roofline_product *p) {
    return p->m == 1 || p->n == 1;
}

static double compute_us(const tn_roofline *r, const tn_roofline_precision *precision,
                         const tn_roofline_law *law, const tn_roofline_product *p) {
    double peak_flops_per_us = precision->peak_TFLOPS * 1e6, processors = (double)r->multiprocessors;
    double tile = (double)law->tile, k = (double)p->k, slow = 1;
    for (unsigned i = misalignment(precision, p); i > 0; i--) slow *= law->misaligned_compute;
    slow /= precision->efficiency > 0 ? precision->efficiency : law->compute_efficiency;
    if (has_vector(p))
        return slow * 2 * (double)p->batch * (double)p->m * (double)p->n * k / peak_flops_per_us;
    double tiles = (double)p->batch * ceil((double)p->m / tile) * ceil((double)p->n / tile);
    double parts = floor(processors / tiles), most = ceil(k / (double)law->split_depth);
    parts = fmax(1, fmin(parts, most));
    double waves = ceil(tiles * parts / processors);
    return slow * waves * 2 * tile * tile * ceil(k / parts) / (peak_flops_per_us / processors);
}

static double memory_us(const tn_roofline *r, const tn_roofline_precision *precision,
                        const tn_roofline_law *law, const tn_roofline_product *p) {
    double m = (double)p->m, n = (double)p->n, k = (double)p->k, bytes_per_us = r->bandwidth_GBps * 1e3;
    double bytes = (double)precision->element_bytes * (double)p->batch * (m * k + k * n + m * n);
    double cached = fmin(bytes, (double)r->cache_bytes);
    return cached / (bytes_per_us * law->cache_gain) + (bytes - cached) / bytes_per_us;
}

double tn_roofline_law_us(const tn_roofline *roofline, const tn_roofline_precision *precision,
                          const tn_roofline_law *law, const tn_roofline_law *graph,
                          const tn_roofline_product *product) {
    bool misaligned = misalignment(precision, product) > 0;
    if (graph) {
        double host = law->host_us * (misaligned ? law->misaligned_host : 1);
        return fmax(host, law->gap_us + tn_roofline_law_us(roofline, precision, graph, NULL, product));
    }
    double launch = law->launch_us * (has_vector(product) ? law->vector_launch : 1) *
                    (misaligned ? law->misaligned_launch : 1);
    double pipeline = law->pipeline_us * log2(1 + (double)product->k / pipeline_terms);
    return launch + pipeline +
           fmax(compute_us(roofline, precision, law, product), memory_us(roofline, precision, law, product));
}

void tn_roofline_features(const tn_roofline_product *p, double feature[TN_ROOFLINE_FEATURES]) {
    enum { MOST_HALVINGS = 3 };
    const double few_flops = 1 << 27, few_elements = 1 << 21; /* what a launch hides */
    double m = (double)p->m, n = (double)p->n, k = (double)p->k;
    double along_n = halvings(p->n, MOST_HALVINGS), along_k = halvings(p->k, MOST_HALVINGS);
    const double made[TN_ROOFLINE_FEATURES] = {
        log2(m),
        log2(n),
        log2(k),
        along_n,
        along_k,
        fmin(along_n, along_k),
        p->m == 1,
        p->n == 1,
        p->k == 1,
        log2(m * n),
        log2(1 + 2 * m * n * k / few_flops),
        log2(1 + (m * n + m * k + n * k) / few_elements),
    };
    memcpy(feature, made, sizeof made);
}

tn_status tn_roofline_surface_make(tn_roofline_surface *lists, tn_position position, tn_arena *arena,
                                   tn_error *error) {
    size_t points = lists->m.count;
    if (lists->n.count != points || lists->k.count != points || lists->weight.count != points)
        return tn_fail_at(error, TN_INPUT, position,
                          "a surface has lists m, n, k and weight of the same length");
    if (points > 0 && lists->scale.count != TN_ROOFLINE_FEATURES)
        return tn_fail_at(error, TN_INPUT, position, "a surface's list `scale` has %zu numbers; it has %d",
                          lists->scale.count, TN_ROOFLINE_FEATURES);
    tn_kriging *s = &lists->surface;
    *s = (tn_kriging){.points = points,
                      .dimensions = TN_ROOFLINE_FEATURES,
                      .weight = lists->weight.item,
                      .scale = lists->scale.item,
                      .mean = lists->mean,
                      .noise = lists->noise};
    TN_TRY(TN_NEW(arena, points * TN_ROOFLINE_FEATURES, &s->x, error));
    for (size_t i = 0; i < points; i++) {
        tn_roofline_product p = {1, lists->m.item[i], lists->n.item[i], lists->k.item[i]};
        tn_roofline_features(&p, s->x + i * TN_ROOFLINE_FEATURES);
    }
    return TN_OK;
}

tn_status tn_roofline_precision_find(const tn_roofline *roofline, const char *name,
                                     const tn_roofline_precision **precision, tn_error *error) {
    enum { MOST = 16 };
    const tn_roofline_precision *known = roofline->precisions.item;
    const char *names[MOST];
    size_t count = roofline->precisions.count;
    for (size_t i = 0; i < count; i++) {
        if (i < MOST) names[i] = known[i].name;
        if (strcmp(known[i].name, name) != 0) continue;
        *precision = &known[i];
        return TN_OK;
    }
    if (count == 0) return tn_fail(error, TN_INPUT, "device %s has no precisions", roofline->name);
    const char *near = tn_suggest(name, names, count < MOST ? count : MOST);
    return tn_fail(error, TN_INPUT, "device %s has no precision '%.60s'; %s %s", roofline->name, name,
                   near ? "did you mean" : "it has for instance", near ? near : names[0]);
}

tn_status tn_roofline_law_find(const tn_roofline *roofline, const char *precision, tn_roofline_time time,
                               const tn_roofline_law **law, tn_error *error) {
    const tn_roofline_law *known = roofline->laws.item;
    for (size_t i = 0; i < roofline->laws.count; i++)
        if (known[i].time == (uint32_t)time && strcmp(known[i].precision, precision) == 0) {
            *law = &known[i];
            return TN_OK;
        }
    return tn_fail(error, TN_INPUT,
                   "device %s has no law for %s times of %s; fit one with `tenfold roofline fit --device %s`",
                   roofline->name, tn_roofline_time_names[time], precision, roofline->name);
}

static tn_status check(const tn_roofline_product *p, tn_error *error) {
    const struct {
        const char *name;
        uint64_t value;
    } sizes[] = {{"batch", p->batch}, {"M", p->m}, {"N", p->n}, {"K", p->k}};
    for (size_t i = 0; i < 4; i++)
        if (sizes[i].value == 0 || sizes[i].value > TN_ROOFLINE_MOST_SIZE)
            return tn_fail(error, TN_INPUT, "%s = %llu of a product; it is 1 to %llu", sizes[i].name,
                           (unsigned long long)sizes[i].value, (unsigned long long)TN_ROOFLINE_MOST_SIZE);
    return TN_OK;
}

tn_status tn_roofline_predict(const tn_roofline *roofline, const char *precision, tn_roofline_time time,
                              const tn_roofline_product *product, double *microseconds, tn_error *error) {
    const tn_roofline_precision *known;
    const tn_roofline_law *law, *graph = NULL;
    TN_TRY(check(product, error));
    TN_TRY(tn_roofline_precision_find(roofline, precision, &known, error));
    TN_TRY(tn_roofline_law_find(roofline, precision, time, &law, error));
    if (time == TN_TIME_EAGER)
        TN_TRY(tn_roofline_law_find(roofline, precision, TN_TIME_GRAPH, &graph, error));
    double us = tn_roofline_law_us(roofline, known, law, graph, product);
    if (product->batch == 1) {
        double feature[TN_ROOFLINE_FEATURES];
        tn_roofline_features(product, feature);
        us *= exp(tn_kriging_at(&law->surface.surface, feature));
    }
    *microseconds = us;
    return TN_OK;
}

static tn_status append(const char **list, const char *precision, const char *figure, tn_arena *arena,
                        tn_error *error) {
    return tn_arena_format(arena, list, error, "%s%s%s%s%s", *list, **list ? ", " : "", precision,
                           *precision ? " " : "", figure);
}

/* Whether a key of the device speaks of launched steps alone. */
static bool is_of_steps(const char *key) {
    return strncmp(key, "host_us_per_", 12) == 0 || strncmp(key, "step_", 5) == 0;
}

tn_status tn_roofline_unverified_step(const tn_roofline *roofline, const char *precision, tn_arena *arena,
                                      const char **figures, tn_error *error) {
    TN_TRY(tn_roofline_unverified(roofline, precision, TN_TIME_GRAPH, arena, figures, error));
    for (size_t i = 0; i < roofline->unverified.count; i++)
        if (is_of_steps(roofline->unverified.item[i]))
            TN_TRY(append(figures, "", roofline->unverified.item[i], arena, error));
    return TN_OK;
}

tn_status tn_roofline_unverified(const tn_roofline *roofline, const char *precision, tn_roofline_time time,
                                 tn_arena *arena, const char **figures, tn_error *error) {
    const tn_roofline_precision *known;
    const tn_roofline_law *law;
    const char *list = "";
    TN_TRY(tn_roofline_precision_find(roofline, precision, &known, error));
    if (roofline->origin == TN_UNVERIFIED)
        TN_TRY(append(&list, "", "every figure of the device", arena, error));
    for (size_t i = 0; i < roofline->unverified.count; i++)
        if (!is_of_steps(roofline->unverified.item[i]))
            TN_TRY(append(&list, "", roofline->unverified.item[i], arena, error));
    if (known->origin == TN_UNVERIFIED) TN_TRY(append(&list, precision, "peak", arena, error));
    for (int i = TN_TIME_GRAPH; i <= (int)time; i++) {
        TN_TRY(tn_roofline_law_find(roofline, precision, (tn_roofline_time)i, &law, error));
        const char *name = i == TN_TIME_GRAPH ? "graph law" : "eager law";
        if (law->origin == TN_UNVERIFIED) TN_TRY(append(&list, precision, name, arena, error));
    }
    *figures = list;
    return TN_OK;
}
