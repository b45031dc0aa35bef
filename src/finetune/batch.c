#include "finetune/batch.h"

#include "base/guard.h"
#include "finetune/law.h"

#include <gsl/gsl_errno.h>
#include <gsl/gsl_multifit_nlinear.h>
#include <math.h>
#include <string.h>

static uint64_t whole(double batch) {
    return batch < 1 ? 0 : batch < 0x1p53 ? (uint64_t)batch : (uint64_t)1 << 53;
}

static double formula_value(const tn_batch_formula *f, double memory_GB, double sequence, double sparsity) {
    return f->c0 * (memory_GB - f->model_GB) / (sequence * (1 - f->c1 + f->c1 * sparsity));
}

uint64_t tn_batch_by_formula(const tn_batch_formula *formula, double memory_GB, double sequence,
                             double sparsity) {
    return whole(formula_value(formula, memory_GB, sequence, sparsity));
}

static double free_bytes(const tn_language_count *c, double memory_GB) {
    return memory_GB * 1e9 - (double)c->weight_bytes - (double)c->gradient_bytes -
           (double)c->optimizer_bytes - (double)c->workspace_bytes - (double)c->reserve_bytes;
}

uint64_t tn_batch_by_count(const tn_language_count *count, double memory_GB) {
    return whole(free_bytes(count, memory_GB) / (double)count->activation_bytes);
}

tn_batch_factor tn_framework_factor(const tn_framework *f, bool lengths_known) {
    const double nine_of_ten = 1.645; /* of a normal distribution lie within */
    if (!f->given) return (tn_batch_factor){1, 0};
    if (lengths_known) return (tn_batch_factor){f->kept_factor, nine_of_ten * f->kept_error};
    return (tn_batch_factor){f->kept_factor * f->unknown_longest,
                             nine_of_ten * hypot(f->kept_error, f->unknown_error)};
}

tn_batch_interval tn_batch_by_memory(const tn_language_count *count, double memory_GB,
                                     const tn_batch_factor *factor) {
    double batch = free_bytes(count, memory_GB) / ((double)count->activation_bytes * factor->value);
    double wide = exp(factor->half_width);
    return (tn_batch_interval){whole(batch), whole(batch / wide), whole(batch * wide)};
}

double tn_batch_implied_factor(const tn_language_count *count, double memory_GB, double batch) {
    double left = free_bytes(count, memory_GB);
    return left > 0 ? left / ((double)count->activation_bytes * (batch + 0.5)) : NAN;
}

bool tn_batch_calibrate(const double *implied, size_t count, tn_batch_factor *factor) {
    const double prior_deviation = 0.2, prior_weight = 3;
    double mean = 0, square = 0, used = 0;
    for (size_t i = 0; i < count; i++)
        if (!isnan(implied[i])) mean += log(implied[i]), used++;
    if (used == 0) return false;
    mean /= used;
    for (size_t i = 0; i < count; i++)
        if (!isnan(implied[i])) square += (log(implied[i]) - mean) * (log(implied[i]) - mean);
    double degrees = used - 1 + prior_weight;
    double variance = (square + prior_weight * prior_deviation * prior_deviation) / degrees;
    *factor = (tn_batch_factor){exp(mean), tn_student_half_width(variance * (1 + 1 / used), degrees)};
    return true;
}

double tn_batch_implied_sequence(const tn_language_count *count_of_one_token, double memory_GB,
                                 double batch) {
    return fmax(0, free_bytes(count_of_one_token, memory_GB)) /
           (batch * (double)count_of_one_token->activation_bytes);
}

/* The row of the group from `first` on that has this sparsity, or a new one. */
static tn_batch_measured *row_of(tn_batch_measured *row, size_t first, size_t *count,
                                 const tn_finetune_group *group, double sparsity) {
    for (size_t i = first; i < *count; i++)
        if (row[i].sparsity == sparsity) return &row[i];
    row[*count] = (tn_batch_measured){.gpu = group->gpu, .dataset = group->dataset, .sparsity = sparsity};
    return &row[(*count)++];
}

tn_status tn_batch_largest(const tn_finetune_data *data, const char *model, tn_arena *arena,
                           tn_batch_measured **row, size_t *count, tn_error *error) {
    size_t points = 0, rows = 0;
    for (size_t i = 0; i < data->count; i++)
        if (strcmp(data->group[i].model, model) == 0) points += data->group[i].count;
    if (points == 0)
        return tn_fail_at(error, TN_INPUT, (tn_position){.file = data->file}, "no measurements of model '%s'",
                          model);
    TN_TRY(TN_NEW(arena, points, row, error));
    for (size_t i = 0; i < data->count; i++) {
        const tn_finetune_group *group = &data->group[i];
        if (strcmp(group->model, model) != 0) continue;
        size_t first = rows;
        for (size_t j = 0; j < group->count; j++) {
            tn_batch_measured *measured = row_of(*row, first, &rows, group, group->point[j].sparsity);
            measured->batch = fmax(measured->batch, group->point[j].batch);
        }
    }
    *count = rows;
    return TN_OK;
}

/* --- The fit: parameters log C0 and logit C1. */

typedef struct {
    const tn_batch_measured *row;
    size_t count;
    double model_GB;
} problem;

static double logistic(double x) {
    return 1 / (1 + exp(-x));
}

static int residuals(const gsl_vector *x, void *data, gsl_vector *f) {
    const problem *p = data;
    const tn_batch_formula formula = {exp(gsl_vector_get(x, 0)), logistic(gsl_vector_get(x, 1)), p->model_GB};
    for (size_t i = 0; i < p->count; i++) {
        const tn_batch_measured *row = &p->row[i];
        double value = formula_value(&formula, row->memory_GB, row->sequence, row->sparsity);
        gsl_vector_set(f, i, log(value / (row->batch + 0.5)));
    }
    return GSL_SUCCESS;
}

static int derivatives(const gsl_vector *x, void *data, gsl_matrix *jacobian) {
    const problem *p = data;
    double c1 = logistic(gsl_vector_get(x, 1));
    for (size_t i = 0; i < p->count; i++) {
        double s = p->row[i].sparsity;
        gsl_matrix_set(jacobian, i, 0, 1);
        gsl_matrix_set(jacobian, i, 1, (1 - s) / (1 - c1 + c1 * s) * c1 * (1 - c1));
    }
    return GSL_SUCCESS;
}

static tn_status check(const problem *p, tn_error *error) {
    bool two = false;
    for (size_t i = 0; i < p->count; i++) {
        two = two || p->row[i].sparsity != p->row[0].sparsity;
        if (p->row[i].memory_GB <= p->model_GB)
            return tn_fail(error, TN_INPUT,
                           "%s has %g GB and the model alone takes %g, yet a batch of %g was measured",
                           p->row[i].gpu, p->row[i].memory_GB, p->model_GB, p->row[i].batch);
    }
    if (!two)
        return tn_fail(error, TN_INPUT,
                       "C1 can't be fitted: the %zu largest batches have one sparsity; two are needed",
                       p->count);
    return TN_OK;
}

static tn_finetune_interval between(double point, double half, double (*function)(double)) {
    return (tn_finetune_interval){function(point), function(point - half), function(point + half)};
}

static void read_off(const problem *p, gsl_multifit_nlinear_workspace *work, tn_batch_fit *fit) {
    double sum = 0, information[3] = {0}, row[2];
    const gsl_vector *f = gsl_multifit_nlinear_residual(work), *x = gsl_multifit_nlinear_position(work);
    const gsl_matrix *jacobian = gsl_multifit_nlinear_jac(work);
    for (size_t i = 0; i < p->count; i++) {
        sum += gsl_vector_get(f, i) * gsl_vector_get(f, i);
        for (size_t j = 0; j < 2; j++) row[j] = gsl_matrix_get(jacobian, i, j);
        information[0] += row[0] * row[0];
        information[1] += row[0] * row[1];
        information[2] += row[1] * row[1];
    }
    double degrees = (double)p->count - 2, half[2] = {NAN, NAN};
    double determinant = information[0] * information[2] - information[1] * information[1];
    if (degrees > 0 && determinant > 0) {
        double variance = sum / degrees;
        half[0] = tn_student_half_width(variance * information[2] / determinant, degrees);
        half[1] = tn_student_half_width(variance * information[0] / determinant, degrees);
    }
    fit->c0 = between(gsl_vector_get(x, 0), half[0], exp);
    fit->c1 = between(gsl_vector_get(x, 1), half[1], logistic);
    fit->relative_rmse = sqrt(sum / (double)p->count);
}

static tn_status minimise(problem *p, tn_batch_fit *fit, tn_error *error) {
    /* GSL wants as many rows as parameters; two sparsities are two rows. */
    gsl_multifit_nlinear_parameters options = gsl_multifit_nlinear_default_parameters();
    gsl_multifit_nlinear_fdf fdf = {.f = residuals, .df = derivatives, .n = p->count, .p = 2, .params = p};
    gsl_multifit_nlinear_workspace *work =
        gsl_multifit_nlinear_alloc(gsl_multifit_nlinear_trust, &options, p->count, 2);
    if (!work) return tn_fail(error, TN_MEMORY, "no memory to fit %zu largest batches", p->count);
    double start[] = {4, 2};
    gsl_vector_view x = gsl_vector_view_array(start, 2);
    int info, failed = gsl_multifit_nlinear_init(&x.vector, &fdf, work);
    if (!failed) gsl_multifit_nlinear_driver(200, 1e-10, 1e-10, 0, NULL, NULL, &info, work);
    if (!failed) read_off(p, work, fit);
    gsl_multifit_nlinear_free(work);
    if (failed || !isfinite(fit->relative_rmse))
        return tn_fail(error, TN_INPUT, "no C0 and C1 fit these %zu largest batches", p->count);
    return TN_OK;
}

tn_status tn_batch_fit_rows(const tn_batch_measured *row, size_t count, double model_GB, tn_batch_fit *fit,
                            tn_error *error) {
    problem p = {row, count, model_GB};
    TN_TRY(check(&p, error));
    tn_gsl_quiet();
    tn_status status = minimise(&p, fit, error);
    tn_gsl_restore();
    return status;
}
