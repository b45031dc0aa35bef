/* The config.json beside a published checkpoint (the hub's format): the family of the model and its sizes, under the names
 * that families give them. */
#ifndef TN_RANKS_MODEL_CONFIG_H
#define TN_RANKS_MODEL_CONFIG_H

#include "base/error.h"
#include "base/memory.h"
#include "text/yaml.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum tn_config_answer { TN_CONFIG_ABSENT, TN_CONFIG_NO, TN_CONFIG_YES } tn_config_answer;

typedef enum tn_config_size {
    TN_CONFIG_HIDDEN,
    TN_CONFIG_VOCABULARY,
    TN_CONFIG_LAYERS,
    TN_CONFIG_HEADS,
    TN_CONFIG_KV_HEADS,
    TN_CONFIG_HEAD_SIZE,
    TN_CONFIG_INNER, /* of a feed-forward layer, or of an expert */
    TN_CONFIG_EXPERTS,
    TN_CONFIG_ACTIVE,    /* experts that a token is sent to */
    TN_CONFIG_POSITIONS, /* 0 once completed: no table of them */
    TN_CONFIG_TYPES,
    TN_CONFIG_CLASSES,
    TN_CONFIG_PICTURE, /* pixels of a side */
    TN_CONFIG_PATCH,   /* of a side */
    TN_CONFIG_COLOURS,
    TN_CONFIG_SIZES
} tn_config_size;

typedef enum tn_config_kind {
    TN_CONFIG_DECODER,
    TN_CONFIG_ENCODER,
    TN_CONFIG_SMALL_ENCODER, /* without types, its pooler as a first layer of the classifier */
    TN_CONFIG_PICTURES,
} tn_config_kind;

/* What the model_type of a configuration says without a word. */
typedef struct tn_config_family {
    const char *type;
    const char *tensors; /* family of ranks/tensor_names.h that names its arrays; NULL: none */
    const char *prefix;  /* before these names where the model has a head */
    const char *experts; /* what the names of experts' arrays hold; NULL: there are none */
    tn_config_kind kind;
    int matrices;             /* of a feed-forward layer */
    uint64_t extra_positions; /* rows of the table that no token has */
    int head_way;             /* which of several names the arrays of its head have, from 0 */
    bool biases;              /* in every matrix and norm */
    bool query_biases, head_norms, positions, tied;
} tn_config_family;

typedef struct tn_model_config {
    const char *path;                    /* NULL: there is none, and nothing is said */
    tn_position position, type_position; /* of the object, of its model_type */
    const char *type, *name;             /* model_type, _name_or_path; NULL: not said */
    const char *architecture;            /* the first of `architectures`: "BertForTokenClassification" */
    const tn_config_family *family;      /* NULL: type is not said, or of no family below */
    uint64_t size[TN_CONFIG_SIZES];      /* 0: not said */
    double rotary_base;                  /* rope_theta; 0: not said */
    bool rotary_scaled;                  /* rope_scaling: angles that no layer of a model file turns by */
    const char *activation;              /* "gelu_new"; NULL: not said */
    tn_config_answer tied_embeddings;
} tn_model_config;

/* From the file's object. A size that is no whole number from 1 on is TN_INPUT, with its place. Lives as long as the tree. */
tn_status tn_model_config_read(const tn_yaml *tree, tn_model_config *config, tn_error *error);

/* path NULL: empty. Lives in `arena`. */
tn_status tn_model_config_load(const char *path, tn_arena *arena, tn_model_config *config, tn_error *error);

/* Every size that the family's models have, by the family's custom where the file doesn't say; TN_INPUT where there is none, and
 * for a model_type of no family. */
tn_status tn_model_config_complete(tn_model_config *config, tn_error *error);

#endif
