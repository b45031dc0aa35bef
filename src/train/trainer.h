/* A model being trained on this CPU: its parameters, the optimizer's state, and the step that is executed.
 *
 * The step is the priced one (model/step.h), operation for operation, in the order of its list; what it multiplies
 * and keeps is counted while it runs (train/lowered_step.h). The conventions that a model file leaves open are
 * settings (model/train_settings.h). Results depend on nothing but model, settings, values and examples: not on
 * threads, time or memory.
 */
#ifndef TN_TRAIN_TRAINER_H
#define TN_TRAIN_TRAINER_H

#include "base/error.h"
#include "base/memory.h"
#include "model/model.h"
#include "model/train_settings.h"
#include "train/kernels.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An example: words by number, a label per token (negative: none) and a class (negative: none). */
typedef struct tn_example {
    uint32_t tokens;
    const uint32_t *token;
    const int32_t *slot;
    int32_t intent;
} tn_example;

enum { TN_HEADS_MOST = 8 };

typedef struct tn_head_info {
    const char *name; /* of the cross-entropy layer */
    uint64_t outputs;
    bool of_example; /* one label an example; else one a token */
} tn_head_info;

/* What one step, or one forward pass, came to. */
typedef struct tn_step_result {
    double loss;                     /* weighted sum of the heads' */
    double head_loss[TN_HEADS_MOST]; /* mean (or sum) over the labels */
    uint64_t labels[TN_HEADS_MOST];
    uint64_t macs, macs_predicted, peak_elements, peak_elements_predicted;
    double
        entropy; /* of the answers at an early exit that decides: mean over heads, 1 where all are equal; else 0 */
} tn_step_result;

typedef struct tn_train_parameter {
    const char *name; /* "encoder1.query.core2" */
    uint32_t axes;
    uint64_t shape[TN_RANKS_MOST];
    uint64_t elements, state_elements;
    uint32_t layer;
    bool is_core, is_table, is_scale; /* a table's whole or core; a layer norm's scale */
    bool is_decay;                    /* of a scan's states */
    uint64_t inputs;                  /* of a predictor's hidden units; 0 otherwise */
    void *values, *state;
} tn_train_parameter;

/* Shares of zeros among the operands of products, weighted by multiply-adds, measured in one step of 64: as
 * `sparsity.activations` and `.gradients` take them. NAN where no product reads such. */
typedef struct tn_layer_zeros {
    const char *layer, *phase;
    double activations, gradients;
    /* Cycles of products whose zeros of that operand are skipped, by those without: the scheduler of model/zero_skip.h played
     * on the operands as they were. */
    double skip_activations, skip_gradients;
} tn_layer_zeros;
typedef struct tn_zeros {
    double activations, gradients, skip_activations, skip_gradients;
    size_t layers;
    tn_layer_zeros *layer;
} tn_zeros;

typedef struct tn_trainer tn_trainer;

/* The model's weights and flows as they stand. Everything lives till tn_trainer_free. A training flow is searched for the
 * model's full sequence and serves all lengths. */
tn_status tn_trainer_new(const tn_model *model, const tn_train_settings *settings, tn_real real,
                         tn_trainer **trainer, tn_error *error);
/* The same with programs from a cache that outlives the trainer, so that several trainers search once. */
tn_status tn_trainer_new_with(const tn_model *model, const tn_train_settings *settings, tn_real real,
                              tn_program_cache *cache, tn_trainer **trainer, tn_error *error);
void tn_trainer_free(tn_trainer *trainer);

/* How many threads execute a step (1 until this is called). Results are the same for any number. */
void tn_trainer_set_threads(tn_trainer *trainer, uint32_t threads);

/* The model has `phase: inference`: tn_trainer_forward runs its step, and there is no training step. */
bool tn_trainer_is_inference(const tn_trainer *trainer);

uint32_t tn_trainer_heads(const tn_trainer *trainer);
tn_head_info tn_trainer_head(const tn_trainer *trainer, uint32_t head);
size_t tn_trainer_parameters(const tn_trainer *trainer);
const tn_train_parameter *tn_trainer_parameter(const tn_trainer *trainer, size_t position);
uint64_t tn_trainer_parameter_elements(const tn_trainer *trainer);
const tn_kernels *tn_trainer_kernels(const tn_trainer *trainer);
uint64_t tn_trainer_batch(const tn_trainer *trainer);
uint64_t tn_trainer_sequence(const tn_trainer *trainer);
uint64_t tn_trainer_vocabulary(const tn_trainer *trainer);

/* Matrices of the predictors of gradients, where the model predicts some. */
size_t tn_trainer_predictors(const tn_trainer *trainer);
const tn_train_parameter *tn_trainer_predictor(const tn_trainer *trainer, size_t position);

/* What a router of a mixture of experts chose in the steps and passes since the counts were set to 0: tokens sent to each
 * expert, and how many of them found no room. Padding is not counted. */
typedef struct tn_route_counts {
    uint32_t layer;
    const char *name; /* "encoder1.experts.route" */
    uint64_t experts, top;
    uint64_t *tokens, *dropped; /* [experts] */
} tn_route_counts;
size_t tn_trainer_routes(const tn_trainer *trainer);
const tn_route_counts *tn_trainer_route(const tn_trainer *trainer, size_t position);
void tn_trainer_reset_routes(tn_trainer *trainer);

/* The sorts of step that the run has (model/model.h), their names, and which one is run: TN_SORT_MEAN, the default, the
 * one that the number of steps so far gives. */
uint32_t tn_trainer_sorts(const tn_trainer *trainer);
tn_status tn_trainer_sort_name(const tn_trainer *trainer, uint32_t sort, tn_arena *arena, const char **name,
                               tn_error *error);
double tn_trainer_sort_share(const tn_trainer *trainer, uint32_t sort);
void tn_trainer_set_sort(tn_trainer *trainer, uint32_t sort);

/* Lowers the step of `batch` examples of `tokens` tokens now, so that no step of that size allocates. */
tn_status tn_trainer_prepare(tn_trainer *trainer, uint64_t batch, uint64_t tokens, tn_error *error);

/* One training step at that rate. The examples' tokens are run to the longest of them, or to the model's
 * sequence with `padded`. */
tn_status tn_trainer_step(tn_trainer *trainer, const tn_example *example, uint64_t count, bool padded,
                          double rate, tn_step_result *result, tn_error *error);

/* Forward alone; a model with `phase: decode` token after token of the examples, of which there are at most its batch, each a
 * step that finds those before it in its cache. class_of[head] (may be NULL): the greatest output of each example or of each of its tokens,
 * one after the other, as many as the examples have. */
tn_status tn_trainer_forward(tn_trainer *trainer, const tn_example *example, uint64_t count, bool padded,
                             uint32_t *const *class_of, tn_step_result *result, tn_error *error);

/* Of the last step or pass: an array of the step by name ("encoder1.query.output" or a gradient
 * "encoder1.query.core1.gradient"), as it was when it was last written. For checks: before a step, asks that the
 * named arrays be copied. `values` has room for what tn_trainer_watch_elements says. */
typedef void (*tn_trainer_watcher)(void *user, const tn_step *step, uint32_t operation, uint32_t array,
                                   const void *values);
void tn_trainer_watch(tn_trainer *trainer, tn_trainer_watcher watcher, void *user);

/* Seconds spent in products since the last call, where timing is switched on. */
void tn_trainer_time(tn_trainer *trainer, bool enabled);
double tn_trainer_product_seconds(const tn_trainer *trainer);

/* Where the run stands, 0 to 1: a precision schedule follows it. The share of operands that it has rounded to the wider
 * format since the last initialisation; NAN without one. */
void tn_trainer_set_progress(tn_trainer *trainer, double progress);
double tn_trainer_wide_share(const tn_trainer *trainer);

/* Operands that a precision schedule has rounded since the last initialisation, and those of them to the format that it ends
 * in. */
void tn_trainer_wide_counts(const tn_trainer *trainer, uint64_t *wide, uint64_t *operands);

/* Gradients of steps, before training.clip_norm: what of them is common to the steps of a window, and what is noise. With g the
 * gradient of all parameters in one of W steps and m their mean,
 *     variance     sum |g - m|^2 / (W - 1)        of all elements together
 *     mean_square  |m|^2 - variance / W           of the gradient without the noise that W steps leave; may be below 0
 * Values move between the steps of a window. */
typedef struct tn_gradient_noise {
    double variance, mean_square;
    uint64_t steps; /* W */
} tn_gradient_noise;
/* Begins to note the gradients of training steps. TN_INPUT where they are never there at once (`update.when: write-back`,
 * predicted_gradients). */
tn_status tn_trainer_note_gradients(tn_trainer *trainer, tn_error *error);
/* Of the steps since that or the last call; NAN of fewer than two. */
void tn_trainer_gradient_noise(tn_trainer *trainer, tn_gradient_noise *noise);

/* What was measured of zeros in the steps since the last initialisation (train/zero_shares.h). */
tn_status tn_trainer_zeros(const tn_trainer *trainer, tn_arena *arena, tn_zeros *zeros, tn_error *error);

/* A number of steps after which the step is the one that is priced: initial weights that decay are zero. 0: any. */
uint64_t tn_trainer_settled_steps(const tn_trainer *trainer);
/* To be told where parameters are set from elsewhere: which elements of sparse ones are live follows from them. */
void tn_trainer_select_anew(tn_trainer *trainer);

/* Steps that Adam has counted; part of what a checkpoint keeps. */
uint64_t tn_trainer_steps(const tn_trainer *trainer);
void tn_trainer_set_steps(tn_trainer *trainer, uint64_t steps);

#endif
