/* The kinds of layers, one row each: name in a model file, keys, inputs, shape, forward and backward part.
 * To add a function of each element: its two operations in step.h and operation.c, and its row here, which names them.
 * To add another kind: its row, its two parts in a file of its own or beside its relatives, and its operations' rows
 * where it needs new ones.
 */
#ifndef TN_MODEL_LAYER_KIND_H
#define TN_MODEL_LAYER_KIND_H

#include "base/buffer.h"
#include "base/error.h"
#include "model/model_file.h"
#include "model/step.h"
#include "text/schema.h"
#include "text/yaml.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct tn_builder tn_builder;
typedef struct tn_layer tn_layer;

enum { TN_LAYER_INPUTS_MOST = 4 };

/* A layer of any kind, as the file has it; keys that its kind does not have stay zero. */
typedef struct tn_layer_entry {
    const char *name;
    const char *kind_text;
    const struct tn_layer_kind *kind;
    tn_text_list input;
    tn_text_list weight; /* none, one, or one per repetition of the block */
    uint64_t outputs, width, vocabulary, heads, kv_heads, repeat;
    uint64_t picture_height, picture_width, kernel, kernel_width, stride, stride_width, padding,
        padding_width;
    double base; /* of rotary positions */
    bool bias, causal;
    /* Of composites (model/composite.h). */
    uint64_t repetition, repetitions;      /* of the block that it stands in, from 0; of how many */
    uint64_t experts, top, hidden, expert; /* expert: which one an inner layer is of, from 0 */
    uint64_t expansion, state, taps, step_rank;
    double capacity, balance;
    bool gated, normalise;
    uint32_t activation;                  /* of tn_expert_activation_names */
    tn_text_list up, gate, down, in, out; /* weights */
    tn_position top_at, capacity_at, normalise_at, up_at, gate_at, down_at, in_at, out_at;
    const char *tied; /* the embedding whose table is its matrix; NULL: none */
    const tn_yaml *layers;
    tn_model_activations activations; /* of a block */
    tn_position position, name_at, input_at, weight_at, tied_at, heads_at, kv_heads_at, causal_at, height_at,
        kernel_at, kernel_width_at, stride_width_at, padding_width_at;
} tn_layer_entry;

typedef struct tn_layer_kind {
    const char *name;
    const tn_field *field; /* its keys */
    size_t fields;
    uint32_t
        inputs; /* 0, 1 (by default the layer before), 2 or more (which must be named); a combine one fewer */
    bool has_parameters; /* of its own, or a matrix */
    bool across_tokens;  /* it mixes tokens and keeps no cache of them, so that none can be decoded alone */
    tn_layer_family family; /* TN_LAYER_LOSS: gives nothing to take; every layer must lead to one */
    /* Shape and matrix from the entry and the inputs. When it is called, `layer` has as many tokens and
     * features as its first input (or as the entry's `width` says). NULL: that is right. */
    tn_status (*shape)(const tn_layer_entry *entry, const tn_layer *const *input, tn_layer *layer,
                       tn_error *error);
    /* Write arrays and operations (step/builder.h). `backward` is called only for layers that learn, or that
     * something before them does. Both NULL: a block, which is no layer but layers that repeat. */
    tn_status (*forward)(tn_builder *b);
    tn_status (*backward)(tn_builder *b);
    tn_operation_kind operation,
        gradient; /* of a function of each element: forward, and dX from dY and X or Y */
    /* Of a composite, which has no parts: the entries that it stands for. */
    tn_status (*expand)(const tn_layer_entry *entry, const tn_layer *input, tn_arena *arena,
                        tn_layer_entry **entries, size_t *count, tn_error *error);
} tn_layer_kind;

extern const tn_layer_kind tn_layer_kinds[];
extern const size_t tn_layer_kind_count;

bool tn_layer_kind_is_block(const tn_layer_kind *kind);
/* The row of a name in a model file, or NULL. */
const tn_layer_kind *tn_layer_kind_find(const char *name);

/* "input, embedding, ... and block" */
void tn_layer_kind_list(tn_buffer *out);
/* Appends the tables of all kinds' keys. */
void tn_layer_kind_document(tn_buffer *out);

/* One item of a `layers` list, by the keys of its kind. */
tn_status tn_layer_entry_decode(const tn_yaml *node, tn_arena *arena, tn_layer_entry *entry, tn_error *error);

/* The parts, by the files that have them. */
tn_status tn_input_forward(tn_builder *b), tn_input_backward(tn_builder *b);
tn_status tn_embedding_forward(tn_builder *b), tn_embedding_backward(tn_builder *b);
tn_status tn_positions_forward(tn_builder *b), tn_positions_backward(tn_builder *b);
tn_status tn_linear_forward(tn_builder *b), tn_linear_backward(tn_builder *b);
tn_status tn_conv_forward(tn_builder *b), tn_conv_backward(tn_builder *b);
tn_status tn_mean_forward(tn_builder *b), tn_mean_backward(tn_builder *b);
tn_status tn_flatten_forward(tn_builder *b), tn_flatten_backward(tn_builder *b);
tn_status tn_attention_forward(tn_builder *b), tn_attention_backward(tn_builder *b);
tn_status tn_rotary_forward(tn_builder *b), tn_rotary_backward(tn_builder *b);
tn_status tn_layer_norm_forward(tn_builder *b), tn_layer_norm_backward(tn_builder *b);
tn_status tn_rms_norm_forward(tn_builder *b), tn_rms_norm_backward(tn_builder *b);
tn_status tn_map_forward(tn_builder *b), tn_map_backward(tn_builder *b);
tn_status tn_residual_forward(tn_builder *b), tn_residual_backward(tn_builder *b);
tn_status tn_multiply_forward(tn_builder *b), tn_multiply_backward(tn_builder *b);
tn_status tn_route_forward(tn_builder *b), tn_route_backward(tn_builder *b);
tn_status tn_dispatch_forward(tn_builder *b), tn_dispatch_backward(tn_builder *b);
tn_status tn_combine_forward(tn_builder *b), tn_combine_backward(tn_builder *b);
tn_status tn_causal_conv_forward(tn_builder *b), tn_causal_conv_backward(tn_builder *b);
tn_status tn_scan_forward(tn_builder *b), tn_scan_backward(tn_builder *b);
tn_status tn_first_token_forward(tn_builder *b), tn_first_token_backward(tn_builder *b);
tn_status tn_cross_entropy_forward(tn_builder *b), tn_cross_entropy_backward(tn_builder *b);

#endif
