/* A matrix decomposed into whatever format its weight asks for, and rebuilt from it. */
#ifndef TN_DECOMPOSE_FACTOR_H
#define TN_DECOMPOSE_FACTOR_H

#include "base/error.h"
#include "base/public.h"
#include "decompose/factored.h"

TN_PUBLIC_BEGIN

/* `folded` is the matrix folded for the weight (decompose/fold.h). TT, TTM, ring and Tucker; TN_INPUT for others.
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
