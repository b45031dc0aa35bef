/* The largest batch that fits a GPU, three ways.
 *
 * Published [arXiv 2408.04693]: floor(C0 (memory - model) / (sequence ((1 - C1) + C1 s))), memory and model
 * in GB, sequence in tokens, s the sparsity. Fitted: the same with C0 and C1 that fit measured largest
 * batches best. Counted: (memory - weights - gradients - optimizer - workspace - reserve) / activations of a
 * query, from the architecture (finetune/count.h). */
#ifndef TN_FINETUNE_BATCH_H
#define TN_FINETUNE_BATCH_H

#include "base/error.h"
#include "base/memory.h"
#include "base/public.h"
#include "finetune/count.h"
#include "finetune/data.h"
#include "finetune/fit.h"

#include <stddef.h>
#include <stdint.h>

TN_PUBLIC_BEGIN

typedef struct tn_batch_formula {
    double c0, c1, model_GB;
} tn_batch_formula;

/* 0 where the model alone does not fit. Saturates at 2^53. */
uint64_t tn_batch_by_formula(const tn_batch_formula *formula, double memory_GB, double sequence,
                             double sparsity);
uint64_t tn_batch_by_count(const tn_language_count *count, double memory_GB);
/* How many tokens a query would have so that the counted batch were `batch`; `count` is for one token. */
double tn_batch_implied_sequence(const tn_language_count *count_of_one_token, double memory_GB, double batch);

/* One measured largest batch. */
typedef struct tn_batch_measured {
    const char *gpu, *dataset;
    double sparsity, batch;
    double memory_GB, sequence; /* filled in by the caller */
} tn_batch_measured;

/* The largest batch of every group of `model` and each of its sparsities, in the data's order. What a file of
 * throughputs says of it: batches that were not tried may have fitted too. */
tn_status tn_batch_largest(const tn_finetune_data *data, const char *model, tn_arena *arena,
                           tn_batch_measured **row, size_t *count, tn_error *error);

typedef struct tn_batch_fit {
    tn_finetune_interval c0, c1; /* 95 %; NAN where the rows leave none */
    double relative_rmse;        /* of the formula before rounding down against batch + 1/2 */
} tn_batch_fit;

/* Least squares of logarithms: a largest batch b stands for b to b + 1, so b + 1/2 is fitted. TN_INPUT for
 * fewer than two rows, for one sparsity (C1 is not determined), or where the model alone does not fit a GPU.
 */
tn_status tn_batch_fit_rows(const tn_batch_measured *row, size_t count, double model_GB, tn_batch_fit *fit,
                            tn_error *error);

TN_PUBLIC_END

#endif
