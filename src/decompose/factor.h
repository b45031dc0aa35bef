/* A matrix decomposed into whatever format its weight asks for, and rebuilt from it. */
#ifndef TN_DECOMPOSE_FACTOR_H
#define TN_DECOMPOSE_FACTOR_H

#include "base/error.h"
#include "base/public.h"
#include "decompose/factored.h"

/* Tensor ring: a train whose first and last bond are one, by TR-SVD. The first unfolding is cut and its rank
 * split between the closing bond and the first inner one, as evenly as the first mode allows; what is left,
 * with the closing bond as its last mode, is decomposed from the left. The columns of every cut are
 * orthonormal, so the squared losses add up exactly. The first mode n_1 bounds the product of the two ranks
 * that it carries: a requested rank above sqrt(n_1) is not reached there. Source: Zhao, Zhou, Xie, Zhang,
 * Cichocki, "Tensor ring decomposition", arXiv 1606.05535 (2016), algorithm 1.
 */

/* As tn_factor and tn_factored_rebuild, for TN_RING. */
tn_status tn_ring_factor(const tn_weight *weight, const double *folded, const tn_factor_rule *rule,
                         tn_factored *factored, tn_error *error);
tn_status tn_ring_rebuild(const tn_factored *factored, double **tensor, tn_error *error);

/* Tucker: a factor for every mode and a core tensor, by the sequentially truncated higher-order singular
 * value decomposition. Mode by mode the unfolding of what is left is cut; every cut is an orthogonal
 * projection, so the squared losses add up exactly, to at most (number of modes) times the least possible at
 * those ranks. Source: Vannieuwenhoven, Vandebril, Meerbergen, "A new truncation strategy for the
 * higher-order singular value decomposition", SIAM J. Sci. Comput. 34 (2012).
 */

/* As tn_factor and tn_factored_rebuild, for TN_TUCKER. */
tn_status tn_tucker_factor(const tn_weight *weight, const double *folded, const tn_factor_rule *rule,
                           tn_factored *factored, tn_error *error);
tn_status tn_tucker_rebuild(const tn_factored *factored, double **tensor, tn_error *error);

TN_PUBLIC_BEGIN

/* `folded` is the matrix folded for the weight (decompose/ttsvd.h). TT, TTM, ring and Tucker; TN_INPUT for others.
 */
tn_status tn_factor(const tn_weight *weight, const double *folded, const tn_factor_rule *rule,
                    tn_factored *factored, tn_error *error);

/* *squared_error = |W - rebuilt|^2 by rebuilding. */
tn_status tn_factored_error(const tn_factored *factored, const double *folded, double *squared_error,
                            tn_error *error);
/* *tensor = the rebuilt matrix, folded; tn_free it. */
tn_status tn_factored_rebuild(const tn_factored *factored, double **tensor, tn_error *error);

TN_PUBLIC_END

#endif
