#include "decompose/range_finder.h"

#include "base/memory.h"
#include "base/random.h"
#include "decompose/dense.h"
#include "decompose/lapack.h"

#include <cblas.h>
#include <math.h>

enum { POWER_ITERATIONS = 2, LANCZOS_STEPS = 24 };

typedef struct {
    double *y; /* p x width */
    double *z; /* q x width, later the width x q matrix Q^T A */
    double *triangle, *turn, *turn_right;
} workspace;

static tn_status find(uint64_t p, uint64_t q, const double *a, uint64_t width, uint64_t seed,
                      const workspace *w, tn_range *range, tn_error *error) {
    TN_TRY(tn_random_fill_normal(seed, w->z, q * width, error));
    tn_dense_multiply(false, false, p, width, q, a, w->z, w->y);
    for (int i = 0; i < POWER_ITERATIONS; i++) {
        TN_TRY(tn_dense_qr(p, width, w->y, NULL, error));
        tn_dense_multiply(true, false, q, width, p, a, w->y, w->z);
        TN_TRY(tn_dense_qr(q, width, w->z, NULL, error));
        tn_dense_multiply(false, false, p, width, q, a, w->z, w->y);
    }
    TN_TRY(tn_dense_qr(p, width, w->y, NULL, error));
    tn_dense_multiply(true, false, width, q, p, w->y, a, w->z);
    TN_TRY(tn_dense_residual(p, q, width, a, w->y, w->z, &range->residual_squares, error));
    TN_TRY(tn_dense_reduce(width, q, w->z, w->triangle, error));
    TN_TRY(tn_dense_svd(width, width, w->triangle, w->turn, range->value, w->turn_right, error));
    tn_dense_multiply(false, false, p, width, width, w->y, w->turn, range->basis);
    return TN_OK;
}

tn_status tn_range_find(uint64_t p, uint64_t q, const double *a, uint64_t width, uint64_t seed,
                        tn_range *range, tn_error *error) {
    *range = (tn_range){.width = width};
    workspace w = {0};
    tn_status status = tn_alloc(p * width, sizeof(double), &range->basis, error);
    if (status == TN_OK) status = tn_alloc(width, sizeof(double), &range->value, error);
    if (status == TN_OK) status = tn_alloc(p * width, sizeof(double), &w.y, error);
    if (status == TN_OK) status = tn_alloc(q * width, sizeof(double), &w.z, error);
    if (status == TN_OK) status = tn_alloc(3 * width * width, sizeof(double), &w.triangle, error);
    if (status == TN_OK) {
        w.turn = w.triangle + width * width;
        w.turn_right = w.turn + width * width;
        status = find(p, q, a, width, seed, &w, range, error);
    }
    tn_free(w.y);
    tn_free(w.z);
    tn_free(w.triangle);
    if (status != TN_OK) tn_range_free(range);
    return status;
}

void tn_range_free(tn_range *range) {
    tn_free(range->basis);
    tn_free(range->value);
    *range = (tn_range){0};
}

/* y = op(A) x in blocks of the result, one thread each. */
static void apply(bool transpose, uint64_t p, uint64_t q, const double *a, const double *x, double *y) {
    enum { BLOCK = 1024 };
    uint64_t count = transpose ? q : p;
    int64_t blocks = (int64_t)((count + BLOCK - 1) / BLOCK);
#pragma omp parallel for schedule(static) if (blocks > 1)
    for (int64_t block = 0; block < blocks; block++) {
        uint64_t first = (uint64_t)block * BLOCK, size = count - first < BLOCK ? count - first : BLOCK;
        if (transpose)
            cblas_dgemv(CblasRowMajor, CblasTrans, (int)p, (int)size, 1.0, a + first, (int)q, x, 1, 0.0,
                        y + first, 1);
        else
            cblas_dgemv(CblasRowMajor, CblasNoTrans, (int)size, (int)q, 1.0, a + first * q, (int)q, x, 1, 0.0,
                        y + first, 1);
    }
}

/* x -= basis basis^T x */
static void leave_range(uint64_t p, const tn_range *range, double *x, double *small) {
    int rows = (int)p, width = (int)range->width;
    cblas_dgemv(CblasRowMajor, CblasTrans, rows, width, 1.0, range->basis, width, x, 1, 0.0, small, 1);
    cblas_dgemv(CblasRowMajor, CblasNoTrans, rows, width, -1.0, range->basis, width, small, 1, 1.0, x, 1);
}

typedef struct {
    double *now, *before, *next; /* [p] */
    double *right;               /* [q] */
    double *small;               /* [width] */
    double diagonal[LANCZOS_STEPS], beside[LANCZOS_STEPS];
} lanczos;

/* Largest Ritz value of E E^T; the Lanczos vectors are not kept, as copies of converged values do no harm to
 * the largest one. */
static double largest_ritz(uint64_t p, uint64_t q, const double *a, const tn_range *range, lanczos *w) {
    leave_range(p, range, w->now, w->small);
    double length = sqrt(tn_sum_of_squares(w->now, p)), beta = 0;
    int steps = 0, info;
    for (uint64_t i = 0; length > 0 && i < p; i++) w->now[i] /= length;
    while (length > 0 && steps < LANCZOS_STEPS) {
        apply(true, p, q, a, w->now, w->right);
        apply(false, p, q, a, w->right, w->next);
        leave_range(p, range, w->next, w->small);
        double alpha = tn_sum_of_squares(w->right, q);
        for (uint64_t i = 0; i < p; i++) w->next[i] -= alpha * w->now[i] + beta * w->before[i];
        beta = sqrt(tn_sum_of_squares(w->next, p));
        w->diagonal[steps] = alpha;
        w->beside[steps++] = beta;
        if (!(beta > 0)) break;
        double *spare = w->before;
        w->before = w->now;
        w->now = w->next;
        w->next = spare;
        for (uint64_t i = 0; i < p; i++) w->now[i] /= beta;
    }
    if (steps == 0) return 0;
    dsterf_(&steps, w->diagonal, w->beside, &info);
    return info == 0 ? w->diagonal[steps - 1] : INFINITY;
}

tn_status tn_range_excess(uint64_t p, uint64_t q, const double *a, const tn_range *range, uint64_t rank,
                          uint64_t seed, double *excess, tn_error *error) {
    lanczos w = {0};
    double *memory = NULL;
    TN_TRY(tn_alloc(3 * p + q + range->width, sizeof *memory, &memory, error));
    w.now = memory;
    w.before = memory + p;
    w.next = memory + 2 * p;
    w.right = memory + 3 * p;
    w.small = w.right + q;
    tn_status status = tn_random_fill_normal(seed + 1, w.now, p, error);
    if (status == TN_OK) {
        double each = 4.0 / 3.0 * largest_ritz(p, q, a, range, &w);
        *excess = fmin(range->residual_squares, (double)rank * each);
    }
    tn_free(memory);
    return status;
}
