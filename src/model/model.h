/* A model file (docs/model-file.md): the layers of a transformer, the format of every weight, and how it is
 * trained.
 *
 *     kind: model
 *     name: atis-2enc
 *     batch: 1
 *     sequence: 32
 *     precision: fp32            # of all numbers, or {weights: .., activations: .., ..}
 *     optimizer: sgd             # sgd, momentum, adam
 *     examples: 4478             # of an epoch; steps = examples / batch, rounded up
 *     format: as-given           # as-given, or dense: every weight uncompressed
 *     flow: bidirectional        # of every weight unless its entry in `weights` says otherwise
 *     weights:                   # named shapes that layers refer to; this is what a space varies
 *       square: {format: tt, m: 12x8x8, n: 8x8x12, rank: 12}
 *       table: {format: ttm, m: 10x10x10, n: 12x8x8, rank: 30}
 *     layers:
 *       - {name: embedding, kind: embedding, vocabulary: 1000, width: 768, weight: table}
 *       - {name: positions, kind: positions}
 *       - name: encoder
 *         kind: block
 *         repeat: 2              # layers encoder1.query, ..., encoder2.norm2
 *         layers:
 *           - {name: query, kind: linear, outputs: 768, weight: square}
 *           - {name: key, kind: linear, outputs: 768, weight: square, input: entry}
 *           ...
 *     build: {...}               # hardware choices, read by device/build.h
 *     checkpoint: {...}          # where trained weights lie, read by ranks
 *     training: {...}            # how it is trained, read by train
 *     language_model: {...}      # the same model as it is fine-tuned, read by finetune
 *
 * Layers are a dataflow: each takes what the layer before it gives, or what `input` or `inputs` name: an
 * earlier layer, a block (its last layer), or inside a block `entry`, what enters the block. Every layer must
 * lead to a cross-entropy layer.
 */
#ifndef TN_MODEL_MODEL_H
#define TN_MODEL_MODEL_H

#include "base/buffer.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/public.h"
#include "flow/named.h"
#include "flow/search.h"
#include "model/step.h"
#include "tensor/weight.h"
#include "text/schema.h"
#include "text/yaml.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

TN_PUBLIC_BEGIN

/* A named weight: what a space may vary, and what every layer that names it shares the shape of (not the
 * values). */
typedef struct tn_model_weight {
    const char *name;
    tn_weight weight;
    tn_flow_name flow;
} tn_model_weight;

typedef struct tn_model tn_model;

/* Loads a model by path or bare name, applies `set` ("KEY=VALUE") in order, checks it. Lives in `arena`. */
tn_status tn_model_load(const char *name, const char *const *set, size_t set_count, tn_arena *arena,
                        tn_model **model, tn_error *error);
/* The same from a copy of the tree of a model that was loaded before: no file is read again. */
tn_status tn_model_vary(const tn_yaml *root, const char *const *set, size_t set_count, tn_arena *arena,
                        tn_model **model, tn_error *error);
/* The same from a YAML tree (sets already applied). */
tn_status tn_model_decode(const tn_yaml *root, tn_arena *arena, tn_model **model, tn_error *error);

extern const tn_schema tn_model_schema; /* its keys: the first names of the paths that `set` may give */

const char *tn_model_name(const tn_model *model);
const tn_yaml *tn_model_root(const tn_model *model);  /* the tree it came from, sets applied */
const tn_yaml *tn_model_build(const tn_model *model); /* node of `build:`, or NULL */
const tn_yaml *tn_model_checkpoint(const tn_model *model);
uint64_t tn_model_sequence(const tn_model *model); /* tokens of an example */
const tn_yaml *tn_model_training(const tn_model *model);

/* The named weights, which the caller may change (format, folding, ranks, flow) before building a step; each
 * change is checked by tn_step_build. */
size_t tn_model_weights(const tn_model *model);
tn_model_weight *tn_model_weight_at(tn_model *model, size_t position);
tn_model_weight *tn_model_weight_find(tn_model *model, const char *name); /* NULL if there is none */

/* Its position; the number of weights for one that is not the model's. */
size_t tn_model_weight_place(const tn_model *model, const tn_model_weight *weight);

/* The layers, repetitions written out, in the order of tn_step.layer. */
typedef struct tn_model_layer {
    const char *name, *kind;       /* "encoder1.query", "linear" */
    uint64_t rows, columns;        /* of its weight matrix: outputs x inputs, vocabulary x width; 0: none */
    const tn_model_weight *weight; /* its entry of `weights`; NULL: dense, or no weight */
    bool bias;
    bool looked_up;  /* the matrix is an embedding's table */
    bool dense;      /* the matrix is kept whole: no entry, an entry of format dense, or `format: dense` */
    uint64_t tokens; /* rows of its output */
} tn_model_layer;
size_t tn_model_layers(const tn_model *model);
tn_model_layer tn_model_layer_at(const tn_model *model, size_t position);

/* *copy has the same layers, and weights that may be changed apart. Lives in `arena` and what the model lives in. */
tn_status tn_model_copy(const tn_model *model, tn_arena *arena, tn_model **copy, tn_error *error);

/* Appends the tables of the file kind's keys. */
void tn_model_document(tn_buffer *out);

/* Programs of weights are searched once and kept: a cache keyed by (weight, tokens, flow, options). Not for
 * two threads at once. */
typedef struct tn_program_cache tn_program_cache;
tn_status tn_program_cache_new(tn_program_cache **cache, tn_error *error);
void tn_program_cache_free(tn_program_cache *cache);
/* From now on the flow `optimal` of a linear layer's weight is the tree of the least price of its forward
 * merges (flow/search.h) instead of the fewest MACs. For a cache that is empty yet; *pricing must outlive it.
 * Look-ups stay as they are. */
void tn_program_cache_price(tn_program_cache *cache, const tn_pricing *pricing);
/* *program lives until the cache is freed. Fails as tn_program_named does. */
tn_status tn_program_cache_get(tn_program_cache *cache, const tn_weight *weight, uint64_t tokens,
                               tn_flow_name flow, const tn_program_options *options,
                               const tn_program **program, tn_error *error);

/* From now on a training flow (tn_flow_is_training) for `tokens` tokens is that of `whole` tokens, its steps repeated for
 * the shorter ones: a device has one flow for all lengths, and searching one takes seconds. So is one of the cheapest trees
 * (tn_flow_is_cheapest): of another length another tree would have that place. */
void tn_program_cache_shorten(tn_program_cache *cache, uint64_t whole, uint64_t tokens);

/* The training step of the model as it stands. Everything in *step lives in `arena`, the model and the cache.
 * A weight whose folding no longer multiplies to its layers' sizes, or that has no such flow, is TN_INPUT. */
tn_status tn_step_build(const tn_model *model, tn_program_cache *cache, tn_arena *arena, tn_step *step,
                        tn_error *error);

/* The same with only the first `transformations` of the table (step/transformation.h), of those that the model asks
 * for. */
tn_status tn_step_build_part(const tn_model *model, tn_program_cache *cache, uint32_t transformations,
                             tn_arena *arena, tn_step *step, tn_error *error);

/* The model with other keys, as YAML ("batch: 4"); its weights as they stand in this one. Lives in `arena`. */
tn_status tn_model_change(const tn_model *model, const char *keys, tn_arena *arena, tn_model **changed,
                          tn_error *error);
/* The same with another batch and sequence. */
tn_status tn_model_resize(const tn_model *model, uint64_t batch, uint64_t sequence, tn_arena *arena,
                          tn_model **resized, tn_error *error);

bool tn_model_is_inference(const tn_model *model); /* `phase: inference`, or decode */
bool tn_model_is_decoding(const tn_model *model);  /* `phase: decode`: a step is of one token an example */

/* Of a model for inference the one that is trained for it: whole, in fp32, without the techniques of inference; its weights as they
 * stand in this one. Lives in `arena`. */
tn_status tn_model_before_inference(const tn_model *model, tn_arena *arena, tn_model **trained,
                                    tn_error *error);

/* The sorts of step that a run consists of, each with its share of the steps: one, or with predicted gradients the true
 * steps and those that predict; in inference with early exits one for each exit, in their order. tn_step_build gives the
 * mean of them, which is what is priced; a sort is what is executed. Resident arrays are the same in all. */
#define TN_SORT_MEAN UINT32_MAX
enum { TN_SORT_TRUE, TN_SORT_PREDICTED, TN_PREDICTING_SORTS };
uint32_t tn_step_sorts(const tn_model *model);
double tn_step_sort_share(const tn_model *model, uint32_t sort);
tn_status tn_step_build_sort(const tn_model *model, tn_program_cache *cache, uint32_t sort, tn_arena *arena,
                             tn_step *step, tn_error *error);

TN_PUBLIC_END

#endif
