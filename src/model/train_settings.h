/* How a model is trained: what the priced step leaves open, as the keys of `training:` in a model file
 * (docs/train.md), each with a default.
 */
#ifndef TN_MODEL_TRAIN_SETTINGS_H
#define TN_MODEL_TRAIN_SETTINGS_H

#include "base/buffer.h"
#include "base/error.h"
#include "base/memory.h"
#include "text/schema.h"
#include "text/yaml.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum tn_rate_schedule { TN_RATE_CONSTANT, TN_RATE_LINEAR, TN_RATE_SCHEDULES } tn_rate_schedule;
extern const char *const tn_rate_schedule_names[]; /* "constant", "linear"; ended by NULL */

typedef enum tn_token_loss { TN_TOKEN_MEAN, TN_TOKEN_SUM } tn_token_loss;
/* Of gradients among the operands of products, where the model rounds them. */
typedef enum tn_gradient_rounding { TN_ROUNDING_NEAREST, TN_ROUNDING_STOCHASTIC } tn_gradient_rounding;
typedef enum tn_lengths { TN_LENGTHS_TRUE, TN_LENGTHS_PADDED } tn_lengths;
extern const char *const tn_length_names[]; /* "true", "padded"; ended by NULL */

/* The weight of one loss: by the name of its layer, or that name without "-loss". */
typedef struct tn_loss_weight {
    const char *name;
    double weight;
} tn_loss_weight;

typedef struct tn_train_settings {
    uint64_t epochs, seed;
    double learning_rate;
    uint32_t schedule;         /* tn_rate_schedule */
    uint32_t token_loss;       /* tn_token_loss */
    uint32_t lengths;          /* tn_lengths */
    uint64_t warmup_steps;     /* over which the rate rises; 0: none */
    double clip_norm;          /* most that the norm of all gradients together is; 0: any */
    double rank_penalty;       /* under which slices of cores vanish (learn/rank_penalty.h); 0: ranks stay */
    double rank_penalty_share; /* of the run's steps, from the first, in which it works */
    double momentum, beta1, beta2, adam_epsilon, layer_norm_epsilon;
    double matrix_deviation; /* of a matrix's elements; 0: 1 / sqrt(inputs) */
    double table_deviation, positions_deviation;
    double unknown_probability;
    uint32_t gradient_rounding; /* tn_gradient_rounding */
    bool shuffle;
    tn_item_list loss_weights; /* of tn_loss_weight */
} tn_train_settings;

extern const tn_schema tn_train_schema;

/* From the node of `training:`; NULL: all defaults. Lists live in `arena`. */
tn_status tn_train_settings_decode(const tn_yaml *node, tn_arena *arena, tn_train_settings *settings,
                                   tn_error *error);
/* "slot=4": sets one weight. */
tn_status tn_train_settings_weight(tn_train_settings *settings, const char *assignment, tn_arena *arena,
                                   tn_error *error);
/* The weight of the loss layer of that name; 1 where none is given. */
double tn_train_settings_weight_of(const tn_train_settings *settings, const char *layer);

/* The rate of step `step` of `steps`, from 0. Linear: falls from the learning rate to 0 over all steps. Over the first
 * warmup_steps it rises in equal steps to what it is without them. */
double tn_train_rate(const tn_train_settings *settings, uint64_t step, uint64_t steps);

void tn_train_settings_document(tn_buffer *out);

#endif
