/* Single layers that differ from the weight that they name: `overrides` of a model file, the keys
 * layers.PATTERN.rank|folding|format|flow of --set and of spaces. Such a layer gets an entry of its own among the
 * model's weights, a copy of the one it names, called as the layer: "encoder1.query". */
#ifndef TN_MODEL_LAYER_WEIGHT_H
#define TN_MODEL_LAYER_WEIGHT_H

#include "base/error.h"
#include "base/memory.h"
#include "model/model.h"
#include "text/schema.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a single layer may have otherwise. */
typedef enum tn_layer_what {
    TN_LAYER_RANK,
    TN_LAYER_FOLDING,
    TN_LAYER_FORMAT,
    TN_LAYER_FLOW,
    TN_LAYER_WHATS
} tn_layer_what;
extern const char *const tn_layer_what_names[]; /* "rank", "folding", "format", "flow"; ended by NULL */

/* "layers.PATTERN.rank" and so on, up to the text's end or a '='. PATTERN is a glob over the names of layers, where *
 * also stands for points. *pattern = it, in the arena. *found false: the text is another key. */
tn_status tn_layer_key(const char *key, tn_arena *arena, bool *found, const char **pattern,
                       tn_layer_what *what, tn_error *error);

/* The layers that PATTERN means, of those that name a weight: places in the model, *count at least 1. TN_INPUT
 * where there is none, with the nearest name. */
tn_status tn_layers_match(const tn_model *model, const char *pattern, tn_position position, tn_arena *arena,
                          size_t **layer, size_t *count, tn_error *error);

/* Gives the layer at that place an entry of its own, if it has none; *weight = the entry's place. */
tn_status tn_model_split(tn_model *model, size_t layer, tn_arena *arena, size_t *weight, tn_error *error);
/* Gives the layers entries of their own that have them in `like`, a variant of the same model: weights of both then
 * stand at the same places. TN_INPUT where a layer is not there. */
tn_status tn_model_split_like(tn_model *model, const tn_model *like, tn_arena *arena, tn_error *error);
/* The place of the entry that this one is a copy of, its own for one that the file names. */
size_t tn_model_weight_base(const tn_model *model, size_t weight);

typedef struct tn_override {
    const char *name; /* the pattern */
    uint32_t format, flow;
    const char *folding;
    tn_count_list rank;
    tn_position format_at, flow_at, folding_at, rank_at; /* line 0: absent */
} tn_override;
extern const tn_schema tn_override_schema;

/* Applies `overrides` (of tn_override), in their order; `flow` is the model's. */
tn_status tn_overrides_apply(const tn_item_list *overrides, tn_flow_name flow, tn_arena *arena,
                             tn_model *model, tn_error *error);

#endif
