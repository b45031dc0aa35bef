#include "model/model_file.h"

#include "base/suggest.h"
#include "flow/named.h"
#include "model/model.h"
#include "model/step.h"
#include "tensor/weight.h"

#include <string.h>

const char *const tn_layer_kind_names[] = {
    [TN_LAYER_INPUT] = "input",
    [TN_LAYER_EMBEDDING] = "embedding",
    [TN_LAYER_POSITIONS] = "positions",
    [TN_LAYER_LINEAR] = "linear",
    [TN_LAYER_ATTENTION] = "attention",
    [TN_LAYER_NORM] = "layer-norm",
    [TN_LAYER_GELU] = "gelu",
    [TN_LAYER_TANH] = "tanh",
    [TN_LAYER_RESIDUAL] = "residual",
    [TN_LAYER_FIRST_TOKEN] = "first-token",
    [TN_LAYER_CROSS_ENTROPY] = "cross-entropy",
    [TN_LAYER_BLOCK] = "block",
    [TN_LAYER_KINDS] = NULL,
};

uint32_t tn_layer_kind_inputs(tn_layer_kind kind) {
    switch (kind) {
    case TN_LAYER_INPUT:
    case TN_LAYER_EMBEDDING:
    case TN_LAYER_BLOCK:
        return 0;
    case TN_LAYER_RESIDUAL:
        return 2;
    case TN_LAYER_ATTENTION:
        return 3;
    default:
        return 1;
    }
}

static const char *const file_kinds[] = {"model", NULL};
static const char *const weight_policies[] = {"as-given", "dense", NULL};

enum { REPEAT_MOST = 1000 };

static const tn_field weight_fields[] = {
    TN_KEY(CHOICE, tn_weight_entry, format, "how the matrix is kept; dense needs no other key", TN_REQUIRED,
           TN_ONE_OF(tn_format_names), TN_SEEN(tn_weight_entry, format_at)),
    TN_KEY(COUNT_LIST, tn_weight_entry, m,
           "factors of the matrix's rows (a linear layer's outputs, a table's vocabulary)", TN_FROM(1),
           TN_SEEN(tn_weight_entry, m_at)),
    TN_KEY(COUNT_LIST, tn_weight_entry, n,
           "factors of its columns (a linear layer's inputs, a table's width), as many as m", TN_FROM(1),
           TN_SEEN(tn_weight_entry, n_at)),
    TN_KEY(COUNT_LIST, tn_weight_entry, rank,
           "one rank for every bond, or all ranks of the format in order, ends included: 1x12x12x1",
           TN_FROM(1), TN_SEEN(tn_weight_entry, rank_at)),
    TN_KEY(CHOICE, tn_weight_entry, flow,
           "contraction flow; absent: the model's `flow` where format and use have it, else optimal",
           TN_ONE_OF(tn_flow_names), TN_SEEN(tn_weight_entry, flow_at)),
};
static const tn_schema weight_schema = TN_SCHEMA("weight", tn_weight_entry, weight_fields);

static const tn_field model_fields[] = {
    TN_KEY(CHOICE, tn_model_file, kind, "what the file is", TN_REQUIRED, TN_ONE_OF(file_kinds)),
    TN_KEY(TEXT, tn_model_file, name, "name in results: letters, digits, - and _", TN_REQUIRED,
           TN_SEEN(tn_model_file, name_at)),
    TN_KEY(COUNT, tn_model_file, batch, "examples of a training step", TN_DEFAULT("1"), TN_FROM(1)),
    TN_KEY(COUNT, tn_model_file, sequence, "tokens of an example", TN_REQUIRED, TN_FROM(1)),
    TN_KEY(CHOICE, tn_model_file, precision, "of every number: 4, 2, 2 and 1 bytes", TN_DEFAULT("fp32"),
           TN_ONE_OF(tn_precision_names)),
    TN_KEY(CHOICE, tn_model_file, optimizer, "sgd keeps no state, momentum one number a parameter, adam two",
           TN_DEFAULT("sgd"), TN_ONE_OF(tn_optimizer_names)),
    TN_KEY(COUNT, tn_model_file, examples, "examples of an epoch; its steps are examples / batch, rounded up",
           TN_DEFAULT("1"), TN_FROM(1)),
    TN_KEY(CHOICE, tn_model_file, format, "dense: every weight uncompressed, whatever `weights` says",
           TN_DEFAULT("as-given"), TN_ONE_OF(weight_policies)),
    TN_KEY(CHOICE, tn_model_file, flow, "contraction flow of the weights that name none",
           TN_DEFAULT("bidirectional"), TN_ONE_OF(tn_flow_names)),
    TN_KEY(TABLE, tn_model_file, weights, "shapes by name, which layers refer to and spaces vary",
           .sub = &weight_schema),
    TN_KEY(NODE, tn_model_file, layers, "the layers in order, each by the keys of its kind (below)",
           TN_REQUIRED),
    TN_KEY(NODE, tn_model_file, build, "hardware choices (docs/build-keys.md)"),
    TN_KEY(NODE, tn_model_file, checkpoint, "where trained weights lie, for `tenfold ranks`"),
};
const tn_schema tn_model_schema = TN_SCHEMA("model", tn_model_file, model_fields);

/* Keys that several kinds of layers have. */
#define FIELD_NAME                                                                                           \
    TN_KEY(TEXT, tn_layer_entry, name, "name, unique among its neighbours: letters, digits, - and _",        \
           TN_REQUIRED, TN_SEEN(tn_layer_entry, name_at))
#define FIELD_KIND TN_KEY_AS("kind", TEXT, tn_layer_entry, kind_text, "the kind of layer", TN_REQUIRED)
#define FIELD_INPUT(needed, text)                                                                            \
    TN_KEY(TEXT_LIST, tn_layer_entry, input, text, .required = (needed), TN_SEEN(tn_layer_entry, input_at))
#define FIELD_ONE_INPUT FIELD_INPUT(false, "earlier layer, block or `entry`; absent: the layer before")
#define FIELD_WEIGHT                                                                                         \
    TN_KEY(TEXT_LIST, tn_layer_entry, weight,                                                                \
           "entry of `weights`, in a block also one per repetition; absent: dense",                          \
           TN_SEEN(tn_layer_entry, weight_at))
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
    FIELD_NAME,      FIELD_KIND,
    FIELD_ONE_INPUT, FIELD_SIZE("outputs", outputs, "rows of the matrix, features of a token behind it"),
    FIELD_WEIGHT,    TN_KEY(BOOL, tn_layer_entry, bias, "a bias per output", TN_DEFAULT("true")),
};
static const tn_field attention_fields[] = {
    FIELD_NAME,
    FIELD_KIND,
    FIELD_INPUT(true, "[query, key, value]"),
    TN_KEY(COUNT, tn_layer_entry, heads, "heads; each takes an equal share of the widths", TN_REQUIRED,
           TN_FROM(1), TN_SEEN(tn_layer_entry, heads_at)),
};
static const tn_field residual_fields[] = {FIELD_NAME, FIELD_KIND, FIELD_INPUT(true, "the two to add")};
static const tn_field block_fields[] = {
    FIELD_NAME,
    FIELD_KIND,
    TN_KEY(COUNT, tn_layer_entry, repeat,
           "how often its layers stand one behind the other, each time with parameters of their own",
           TN_DEFAULT("1"), TN_WITHIN(1, REPEAT_MOST)),
    TN_KEY(NODE, tn_layer_entry, layers, "its layers, of any kind but block", TN_REQUIRED),
};

static const tn_schema kind_schemas[TN_LAYER_KINDS] = {
    [TN_LAYER_INPUT] = TN_SCHEMA("input layer", tn_layer_entry, input_fields),
    [TN_LAYER_EMBEDDING] = TN_SCHEMA("embedding layer", tn_layer_entry, embedding_fields),
    [TN_LAYER_POSITIONS] = TN_SCHEMA("positions layer", tn_layer_entry, one_input_fields),
    [TN_LAYER_LINEAR] = TN_SCHEMA("linear layer", tn_layer_entry, linear_fields),
    [TN_LAYER_ATTENTION] = TN_SCHEMA("attention layer", tn_layer_entry, attention_fields),
    [TN_LAYER_NORM] = TN_SCHEMA("layer-norm layer", tn_layer_entry, one_input_fields),
    [TN_LAYER_GELU] = TN_SCHEMA("gelu layer", tn_layer_entry, one_input_fields),
    [TN_LAYER_TANH] = TN_SCHEMA("tanh layer", tn_layer_entry, one_input_fields),
    [TN_LAYER_RESIDUAL] = TN_SCHEMA("residual layer", tn_layer_entry, residual_fields),
    [TN_LAYER_FIRST_TOKEN] = TN_SCHEMA("first-token layer", tn_layer_entry, one_input_fields),
    [TN_LAYER_CROSS_ENTROPY] = TN_SCHEMA("cross-entropy layer", tn_layer_entry, one_input_fields),
    [TN_LAYER_BLOCK] = TN_SCHEMA("block", tn_layer_entry, block_fields),
};

/* Kinds that have the same keys share a table. */
void tn_model_document(tn_buffer *out) {
    static const tn_schema one_input_schema = {
        .name = "positions, layer-norm, gelu, tanh, first-token or cross-entropy layer",
        .size = sizeof(tn_layer_entry),
        .field = one_input_fields,
        .count = sizeof one_input_fields / sizeof *one_input_fields,
    };
    tn_schema_document(&tn_model_schema, out);
    for (int kind = 0; kind < TN_LAYER_KINDS; kind++) {
        if (kind_schemas[kind].field == one_input_fields) continue;
        tn_buffer_text(out, "\n");
        tn_schema_document(&kind_schemas[kind], out);
    }
    tn_buffer_text(out, "\n");
    tn_schema_document(&one_input_schema, out);
}

tn_status tn_model_name_check(const char *name, tn_position at, const char *what, tn_error *error) {
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
    if (name[0] && name[strspn(name, allowed)] == '\0') return TN_OK;
    return tn_fail_at(error, TN_INPUT, at, "%s name \"%.100s\"; use letters, digits, - and _ only", what,
                      name);
}

tn_status tn_model_file_decode(const tn_yaml *root, tn_arena *arena, tn_model_file *file, tn_error *error) {
    TN_TRY(tn_schema_decode(&tn_model_schema, root, arena, file, error));
    return tn_model_name_check(file->name, file->name_at, "model", error);
}

static tn_status unknown_kind(const tn_yaml *kind, tn_error *error) {
    const char *near = tn_suggest(kind->text, tn_layer_kind_names, TN_LAYER_KINDS);
    if (near)
        return tn_fail_at(error, TN_INPUT, kind->at, "no layer is of kind \"%.100s\"; did you mean %s?",
                          kind->text, near);
    return tn_fail_at(
        error, TN_INPUT, kind->at,
        "no layer is of kind \"%.100s\"; kinds are input, embedding, positions, linear, attention, "
        "layer-norm, gelu, tanh, residual, first-token, cross-entropy and block",
        kind->text);
}

static tn_status read_kind(const tn_yaml *node, tn_layer_kind *kind, tn_error *error) {
    if (node->kind != TN_YAML_MAPPING)
        return tn_fail_at(error, TN_INPUT, node->at,
                          "a layer must be a mapping, such as {name: query, kind: linear, outputs: 768}");
    const tn_yaml *given = tn_yaml_get(node, "kind");
    if (!given)
        return tn_fail_at(error, TN_INPUT, node->at,
                          "key \"kind\" of a layer is missing; add kind: linear, attention, block, ...");
    if (given->kind != TN_YAML_SCALAR)
        return tn_fail_at(error, TN_INPUT, given->at, "\"kind\" of a layer must be one name, such as linear");
    for (int i = 0; i < TN_LAYER_KINDS; i++) {
        if (strcmp(given->text, tn_layer_kind_names[i]) != 0) continue;
        *kind = (tn_layer_kind)i;
        return TN_OK;
    }
    return unknown_kind(given, error);
}

tn_status tn_layer_entry_decode(const tn_yaml *node, tn_arena *arena, tn_layer_entry *entry,
                                tn_error *error) {
    tn_layer_kind kind;
    TN_TRY(read_kind(node, &kind, error));
    TN_TRY(tn_schema_decode(&kind_schemas[kind], node, arena, entry, error));
    entry->kind = kind;
    entry->at = node->at;
    return tn_model_name_check(entry->name, entry->name_at, "layer", error);
}
