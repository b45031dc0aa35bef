/* Tucker: a factor for every mode and a core tensor, by the sequentially truncated higher-order singular
 * value decomposition. Mode by mode the unfolding of what is left is cut; every cut is an orthogonal
 * projection, so the squared losses add up exactly, to at most (number of modes) times the least possible at
 * those ranks. Source: Vannieuwenhoven, Vandebril, Meerbergen, "A new truncation strategy for the
 * higher-order singular value decomposition", SIAM J. Sci. Comput. 34 (2012).
 */
#ifndef TN_DECOMPOSE_TUCKER_H
#define TN_DECOMPOSE_TUCKER_H

#include "base/error.h"
#include "decompose/factored.h"

/* As tn_factor and tn_factored_rebuild, for TN_TUCKER. */
tn_status tn_tucker_factor(const tn_weight *weight, const double *folded, const tn_factor_rule *rule,
                           tn_factored *factored, tn_error *error);
tn_status tn_tucker_rebuild(const tn_factored *factored, double **tensor, tn_error *error);

#endif
