/* Dense matrices in C order, and what decompositions need of them: products, orthogonal reduction, thin QR,
 * singular values. float64 throughout.
 *
 * Results are bit-identical whatever the number of threads: work is split into blocks that depend on the
 * sizes alone, each block is done by one thread with a serial BLAS (base/blas.h), and partial results are
 * joined in one fixed order.
 *
 * A p x q matrix is `double a[p * q]`, row i at a + i * q. Both dimensions and every leading dimension fit 31
 * bits, which LAPACK asks for; tn_dense_check refuses what does not.
 */
#ifndef TN_DECOMPOSE_DENSE_H
#define TN_DECOMPOSE_DENSE_H

#include "base/blas.h"
#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

/* TN_LIMIT where p x q is beyond what LAPACK's 32-bit integers and this room's workspaces take. */
tn_status tn_dense_check(uint64_t p, uint64_t q, tn_error *error);

/* c (m x n) = op(a) op(b), inner dimension k; op transposes where asked. */
void tn_dense_multiply(bool transpose_a, bool transpose_b, uint64_t m, uint64_t n, uint64_t k,
                       const double *a, const double *b, double *c);

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
