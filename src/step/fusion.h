/* Fusion: vector operations done on a product's results as they leave its sums, before they are written: a bias, an
 * activation, a residual. Neither a pass of their own nor what they would have read is left.
 *
 * An operation of the forward phase is fused into the one right before it in the list if that is a product of a layer's
 * program which makes the layer's output, and the operation goes over that output element by element: GELU, tanh or ReLU
 * of it, or its sum with a bias or with an array of its shape. What it takes is then no array of the step any more,
 * unless a later operation reads it (GELU's input in the backward phase): then the product writes both. A product takes
 * up one operation after the other, as long as it reads at most TN_PRODUCT_READS arrays and writes at most
 * TN_PRODUCT_WRITES. Look-ups in cores take nothing up: their products are done token by token.
 *
 * Every value stays what it was, bit by bit: the same operations, of the same numbers, in the same order. Unlike the
 * transformations of a model (step/transformation.h) it is a choice of hardware (build.fusion).
 */
#ifndef TN_STEP_FUSION_H
#define TN_STEP_FUSION_H

#include "base/memory.h"
#include "model/step.h"

/* `step` with every addition fused that can be, or every activation, too; it shares with it what has not changed. A product's FLOPs are then those of
 * what it took up, too, and count as its layer's. A fused step stays as it is. */
tn_status tn_step_fuse(const tn_step *step, bool activations, tn_arena *arena, tn_step *fused,
                       tn_error *error);

/* "add encoder1.out.bias, gelu": what the product does to its results, in order. */
tn_status tn_fused_text(const tn_step *step, const tn_operation *product, tn_arena *arena, const char **text,
                        tn_error *error);

/* The stages of a generated write-back (src/rtl/templates): an addition, ReLU, an addition. *stages: a bit for each that the
 * product takes, added[i]: which of its reads the first and the last of them add. False: what it does is none of that. */
enum { TN_FUSED_ADDED = 2, TN_FUSED_FIRST = 1, TN_FUSED_POSITIVE = 2, TN_FUSED_LAST = 4 };
bool tn_fused_stages(const tn_operation *product, uint32_t *stages, uint32_t added[TN_FUSED_ADDED]);

#endif
