/* Tensor ring: a train whose first and last bond are one, by TR-SVD. The first unfolding is cut and its rank
 * split between the closing bond and the first inner one, as evenly as the first mode allows; what is left,
 * with the closing bond as its last mode, is decomposed from the left. The columns of every cut are
 * orthonormal, so the squared losses add up exactly. The first mode n_1 bounds the product of the two ranks
 * that it carries: a requested rank above sqrt(n_1) is not reached there. Source: Zhao, Zhou, Xie, Zhang,
 * Cichocki, "Tensor ring decomposition", arXiv 1606.05535 (2016), algorithm 1.
 */
#ifndef TN_DECOMPOSE_RING_H
#define TN_DECOMPOSE_RING_H

#include "base/error.h"
#include "decompose/factored.h"

/* As tn_factor and tn_factored_rebuild, for TN_RING. */
tn_status tn_ring_factor(const tn_weight *weight, const double *folded, const tn_factor_rule *rule,
                         tn_factored *factored, tn_error *error);
tn_status tn_ring_rebuild(const tn_factored *factored, double **tensor, tn_error *error);

#endif
