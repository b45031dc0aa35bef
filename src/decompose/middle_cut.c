#include "decompose/middle_cut.h"

#include "base/checked.h"
#include "base/guard.h"
#include "base/memory.h"
#include "decompose/dense.h"
#include "decompose/ttsvd.h"

#include <math.h>
#include <string.h>

size_t tn_middle_cut_bond(const tn_weight *weight, uint64_t *rows_before, uint64_t *columns_before) {
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
                const double *source = w + (a * rows_behind + i) * columns + b * columns_behind;
                double *target = out + ((a * columns_before + b) * rows_behind + i) * columns_behind;
                memcpy(target, source, columns_behind * sizeof *target);
            }
}

static tn_status cut_plainly(uint64_t width, tn_svd_method method, uint64_t seed, tn_middle_cut *h,
                             tn_error *error) {
    tn_svd_rule rule = {.cap = width, .tail = -1, .method = method, .seed = seed, .singular = true};
    tn_truncated_svd cut;
    TN_TRY(tn_truncated_svd_make(h->p, h->q, h->matrix, &rule, &cut, error));
    h->width = cut.rank;
    h->left = cut.u;
    h->right = cut.rest;
    h->value = cut.value;
    h->value_norm = h->squared_norm;
    h->tail_norm = cut.squared_loss;
    h->squared_excess = cut.squared_excess;
    h->randomised = cut.randomised;
    cut.u = cut.rest = cut.value = NULL;
    tn_truncated_svd_free(&cut);
    return TN_OK;
}

/* The leading columns of all directions. */
static tn_status cut_for_output(uint64_t width, const tn_covariance *covariance, tn_middle_cut *h,
                                tn_error *error) {
    double *u = NULL;
    h->width = width < h->p ? width : h->p;
    TN_TRY(TN_ALLOC(h->p * h->p, &u, error));
    tn_status status = TN_ALLOC(h->p, &h->value, error);
    if (status == TN_OK) status = TN_ALLOC(h->p * h->width, &h->left, error);
    if (status == TN_OK) status = tn_covariance_directions(covariance, h->p, h->matrix, u, h->value, error);
    if (status == TN_OK) {
        for (uint64_t i = 0; i < h->p; i++)
            memcpy(h->left + i * h->width, u + i * h->p, h->width * sizeof *u);
        h->value_norm = tn_sum_of_squares(h->value, h->p);
        h->tail_norm = tn_sum_of_squares(h->value + h->width, h->p - h->width);
        status = TN_ALLOC(h->width * h->q, &h->right, error);
    }
    if (status == TN_OK) tn_dense_multiply(true, false, h->width, h->q, h->p, h->left, h->matrix, h->right);
    tn_free(u);
    return status;
}

static tn_status make(const double *w, uint64_t rows, uint64_t columns, uint64_t width, tn_svd_method method,
                      uint64_t seed, const tn_covariance *covariance, tn_middle_cut *h, tn_error *error) {
    bool plain = h->rows_before == rows && h->columns_before == 1;
    if (!plain) {
        TN_TRY(TN_ALLOC(rows * columns, &h->owned, error));
        regroup(w, rows, columns, h->rows_before, h->columns_before, h->owned);
    }
    h->matrix = plain ? w : h->owned;
    h->squared_norm = tn_sum_of_squares(w, rows * columns);
    if (plain && covariance) return cut_for_output(width, covariance, h, error);
    return cut_plainly(width, method, seed, h, error);
}

tn_status tn_middle_cut_make(const double *w, uint64_t rows, uint64_t columns, uint64_t rows_before,
                             uint64_t columns_before, uint64_t width, tn_svd_method method, uint64_t seed,
                             const tn_covariance *covariance, tn_middle_cut *middle, tn_error *error) {
    *middle = (tn_middle_cut){.rows_before = rows_before,
                              .columns_before = columns_before,
                              .p = rows_before * columns_before,
                              .q = rows / rows_before * (columns / columns_before)};
    tn_blas_serial();
    tn_status status = make(w, rows, columns, width, method, seed, covariance, middle, error);
    tn_blas_restore();
    if (status != TN_OK) tn_middle_cut_free(middle);
    return status;
}

void tn_middle_cut_free(tn_middle_cut *middle) {
    tn_free(middle->owned);
    tn_free(middle->left);
    tn_free(middle->right);
    tn_free(middle->value);
    *middle = (tn_middle_cut){0};
}

/* What a candidate asks for, and where its modes split. */
typedef struct {
    uint64_t mode[TN_TRAIN_MODES];
    size_t modes, bond;
    const uint64_t *cap;
    double tail, tail_right; /* before the first cut and at it, in the measure of s; behind it */
    uint64_t rank;           /* at the first cut */
} plan;

/* The rank at the first cut, or false where the tail needs more than there is. */
static bool first_rank(const tn_middle_cut *h, plan *p) {
    tn_svd_rule rule = {.cap = p->cap ? p->cap[p->bond - 1] : UINT64_MAX, .tail = p->tail};
    double lost;
    p->rank = tn_svd_rank(h->value, h->width, h->tail_norm, &rule, &lost);
    return p->tail < 0 || p->rank < h->width || rule.cap <= h->width || h->tail_norm <= p->tail * p->tail;
}

uint64_t tn_middle_cut_least_parameters(const tn_middle_cut *middle, const tn_weight *weight,
                                        double tolerance) {
    plan p = {.tail = tn_train_tail(tolerance, middle->value_norm, tn_fold_modes(weight, p.mode) - 1)};
    uint64_t rows_before, columns_before, sum = 0;
    if (!first_rank(middle, &p)) return UINT64_MAX;
    p.modes = tn_fold_modes(weight, p.mode);
    p.bond = tn_middle_cut_bond(weight, &rows_before, &columns_before);
    for (int side = 0; side < 2; side++) {
        uint64_t rank = p.rank;
        const size_t cores = side == 0 ? p.bond : p.modes - p.bond;
        for (size_t k = 0; k < cores; k++) {
            const uint64_t mode = p.mode[side == 0 ? p.bond - 1 - k : p.bond + k],
                           next = k + 1 == cores ? 1 : (rank + mode - 1) / mode;
            const uint64_t size[] = {rank, mode, next};
            uint64_t core;
            if (!tn_product(size, 3, &core) || !tn_add(sum, core, &sum)) return UINT64_MAX;
            rank = next;
        }
    }
    return sum;
}

/* The half of the weight before or behind the first cut, as a folding of its own. */
static tn_weight half_of(const tn_weight *weight, size_t first, size_t last) {
    tn_weight half = {.format = weight->format, .d = (uint32_t)(last - first)};
    memcpy(half.m, weight->m + first, (last - first) * sizeof *half.m);
    memcpy(half.n, weight->n + first, (last - first) * sizeof *half.n);
    return half;
}

/* values (p x rank) with its rows, pairs of a row and a column of W, in the order of the modes, or back. */
static tn_status fold_columns(const tn_weight *half, bool back, uint64_t p, uint64_t rank, double *values,
                              tn_error *error) {
    double *column = NULL;
    TN_TRY(TN_ALLOC(2 * p, &column, error));
    tn_status status = TN_OK;
    for (uint64_t j = 0; status == TN_OK && j < rank; j++) {
        for (uint64_t i = 0; i < p; i++) column[i] = values[i * rank + j];
        status = (back ? tn_unfold : tn_fold)(half, column, column + p, error);
        for (uint64_t i = 0; i < p; i++) values[i * rank + j] = column[p + i];
    }
    tn_free(column);
    return status;
}

static bool left_moves(const tn_weight *weight, const plan *p) {
    return weight->format == TN_TTM && p->bond > 1;
}

/* U diag(s), decomposed with the rank as its last mode. */
static tn_status train_left(const tn_middle_cut *h, const tn_weight *weight, const plan *p, tn_train *train,
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
    TN_TRY(TN_ALLOC(h->p * p->rank, &scaled, error));
    for (uint64_t i = 0; i < h->p; i++)
        for (uint64_t j = 0; j < p->rank; j++)
            scaled[i * p->rank + j] = h->left[i * h->width + j] * h->value[j];
    tn_status status = TN_OK;
    if (left_moves(weight, p)) {
        tn_weight half = half_of(weight, 0, p->bond);
        status = fold_columns(&half, false, h->p, p->rank, scaled, error);
    }
    tn_train_rule rule = {.cap = cap, .tail = tail, .method = TN_SVD_EXACT};
    if (status == TN_OK) status = tn_train_decompose(scaled, mode, p->bond + 1, &rule, train, error);
    tn_free(scaled);
    return status;
}

/* y = Q^T W. Where the left half lost nothing Q lies in the first columns of U, as many as the first cut has kept, so that
 * Q^T W = (Q^T U) (U^T W), which is less work where they are few. */
static tn_status multiply_basis(const tn_middle_cut *h, const plan *p, const tn_train *left,
                                const double *basis, double *y, tn_error *error) {
    const uint64_t rank = left->rank[p->bond];
    double *columns = NULL;
    if (left->squared_loss > 0 || p->rank * (h->p + h->q) >= h->p * h->q) {
        tn_dense_multiply(true, false, rank, h->q, h->p, basis, h->matrix, y);
        return TN_OK;
    }
    TN_TRY(TN_ALLOC((h->p + rank) * p->rank, &columns, error));
    double *turn = columns + h->p * p->rank; /* Q^T U */
    for (uint64_t i = 0; i < h->p; i++)
        memcpy(columns + i * p->rank, h->left + i * h->width, p->rank * sizeof *columns);
    tn_dense_multiply(true, false, rank, p->rank, h->p, basis, columns, turn);
    tn_dense_multiply(false, false, rank, h->q, p->rank, turn, h->right, y);
    tn_free(columns);
    return TN_OK;
}

/* *y = Q^T W, rank x q, for the basis Q that the cores of the left half make; *squares = |W - Q y|^2. */
static tn_status project(const tn_middle_cut *h, const tn_weight *weight, const plan *p, const tn_train *left,
                         double **y, double *squares, tn_error *error) {
    uint64_t rank = left->rank[p->bond];
    double *basis = NULL;
    TN_TRY(tn_train_merge(left, 0, p->bond, &basis, error));
    tn_status status = TN_OK;
    if (left_moves(weight, p)) {
        tn_weight half = half_of(weight, 0, p->bond);
        status = fold_columns(&half, true, h->p, rank, basis, error);
    }
    if (status == TN_OK) status = TN_ALLOC(rank * h->q, y, error);
    if (status == TN_OK) status = multiply_basis(h, p, left, basis, *y, error);
    if (status == TN_OK) {
        status = tn_dense_residual(h->p, h->q, rank, h->matrix, basis, *y, squares, error);
    }
    tn_free(basis);
    return status;
}

/* Y with the rank and the first mode behind the cut as its first mode. */
static tn_status train_right(const tn_middle_cut *h, const tn_weight *weight, const plan *p, uint64_t rank,
                             const double *y, tn_train *train, tn_error *error) {
    size_t modes = p->modes - p->bond;
    bool moves = weight->format == TN_TTM && modes > 1;
    uint64_t mode[TN_TRAIN_MODES];
    double tail[TN_TRAIN_MODES], *folded = NULL;
    tn_status status = TN_OK;
    memcpy(mode, p->mode + p->bond, modes * sizeof *mode);
    mode[0] *= rank;
    for (size_t k = 0; k < modes; k++) tail[k] = p->tail_right;
    if (moves) {
        tn_weight half = half_of(weight, p->bond, p->modes);
        status = TN_ALLOC(rank * h->q, &folded, error);
        for (uint64_t i = 0; status == TN_OK && i < rank; i++)
            status = tn_fold(&half, y + i * h->q, folded + i * h->q, error);
    }
    tn_train_rule rule = {.cap = p->cap ? p->cap + p->bond : NULL, .tail = tail, .method = TN_SVD_EXACT};
    if (status == TN_OK) status = tn_train_decompose(moves ? folded : y, mode, modes, &rule, train, error);
    tn_free(folded);
    return status;
}

/* Moves the cores of both trains into one. */
static void join(const tn_middle_cut *h, const plan *p, double lost, tn_train *left, tn_train *right,
                 tn_train *train) {
    *train = (tn_train){.cores = p->modes,
                        .rank[0] = 1,
                        .squared_norm = h->squared_norm,
                        .squared_loss = lost + right->squared_loss,
                        .squared_excess = h->squared_excess,
                        .randomised = h->randomised};
    memcpy(train->mode, p->mode, p->modes * sizeof *p->mode);
    for (size_t k = 0; k < p->modes; k++) {
        bool before = k < p->bond;
        tn_train *source = before ? left : right;
        size_t index = before ? k : k - p->bond;
        train->core[k] = source->core[index];
        train->rank[k + 1] = source->rank[index + 1];
        source->core[index] = NULL;
    }
}

static tn_status train_both(const tn_middle_cut *h, const tn_weight *weight, const plan *p, tn_train *left,
                            tn_train *right, tn_train *train, tn_error *error) {
    double *y = NULL, lost = 0;
    TN_TRY(train_left(h, weight, p, left, error));
    tn_status status = project(h, weight, p, left, &y, &lost, error);
    if (status == TN_OK) status = train_right(h, weight, p, left->rank[p->bond], y, right, error);
    if (status == TN_OK) join(h, p, lost, left, right, train);
    tn_free(y);
    return status;
}

tn_status tn_middle_cut_train(const tn_middle_cut *middle, const tn_weight *weight, const uint64_t *cap,
                              double tolerance, bool *met, tn_train *train, tn_error *error) {
    plan p = {.cap = cap};
    uint64_t rows_before, columns_before;
    *train = (tn_train){0};
    p.modes = tn_fold_modes(weight, p.mode);
    p.bond = tn_middle_cut_bond(weight, &rows_before, &columns_before);
    p.tail = tn_train_tail(tolerance, middle->value_norm, p.modes - 1);
    p.tail_right = tn_train_tail(tolerance, middle->squared_norm, p.modes - 1);
    *met = first_rank(middle, &p);
    if (!*met) return TN_OK;
    tn_train left = {0}, right = {0};
    tn_blas_serial();
    tn_status status = train_both(middle, weight, &p, &left, &right, train, error);
    tn_blas_restore();
    tn_train_free(&left);
    tn_train_free(&right);
    return status;
}
