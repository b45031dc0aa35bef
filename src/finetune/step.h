/* What a fine-tuning step runs: groups of kernels by layer and by what they do, each with its launches, operations and bytes
 * in every stage; their sums are those of finetune/count.h. Below: what such a step takes on a GPU, and where its time goes.
 *
 * Launches of a layer's forward pass, of a framework that fuses nothing: 8 a norm; 25 for the mixing of attention, 40 for a
 * state space with its matrices; 8 to route and 8 to gather and scatter around an expert; a matrix takes 1, 1 more to unpack
 * it, and 5 with an adapter (dropout, two products, scale, sum), 7 where that casts a copy of its input; 10 for the loss.
 * Backward twice as many; 12 for an optimizer that takes many tensors at once.
 *
 * Operations are 2 x multiply-adds: once in each forward pass, once for the gradient of every input and once for that of
 * every trained weight. The output projection does not run again.
 * Matrices are read once in each pass as stored; where they are stored in fewer bits than activations, they are written and
 * read unpacked as well. Experts that no token chose cost neither bytes nor launches: of E of which every token chooses a, n
 * tokens choosing alike often enough leave out E (1 - a/E)^n of them (independent choices).
 * Activations are written and read once in each pass forward, and twice backward: what a step keeps where it keeps all. */
#ifndef TN_FINETUNE_STEP_H
#define TN_FINETUNE_STEP_H

#include "base/error.h"
#include "base/public.h"
#include "finetune/batch.h"
#include "finetune/count.h"
#include "finetune/fit.h"
#include "finetune/gpu.h"
#include "finetune/lengths.h"
#include "finetune/load.h"

#include <stdbool.h>
#include <stdint.h>

TN_PUBLIC_BEGIN

typedef enum tn_step_stage {
    TN_STAGE_FORWARD,
    TN_STAGE_AGAIN,
    TN_STAGE_BACKWARD,
    TN_STAGE_UPDATE,
    TN_STAGES
} tn_step_stage;
extern const char *const tn_stage_names[TN_STAGES]; /* "forward", "forward again", "backward", "optimizer" */

/* What a stage asks of the host, of the multipliers and of the memory. */
typedef struct tn_step_effort {
    double launches, operations, weight_bytes, activation_bytes, update_bytes;
} tn_step_effort;

typedef struct tn_step_kernel {
    const char *layer, *name; /* "experts", "products" */
    tn_step_effort stage[TN_STAGES];
} tn_step_kernel;

enum { TN_KERNELS_MOST = 24 };

typedef struct tn_step_kernels {
    size_t count;
    tn_step_kernel kernel[TN_KERNELS_MOST];
    double rows;    /* of a product: tokens of an expert */
    double touched; /* experts of a layer that some token chose */
    bool waits;     /* the host reads a router's choice back in every layer */
} tn_step_kernels;

/* Of a step of `batch` queries of `tokens` tokens, `active` experts a token, spread by `load` (NULL: evenly). */
tn_status tn_kernels_of_step(const tn_language_model *model, double batch, double tokens, uint64_t active,
                             const tn_expert_load *load, tn_step_kernels *kernels, tn_error *error);

/* Experts of `experts` that `choices` tokens touch, each choosing `active` of them. */
double tn_experts_touched(double experts, double active, double choices);

/* The time of a fine-tuning step where nobody measured one: counts of the architecture over the figures of a GPU and
 * of the framework that drives it.
 *
 *   host         kernels launched one after the other, each host_us of the host: an eager framework
 *   weights      bytes of all matrices, in every pass
 *   products     operations over the share of the peak that is reached: of operands of 32 bits half the peak of 16; n rows of
 *                a product (tokens of an expert) reach n / (n + half_rate_rows) of it
 *   activations  bytes that are written and read
 *   optimizer    gradients written and read, state read and written, parameters read and written
 * How many of each a step has stands above.
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
double tn_device_seconds(const tn_step_effort_time *time); /* all but the host's, one after the other */

/* Inside a step: its time by stage, by layer and by kernel, how well each uses the GPU and what limits it. The sum is the
 * estimated step; what limits a kernel is the part of its time that is largest. */

/* A row of time; utilisation and bandwidth are shares of the GPU's own peak (of 16 bits) and bandwidth. */
typedef struct tn_step_profile_row {
    const char *layer, *name; /* layer NULL: of stages and layers */
    double seconds, share, utilisation, bandwidth, launches;
    double stage_seconds[TN_STAGES];
    const char *limit; /* "launches", "products", "few rows", "bandwidth" */
} tn_step_profile_row;

/* Experts with a capacity over one without: time of the step, and share of the choices that are dropped. */
typedef struct tn_step_profile_capacity {
    double capacity, seconds, dropped;
} tn_step_profile_capacity;

enum { TN_PROFILE_CAPACITIES = 4 };

typedef struct tn_step_profile {
    double seconds, queries_per_s, tokens, rows, touched;
    size_t stages, layers, kernels;
    tn_step_profile_row stage[TN_STAGES], layer[8], kernel[TN_KERNELS_MOST];
    /* Of a model of experts: */
    bool routed;
    double expert_share;               /* of the step in layers of experts */
    double dense_seconds;              /* every token sent to every expert */
    double imbalance, slowest_seconds; /* slowest: of a step whose experts each have a GPU, by the fullest */
    tn_step_profile_capacity capacity[TN_PROFILE_CAPACITIES];
} tn_step_profile;

/* A step of `batch` queries as padded; `load` of experts (NULL: even, or none). */
tn_status tn_profile_step(const tn_finetune_work *work, const tn_gpu *gpu, uint64_t batch,
                          const tn_expert_load *load, tn_step_profile *profile, tn_error *error);

TN_PUBLIC_END

#endif
