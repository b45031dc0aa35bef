/* Dense matrices in C order, and what decompositions need of them: products, orthogonal reduction, thin QR,
 * singular values. float64 throughout.
 *
 * Results are bit-identical whatever the number of threads: work is split into blocks that depend on the
 * sizes alone, each block is done by one thread with a serial BLAS (base/guard.h), and partial results are
 * joined in one fixed order.
 *
 * A p x q matrix is `double a[p * q]`, row i at a + i * q. Both dimensions and every leading dimension fit 31
 * bits, which LAPACK asks for; tn_dense_check refuses what does not.
 */
#ifndef TN_DECOMPOSE_DENSE_H
#define TN_DECOMPOSE_DENSE_H

#include "base/error.h"
#include "base/public.h"

#include <stdbool.h>
#include <stdint.h>

/* The LAPACK routines of OpenBLAS that this room calls, by their Fortran names: 32-bit integers, column-major
 * matrices, hidden text lengths left out as every C caller on this ABI does. Internal to the room.
 * Dimensions are checked to fit 32 bits where matrices enter (decompose/dense.h). */

/* Singular values and vectors, divide and conquer. */
void dgesdd_(const char *job, const int *m, const int *n, double *a, const int *lda, double *s, double *u,
             const int *ldu, double *vt, const int *ldvt, double *work, const int *lwork, int *iwork,
             int *info);
/* QR factorisation by Householder reflectors, and the orthogonal factor formed. */
void dgeqrf_(const int *m, const int *n, double *a, const int *lda, double *tau, double *work,
             const int *lwork, int *info);
void dorgqr_(const int *m, const int *n, const int *k, double *a, const int *lda, const double *tau,
             double *work, const int *lwork, int *info);
/* Eigenvalues of a symmetric tridiagonal matrix. */
void dsterf_(const int *n, double *d, double *e, int *info);
/* Eigenvalues and vectors of a symmetric matrix. */
void dsyevd_(const char *job, const char *uplo, const int *n, double *a, const int *lda, double *w,
             double *work, const int *lwork, int *iwork, const int *liwork, int *info);

/* Second moments of a layer's input, C = E[x x^T]: N x N, symmetric, positive semidefinite; or its diagonal
 * alone.
 *
 * They turn the error of a weight into the error of what the layer puts out: with D = W - V,
 *     E |D x|^2 = tr(D C D^T)
 * which is the activation-aware squared error; relative to E |W x|^2 = tr(W C W^T).
 */

TN_PUBLIC_BEGIN

typedef struct tn_covariance {
    uint64_t inputs; /* N */
    bool diagonal;   /* values[N], else values[N * N] */
    const double *values;
} tn_covariance;

/* Refuses what is not finite, not symmetric (beyond 1e-6 of the largest entry) or has a negative diagonal
 * entry; `name` is named in the message. */
tn_status tn_covariance_check(const tn_covariance *covariance, const char *name, tn_error *error);

/* product = a C for a of rows x N. */
void tn_covariance_apply(const tn_covariance *covariance, uint64_t rows, const double *a, double *product);

/* *squares = tr(a C a^T), never below 0. */
tn_status tn_covariance_squares(const tn_covariance *covariance, uint64_t rows, const double *a,
                                double *squares, tn_error *error);

/* The leading directions of what the layer puts out: eigenvectors of a C a^T (rows x rows), u rows x rows
 * with the leading first, value[rows] their square roots, falling. TN_INPUT where it has an eigenvalue below
 * -1e-6 of the largest: C is not a matrix of second moments. */
tn_status tn_covariance_directions(const tn_covariance *covariance, uint64_t rows, const double *a, double *u,
                                   double *value, tn_error *error);

TN_PUBLIC_END

/* TN_LIMIT where p x q is beyond what LAPACK's 32-bit integers and this room's workspaces take. */
tn_status tn_dense_check(uint64_t p, uint64_t q, tn_error *error);

/* c (m x n) = op(a) op(b), inner dimension k; op transposes where asked. */
void tn_dense_multiply(bool transpose_a, bool transpose_b, uint64_t m, uint64_t n, uint64_t k,
                       const double *a, const double *b, double *c);

/* The same in float32, for what is measured in float64 afterwards. */
void tn_dense_multiply_single(bool transpose_a, bool transpose_b, uint64_t m, uint64_t n, uint64_t k,
                              const float *a, const float *b, float *c);

/* Sum of the squares, in blocks of fixed size: its rounding does not grow with the count. */
double tn_sum_of_squares(const double *x, uint64_t count);
/* Sum of (x - y)^2. */
double tn_sum_of_squared_differences(const double *x, const double *y, uint64_t count);
/* Multiplies by a power of two such that the largest magnitude is in [0.5, 1), where squares would else lose
 * digits to overflow or underflow; *exponent: x as it was = x 2^*exponent. Values of common sizes are left as
 * they are, with *exponent = 0. */
void tn_dense_normalise(double *x, uint64_t count, int *exponent);
/* Position of the first value that is not finite, or `count`. */
uint64_t tn_first_not_finite(const double *x, uint64_t count);

/* *squares = |a - basis b|^2 for a basis (p x width) of orthonormal columns and b = basis^T a: from the
 * norms, or directly where those differ too little for that. */
tn_status tn_dense_residual(uint64_t p, uint64_t q, uint64_t width, const double *a, const double *basis,
                            const double *b, double *squares, tn_error *error);

/* Thin singular value decomposition a = u diag(s) vt with k = min(p, q): u p x k, s[k] falling, vt k x q.
 * `a` is destroyed. u and vt may both be NULL: values alone. */
tn_status tn_dense_svd(uint64_t p, uint64_t q, double *a, double *u, double *s, double *vt, tn_error *error);

/* Eigenvalues of a symmetric n x n matrix, rising in value[n]; row i of `a` becomes eigenvector i. */
tn_status tn_dense_eigen(uint64_t n, double *a, double *value, tn_error *error);

/* Thin QR of a tall matrix (p >= q) in place: a becomes Q (p x q, orthonormal columns), r is q x q upper
 * triangular; r may be NULL. */
tn_status tn_dense_qr(uint64_t p, uint64_t q, double *a, double *r, tn_error *error);

/* Orthogonal reduction of a wide matrix (p <= q): a = l Q with l (p x p, lower triangular) returned and Q
 * never formed, so that l has the singular values and left singular vectors of a at a fraction of the work.
 * Reads `a` in blocks of columns and keeps no copy of it. Backward stable, unlike the Gram matrix a a^T,
 * which loses the singular values below 1e-8 of the largest. Source: Demmel, Grigori, Hoemmen, Langou,
 * "Communication-optimal parallel and sequential QR and LU factorizations", SIAM J. Sci. Comput. 34 (2012),
 * on the transpose. */
tn_status tn_dense_reduce(uint64_t p, uint64_t q, const double *a, double *l, tn_error *error);

#endif
