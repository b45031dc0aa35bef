#include "ranks/model_config.h"

#include "base/name_index.h"
#include "text/number.h"

#include <inttypes.h>
#include <string.h>

static const tn_config_family families[] = {
    {"llama", "llama", "model.", .matrices = 3},
    {"mistral", "llama", "model.", .matrices = 3},
    {"mixtral", "llama", "model.", "block_sparse_moe", .matrices = 3},
    {"phi3", .matrices = 3},
    {"olmo2", .matrices = 3},
    {"gemma", .matrices = 3, .tied = true},
    {"qwen2", "llama", "model.", .matrices = 3, .query_biases = true},
    {"qwen3", "llama", "model.", .matrices = 3, .head_norms = true},
    {"qwen3_moe", "llama", "model.", "mlp.experts", .matrices = 3, .head_norms = true},
    {"gpt2", "gpt2", "transformer.", .matrices = 2, .biases = true, .positions = true, .tied = true},
    {"opt", "opt", "model.", .matrices = 2, .extra_positions = 2, .biases = true, .positions = true,
     .tied = true},
    {"bert", "bert", "bert.", .kind = TN_CONFIG_ENCODER, .matrices = 2, .biases = true, .positions = true},
    {"roberta", "bert", "roberta.", .kind = TN_CONFIG_ENCODER, .matrices = 2, .head_way = 1, .biases = true,
     .positions = true},
    {"distilbert", "distilbert", "distilbert.", .kind = TN_CONFIG_SMALL_ENCODER, .matrices = 2,
     .biases = true, .positions = true},
    {"vit", "vit", "vit.", .kind = TN_CONFIG_PICTURES, .matrices = 2, .biases = true},
};
enum { FAMILIES = sizeof families / sizeof *families };

/* Sizes by the names that families give them, the first that is there. */
static const char *const size_keys[TN_CONFIG_SIZES][5] = {
    [TN_CONFIG_HIDDEN] = {"hidden_size", "n_embd", "dim"},
    [TN_CONFIG_VOCABULARY] = {"vocab_size"},
    [TN_CONFIG_LAYERS] = {"num_hidden_layers", "n_layer", "n_layers"},
    [TN_CONFIG_HEADS] = {"num_attention_heads", "n_head", "n_heads"},
    [TN_CONFIG_KV_HEADS] = {"num_key_value_heads"},
    [TN_CONFIG_HEAD_SIZE] = {"head_dim"},
    [TN_CONFIG_INNER] = {"moe_intermediate_size", "intermediate_size", "n_inner", "hidden_dim", "ffn_dim"},
    [TN_CONFIG_EXPERTS] = {"num_local_experts", "num_experts"},
    [TN_CONFIG_ACTIVE] = {"num_experts_per_tok"},
    [TN_CONFIG_POSITIONS] = {"max_position_embeddings", "n_positions"},
    [TN_CONFIG_TYPES] = {"type_vocab_size"},
    [TN_CONFIG_CLASSES] = {"num_labels"},
    [TN_CONFIG_PICTURE] = {"image_size"},
    [TN_CONFIG_PATCH] = {"patch_size"},
    [TN_CONFIG_COLOURS] = {"num_channels"},
};
enum { SIZE_KEYS = sizeof size_keys[0] / sizeof *size_keys[0], SIZE_MOST = 1000000000 };

static bool is_null(const tn_yaml *value) {
    return value->kind == TN_YAML_SCALAR && !value->quoted && strcmp(value->text, "null") == 0;
}

/* The value under a key that is there and not null, else NULL. */
static const tn_yaml *said(const tn_yaml *tree, const char *key) {
    const tn_yaml *value = tn_yaml_get(tree, key);
    return value && !is_null(value) ? value : NULL;
}

static const char *text_said(const tn_yaml *tree, const char *key) {
    const tn_yaml *value = said(tree, key);
    return value && value->kind == TN_YAML_SCALAR && *value->text ? value->text : NULL;
}

static tn_status read_size(const tn_yaml *tree, const char *const key[SIZE_KEYS], uint64_t *size,
                           tn_error *error) {
    for (int i = 0; i < SIZE_KEYS && key[i]; i++) {
        const tn_yaml *value = said(tree, key[i]);
        if (!value) continue;
        if (value->kind == TN_YAML_SCALAR && !value->quoted &&
            tn_read_count(value->text, size) == TN_NUMBER_OK && *size > 0 && *size <= SIZE_MOST)
            return TN_OK;
        return tn_fail_at(error, TN_INPUT, value->position, "\"%s\" must be a whole number from 1 to %d",
                          key[i], SIZE_MOST);
    }
    return TN_OK;
}

/* In the configuration, or in its rope_parameters. */
static double rotary_base(const tn_yaml *tree) {
    const tn_yaml *inner = said(tree, "rope_parameters");
    const char *text = text_said(tree, "rope_theta");
    double base;
    if (!text && inner && inner->kind == TN_YAML_MAPPING) text = text_said(inner, "rope_theta");
    return text && tn_read_real(text, &base) == TN_NUMBER_OK && base >= 1 ? base : 0;
}

static tn_config_answer answer_said(const tn_yaml *tree, const char *key) {
    const char *text = text_said(tree, key);
    if (!text) return TN_CONFIG_ABSENT;
    return strcmp(text, "true") == 0    ? TN_CONFIG_YES
           : strcmp(text, "false") == 0 ? TN_CONFIG_NO
                                        : TN_CONFIG_ABSENT;
}

static const tn_config_family *find_family(const char *type) {
    for (size_t i = 0; type && i < FAMILIES; i++)
        if (strcmp(type, families[i].type) == 0) return &families[i];
    return NULL;
}

tn_status tn_model_config_read(const tn_yaml *tree, tn_model_config *config, tn_error *error) {
    static const char *const activation[] = {"hidden_act", "activation_function", "activation"};
    *config = (tn_model_config){.path = tree->position.file, .position = tree->position};
    if (tree->kind != TN_YAML_MAPPING)
        return tn_fail_at(error, TN_INPUT, tree->position, "is no configuration: not an object");
    config->type = text_said(tree, "model_type");
    if (config->type) config->type_position = tn_yaml_get(tree, "model_type")->position;
    config->name = text_said(tree, "_name_or_path");
    config->family = find_family(config->type);
    for (int i = 0; i < TN_CONFIG_SIZES; i++) TN_TRY(read_size(tree, size_keys[i], &config->size[i], error));
    const tn_yaml *classes = said(tree, "id2label"), *architectures = said(tree, "architectures");
    if (classes && classes->kind == TN_YAML_MAPPING) config->size[TN_CONFIG_CLASSES] = classes->count;
    if (architectures && architectures->kind == TN_YAML_SEQUENCE && architectures->count &&
        architectures->item[0]->kind == TN_YAML_SCALAR)
        config->architecture = architectures->item[0]->text;
    const tn_yaml *scaling = said(tree, "rope_scaling");
    config->rotary_base = rotary_base(tree);
    config->rotary_scaled = scaling && scaling->kind == TN_YAML_MAPPING;
    config->tied_embeddings = answer_said(tree, "tie_word_embeddings");
    for (int i = 0; i < 3 && !config->activation; i++) config->activation = text_said(tree, activation[i]);
    return TN_OK;
}

tn_status tn_model_config_load(const char *path, tn_arena *arena, tn_model_config *config, tn_error *error) {
    tn_yaml *tree;
    *config = (tn_model_config){0};
    if (!path) return TN_OK;
    TN_TRY(tn_yaml_load(path, arena, &tree, error));
    return tn_model_config_read(tree, config, error);
}

static tn_status unknown_family(const tn_model_config *config, tn_error *error) {
    const char *names[FAMILIES];
    char told[128];
    if (!config->type)
        return tn_fail_at(error, TN_INPUT, config->position,
                          "no \"model_type\", by which a checkpoint's config.json says its family");
    for (size_t i = 0; i < FAMILIES; i++) names[i] = families[i].type;
    return tn_fail_at(error, TN_INPUT, config->type_position,
                      "model_type '%.60s' is no family that is known; %s", config->type,
                      tn_suggestion(config->type, names, FAMILIES, told, sizeof told));
}

static tn_status need(const tn_model_config *config, tn_config_size which, tn_error *error) {
    if (config->size[which]) return TN_OK;
    return tn_fail_at(error, TN_INPUT, config->position, "no \"%s\", which this family of models has",
                      size_keys[which][0]);
}

static void default_size(tn_model_config *config, tn_config_size which, uint64_t custom) {
    if (config->size[which] == 0) config->size[which] = custom;
}

/* A patch for each position, and the class token. */
static tn_status complete_pictures(tn_model_config *config, tn_error *error) {
    uint64_t *size = config->size;
    TN_TRY(need(config, TN_CONFIG_PICTURE, error));
    TN_TRY(need(config, TN_CONFIG_PATCH, error));
    default_size(config, TN_CONFIG_COLOURS, 3);
    const uint64_t side = size[TN_CONFIG_PICTURE] / size[TN_CONFIG_PATCH];
    size[TN_CONFIG_POSITIONS] = side * side + 1;
    if (side > 0) return TN_OK;
    return tn_fail_at(error, TN_INPUT, config->position,
                      "pictures of %" PRIu64 " pixels a side hold no patch of %" PRIu64,
                      size[TN_CONFIG_PICTURE], size[TN_CONFIG_PATCH]);
}

tn_status tn_model_config_complete(tn_model_config *config, tn_error *error) {
    uint64_t *size = config->size;
    const tn_config_family *family = config->family;
    if (!family) return unknown_family(config, error);
    const bool pictures = family->kind == TN_CONFIG_PICTURES;
    TN_TRY(need(config, TN_CONFIG_HIDDEN, error));
    TN_TRY(need(config, TN_CONFIG_LAYERS, error));
    TN_TRY(need(config, TN_CONFIG_HEADS, error));
    if (!pictures) TN_TRY(need(config, TN_CONFIG_VOCABULARY, error));
    if (family->biases) default_size(config, TN_CONFIG_INNER, 4 * size[TN_CONFIG_HIDDEN]);
    TN_TRY(need(config, TN_CONFIG_INNER, error));
    if (size[TN_CONFIG_HIDDEN] < size[TN_CONFIG_HEADS] && size[TN_CONFIG_HEAD_SIZE] == 0)
        return tn_fail_at(error, TN_INPUT, config->position, "more heads than the width has elements");
    default_size(config, TN_CONFIG_KV_HEADS, size[TN_CONFIG_HEADS]);
    default_size(config, TN_CONFIG_HEAD_SIZE, size[TN_CONFIG_HIDDEN] / size[TN_CONFIG_HEADS]);
    default_size(config, TN_CONFIG_EXPERTS, 1);
    if (size[TN_CONFIG_EXPERTS] == 1) default_size(config, TN_CONFIG_ACTIVE, 1);
    TN_TRY(need(config, TN_CONFIG_ACTIVE, error));
    default_size(config, TN_CONFIG_TYPES, 1);
    default_size(config, TN_CONFIG_CLASSES, 2);
    if (config->tied_embeddings == TN_CONFIG_ABSENT)
        config->tied_embeddings = family->tied ? TN_CONFIG_YES : TN_CONFIG_NO;
    if (pictures) return complete_pictures(config, error);
    if (family->positions) return need(config, TN_CONFIG_POSITIONS, error);
    size[TN_CONFIG_POSITIONS] = 0; /* angles, however many */
    return TN_OK;
}
