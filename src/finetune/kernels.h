/* What a fine-tuning step runs: groups of kernels by layer and by what they do, each with its launches, operations and bytes
 * in every stage. finetune/estimate.h makes seconds of them; the sums over all groups are those of finetune/count.h.
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
#ifndef TN_FINETUNE_KERNELS_H
#define TN_FINETUNE_KERNELS_H

#include "base/error.h"
#include "base/public.h"
#include "finetune/count.h"
#include "finetune/load.h"

#include <stdbool.h>

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

TN_PUBLIC_END

#endif
