/* What the config.json beside a published checkpoint says that its arrays do not. */
#ifndef TN_RANKS_MODEL_CONFIG_H
#define TN_RANKS_MODEL_CONFIG_H

#include "base/error.h"
#include "base/memory.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum tn_config_answer { TN_CONFIG_ABSENT, TN_CONFIG_NO, TN_CONFIG_YES } tn_config_answer;

typedef struct tn_model_config {
    const char *path; /* NULL: there is none, and nothing is said */
    uint64_t heads;   /* 0 here and below: not said */
    uint64_t kv_heads, head_size, active_experts;
    uint64_t hidden, layers, vocabulary;
    double rotary_base;     /* rope_theta; 0: not said */
    bool rotary_scaled;     /* rope_scaling: angles that no layer of a model file turns by */
    const char *activation; /* "gelu_new"; NULL: not said */
    tn_config_answer tied_embeddings;
} tn_model_config;

/* path NULL: empty. Lives in `arena`. */
tn_status tn_model_config_load(const char *path, tn_arena *arena, tn_model_config *config, tn_error *error);

#endif
