/* Throughput of a GPU that was not measured, from GPUs that were.
 *
 * One law of the step's time is fitted to all measured GPUs of a model and data set together: the part that
 * does not depend on the batch falls as bandwidth^-a, the part that grows with it as peak^-c; sharpness and
 * shares are the same everywhere. a and c lie between 0 (the host or the network decides) and 1 (memory or
 * arithmetic decides); one measured GPU says nothing of them and leaves them at their priors
 * (finetune/law.c). The largest batch is the largest measured one times the ratio of memory beside the
 * model, as in the published formula. */
#ifndef TN_FINETUNE_TRANSFER_H
#define TN_FINETUNE_TRANSFER_H

#include "base/error.h"
#include "base/memory.h"
#include "base/public.h"
#include "finetune/fit.h"
#include "finetune/gpu.h"

#include <stddef.h>

TN_PUBLIC_BEGIN

typedef struct tn_transfer {
    const tn_gpu *reference;
    tn_step_estimate estimate;
    size_t gpus, points;
    /* Relative deviation of predictions for a new GPU, and how many GPUs say so: those held out, and a prior. */
    double spread, spread_degrees;
} tn_transfer;

/* Fits the groups, all of one model and data set, whose GPUs the table knows (another is an error that
 * suggests the nearest). No group is TN_INPUT. */
tn_status tn_transfer_fit(const tn_finetune_data *data, const tn_gpu_table *table, tn_arena *arena,
                          tn_transfer *transfer, tn_error *error);

/* Queries per second on `gpu`, with the interval of a next run there: of the coefficients, of a run (finetune/law.h) and
 * of a GPU that was not measured. */
tn_finetune_interval tn_transfer_predict(const tn_transfer *transfer, const tn_gpu *gpu, double batch,
                                         double sparsity);

/* How well a transfer predicts a measured group that it was not fitted to. */
typedef struct tn_transfer_error {
    const char *gpu;
    size_t points;
    double relative_rmse, mean_relative; /* of (predicted - measured) / measured */
} tn_transfer_error;
tn_transfer_error tn_transfer_compare(const tn_transfer *transfer, const tn_gpu *gpu,
                                      const tn_finetune_group *group);

/* Every GPU of the data predicted from the others, in the data's order; those that the
 * others do not determine are left out; *count is 0 where there is only one.
 * Sets transfer->spread to the root mean square of their relative errors and of a prior that weighs as two GPUs: four or
 * five GPUs that happen to agree say little of the next one. */
tn_status tn_transfer_hold_out(const tn_finetune_data *data, const tn_gpu_table *table, tn_arena *arena,
                               tn_transfer *transfer, tn_transfer_error **errors, size_t *count,
                               tn_error *error);

/* The largest batch of this sparsity on `gpu`: that of the measured GPU whose memory is nearest, times
 * (memory - model_GB) over its own, rounded down; 0 where the model does not fit or that sparsity was not
 * measured. */
tn_status tn_transfer_largest_batch(const tn_finetune_data *data, const tn_gpu_table *table,
                                    const tn_gpu *gpu, double model_GB, double sparsity, double *batch,
                                    tn_error *error);

TN_PUBLIC_END

#endif
