/* The largest batch that fits a GPU.
 *
 * Published [arXiv 2408.04693]: floor(C0 (memory - model) / (sequence ((1 - C1) + C1 s))), memory and model
 * in GB, sequence in tokens, s the sparsity. Fitted: the same with C0 and C1 that fit measured largest
 * batches best. From the architecture (finetune/count.h): what memory is left beside weights, gradients, optimizer,
 * workspace and reserve, over the activations of a query at the step's peak, times a factor of what a step keeps besides:
 * queries padded to the longest, fragmentation, what is not listed. The factor is the framework's (finetune/gpu.h), or is
 * calibrated on measured largest batches. */
#ifndef TN_FINETUNE_BATCH_H
#define TN_FINETUNE_BATCH_H

#include "base/error.h"
#include "base/memory.h"
#include "base/public.h"
#include "finetune/count.h"
#include "finetune/data.h"
#include "finetune/fit.h"
#include "finetune/gpu.h"

#include <stdbool.h>
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
/* Bytes that a step keeps over those that are counted, and half the width of its interval as a logarithm. */
typedef struct tn_batch_factor {
    double value, half_width;
} tn_batch_factor;

typedef struct tn_batch_interval {
    uint64_t value, low, high;
} tn_batch_interval;

/* The framework's, 1 where the table has none; `lengths_known`: sequences are the longest of their data set, not its median. */
tn_batch_factor tn_framework_factor(const tn_framework *framework, bool lengths_known);

/* A limit 9 times of 10, where the factor is the framework's. */
tn_batch_interval tn_batch_by_memory(const tn_language_count *count, double memory_GB,
                                     const tn_batch_factor *factor);

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

/* The factor that one measured largest batch implies: a batch b stands for b to b + 1. NAN where nothing is left. */
double tn_batch_implied_factor(const tn_language_count *count, double memory_GB, double batch);

/* The factor that `count` >= 1 implied ones agree on: the interval holds that of the next measurement with 95 % by Student's
 * t; their scatter is taken together with one of 20 % that weighs as three of them. NAN among them is left out; none left is
 * false. */
bool tn_batch_calibrate(const double *implied, size_t count, tn_batch_factor *factor);

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
