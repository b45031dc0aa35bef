#include "decompose/tucker.h"

#include "base/checked.h"
#include "base/memory.h"
#include "decompose/dense.h"
#include "decompose/fold.h"

#include <string.h>

/* A tensor whose modes rotate: the mode at work comes first, and goes to the end when it is done. After all
 * modes the order is the first one again. */
typedef struct {
    uint64_t first, others; /* values is first x others */
    double *values;
} rotating;

/* values (first x others) becomes others x first, read as next_first x the rest. */
static tn_status rotate(rotating *t, uint64_t next_first, tn_error *error) {
    uint64_t count = t->first * t->others;
    double *turned = NULL;
    TN_TRY(tn_alloc(count, sizeof *turned, &turned, error));
    for (uint64_t i = 0; i < t->first; i++)
        for (uint64_t j = 0; j < t->others; j++) turned[j * t->first + i] = t->values[i * t->others + j];
    tn_free(t->values);
    *t = (rotating){next_first, count / next_first, turned};
    return TN_OK;
}

static tn_status identity(uint64_t size, double **matrix, tn_error *error) {
    TN_TRY(tn_alloc(size * size, sizeof **matrix, matrix, error));
    for (uint64_t i = 0; i < size; i++) (*matrix)[i * size + i] = 1;
    return TN_OK;
}

static tn_status cut_mode(rotating *t, uint32_t k, const tn_weight *weight, const tn_factor_rule *rule,
                          double tail, tn_factored *f, tn_error *error) {
    tn_svd_rule cut_rule = {.cap = rule->capped ? weight->rank[k] : UINT64_MAX,
                            .tail = tail,
                            .method = rule->method,
                            .seed = rule->seed + k};
    tn_truncated_svd cut;
    TN_TRY(tn_truncated_svd_make(t->first, t->others, t->values, &cut_rule, &cut, error));
    f->weight.rank[k] = cut.rank;
    f->squared_loss += cut.squared_loss;
    f->squared_excess += cut.squared_excess;
    f->randomised |= cut.randomised;
    if (cut.whole) return identity(cut.rank, &f->core[k], error);
    f->core[k] = cut.u;
    tn_free(t->values);
    t->values = cut.rest;
    t->first = cut.rank;
    tn_free(cut.value);
    return TN_OK;
}

static tn_status factor(const tn_weight *weight, const double *folded, const tn_factor_rule *rule,
                        rotating *t, tn_factored *f, tn_error *error) {
    uint64_t mode[TN_TRAIN_MODES], count;
    size_t modes = tn_fold_modes(weight, mode);
    if (!tn_product(mode, modes, &count))
        return tn_fail(error, TN_OVERFLOW, "the tensor's number of elements does not fit 64 bits");
    TN_TRY(tn_alloc(count, sizeof *t->values, &t->values, error));
    memcpy(t->values, folded, count * sizeof *folded);
    t->first = mode[0];
    t->others = count / mode[0];
    f->squared_norm = tn_sum_of_squares(folded, count);
    double tail = tn_train_tail(rule->tolerance, f->squared_norm, modes);
    for (uint32_t k = 0; k < modes; k++) {
        TN_TRY(cut_mode(t, k, weight, rule, tail, f, error));
        TN_TRY(rotate(t, k + 1 < modes ? mode[k + 1] : f->weight.rank[0], error));
    }
    f->core[modes] = t->values;
    t->values = NULL;
    return TN_OK;
}

tn_status tn_tucker_factor(const tn_weight *weight, const double *folded, const tn_factor_rule *rule,
                           tn_factored *factored, tn_error *error) {
    *factored = (tn_factored){.weight = *weight, .cores = 2 * weight->d + 1};
    factored->weight.rank_count = 2 * weight->d;
    rotating t = {0};
    tn_blas_serial();
    tn_status status = factor(weight, folded, rule, &t, factored, error);
    tn_blas_restore();
    tn_free(t.values);
    if (status != TN_OK) tn_factored_free(factored);
    return status;
}

static tn_status rebuild(const tn_factored *f, const uint64_t *mode, size_t modes, rotating *t,
                         tn_error *error) {
    uint64_t count;
    if (!tn_product(f->weight.rank, modes, &count))
        return tn_fail(error, TN_OVERFLOW, "the core's number of elements does not fit 64 bits");
    TN_TRY(tn_alloc(count, sizeof *t->values, &t->values, error));
    memcpy(t->values, f->core[modes], count * sizeof *t->values);
    t->first = f->weight.rank[0];
    t->others = count / t->first;
    for (size_t k = 0; k < modes; k++) {
        double *grown = NULL;
        TN_TRY(tn_alloc(mode[k] * t->others, sizeof *grown, &grown, error));
        tn_dense_multiply(false, false, mode[k], t->others, t->first, f->core[k], t->values, grown);
        tn_free(t->values);
        t->values = grown;
        t->first = mode[k];
        TN_TRY(rotate(t, k + 1 < modes ? f->weight.rank[k + 1] : mode[0], error));
    }
    return TN_OK;
}

tn_status tn_tucker_rebuild(const tn_factored *factored, double **tensor, tn_error *error) {
    uint64_t mode[TN_TRAIN_MODES];
    size_t modes = tn_fold_modes(&factored->weight, mode);
    rotating t = {0};
    tn_blas_serial();
    tn_status status = rebuild(factored, mode, modes, &t, error);
    tn_blas_restore();
    if (status == TN_OK)
        *tensor = t.values;
    else
        tn_free(t.values);
    return status;
}
