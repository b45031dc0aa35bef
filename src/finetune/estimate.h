/* The time of a fine-tuning step where nobody measured one: counts of the architecture over the figures of a GPU and
 * of the framework that drives it.
 *
 *   host         kernels launched one after the other, each host_us of the host: an eager framework
 *   weights      bytes of all matrices, in every pass
 *   products     operations over the share of the peak that is reached: of operands of 32 bits half the peak of 16; n rows of
 *                a product (tokens of an expert) reach n / (n + half_rate_rows) of it
 *   activations  bytes that are written and read
 *   optimizer    gradients written and read, state read and written, parameters read and written
 * How many of each a step has: finetune/kernels.h.
 * Bytes go over the share of the bandwidth that is reached. The device's parts are added: a kernel waits for the one
 * before. Where a router chooses experts the host reads the choice back, so that it can't run ahead: host and device
 * are added; else the longer of the two counts.
 *
 * Several GPUs, by a law that nobody measured here: each takes batches of its own. Replicated, every GPU has the whole
 * model, and gradients of what is trained are summed over all: 2 x their bytes go over the links. Sharded [ZeRO, Rajbhandari
 * et al. 2020, stage 3], a GPU of n holds 1/n of weights, gradients and optimizer; weights are gathered in every pass and
 * gradients scattered once: passes x weights + gradients. Bytes B that all must have take B ((g-1)/g / link +
 * (m-1)/m / (g network)) on m nodes of g GPUs. They run beside computation, in part: the longer of the two and half of the
 * shorter, with a range from hidden to added.
 *
 * Queries are as long as finetune/lengths.h has them, padded to the longest of their batch.
 *
 * The constants are of the GPU table (finetune/gpu.h: framework). A range holds what is measured 9 times of 10: of the
 * time's error, of the batch where memory decides it, and, where only a median of the lengths is known, up to queries
 * padded as those of data sets with the framework's unknown_spread. */
#ifndef TN_FINETUNE_ESTIMATE_H
#define TN_FINETUNE_ESTIMATE_H

#include "base/error.h"
#include "base/public.h"
#include "finetune/batch.h"
#include "finetune/count.h"
#include "finetune/fit.h"
#include "finetune/gpu.h"
#include "finetune/kernels.h"
#include "finetune/lengths.h"

#include <stdint.h>

TN_PUBLIC_BEGIN

/* What is fine-tuned on what. */
typedef struct tn_finetune_work {
    const tn_language_model *model;
    const tn_framework *framework;
    const tn_query_lengths *lengths;
    bool lengths_known;   /* false: of the lengths only the median is known */
    uint64_t active;      /* experts a token */
    double queries;       /* of the data set, of which the longest must fit */
    uint64_t gpus, nodes; /* GPUs of a node, and nodes; 0 counts as 1 */
    bool sharded;         /* of several GPUs each holds a part of the model, else all of it */
} tn_finetune_work;

typedef struct tn_finetune_estimate {
    double kernels; /* of a step */
    double tokens;  /* of a query, as padded */
    double host_s, weights_s, products_s, activations_s, optimizer_s, communication_s;
    tn_finetune_interval seconds;       /* with its range */
    tn_finetune_interval queries_per_s; /* of all GPUs */
} tn_finetune_estimate;

/* A step of `batch` queries on every GPU, a number that is known. */
tn_status tn_finetune_estimate_step(const tn_finetune_work *work, const tn_gpu *gpu, uint64_t batch,
                                    tn_finetune_estimate *estimate, tn_error *error);

/* The same where memory decides the batch: the range also holds the throughputs of the ends of `batch`. */
tn_status tn_finetune_estimate_largest(const tn_finetune_work *work, const tn_gpu *gpu,
                                       const tn_batch_interval *batch, tn_finetune_estimate *estimate,
                                       tn_error *error);

/* The largest batch by memory (finetune/batch.h), with the framework's factor of what is kept. */
tn_status tn_finetune_largest_batch(const tn_finetune_work *work, double memory_GB, tn_batch_interval *batch,
                                    tn_error *error);

/* Seconds of what a group of kernels asks for in a stage; few_rows: that products take longer as they have few rows. */
typedef struct tn_step_effort_time {
    double host, products, few_rows, weights, activations, update;
} tn_step_effort_time;
void tn_effort_seconds(const tn_step_effort *effort, const tn_step_kernels *kernels,
                       const tn_language_model *model, const tn_gpu *gpu, const tn_framework *framework,
                       tn_step_effort_time *seconds);
double tn_device_seconds(const tn_step_effort_time *of); /* all but the host's, one after the other */

TN_PUBLIC_END

#endif
