/* The first cut of a weight matrix, made once and shared by every candidate folding and rank.
 *
 * A train of any folding has one bond in its middle that splits the matrix W in the same way: for TT the bond
 * between the factors of M and those of N, where the unfolding is W itself whatever the factors; for TTM the
 * bond at which the row factors before it multiply to P_m and the column factors to P_n. Cutting there first,
 *     W ~ U B,  U orthonormal (p x width), B = U^T W (width x q),
 * costs what a whole TT-SVD does; what remains for a candidate are the small halves U diag(s) and B,
 * decomposed from the left as in fit/ttsvd.h. All cuts are orthogonal projections of what the one before
 * left, so the squared errors add up exactly here as there, and the same bound against the best train of
 * those ranks holds. (The left-to-right order of fit/ttsvd.h gives slightly different trains of the same
 * quality.)
 *
 * With second moments C of the input (TT only), U holds the leading directions of W C W^T and s the square
 * roots of its eigenvalues: the cuts up to the middle bond then minimise the error of the layer's output.
 * Behind it the factors of N are cut for the plain error, as C does not fold; the error that counts is then
 * measured.
 */
#ifndef TN_FIT_HALVES_H
#define TN_FIT_HALVES_H

#include "base/error.h"
#include "fit/covariance.h"
#include "fit/cut.h"
#include "fit/ttsvd.h"
#include "tensor/weight.h"

#include <stddef.h>
#include <stdint.h>

typedef struct tn_halves {
    uint64_t rows_before, columns_before; /* P_m, P_n */
    uint64_t p, q;                        /* of the regrouped matrix: P_m P_n and the rest */
    uint64_t width;                       /* columns of U kept */
    double *left;                         /* U, p x width */
    double *right;                        /* B, width x q */
    double *value;                        /* s[width], falling */
    double squared_norm;                  /* |W|^2, or tr(W C W^T) */
    double beyond;                        /* squared loss at rank = width */
    double squared_excess;                /* see fit/cut.h; at rank = width */
    bool randomised;
} tn_halves;

/* Where the first cut of a weight's train lies: the number of modes before it, and P_m and P_n. TT: between M
 * and N. TTM: the bond of least |log p - log q|; d >= 2. */
size_t tn_halves_bond(const tn_weight *weight, uint64_t *rows_before, uint64_t *columns_before);

/* w is rows x columns. width: most rank that any candidate will ask for at this bond. covariance NULL: plain.
 */
tn_status tn_halves_make(const double *w, uint64_t rows, uint64_t columns, uint64_t rows_before,
                         uint64_t columns_before, uint64_t width, tn_cut_method method, uint64_t seed,
                         const tn_covariance *covariance, tn_halves *halves, tn_error *error);
void tn_halves_free(tn_halves *halves);

/* The train of one candidate, over the modes of tn_fold_modes(weight). `weight` says format and factors,
 * which must have their first cut where these halves have it. cap: [modes - 1] or NULL; tail: the norm that
 * may be cut at each bond, negative for none. *met = false (and an empty train) where the tail asks for more
 * than `width`. With a covariance train->squared_loss counts the cuts up to the middle bond in its measure
 * and the others plainly: measure the error instead. */
tn_status tn_halves_train(const tn_halves *halves, const tn_weight *weight, const uint64_t *cap, double tail,
                          bool *met, tn_train *train, tn_error *error);

#endif
