/* The arrays of a checkpoint that is not there: as many, called so and of such shapes as its config.json says
 * (ranks/model_config.h) and as models of its family name them (ranks/tensor_names.h). */
#include "ranks/import.h"
#include "ranks/model_config.h"
#include "ranks/tensor_names.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

typedef struct {
    const tn_model_config *config;
    const tn_config_family *family;
    const tn_tensor_family *tensors;
    tn_arena *arena;
    tn_array_info *info;
    size_t count, most;
    tn_error *error;
} declaration;

/* Of a matrix as outputs x inputs; columns 0: of a norm, or of a bias alone. */
typedef struct {
    bool present, bias, bare; /* bare: without ".weight" behind its name */
    size_t axes;
    uint64_t shape[4];
} form;

static form matrix(uint64_t rows, uint64_t columns, bool bias) {
    return (form){true, bias, false, 2, {rows, columns}};
}

static form norm(const declaration *state, uint64_t elements) {
    return (form){true, state->family->biases, false, 1, {elements}};
}

static bool has_architecture(const declaration *state, const char *part) {
    return state->config->architecture && strstr(state->config->architecture, part);
}

/* What a model's end has: a decoder's predicts words unless the configuration is of a classifier. */
static form end_form(const declaration *state, tn_tensor_role role) {
    const uint64_t *size = state->config->size, hidden = size[TN_CONFIG_HIDDEN];
    const bool decoder = state->family->kind == TN_CONFIG_DECODER,
               classifies = has_architecture(state, "ForSequenceClassification"),
               labels = has_architecture(state, "ForTokenClassification"),
               pooled =
                   state->family->kind == TN_CONFIG_ENCODER || state->family->kind == TN_CONFIG_SMALL_ENCODER;
    switch (role) {
    case TN_TENSOR_POOLER:
        return pooled && !labels ? matrix(hidden, hidden, true) : (form){0};
    case TN_TENSOR_CLASSIFIER:
        if (decoder && !classifies) return (form){0};
        return matrix(size[TN_CONFIG_CLASSES], hidden, !decoder);
    default:
        if (classifies || state->config->tied_embeddings == TN_CONFIG_YES) return (form){0};
        return matrix(size[TN_CONFIG_VOCABULARY], hidden, false);
    }
}

/* What the array of a role is in models of this family. */
static form role_form(const declaration *state, tn_tensor_role role) {
    const tn_config_family *family = state->family;
    const uint64_t *size = state->config->size, hidden = size[TN_CONFIG_HIDDEN],
                   inner = size[TN_CONFIG_INNER], head = size[TN_CONFIG_HEAD_SIZE],
                   wide = size[TN_CONFIG_HEADS] * head, narrow = size[TN_CONFIG_KV_HEADS] * head,
                   patch = size[TN_CONFIG_PATCH], positions = size[TN_CONFIG_POSITIONS];
    const bool biases = family->biases, projected = biases || family->query_biases,
               pictures = family->kind == TN_CONFIG_PICTURES;
    switch (role) {
    case TN_TENSOR_WORDS:
        return matrix(size[TN_CONFIG_VOCABULARY], hidden, false);
    case TN_TENSOR_POSITIONS:
        return pictures ? (form){true, false, true, 3, {1, positions, hidden}}
                        : matrix(positions + family->extra_positions, hidden, false);
    case TN_TENSOR_TYPES:
        return family->kind == TN_CONFIG_ENCODER ? matrix(size[TN_CONFIG_TYPES], hidden, false) : (form){0};
    case TN_TENSOR_PATCHES:
        return (form){true, true, false, 4, {hidden, size[TN_CONFIG_COLOURS], patch, patch}};
    case TN_TENSOR_CLASS_TOKEN:
        return (form){true, false, true, 3, {1, 1, hidden}};
    case TN_TENSOR_QUERY:
        return matrix(wide, hidden, projected);
    case TN_TENSOR_KEY:
    case TN_TENSOR_VALUE:
        return matrix(narrow, hidden, projected);
    case TN_TENSOR_FUSED:
        return matrix(wide + 2 * narrow, hidden, projected);
    case TN_TENSOR_OUTPUT:
        return matrix(hidden, wide, biases);
    case TN_TENSOR_QUERY_NORM:
    case TN_TENSOR_KEY_NORM:
        return family->head_norms ? norm(state, head) : (form){0};
    case TN_TENSOR_FIRST_NORM:
    case TN_TENSOR_ATTENTION_NORM:
    case TN_TENSOR_FEED_NORM:
    case TN_TENSOR_FINAL_NORM:
        return norm(state, hidden);
    case TN_TENSOR_GATE:
    case TN_TENSOR_WIDEN:
        return matrix(inner, hidden, biases);
    case TN_TENSOR_NARROW:
        return matrix(hidden, inner, biases);
    case TN_TENSOR_ROUTER:
        return size[TN_CONFIG_EXPERTS] > 1 ? matrix(size[TN_CONFIG_EXPERTS], hidden, false) : (form){0};
    case TN_TENSOR_POOLER:
    case TN_TENSOR_CLASSIFIER:
    case TN_TENSOR_HEAD:
        return end_form(state, role);
    case TN_TENSOR_ROLES:
        break;
    }
    return (form){0};
}

enum { WAY_MOST = 128 };

/* Whether a router stands where the experts do: "mlp.experts" beside "layers.{i}.mlp.gate". */
static bool is_beside(const char *way, const char *experts) {
    const char *inside = strstr(way, "{i}.");
    return inside && strncmp(inside + 4, experts, strcspn(experts, ".")) == 0;
}

/* way = how this family's arrays of a role are named: with experts as these are. */
static void find_way(const declaration *state, tn_tensor_role role, char way[WAY_MOST]) {
    const char *ways = state->tensors->names[role], *experts = state->family->experts;
    const bool expert = strstr(ways, "{e}") && state->config->size[TN_CONFIG_EXPERTS] > 1;
    int skipped = role >= TN_TENSOR_POOLER ? state->family->head_way : 0;
    for (const char *next = ways; next; next = strchr(next, '|')) {
        next += *next == '|';
        snprintf(way, WAY_MOST, "%.*s", (int)strcspn(next, "|"), next);
        if (expert && !(experts && strstr(way, experts))) continue;
        if (role == TN_TENSOR_ROUTER && experts && !is_beside(way, experts)) continue;
        if (skipped-- == 0) return;
    }
}

/* A model's own arrays stand behind its prefix, those of its head don't. */
static bool is_inside(tn_tensor_role role, const char *way) {
    return role < TN_TENSOR_POOLER || strncmp(way, "pooler", 6) == 0;
}

static tn_status declare_array(declaration *state, const char *name, const form *shape, bool transposed,
                               const char *ending) {
    TN_TRY(TN_GROW(&state->info, &state->most, state->count + 1, state->error));
    tn_array_info *info = &state->info[state->count++];
    *info = (tn_array_info){.axes = shape->axes};
    memcpy(info->shape, shape->shape, sizeof shape->shape);
    if (transposed) {
        info->shape[0] = shape->shape[1];
        info->shape[1] = shape->shape[0];
    }
    return tn_arena_format(state->arena, &info->name, state->error, "%s%s", name, ending);
}

/* A way to name with its numbers put in, behind the family's prefix where the model has a head. */
static void write_name(const declaration *state, tn_tensor_role role, const char *way, uint64_t layer,
                       uint64_t expert, char *name, size_t size) {
    const bool headed = has_architecture(state, "For") && is_inside(role, way);
    size_t length = (size_t)snprintf(name, size, "%s", headed ? state->family->prefix : "");
    for (; *way && length + 24 < size; way++) {
        if (*way != '{') {
            name[length++] = *way;
            continue;
        }
        length += (size_t)snprintf(name + length, size - length, "%" PRIu64, way[1] == 'i' ? layer : expert);
        way += 2; /* "{i" */
    }
    name[length] = '\0';
}

static tn_status declare_role(declaration *state, tn_tensor_role role) {
    const form shape = role_form(state, role);
    if (!shape.present) return TN_OK;
    const uint64_t *size = state->config->size;
    char name[256], way[WAY_MOST];
    find_way(state, role, way);
    const bool repeated = strstr(way, "{i}"), of_expert = strstr(way, "{e}");
    const bool transposed = state->tensors->input_rows && repeated && shape.axes == 2;
    const form bias = {true, false, false, 1, {shape.shape[0]}};
    for (uint64_t layer = 0; layer < (repeated ? size[TN_CONFIG_LAYERS] : 1); layer++)
        for (uint64_t expert = 0; expert < (of_expert ? size[TN_CONFIG_EXPERTS] : 1); expert++) {
            write_name(state, role, way, layer, expert, name, sizeof name);
            TN_TRY(declare_array(state, name, &shape, transposed, shape.bare ? "" : ".weight"));
            if (shape.bias) TN_TRY(declare_array(state, name, &bias, false, ".bias"));
        }
    return TN_OK;
}

static tn_status declare_roles(declaration *state) {
    for (int role = 0; role < TN_TENSOR_ROLES; role++)
        if (state->tensors->names[role]) TN_TRY(declare_role(state, (tn_tensor_role)role));
    return TN_OK;
}

/* Layers and experts make as many arrays; a configuration is small and can ask for any number of them. */
static tn_status check_count(const declaration *state) {
    enum { ARRAYS_MOST = 1000000, ROLES_OF_LAYER = 32 };
    const uint64_t *size = state->config->size;
    if (size[TN_CONFIG_LAYERS] <= ARRAYS_MOST / ROLES_OF_LAYER / size[TN_CONFIG_EXPERTS]) return TN_OK;
    return tn_fail_at(state->error, TN_LIMIT, state->config->position,
                      "%" PRIu64 " layers of %" PRIu64 " experts are more than %d arrays",
                      size[TN_CONFIG_LAYERS], size[TN_CONFIG_EXPERTS], ARRAYS_MOST);
}

static tn_status find_tensors(declaration *state) {
    const char *name = state->family->tensors;
    for (size_t i = 0; name && i < tn_tensor_family_count; i++)
        if (strcmp(tn_tensor_families[i].name, name) == 0) {
            state->tensors = &tn_tensor_families[i];
            return TN_OK;
        }
    return tn_fail_at(
        state->error, TN_INPUT, state->config->type_position,
        "models of type '%.60s' have layers that a model file has not; `tenfold finetune` counts "
        "them",
        state->config->type);
}

static tn_status declare_config(const tn_yaml *tree, tn_arena *arena, tn_arrays **arrays, tn_error *error) {
    tn_model_config config;
    TN_TRY(tn_model_config_read(tree, &config, error));
    TN_TRY(tn_model_config_complete(&config, error));
    declaration state = {.config = &config, .family = config.family, .arena = arena, .error = error};
    TN_TRY(find_tensors(&state));
    TN_TRY(check_count(&state));
    tn_status status = declare_roles(&state);
    if (status == TN_OK) status = tn_arrays_declare(config.path, state.info, state.count, arrays, error);
    tn_free(state.info);
    return status;
}

static bool is_json(const char *path) {
    const size_t length = strlen(path);
    return length > 5 && strcmp(path + length - 5, ".json") == 0;
}

tn_status tn_import_open(const char *path, tn_import_options *options, tn_arena *arena, tn_arrays **arrays,
                         tn_error *error) {
    tn_yaml *tree;
    if (!is_json(path) || strstr(path, ".index.")) return tn_arrays_open(path, arrays, error);
    TN_TRY(tn_yaml_load(path, arena, &tree, error));
    if (tree->kind == TN_YAML_MAPPING && tn_yaml_get(tree, "weight_map"))
        return tn_arrays_open(path, arrays, error);
    options->config = path;
    return declare_config(tree, arena, arrays, error);
}
