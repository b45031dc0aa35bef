#include "model/model.h"

#include "base/checked.h"
#include "base/search_path.h"
#include "model/graph.h"
#include "model/layer_weight.h"

#include <inttypes.h>
#include <string.h>

static bool holds_keys(const tn_field *field) {
    return field->type == TN_FIELD_NODE || field->type == TN_FIELD_TABLE || field->type == TN_FIELD_MAPPING;
}

static bool is_precision(const tn_field *field) {
    return strcmp(field->key, "precision") == 0;
}

/* `build.rows=8` may be set in a model that has no `build:` yet, `precision.products=fp16` in one that says
 * `precision: fp32`, which is short for {accumulate: fp32}. */
static tn_status make_parent(tn_yaml *root, const char *assignment, tn_arena *arena, tn_error *error) {
    size_t length = strcspn(assignment, ".=");
    if (assignment[length] != '.') return TN_OK;
    for (size_t i = 0; i < tn_model_schema.count; i++) {
        const tn_field *field = &tn_model_schema.field[i];
        const char *empty;
        if (!holds_keys(field) || strlen(field->key) != length ||
            strncmp(field->key, assignment, length) != 0)
            continue;
        const tn_yaml *there = tn_yaml_get(root, field->key);
        if (there && !(is_precision(field) && there->kind == TN_YAML_SCALAR)) return TN_OK;
        if (there)
            TN_TRY(tn_arena_format(arena, &empty, error, "%s={accumulate: %s}", field->key, there->text));
        else
            TN_TRY(tn_arena_format(arena, &empty, error, "%s={}", field->key));
        return tn_yaml_set(root, empty, arena, error);
    }
    return TN_OK;
}

static tn_status set_all(tn_yaml *root, const char *const *set, size_t set_count, tn_arena *arena,
                         tn_error *error) {
    for (size_t i = 0; i < set_count; i++) {
        const char *override[3] = {"overrides"};
        tn_layer_what what;
        bool of_layer;
        TN_TRY(tn_layer_key(set[i], arena, &of_layer, &override[1], &what, error));
        override[2] = of_layer ? tn_layer_what_names[what] : NULL;
        if (of_layer) {
            TN_TRY(tn_yaml_put_value(root, override, 3, set[i], arena, error));
            continue;
        }
        TN_TRY(make_parent(root, set[i], arena, error));
        TN_TRY(tn_yaml_set(root, set[i], arena, error));
    }
    return TN_OK;
}

tn_status tn_model_load(const char *name, const char *const *set, size_t set_count, tn_arena *arena,
                        tn_model **model, tn_error *error) {
    const char *path;
    tn_yaml *root;
    TN_TRY(tn_search_path_find("models", name, arena, &path, error));
    TN_TRY(tn_yaml_load(path, arena, &root, error));
    TN_TRY(set_all(root, set, set_count, arena, error));
    return tn_model_decode(root, arena, model, error);
}

tn_status tn_model_vary(const tn_yaml *root, const char *const *set, size_t set_count, tn_arena *arena,
                        tn_model **model, tn_error *error) {
    const tn_yaml nothing = {.kind = TN_YAML_MAPPING};
    tn_yaml *copy;
    TN_TRY(tn_yaml_merge(root, &nothing, arena, &copy, error));
    TN_TRY(set_all(copy, set, set_count, arena, error));
    return tn_model_decode(copy, arena, model, error);
}

/* A policy of blocks says nothing where there are none. */
static tn_status refuse_no_block(const tn_model *model, tn_error *error) {
    const tn_model_activations *activations = &model->keys.activations;
    bool reversible = activations->policy == TN_ACTIVATIONS_REVERSIBLE,
         by_blocks =
             reversible || (activations->policy == TN_ACTIVATIONS_RECOMPUTE && activations->segments == 0);
    for (uint32_t i = 0; i < model->layers && by_blocks; i++)
        by_blocks = model->layer[i].repetition == TN_NONE;
    if (!by_blocks || activations->policy_at.line == 0) return TN_OK;
    return tn_fail_at(error, TN_INPUT, activations->policy_at,
                      reversible
                          ? "policy reversible is of blocks, and the model has none; give its layers as a "
                            "block of couplings, or another policy"
                          : "policy recompute is of blocks, and the model has none; set "
                            "activations.segments, or policy recompute-layers");
}

/* Of keys that other rooms read. */
static tn_status check_mapping(const char *key, const tn_yaml *node, tn_error *error) {
    if (!node || node->kind == TN_YAML_MAPPING) return TN_OK;
    return tn_fail_at(error, TN_INPUT, node->position, "key \"%s\" must be a mapping of keys to values", key);
}

tn_status tn_model_decode(const tn_yaml *root, tn_arena *arena, tn_model **model, tn_error *error) {
    tn_model *made;
    const tn_yaml *kind = root->kind == TN_YAML_MAPPING ? tn_yaml_get(root, "kind") : NULL;
    if (kind && kind->kind == TN_YAML_SCALAR && strcmp(kind->text, "language-model") == 0)
        return tn_fail_at(
            error, TN_INPUT, kind->position,
            "this is a language-model alone, which `tenfold finetune` counts and prices; a model of "
            "kind model is needed here");
    TN_TRY(TN_NEW(arena, 1, &made, error));
    made->root = root;
    const tn_model_file *keys = &made->keys;
    TN_TRY(tn_model_file_decode(root, arena, &made->keys, error));
    TN_TRY(check_mapping("checkpoint", keys->checkpoint, error));
    TN_TRY(check_mapping("language_model", keys->language_model, error));
    TN_TRY(tn_named_weights_decode(&keys->weights, arena, made, error));
    TN_TRY(tn_graph_decode(keys->layers, arena, made, error));
    TN_TRY(tn_named_weights_settle(made, (tn_flow_name)keys->flow, error));
    TN_TRY(tn_overrides_apply(&keys->overrides, (tn_flow_name)keys->flow, arena, made, error));
    TN_TRY(refuse_no_block(made, error));
    *model = made;
    return TN_OK;
}

tn_status tn_model_copy(const tn_model *model, tn_arena *arena, tn_model **copy, tn_error *error) {
    const size_t room = model->split_room ? model->split_room : model->weights;
    TN_TRY(TN_NEW(arena, 1, copy, error));
    **copy = *model;
    TN_TRY(tn_arena_alloc(arena, room, sizeof *model->weight, &(*copy)->weight, error));
    if (model->weights) memcpy((*copy)->weight, model->weight, model->weights * sizeof *model->weight);
    return TN_OK;
}

tn_status tn_model_change(const tn_model *model, const char *keys, tn_arena *arena, tn_model **changed,
                          tn_error *error) {
    tn_yaml *override, *merged;
    TN_TRY(tn_yaml_parse("a model's keys", keys, strlen(keys), arena, &override, error));
    TN_TRY(tn_yaml_merge(model->root, override, arena, &merged, error));
    TN_TRY(tn_model_decode(merged, arena, changed, error));
    TN_TRY(tn_model_split_like(*changed, model, arena, error));
    for (size_t i = 0; i < model->weights; i++) *tn_model_weight_at(*changed, i) = model->weight[i].entry;
    return TN_OK;
}

tn_status tn_model_resize(const tn_model *model, uint64_t batch, uint64_t sequence, tn_arena *arena,
                          tn_model **resized, tn_error *error) {
    const char *keys;
    TN_TRY(
        tn_arena_format(arena, &keys, error, "batch: %" PRIu64 "\nsequence: %" PRIu64 "\n", batch, sequence));
    return tn_model_change(model, keys, arena, resized, error);
}

bool tn_model_is_inference(const tn_model *model) {
    return model->keys.phase != TN_PHASE_TRAINING;
}

bool tn_model_is_decoding(const tn_model *model) {
    return model->keys.phase == TN_PHASE_DECODE;
}

tn_status tn_model_before_inference(const tn_model *model, tn_arena *arena, tn_model **trained,
                                    tn_error *error) {
    static const char keys[] =
        "phase: training\nprecision: fp32\npruning: {tokens: 1, heads: 1}\nexit: []\n"
        "outliers: 0\noutlier_scale: sigma\nflat_gemm: {block: 0}\ndvfs: {deadline_us: 0}\n";
    return tn_model_change(model, keys, arena, trained, error);
}

const char *tn_model_name(const tn_model *model) {
    return model->keys.name;
}

const tn_yaml *tn_model_root(const tn_model *model) {
    return model->root;
}

const tn_yaml *tn_model_build(const tn_model *model) {
    return model->keys.build;
}

const tn_yaml *tn_model_checkpoint(const tn_model *model) {
    return model->keys.checkpoint;
}

uint64_t tn_model_sequence(const tn_model *model) {
    return model->keys.sequence;
}

const tn_yaml *tn_model_training(const tn_model *model) {
    return model->keys.training;
}

size_t tn_model_weights(const tn_model *model) {
    return model->weights;
}

tn_model_weight *tn_model_weight_at(tn_model *model, size_t position) {
    return &model->weight[position].entry;
}

tn_model_weight *tn_model_weight_find(tn_model *model, const char *name) {
    uint32_t i = tn_name_index_find(&model->weight_of, name);
    return i == TN_NAME_NONE ? NULL : &model->weight[i].entry;
}

size_t tn_model_weight_place(const tn_model *model, const tn_model_weight *weight) {
    uint32_t i = tn_name_index_find(&model->weight_of, weight->name);
    return i != TN_NAME_NONE && &model->weight[i].entry == weight ? i : model->weights;
}

size_t tn_model_layers(const tn_model *model) {
    return model->layers;
}

tn_model_layer tn_model_layer_at(const tn_model *model, size_t position) {
    const tn_layer *layer = &model->layer[position];
    const tn_model_weight *weight = layer->weight == TN_NONE ? NULL : &model->weight[layer->weight].entry;
    return (tn_model_layer){.name = layer->name,
                            .kind = layer->kind->name,
                            .rows = layer->rows,
                            .columns = layer->columns,
                            .weight = weight,
                            .bias = layer->bias,
                            .looked_up = layer->kind->family == TN_LAYER_EMBEDDING,
                            .dense = layer->rows > 0 && (tn_model_is_dense(model) || !weight ||
                                                         weight->weight.format == TN_DENSE),
                            .tokens = layer->tokens};
}

void tn_model_document(tn_buffer *out) {
    tn_model_file_document(out);
    tn_layer_kind_document(out);
}
