/* The first cut of a weight matrix, made once and shared by every candidate folding and rank.
 *
 * A train of any folding has one bond in its middle that splits the matrix W in the same way: for TT the bond
 * between the factors of M and those of N, where the unfolding is W itself whatever the factors; for TTM the
 * bond at which the row factors before it multiply to P_m and the column factors to P_n. Its singular value
 * decomposition W ~ U diag(s) V^T costs most of a TT-SVD. With it at hand a candidate takes
 *   1. the left half: U diag(s), small, decomposed from the left as in decompose/ttsvd.h. The orthogonal right
 *      factor V^T leaves singular values and left singular vectors unchanged, so the cuts are those of W itself at
 *      this rank; what counts of it is its orthonormal basis Q;
 *   2. one product Y = Q^T W; where the left half lost nothing, as for plain low rank, Q lies in the columns of U that were
 *      kept and two small ones do: (Q^T U) (U^T W);
 *   3. the right half: Y, small, decomposed from the left.
 * Each step is an orthogonal projection of what the one before left, so the squared error is exactly
 * |W - Q Y|^2 + (what the right half cuts), and like that of left-to-right TT-SVD at most (number of bonds)
 * times the best. (The trains of the two orders differ slightly, neither is better in general.)
 *
 * With second moments C of the input (TT only), U holds the leading directions of W C W^T and s the square
 * roots of its eigenvalues: the left half then keeps what matters most for the layer's output. The right half
 * is cut for the plain error, as C does not fold.
 */
#ifndef TN_DECOMPOSE_MIDDLE_CUT_H
#define TN_DECOMPOSE_MIDDLE_CUT_H

#include "base/error.h"
#include "base/public.h"
#include "decompose/dense.h"
#include "decompose/truncated_svd.h"
#include "decompose/ttsvd.h"
#include "tensor/weight.h"

#include <stddef.h>
#include <stdint.h>

TN_PUBLIC_BEGIN

typedef struct tn_middle_cut {
    uint64_t rows_before, columns_before; /* P_m, P_n */
    uint64_t p, q;                        /* of the regrouped matrix: P_m P_n and the rest */
    const double *matrix;                 /* W regrouped, p x q */
    double *owned;                        /* the same where it had to be copied */
    uint64_t width;                       /* columns of U */
    double *left;                         /* U, p x width */
    double *right;                        /* U^T W, width x q */
    double *value;                        /* s[width], falling */
    double squared_norm;                  /* |W|^2 */
    double value_norm;                    /* sum of all squares of s: |W|^2, or tr(W C W^T) */
    double tail_norm;                     /* what of value_norm lies beyond `width` */
    double squared_excess;                /* see decompose/truncated_svd.h; at rank = width */
    bool randomised;
} tn_middle_cut;

/* Where the first cut of a weight's train lies: the number of modes before it, and P_m and P_n. TT: between M
 * and N. TTM: the bond of least |log p - log q|; d >= 2. */
size_t tn_middle_cut_bond(const tn_weight *weight, uint64_t *rows_before, uint64_t *columns_before);

/* w is rows x columns and must live as long as *halves. width: most rank that any candidate will ask for at
 * this bond. covariance NULL: plain. */
tn_status tn_middle_cut_make(const double *w, uint64_t rows, uint64_t columns, uint64_t rows_before,
                             uint64_t columns_before, uint64_t width, tn_svd_method method, uint64_t seed,
                             const tn_covariance *covariance, tn_middle_cut *halves, tn_error *error);
void tn_middle_cut_free(tn_middle_cut *halves);

/* The train of one candidate, over the modes of tn_fold_modes(weight). `weight` says format and factors,
 * which must have their first cut where these halves have it. cap: [modes - 1] or NULL; tolerance: each of
 * the bonds may lose tolerance / sqrt(bonds) of the norm, negative: any amount. *met = false (and an empty
 * train) where the tolerance asks for more than `width`. train->squared_loss is |W - train|^2, also with a
 * covariance. */
tn_status tn_middle_cut_train(const tn_middle_cut *halves, const tn_weight *weight, const uint64_t *cap,
                              double tolerance, bool *met, tn_train *train, tn_error *error);

/* Parameters that a train of the weight's folding has at least with the rank that the tolerance asks for at the first cut, which
 * follows from its singular values: of two neighbouring bonds one has at most as many as the other times the mode between
 * them. UINT64_MAX: the tolerance asks for more than `width`. */
uint64_t tn_middle_cut_least_parameters(const tn_middle_cut *middle, const tn_weight *weight,
                                        double tolerance);

TN_PUBLIC_END

#endif
