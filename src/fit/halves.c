#include "fit/halves.h"

#include "base/memory.h"
#include "fit/dense.h"
#include "fit/fold.h"

#include <math.h>
#include <string.h>

size_t tn_halves_bond(const tn_weight *weight, uint64_t *rows_before, uint64_t *columns_before) {
    uint64_t rows = 1, columns = 1;
    double whole = 0, before = 0, least = INFINITY;
    size_t best = 1;
    for (uint32_t k = 0; k < weight->d; k++) {
        rows *= weight->m[k];
        whole += log((double)weight->m[k] * (double)weight->n[k]);
    }
    *rows_before = rows;
    *columns_before = 1;
    if (weight->format != TN_TTM) return weight->d;
    rows = 1;
    for (uint32_t k = 0; k + 1 < weight->d; k++) {
        rows *= weight->m[k];
        columns *= weight->n[k];
        before += log((double)weight->m[k] * (double)weight->n[k]);
        double skew = fabs(whole - 2 * before);
        if (skew >= least) continue;
        least = skew;
        best = k + 1;
        *rows_before = rows;
        *columns_before = columns;
    }
    return best;
}

/* W[(a a'), (b b')] as the matrix [(a b), (a' b')]. */
static void regroup(const double *w, uint64_t rows, uint64_t columns, uint64_t rows_before,
                    uint64_t columns_before, double *out) {
    uint64_t rows_behind = rows / rows_before, columns_behind = columns / columns_before;
    for (uint64_t a = 0; a < rows_before; a++)
        for (uint64_t i = 0; i < rows_behind; i++)
            for (uint64_t b = 0; b < columns_before; b++) {
                const double *from = w + (a * rows_behind + i) * columns + b * columns_behind;
                double *to = out + ((a * columns_before + b) * rows_behind + i) * columns_behind;
                memcpy(to, from, columns_behind * sizeof *to);
            }
}

static tn_status cut_plainly(const double *matrix, uint64_t width, tn_cut_method method, uint64_t seed,
                             tn_halves *h, tn_error *error) {
    tn_cut_rule rule = {.cap = width, .tail = -1, .method = method, .seed = seed, .singular = true};
    tn_cut cut;
    TN_TRY(tn_cut_matrix(h->p, h->q, matrix, &rule, &cut, error));
    h->width = cut.rank;
    h->left = cut.u;
    h->right = cut.rest;
    h->value = cut.value;
    h->beyond = cut.squared_loss;
    h->squared_excess = cut.squared_excess;
    h->randomised = cut.randomised;
    h->squared_norm = tn_sum_of_squares(matrix, h->p * h->q);
    return TN_OK;
}

/* The leading columns of all directions, and W projected on them. */
static tn_status cut_for_output(const double *w, uint64_t width, const tn_covariance *covariance,
                                tn_halves *h, tn_error *error) {
    double *u = NULL;
    h->width = width < h->p ? width : h->p;
    TN_TRY(tn_alloc(h->p * h->p, sizeof *u, &u, error));
    tn_status status = tn_alloc(h->p, sizeof *h->value, &h->value, error);
    if (status == TN_OK) status = tn_alloc(h->p * h->width, sizeof *h->left, &h->left, error);
    if (status == TN_OK) status = tn_alloc(h->width * h->q, sizeof *h->right, &h->right, error);
    if (status == TN_OK) status = tn_covariance_directions(covariance, h->p, w, u, h->value, error);
    if (status == TN_OK) {
        for (uint64_t i = 0; i < h->p; i++)
            memcpy(h->left + i * h->width, u + i * h->p, h->width * sizeof *u);
        tn_dense_multiply(true, false, h->width, h->q, h->p, h->left, w, h->right);
        h->squared_norm = tn_sum_of_squares(h->value, h->p);
        h->beyond = tn_sum_of_squares(h->value + h->width, h->p - h->width);
    }
    tn_free(u);
    return status;
}

static tn_status make(const double *w, uint64_t rows, uint64_t columns, uint64_t width, tn_cut_method method,
                      uint64_t seed, const tn_covariance *covariance, tn_halves *h, tn_error *error) {
    bool plain = h->rows_before == rows && h->columns_before == 1;
    if (plain && covariance) return cut_for_output(w, width, covariance, h, error);
    if (plain) return cut_plainly(w, width, method, seed, h, error);
    double *matrix = NULL;
    TN_TRY(tn_alloc(rows * columns, sizeof *matrix, &matrix, error));
    regroup(w, rows, columns, h->rows_before, h->columns_before, matrix);
    tn_status status = cut_plainly(matrix, width, method, seed, h, error);
    tn_free(matrix);
    return status;
}

tn_status tn_halves_make(const double *w, uint64_t rows, uint64_t columns, uint64_t rows_before,
                         uint64_t columns_before, uint64_t width, tn_cut_method method, uint64_t seed,
                         const tn_covariance *covariance, tn_halves *halves, tn_error *error) {
    *halves = (tn_halves){.rows_before = rows_before,
                          .columns_before = columns_before,
                          .p = rows_before * columns_before,
                          .q = rows / rows_before * (columns / columns_before)};
    tn_blas_serial();
    tn_status status = make(w, rows, columns, width, method, seed, covariance, halves, error);
    tn_blas_restore();
    if (status != TN_OK) tn_halves_free(halves);
    return status;
}

void tn_halves_free(tn_halves *halves) {
    tn_free(halves->left);
    tn_free(halves->right);
    tn_free(halves->value);
    *halves = (tn_halves){0};
}

/* What a candidate asks for, and where its modes split. */
typedef struct {
    uint64_t mode[TN_TRAIN_MODES];
    size_t modes, bond;
    const uint64_t *cap;
    double tail;
    uint64_t rank; /* at the first cut */
    double lost;   /* there */
} plan;

/* The rank at the first cut, or false where the tail needs more than there is. */
static bool first_rank(const tn_halves *h, plan *p) {
    tn_cut_rule rule = {.cap = p->cap ? p->cap[p->bond - 1] : UINT64_MAX, .tail = p->tail};
    p->rank = tn_cut_rank(h->value, h->width, h->beyond, &rule, &p->lost);
    return p->tail < 0 || p->rank < h->width || rule.cap <= h->width || h->beyond <= p->tail * p->tail;
}

/* The half of the weight before or behind the first cut, as a folding of its own. */
static tn_weight half_of(const tn_weight *weight, size_t first, size_t last) {
    tn_weight half = {.format = weight->format, .d = (uint32_t)(last - first)};
    memcpy(half.m, weight->m + first, (last - first) * sizeof *half.m);
    memcpy(half.n, weight->n + first, (last - first) * sizeof *half.n);
    return half;
}

/* scaled (p x rank) with its rows, pairs of a row and a column of W, in the order of the modes. */
static tn_status fold_rows_of(const tn_weight *half, uint64_t p, uint64_t rank, double *scaled,
                              tn_error *error) {
    double *column = NULL;
    TN_TRY(tn_alloc(2 * p, sizeof *column, &column, error));
    tn_status status = TN_OK;
    for (uint64_t j = 0; status == TN_OK && j < rank; j++) {
        for (uint64_t i = 0; i < p; i++) column[i] = scaled[i * rank + j];
        status = tn_fold(half, column, column + p, error);
        for (uint64_t i = 0; i < p; i++) scaled[i * rank + j] = column[p + i];
    }
    tn_free(column);
    return status;
}

/* U diag(s), decomposed with the rank as its last mode. */
static tn_status train_left(const tn_halves *h, const tn_weight *weight, const plan *p, tn_train *train,
                            tn_error *error) {
    uint64_t mode[TN_TRAIN_MODES], cap[TN_TRAIN_MODES];
    double tail[TN_TRAIN_MODES], *scaled = NULL;
    for (size_t k = 0; k < p->bond; k++) {
        bool last = k + 1 == p->bond; /* this bond has its rank already */
        mode[k] = p->mode[k];
        cap[k] = p->cap && !last ? p->cap[k] : UINT64_MAX;
        tail[k] = last ? -1 : p->tail;
    }
    mode[p->bond] = p->rank;
    *train = (tn_train){0};
    TN_TRY(tn_alloc(h->p * p->rank, sizeof *scaled, &scaled, error));
    for (uint64_t i = 0; i < h->p; i++)
        for (uint64_t j = 0; j < p->rank; j++)
            scaled[i * p->rank + j] = h->left[i * h->width + j] * h->value[j];
    tn_status status = TN_OK;
    if (weight->format == TN_TTM && p->bond > 1) {
        tn_weight half = half_of(weight, 0, p->bond);
        status = fold_rows_of(&half, h->p, p->rank, scaled, error);
    }
    tn_train_rule rule = {.cap = cap, .tail = tail, .method = TN_CUT_EXACT};
    if (status == TN_OK) status = tn_train_decompose(scaled, mode, p->bond + 1, &rule, train, error);
    tn_free(scaled);
    return status;
}

/* rest diag(1/s) B, the rank with the first mode behind the cut as its first mode. `rest` is rank_left x
 * rank. */
static tn_status train_right(const tn_halves *h, const tn_weight *weight, const plan *p, const double *rest,
                             uint64_t rank_left, tn_train *train, tn_error *error) {
    size_t modes = p->modes - p->bond;
    uint64_t mode[TN_TRAIN_MODES];
    double tail[TN_TRAIN_MODES], *unscaled = NULL, *values = NULL, *folded = NULL;
    memcpy(mode, p->mode + p->bond, modes * sizeof *mode);
    mode[0] *= rank_left;
    for (size_t k = 0; k < modes; k++) tail[k] = p->tail;
    TN_TRY(tn_alloc(rank_left * p->rank, sizeof *unscaled, &unscaled, error));
    for (uint64_t i = 0; i < rank_left; i++)
        for (uint64_t j = 0; j < p->rank; j++)
            unscaled[i * p->rank + j] = h->value[j] > 0 ? rest[i * p->rank + j] / h->value[j] : 0;
    tn_status status = tn_alloc(2 * rank_left * h->q, sizeof *values, &values, error);
    if (status == TN_OK) {
        folded = values + rank_left * h->q;
        tn_dense_multiply(false, false, rank_left, h->q, p->rank, unscaled, h->right, values);
    }
    bool moves = weight->format == TN_TTM && modes > 1;
    tn_weight half = half_of(weight, moves ? p->bond : 0, moves ? p->modes : 0);
    for (uint64_t i = 0; status == TN_OK && moves && i < rank_left; i++)
        status = tn_fold(&half, values + i * h->q, folded + i * h->q, error);
    tn_train_rule rule = {.cap = p->cap ? p->cap + p->bond : NULL, .tail = tail, .method = TN_CUT_EXACT};
    if (status == TN_OK)
        status = tn_train_decompose(moves ? folded : values, mode, modes, &rule, train, error);
    tn_free(unscaled);
    tn_free(values);
    return status;
}

/* Moves the cores of both trains into one. */
static void join(const tn_halves *h, const plan *p, tn_train *left, tn_train *right, tn_train *train) {
    *train = (tn_train){.cores = p->modes,
                        .rank[0] = 1,
                        .squared_norm = h->squared_norm,
                        .squared_loss = p->lost + left->squared_loss + right->squared_loss,
                        .squared_excess = h->squared_excess,
                        .randomised = h->randomised};
    memcpy(train->mode, p->mode, p->modes * sizeof *p->mode);
    for (size_t k = 0; k < p->modes; k++) {
        bool before = k < p->bond;
        tn_train *from = before ? left : right;
        size_t at = before ? k : k - p->bond;
        train->core[k] = from->core[at];
        train->rank[k + 1] = from->rank[at + 1];
        from->core[at] = NULL;
    }
}

tn_status tn_halves_train(const tn_halves *halves, const tn_weight *weight, const uint64_t *cap, double tail,
                          bool *met, tn_train *train, tn_error *error) {
    plan p = {.cap = cap, .tail = tail};
    uint64_t rows_before, columns_before;
    *train = (tn_train){0};
    p.modes = tn_fold_modes(weight, p.mode);
    p.bond = tn_halves_bond(weight, &rows_before, &columns_before);
    *met = first_rank(halves, &p);
    if (!*met) return TN_OK;
    tn_train left, right = {0};
    tn_blas_serial();
    tn_status status = train_left(halves, weight, &p, &left, error);
    if (status == TN_OK)
        status = train_right(halves, weight, &p, left.core[p.bond], left.rank[p.bond], &right, error);
    tn_blas_restore();
    if (status == TN_OK) join(halves, &p, &left, &right, train);
    tn_train_free(&left);
    tn_train_free(&right);
    return status;
}
