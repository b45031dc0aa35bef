/* One cut: a p x q matrix split as u * rest with orthonormal columns in u, at the rank that a rule allows.
 *
 * Three ways, chosen by sizes and rule alone:
 *   whole          the rule keeps everything that the matrix can have. p <= q: u is the identity and rest the
 *                  matrix itself; p > q: a thin QR. Nothing is lost and no singular value is needed.
 *   exact          by the eigenvectors of the smaller of a a^T and a^T a, a third of the work, where these tell what is asked:
 *                  no value below 1e-4 of the greatest is kept and what is cut off is over 1e-8 of the squared norm, or
 *                  nothing. Squares are known to 1e-16 of the greatest, so that values are right to 1e-8 and more, and u
 *                  is orthonormal to the last digits. Else a singular value decomposition, of the factor of an orthogonal
 *                  reduction where p < q, or p is several times q and no value below a millionth of the greatest is kept
 *   range finder   where the least dimension is over TN_SVD_EXACT_MOST and the rank under a quarter of it
 */
#ifndef TN_DECOMPOSE_TRUNCATED_SVD_H
#define TN_DECOMPOSE_TRUNCATED_SVD_H

#include "base/error.h"
#include "base/public.h"

#include <stdbool.h>
#include <stdint.h>

/* A randomised range finder: an orthonormal basis that holds the leading left singular vectors of a matrix
 * too large for a full decomposition, at the price of a few products with it.
 *
 *     Y = A Omega, Omega Gaussian; two power iterations with re-orthogonalisation; Q = orth(Y); the singular
 *     value decomposition of Q^T A turns Q into approximate singular vectors.
 * Source: Halko, Martinsson, Tropp, "Finding structure with randomness", SIAM Review 53 (2011),
 * algorithms 4.4 and 5.1.
 *
 * What it states is measured on the matrix given, not expected on average. With E = A - Q Q^T A:
 *   - residual_squares = |E|^2 (Frobenius), so what a cut to rank r loses is exactly
 *     residual_squares + sum of value[i]^2 over i >= r, whatever the luck of the draw;
 *   - the least loss that any rank-r matrix has is smaller than that by at most
 *     tn_range_excess = min(|E|^2, r * b), b >= the largest squared singular value of E. It follows from
 *     A^T A = (Q^T A)^T (Q^T A) + E^T E and Weyl's and Ky Fan's inequalities.
 *     b is 4/3 of the largest Ritz value of 24 Lanczos steps from a Gaussian start, a bound that fails with
 *     probability under 1e-7 for matrices of least dimension up to 2^14 (Kuczynski, Wozniakowski, "Estimating
 *     the largest eigenvalue by the power and Lanczos algorithms with a random start", SIAM J. Matrix Anal.
 *     Appl. 13 (1992), theorem 4.2: 1.648 sqrt(n) exp(-sqrt(1/4) (2k - 1))).
 *
 * The products that only turn the basis towards the leading directions are float32, at half the time. The last one with A,
 * and Q^T A from which values and losses are measured, are float64: in float32 they would have a floor of about 1e-7 of
 * the norm under them.
 */

typedef struct tn_range {
    uint64_t width;          /* columns of the basis */
    double *basis;           /* p x width, orthonormal columns, leading singular direction first */
    double *value;           /* [width], approximate singular values, falling, never above the true ones */
    double residual_squares; /* |A - basis basis^T A|^2 */
} tn_range;

/* A is p x q; width at most min(p, q). The same seed gives the same basis. */
tn_status tn_range_find(uint64_t p, uint64_t q, const double *a, uint64_t width, uint64_t seed,
                        tn_range *range, tn_error *error);
void tn_range_free(tn_range *range);

/* *excess >= (squared loss of a cut to `rank` in this basis) - (least squared loss of any matrix of that
 * rank). */
tn_status tn_range_excess(uint64_t p, uint64_t q, const double *a, const tn_range *range, uint64_t rank,
                          uint64_t seed, double *excess, tn_error *error);

TN_PUBLIC_BEGIN

enum { TN_SVD_EXACT_MOST = 2048 };

typedef enum tn_svd_method { TN_SVD_AUTO, TN_SVD_EXACT, TN_SVD_RANDOMISED } tn_svd_method;
extern const char *const tn_svd_method_names[]; /* "auto", "exact", "randomised"; ended by NULL */

/* The rank is the least of `cap` and of the smallest one (at least 1) whose tail, the norm of what is cut
 * off, is at most `tail`. UINT64_MAX: no cap. Negative: no tail asked for, so the cap decides. */
typedef struct tn_svd_rule {
    uint64_t cap;
    double tail;
    tn_svd_method method;
    uint64_t seed; /* of the range finder */
    bool singular; /* u must be the singular vectors even where everything is kept */
} tn_svd_rule;

typedef struct tn_truncated_svd {
    uint64_t rank;
    bool whole;            /* u is the identity and rest the matrix: both are NULL */
    bool randomised;       /* by the range finder */
    double *u;             /* p x rank */
    double *rest;          /* rank x q, u^T a */
    double *value;         /* [rank] singular values that were kept; NULL where none were computed */
    double squared_loss;   /* |a - u rest|^2 */
    double squared_excess; /* bound on how much of it a best cut of this rank would have saved; 0 if exact */
} tn_truncated_svd;

tn_status tn_truncated_svd_make(uint64_t p, uint64_t q, const double *a, const tn_svd_rule *rule,
                                tn_truncated_svd *cut, tn_error *error);
void tn_truncated_svd_free(tn_truncated_svd *cut);

/* The rank that a rule allows, given falling singular values, `excess` = the sum of squares that they leave
 * out; *loss = sum of squares cut off. */
uint64_t tn_svd_rank(const double *value, uint64_t count, double excess, const tn_svd_rule *rule,
                     double *loss);

TN_PUBLIC_END

#endif
