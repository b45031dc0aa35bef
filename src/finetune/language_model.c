#include "finetune/language_model.h"

#include "base/buffer.h"
#include "base/name_index.h"
#include "base/search_path.h"
#include "device/device_data.h"
#include "ranks/model_config.h"
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

/* Parameters of a layer that are in no matrix, the weights of its two norms aside. */
static uint64_t biases_of(const tn_config_family *family, const uint64_t size[TN_CONFIG_SIZES]) {
    const uint64_t wide = size[TN_CONFIG_HEADS] * size[TN_CONFIG_HEAD_SIZE],
                   narrow = size[TN_CONFIG_KV_HEADS] * size[TN_CONFIG_HEAD_SIZE],
                   hidden = size[TN_CONFIG_HIDDEN];
    if (family->biases) return wide + 2 * narrow + hidden + size[TN_CONFIG_INNER] + hidden + 2 * hidden;
    if (family->query_biases) return wide + 2 * narrow;
    return family->head_norms ? 2 * size[TN_CONFIG_HEAD_SIZE] : 0;
}

/* Positions, types, the last norm's bias, and the square layer between an encoder and its classes, with both biases. */
static uint64_t others_of(const tn_config_family *family, const uint64_t size[TN_CONFIG_SIZES],
                          uint64_t classes) {
    const uint64_t hidden = size[TN_CONFIG_HIDDEN];
    uint64_t sum = family->positions ? (size[TN_CONFIG_POSITIONS] + family->extra_positions) * hidden : 0;
    if (family->biases) sum += hidden;
    if (family->kind == TN_CONFIG_ENCODER) sum += size[TN_CONFIG_TYPES] * hidden;
    if (family->kind != TN_CONFIG_DECODER) sum += hidden * hidden + hidden + classes;
    return sum;
}

static const char *name_of(const tn_model_config *config) {
    const char *slash = config->name ? strrchr(config->name, '/') : NULL;
    if (slash && slash[1]) return slash + 1;
    return config->name ? config->name : config->type;
}

static void write_file(const tn_model_config *config, tn_buffer *out) {
    const tn_config_family *family = config->family;
    const uint64_t *size = config->size;
    const bool decoder = family->kind == TN_CONFIG_DECODER;
    const uint64_t classes = decoder ? 0 : 2;
    tn_buffer_text(out, "kind: language-model\norigin: report\n");
    tn_yaml_put(out, 0, "name", name_of(config));
    const struct {
        const char *before;
        uint64_t value;
        const char *after;
    } line[] = {
        {"hidden: ", size[TN_CONFIG_HIDDEN], "\n"},
        {"vocabulary: ", size[TN_CONFIG_VOCABULARY], "\n"},
        {"outputs: ", classes, "\n"},
        {"other_parameters: ", others_of(family, size, classes), "\n"},
        {"attention: {flash: true, layers: ", size[TN_CONFIG_LAYERS], ", "},
        {"heads: ", size[TN_CONFIG_HEADS], ", "},
        {"kv_heads: ", size[TN_CONFIG_KV_HEADS], ", "},
        {"head_size: ", size[TN_CONFIG_HEAD_SIZE], ", "},
        {"biases: ", biases_of(family, size), "}\n"},
        {"feed_forward: {layers: ", size[TN_CONFIG_LAYERS], ", "},
        {"size: ", size[TN_CONFIG_INNER], ", "},
        {"matrices: ", (uint64_t)family->matrices, ", "},
        {"experts: ", size[TN_CONFIG_EXPERTS], ", "},
        {"active: ", size[TN_CONFIG_ACTIVE], "}\n"},
    };
    for (size_t i = 0; i < sizeof line / sizeof *line; i++)
        tn_buffer_format(out, "%s%llu%s", line[i].before, (unsigned long long)line[i].value, line[i].after);
    tn_buffer_format(out, "tied_embeddings: %s\n",
                     config->tied_embeddings == TN_CONFIG_YES && decoder ? "true" : "false");
    tn_buffer_text(out, "training: {method: lora, checkpointing: true, adapters: {rank: 16, attention: true, "
                        "feed_forward: true, bits: 32, input_bits: 32}}\n");
}

static tn_status read_hub_config(const tn_yaml *file, tn_arena *arena, tn_yaml **tree, tn_error *error) {
    tn_model_config config;
    tn_buffer text = {0};
    TN_TRY(tn_model_config_read(file, &config, error));
    TN_TRY(tn_model_config_complete(&config, error));
    if (config.family->kind == TN_CONFIG_PICTURES)
        return tn_fail_at(error, TN_INPUT, config.type_position,
                          "a model of pictures is no language model, which fine-tuning needs");
    write_file(&config, &text);
    tn_status status = text.status == TN_OK
                           ? tn_yaml_parse(config.path, text.data, text.length, arena, tree, error)
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
