#include "decompose/factored.h"

#include "base/memory.h"
#include "decompose/ttsvd.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void tn_factored_take_train(tn_train *train, const tn_weight *weight, tn_factored *factored) {
    *factored = (tn_factored){.weight = *weight,
                              .cores = (uint32_t)train->cores,
                              .squared_norm = train->squared_norm,
                              .squared_loss = train->squared_loss,
                              .squared_excess = train->squared_excess,
                              .randomised = train->randomised};
    tn_fold_set_ranks(train, &factored->weight);
    memcpy(factored->core, train->core, train->cores * sizeof *train->core);
    *train = (tn_train){0};
}

void tn_factored_free(tn_factored *factored) {
    for (uint32_t k = 0; k < factored->cores; k++) tn_free(factored->core[k]);
    *factored = (tn_factored){0};
}

double tn_factored_relative(const tn_factored *factored, double squares) {
    return factored->squared_norm > 0 ? sqrt(fmax(squares, 0) / factored->squared_norm) : 0;
}

void tn_factored_scale(tn_factored *factored, int exponent) {
    int cores = (int)factored->cores;
    for (int k = 0; exponent != 0 && k < cores; k++) {
        uint64_t shape[TN_RANKS_MOST], elements = 1;
        uint32_t axes = (uint32_t)tn_weight_core_shape(&factored->weight, (uint32_t)k, shape);
        int share = exponent / cores + (k < abs(exponent % cores) ? (exponent > 0 ? 1 : -1) : 0);
        for (uint32_t i = 0; i < axes; i++) elements *= shape[i]; /* of an array in memory */
        for (uint64_t i = 0; i < elements; i++) factored->core[k][i] = ldexp(factored->core[k][i], share);
    }
}
