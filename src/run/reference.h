/* What a linear layer must give, from the dense matrix: W rebuilt from its cores, Y = X W^T, dX = dY W,
 * dW = dY^T X, and each core gradient as dW contracted with the other cores. Contractions here are plain
 * loops over index odometers and share nothing with the executor (run/executor.h) that they judge.
 */
#ifndef TN_RUN_REFERENCE_H
#define TN_RUN_REFERENCE_H

#include "base/error.h"
#include "base/memory.h"
#include "base/public.h"
#include "tensor/network.h"
#include "tensor/weight.h"

#include <stdint.h>

TN_PUBLIC_BEGIN

typedef struct tn_reference {
    uint32_t cores;
    double *y, *dx; /* tokens x M, tokens x N */
    double **dcore; /* [cores], shaped like the cores */
} tn_reference;

/* `x` is tokens x N, `dy` tokens x M, core[k] in C order. Everything lives in `arena`. */
tn_status tn_reference_make(const tn_weight *weight, uint64_t tokens, const double *x, const double *dy,
                            const double *const *core, tn_arena *arena, tn_reference *reference,
                            tn_error *error);

/* out (in the order of network->output) = the network's contraction along its cheapest tree. */
tn_status tn_contract_plainly(const tn_network *network, const double *const *values, double *out,
                              tn_error *error);

TN_PUBLIC_END

#endif
