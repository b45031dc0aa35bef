/* Names that published checkpoints give their arrays, by family of models: what each array is for, and of which layer.
 *
 * Whatever stands before the part that a family fixes ("bert.", "model.", "transformer.", nothing) does not matter; what
 * stands behind it is a matrix's or norm's ".weight" or ".bias" (".gamma", ".beta" of older norms).
 */
#ifndef TN_RANKS_TENSOR_NAMES_H
#define TN_RANKS_TENSOR_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum tn_tensor_role {
    TN_TENSOR_WORDS,
    TN_TENSOR_POSITIONS,
    TN_TENSOR_TYPES,
    TN_TENSOR_FIRST_NORM,
    TN_TENSOR_PATCHES,
    TN_TENSOR_CLASS_TOKEN,
    TN_TENSOR_QUERY,
    TN_TENSOR_KEY,
    TN_TENSOR_VALUE,
    TN_TENSOR_FUSED, /* the three side by side */
    TN_TENSOR_OUTPUT,
    TN_TENSOR_QUERY_NORM, /* of a head */
    TN_TENSOR_KEY_NORM,
    TN_TENSOR_ATTENTION_NORM,
    TN_TENSOR_FEED_NORM,
    TN_TENSOR_WIDEN,
    TN_TENSOR_NARROW,
    TN_TENSOR_GATE,
    TN_TENSOR_ROUTER,
    TN_TENSOR_FINAL_NORM,
    TN_TENSOR_POOLER,
    TN_TENSOR_CLASSIFIER,
    TN_TENSOR_HEAD, /* the output projection of a language model */
    TN_TENSOR_ROLES
} tn_tensor_role;

enum { TN_TENSOR_LEFT_OUT_MOST = 3 };

typedef struct tn_tensor_family {
    const char *name;
    /* Ways to name the array of a role, "|" between them, without what may stand before and behind; {i} is the layer, {e} the
     * expert. NULL: the family has none. */
    const char *names[TN_TENSOR_ROLES];
    const char
        *left_out[TN_TENSOR_LEFT_OUT_MOST]; /* beginnings of names of heads that only pretraining needs */
    const char *activation;                 /* where the configuration does not say */
    bool norm_first;                        /* norms stand before what they belong to */
    bool input_rows;                        /* matrices of layers are inputs x outputs (Conv1D) */
    bool is_decoder;                        /* without another head it predicts words */
    bool grouped;                           /* grouped queries, a gated feed-forward: a language model */
} tn_tensor_family;

extern const tn_tensor_family tn_tensor_families[];
extern const size_t tn_tensor_family_count;

/* What an array's name says. */
typedef struct tn_tensor_name {
    tn_tensor_role role;
    bool is_bias;
    bool has_layer; /* `layer` is its number, which stands at `index` of the name in so many `digits` */
    uint64_t layer, expert;
    size_t index, digits;
} tn_tensor_name;

/* The length of a name without ".weight" or the like; of what ends otherwise, all of it. */
size_t tn_tensor_stem(const char *name, bool *is_bias);

/* Whether the family names an array so. */
bool tn_tensor_name_read(const tn_tensor_family *family, const char *name, tn_tensor_name *read);

/* The array is of a head that only pretraining needs. */
bool tn_tensor_left_out(const tn_tensor_family *family, const char *name);
/* The array is a constant that checkpoints of some versions hold, such as a mask: no parameter, of any family. */
bool tn_tensor_is_constant(const char *name);

/* What is known of a checkpoint whose names are of no family: "T5 (relative positions ..)", or NULL. */
const char *tn_tensor_unsupported(const char *name);

/* The layer of a model file that a role becomes: "query", "attention-norm". */
const char *tn_tensor_layer(tn_tensor_role role);

#endif
