#include "decompose/dense.h"

#include "base/checked.h"
#include "base/memory.h"

#include <cblas.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    PRODUCT_BLOCK = 512, /* rows or columns of a product's result done at once */
    SUM_BLOCK = 1 << 14, /* values summed at once */
    REDUCE_GROUPS = 8,   /* streams of columns that a reduction runs side by side */
    RESIDUAL_ROWS = 128,
    QR_BLOCK = 64,       /* LAPACK workspace, columns */
    SVD_LIMIT = 1 << 14, /* least dimension of an SVD: its workspace, 4 k^2, is counted in 32 bits */
};

/* Below this share of |a|^2 the difference of two squared norms has lost too many digits. */
static const double DIFFERENCE_TRUSTED = 1e-6;

tn_status tn_dense_check(uint64_t p, uint64_t q, tn_error *error) {
    if (p <= INT_MAX && q <= INT_MAX && tn_least(p, q) <= SVD_LIMIT) return TN_OK;
    return tn_fail(error, TN_LIMIT, "a matrix of %llu x %llu is too large to decompose; at most %d x %d",
                   (unsigned long long)p, (unsigned long long)q, SVD_LIMIT, INT_MAX);
}

/* Splits the longer side of c; each block is a product of its own. */
#define MULTIPLY(name, real, gemm)                                                                           \
    void name(bool transpose_a, bool transpose_b, uint64_t m, uint64_t n, uint64_t k, const real *a,         \
              const real *b, real *c) {                                                                      \
        const bool by_rows = m > n;                                                                          \
        const int lda = (int)(transpose_a ? m : k), ldb = (int)(transpose_b ? k : n);                        \
        const int64_t blocks = (int64_t)(((by_rows ? m : n) + PRODUCT_BLOCK - 1) / PRODUCT_BLOCK);           \
        _Pragma("omp parallel for schedule(static) if (blocks > 1)") for (int64_t block = 0; block < blocks; \
                                                                          block++) {                         \
            uint64_t first = (uint64_t)block * PRODUCT_BLOCK;                                                \
            uint64_t rows = by_rows ? tn_least(PRODUCT_BLOCK, m - first) : m;                                \
            uint64_t columns = by_rows ? n : tn_least(PRODUCT_BLOCK, n - first);                             \
            const real *a_block = by_rows ? a + (transpose_a ? first : first * k) : a;                       \
            const real *b_block = by_rows ? b : b + (transpose_b ? first * k : first);                       \
            gemm(CblasRowMajor, transpose_a ? CblasTrans : CblasNoTrans,                                     \
                 transpose_b ? CblasTrans : CblasNoTrans, (int)rows, (int)columns, (int)k, 1, a_block, lda,  \
                 b_block, ldb, 0, c + (by_rows ? first * n : first), (int)n);                                \
        }                                                                                                    \
    }

MULTIPLY(tn_dense_multiply, double, cblas_dgemm)
MULTIPLY(tn_dense_multiply_single, float, cblas_sgemm)

static double sum_block(const double *x, const double *y, uint64_t count) {
    double sum = 0;
    if (!y) {
        for (uint64_t i = 0; i < count; i++) sum += x[i] * x[i];
        return sum;
    }
    for (uint64_t i = 0; i < count; i++) sum += (x[i] - y[i]) * (x[i] - y[i]);
    return sum;
}

/* Pairwise over blocks, so that the rounding error grows with the logarithm of the count. */
static double sum_pairwise(const double *x, const double *y, uint64_t count) {
    if (count <= SUM_BLOCK) return sum_block(x, y, count);
    uint64_t half = (count / 2 + SUM_BLOCK - 1) / SUM_BLOCK * SUM_BLOCK;
    return sum_pairwise(x, y, half) + sum_pairwise(x + half, y ? y + half : NULL, count - half);
}

double tn_sum_of_squares(const double *x, uint64_t count) {
    return sum_pairwise(x, NULL, count);
}

double tn_sum_of_squared_differences(const double *x, const double *y, uint64_t count) {
    return sum_pairwise(x, y, count);
}

uint64_t tn_first_not_finite(const double *x, uint64_t count) {
    for (uint64_t i = 0; i < count; i++)
        if (!isfinite(x[i])) return i;
    return count;
}

static tn_status residual_directly(uint64_t p, uint64_t q, uint64_t width, const double *a,
                                   const double *basis, const double *b, double *squares, tn_error *error) {
    double *product = NULL;
    TN_TRY(TN_ALLOC(tn_least(p, RESIDUAL_ROWS) * q, &product, error));
    *squares = 0;
    for (uint64_t first = 0; first < p; first += RESIDUAL_ROWS) {
        uint64_t rows = tn_least(p - first, RESIDUAL_ROWS);
        tn_dense_multiply(false, false, rows, q, width, basis + first * width, b, product);
        *squares += tn_sum_of_squared_differences(a + first * q, product, rows * q);
    }
    tn_free(product);
    return TN_OK;
}

tn_status tn_dense_residual(uint64_t p, uint64_t q, uint64_t width, const double *a, const double *basis,
                            const double *b, double *squares, tn_error *error) {
    double whole = tn_sum_of_squares(a, p * q);
    *squares = whole - tn_sum_of_squares(b, width * q);
    if (*squares >= DIFFERENCE_TRUSTED * whole) return TN_OK;
    return residual_directly(p, q, width, a, basis, b, squares, error);
}

/* A C-order p x q matrix is LAPACK's q x p: what it calls U is our V^T and the other way round. */
tn_status tn_dense_svd(uint64_t p, uint64_t q, double *a, double *u, double *s, double *vt, tn_error *error) {
    TN_TRY(tn_dense_check(p, q, error));
    int m = (int)q, n = (int)p, k = (int)tn_least(p, q), info = 0, ask = -1, lwork;
    const char *job = u ? "S" : "N";
    double best, unused;
    int *integers = NULL;
    double *work = NULL;
    dgesdd_(job, &m, &n, a, &m, s, vt ? vt : &unused, &m, u ? u : &unused, &k, &best, &ask, &info, &info);
    if (info == 0 && best > INT_MAX) info = 1;
    if (info != 0) return tn_fail(error, TN_LIMIT, "a matrix of %d x %d is too large to decompose", n, m);
    lwork = (int)best;
    tn_status status = TN_ALLOC((size_t)lwork, &work, error);
    if (status == TN_OK) status = TN_ALLOC(8 * (size_t)k, &integers, error);
    if (status == TN_OK) {
        dgesdd_(job, &m, &n, a, &m, s, vt ? vt : &unused, &m, u ? u : &unused, &k, work, &lwork, integers,
                &info);
        if (info != 0)
            status =
                tn_fail(error, TN_INPUT, "the singular values of a %d x %d matrix do not converge", n, m);
    }
    tn_free(work);
    tn_free(integers);
    return status;
}

/* The upper triangle of a column-major factor, zeros below. */
static void keep_triangle(int n, double *a, int lda) {
    for (int j = 0; j < n; j++)
        memset(a + (size_t)j * (size_t)lda + j + 1, 0, (size_t)(n - 1 - j) * sizeof *a);
}

/* One thin QR is on the transpose of what LAPACK sees, so it works on a column-major copy. */
tn_status tn_dense_qr(uint64_t p, uint64_t q, double *a, double *r, tn_error *error) {
    TN_TRY(tn_dense_check(p, q, error));
    int m = (int)p, n = (int)q, lwork = (int)q * QR_BLOCK, info;
    double *copy = NULL, *work = NULL;
    tn_status status = TN_ALLOC(p * q, &copy, error);
    if (status == TN_OK) status = TN_ALLOC((size_t)lwork + q, &work, error);
    if (status == TN_OK) {
        double *tau = work + lwork;
        for (uint64_t i = 0; i < p; i++)
            for (uint64_t j = 0; j < q; j++) copy[j * p + i] = a[i * q + j];
        dgeqrf_(&m, &n, copy, &m, tau, work, &lwork, &info);
        for (uint64_t i = 0; r && i < q; i++)
            for (uint64_t j = 0; j < q; j++) r[i * q + j] = j >= i ? copy[j * p + i] : 0;
        dorgqr_(&m, &n, &n, copy, &m, tau, work, &lwork, &info);
        for (uint64_t i = 0; i < p; i++)
            for (uint64_t j = 0; j < q; j++) a[i * q + j] = copy[j * p + i];
    }
    tn_free(copy);
    tn_free(work);
    return status;
}

/* One stream of a reduction. The window holds, column-major, a triangle of p rows over `chunk` rows of a^T.
 */
typedef struct {
    double *window, *work, *tau;
    int lwork;
} reducer;

static tn_status reducer_new(reducer *r, uint64_t p, uint64_t chunk, tn_error *error) {
    *r = (reducer){.lwork = (int)p * QR_BLOCK};
    uint64_t window = (p + chunk) * p;
    TN_TRY(TN_ALLOC(window + (uint64_t)r->lwork + p, &r->window, error));
    r->work = r->window + window;
    r->tau = r->work + r->lwork;
    return TN_OK;
}

/* Leaves the triangle of columns first..last-1 of `a` on top of the window. */
static void reduce_stream(const reducer *r, uint64_t p, uint64_t q, const double *a, uint64_t first,
                          uint64_t last, uint64_t chunk) {
    int lda = (int)(p + chunk), n = (int)p, info;
    uint64_t top = 0; /* rows of the triangle so far */
    for (uint64_t index = first; index < last; index += chunk) {
        uint64_t rows = tn_least(chunk, last - index);
        for (uint64_t i = 0; i < p; i++)
            memcpy(r->window + i * (uint64_t)lda + top, a + i * q + index, rows * sizeof *a);
        int m = (int)(top + rows);
        dgeqrf_(&m, &n, r->window, &lda, r->tau, r->work, &r->lwork, &info);
        keep_triangle(n, r->window, lda);
        top = p;
    }
}

/* Puts the triangle of `source` below that of `target` and reduces both to one. */
static void reduce_join(const reducer *target, const reducer *source, uint64_t p, uint64_t chunk) {
    int lda = (int)(p + chunk), m = (int)(2 * p), n = (int)p, info;
    for (uint64_t i = 0; i < p; i++)
        memcpy(target->window + i * (uint64_t)lda + p, source->window + i * (uint64_t)lda,
               p * sizeof(double));
    dgeqrf_(&m, &n, target->window, &lda, target->tau, target->work, &target->lwork, &info);
    keep_triangle(n, target->window, lda);
}

tn_status tn_dense_reduce(uint64_t p, uint64_t q, const double *a, double *l, tn_error *error) {
    TN_TRY(tn_dense_check(p, q, error));
    /* Every stream and every first chunk has at least p columns; later chunks are long against the triangle
     * they are joined to. */
    int64_t groups = (int64_t)(q / (2 * p));
    groups = groups < 1 ? 1 : groups > REDUCE_GROUPS ? REDUCE_GROUPS : groups;
    uint64_t chunk = groups == 1 && q <= 6 * p ? q : p < 64 ? 512 : 4 * p;
    reducer stream[REDUCE_GROUPS] = {{0}};
    tn_status status = TN_OK;
    for (int64_t g = 0; g < groups && status == TN_OK; g++) status = reducer_new(&stream[g], p, chunk, error);
    if (status == TN_OK) {
#pragma omp parallel for schedule(static) if (groups > 1)
        for (int64_t g = 0; g < groups; g++)
            reduce_stream(&stream[g], p, q, a, q * (uint64_t)g / (uint64_t)groups,
                          q * (uint64_t)(g + 1) / (uint64_t)groups, chunk);
        for (int64_t g = 1; g < groups; g++) reduce_join(&stream[0], &stream[g], p, chunk);
        /* The column-major triangle R of a^T is, read in C order, R^T = l. */
        for (uint64_t i = 0; i < p; i++) memcpy(l + i * p, stream[0].window + i * (p + chunk), p * sizeof *l);
    }
    for (int64_t g = 0; g < groups; g++) tn_free(stream[g].window);
    return status;
}

void tn_dense_normalise(double *x, uint64_t count, int *exponent) {
    enum { COMMON = 128 }; /* 2^128 squared, times any number of elements, is far from 2^1024 */
    double largest = 0;
    for (uint64_t i = 0; i < count; i++) largest = fmax(largest, fabs(x[i]));
    frexp(largest, exponent);
    if (largest == 0 || abs(*exponent) <= COMMON) *exponent = 0;
    for (uint64_t i = 0; *exponent != 0 && i < count; i++) x[i] = ldexp(x[i], -*exponent);
}

static const double ASYMMETRY_MOST = 1e-6, NEGATIVE_MOST = 1e-6;

tn_status tn_covariance_check(const tn_covariance *c, const char *name, tn_error *error) {
    uint64_t n = c->inputs, count = c->diagonal ? n : n * n, bad = tn_first_not_finite(c->values, count);
    if (bad < count)
        return tn_fail(error, TN_INPUT, "%s holds a value that is not finite at (%llu, %llu)", name,
                       (unsigned long long)(bad / (c->diagonal ? 1 : n)), (unsigned long long)(bad % n));
    double largest = 0;
    for (uint64_t i = 0; i < n; i++) {
        double entry = c->values[c->diagonal ? i : i * n + i];
        if (entry < 0)
            return tn_fail(error, TN_INPUT, "%s: diagonal entry %llu is negative; second moments are not",
                           name, (unsigned long long)i);
        largest = fmax(largest, entry);
    }
    for (uint64_t i = 0; !c->diagonal && i < n; i++)
        for (uint64_t j = 0; j < i; j++)
            if (fabs(c->values[i * n + j] - c->values[j * n + i]) > ASYMMETRY_MOST * largest)
                return tn_fail(error, TN_INPUT, "%s is not symmetric at (%llu, %llu); second moments are",
                               name, (unsigned long long)i, (unsigned long long)j);
    return TN_OK;
}

void tn_covariance_apply(const tn_covariance *c, uint64_t rows, const double *a, double *product) {
    uint64_t n = c->inputs;
    if (!c->diagonal) {
        tn_dense_multiply(false, false, rows, n, n, a, c->values, product);
        return;
    }
    for (uint64_t i = 0; i < rows; i++)
        for (uint64_t j = 0; j < n; j++) product[i * n + j] = a[i * n + j] * c->values[j];
}

tn_status tn_covariance_squares(const tn_covariance *c, uint64_t rows, const double *a, double *squares,
                                tn_error *error) {
    uint64_t count = rows * c->inputs;
    double *product = NULL, sum = 0;
    TN_TRY(TN_ALLOC(count, &product, error));
    tn_covariance_apply(c, rows, a, product);
    for (uint64_t i = 0; i < count; i++) sum += product[i] * a[i];
    tn_free(product);
    *squares = fmax(sum, 0);
    return TN_OK;
}

tn_status tn_dense_eigen(uint64_t n, double *a, double *value, tn_error *error) {
    int size = (int)n, ask = -1, info = 0, few = 0, lwork, liwork;
    double best = 0, *work = NULL;
    int *integers = NULL;
    dsyevd_("V", "U", &size, a, &size, value, &best, &ask, &few, &ask, &info);
    lwork = (int)best;
    liwork = few;
    TN_TRY(TN_ALLOC((size_t)lwork, &work, error));
    tn_status status = TN_ALLOC((size_t)liwork, &integers, error);
    if (status == TN_OK) dsyevd_("V", "U", &size, a, &size, value, work, &lwork, integers, &liwork, &info);
    if (info != 0)
        status = tn_fail(error, TN_INPUT, "the eigenvalues of a %d x %d matrix do not converge", size, size);
    tn_free(work);
    tn_free(integers);
    return status;
}

static tn_status directions(const tn_covariance *c, uint64_t rows, const double *a, double *product,
                            double *gram, double *u, double *value, tn_error *error) {
    tn_covariance_apply(c, rows, a, product);
    tn_dense_multiply(false, true, rows, rows, c->inputs, product, a, gram);
    TN_TRY(tn_dense_eigen(rows, gram, value, error));
    if (value[0] < -NEGATIVE_MOST * fabs(value[rows - 1]))
        return tn_fail(error, TN_INPUT,
                       "the covariance is not positive semidefinite: W C W^T has the eigenvalue %g beside %g",
                       value[0], value[rows - 1]);
    for (uint64_t k = 0; k < rows; k++)
        for (uint64_t i = 0; i < rows; i++) u[i * rows + k] = gram[(rows - 1 - k) * rows + i];
    for (uint64_t k = 0; k < rows / 2; k++) {
        double swap = value[k];
        value[k] = value[rows - 1 - k];
        value[rows - 1 - k] = swap;
    }
    for (uint64_t k = 0; k < rows; k++) value[k] = sqrt(fmax(value[k], 0));
    return TN_OK;
}

tn_status tn_covariance_directions(const tn_covariance *c, uint64_t rows, const double *a, double *u,
                                   double *value, tn_error *error) {
    double *product = NULL, *gram = NULL;
    TN_TRY(tn_dense_check(rows, rows, error));
    TN_TRY(TN_ALLOC(rows * c->inputs, &product, error));
    tn_status status = TN_ALLOC(rows * rows, &gram, error);
    if (status == TN_OK) status = directions(c, rows, a, product, gram, u, value, error);
    tn_free(product);
    tn_free(gram);
    return status;
}
