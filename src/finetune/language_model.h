/* A language model to be fine-tuned: a model file of kind language-model, or the mapping `language_model` of one of kind
 * model, whose layers it is of (docs/language-model-file.md). Its architecture and how it is trained; what follows from them is counted in finetune/count.h. */
#ifndef TN_FINETUNE_LANGUAGE_MODEL_H
#define TN_FINETUNE_LANGUAGE_MODEL_H

#include "base/error.h"
#include "base/memory.h"
#include "base/public.h"
#include "text/schema.h"

#include <stdbool.h>
#include <stdint.h>

TN_PUBLIC_BEGIN

/* Layers that mix tokens by attention: layers 0 where there are none. */
typedef struct tn_language_attention {
    uint64_t layers, heads, kv_heads, head_size;
    uint64_t biases; /* of a layer: parameters that are in no matrix, the norm of its input aside */
    bool flash;      /* scores are not kept, whatever the length */
} tn_language_attention;

/* Layers that mix tokens by a selective state space (Mamba). */
typedef struct tn_language_state_space {
    uint64_t layers, expansion, state, convolution, step_rank;
} tn_language_state_space;

/* Feed-forward layers; a dense model has one expert. */
typedef struct tn_language_feed_forward {
    uint64_t layers, size, matrices, experts, active;
} tn_language_feed_forward;

typedef enum tn_tuning { TN_TUNE_FULL, TN_TUNE_LORA } tn_tuning;

typedef struct tn_language_adapters {
    uint64_t rank;
    bool attention, state_space, feed_forward, router; /* which matrices have them */
    uint64_t bits;                                     /* of an adapter's parameter */
    uint64_t input_bits; /* of the copy of its input that an adapter keeps; 0: none */
} tn_language_adapters;

typedef struct tn_language_training {
    uint32_t method; /* tn_tuning */
    tn_language_adapters adapters;
    bool checkpointing; /* only layer inputs are kept, each layer runs forward again */
    bool keeps_all;     /* layers run forward again, and yet everything is kept */
    uint64_t activation_bits;
    uint64_t compute_bits; /* of the operands of products; 32 run at half the peak of 16 (TF32) */
    uint64_t gradient_bits, optimizer_bits; /* per trained parameter */
    uint64_t logit_bits; /* kept per token and vocabulary entry, with the loss's copies and gradient */
    double reserve_GB;   /* what the context, libraries and fragmentation take */
} tn_language_training;

/* Coefficients of arXiv 2408.04693; `given` where the file has them. */
typedef struct tn_language_published {
    double c0, c1, c3, model_GB;
    double expert_share; /* of a step in layers of experts, as remembered; 0: not said */
} tn_language_published;

typedef struct tn_language_model {
    const char *name, *title, *source;
    uint32_t kind, origin; /* tn_origin */
    uint64_t hidden, vocabulary;
    uint64_t outputs;          /* of the output projection; 0: the vocabulary */
    uint64_t other_parameters; /* in none of the layers: positions, types, a pooler */
    bool tied_embeddings;
    double matrix_bits,
        other_bits; /* of a parameter, as stored: matrices of layers; norms, embeddings, router */
    tn_language_attention attention;
    tn_language_state_space state_space;
    tn_language_feed_forward feed_forward;
    tn_language_training training;
    tn_language_published published;
    tn_position published_at; /* line 0: not in the file */
} tn_language_model;

extern const tn_schema tn_language_model_schema;

/* Whether matrices are stored in fewer bits than products take, and are unpacked for them. */
bool tn_language_is_packed(const tn_language_model *model);

/* Loads a path or a bare name of models/, or the config.json of a checkpoint (finetune/language_model.c), applies `set` in order, checks it. Lives in `arena`. A model that has none is
 * TN_INPUT. */
tn_status tn_language_model_load(const char *name, const char *const *set, size_t set_count, tn_arena *arena,
                                 tn_language_model *model, tn_error *error);

/* As loading the bare name `name`, which is never taken for a path; *found is false where models/ has no file
 * of that name and this kind. A broken file is an error. */
tn_status tn_language_model_find(const char *name, tn_arena *arena, tn_language_model *model, bool *found,
                                 tn_error *error);

TN_PUBLIC_END

#endif
