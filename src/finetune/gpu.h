/* GPUs to rent: a table file of kind gpu-table (docs/gpu-table-file.md) that users edit. A row takes memory,
 * peak and bandwidth from a roofline device file, or has them itself; the price is always its own. */
#ifndef TN_FINETUNE_GPU_H
#define TN_FINETUNE_GPU_H

#include "base/arena.h"
#include "base/error.h"
#include "base/public.h"
#include "text/schema.h"

#include <stdbool.h>
#include <stddef.h>

TN_PUBLIC_BEGIN

typedef struct tn_gpu {
    const char *name; /* as in the column gpu of measurements */
    double memory_GB, peak_TFLOPS, bandwidth_GBps;
    const char *figures_source; /* the device file, or the row's own source */
    bool figures_unverified;
    double usd_per_hour; /* 0: not known */
    bool price_unverified;
    const char *price_source;
} tn_gpu;

typedef struct tn_gpu_table {
    const char *file;
    size_t count;
    tn_gpu *gpu;
} tn_gpu_table;

/* The file's form, for its reference page. */
extern const tn_schema tn_gpu_table_schema;

/* Loads a path or a bare name of models/prices/ ("gpus"). Lives in `arena`. */
tn_status tn_gpu_table_load(const char *name, tn_arena *arena, tn_gpu_table *table, tn_error *error);

/* The row of that name, or TN_INPUT with the nearest one. */
tn_status tn_gpu_find(const tn_gpu_table *table, const char *name, const tn_gpu **gpu, tn_error *error);

TN_PUBLIC_END

#endif
