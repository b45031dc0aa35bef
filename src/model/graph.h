/* The model behind a file: its layers as a dataflow with repetitions written out, and its named weights.
 *
 * Invariant: a layer's inputs are earlier layers that give something; shapes fit; every layer leads to a
 * loss; every named weight is used, always for matrices of one size.
 */
#ifndef TN_MODEL_GRAPH_H
#define TN_MODEL_GRAPH_H

#include "base/name_index.h"
#include "model/layer_kind.h"
#include "model/model.h"
#include "model/model_file.h"

#define TN_NONE UINT32_MAX

struct tn_layer {
    const tn_layer_kind *kind;
    const char *name; /* "encoder1.query" */
    uint32_t input_count, input[TN_LAYER_INPUTS_MOST];
    uint64_t sequence, width; /* of its output: tokens of an example, features of a token */
    uint64_t tokens;          /* batch x sequence: rows of its output */
    uint64_t rows, columns;   /* of its matrix or table; 0: none */
    uint32_t weight;          /* position in the model's weights, or TN_NONE */
    uint32_t tied; /* of a linear layer: the embedding whose table is its matrix; of that embedding: the
                                 linear layer; TN_NONE: its matrix is its own alone */
    uint64_t heads, kv_heads; /* of attention; heads of rotary positions and of RMS norms; 0: none */
    double base;              /* of rotary positions */
    tn_window window;         /* of convolutions and what lays tokens side by side; else zeros */
    tn_routing routing;       /* of layers of a mixture of experts; else zeros */
    uint64_t taps, states;    /* of a causal convolution; of a scan; else 0 */
    bool causal;              /* attention looks at the tokens up to its own alone */
    bool bias;
    bool learns;                /* it or a layer before it has parameters, so its output needs a gradient */
    uint32_t block, repetition; /* numbered through the model; TN_NONE: it stands in none */
    uint32_t activations;       /* tn_activation_policy */
    tn_position position;
};

typedef struct tn_weight_use {
    tn_model_weight entry;  /* what callers may change */
    uint64_t rows, columns; /* of the layers' matrices */
    uint32_t first_layer;   /* that uses it, or TN_NONE */
    bool looked_up;         /* as an embedding's table */
    bool multiplied;        /* in a linear layer */
    bool own_flow;          /* its entry names one */
    bool is_copy;           /* a layer's own (model/layer_weight.h), of the weight at `base` */
    uint32_t base;
    tn_position position, m_at, n_at, flow_at;
} tn_weight_use;

struct tn_model {
    tn_model_file keys; /* as the file says, weights and layers apart, which follow */
    const tn_yaml *root;
    size_t weights,
        split_room; /* split_room: entries that `weight` holds once a layer got its own; 0: none did */
    tn_weight_use *weight;
    tn_name_index weight_of; /* place in `weight` by name */
    uint32_t layers;
    tn_layer *layer;
};

/* Every weight uncompressed, whatever it says itself. */
static inline bool tn_model_is_dense(const tn_model *model) {
    return model->keys.format == TN_POLICY_DENSE;
}

/* Fills model->layer from the `layers` node; model->weight must stand. */
tn_status tn_graph_decode(const tn_yaml *layers, tn_arena *arena, tn_model *model, tn_error *error);

/* layer_weight.c. Decode the entries of `weights`; note a layer's use of one; once all uses are known, refuse
 * unused ones and settle the flows that are not given. */
tn_status tn_named_weights_decode(const tn_item_list *entries, tn_arena *arena, tn_model *model,
                                  tn_error *error);
tn_status tn_named_weight_use(tn_model *model, uint32_t layer, const char *name, tn_position place,
                              tn_arena *arena, tn_error *error);
tn_status tn_named_weights_settle(tn_model *model, tn_flow_name flow, tn_error *error);

/* Refuses a weight that does not multiply to its layers' size. For changed ones too. */
tn_status tn_named_weight_check(const tn_model *model, const tn_weight_use *use, tn_error *error);

#endif
