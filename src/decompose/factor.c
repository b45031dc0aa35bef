#include "decompose/factor.h"

#include "base/checked.h"
#include "base/guard.h"
#include "base/memory.h"
#include "decompose/dense.h"
#include "decompose/ttsvd.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

/* The first cut and how its rank splits: closing * inner = rank. */
typedef struct {
    uint64_t mode[TN_TRAIN_MODES], count;
    size_t modes;
    uint64_t closing, inner;
} plan;

/* The most even split of at most `rank` under the caps; without caps, of exactly `rank`. */
static void split(plan *p, uint64_t rank, uint64_t closing_cap, uint64_t inner_cap, bool exactly) {
    p->closing = (uint64_t)sqrt((double)rank);
    if (p->closing < 1) p->closing = 1;
    while (exactly && rank % p->closing != 0) p->closing--;
    p->closing = tn_least(p->closing, closing_cap);
    p->inner = tn_least(rank / p->closing, inner_cap);
    p->closing = tn_least(rank / p->inner, closing_cap);
}

/* values (first x others) = the first unfolding turned: (closing, inner), rest -> inner, rest, closing. */
static void close_ring(const plan *p, uint64_t others, const double *rest, double *turned) {
    for (uint64_t c = 0; c < p->closing; c++)
        for (uint64_t i = 0; i < p->inner; i++)
            for (uint64_t j = 0; j < others; j++)
                turned[(i * others + j) * p->closing + c] = rest[(c * p->inner + i) * others + j];
}

/* Core 1 is (closing, n_1, inner): the columns of u, rearranged. */
static tn_status first_core(const plan *p, const double *u, tn_factored *f, tn_error *error) {
    uint64_t rank = p->closing * p->inner;
    TN_TRY(TN_ALLOC(p->mode[0] * rank, &f->core[0], error));
    for (uint64_t c = 0; c < p->closing; c++)
        for (uint64_t n = 0; n < p->mode[0]; n++)
            memcpy(f->core[0] + (c * p->mode[0] + n) * p->inner, u + n * rank + c * p->inner,
                   p->inner * sizeof *u);
    return TN_OK;
}

/* Cores 2 to the last, from the tensor (inner n_2, n_3, .., n_last, closing). */
static tn_status other_cores(const plan *p, const double *tensor, const tn_weight *weight,
                             const tn_factor_rule *rule, double tail, tn_factored *f, tn_error *error) {
    uint64_t mode[TN_TRAIN_MODES], cap[TN_TRAIN_MODES];
    double tails[TN_TRAIN_MODES];
    size_t modes = p->modes - 1;
    for (size_t k = 0; k < modes; k++) {
        mode[k] = p->mode[k + 1] * (k == 0 ? p->inner : 1) * (k + 1 == modes ? p->closing : 1);
        cap[k] = rule->capped ? weight->rank[k + 2] : UINT64_MAX;
        tails[k] = tail;
    }
    tn_train_rule train_rule = {.cap = cap, .tail = tails, .method = rule->method, .seed = rule->seed + 1};
    tn_train train;
    TN_TRY(tn_train_decompose(tensor, mode, modes, &train_rule, &train, error));
    for (size_t k = 0; k < modes; k++) {
        f->core[k + 1] = train.core[k];
        train.core[k] = NULL;
        f->weight.rank[k + 2] = train.rank[k + 1];
    }
    f->weight.rank[0] = f->weight.rank[p->modes] = p->closing;
    f->weight.rank[1] = p->inner;
    f->squared_loss += train.squared_loss;
    f->squared_excess += train.squared_excess;
    f->randomised |= train.randomised;
    tn_train_free(&train);
    return TN_OK;
}

static tn_status after_first_cut(const plan *p, const tn_truncated_svd *cut, const tn_weight *weight,
                                 const tn_factor_rule *rule, double tail, tn_factored *f, tn_error *error) {
    uint64_t others = p->count / p->mode[0];
    double *turned = NULL;
    TN_TRY(first_core(p, cut->u, f, error));
    TN_TRY(TN_ALLOC(cut->rank * others, &turned, error));
    close_ring(p, others, cut->rest, turned);
    tn_status status = other_cores(p, turned, weight, rule, tail, f, error);
    tn_free(turned);
    return status;
}

/* The rank that the tail allows decides the split; then the cut is made at that rank. */
static tn_status ring_factor(const tn_weight *weight, const double *folded, const tn_factor_rule *rule,
                             plan *p, tn_factored *f, tn_error *error) {
    uint64_t others = p->count / p->mode[0], most = tn_least(p->mode[0], others);
    double tail = tn_train_tail(rule->tolerance, f->squared_norm, p->modes - 1);
    tn_svd_rule cut_rule = {
        .cap = most, .tail = tail, .method = rule->method, .seed = rule->seed, .singular = true};
    tn_truncated_svd cut;
    if (rule->tolerance >= 0) {
        TN_TRY(tn_truncated_svd_make(p->mode[0], others, folded, &cut_rule, &cut, error));
        most = cut.rank;
        tn_truncated_svd_free(&cut);
    }
    split(p, most, rule->capped ? weight->rank[0] : UINT64_MAX, rule->capped ? weight->rank[1] : UINT64_MAX,
          !rule->capped);
    cut_rule.cap = p->closing * p->inner;
    cut_rule.tail = -1;
    TN_TRY(tn_truncated_svd_make(p->mode[0], others, folded, &cut_rule, &cut, error));
    f->squared_loss = cut.squared_loss;
    f->squared_excess = cut.squared_excess;
    f->randomised = cut.randomised;
    tn_status status = after_first_cut(p, &cut, weight, rule, tail, f, error);
    tn_truncated_svd_free(&cut);
    return status;
}

tn_status tn_ring_factor(const tn_weight *weight, const double *folded, const tn_factor_rule *rule,
                         tn_factored *factored, tn_error *error) {
    *factored = (tn_factored){.weight = *weight, .cores = 2 * weight->d};
    factored->weight.rank_count = 2 * weight->d + 1;
    plan p = {0};
    p.modes = tn_fold_modes(weight, p.mode);
    if (!tn_product(p.mode, p.modes, &p.count))
        return tn_fail(error, TN_OVERFLOW, "the tensor's number of elements does not fit 64 bits");
    tn_blas_serial();
    factored->squared_norm = tn_sum_of_squares(folded, p.count);
    tn_status status = ring_factor(weight, folded, rule, &p, factored, error);
    tn_blas_restore();
    if (status != TN_OK) tn_factored_free(factored);
    return status;
}

/* Adds the train that value `c` of the closing bond leaves to the tensor. */
static tn_status add_slice(const tn_factored *f, const plan *p, uint64_t c, double *tensor, tn_error *error) {
    size_t last = p->modes - 1;
    tn_train train = {.cores = p->modes};
    uint64_t rows = f->weight.rank[last] * p->mode[last];
    double *column = NULL, *merged = NULL;
    memcpy(train.mode, p->mode, p->modes * sizeof *p->mode);
    memcpy(train.rank, f->weight.rank, (p->modes + 1) * sizeof *f->weight.rank);
    memcpy(train.core, f->core, p->modes * sizeof *f->core);
    train.rank[0] = train.rank[p->modes] = 1;
    train.core[0] = f->core[0] + c * p->mode[0] * p->inner;
    TN_TRY(TN_ALLOC(rows, &column, error));
    for (uint64_t i = 0; i < rows; i++) column[i] = f->core[last][i * p->closing + c];
    train.core[last] = column;
    tn_status status = tn_train_merge(&train, 0, p->modes, &merged, error);
    for (uint64_t i = 0; status == TN_OK && i < p->count; i++) tensor[i] += merged[i];
    tn_free(column);
    tn_free(merged);
    return status;
}

tn_status tn_ring_rebuild(const tn_factored *factored, double **tensor, tn_error *error) {
    plan p = {.closing = factored->weight.rank[0], .inner = factored->weight.rank[1]};
    p.modes = tn_fold_modes(&factored->weight, p.mode);
    double *sum = NULL;
    if (!tn_product(p.mode, p.modes, &p.count))
        return tn_fail(error, TN_OVERFLOW, "the tensor's number of elements does not fit 64 bits");
    TN_TRY(TN_ALLOC(p.count, &sum, error));
    tn_status status = TN_OK;
    tn_blas_serial();
    for (uint64_t c = 0; c < p.closing && status == TN_OK; c++)
        status = add_slice(factored, &p, c, sum, error);
    tn_blas_restore();
    if (status == TN_OK)
        *tensor = sum;
    else
        tn_free(sum);
    return status;
}

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
    TN_TRY(TN_ALLOC(count, &turned, error));
    for (uint64_t i = 0; i < t->first; i++)
        for (uint64_t j = 0; j < t->others; j++) turned[j * t->first + i] = t->values[i * t->others + j];
    tn_free(t->values);
    *t = (rotating){next_first, count / next_first, turned};
    return TN_OK;
}

static tn_status identity(uint64_t size, double **matrix, tn_error *error) {
    TN_TRY(TN_ALLOC(size * size, matrix, error));
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

static tn_status tucker_factor(const tn_weight *weight, const double *folded, const tn_factor_rule *rule,
                               rotating *t, tn_factored *f, tn_error *error) {
    uint64_t mode[TN_TRAIN_MODES], count;
    size_t modes = tn_fold_modes(weight, mode);
    if (!tn_product(mode, modes, &count))
        return tn_fail(error, TN_OVERFLOW, "the tensor's number of elements does not fit 64 bits");
    TN_TRY(TN_ALLOC(count, &t->values, error));
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
    tn_status status = tucker_factor(weight, folded, rule, &t, factored, error);
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
    TN_TRY(TN_ALLOC(count, &t->values, error));
    memcpy(t->values, f->core[modes], count * sizeof *t->values);
    t->first = f->weight.rank[0];
    t->others = count / t->first;
    for (size_t k = 0; k < modes; k++) {
        double *grown = NULL;
        TN_TRY(TN_ALLOC(mode[k] * t->others, &grown, error));
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
