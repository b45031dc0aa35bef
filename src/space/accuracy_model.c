#include "space/accuracy_model.h"

#include "base/guard.h"

#include <gsl/gsl_blas.h>
#include <gsl/gsl_linalg.h>
#include <gsl/gsl_multifit_nlinear.h>
#include <gsl/gsl_multimin.h>
#include <math.h>
#include <string.h>

enum { ROUNDS = 3, DESCENTS = 40, SIMPLEX_STEPS = 90, HYPERS = 5, SLOPES = 2 * TN_ACCURACY_SHAPE };

static const double usual_rank = 8, usual_error = 0.05, least_error = 1e-3, normal_95 = 1.96;

/* Where the parameters of each kind begin. */
typedef struct {
    size_t seed;   /* one a seed */
    size_t passes; /* two: of the level, of the excess; the number of parameters: none */
    size_t owner
        [TN_ACCURACY_CHOICES_MOST]; /* rank: c, ln p, ln(1 - s); folding: slopes of c and of ln p by its shape, then one a folding;
                                                 level: two for each but the first */
} places;

static size_t place_all(const tn_accuracy_model *m, places *this_places) {
    size_t count = 1;
    this_places->passes = count;
    count += 2;
    for (size_t i = 0; i < m->choices; i++) {
        this_places->owner[i] = count;
        const tn_accuracy_choice *choice = &m->choice[i];
        count += choice->kind == TN_ACCURACY_RANK      ? 3
                 : choice->kind == TN_ACCURACY_FOLDING ? SLOPES + choice->levels
                 : choice->levels                      ? 2 * (choice->levels - 1)
                                                       : 0;
    }
    this_places->seed = count;
    return count + m->seeds;
}

/* ln of the error by parameters p; its derivatives into slope[parameters] where that is wanted. */
static double log_error(const tn_accuracy_model *m, const places *this_places, const double *p,
                        const tn_accuracy_value *value, double passes, double *slope) {
    double level = p[0], shared = 0, excess = 0, share[TN_ACCURACY_CHOICES_MOST],
           fall[TN_ACCURACY_CHOICES_MOST], bent[TN_ACCURACY_CHOICES_MOST];
    double doublings = log2(passes / m->passes);
    level += p[this_places->passes] * doublings;
    shared += p[this_places->passes + 1] * doublings;
    for (size_t i = 0; i < m->choices; i++)
        if (m->choice[i].kind == TN_ACCURACY_LEVEL && value[i].level > 0 &&
            value[i].level < m->choice[i].levels) {
            level += p[this_places->owner[i] + 2 * (value[i].level - 1)];
            shared += p[this_places->owner[i] + 2 * (value[i].level - 1) + 1];
        }
    for (size_t i = 0; i < m->choices; i++) {
        share[i] = 0;
        if (m->choice[i].kind != TN_ACCURACY_RANK || isinf(value[i].number)) continue;
        double bend = shared, power = p[this_places->owner[i] + 1];
        for (size_t k = 0; k < m->choices; k++)
            if (m->choice[k].kind == TN_ACCURACY_FOLDING && m->choice[k].rank == i) {
                for (size_t n = 0; n < TN_ACCURACY_SHAPE; n++) {
                    bend += p[this_places->owner[k] + n] * value[k].shape[n];
                    power += p[this_places->owner[k] + TN_ACCURACY_SHAPE + n] * value[k].shape[n];
                }
                if (value[k].level < m->choice[k].levels)
                    bend += p[this_places->owner[k] + SLOPES + value[k].level];
            }
        double left = exp(p[this_places->owner[i] + 2]), rank = value[i].number - 1 + left,
               usual = usual_rank - 1 + left;
        fall[i] = exp(power) * log(rank / usual);
        bent[i] = exp(power) * left * (1 / rank - 1 / usual);
        share[i] = exp(p[this_places->owner[i]] + bend - fall[i]);
        excess += share[i];
    }
    double t = level + log1p(excess), grown = exp(t), rise = 1 / (1 + grown);
    if (slope) {
        memset(slope, 0, m->parameters * sizeof *slope);
        double all = excess / (1 + excess) * rise;
        slope[0] = rise;
        slope[this_places->passes] = rise * doublings;
        slope[this_places->passes + 1] = all * doublings;
        for (size_t i = 0; i < m->choices; i++) {
            const tn_accuracy_choice *choice = &m->choice[i];
            double *own = slope + this_places->owner[i];
            if (choice->kind == TN_ACCURACY_LEVEL && value[i].level > 0 && value[i].level < choice->levels) {
                own[2 * (value[i].level - 1)] = rise;
                own[2 * (value[i].level - 1) + 1] = all;
            } else if (choice->kind == TN_ACCURACY_RANK && share[i] > 0) {
                double of_rank = share[i] / (1 + excess) * rise;
                own[0] = of_rank;
                own[1] = -of_rank * fall[i];
                own[2] = -of_rank * bent[i];
            } else if (choice->kind == TN_ACCURACY_FOLDING && share[choice->rank] > 0) {
                double of_rank = share[choice->rank] / (1 + excess) * rise;
                for (size_t n = 0; n < TN_ACCURACY_SHAPE; n++) {
                    own[n] = of_rank * value[i].shape[n];
                    own[TN_ACCURACY_SHAPE + n] = -of_rank * fall[choice->rank] * value[i].shape[n];
                }
                if (value[i].level < choice->levels) own[SLOPES + value[i].level] = of_rank;
            }
        }
    }
    /* ln(e^t / (1 + e^t)), also where e^t leaves the range. */
    return log(m->ceiling) - (t > 0 ? log1p(exp(-t)) : log1p(grown) - t);
}

/* The same of a row, with what its seeds do to every design. */
static double row_log_error(const tn_accuracy_model *m, const places *this_places, const double *p,
                            const tn_accuracy_measurement *row, double *slope) {
    double told = log_error(m, this_places, p, row->value, row->passes, slope);
    for (size_t i = 0; i < row->seeds; i++) {
        told += p[this_places->seed + row->seed[i]] / (double)row->seeds;
        if (slope) slope[this_places->seed + row->seed[i]] += 1 / (double)row->seeds;
    }
    return told;
}

static double measured_log_error(const tn_accuracy_measurement *row) {
    return log(fmax(1 - row->accuracy, least_error));
}

/* Variance of ln error from the seed, at that ln error. */
static double noise_variance(const tn_accuracy_model *m, double point) {
    return m->noise * m->noise * exp(2 * m->noise_power * (point - log(usual_error)));
}

/* Of one run: what the seed does to all designs and to this one. */
static double run_variance(const tn_accuracy_model *m, double point) {
    return m->seed * m->seed + noise_variance(m, point);
}

/* Of a row whose seeds are told apart what they do to all designs is no variance, but in the parameters. */
static double row_variance(const tn_accuracy_model *m, size_t row, double point) {
    double run = m->row[row].seeds ? noise_variance(m, point) : run_variance(m, point);
    return m->misfit * m->misfit + run / (double)m->row[row].runs;
}

/* The least squares problem: a residual a row (but one that may be left out), weighted, and one a parameter. */
typedef struct {
    tn_accuracy_model *model;
    places places;
    size_t left_out;
    double *weight; /* [rows]: root of 1 / variance */
} problem;

static int residuals(const gsl_vector *x, void *user, gsl_vector *f) {
    const problem *this_problem = user;
    const tn_accuracy_model *m = this_problem->model;
    for (size_t i = 0; i < m->rows; i++) {
        double told = row_log_error(m, &this_problem->places, x->data, &m->row[i], NULL);
        gsl_vector_set(f, i, this_problem->weight[i] * (told - measured_log_error(&m->row[i])));
    }
    for (size_t k = 0; k < m->parameters; k++)
        gsl_vector_set(f, m->rows + k, sqrt(m->precision[k]) * (gsl_vector_get(x, k) - m->prior[k]));
    return GSL_SUCCESS;
}

static int slopes(const gsl_vector *x, void *user, gsl_matrix *j) {
    const problem *this_problem = user;
    const tn_accuracy_model *m = this_problem->model;
    gsl_matrix_set_zero(j);
    for (size_t i = 0; i < m->rows; i++) {
        double *row = gsl_matrix_ptr(j, i, 0);
        row_log_error(m, &this_problem->places, x->data, &m->row[i], row);
        for (size_t k = 0; k < m->parameters; k++) row[k] *= this_problem->weight[i];
    }
    for (size_t k = 0; k < m->parameters; k++) gsl_matrix_set(j, m->rows + k, k, sqrt(m->precision[k]));
    return GSL_SUCCESS;
}

static void weigh(problem *this_problem) {
    const tn_accuracy_model *m = this_problem->model;
    for (size_t i = 0; i < m->rows; i++) {
        double told = row_log_error(m, &this_problem->places, m->parameter, &m->row[i], NULL);
        this_problem->weight[i] = i == this_problem->left_out ? 0 : 1 / sqrt(row_variance(m, i, told));
    }
}

/* Parameters by least squares from where they stand. */
static void descend(problem *this_problem, gsl_multifit_nlinear_workspace *solver) {
    tn_accuracy_model *m = this_problem->model;
    gsl_vector_const_view start = gsl_vector_const_view_array(m->parameter, m->parameters);
    gsl_multifit_nlinear_fdf least = {.f = residuals,
                                      .df = slopes,
                                      .n = m->rows + m->parameters,
                                      .p = m->parameters,
                                      .params = this_problem};
    int info;
    weigh(this_problem);
    if (gsl_multifit_nlinear_init(&start.vector, &least, solver) != GSL_SUCCESS) return;
    gsl_multifit_nlinear_driver(DESCENTS, 1e-7, 1e-7, 0, NULL, NULL, &info, solver);
    const gsl_vector *found = gsl_multifit_nlinear_position(solver);
    for (size_t k = 0; k < m->parameters; k++)
        if (!isfinite(gsl_vector_get(found, k))) return;
    for (size_t k = 0; k < m->parameters; k++) m->parameter[k] = gsl_vector_get(found, k);
}

/* The foldings' precision follows from their deviation. */
static void pool(tn_accuracy_model *m, const places *this_places) {
    for (size_t i = 0; i < m->choices; i++)
        for (size_t k = 0; m->choice[i].kind == TN_ACCURACY_FOLDING && k < m->choice[i].levels; k++)
            m->precision[this_places->owner[i] + SLOPES + k] = 1 / (m->folding * m->folding);
    for (size_t k = 0; k < m->seeds; k++) m->precision[this_places->seed + k] = 1 / (m->seed * m->seed);
}

/* The five deviations by the linearised marginal likelihood. */
typedef struct {
    problem *problem;
    gsl_matrix *slope, *scaled, *information; /* [rows x parameters] twice, [parameters x parameters] */
    gsl_vector *answer, *side, *solution;
    double *told; /* [rows]: ln error by the parameters about which it is linear */
} likelihood;

/* Deviations are sought by their logarithms, near what such trainings have shown. */
static const double usual_hyper[HYPERS] = {-2.3, -3.5, -2.5, 0, -3},
                    hyper_deviation[HYPERS] = {1, 1, 1, 0.5, 1};

static void take_hypers(tn_accuracy_model *m, const places *this_places, const gsl_vector *x) {
    m->folding = exp(gsl_vector_get(x, 0));
    m->misfit = exp(gsl_vector_get(x, 1));
    m->noise = exp(gsl_vector_get(x, 2));
    m->noise_power = gsl_vector_get(x, 3);
    m->seed = exp(gsl_vector_get(x, 4));
    pool(m, this_places);
}

/* information = scaled' scaled, of rows that are mostly zero. */
static void add_squares(likelihood *l) {
    size_t place[TN_ACCURACY_PARAMETERS_MOST];
    gsl_matrix_set_zero(l->information);
    for (size_t i = 0; i < l->scaled->size1; i++) {
        const double *row = gsl_matrix_const_ptr(l->scaled, i, 0);
        size_t count = 0;
        for (size_t k = 0; k < l->scaled->size2; k++)
            if (row[k] != 0) place[count++] = k;
        for (size_t a = 0; a < count; a++)
            for (size_t b = 0; b < count; b++)
                *gsl_matrix_ptr(l->information, place[a], place[b]) += row[place[a]] * row[place[b]];
    }
}

static bool inform(likelihood *l) {
    const problem *this_problem = l->problem;
    const tn_accuracy_model *m = this_problem->model;
    for (size_t i = 0; i < m->rows; i++) {
        double root = i == this_problem->left_out ? 0 : 1 / sqrt(row_variance(m, i, l->told[i]));
        for (size_t k = 0; k < m->parameters; k++)
            gsl_matrix_set(l->scaled, i, k, root * gsl_matrix_get(l->slope, i, k));
        gsl_vector_set(l->answer, i, root * (measured_log_error(&m->row[i]) - l->told[i]));
    }
    add_squares(l);
    for (size_t k = 0; k < m->parameters; k++) *gsl_matrix_ptr(l->information, k, k) += m->precision[k];
    return gsl_linalg_cholesky_decomp1(l->information) == GSL_SUCCESS;
}

static double minus_log_likelihood(const gsl_vector *x, void *user) {
    likelihood *l = user;
    problem *this_problem = l->problem;
    tn_accuracy_model *m = this_problem->model;
    double sum = 0;
    for (size_t i = 0; i < HYPERS; i++) {
        double away = (gsl_vector_get(x, i) - usual_hyper[i]) / hyper_deviation[i];
        if (fabs(away) > 6) return 1e12;
        sum += away * away;
    }
    take_hypers(m, &this_problem->places, x);
    if (!inform(l)) return 1e12;
    /* The best step from the linear point, of data and priors together. */
    gsl_blas_dgemv(CblasTrans, 1, l->scaled, l->answer, 0, l->side);
    for (size_t k = 0; k < m->parameters; k++)
        *gsl_vector_ptr(l->side, k) += m->precision[k] * (m->prior[k] - m->parameter[k]);
    gsl_linalg_cholesky_solve(l->information, l->side, l->solution);
    for (size_t k = 0; k < m->parameters; k++) {
        double away = m->parameter[k] + gsl_vector_get(l->solution, k) - m->prior[k];
        sum += m->precision[k] * away * away - log(m->precision[k]) +
               2 * log(gsl_matrix_get(l->information, k, k));
    }
    gsl_blas_dgemv(CblasNoTrans, -1, l->scaled, l->solution, 1, l->answer);
    for (size_t i = 0; i < m->rows; i++) {
        double left = gsl_vector_get(l->answer, i), seeds = (double)m->row[i].runs;
        sum += left * left + log(row_variance(m, i, l->told[i]));
        if (m->row[i].runs < 2 || !(m->row[i].spread > 0)) continue;
        /* The spread over the seeds of a row speaks of the noise alone. */
        double variance = run_variance(m, l->told[i]);
        double relative = m->row[i].spread / fmax(1 - m->row[i].accuracy, least_error);
        sum += (seeds - 1) * (log(variance) + relative * relative / variance);
    }
    return isfinite(sum) ? sum : 1e12;
}

static void linearise(likelihood *l) {
    const tn_accuracy_model *m = l->problem->model;
    for (size_t i = 0; i < m->rows; i++)
        l->told[i] =
            row_log_error(m, &l->problem->places, m->parameter, &m->row[i], gsl_matrix_ptr(l->slope, i, 0));
}

static void seek_hypers(likelihood *l, gsl_multimin_fminimizer *simplex, gsl_vector *x, gsl_vector *step) {
    gsl_multimin_function function = {.f = minus_log_likelihood, .n = HYPERS, .params = l};
    linearise(l);
    gsl_vector_set_all(step, 0.5);
    if (gsl_multimin_fminimizer_set(simplex, &function, x, step) != GSL_SUCCESS) return;
    for (int i = 0; i < SIMPLEX_STEPS; i++) {
        if (gsl_multimin_fminimizer_iterate(simplex) != GSL_SUCCESS) break;
        if (gsl_multimin_fminimizer_size(simplex) < 0.02) break;
    }
    gsl_vector_memcpy(x, gsl_multimin_fminimizer_x(simplex));
    take_hypers(l->problem->model, &l->problem->places, x);
}

/* Covariance of the parameters about where they stand, and its root. */
static tn_status spread_of_parameters(likelihood *l, tn_error *error) {
    tn_accuracy_model *m = l->problem->model;
    size_t n = m->parameters;
    linearise(l);
    if (!inform(l) || gsl_linalg_cholesky_invert(l->information) != GSL_SUCCESS)
        return tn_fail(error, TN_INPUT, "the measured accuracies determine no model");
    gsl_matrix_view covariance = gsl_matrix_view_array(m->covariance, n, n);
    gsl_matrix_view root = gsl_matrix_view_array(m->root, n, n);
    gsl_matrix_memcpy(&covariance.matrix, l->information);
    gsl_matrix_memcpy(&root.matrix, l->information);
    if (gsl_linalg_cholesky_decomp1(&root.matrix) != GSL_SUCCESS)
        return tn_fail(error, TN_INPUT, "the measured accuracies determine no model");
    return TN_OK;
}

typedef struct {
    problem problem;
    likelihood likelihood;
    gsl_multifit_nlinear_workspace *solver;
    gsl_multimin_fminimizer *simplex;
    gsl_vector *x, *step;
} work;

static void close_work(work *w) {
    likelihood *l = &w->likelihood;
    gsl_matrix_free(l->slope);
    gsl_matrix_free(l->scaled);
    gsl_matrix_free(l->information);
    gsl_vector_free(l->answer);
    gsl_vector_free(l->side);
    gsl_vector_free(l->solution);
    gsl_vector_free(w->x);
    gsl_vector_free(w->step);
    if (w->solver) gsl_multifit_nlinear_free(w->solver);
    if (w->simplex) gsl_multimin_fminimizer_free(w->simplex);
}

static tn_status open_work(work *w, tn_accuracy_model *m, tn_arena *arena, tn_error *error) {
    *w = (work){.problem = {.model = m, .left_out = SIZE_MAX}};
    likelihood *l = &w->likelihood;
    l->problem = &w->problem;
    place_all(m, &w->problem.places);
    TN_TRY(TN_NEW(arena, m->rows, &l->told, error));
    TN_TRY(TN_NEW(arena, m->rows, &w->problem.weight, error));
    gsl_multifit_nlinear_parameters how = gsl_multifit_nlinear_default_parameters();
    how.solver = gsl_multifit_nlinear_solver_cholesky;
    w->solver =
        gsl_multifit_nlinear_alloc(gsl_multifit_nlinear_trust, &how, m->rows + m->parameters, m->parameters);
    w->simplex = gsl_multimin_fminimizer_alloc(gsl_multimin_fminimizer_nmsimplex2, HYPERS);
    l->slope = gsl_matrix_alloc(m->rows, m->parameters);
    l->scaled = gsl_matrix_alloc(m->rows, m->parameters);
    l->information = gsl_matrix_alloc(m->parameters, m->parameters);
    l->answer = gsl_vector_alloc(m->rows);
    l->side = gsl_vector_alloc(m->parameters);
    l->solution = gsl_vector_alloc(m->parameters);
    w->x = gsl_vector_alloc(HYPERS);
    w->step = gsl_vector_alloc(HYPERS);
    bool whole = w->solver && w->simplex && l->slope && l->scaled && l->information && l->answer && l->side &&
                 l->solution && w->x && w->step;
    return whole ? TN_OK : tn_fail(error, TN_MEMORY, "no memory for a model of %zu accuracies", m->rows);
}

static void set_prior(tn_accuracy_model *m, size_t k, double mean, double deviation) {
    m->parameter[k] = m->prior[k] = mean;
    m->precision[k] = 1 / (deviation * deviation);
}

/* What is thought before any data: wide enough to be outweighed by a few rows. */
static void set_priors(tn_accuracy_model *m, const places *this_places) {
    double best = 1;
    for (size_t i = 0; i < m->rows; i++) best = fmin(best, fmax(1 - m->row[i].accuracy, least_error));
    double share = fmin(best / m->ceiling, 0.95);
    set_prior(m, 0, log(share / (1 - share)), 1);
    for (size_t k = 0; k < m->seeds; k++) set_prior(m, this_places->seed + k, 0, 1);
    set_prior(m, this_places->passes, -0.4, 0.4);
    set_prior(m, this_places->passes + 1, 0, 0.4);
    for (size_t i = 0; i < m->choices; i++) {
        const tn_accuracy_choice *choice = &m->choice[i];
        size_t first = this_places->owner[i];
        if (choice->kind == TN_ACCURACY_RANK) {
            set_prior(m, first, -1, 1.5);
            set_prior(m, first + 1, 0.1, 0.4);
            set_prior(m, first + 2, 0, 1);
        } else if (choice->kind == TN_ACCURACY_FOLDING) {
            for (size_t k = 0; k < TN_ACCURACY_SHAPE; k++) {
                set_prior(m, first + k, 0, 0.15);
                set_prior(m, first + TN_ACCURACY_SHAPE + k, 0, 0.1);
            }
            for (size_t k = 0; k < choice->levels; k++) set_prior(m, first + SLOPES + k, 0, 1);
        } else {
            for (size_t k = 0; k + 1 < choice->levels; k++) {
                set_prior(m, first + 2 * k, 0, 0.5);
                set_prior(m, first + 2 * k + 1, 0, 0.5);
            }
        }
    }
}

/* ln of test's error over ln of dev's: a line by least squares, towards equality by one row's weight. */
static void fit_test(tn_accuracy_model *m) {
    double n = 0, x = 0, y = 0, xx = 0, xy = 0;
    for (size_t i = 0; i < m->rows; i++) {
        if (!(m->row[i].test >= 0)) continue;
        double dev = measured_log_error(&m->row[i]) - log(usual_error);
        double test = log(fmax(1 - m->row[i].test, least_error)) - log(usual_error);
        n++;
        x += dev;
        y += test;
        xx += dev * dev;
        xy += dev * test;
    }
    m->test_slope = n > 2 ? (xy - x * y / n + 0.1) / (xx - x * x / n + 0.1) : 1;
    m->test_offset = n > 0 ? (y - m->test_slope * x) / n : NAN;
}

/* Passes that most rows have; of two the greater. */
static double usual_passes(const tn_accuracy_measurement *row, size_t rows) {
    double best = 1;
    size_t most = 0;
    for (size_t i = 0; i < rows; i++) {
        size_t same = 0;
        for (size_t k = 0; k < rows; k++) same += row[k].passes == row[i].passes;
        if (same > most || (same == most && row[i].passes > best)) {
            most = same;
            best = row[i].passes;
        }
    }
    return best;
}

static tn_status fit(work *w, tn_error *error) {
    tn_accuracy_model *m = w->problem.model;
    for (size_t i = 0; i < HYPERS; i++) gsl_vector_set(w->x, i, usual_hyper[i]);
    take_hypers(m, &w->problem.places, w->x);
    for (int round = 0; round < ROUNDS; round++) {
        descend(&w->problem, w->solver);
        seek_hypers(&w->likelihood, w->simplex, w->x, w->step);
    }
    descend(&w->problem, w->solver);
    return spread_of_parameters(&w->likelihood, error);
}

tn_status tn_accuracy_model_fit(const tn_accuracy_choice *choice, size_t choices,
                                const tn_accuracy_measurement *row, size_t rows, double constant,
                                size_t seeds, tn_arena *arena, tn_accuracy_model *model, tn_error *error) {
    places this_places;
    work w;
    tn_accuracy_model *m = model;
    *m = (tn_accuracy_model){.choices = choices,
                             .choice = choice,
                             .rows = rows,
                             .row = row,
                             .ceiling = 1 - constant,
                             .seeds = seeds,
                             .passes = usual_passes(row, rows)};
    m->parameters = place_all(m, &this_places);
    if (m->parameters > TN_ACCURACY_PARAMETERS_MOST)
        return tn_fail(error, TN_LIMIT, "%zu effects of levels and foldings; at most %d are told apart",
                       m->parameters, TN_ACCURACY_PARAMETERS_MOST);
    double **const vectors[] = {&m->parameter, &m->prior, &m->precision};
    for (size_t i = 0; i < 3; i++) TN_TRY(TN_NEW(arena, m->parameters, vectors[i], error));
    size_t square = m->parameters * m->parameters;
    TN_TRY(TN_NEW(arena, square, &m->covariance, error));
    TN_TRY(TN_NEW(arena, square, &m->root, error));
    TN_TRY(tn_blas_room(error));
    set_priors(m, &this_places);
    fit_test(m);
    tn_gsl_quiet();
    tn_blas_serial();
    tn_status status = open_work(&w, m, arena, error);
    if (status == TN_OK) status = fit(&w, error);
    close_work(&w);
    tn_blas_restore();
    tn_gsl_restore();
    return status;
}

/* Variance of ln error from the parameters, and from levels that nobody measured. */
static double parameter_variance(const tn_accuracy_model *m, const places *this_places, const double *slope,
                                 const tn_accuracy_value *value) {
    double sum = 0;
    for (size_t i = 0; i < m->parameters; i++)
        for (size_t k = 0; slope[i] != 0 && k < m->parameters; k++)
            sum += slope[i] * m->covariance[i * m->parameters + k] * slope[k];
    for (size_t i = 0; i < m->choices; i++) {
        const tn_accuracy_choice *choice = &m->choice[i];
        if (choice->kind == TN_ACCURACY_RANK || value[i].level < choice->levels) continue;
        /* As much as the prior of one like it: in front of the folding's own, c has the same slope. */
        if (choice->kind == TN_ACCURACY_FOLDING)
            sum += pow(m->folding * slope[this_places->owner[choice->rank]], 2);
        else
            sum += 0.5 * 0.5 * slope[0] * slope[0];
    }
    return sum;
}

bool tn_accuracy_same_value(const tn_accuracy_choice *choice, const tn_accuracy_value *a,
                            const tn_accuracy_value *b) {
    if (choice->kind == TN_ACCURACY_RANK) return a->number == b->number;
    return a->level == b->level && memcmp(a->shape, b->shape, sizeof a->shape) == 0;
}

bool tn_accuracy_same(const tn_accuracy_choice *choice, size_t choices, const tn_accuracy_value *a,
                      const tn_accuracy_value *b) {
    for (size_t i = 0; i < choices; i++)
        if (!tn_accuracy_same_value(&choice[i], &a[i], &b[i])) return false;
    return true;
}

/* Variance of what no choice explains of a design: less of one that was trained, the less the more runs it had. */
static double misfit_variance(const tn_accuracy_model *m, const tn_accuracy_value *value, double passes,
                              double told) {
    double whole = m->misfit * m->misfit;
    for (size_t i = 0; i < m->rows; i++) {
        if (m->row[i].passes != passes || !tn_accuracy_same(m->choice, m->choices, m->row[i].value, value))
            continue;
        double seeds = run_variance(m, told) / (double)m->row[i].runs;
        return whole * seeds / (whole + seeds);
    }
    return whole;
}

/* `misfit`: variance of what no choice explains; negative: as of the design. */
static tn_accuracy_estimate estimate_at(const tn_accuracy_model *m, const places *this_places,
                                        const double *parameter, const tn_accuracy_value *value,
                                        double passes, double runs, double misfit, double *slope) {
    double told = log_error(m, this_places, parameter, value, passes, slope);
    if (misfit < 0) misfit = misfit_variance(m, value, passes, told);
    double known = parameter_variance(m, this_places, slope, value) + misfit;
    double run = run_variance(m, told);
    /* The mean of a log-normal error. */
    double mean = exp(told + run / 2), whole = sqrt(known + run / runs);
    return (tn_accuracy_estimate){.mean = 1 - fmin(mean, 1),
                                  .deviation = mean * sqrt(known),
                                  .low = fmax(0, 1 - exp(told + normal_95 * whole)),
                                  .high = 1 - exp(told - normal_95 * whole),
                                  .test = 1 - fmin(1, exp(m->test_offset + log(usual_error) +
                                                          m->test_slope * (log(mean) - log(usual_error))))};
}

tn_accuracy_estimate tn_accuracy_model_at(const tn_accuracy_model *model, const tn_accuracy_value *value,
                                          double passes) {
    places this_places;
    double slope[TN_ACCURACY_PARAMETERS_MOST];
    place_all(model, &this_places);
    return estimate_at(model, &this_places, model->parameter, value, passes, 1, -1, slope);
}

tn_status tn_accuracy_model_leave_one_out(const tn_accuracy_model *model, tn_arena *arena,
                                          tn_accuracy_estimate *estimate, tn_error *error) {
    tn_accuracy_model m = *model;
    work w;
    double slope[TN_ACCURACY_PARAMETERS_MOST];
    size_t bytes = m.parameters * sizeof(double);
    TN_TRY(TN_NEW(arena, m.parameters, &m.parameter, error));
    TN_TRY(TN_NEW(arena, m.parameters * m.parameters, &m.covariance, error));
    TN_TRY(TN_NEW(arena, m.parameters * m.parameters, &m.root, error));
    tn_gsl_quiet();
    tn_blas_serial();
    tn_status status = open_work(&w, &m, arena, error);
    for (size_t i = 0; status == TN_OK && i < m.rows; i++) {
        memcpy(m.parameter, model->parameter, bytes);
        w.problem.left_out = i;
        descend(&w.problem, w.solver);
        status = spread_of_parameters(&w.likelihood, error);
        if (status == TN_OK)
            estimate[i] = estimate_at(&m, &w.problem.places, m.parameter, m.row[i].value, m.row[i].passes,
                                      (double)m.row[i].runs, m.misfit * m.misfit, slope);
    }
    close_work(&w);
    tn_blas_restore();
    tn_gsl_restore();
    return status;
}

void tn_accuracy_model_draw(const tn_accuracy_model *model, const double *normal, double *parameter) {
    size_t n = model->parameters;
    for (size_t i = 0; i < n; i++) {
        parameter[i] = model->parameter[i];
        for (size_t k = 0; k <= i; k++) parameter[i] += model->root[i * n + k] * normal[k];
    }
}

double tn_accuracy_model_by(const tn_accuracy_model *model, const double *parameter,
                            const tn_accuracy_value *value, double passes, double misfit) {
    places this_places;
    place_all(model, &this_places);
    double told = log_error(model, &this_places, parameter, value, passes, NULL);
    told += sqrt(misfit_variance(model, value, passes, told)) * misfit;
    return 1 - fmin(1, exp(told + run_variance(model, told) / 2));
}
