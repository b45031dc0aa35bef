/* A weight with values: the cores of one matrix in some format, and how far they are from it. */
#ifndef TN_DECOMPOSE_FACTORED_H
#define TN_DECOMPOSE_FACTORED_H

#include "base/error.h"
#include "base/public.h"
#include "decompose/truncated_svd.h"
#include "decompose/ttsvd.h"
#include "tensor/weight.h"

#include <stdbool.h>
#include <stdint.h>

TN_PUBLIC_BEGIN

typedef struct tn_factored {
    tn_weight weight;            /* with the ranks that were reached */
    uint32_t cores;              /* as tn_weight_cores(&weight) */
    double *core[TN_RANKS_MOST]; /* shaped as tn_weight_core_shape says, C order */
    double squared_norm;         /* |W|^2 */
    double squared_loss;         /* |W - rebuilt|^2, from what was cut */
    double
        squared_excess; /* bound on the part of it that exact cuts might have saved; see decompose/truncated_svd.h */
    bool randomised;
} tn_factored;

/* How to decompose: `weight` of the call holds format, folding and, with `capped`, the most rank of every
 * bond. */
typedef struct tn_factor_rule {
    bool capped;
    double tolerance; /* relative; each of the cuts may lose tolerance / sqrt(cuts) of the norm; negative:
                         none */
    tn_svd_method method;
    uint64_t seed;
} tn_factor_rule;

void tn_factored_free(tn_factored *factored);

/* Moves the cores of a TT or TTM train in. The train is empty afterwards. */
void tn_factored_take_train(tn_train *train, const tn_weight *weight, tn_factored *factored);

/* Makes the cores those of the matrix times 2^exponent, an equal share each; norm and errors are left as they
 * are. */
void tn_factored_scale(tn_factored *factored, int exponent);

/* sqrt(squares / squared_norm); 0 for a matrix of zeros. */
double tn_factored_relative(const tn_factored *factored, double squares);

TN_PUBLIC_END

#endif
