/* The time of a fine-tuning step where nobody measured one: counts of the architecture over the figures of a GPU and
 * of the framework that drives it.
 *
 *   host         kernels launched one after the other, each host_us of the host: an eager framework
 *   weights      bytes of all matrices as stored, read once in each pass (forward, forward again with checkpointing,
 *                backward); where they are stored in fewer bits than activations, written and read unpacked as well
 *   products     2 x multiply-adds (finetune/count.h) over the share of the peak that is reached
 *   activations  what a step keeps without checkpointing, written and read once in each pass, the backward one twice
 *   optimizer    gradients written and read, state read and written, parameters read and written
 * Bytes go over the share of the bandwidth that is reached. The device's parts are added: a kernel waits for the one
 * before. Where a router chooses experts the host reads the choice back, so that it can't run ahead: host and device
 * are added; else the longer of the two counts.
 *
 * Experts touched: of E of which every token chooses a, n tokens choosing alike often enough leave out
 * E (1 - a/E)^n of them (independent choices); the others' weights are not read and their kernels not launched.
 *
 * Kernels of a layer's forward pass, of a framework that fuses nothing: 8 a norm; 25 for the mixing of attention, 40
 * for a state space with its matrices; 8 to route and 8 to gather and scatter around an expert; a matrix takes 1, 1
 * more to unpack it, and 7 with an adapter (casts, two products, scale, sum). Backward twice as many.
 *
 * The three constants are of the GPU table (finetune/gpu.h: framework) with their range; the range of an estimate has
 * them all at their best with host and device overlapping, and all at their worst one after the other. */
#ifndef TN_FINETUNE_ESTIMATE_H
#define TN_FINETUNE_ESTIMATE_H

#include "base/error.h"
#include "base/public.h"
#include "finetune/count.h"
#include "finetune/fit.h"
#include "finetune/gpu.h"

#include <stdint.h>

TN_PUBLIC_BEGIN

typedef struct tn_finetune_estimate {
    double kernels; /* of a step */
    double host_s, weights_s, products_s, activations_s, optimizer_s;
    tn_finetune_interval seconds;       /* of a step */
    tn_finetune_interval queries_per_s; /* batch over it */
} tn_finetune_estimate;

/* `tokens` a query, as padded; `active` experts a token. */
tn_status tn_finetune_estimate_step(const tn_language_model *model, const tn_gpu *gpu,
                                    const tn_framework *framework, uint64_t batch, uint64_t tokens,
                                    uint64_t active, tn_finetune_estimate *estimate, tn_error *error);

/* Experts of `experts` that `choices` tokens touch, each choosing `active` of them. */
double tn_experts_touched(double experts, double active, double choices);

TN_PUBLIC_END

#endif
