/* Measured fine-tuning throughputs: a CSV file with the columns gpu, model, dataset, sparsity, batch_size and
 * queries_per_s (docs/finetune-data.md).
 *
 * A group is all points of one GPU, model and data set, in the file's order; groups are in the order of their
 * first points. Every value is positive and finite; sparsity is at most 1. */
#ifndef TN_FINETUNE_DATA_H
#define TN_FINETUNE_DATA_H

#include "base/error.h"
#include "base/memory.h"
#include "base/public.h"

#include <stdbool.h>
#include <stddef.h>

TN_PUBLIC_BEGIN

enum { TN_FINETUNE_MOST_GROUPS = 1000 };

typedef struct tn_finetune_point {
    double sparsity, batch, queries_per_s;
    /* Of the GPU against a reference GPU, as natural logarithms of the ratio; 0 within a group. What carries
     * a law to another GPU (finetune/transfer.h). */
    double log_bandwidth, log_peak;
} tn_finetune_point;

typedef struct tn_finetune_group {
    const char *gpu, *model, *dataset;
    size_t count;
    tn_finetune_point *point;
    tn_position position; /* of its first row */
} tn_finetune_group;

typedef struct tn_finetune_data {
    const char *file;
    size_t count;
    tn_finetune_group *group;
} tn_finetune_data;

/* Unknown and missing columns, empty, malformed, non-finite and out-of-range cells are errors with their
 * place, as is a file without rows. Everything lives in `arena`. */
tn_status tn_finetune_load(const char *path, tn_arena *arena, tn_finetune_data *data, tn_error *error);
/* The same from memory; `name` stands for the file. */
tn_status tn_finetune_parse(const char *name, const char *text, size_t length, tn_arena *arena,
                            tn_finetune_data *data, tn_error *error);

/* Drops the groups that are not of this GPU, model and data set (NULL: any). None left is an error that
 * suggests the nearest name. */
tn_status tn_finetune_keep(tn_finetune_data *data, const char *gpu, const char *model, const char *dataset,
                           tn_error *error);
/* Drops the groups of other GPUs than these; one of which nothing was measured is an error. */
tn_status tn_finetune_keep_gpus(tn_finetune_data *data, const char *const *gpu, size_t count,
                                tn_error *error);
/* *rest = the data without the groups of this GPU, which may be none. The points are shared. */
tn_status tn_finetune_without(const tn_finetune_data *data, const char *gpu, tn_arena *arena,
                              tn_finetune_data *rest, tn_error *error);

/* TN_INPUT where the points have one batch size, or are none: no law of the batch follows from them. */
tn_status tn_finetune_need_two_batches(const tn_finetune_point *point, size_t count, tn_error *error);
bool tn_finetune_two_sparsities(const tn_finetune_point *point, size_t count);

TN_PUBLIC_END

#endif
