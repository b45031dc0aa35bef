#include "decompose/covariance.h"

#include "base/memory.h"
#include "decompose/dense.h"
#include "decompose/lapack.h"

#include <math.h>

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
    TN_TRY(tn_alloc(count, sizeof *product, &product, error));
    tn_covariance_apply(c, rows, a, product);
    for (uint64_t i = 0; i < count; i++) sum += product[i] * a[i];
    tn_free(product);
    *squares = fmax(sum, 0);
    return TN_OK;
}

/* Eigenvalues of the symmetric `a` rise in `value`; row i of a becomes eigenvector i. */
static tn_status eigen(uint64_t n, double *a, double *value, tn_error *error) {
    int size = (int)n, ask = -1, info = 0, few = 0, lwork, liwork;
    double best = 0, *work = NULL;
    int *integers = NULL;
    dsyevd_("V", "U", &size, a, &size, value, &best, &ask, &few, &ask, &info);
    lwork = (int)best;
    liwork = few;
    TN_TRY(tn_alloc((size_t)lwork, sizeof *work, &work, error));
    tn_status status = tn_alloc((size_t)liwork, sizeof *integers, &integers, error);
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
    TN_TRY(eigen(rows, gram, value, error));
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
    TN_TRY(tn_alloc(rows * c->inputs, sizeof *product, &product, error));
    tn_status status = tn_alloc(rows * rows, sizeof *gram, &gram, error);
    if (status == TN_OK) status = directions(c, rows, a, product, gram, u, value, error);
    tn_free(product);
    tn_free(gram);
    return status;
}
