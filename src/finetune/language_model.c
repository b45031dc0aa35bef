#include "finetune/language_model.h"

#include "base/buffer.h"
#include "base/name_index.h"
#include "base/search_path.h"
#include "device/device_data.h"
#include "text/number.h"
#include "text/yaml.h"

#include <stdbool.h>
#include <string.h>

static const char folder[] = "models";
static const char *const kind_names[] = {"language-model", NULL};
static const char *const tuning_names[] = {"full", "lora", NULL};

static const tn_field attention_fields[] = {
    TN_KEY(COUNT, tn_language_attention, layers, "layers with attention", TN_DEFAULT("0"), TN_WITHIN(0, 1e4)),
    TN_KEY(COUNT, tn_language_attention, heads, "query heads", TN_DEFAULT("1"), TN_WITHIN(1, 1e4)),
    TN_KEY(COUNT, tn_language_attention, kv_heads,
           "key and value heads; fewer than heads where they are shared", TN_DEFAULT("1"), TN_WITHIN(1, 1e4)),
    TN_KEY(COUNT, tn_language_attention, head_size, "width of a head", TN_DEFAULT("1"), TN_WITHIN(1, 1e5)),
    TN_KEY(COUNT, tn_language_attention, biases,
           "parameters of a layer that are in no matrix: biases, norms of heads; the norm of its input aside",
           TN_DEFAULT("0"), TN_WITHIN(0, 1e7)),
    TN_KEY(BOOL, tn_language_attention, flash, "fused attention: the scores are never stored",
           TN_DEFAULT("false")),
};
static const tn_schema attention_schema =
    TN_SCHEMA("language-model.attention", tn_language_attention, attention_fields);

static const tn_field state_space_fields[] = {
    TN_KEY(COUNT, tn_language_state_space, layers, "layers with a selective state space", TN_DEFAULT("0"),
           TN_WITHIN(0, 1e4)),
    TN_KEY(COUNT, tn_language_state_space, expansion, "inner width over hidden width", TN_DEFAULT("2"),
           TN_WITHIN(1, 64)),
    TN_KEY(COUNT, tn_language_state_space, state, "state size", TN_DEFAULT("16"), TN_WITHIN(1, 1e4)),
    TN_KEY(COUNT, tn_language_state_space, convolution, "taps of the convolution over tokens",
           TN_DEFAULT("4"), TN_WITHIN(1, 1e3)),
    TN_KEY(COUNT, tn_language_state_space, step_rank, "rank of the step size's projection", TN_DEFAULT("1"),
           TN_WITHIN(1, 1e5)),
};
static const tn_schema state_space_schema =
    TN_SCHEMA("language-model.state_space", tn_language_state_space, state_space_fields);

static const tn_field feed_forward_fields[] = {
    TN_KEY(COUNT, tn_language_feed_forward, layers, "feed-forward layers", TN_REQUIRED, TN_WITHIN(0, 1e4)),
    TN_KEY(COUNT, tn_language_feed_forward, size, "inner width of an expert", TN_REQUIRED, TN_WITHIN(1, 1e7)),
    TN_KEY(COUNT, tn_language_feed_forward, matrices, "3: gate, up and down; 2: up and down", TN_DEFAULT("3"),
           TN_WITHIN(2, 3)),
    TN_KEY(COUNT, tn_language_feed_forward, experts, "experts of a layer; 1: dense, without router",
           TN_DEFAULT("1"), TN_WITHIN(1, 1e5)),
    TN_KEY(COUNT, tn_language_feed_forward, active,
           "experts that a token is sent to; over experts: the sparsity", TN_DEFAULT("1"), TN_WITHIN(1, 1e5)),
};
static const tn_schema feed_forward_schema =
    TN_SCHEMA("language-model.feed_forward", tn_language_feed_forward, feed_forward_fields);

static const tn_field adapters_fields[] = {
    TN_KEY(COUNT, tn_language_adapters, rank, "rank of every adapter", TN_DEFAULT("16"), TN_WITHIN(1, 1e5)),
    TN_KEY(BOOL, tn_language_adapters, attention, "adapters on query, key, value and output",
           TN_DEFAULT("false")),
    TN_KEY(BOOL, tn_language_adapters, state_space, "adapters on the in and out projections",
           TN_DEFAULT("false")),
    TN_KEY(BOOL, tn_language_adapters, feed_forward, "adapters on the matrices of every expert",
           TN_DEFAULT("false")),
    TN_KEY(BOOL, tn_language_adapters, router, "adapters on routers", TN_DEFAULT("false")),
    TN_KEY(COUNT, tn_language_adapters, bits, "bits of a parameter", TN_DEFAULT("32"), TN_WITHIN(1, 64)),
    TN_KEY(COUNT, tn_language_adapters, input_bits,
           "bits per element of the copy of its input that an adapter keeps; 0: none", TN_DEFAULT("0"),
           TN_WITHIN(0, 64)),
};
static const tn_schema adapters_schema =
    TN_SCHEMA("language-model.training.adapters", tn_language_adapters, adapters_fields);

static const tn_field training_fields[] = {
    TN_KEY(CHOICE, tn_language_training, method, "full: every parameter is trained; lora: adapters only",
           TN_REQUIRED, TN_ONE_OF(tuning_names)),
    TN_KEY(MAPPING, tn_language_training, adapters, "of method lora", .sub = &adapters_schema),
    TN_KEY(BOOL, tn_language_training, checkpointing,
           "only layer inputs are kept; each layer runs forward again", TN_DEFAULT("false")),
    TN_KEY(BOOL, tn_language_training, keeps_all,
           "with checkpointing: layers run forward again, and yet nothing is freed", TN_DEFAULT("false")),
    TN_KEY(COUNT, tn_language_training, activation_bits, "bits of a kept activation", TN_DEFAULT("16"),
           TN_WITHIN(1, 64)),
    TN_KEY(COUNT, tn_language_training, compute_bits,
           "bits of the operands of products; 32 run at half the peak of 16", TN_DEFAULT("16"),
           TN_WITHIN(8, 32)),
    TN_KEY(COUNT, tn_language_training, gradient_bits, "bits of a trained parameter's gradient",
           TN_DEFAULT("32"), TN_WITHIN(1, 64)),
    TN_KEY(COUNT, tn_language_training, optimizer_bits,
           "bits of a trained parameter's optimizer state, a master copy included", TN_DEFAULT("64"),
           TN_WITHIN(0, 256)),
    TN_KEY(COUNT, tn_language_training, logit_bits,
           "bits kept per token and vocabulary entry: logits, the loss's copies, their gradient",
           TN_DEFAULT("96"), TN_WITHIN(1, 1024)),
    TN_KEY(REAL, tn_language_training, reserve_GB,
           "GB (1e9 bytes) that context, libraries and fragmentation take", TN_DEFAULT("1"),
           TN_WITHIN(0, 1e4)),
};
static const tn_schema training_schema =
    TN_SCHEMA("language-model.training", tn_language_training, training_fields);

static const tn_field published_fields[] = {
    TN_KEY(REAL, tn_language_published, c0, "C0 of the largest batch, tokens per GB", TN_REQUIRED,
           TN_WITHIN(1e-6, 1e9)),
    TN_KEY(REAL, tn_language_published, c1,
           "C1 of the largest batch: share of a query's memory that sparsity scales", TN_REQUIRED,
           TN_WITHIN(0, 1)),
    TN_KEY(REAL, tn_language_published, c3, "C3 of the log law", TN_REQUIRED, TN_WITHIN(1e-6, 1e6)),
    TN_KEY(REAL, tn_language_published, model_GB, "GB of the weights in the formula of the largest batch",
           TN_REQUIRED, TN_WITHIN(1e-6, 1e6)),
    TN_KEY(REAL, tn_language_published, expert_share,
           "share of a step in layers of experts, as remembered of the publication; 0: not said",
           TN_DEFAULT("0"), TN_WITHIN(0, 1)),
};
static const tn_schema published_schema =
    TN_SCHEMA("language-model.published", tn_language_published, published_fields);

static const tn_field fields[] = {
    TN_KEY(CHOICE, tn_language_model, kind, "tells this kind of model file apart", TN_REQUIRED,
           TN_ONE_OF(kind_names)),
    TN_KEY(TEXT, tn_language_model, name, "as in the column model of measurements", TN_REQUIRED),
    TN_KEY(TEXT, tn_language_model, title, "for people"),
    TN_KEY(CHOICE, tn_language_model, origin, "where the figures come from", TN_DEFAULT("unverified"),
           TN_ONE_OF(tn_origin_names)),
    TN_KEY(TEXT, tn_language_model, source, "the publication or file they were read in"),
    TN_KEY(COUNT, tn_language_model, hidden, "width of the residual stream", TN_REQUIRED, TN_WITHIN(1, 1e6)),
    TN_KEY(COUNT, tn_language_model, vocabulary, "entries", TN_REQUIRED, TN_WITHIN(1, 1e8)),
    TN_KEY(COUNT, tn_language_model, outputs,
           "entries of the output projection where they are not the vocabulary: classes", TN_DEFAULT("0"),
           TN_WITHIN(0, 1e8)),
    TN_KEY(COUNT, tn_language_model, other_parameters,
           "parameters in none of the layers: positions, types, a pooler", TN_DEFAULT("0"),
           TN_WITHIN(0, 1e12)),
    TN_KEY(BOOL, tn_language_model, tied_embeddings, "the output projection is the embedding table",
           TN_DEFAULT("false")),
    TN_KEY(REAL, tn_language_model, matrix_bits,
           "bits of a parameter of a layer's matrices as stored, with a quantised format's scales",
           TN_DEFAULT("16"), TN_WITHIN(0.5, 64)),
    TN_KEY(REAL, tn_language_model, other_bits,
           "bits of every other parameter: embeddings, norms, routers, convolutions", TN_DEFAULT("16"),
           TN_WITHIN(0.5, 64)),
    TN_KEY(MAPPING, tn_language_model, attention, "layers that mix tokens by attention",
           .sub = &attention_schema),
    TN_KEY(MAPPING, tn_language_model, state_space, "layers that mix tokens by a selective state space",
           .sub = &state_space_schema),
    TN_KEY(MAPPING, tn_language_model, feed_forward, "feed-forward layers, dense or of experts", TN_REQUIRED,
           .sub = &feed_forward_schema),
    TN_KEY(MAPPING, tn_language_model, training, "what is trained and what is kept for it", TN_REQUIRED,
           .sub = &training_schema),
    TN_KEY(MAPPING, tn_language_model, published, "coefficients of arXiv 2408.04693 for this model",
           .sub = &published_schema, TN_SEEN(tn_language_model, published_at)),
};
const tn_schema tn_language_model_schema = TN_SCHEMA("language-model", tn_language_model, fields);

bool tn_language_is_packed(const tn_language_model *model) {
    uint64_t bits = model->training.activation_bits;
    return model->matrix_bits < (double)(bits < 16 ? bits : 16);
}

/* Method lora trains adapters and nothing else, so that some must be on, on layers that there are. */
static tn_status check_adapters(const tn_language_model *model, const tn_yaml *training, tn_error *error) {
    const tn_language_adapters *a = &model->training.adapters;
    const tn_yaml *adapters = tn_yaml_get(training, "adapters");
    bool feeds = model->feed_forward.layers > 0;
    if (model->training.method != TN_TUNE_LORA || (a->attention && model->attention.layers > 0) ||
        (a->state_space && model->state_space.layers > 0) || (a->feed_forward && feeds) ||
        (a->router && feeds && model->feed_forward.experts > 1))
        return TN_OK;
    return tn_fail_at(
        error, TN_INPUT, adapters ? adapters->position : training->position,
        "method lora trains nothing, as no layer has adapters; set attention, state_space, feed_forward or "
        "router of training.adapters to true: {rank: 16, attention: true, feed_forward: true}");
}

static tn_status check(const tn_language_model *model, const tn_yaml *root, tn_error *error) {
    const tn_language_feed_forward *f = &model->feed_forward;
    const tn_yaml *node = tn_yaml_get(root, "feed_forward");
    if (f->active > f->experts)
        return tn_fail_at(error, TN_INPUT, node->position,
                          "%llu active of %llu experts; active can't be more", (unsigned long long)f->active,
                          (unsigned long long)f->experts);
    const tn_language_attention *a = &model->attention;
    node = tn_yaml_get(root, "attention");
    if (a->heads % a->kv_heads != 0)
        return tn_fail_at(error, TN_INPUT, node ? node->position : root->position,
                          "%llu heads share %llu kv_heads; kv_heads must divide heads",
                          (unsigned long long)a->heads, (unsigned long long)a->kv_heads);
    return check_adapters(model, tn_yaml_get(root, "training"), error);
}

static bool is_kind(const tn_yaml *root, const char *kind) {
    const tn_yaml *value = root->kind == TN_YAML_MAPPING ? tn_yaml_get(root, "kind") : NULL;
    return value && value->kind == TN_YAML_SCALAR && strcmp(value->text, kind) == 0;
}

/* The file's tree, or that of the model's language model; NULL: it has none. */
static tn_yaml *own_tree(tn_yaml *root) {
    return is_kind(root, "model") ? (tn_yaml *)tn_yaml_get(root, "language_model") : root;
}

static tn_status decode(const tn_yaml *root, tn_arena *arena, tn_language_model *model, tn_error *error) {
    TN_TRY(tn_schema_decode(&tn_language_model_schema, root, arena, model, error));
    return check(model, root, error);
}

/* ---- the config.json of a checkpoint ---- */

/* The config.json of a published checkpoint (the hub's format) as a language-model file: sizes under the names that model
 * families give them. Trained as the shipped presets are: LoRA of rank 16 on every matrix of attention and feed-forward
 * layers, 16 bits, layers run forward again. */

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
        return tn_fail_at(error, TN_INPUT, config->position,
                          "no \"model_type\", by which a checkpoint's config.json says its family");
    for (size_t i = 0; i < FAMILIES; i++) {
        names[i] = families[i].name;
        *found = &families[i];
        if (strcmp(type->text, names[i]) == 0) return TN_OK;
    }
    char told[128];
    return tn_fail_at(error, TN_INPUT, type->position, "model_type '%.60s' is no family that is known; %s",
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
            return tn_fail_at(error, TN_INPUT, value->position,
                              "\"%s\" must be a whole number from 1 to %llu", key,
                              (unsigned long long)most_size);
        return TN_OK;
    }
    *size = fallback;
    if (fallback) return TN_OK;
    return tn_fail_at(error, TN_INPUT, config->position, "no \"%s\", which this family of models has",
                      size_keys[which][0]);
}

static tn_status read_sizes(const tn_yaml *config, const family *f, uint64_t size[SIZES], tn_error *error) {
    TN_TRY(read_size(config, HIDDEN, 0, &size[HIDDEN], error));
    TN_TRY(read_size(config, VOCABULARY, 0, &size[VOCABULARY], error));
    TN_TRY(read_size(config, LAYERS, 0, &size[LAYERS], error));
    TN_TRY(read_size(config, HEADS, 0, &size[HEADS], error));
    TN_TRY(read_size(config, KV_HEADS, size[HEADS], &size[KV_HEADS], error));
    if (size[HIDDEN] < size[HEADS] && !tn_yaml_get(config, "head_dim"))
        return tn_fail_at(error, TN_INPUT, config->position, "more heads than the width has elements");
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

static tn_status read_hub_config(const tn_yaml *config, tn_arena *arena, tn_yaml **tree, tn_error *error) {
    const family *f;
    uint64_t size[SIZES];
    tn_buffer text = {0};
    TN_TRY(find_family(config, &f, error));
    TN_TRY(read_sizes(config, f, size, error));
    write_file(config, f, size, &text);
    tn_status status = text.status == TN_OK
                           ? tn_yaml_parse(config->position.file, text.data, text.length, arena, tree, error)
                           : tn_fail(error, text.status, "no memory for a language model");
    tn_buffer_free(&text);
    return status;
}

/* ---- loading ---- */

static bool is_json(const char *name) {
    size_t length = strlen(name);
    return length > 5 && strcmp(name + length - 5, ".json") == 0;
}

static tn_status load_tree(const char *name, tn_arena *arena, tn_yaml **root, tn_error *error) {
    const char *path;
    if (is_json(name)) {
        TN_TRY(tn_yaml_load(name, arena, root, error));
        return read_hub_config(*root, arena, root, error);
    }
    TN_TRY(tn_search_path_find(folder, name, arena, &path, error));
    return tn_yaml_load(path, arena, root, error);
}

tn_status tn_language_model_load(const char *name, const char *const *set, size_t set_count, tn_arena *arena,
                                 tn_language_model *model, tn_error *error) {
    tn_yaml *root;
    TN_TRY(load_tree(name, arena, &root, error));
    if (!own_tree(root))
        return tn_fail_at(
            error, TN_INPUT, root->position,
            "this is a model of kind model without a language_model, which fine-tuning needs, or one of "
            "kind language-model");
    root = own_tree(root);
    for (size_t i = 0; i < set_count; i++) TN_TRY(tn_yaml_set(root, set[i], arena, error));
    return decode(root, arena, model, error);
}

tn_status tn_language_model_find(const char *name, tn_arena *arena, tn_language_model *model, bool *found,
                                 tn_error *error) {
    const char **names, *path;
    size_t count, place = 0;
    *found = false;
    TN_TRY(tn_search_path_list(folder, arena, &names, &count, error));
    while (place < count && strcmp(names[place], name) != 0) place++;
    if (place == count) return TN_OK;
    tn_yaml *root;
    TN_TRY(tn_search_path_find(folder, names[place], arena, &path, error));
    TN_TRY(tn_yaml_load(path, arena, &root, error));
    root = own_tree(root);
    if (!root || !is_kind(root, kind_names[0])) return TN_OK;
    TN_TRY(decode(root, arena, model, error));
    *found = true;
    return TN_OK;
}
