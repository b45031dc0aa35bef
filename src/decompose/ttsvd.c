#include "decompose/ttsvd.h"

#include "base/checked.h"
#include "base/guard.h"
#include "base/memory.h"
#include "decompose/dense.h"

#include <math.h>
#include <string.h>

/* What is left to the right of the cores made so far: (rank * mode) x columns in C order. */
typedef struct {
    const double *values;
    double *owned; /* values where they are ours, else NULL */
    uint64_t columns;
} residue;

static tn_status copy_values(const double *source, uint64_t count, double **target, tn_error *error) {
    TN_TRY(TN_ALLOC(count, target, error));
    memcpy(*target, source, count * sizeof **target);
    return TN_OK;
}

static tn_status identity(uint64_t size, double **matrix, tn_error *error) {
    TN_TRY(TN_ALLOC(size * size, matrix, error));
    for (uint64_t i = 0; i < size; i++) (*matrix)[i * size + i] = 1;
    return TN_OK;
}

/* Makes core k and moves on. */
static tn_status cut_bond(tn_train *train, size_t k, const tn_train_rule *rule, residue *rest,
                          tn_error *error) {
    uint64_t p = train->rank[k] * train->mode[k], q = rest->columns / train->mode[k];
    tn_svd_rule here = {.cap = rule->cap ? rule->cap[k] : UINT64_MAX,
                        .tail = rule->tail ? rule->tail[k] : -1,
                        .method = rule->method,
                        .seed = rule->seed + k};
    tn_truncated_svd cut;
    TN_TRY(tn_truncated_svd_make(p, q, rest->values, &here, &cut, error));
    train->rank[k + 1] = cut.rank;
    train->squared_loss += cut.squared_loss;
    train->squared_excess += cut.squared_excess;
    train->randomised |= cut.randomised;
    rest->columns = q;
    if (cut.whole) return identity(p, &train->core[k], error);
    train->core[k] = cut.u;
    tn_free(cut.value);
    tn_free(rest->owned);
    rest->values = rest->owned = cut.rest;
    return TN_OK;
}

static tn_status decompose(const double *tensor, const tn_train_rule *rule, tn_train *train, residue *rest,
                           tn_error *error) {
    uint64_t elements;
    if (!tn_product(train->mode, train->cores, &elements))
        return tn_fail(error, TN_OVERFLOW, "the tensor's number of elements does not fit 64 bits");
    *rest = (residue){.values = tensor, .columns = elements};
    train->squared_norm = tn_sum_of_squares(tensor, elements);
    for (size_t k = 0; k + 1 < train->cores; k++) TN_TRY(cut_bond(train, k, rule, rest, error));
    size_t last = train->cores - 1;
    train->rank[train->cores] = 1;
    if (!rest->owned)
        return copy_values(rest->values, train->rank[last] * train->mode[last], &train->core[last], error);
    train->core[last] = rest->owned;
    rest->owned = NULL;
    return TN_OK;
}

tn_status tn_train_decompose(const double *tensor, const uint64_t *mode, size_t modes,
                             const tn_train_rule *rule, tn_train *train, tn_error *error) {
    *train = (tn_train){.cores = modes, .rank[0] = 1};
    if (modes < 1 || modes > TN_TRAIN_MODES)
        return tn_fail(error, TN_LIMIT, "a train of %zu cores; 1 to %d are possible", modes, TN_TRAIN_MODES);
    memcpy(train->mode, mode, modes * sizeof *mode);
    residue rest = {0};
    tn_blas_serial();
    tn_status status = decompose(tensor, rule, train, &rest, error);
    tn_blas_restore();
    tn_free(rest.owned);
    if (status != TN_OK) tn_train_free(train);
    return status;
}

void tn_train_free(tn_train *train) {
    for (size_t k = 0; k < train->cores && k < TN_TRAIN_MODES; k++) tn_free(train->core[k]);
    *train = (tn_train){0};
}

double tn_train_tail(double tolerance, double squared_norm, size_t bonds) {
    return tolerance * sqrt(squared_norm) / sqrt(bonds > 0 ? (double)bonds : 1.0);
}

tn_status tn_train_merge(const tn_train *train, size_t first, size_t last, double **merged, tn_error *error) {
    uint64_t rows = train->rank[first] * train->mode[first];
    double *product = NULL;
    TN_TRY(copy_values(train->core[first], rows * train->rank[first + 1], &product, error));
    for (size_t k = first + 1; k < last; k++) {
        uint64_t columns = train->mode[k] * train->rank[k + 1], elements;
        double *next = NULL;
        tn_status status = TN_OK;
        if (!tn_mul(rows, columns, &elements))
            status =
                tn_fail(error, TN_OVERFLOW, "the product of %zu cores does not fit 64 bits", last - first);
        if (status == TN_OK) status = TN_ALLOC(elements, &next, error);
        if (status == TN_OK)
            tn_dense_multiply(false, false, rows, columns, train->rank[k], product, train->core[k], next);
        tn_free(product);
        TN_TRY(status);
        product = next;
        rows *= train->mode[k];
    }
    *merged = product;
    return TN_OK;
}

/* The bond whose two halves hold the fewest elements when each is merged. */
static size_t balanced_bond(const tn_train *train, uint64_t *rows, uint64_t *columns) {
    uint64_t whole = 1, before = 1;
    double least = INFINITY;
    size_t best = 1;
    for (size_t k = 0; k < train->cores; k++) whole *= train->mode[k];
    for (size_t k = 1; k < train->cores; k++) {
        before *= train->mode[k - 1];
        double size = (double)train->rank[k] * ((double)before + (double)(whole / before));
        if (size >= least) continue;
        least = size;
        best = k;
        *rows = before;
        *columns = whole / before;
    }
    return best;
}

static tn_status error_by_blocks(const double *left, const double *right, uint64_t rows, uint64_t columns,
                                 uint64_t rank, const double *tensor, double *squared_error,
                                 tn_error *error) {
    enum { BLOCK_ELEMENTS = 1 << 21 };
    uint64_t step = BLOCK_ELEMENTS / columns;
    step = step < 1 ? 1 : step > rows ? rows : step;
    double *block = NULL;
    TN_TRY(TN_ALLOC(step * columns, &block, error));
    *squared_error = 0;
    for (uint64_t first = 0; first < rows; first += step) {
        uint64_t height = rows - first < step ? rows - first : step;
        tn_dense_multiply(false, false, height, columns, rank, left + first * rank, right, block);
        *squared_error += tn_sum_of_squared_differences(tensor + first * columns, block, height * columns);
    }
    tn_free(block);
    return TN_OK;
}

tn_status tn_train_error(const tn_train *train, const double *tensor, double *squared_error,
                         tn_error *error) {
    if (train->cores == 1) {
        *squared_error = tn_sum_of_squared_differences(tensor, train->core[0], train->mode[0]);
        return TN_OK;
    }
    uint64_t rows = 1, columns = 1;
    size_t bond = balanced_bond(train, &rows, &columns);
    double *left = NULL, *right = NULL;
    tn_blas_serial();
    tn_status status = tn_train_merge(train, 0, bond, &left, error);
    if (status == TN_OK) status = tn_train_merge(train, bond, train->cores, &right, error);
    if (status == TN_OK)
        status = error_by_blocks(left, right, rows, columns, train->rank[bond], tensor, squared_error, error);
    tn_blas_restore();
    tn_free(left);
    tn_free(right);
    return status;
}

tn_status tn_train_parameters(const tn_train *train, uint64_t *parameters, tn_error *error) {
    uint64_t sum = 0;
    for (size_t k = 0; k < train->cores; k++) {
        uint64_t shape[] = {train->rank[k], train->mode[k], train->rank[k + 1]}, core;
        if (!tn_product(shape, 3, &core) || !tn_add(sum, core, &sum))
            return tn_fail(error, TN_OVERFLOW, "the number of parameters does not fit 64 bits");
    }
    *parameters = sum;
    return TN_OK;
}

static tn_status values_of(const double *tensor, uint64_t p, uint64_t q, double *values, tn_error *error) {
    double *work = NULL;
    TN_TRY(tn_dense_check(p, q, error));
    TN_TRY(TN_ALLOC(p <= q ? p * p : p * q, &work, error));
    tn_status status = TN_OK;
    if (p <= q)
        status = tn_dense_reduce(p, q, tensor, work, error);
    else
        memcpy(work, tensor, p * q * sizeof *work);
    if (status == TN_OK) status = tn_dense_svd(p, p <= q ? p : q, work, NULL, values, NULL, error);
    tn_free(work);
    return status;
}

tn_status tn_unfolding_values(const double *tensor, const uint64_t *mode, size_t modes, size_t bond,
                              double **values, uint64_t *count, tn_error *error) {
    uint64_t p, q;
    if (!tn_product(mode, bond, &p) || !tn_product(mode + bond, modes - bond, &q))
        return tn_fail(error, TN_OVERFLOW, "an unfolding's size does not fit 64 bits");
    *count = p < q ? p : q;
    *values = NULL;
    TN_TRY(TN_ALLOC(*count, values, error));
    tn_blas_serial();
    tn_status status = values_of(tensor, p, q, *values, error);
    tn_blas_restore();
    if (status != TN_OK) {
        tn_free(*values);
        *values = NULL;
    }
    return status;
}

size_t tn_fold_modes(const tn_weight *weight, uint64_t *mode) {
    uint32_t d = weight->d;
    if (weight->format == TN_TTM) {
        for (uint32_t k = 0; k < d; k++) mode[k] = weight->m[k] * weight->n[k];
        return d;
    }
    for (uint32_t k = 0; k < d; k++) {
        mode[k] = weight->m[k];
        mode[d + k] = weight->n[k];
    }
    return 2 * (size_t)d;
}

bool tn_fold_moves(const tn_weight *weight) {
    return weight->format == TN_TTM && weight->d > 1;
}

/* place[i] = sum over digits of i of digit * stride; factors and strides from the slowest digit. */
static void place_digits(const uint64_t *factor, const uint64_t *stride, uint32_t d, uint64_t count,
                         uint64_t *place) {
    for (uint64_t i = 0; i < count; i++) {
        uint64_t left = i, index = 0;
        for (uint32_t k = d; k-- > 0;) {
            index += left % factor[k] * stride[k];
            left /= factor[k];
        }
        place[i] = index;
    }
}

tn_status tn_places_make(const tn_weight *weight, tn_places *places, tn_error *error) {
    tn_places *p = places;
    *p = (tn_places){0};
    uint64_t row_stride[TN_FACTORS_MOST], column_stride[TN_FACTORS_MOST], step = 1;
    bool paired = weight->format == TN_TTM;
    TN_TRY(tn_weight_rows(weight, &p->rows, error));
    TN_TRY(tn_weight_columns(weight, &p->columns, error));
    for (uint32_t k = weight->d; k-- > 0;) {
        column_stride[k] = step;
        step *= weight->n[k];
        if (!paired) continue;
        row_stride[k] = step;
        step *= weight->m[k];
    }
    for (uint32_t k = weight->d; !paired && k-- > 0; step *= weight->m[k]) row_stride[k] = step;
    TN_TRY(TN_ALLOC(p->rows + p->columns, &p->row, error));
    p->column = p->row + p->rows;
    place_digits(weight->m, row_stride, weight->d, p->rows, p->row);
    place_digits(weight->n, column_stride, weight->d, p->columns, p->column);
    return TN_OK;
}

void tn_places_free(tn_places *places) {
    tn_free(places->row);
    *places = (tn_places){0};
}

tn_status tn_fold(const tn_weight *weight, const double *w, double *folded, tn_error *error) {
    tn_places p;
    TN_TRY(tn_places_make(weight, &p, error));
    for (uint64_t i = 0; i < p.rows; i++)
        for (uint64_t j = 0; j < p.columns; j++) folded[p.row[i] + p.column[j]] = w[i * p.columns + j];
    tn_places_free(&p);
    return TN_OK;
}

tn_status tn_unfold(const tn_weight *weight, const double *folded, double *w, tn_error *error) {
    tn_places p;
    TN_TRY(tn_places_make(weight, &p, error));
    for (uint64_t i = 0; i < p.rows; i++)
        for (uint64_t j = 0; j < p.columns; j++) w[i * p.columns + j] = folded[p.row[i] + p.column[j]];
    tn_places_free(&p);
    return TN_OK;
}

void tn_fold_set_ranks(const tn_train *train, tn_weight *weight) {
    weight->rank_count = (uint32_t)train->cores + 1;
    for (size_t k = 0; k <= train->cores; k++) weight->rank[k] = train->rank[k];
}
