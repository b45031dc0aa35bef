#include "model/layer_kind.h"

#include "base/checked.h"
#include "base/name_index.h"
#include "model/composite.h"
#include "model/graph.h"
#include "model/model_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { REPEAT_MOST = 1000 };

/* ---- keys ---- */

#define FIELD_NAME                                                                                           \
    TN_KEY(TEXT, tn_layer_entry, name, "name, unique among its neighbours: letters, digits, - and _",        \
           TN_REQUIRED, TN_SEEN(tn_layer_entry, name_at))
#define FIELD_KIND TN_KEY_AS("kind", TEXT, tn_layer_entry, kind_text, "the kind of layer", TN_REQUIRED)
#define FIELD_INPUT(needed, text)                                                                            \
    TN_KEY(TEXT_LIST, tn_layer_entry, input, text, .required = (needed), TN_SEEN(tn_layer_entry, input_at))
#define FIELD_ONE_INPUT                                                                                      \
    FIELD_INPUT(false, "earlier layer, block, `entry` or `previous.LAYER`; absent: the layer before")
#define FIELD_WEIGHT                                                                                         \
    TN_KEY(TEXT_LIST, tn_layer_entry, weight,                                                                \
           "entry of `weights`, in a block also one per repetition; absent: dense",                          \
           TN_SEEN(tn_layer_entry, weight_at))
#define FIELD_HEADS                                                                                          \
    TN_KEY(COUNT, tn_layer_entry, heads, "heads; each takes an equal share of the widths", TN_REQUIRED,      \
           TN_FROM(1), TN_SEEN(tn_layer_entry, heads_at))
#define FIELD_SIZE(word, member, text)                                                                       \
    TN_KEY_AS(word, COUNT, tn_layer_entry, member, text, TN_REQUIRED, TN_FROM(1))

static const tn_field input_fields[] = {
    FIELD_NAME,
    FIELD_KIND,
    FIELD_SIZE("width", width, "features of a token"),
};
static const tn_field embedding_fields[] = {
    FIELD_NAME,
    FIELD_KIND,
    FIELD_SIZE("vocabulary", vocabulary, "rows of the table"),
    FIELD_SIZE("width", width, "columns of the table, features of a token"),
    FIELD_WEIGHT,
};
static const tn_field one_input_fields[] = {FIELD_NAME, FIELD_KIND, FIELD_ONE_INPUT};
static const tn_field linear_fields[] = {
    FIELD_NAME,
    FIELD_KIND,
    FIELD_ONE_INPUT,
    FIELD_SIZE("outputs", outputs, "rows of the matrix, features of a token behind it"),
    FIELD_WEIGHT,
    TN_KEY(BOOL, tn_layer_entry, bias, "a bias per output", TN_DEFAULT("true")),
    TN_KEY(TEXT, tn_layer_entry, tied,
           "an earlier embedding layer, dense, whose table is also this layer's matrix (tied embeddings)",
           TN_SEEN(tn_layer_entry, tied_at)),
};
static const tn_field conv_fields[] = {
    FIELD_NAME,
    FIELD_KIND,
    FIELD_ONE_INPUT,
    FIELD_SIZE("outputs", outputs, "features of a pixel behind it"),
    TN_KEY_AS("height", COUNT, tn_layer_entry, picture_height,
              "pixels of a column of the picture, whose rows of pixels are the tokens one behind the other",
              TN_REQUIRED, TN_FROM(1), TN_SEEN(tn_layer_entry, height_at)),
    FIELD_SIZE("width", picture_width, "pixels of a row of the picture"),
    TN_KEY(COUNT, tn_layer_entry, kernel, "pixels of a column of a window", TN_REQUIRED, TN_FROM(1),
           TN_SEEN(tn_layer_entry, kernel_at)),
    TN_KEY(COUNT, tn_layer_entry, kernel_width, "pixels of a row of a window; absent: as many as a column's",
           TN_FROM(1), TN_SEEN(tn_layer_entry, kernel_width_at)),
    TN_KEY(COUNT, tn_layer_entry, stride, "pixels from one window to that below it", TN_DEFAULT("1"),
           TN_FROM(1)),
    TN_KEY(COUNT, tn_layer_entry, stride_width,
           "pixels from one window to that beside it; absent: as many as down", TN_FROM(1),
           TN_SEEN(tn_layer_entry, stride_width_at)),
    TN_KEY(COUNT, tn_layer_entry, padding, "pixels of zeros above and below the picture", TN_DEFAULT("0")),
    TN_KEY(COUNT, tn_layer_entry, padding_width, "the same at its left and right; absent: as many as above",
           TN_SEEN(tn_layer_entry, padding_width_at)),
    FIELD_WEIGHT,
    TN_KEY(BOOL, tn_layer_entry, bias, "a bias per output", TN_DEFAULT("true")),
};
static const tn_field attention_fields[] = {
    FIELD_NAME,
    FIELD_KIND,
    FIELD_INPUT(true, "[query, key, value]"),
    FIELD_HEADS,
    TN_KEY(COUNT, tn_layer_entry, kv_heads,
           "heads of key and value, which divide `heads`: each serves heads / kv_heads query heads that lie "
           "side by side "
           "(grouped-query attention); absent: as many as heads",
           TN_FROM(1), TN_SEEN(tn_layer_entry, kv_heads_at)),
    TN_KEY(BOOL, tn_layer_entry, causal,
           "a token attends to itself and those before it; all of query x key is computed and counted",
           TN_DEFAULT("false"), TN_SEEN(tn_layer_entry, causal_at)),
};
static const tn_field rms_norm_fields[] = {
    FIELD_NAME,
    FIELD_KIND,
    FIELD_ONE_INPUT,
    TN_KEY(COUNT, tn_layer_entry, heads,
           "equal parts of the features, each normed on its own, by one scale for all", TN_DEFAULT("1"),
           TN_FROM(1), TN_SEEN(tn_layer_entry, heads_at)),
};
static const tn_field rotary_fields[] = {
    FIELD_NAME,
    FIELD_KIND,
    FIELD_ONE_INPUT,
    FIELD_HEADS,
    TN_KEY(REAL, tn_layer_entry, base,
           "features i and i + d/2 of a head of d turn by position x base^(-2i/d)", TN_DEFAULT("10000"),
           TN_WITHIN(1, 1e12)),
};
static const tn_field residual_fields[] = {FIELD_NAME, FIELD_KIND, FIELD_INPUT(true, "the two to add")};
static const tn_field multiply_fields[] = {
    FIELD_NAME, FIELD_KIND,
    FIELD_INPUT(true, "the two to multiply element by element, such as a gate and what it gates")};
#define FIELD_WEIGHTS(member, text)                                                                          \
    TN_KEY(TEXT_LIST, tn_layer_entry, member, text, TN_SEEN(tn_layer_entry, member##_at))
enum { EXPERTS_MOST = 1000, STATES_MOST = 256, TAPS_MOST = 64 };

static const tn_field moe_fields[] = {
    FIELD_NAME,
    FIELD_KIND,
    FIELD_ONE_INPUT,
    TN_KEY(COUNT, tn_layer_entry, experts, "feed-forward networks, of which a router chooses", TN_REQUIRED,
           TN_WITHIN(1, EXPERTS_MOST)),
    TN_KEY(COUNT, tn_layer_entry, top, "of them that a token is sent to", TN_REQUIRED, TN_FROM(1),
           TN_SEEN(tn_layer_entry, top_at)),
    FIELD_SIZE("hidden", hidden, "features inside an expert"),
    TN_KEY(REAL, tn_layer_entry, capacity,
           "rows of an example that an expert has, over its even share of tokens x top / experts; what is "
           "chosen beyond "
           "is dropped; absent: none is (dropless), and an expert has a row for every token",
           TN_WITHIN(0.01, 1000), TN_SEEN(tn_layer_entry, capacity_at)),
    TN_KEY(REAL, tn_layer_entry, balance,
           "weight of the loss experts x sum of (share of choices x mean probability), which spreads tokens "
           "evenly; "
           "the reported loss leaves it out",
           TN_DEFAULT("0"), TN_WITHIN(0, 1000)),
    TN_KEY(
        BOOL, tn_layer_entry, normalise,
        "gates are probabilities over the chosen experts; false: over all; absent: true where top is above 1",
        TN_SEEN(tn_layer_entry, normalise_at)),
    TN_KEY(CHOICE, tn_layer_entry, activation, "inside an expert", TN_DEFAULT("gelu"),
           TN_ONE_OF(tn_expert_activation_names)),
    TN_KEY(BOOL, tn_layer_entry, gated,
           "an expert has a third matrix, whose activation multiplies the first's rows", TN_DEFAULT("false")),
    TN_KEY(BOOL, tn_layer_entry, bias, "a bias per output of an expert's matrices", TN_DEFAULT("true")),
    FIELD_WEIGHTS(up, "entry of `weights` of the matrices of hidden outputs, or one for each expert, "
                      "in a block also of each repetition; absent: dense"),
    FIELD_WEIGHTS(gate, "the same of the third matrices"),
    FIELD_WEIGHTS(down, "the same of the matrices back"),
};
static const tn_field mamba_fields[] = {
    FIELD_NAME,
    FIELD_KIND,
    FIELD_ONE_INPUT,
    TN_KEY(COUNT, tn_layer_entry, expansion, "inner features over features of a token", TN_DEFAULT("2"),
           TN_FROM(1)),
    TN_KEY(COUNT, tn_layer_entry, state, "states of an inner feature", TN_DEFAULT("16"),
           TN_WITHIN(1, STATES_MOST)),
    TN_KEY(COUNT, tn_layer_entry, taps, "tokens that the causal convolution sees", TN_DEFAULT("4"),
           TN_WITHIN(1, TAPS_MOST)),
    TN_KEY(COUNT, tn_layer_entry, step_rank,
           "rank of the projection that gives the step's size; absent: a 16th of the features, rounded up",
           TN_FROM(1)),
    FIELD_WEIGHTS(in, "entry of `weights` of the two projections in, or one for each; absent: dense"),
    FIELD_WEIGHTS(out, "the same of the projection out"),
};
static const tn_field block_fields[] = {
    FIELD_NAME,
    FIELD_KIND,
    TN_KEY(COUNT, tn_layer_entry, repeat,
           "how often its layers stand one behind the other, each time with parameters of their own",
           TN_DEFAULT("1"), TN_WITHIN(1, REPEAT_MOST)),
    TN_KEY(NODE, tn_layer_entry, layers, "its layers, of any kind but block", TN_REQUIRED),
    TN_KEY(MAPPING, tn_layer_entry, activations, "of this block instead of the model's",
           .sub = &tn_block_activations_schema),
};

/* ---- shapes ---- */

static tn_status shape_embedding(const tn_layer_entry *entry, const tn_layer *const *input, tn_layer *layer,
                                 tn_error *error) {
    (void)input;
    (void)error;
    layer->rows = entry->vocabulary;
    layer->columns = entry->width;
    return TN_OK;
}

static tn_status shape_linear(const tn_layer_entry *entry, const tn_layer *const *input, tn_layer *layer,
                              tn_error *error) {
    (void)input;
    (void)error;
    layer->rows = entry->outputs;
    layer->columns = layer->width;
    layer->width = entry->outputs;
    layer->bias = entry->bias;
    return TN_OK;
}

/* Windows along one side: how many, or 0 where none fits. */
static uint64_t windows_along(uint64_t pixels, uint64_t kernel, uint64_t stride, uint64_t padding) {
    uint64_t padded;
    if (!tn_mul(2, padding, &padded) || !tn_add(padded, pixels, &padded) || padded < kernel) return 0;
    return (padded - kernel) / stride + 1;
}

/* The matrix has a column for each feature of each pixel of a window, its rows from the top left. */
static tn_status shape_conv(const tn_layer_entry *entry, const tn_layer *const *input, tn_layer *layer,
                            tn_error *error) {
    tn_window *window = &layer->window;
    uint64_t pixels;
    *window =
        (tn_window){.height = entry->picture_height,
                    .width = entry->picture_width,
                    .kernel_down = entry->kernel,
                    .kernel_across = entry->kernel_width_at.line ? entry->kernel_width : entry->kernel,
                    .stride_down = entry->stride,
                    .stride_across = entry->stride_width_at.line ? entry->stride_width : entry->stride,
                    .padding_down = entry->padding,
                    .padding_across = entry->padding_width_at.line ? entry->padding_width : entry->padding};
    if (!tn_mul(window->height, window->width, &pixels) || pixels != input[0]->sequence)
        return tn_fail_at(error, TN_INPUT, entry->height_at,
                          "layer \"%.100s\" takes a picture of %" PRIu64 " x %" PRIu64
                          " pixels, but %.100s gives %" PRIu64
                          " tokens; choose height and width that multiply to %" PRIu64,
                          entry->name, window->height, window->width, input[0]->name, input[0]->sequence,
                          input[0]->sequence);
    window->outputs_down =
        windows_along(window->height, window->kernel_down, window->stride_down, window->padding_down);
    window->outputs_across =
        windows_along(window->width, window->kernel_across, window->stride_across, window->padding_across);
    if (window->outputs_down == 0 || window->outputs_across == 0)
        return tn_fail_at(
            error, TN_INPUT, entry->kernel_at,
            "a window of %" PRIu64 " x %" PRIu64 " is larger than the picture of %" PRIu64 " x %" PRIu64
            " that layer \"%.100s\" takes, padding included; choose a smaller kernel",
            window->kernel_down, window->kernel_across, window->height, window->width, entry->name);
    const uint64_t columns[] = {window->kernel_down, window->kernel_across, layer->width};
    layer->rows = layer->width = entry->outputs;
    layer->bias = entry->bias;
    if (tn_product(columns, 3, &layer->columns) &&
        tn_mul(window->outputs_down, window->outputs_across, &layer->sequence))
        return TN_OK;
    return tn_fail_at(error, TN_OVERFLOW, entry->position,
                      "the windows of layer \"%.100s\" are more than 2^64", entry->name);
}

/* One window, which is the picture. */
static tn_status shape_flatten(const tn_layer_entry *entry, const tn_layer *const *input, tn_layer *layer,
                               tn_error *error) {
    const uint64_t tokens = input[0]->sequence;
    layer->window = (tn_window){tokens, 1, tokens, 1, 1, 1, 0, 0, 1, 1};
    layer->sequence = 1;
    if (tn_mul(layer->width, tokens, &layer->width)) return TN_OK;
    return tn_fail_at(error, TN_OVERFLOW, entry->position, "the width of layer \"%.100s\" is more than 2^64",
                      entry->name);
}

static tn_status shape_one_token(const tn_layer_entry *entry, const tn_layer *const *input, tn_layer *layer,
                                 tn_error *error) {
    (void)entry;
    (void)input;
    (void)error;
    layer->sequence = 1;
    return TN_OK;
}

static tn_status differing(const tn_layer_entry *entry, const tn_layer *a, const tn_layer *b,
                           const char *rule, tn_error *error) {
    return tn_fail_at(error, TN_INPUT, entry->input_at,
                      "layer \"%.100s\" takes %.100s (%" PRIu64 " tokens x %" PRIu64 ") and %.100s (%" PRIu64
                      " x %" PRIu64 "); %s",
                      entry->name, a->name, a->sequence, a->width, b->name, b->sequence, b->width, rule);
}

static tn_status check_heads(const tn_layer *layer, uint64_t heads, tn_position position, tn_error *error) {
    if (layer->width % heads == 0) return TN_OK;
    return tn_fail_at(error, TN_INPUT, position,
                      "%" PRIu64 " heads do not divide the width %" PRIu64
                      " of layer %.100s; choose a divisor",
                      heads, layer->width, layer->name);
}

static tn_status shape_attention(const tn_layer_entry *entry, const tn_layer *const *input, tn_layer *layer,
                                 tn_error *error) {
    const tn_layer *query = input[0], *key = input[1], *value = input[2];
    const bool shared = entry->kv_heads_at.line > 0;
    const uint64_t kv_heads = shared ? entry->kv_heads : entry->heads;
    const tn_position kv_at = shared ? entry->kv_heads_at : entry->heads_at;
    if (entry->heads % kv_heads != 0)
        return tn_fail_at(error, TN_INPUT, entry->kv_heads_at,
                          "%" PRIu64 " kv_heads do not divide %" PRIu64 " heads; choose a divisor", kv_heads,
                          entry->heads);
    TN_TRY(check_heads(query, entry->heads, entry->heads_at, error));
    TN_TRY(check_heads(key, kv_heads, kv_at, error));
    TN_TRY(check_heads(value, kv_heads, kv_at, error));
    if (query->width / entry->heads != key->width / kv_heads)
        return differing(entry, query, key,
                         kv_heads == entry->heads ? "query and key must have the same width"
                                                  : "a head of the query must be as wide as one of the key",
                         error);
    if (key->sequence != value->sequence)
        return differing(entry, key, value, "key and value must have as many tokens", error);
    if (entry->causal && query->sequence != key->sequence)
        return differing(entry, query, key, "under a causal mask query and key must have as many tokens",
                         error);
    layer->heads = entry->heads;
    layer->kv_heads = kv_heads;
    layer->causal = entry->causal;
    layer->width = value->width / kv_heads;
    if (tn_mul(layer->width, entry->heads, &layer->width)) return TN_OK;
    return tn_fail_at(error, TN_OVERFLOW, entry->position, "the width of layer \"%.100s\" is more than 2^64",
                      entry->name);
}

static tn_status shape_rms_norm(const tn_layer_entry *entry, const tn_layer *const *input, tn_layer *layer,
                                tn_error *error) {
    layer->heads = entry->heads;
    return check_heads(input[0], entry->heads, entry->heads_at, error);
}

static tn_status shape_rotary(const tn_layer_entry *entry, const tn_layer *const *input, tn_layer *layer,
                              tn_error *error) {
    TN_TRY(check_heads(input[0], entry->heads, entry->heads_at, error));
    layer->heads = entry->heads;
    layer->base = entry->base;
    if (layer->width / entry->heads % 2 == 0) return TN_OK;
    return tn_fail_at(error, TN_INPUT, entry->heads_at,
                      "a head of layer \"%.100s\" is %" PRIu64
                      " wide; features turn in pairs, so it must be even",
                      entry->name, layer->width / entry->heads);
}

static tn_status shape_of_two(const tn_layer_entry *entry, const tn_layer *const *input, tn_layer *layer,
                              tn_error *error) {
    (void)layer;
    if (input[0]->sequence == input[1]->sequence && input[0]->width == input[1]->width) return TN_OK;
    return differing(entry, input[0], input[1], "a layer of two inputs takes equal shapes", error);
}

/* ---- the table ---- */

#define FIELDS(of)     .field = of##_fields, .fields = sizeof of##_fields / sizeof *of##_fields
#define PARTS(part)    .forward = tn_##part##_forward, .backward = tn_##part##_backward
#define FUNCTION(kind) PARTS(map), .operation = TN_OP_##kind, .gradient = TN_OP_##kind##_GRADIENT
#define ONE_INPUT      FIELDS(one_input), .inputs = 1

const tn_layer_kind tn_layer_kinds[] = {
    {"input", FIELDS(input), PARTS(input), .family = TN_LAYER_INPUT},
    {"embedding", FIELDS(embedding), PARTS(embedding), .has_parameters = true, .family = TN_LAYER_EMBEDDING,
     .shape = shape_embedding},
    {"positions", ONE_INPUT, PARTS(positions), .family = TN_LAYER_POSITIONS, .has_parameters = true},
    {"linear", FIELDS(linear), PARTS(linear), .family = TN_LAYER_LINEAR, .inputs = 1, .has_parameters = true,
     .shape = shape_linear},
    {"conv", FIELDS(conv), .across_tokens = true, PARTS(conv), .family = TN_LAYER_CONV, .inputs = 1,
     .has_parameters = true, .shape = shape_conv},
    {"attention", FIELDS(attention), PARTS(attention), .family = TN_LAYER_ATTENTION, .inputs = 3,
     .shape = shape_attention},
    {"rotary", FIELDS(rotary), PARTS(rotary), .inputs = 1, .shape = shape_rotary},
    {"layer-norm", ONE_INPUT, PARTS(layer_norm), .has_parameters = true},
    {"rms-norm", FIELDS(rms_norm), PARTS(rms_norm), .inputs = 1, .has_parameters = true,
     .shape = shape_rms_norm},
    {"gelu", ONE_INPUT, FUNCTION(GELU)},
    {"silu", ONE_INPUT, FUNCTION(SILU)},
    {"relu", ONE_INPUT, FUNCTION(RELU)},
    {"tanh", ONE_INPUT, FUNCTION(TANH)},
    {"squared-relu", ONE_INPUT, FUNCTION(SQUARED_RELU)},
    {"softplus", ONE_INPUT, FUNCTION(SOFTPLUS)},
    {"residual", FIELDS(residual), PARTS(residual), .family = TN_LAYER_RESIDUAL, .inputs = 2,
     .shape = shape_of_two},
    {"multiply", FIELDS(multiply), PARTS(multiply), .inputs = 2, .shape = shape_of_two},
    {"moe", FIELDS(moe), .inputs = 1, .has_parameters = true, .expand = tn_moe_expand},
    {"mamba", FIELDS(mamba), .inputs = 1, .has_parameters = true, .expand = tn_mamba_expand},
    {"first-token", ONE_INPUT, .across_tokens = true, PARTS(first_token), .shape = shape_one_token},
    {"mean", ONE_INPUT, .across_tokens = true, PARTS(mean), .shape = shape_one_token},
    {"flatten", ONE_INPUT, .across_tokens = true, PARTS(flatten), .shape = shape_flatten},
    {"cross-entropy", ONE_INPUT, PARTS(cross_entropy), .family = TN_LAYER_LOSS},
    {"block", FIELDS(block)},
};
const size_t tn_layer_kind_count = sizeof tn_layer_kinds / sizeof *tn_layer_kinds;

bool tn_layer_kind_is_block(const tn_layer_kind *kind) {
    return !kind->forward && !kind->expand;
}

const tn_layer_kind *tn_layer_kind_find(const char *name) {
    for (size_t i = 0; i < tn_layer_kind_count; i++)
        if (strcmp(tn_layer_kinds[i].name, name) == 0) return &tn_layer_kinds[i];
    return NULL;
}

/* "a, b and c" of those kinds that have the keys `field`, or of all where it is NULL. */
static void list_kinds(const tn_field *field, const char *last, tn_buffer *out) {
    const char *held = NULL;
    for (size_t i = 0; i < tn_layer_kind_count; i++) {
        if (field && tn_layer_kinds[i].field != field) continue;
        if (held) tn_buffer_format(out, "%s%s", out->length ? ", " : "", held);
        held = tn_layer_kinds[i].name;
    }
    if (held) tn_buffer_format(out, " %s %s", last, held);
}

void tn_layer_kind_list(tn_buffer *out) {
    list_kinds(NULL, "and", out);
}

static void document(const char *name, const tn_field *field, size_t fields, tn_buffer *out) {
    const tn_schema schema = {.name = name, .size = sizeof(tn_layer_entry), .field = field, .count = fields};
    tn_buffer_text(out, "\n");
    tn_schema_document(&schema, out);
}

/* Kinds that have the same keys share a table, the last one. */
void tn_layer_kind_document(tn_buffer *out) {
    tn_buffer shared = {0};
    for (size_t i = 0; i < tn_layer_kind_count; i++) {
        const tn_layer_kind *kind = &tn_layer_kinds[i];
        char name[64];
        snprintf(name, sizeof name, tn_layer_kind_is_block(kind) ? "%s" : "%s layer", kind->name);
        if (kind->field != one_input_fields) document(name, kind->field, kind->fields, out);
    }
    list_kinds(one_input_fields, "or", &shared);
    tn_buffer_text(&shared, " layer");
    document(shared.status == TN_OK ? shared.data : "", one_input_fields,
             sizeof one_input_fields / sizeof *one_input_fields, out);
    tn_buffer_free(&shared);
}

/* ---- reading an entry ---- */

static tn_status unknown_kind(const tn_yaml *kind, tn_error *error) {
    const char *names[sizeof tn_layer_kinds / sizeof *tn_layer_kinds];
    for (size_t i = 0; i < tn_layer_kind_count; i++) names[i] = tn_layer_kinds[i].name;
    const char *near = tn_suggest(kind->text, names, tn_layer_kind_count);
    if (near)
        return tn_fail_at(error, TN_INPUT, kind->position, "no layer is of kind \"%.100s\"; did you mean %s?",
                          kind->text, near);
    tn_buffer list = {0};
    tn_layer_kind_list(&list);
    tn_status status = list.status;
    if (status == TN_OK)
        status = tn_fail_at(error, TN_INPUT, kind->position,
                            "no layer is of kind \"%.100s\"; kinds are %.400s", kind->text, list.data);
    tn_buffer_free(&list);
    return status;
}

static tn_status read_kind(const tn_yaml *node, const tn_layer_kind **kind, tn_error *error) {
    if (node->kind != TN_YAML_MAPPING)
        return tn_fail_at(error, TN_INPUT, node->position,
                          "a layer must be a mapping, such as {name: query, kind: linear, outputs: 768}");
    const tn_yaml *given = tn_yaml_get(node, "kind");
    if (!given)
        return tn_fail_at(error, TN_INPUT, node->position,
                          "key \"kind\" of a layer is missing; add kind: linear, attention, block, ...");
    if (given->kind != TN_YAML_SCALAR)
        return tn_fail_at(error, TN_INPUT, given->position,
                          "\"kind\" of a layer must be one name, such as linear");
    *kind = tn_layer_kind_find(given->text);
    return *kind ? TN_OK : unknown_kind(given, error);
}

tn_status tn_layer_entry_decode(const tn_yaml *node, tn_arena *arena, tn_layer_entry *entry,
                                tn_error *error) {
    const tn_layer_kind *kind;
    TN_TRY(read_kind(node, &kind, error));
    char name[64];
    snprintf(name, sizeof name, tn_layer_kind_is_block(kind) ? "%s" : "%s layer", kind->name);
    const tn_schema schema = {
        .name = name, .size = sizeof *entry, .field = kind->field, .count = kind->fields};
    TN_TRY(tn_schema_decode(&schema, node, arena, entry, error));
    entry->kind = kind;
    entry->position = node->position;
    return tn_model_name_check(entry->name, entry->name_at, "layer", error);
}
