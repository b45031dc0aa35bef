#include "decompose/factor.h"

#include "base/memory.h"
#include "decompose/dense.h"
#include "decompose/fold.h"
#include "decompose/ring.h"
#include "decompose/tucker.h"

#include <stdbool.h>
#include <string.h>

static tn_status factor_train(const tn_weight *weight, const double *folded, const tn_factor_rule *rule,
                              tn_factored *factored, tn_error *error) {
    uint64_t mode[TN_TRAIN_MODES], elements = 1;
    double tail[TN_TRAIN_MODES];
    size_t modes = tn_fold_modes(weight, mode);
    for (size_t k = 0; k < modes; k++) elements *= mode[k]; /* of an array in memory */
    double each = rule->tolerance < 0
                      ? -1
                      : tn_train_tail(rule->tolerance, tn_sum_of_squares(folded, elements), modes - 1);
    for (size_t k = 0; k < modes; k++) tail[k] = each;
    tn_train_rule train_rule = {.cap = rule->capped ? weight->rank + 1 : NULL,
                                .tail = tail,
                                .method = rule->method,
                                .seed = rule->seed};
    tn_train train;
    TN_TRY(tn_train_decompose(folded, mode, modes, &train_rule, &train, error));
    tn_factored_take_train(&train, weight, factored);
    return TN_OK;
}

tn_status tn_factor(const tn_weight *weight, const double *folded, const tn_factor_rule *rule,
                    tn_factored *factored, tn_error *error) {
    *factored = (tn_factored){0};
    switch (weight->format) {
    case TN_TT:
    case TN_TTM:
        return factor_train(weight, folded, rule, factored, error);
    case TN_RING:
        return tn_ring_factor(weight, folded, rule, factored, error);
    case TN_TUCKER:
        return tn_tucker_factor(weight, folded, rule, factored, error);
    default:
        return tn_fail(error, TN_INPUT,
                       "trained weights can't be decomposed into format %s; use tt, ttm, tr or tucker",
                       tn_format_names[weight->format]);
    }
}

/* The cores as a train that must not be freed. */
static tn_train train_of(const tn_factored *f) {
    tn_train train = {.cores = f->cores};
    tn_fold_modes(&f->weight, train.mode);
    memcpy(train.rank, f->weight.rank, (f->cores + 1) * sizeof *train.rank);
    memcpy(train.core, f->core, f->cores * sizeof *train.core);
    return train;
}

static bool is_train(const tn_factored *f) {
    return f->weight.format == TN_TT || f->weight.format == TN_TTM;
}

tn_status tn_factored_rebuild(const tn_factored *factored, double **tensor, tn_error *error) {
    if (factored->weight.format == TN_RING) return tn_ring_rebuild(factored, tensor, error);
    if (factored->weight.format == TN_TUCKER) return tn_tucker_rebuild(factored, tensor, error);
    tn_train train = train_of(factored);
    tn_blas_serial();
    tn_status status = tn_train_merge(&train, 0, train.cores, tensor, error);
    tn_blas_restore();
    return status;
}

tn_status tn_factored_error(const tn_factored *factored, const double *folded, double *squared_error,
                            tn_error *error) {
    if (is_train(factored)) {
        tn_train train = train_of(factored);
        return tn_train_error(&train, folded, squared_error, error);
    }
    uint64_t mode[TN_TRAIN_MODES], elements = 1;
    double *tensor = NULL;
    size_t modes = tn_fold_modes(&factored->weight, mode);
    for (size_t k = 0; k < modes; k++) elements *= mode[k];
    TN_TRY(tn_factored_rebuild(factored, &tensor, error));
    *squared_error = tn_sum_of_squared_differences(folded, tensor, elements);
    tn_free(tensor);
    return TN_OK;
}
