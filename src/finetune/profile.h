/* Inside a step: its time by stage, by layer and by kernel, how well each uses the GPU and what limits it. The sum is the
 * step that finetune/estimate.h says; what limits a kernel is the part of its time that is largest. */
#ifndef TN_FINETUNE_PROFILE_H
#define TN_FINETUNE_PROFILE_H

#include "base/error.h"
#include "base/public.h"
#include "finetune/estimate.h"
#include "finetune/load.h"

TN_PUBLIC_BEGIN

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
