/* GPUs to rent: a table file of kind gpu-table (docs/gpu-table-file.md) that users edit. A row takes memory,
 * peak and bandwidth from a roofline device file, or has them itself; the price is always its own. */
#ifndef TN_FINETUNE_GPU_H
#define TN_FINETUNE_GPU_H

#include "base/error.h"
#include "base/memory.h"
#include "base/public.h"
#include "finetune/fit.h"
#include "text/schema.h"

#include <stdbool.h>
#include <stddef.h>

TN_PUBLIC_BEGIN

typedef struct tn_gpu {
    const char *name;   /* as in the column gpu of measurements */
    const char *device; /* its roofline device; NULL: figures of its own */
    double memory_GB, peak_TFLOPS, bandwidth_GBps;
    double link_GBps;           /* to the GPUs of its node, one direction */
    const char *figures_source; /* the device file, or the row's own source */
    bool figures_unverified;
    double usd_per_hour; /* 0: not known */
    bool price_unverified;
    const char *price_origin; /* as the table says (device/device_data.h), or "given"; NULL: no price */
    const char *price_source, *price_date; /* NULL: not said */
} tn_gpu;

/* What a framework makes of any of the GPUs (finetune/step.h, finetune/batch.h). Errors are relative standard
 * deviations of what was measured from what is estimated. */
typedef struct tn_framework {
    double compute_share, bandwidth_share; /* of the peak that wide products reach, and of the bandwidth */
    double network_GBps;                   /* a GPU's share of its node's way to other nodes, one direction */
    double half_rate_rows;          /* rows at which a product reaches half of that share of the peak */
    double host_us;                 /* that the host takes for a kernel */
    double time_error;              /* of a step's time */
    double kept_factor, kept_error; /* bytes that a step keeps over what is counted */
    /* Where nothing is known of a data set but its median: the spread of its lengths as steps take time for them, and the
     * longest query over the median as memory is held for it, with its error. */
    double unknown_spread, unknown_longest, unknown_error;
    const char *source;
    bool given; /* the table has it */
} tn_framework;

typedef struct tn_gpu_table {
    const char *file;
    size_t count;
    tn_gpu *gpu;
    tn_framework framework;
} tn_gpu_table;

/* The file's form, for its reference page. */
extern const tn_schema tn_gpu_table_schema;

/* Loads a path or a bare name of models/prices/ ("gpus"). Lives in `arena`. */
tn_status tn_gpu_table_load(const char *name, tn_arena *arena, tn_gpu_table *table, tn_error *error);

/* The row of that name; else the first of that roofline device, or whose name has it before its memory ("l40s" of L40S-48GB);
 * upper and lower case alike; else TN_INPUT with the nearest one. */
tn_status tn_gpu_find(const tn_gpu_table *table, const char *name, const tn_gpu **gpu, tn_error *error);

/* Sets what an hour costs, instead of what the table says: of the GPU of that name as tn_gpu_find has it, or of all (NULL). */
tn_status tn_gpu_set_price(tn_gpu_table *table, const char *name, double usd_per_hour, tn_error *error);

/* What a fine-tuning costs: hours = queries x epochs / throughput / 3600, dollars = hours x price of an hour
 * [arXiv 2408.04693]. A throughput's interval carries over: its upper end is the least cost. */

typedef struct tn_bill {
    const char *gpu;
    double batch;
    tn_finetune_interval queries_per_s, hours, usd;
    double usd_per_hour;                   /* NAN: not known; so are the dollars then */
    bool price_unverified, predicted;      /* predicted: this GPU was not measured */
    const char *price_origin, *price_date; /* of finetune/gpu.h; NULL: not known */
} tn_bill;

/* A bill of a GPU of the table, still to be reckoned. */
tn_bill tn_bill_of(const tn_gpu *gpu, double batch, tn_finetune_interval queries_per_s);

/* Fills hours and usd from the rest. TN_INPUT where the throughput is not positive. */
tn_status tn_bill_reckon(tn_bill *bill, double queries, double epochs, tn_error *error);

/* Prices that somebody published or gave first, then assumed ones, those of unknown price last by their hours; among each the
 * cheapest first; ties by name. */
int tn_bill_compare(const tn_bill *x, const tn_bill *y);
void tn_bill_sort(tn_bill *bill, size_t count);

TN_PUBLIC_END

#endif
