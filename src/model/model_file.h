/* The keys of a model file as tables, one schema for the file, one for an entry of `weights` and one for each
 * kind of layer, and the plain structs they decode into. What the keys mean together is judged in graph.c.
 */
#ifndef TN_MODEL_MODEL_FILE_H
#define TN_MODEL_MODEL_FILE_H

#include "base/arena.h"
#include "base/error.h"
#include "text/schema.h"
#include "text/yaml.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum tn_layer_kind {
    TN_LAYER_INPUT,
    TN_LAYER_EMBEDDING,
    TN_LAYER_POSITIONS,
    TN_LAYER_LINEAR,
    TN_LAYER_ATTENTION,
    TN_LAYER_NORM,
    TN_LAYER_GELU,
    TN_LAYER_TANH,
    TN_LAYER_RESIDUAL,
    TN_LAYER_FIRST_TOKEN,
    TN_LAYER_CROSS_ENTROPY,
    TN_LAYER_BLOCK, /* not a layer: layers that repeat */
    TN_LAYER_KINDS
} tn_layer_kind;
extern const char *const tn_layer_kind_names[]; /* ended by NULL */

/* How many inputs a layer takes: 0, 1 (by default the layer before), 2 or 3 (which must be named). */
uint32_t tn_layer_kind_inputs(tn_layer_kind kind);

typedef enum tn_weight_policy { TN_POLICY_AS_GIVEN, TN_POLICY_DENSE } tn_weight_policy;

typedef struct tn_weight_entry {
    const char *name;
    uint32_t format, flow;
    tn_count_list m, n, rank;
    tn_position format_at, m_at, n_at, rank_at, flow_at; /* line 0: absent */
} tn_weight_entry;

/* A layer of any kind; keys that its kind does not have stay zero. */
typedef struct tn_layer_entry {
    const char *name;
    const char *kind_text;
    tn_layer_kind kind;
    tn_text_list input;
    tn_text_list weight; /* none, one, or one per repetition of the block */
    uint64_t outputs, width, vocabulary, heads, repeat;
    bool bias;
    const tn_yaml *layers;
    tn_position at, name_at, input_at, weight_at, heads_at;
} tn_layer_entry;

typedef struct tn_model_file {
    uint32_t kind, precision, optimizer, format, flow;
    const char *name;
    uint64_t batch, sequence, examples;
    tn_item_list weights; /* of tn_weight_entry */
    const tn_yaml *layers, *build, *checkpoint;
    tn_position name_at;
} tn_model_file;

tn_status tn_model_file_decode(const tn_yaml *root, tn_arena *arena, tn_model_file *file, tn_error *error);
/* One item of a `layers` list, by the schema of its kind. */
tn_status tn_layer_entry_decode(const tn_yaml *node, tn_arena *arena, tn_layer_entry *entry, tn_error *error);

/* Refuses names that paths can't hold: letters, digits, - and _, at least one. `what` is "layer", ... */
tn_status tn_model_name_check(const char *name, tn_position at, const char *what, tn_error *error);

#endif
