#include "finetune/language_model.h"

#include "base/search_path.h"
#include "hardware/device_data.h"
#include "text/yaml.h"

#include <string.h>

static const char folder[] = "models";
static const char *const kind_names[] = {"language-model", NULL};
static const char *const tuning_names[] = {"full", "lora", NULL};

#define COUNT(owner, member, name, low, high, ...)                                                           \
    {                                                                                                        \
        .key = (name), .type = TN_FIELD_COUNT, .offset = offsetof(owner, member), .minimum = (low),          \
        .maximum = (high), __VA_ARGS__                                                                       \
    }
#define SWITCH(owner, member, name, text)                                                                    \
    {                                                                                                        \
        .key = (name), .type = TN_FIELD_BOOL, .offset = offsetof(owner, member), .fallback = "false",        \
        .help = (text)                                                                                       \
    }

static const tn_field attention_fields[] = {
    COUNT(tn_language_attention, layers, "layers", 0, 1e4, .fallback = "0", .help = "layers with attention"),
    COUNT(tn_language_attention, heads, "heads", 1, 1e4, .fallback = "1", .help = "query heads"),
    COUNT(tn_language_attention, kv_heads, "kv_heads", 1, 1e4, .fallback = "1",
          .help = "key and value heads; fewer than heads where they are shared"),
    COUNT(tn_language_attention, head_size, "head_size", 1, 1e5, .fallback = "1", .help = "width of a head"),
    SWITCH(tn_language_attention, flash, "flash", "fused attention: the scores are never stored"),
};
static const tn_schema attention_schema =
    TN_SCHEMA("language-model.attention", tn_language_attention, attention_fields);

static const tn_field state_space_fields[] = {
    COUNT(tn_language_state_space, layers, "layers", 0, 1e4, .fallback = "0",
          .help = "layers with a selective state space"),
    COUNT(tn_language_state_space, expansion, "expansion", 1, 64, .fallback = "2",
          .help = "inner width over hidden width"),
    COUNT(tn_language_state_space, state, "state", 1, 1e4, .fallback = "16", .help = "state size"),
    COUNT(tn_language_state_space, convolution, "convolution", 1, 1e3, .fallback = "4",
          .help = "taps of the convolution over tokens"),
    COUNT(tn_language_state_space, step_rank, "step_rank", 1, 1e5, .fallback = "1",
          .help = "rank of the step size's projection"),
};
static const tn_schema state_space_schema =
    TN_SCHEMA("language-model.state_space", tn_language_state_space, state_space_fields);

static const tn_field feed_forward_fields[] = {
    COUNT(tn_language_feed_forward, layers, "layers", 0, 1e4, .required = true,
          .help = "feed-forward layers"),
    COUNT(tn_language_feed_forward, size, "size", 1, 1e7, .required = true,
          .help = "inner width of an expert"),
    COUNT(tn_language_feed_forward, matrices, "matrices", 2, 3, .fallback = "3",
          .help = "3: gate, up and down; 2: up and down"),
    COUNT(tn_language_feed_forward, experts, "experts", 1, 1e5, .fallback = "1",
          .help = "experts of a layer; 1: dense, without router"),
    COUNT(tn_language_feed_forward, active, "active", 1, 1e5, .fallback = "1",
          .help = "experts that a token is sent to; over experts: the sparsity"),
};
static const tn_schema feed_forward_schema =
    TN_SCHEMA("language-model.feed_forward", tn_language_feed_forward, feed_forward_fields);

static const tn_field adapters_fields[] = {
    COUNT(tn_language_adapters, rank, "rank", 1, 1e5, .fallback = "16", .help = "rank of every adapter"),
    SWITCH(tn_language_adapters, attention, "attention", "adapters on query, key, value and output"),
    SWITCH(tn_language_adapters, state_space, "state_space", "adapters on the in and out projections"),
    SWITCH(tn_language_adapters, feed_forward, "feed_forward", "adapters on the matrices of every expert"),
    SWITCH(tn_language_adapters, router, "router", "adapters on routers"),
    COUNT(tn_language_adapters, bits, "bits", 1, 64, .fallback = "32", .help = "bits of a parameter"),
    COUNT(tn_language_adapters, input_bits, "input_bits", 0, 64, .fallback = "0",
          .help = "bits per element of the copy of its input that an adapter keeps; 0: none"),
};
static const tn_schema adapters_schema =
    TN_SCHEMA("language-model.training.adapters", tn_language_adapters, adapters_fields);

static const tn_field training_fields[] = {
    {.key = "method",
     .type = TN_FIELD_CHOICE,
     .offset = offsetof(tn_language_training, method),
     .required = true,
     .choices = tuning_names,
     .help = "full: every parameter is trained; lora: adapters only"},
    {.key = "adapters",
     .type = TN_FIELD_MAPPING,
     .offset = offsetof(tn_language_training, adapters),
     .sub = &adapters_schema,
     .help = "of method lora"},
    SWITCH(tn_language_training, checkpointing, "checkpointing",
           "only layer inputs are kept; each layer runs forward again"),
    COUNT(tn_language_training, activation_bits, "activation_bits", 1, 64, .fallback = "16",
          .help = "bits of a kept activation"),
    COUNT(tn_language_training, gradient_bits, "gradient_bits", 1, 64, .fallback = "32",
          .help = "bits of a trained parameter's gradient"),
    COUNT(tn_language_training, optimizer_bits, "optimizer_bits", 0, 256, .fallback = "64",
          .help = "bits of a trained parameter's optimizer state, a master copy included"),
    COUNT(tn_language_training, logit_bits, "logit_bits", 1, 1024, .fallback = "96",
          .help = "bits kept per token and vocabulary entry: logits, the loss's copies, their gradient"),
    {.key = "reserve_GB",
     .type = TN_FIELD_REAL,
     .offset = offsetof(tn_language_training, reserve_GB),
     .fallback = "1",
     .minimum = 0,
     .maximum = 1e4,
     .help = "GB (1e9 bytes) that context, libraries and fragmentation take"},
};
static const tn_schema training_schema =
    TN_SCHEMA("language-model.training", tn_language_training, training_fields);

static const tn_field published_fields[] = {
    {.key = "c0",
     .type = TN_FIELD_REAL,
     .offset = offsetof(tn_language_published, c0),
     .required = true,
     .minimum = 1e-6,
     .maximum = 1e9,
     .help = "C0 of the largest batch, tokens per GB"},
    {.key = "c1",
     .type = TN_FIELD_REAL,
     .offset = offsetof(tn_language_published, c1),
     .required = true,
     .minimum = 0,
     .maximum = 1,
     .help = "C1 of the largest batch: share of a query's memory that sparsity scales"},
    {.key = "c3",
     .type = TN_FIELD_REAL,
     .offset = offsetof(tn_language_published, c3),
     .required = true,
     .minimum = 1e-6,
     .maximum = 1e6,
     .help = "C3 of the log law"},
    {.key = "model_GB",
     .type = TN_FIELD_REAL,
     .offset = offsetof(tn_language_published, model_GB),
     .required = true,
     .minimum = 1e-6,
     .maximum = 1e6,
     .help = "GB of the weights in the formula of the largest batch"},
};
static const tn_schema published_schema =
    TN_SCHEMA("language-model.published", tn_language_published, published_fields);

static const tn_field fields[] = {
    {.key = "kind",
     .type = TN_FIELD_CHOICE,
     .offset = offsetof(tn_language_model, kind),
     .required = true,
     .choices = kind_names,
     .help = "tells this kind of model file apart"},
    {.key = "name",
     .type = TN_FIELD_TEXT,
     .offset = offsetof(tn_language_model, name),
     .required = true,
     .help = "as in the column model of measurements"},
    {.key = "title",
     .type = TN_FIELD_TEXT,
     .offset = offsetof(tn_language_model, title),
     .help = "for people"},
    {.key = "origin",
     .type = TN_FIELD_CHOICE,
     .offset = offsetof(tn_language_model, origin),
     .choices = tn_origin_names,
     .fallback = "unverified",
     .help = "where the figures come from"},
    {.key = "source",
     .type = TN_FIELD_TEXT,
     .offset = offsetof(tn_language_model, source),
     .help = "the publication or file they were read in"},
    COUNT(tn_language_model, hidden, "hidden", 1, 1e6, .required = true,
          .help = "width of the residual stream"),
    COUNT(tn_language_model, vocabulary, "vocabulary", 1, 1e8, .required = true, .help = "entries"),
    SWITCH(tn_language_model, tied_embeddings, "tied_embeddings",
           "the output projection is the embedding table"),
    {.key = "matrix_bits",
     .type = TN_FIELD_REAL,
     .offset = offsetof(tn_language_model, matrix_bits),
     .fallback = "16",
     .minimum = 0.5,
     .maximum = 64,
     .help = "bits of a parameter of a layer's matrices as stored, with a quantised format's scales"},
    {.key = "other_bits",
     .type = TN_FIELD_REAL,
     .offset = offsetof(tn_language_model, other_bits),
     .fallback = "16",
     .minimum = 0.5,
     .maximum = 64,
     .help = "bits of every other parameter: embeddings, norms, routers, convolutions"},
    {.key = "attention",
     .type = TN_FIELD_MAPPING,
     .offset = offsetof(tn_language_model, attention),
     .sub = &attention_schema,
     .help = "layers that mix tokens by attention"},
    {.key = "state_space",
     .type = TN_FIELD_MAPPING,
     .offset = offsetof(tn_language_model, state_space),
     .sub = &state_space_schema,
     .help = "layers that mix tokens by a selective state space"},
    {.key = "feed_forward",
     .type = TN_FIELD_MAPPING,
     .offset = offsetof(tn_language_model, feed_forward),
     .required = true,
     .sub = &feed_forward_schema,
     .help = "feed-forward layers, dense or of experts"},
    {.key = "training",
     .type = TN_FIELD_MAPPING,
     .offset = offsetof(tn_language_model, training),
     .required = true,
     .sub = &training_schema,
     .help = "what is trained and what is kept for it"},
    {.key = "published",
     .type = TN_FIELD_MAPPING,
     .offset = offsetof(tn_language_model, published),
     .sub = &published_schema,
     .seen_offset = offsetof(tn_language_model, published_at),
     .help = "coefficients of arXiv 2408.04693 for this model"},
};
const tn_schema tn_language_model_schema = TN_SCHEMA("language-model", tn_language_model, fields);

static tn_status check(const tn_language_model *model, const tn_yaml *root, tn_error *error) {
    const tn_language_feed_forward *f = &model->feed_forward;
    const tn_yaml *node = tn_yaml_get(root, "feed_forward");
    if (f->active > f->experts)
        return tn_fail_at(error, TN_INPUT, node->at, "%llu active of %llu experts; active can't be more",
                          (unsigned long long)f->active, (unsigned long long)f->experts);
    const tn_language_attention *a = &model->attention;
    node = tn_yaml_get(root, "attention");
    if (a->heads % a->kv_heads != 0)
        return tn_fail_at(error, TN_INPUT, node ? node->at : root->at,
                          "%llu heads share %llu kv_heads; kv_heads must divide heads",
                          (unsigned long long)a->heads, (unsigned long long)a->kv_heads);
    return TN_OK;
}

static bool is_kind(const tn_yaml *root, const char *kind) {
    const tn_yaml *value = root->kind == TN_YAML_MAPPING ? tn_yaml_get(root, "kind") : NULL;
    return value && value->kind == TN_YAML_SCALAR && strcmp(value->text, kind) == 0;
}

static tn_status decode(const tn_yaml *root, tn_arena *arena, tn_language_model *model, tn_error *error) {
    if (is_kind(root, "model"))
        return tn_fail_at(error, TN_INPUT, root->at,
                          "this is a model of kind model; fine-tuning needs one of kind language-model");
    TN_TRY(tn_schema_decode(&tn_language_model_schema, root, arena, model, error));
    return check(model, root, error);
}

tn_status tn_language_model_load(const char *name, const char *const *set, size_t set_count, tn_arena *arena,
                                 tn_language_model *model, tn_error *error) {
    const char *path;
    tn_yaml *root;
    TN_TRY(tn_search_path_find(folder, name, arena, &path, error));
    TN_TRY(tn_yaml_load(path, arena, &root, error));
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
    if (!is_kind(root, kind_names[0])) return TN_OK;
    TN_TRY(decode(root, arena, model, error));
    *found = true;
    return TN_OK;
}
