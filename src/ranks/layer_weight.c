#include "ranks/layer_weight.h"

#include "base/memory.h"
#include "decompose/dense.h"
#include "decompose/factor.h"
#include "decompose/fold.h"

#include <math.h>
#include <string.h>

static double dot(const double *x, const double *y, uint64_t count) {
    double sum = 0;
    for (uint64_t i = 0; i < count; i++) sum += x[i] * y[i];
    return sum;
}

/* Errors are sums of squares: those must hold what the values are. */
static tn_status check_squares(const tn_layer_weight *layer, const char *name, tn_error *error) {
    const double most = 1e300, least = 1e-280;
    uint64_t count = layer->rows * layer->columns, i = 0;
    bool fits = layer->squared_norm <= most && layer->squared_norm >= least;
    while (!fits && i < count && layer->w[i] == 0) i++;
    if (fits || i == count || (layer->moments && layer->squared_norm == 0)) return TN_OK;
    return tn_fail(
        error, TN_INPUT,
        "the squares of the values of layer %.100s sum to %g, which 64-bit floating point does not hold "
        "with all digits; scale the trained weights",
        name, layer->squared_norm);
}

static tn_status measure(tn_layer_weight *layer, const char *name, tn_error *error) {
    uint64_t count = layer->rows * layer->columns;
    if (!layer->moments) {
        layer->squared_norm = tn_sum_of_squares(layer->w, count);
        return check_squares(layer, name, error);
    }
    TN_TRY(tn_covariance_check(&layer->covariance, name, error));
    TN_TRY(tn_alloc(count, sizeof *layer->image, &layer->image, error));
    tn_blas_serial();
    tn_covariance_apply(&layer->covariance, layer->rows, layer->w, layer->image);
    tn_blas_restore();
    layer->squared_norm = fmax(0, dot(layer->image, layer->w, count));
    return check_squares(layer, name, error);
}

tn_status tn_layer_weight_open(double *w, uint64_t rows, uint64_t columns, tn_covariance covariance,
                               double *moments, uint64_t width, tn_svd_method method, uint64_t seed,
                               const char *name, tn_layer_weight *layer, tn_error *error) {
    *layer = (tn_layer_weight){.rows = rows,
                               .columns = columns,
                               .w = w,
                               .covariance = covariance,
                               .moments = moments,
                               .width = width,
                               .method = method,
                               .seed = seed};
    layer->covariance.values = moments;
    tn_status status = measure(layer, name, error);
    if (status != TN_OK) tn_layer_weight_close(layer);
    return status;
}

void tn_layer_weight_close(tn_layer_weight *layer) {
    for (size_t i = 0; i < layer->cuts; i++) tn_middle_cut_free(&layer->cut[i]);
    tn_free(layer->w);
    tn_free(layer->moments);
    tn_free(layer->image);
    *layer = (tn_layer_weight){0};
}

/* The shared cut that the folding needs, made where it is the first to need it. */
static tn_status find_cut(tn_layer_weight *layer, const tn_weight *weight, const tn_middle_cut **cut,
                          tn_error *error) {
    uint64_t rows_before, columns_before;
    tn_middle_cut_bond(weight, &rows_before, &columns_before);
    for (size_t i = 0; i < layer->cuts; i++) {
        *cut = &layer->cut[i];
        if ((*cut)->rows_before == rows_before && (*cut)->columns_before == columns_before) return TN_OK;
    }
    if (layer->cuts == TN_LAYER_CUTS)
        return tn_fail(error, TN_LIMIT, "more than %d different first cuts; try fewer foldings",
                       TN_LAYER_CUTS);
    *cut = &layer->cut[layer->cuts];
    TN_TRY(tn_middle_cut_make(layer->w, layer->rows, layer->columns, rows_before, columns_before,
                              layer->width, layer->method, layer->seed,
                              layer->moments ? &layer->covariance : NULL, &layer->cut[layer->cuts], error));
    layer->cuts++;
    return TN_OK;
}

/* A TTM of one factor has no bond, and rings and Tucker have no cut to share. */
static tn_status factor_alone(const tn_layer_weight *layer, const tn_weight *weight, bool capped,
                              double tolerance, tn_factored *factored, tn_error *error) {
    double *folded = NULL;
    tn_factor_rule rule = {
        .capped = capped, .tolerance = tolerance, .method = layer->method, .seed = layer->seed};
    if (!tn_fold_moves(weight)) return tn_factor(weight, layer->w, &rule, factored, error);
    TN_TRY(tn_alloc(layer->rows * layer->columns, sizeof *folded, &folded, error));
    tn_status status = tn_fold(weight, layer->w, folded, error);
    if (status == TN_OK) status = tn_factor(weight, folded, &rule, factored, error);
    tn_free(folded);
    return status;
}

tn_status tn_layer_weight_factor(tn_layer_weight *layer, const tn_weight *weight, bool capped,
                                 double tolerance, bool *met, tn_factored *factored, tn_error *error) {
    const tn_middle_cut *cut;
    tn_train train;
    *met = true;
    *factored = (tn_factored){0};
    bool is_train = weight->format == TN_TT || (weight->format == TN_TTM && weight->d > 1);
    if (!is_train) return factor_alone(layer, weight, capped, tolerance, factored, error);
    TN_TRY(find_cut(layer, weight, &cut, error));
    TN_TRY(tn_middle_cut_train(cut, weight, capped ? weight->rank + 1 : NULL, tolerance, met, &train, error));
    if (*met) tn_factored_take_train(&train, weight, factored);
    return TN_OK;
}

/* For V = A B, tr((W - V) C (W - V)^T) from products with the rank in them, A being M x r and B r x N. */
typedef struct {
    double *a, *b;        /* M x r, r x N */
    double *turned;       /* A^T (W C), later B C: r x N */
    double *left, *right; /* A^T A, B C B^T: r x r */
    uint64_t rank;
} product;

static tn_status weigh_product(const tn_layer_weight *layer, product *p, double *squares, tn_error *error) {
    uint64_t m = layer->rows, n = layer->columns, r = p->rank;
    TN_TRY(tn_alloc(r * n, sizeof *p->turned, &p->turned, error));
    TN_TRY(tn_alloc(r * r, sizeof *p->left, &p->left, error));
    TN_TRY(tn_alloc(r * r, sizeof *p->right, &p->right, error));
    tn_dense_multiply(true, false, r, n, m, p->a, layer->image, p->turned);
    double cross = dot(p->turned, p->b, r * n);
    tn_covariance_apply(&layer->covariance, r, p->b, p->turned);
    tn_dense_multiply(false, true, r, r, n, p->turned, p->b, p->right);
    tn_dense_multiply(true, false, r, r, m, p->a, p->a, p->left);
    *squares = fmax(0, layer->squared_norm - 2 * cross + dot(p->left, p->right, r * r));
    return TN_OK;
}

static tn_status weigh_train(const tn_layer_weight *layer, const tn_factored *f, double *squares,
                             tn_error *error) {
    tn_train train = {.cores = f->cores};
    product p = {.rank = f->weight.rank[f->weight.d]};
    tn_fold_modes(&f->weight, train.mode);
    memcpy(train.rank, f->weight.rank, (f->cores + 1) * sizeof *train.rank);
    memcpy(train.core, f->core, f->cores * sizeof *train.core);
    tn_blas_serial();
    tn_status status = tn_train_merge(&train, 0, f->weight.d, &p.a, error);
    if (status == TN_OK) status = tn_train_merge(&train, f->weight.d, f->cores, &p.b, error);
    if (status == TN_OK) status = weigh_product(layer, &p, squares, error);
    tn_blas_restore();
    double *owned[] = {p.a, p.b, p.turned, p.left, p.right};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) tn_free(owned[i]);
    return status;
}

/* The difference itself, weighed. */
static tn_status weigh_difference(const tn_layer_weight *layer, const tn_factored *f, double *squares,
                                  tn_error *error) {
    double *tensor = NULL, *matrix = NULL;
    uint64_t count = layer->rows * layer->columns;
    TN_TRY(tn_factored_rebuild(f, &tensor, error));
    tn_status status = tn_alloc(count, sizeof *matrix, &matrix, error);
    if (status == TN_OK) status = tn_unfold(&f->weight, tensor, matrix, error);
    for (uint64_t i = 0; status == TN_OK && i < count; i++) matrix[i] = layer->w[i] - matrix[i];
    tn_blas_serial();
    if (status == TN_OK)
        status = tn_covariance_squares(&layer->covariance, layer->rows, matrix, squares, error);
    tn_blas_restore();
    tn_free(tensor);
    tn_free(matrix);
    return status;
}

/* Below this share of the norm the sum of products has lost too many digits. */
static const double SUM_TRUSTED = 1e-9;

tn_status tn_layer_weight_error(const tn_layer_weight *layer, const tn_factored *factored, double *squares,
                                tn_error *error) {
    if (!layer->moments) {
        *squares = factored->squared_loss;
        return TN_OK;
    }
    if (factored->weight.format == TN_TT) {
        TN_TRY(weigh_train(layer, factored, squares, error));
        if (*squares > SUM_TRUSTED * layer->squared_norm) return TN_OK;
    }
    return weigh_difference(layer, factored, squares, error);
}
