/* The history of a training run: what the design's device would have taken up to each step, and what was measured beside the
 * loss. Internal to the room. */
#ifndef TN_LEARN_HISTORY_H
#define TN_LEARN_HISTORY_H

#include "base/buffer.h"
#include "design/design.h"
#include "learn/training.h"

/* Prices of a step at the model's full sequence: of a model whose formats change with the run those of the step at hand. */
enum {
    TN_STEP_PRICES = 65
}; /* by the share of wide operands that FAST's rule makes, in 64ths; by shares the last and first */
typedef struct tn_step_prices {
    const tn_design *design; /* NULL: nothing is priced */
    tn_arena *arena;
    bool known[TN_STEP_PRICES];
    double seconds[TN_STEP_PRICES], joules[TN_STEP_PRICES];
    uint64_t wide, operands; /* of the trainer, up to the last step */
} tn_step_prices;

void tn_step_prices_begin(tn_step_prices *prices, const tn_trainer *trainer);
/* Adds what the step took that the trainer just did, `progress` of the run before it, to *seconds and *joules. */
tn_status tn_step_prices_add(tn_step_prices *prices, const tn_trainer *trainer, double progress,
                             double *seconds, double *joules, tn_error *error);

/* A row for each step: number, epoch, loss, and as the run has them, else nan: seconds and joules on the device up to and with
 * it, variance and mean square of the gradients of the window that ends with it, scores of dev behind it. */
typedef struct tn_history_row {
    uint64_t step, epoch;
    double loss, seconds, joules;
    tn_gradient_noise noise;
    tn_scores dev;
} tn_history_row;
void tn_history_head(tn_buffer *text);
void tn_history_add(tn_buffer *text, const tn_history_row *row);

#endif
