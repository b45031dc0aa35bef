#include "finetune/hub_config.h"

#include "base/buffer.h"
#include "base/name_index.h"
#include "text/number.h"

#include <stdbool.h>
#include <string.h>

/* Families of models: what their config.json does not say. Encoders have types, a norm of the embedding, a pooler and a
 * classifier; those with positions a learned table of them; those with biases one in every matrix and norm. */
typedef struct {
    const char *name;
    int matrices; /* of a feed-forward layer */
    bool biases, query_biases, head_norms, positions, tied;
    enum {
        DECODER,
        ENCODER,
        SMALL_ENCODER
    } kind; /* small: without types, its pooler as a first layer of the classifier */
} family;

static const family families[] = {
    {"llama", .matrices = 3},
    {"mistral", .matrices = 3},
    {"mixtral", .matrices = 3},
    {"phi3", .matrices = 3},
    {"olmo2", .matrices = 3},
    {"gemma", .matrices = 3, .tied = true},
    {"qwen2", .matrices = 3, .query_biases = true},
    {"qwen3", .matrices = 3, .head_norms = true},
    {"qwen3_moe", .matrices = 3, .head_norms = true},
    {"gpt2", .matrices = 2, .biases = true, .positions = true, .tied = true},
    {"bert", .matrices = 2, .biases = true, .positions = true, .kind = ENCODER},
    {"distilbert", .matrices = 2, .biases = true, .positions = true, .kind = SMALL_ENCODER},
};
enum { FAMILIES = sizeof families / sizeof *families };

/* Sizes by the names that families give them, the first that is there. */
enum {
    HIDDEN,
    VOCABULARY,
    LAYERS,
    HEADS,
    KV_HEADS,
    HEAD_SIZE,
    INNER,
    EXPERTS,
    ACTIVE,
    POSITIONS,
    TYPES,
    SIZES
};
static const char *const size_keys[SIZES][4] = {
    [HIDDEN] = {"hidden_size", "n_embd", "dim"},
    [VOCABULARY] = {"vocab_size"},
    [LAYERS] = {"num_hidden_layers", "n_layer", "n_layers"},
    [HEADS] = {"num_attention_heads", "n_head", "n_heads"},
    [KV_HEADS] = {"num_key_value_heads"},
    [HEAD_SIZE] = {"head_dim"},
    [INNER] = {"moe_intermediate_size", "intermediate_size", "n_inner", "hidden_dim"},
    [EXPERTS] = {"num_local_experts", "num_experts"},
    [ACTIVE] = {"num_experts_per_tok"},
    [POSITIONS] = {"max_position_embeddings", "n_positions"},
    [TYPES] = {"type_vocab_size"},
};
static const uint64_t most_size = 1000000000;

static tn_status find_family(const tn_yaml *config, const family **found, tn_error *error) {
    const char *names[FAMILIES];
    const tn_yaml *type = config->kind == TN_YAML_MAPPING ? tn_yaml_get(config, "model_type") : NULL;
    if (!type || type->kind != TN_YAML_SCALAR)
        return tn_fail_at(error, TN_INPUT, config->at,
                          "no \"model_type\", by which a checkpoint's config.json says its family");
    for (size_t i = 0; i < FAMILIES; i++) {
        names[i] = families[i].name;
        *found = &families[i];
        if (strcmp(type->text, names[i]) == 0) return TN_OK;
    }
    char told[128];
    return tn_fail_at(error, TN_INPUT, type->at, "model_type '%.60s' is no family that is known; %s",
                      type->text, tn_suggestion(type->text, names, FAMILIES, told, sizeof told));
}

/* *size = the first of its keys that the file has and is not null, else `fallback`; 0 of that: it must be there. */
static tn_status read_size(const tn_yaml *config, int which, uint64_t fallback, uint64_t *size,
                           tn_error *error) {
    for (int i = 0; i < 4 && size_keys[which][i]; i++) {
        const char *key = size_keys[which][i];
        const tn_yaml *value = tn_yaml_get(config, key);
        if (!value || (value->kind == TN_YAML_SCALAR && !value->quoted && strcmp(value->text, "null") == 0))
            continue;
        if (value->kind != TN_YAML_SCALAR || value->quoted ||
            tn_read_count(value->text, size) != TN_NUMBER_OK || *size == 0 || *size > most_size)
            return tn_fail_at(error, TN_INPUT, value->at, "\"%s\" must be a whole number from 1 to %llu", key,
                              (unsigned long long)most_size);
        return TN_OK;
    }
    *size = fallback;
    if (fallback) return TN_OK;
    return tn_fail_at(error, TN_INPUT, config->at, "no \"%s\", which this family of models has",
                      size_keys[which][0]);
}

static tn_status read_sizes(const tn_yaml *config, const family *f, uint64_t size[SIZES], tn_error *error) {
    TN_TRY(read_size(config, HIDDEN, 0, &size[HIDDEN], error));
    TN_TRY(read_size(config, VOCABULARY, 0, &size[VOCABULARY], error));
    TN_TRY(read_size(config, LAYERS, 0, &size[LAYERS], error));
    TN_TRY(read_size(config, HEADS, 0, &size[HEADS], error));
    TN_TRY(read_size(config, KV_HEADS, size[HEADS], &size[KV_HEADS], error));
    if (size[HIDDEN] < size[HEADS] && !tn_yaml_get(config, "head_dim"))
        return tn_fail_at(error, TN_INPUT, config->at, "more heads than the width has elements");
    TN_TRY(read_size(config, HEAD_SIZE, size[HIDDEN] / size[HEADS], &size[HEAD_SIZE], error));
    TN_TRY(read_size(config, INNER, f->biases ? 4 * size[HIDDEN] : 0, &size[INNER], error));
    TN_TRY(read_size(config, EXPERTS, 1, &size[EXPERTS], error));
    TN_TRY(read_size(config, ACTIVE, size[EXPERTS] > 1 ? 0 : 1, &size[ACTIVE], error));
    TN_TRY(read_size(config, POSITIONS, f->positions ? 0 : 1, &size[POSITIONS], error));
    return read_size(config, TYPES, 1, &size[TYPES], error);
}

static bool is_tied(const tn_yaml *config, const family *f) {
    const tn_yaml *value = tn_yaml_get(config, "tie_word_embeddings");
    if (value && value->kind == TN_YAML_SCALAR) return strcmp(value->text, "true") == 0;
    return f->tied;
}

/* Parameters of a layer that are in no matrix, the weights of its two norms aside. */
static uint64_t biases_of(const family *f, const uint64_t size[SIZES]) {
    uint64_t wide = size[HEADS] * size[HEAD_SIZE], narrow = size[KV_HEADS] * size[HEAD_SIZE];
    if (f->biases) return wide + 2 * narrow + size[HIDDEN] + size[INNER] + size[HIDDEN] + 2 * size[HIDDEN];
    if (f->query_biases) return wide + 2 * narrow;
    return f->head_norms ? 2 * size[HEAD_SIZE] : 0;
}

/* Positions, types, the last norm's bias, and the square layer between an encoder and its classes, with both biases. */
static uint64_t others_of(const family *f, const uint64_t size[SIZES], uint64_t classes) {
    uint64_t h = size[HIDDEN], sum = f->positions ? size[POSITIONS] * h : 0;
    if (f->biases) sum += h;
    if (f->kind == ENCODER) sum += size[TYPES] * h;
    if (f->kind != DECODER) sum += h * h + h + classes;
    return sum;
}

static const char *name_of(const tn_yaml *config, const family *f) {
    const tn_yaml *path = tn_yaml_get(config, "_name_or_path");
    const char *slash = path && path->kind == TN_YAML_SCALAR ? strrchr(path->text, '/') : NULL;
    if (slash && slash[1]) return slash + 1;
    return path && path->kind == TN_YAML_SCALAR && *path->text ? path->text : f->name;
}

static void write_file(const tn_yaml *config, const family *f, const uint64_t size[SIZES], tn_buffer *out) {
    const uint64_t classes = f->kind == DECODER ? 0 : 2;
    tn_buffer_text(out, "kind: language-model\norigin: report\n");
    tn_yaml_put(out, 0, "name", name_of(config, f));
    const struct {
        const char *before;
        uint64_t value;
        const char *after;
    } line[] = {
        {"hidden: ", size[HIDDEN], "\n"},
        {"vocabulary: ", size[VOCABULARY], "\n"},
        {"outputs: ", classes, "\n"},
        {"other_parameters: ", others_of(f, size, classes), "\n"},
        {"attention: {flash: true, layers: ", size[LAYERS], ", "},
        {"heads: ", size[HEADS], ", "},
        {"kv_heads: ", size[KV_HEADS], ", "},
        {"head_size: ", size[HEAD_SIZE], ", "},
        {"biases: ", biases_of(f, size), "}\n"},
        {"feed_forward: {layers: ", size[LAYERS], ", "},
        {"size: ", size[INNER], ", "},
        {"matrices: ", (uint64_t)f->matrices, ", "},
        {"experts: ", size[EXPERTS], ", "},
        {"active: ", size[ACTIVE], "}\n"},
    };
    for (size_t i = 0; i < sizeof line / sizeof *line; i++)
        tn_buffer_format(out, "%s%llu%s", line[i].before, (unsigned long long)line[i].value, line[i].after);
    tn_buffer_format(out, "tied_embeddings: %s\n",
                     is_tied(config, f) && f->kind == DECODER ? "true" : "false");
    tn_buffer_text(out, "training: {method: lora, checkpointing: true, adapters: {rank: 16, attention: true, "
                        "feed_forward: true, bits: 32, input_bits: 32}}\n");
}

tn_status tn_hub_config_read(const tn_yaml *config, tn_arena *arena, tn_yaml **tree, tn_error *error) {
    const family *f;
    uint64_t size[SIZES];
    tn_buffer text = {0};
    TN_TRY(find_family(config, &f, error));
    TN_TRY(read_sizes(config, f, size, error));
    write_file(config, f, size, &text);
    tn_status status = text.status == TN_OK
                           ? tn_yaml_parse(config->at.file, text.data, text.length, arena, tree, error)
                           : tn_fail(error, text.status, "no memory for a language model");
    tn_buffer_free(&text);
    return status;
}
