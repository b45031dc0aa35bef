#include "space/settle.h"

#include "device/build.h"
#include "model/layer_weight.h"
#include "step/program_cache.h"
#include "text/schema.h"

#include <stdio.h>
#include <string.h>

/* Of every weight that lies in cores: the trees that exist at most foldings. */
static const char flows[] = "[right-to-left, bidirectional, optimal, cheapest-2, cheapest-3]";

enum { ROWS_MOST = 64, KEY_MOST = 64 };
typedef struct {
    char key[KEY_MOST]; /* "build.group", "update.when"; "flow" stands for those of all weights */
    const char *values; /* as a list of YAML */
} row;

typedef struct {
    size_t count;
    row row[ROWS_MOST];
} rows;

static void add_row(rows *all, const char *key, const char *values) {
    if (all->count == ROWS_MOST) return;
    row *next = &all->row[all->count++];
    snprintf(next->key, sizeof next->key, "%s", key);
    next->values = values;
}

/* The model's keys, those of mappings inside it too. */
static void add_model_rows(rows *all) {
    for (size_t i = 0; i < tn_model_schema.count; i++) {
        const tn_field *field = &tn_model_schema.field[i];
        for (size_t k = 0; field->type == TN_FIELD_MAPPING && k < field->sub->count; k++) {
            const tn_field *inner = &field->sub->field[k];
            char key[KEY_MOST];
            snprintf(key, sizeof key, "%s.%s", field->key, inner->key);
            if (inner->about) add_row(all, key, inner->about);
        }
    }
}

/* They, flows, and the build's. */
static rows list_rows(void) {
    rows all = {0};
    add_model_rows(&all);
    add_row(&all, "flow", flows);
    for (size_t i = 0; i < tn_build_schema.count; i++) {
        const tn_field *field = &tn_build_schema.field[i];
        char key[KEY_MOST];
        snprintf(key, sizeof key, "build.%s", field->key);
        if (tn_build_key_of(field)->settled) add_row(&all, key, tn_build_key_of(field)->settled);
    }
    return all;
}

static tn_status visit_row(const row *its, tn_settled_visit *visit, void *user) {
    char usual[KEY_MOST] = "", value[KEY_MOST];
    const char *text = its->values + 1; /* behind the bracket */
    for (size_t length; (length = strcspn(text, ",]")) > 0; text += length + strspn(text + length, ", ]")) {
        snprintf(value, sizeof value, "%.*s", (int)length, text);
        if (!*usual) memcpy(usual, value, sizeof usual);
        TN_TRY(visit(user, its->key, usual, value));
    }
    return TN_OK;
}

tn_status tn_settled_model_values(tn_settled_visit *visit, void *user) {
    rows all = {0};
    add_model_rows(&all);
    for (size_t i = 0; i < all.count; i++) TN_TRY(visit_row(&all.row[i], visit, user));
    return TN_OK;
}

tn_status tn_settled_key_values(const char *key, tn_settled_visit *visit, void *user) {
    const rows all = list_rows();
    for (size_t i = 0; i < all.count; i++)
        if (strcmp(all.row[i].key, key) == 0) return visit_row(&all.row[i], visit, user);
    return TN_OK;
}

void tn_space_settle_document(tn_buffer *out) {
    const rows all = list_rows();
    tn_buffer_text(out, "### settled keys and their values\n\n| key | values that are tried |\n|---|---|\n");
    for (size_t i = 0; i < all.count; i++) {
        const size_t length = strlen(all.row[i].values);
        tn_buffer_format(out, "| `%s%s` | %.*s |\n",
                         strcmp(all.row[i].key, "flow") == 0 ? "weights.NAME." : "", all.row[i].key,
                         (int)length - 2, all.row[i].values + 1);
    }
}

/* Whether the file says itself what the key is: among its choices, or in `set`. */
static bool is_said(const tn_space *space, const char *key) {
    const size_t length = strlen(key);
    for (size_t i = 0; i < space->choices.count; i++)
        if (strcmp(space->choices.axis[i].key, key) == 0) return true;
    for (size_t i = 0; i < space->set_count; i++)
        if (strncmp(space->set[i], key, length) == 0 && space->set[i][length] == '=') return true;
    return false;
}

/* Whether the model loads with that value of one of its keys. */
static tn_status try_value(const tn_space *space, const char *key, const char *value, bool *loads,
                           tn_error *error) {
    tn_arena arena = {0};
    tn_model *model;
    const char *set;
    tn_error why = {0};
    tn_status status = tn_arena_format(&arena, &set, &why, "%s=%s", key, value);
    if (status == TN_OK) status = tn_model_vary(tn_model_root(space->model), &set, 1, &arena, &model, &why);
    tn_arena_free(&arena);
    *loads = status == TN_OK;
    if (status == TN_OK || status == TN_INPUT) return TN_OK;
    if (error) *error = why;
    return status;
}

/* Flows that the weight has under the format and folding of the file; where these are choices, some design has them. */
static bool has_flow(const tn_space *space, size_t weight, const char *name) {
    const tn_model_weight *entry = tn_model_weight_at(space->model, weight);
    bool looked_up = false, multiplied = false;
    uint32_t flow = 0;
    while (tn_flow_names[flow] && strcmp(tn_flow_names[flow], name) != 0) flow++;
    for (size_t i = 0; i < tn_model_layers(space->model); i++) {
        const tn_model_layer layer = tn_model_layer_at(space->model, i);
        if (!layer.weight || tn_model_weight_place(space->model, layer.weight) != weight) continue;
        looked_up |= layer.looked_up;
        multiplied |= !layer.looked_up;
    }
    return (!looked_up || tn_lookup_flow_exists((tn_flow_name)flow)) &&
           (!multiplied || tn_flow_exists(&entry->weight, (tn_flow_name)flow));
}

/* The values of the row that the model can have; weight SIZE_MAX: of no weight. */
static tn_status keep_values(const tn_space *space, const char *key, size_t weight, tn_yaml *values,
                             tn_error *error) {
    size_t kept = 0;
    const bool of_build = strncmp(key, "build.", 6) == 0;
    for (size_t i = 0; i < values->count; i++) {
        bool keeps = true;
        if (weight != SIZE_MAX)
            keeps = has_flow(space, weight, values->item[i]->text);
        else if (!of_build)
            TN_TRY(try_value(space, key, values->item[i]->text, &keeps, error));
        if (keeps) values->item[kept++] = values->item[i];
    }
    values->count = kept;
    return TN_OK;
}

/* An axis behind those that the space has, where the key has values to choose from. */
static tn_status add_axis(const char *key, const char *text, size_t weight, tn_position position,
                          tn_arena *arena, tn_space *space, tn_error *error) {
    tn_yaml root = {.kind = TN_YAML_MAPPING, .position = position};
    const char *assignment, *kept;
    if (is_said(space, key)) return TN_OK;
    if (space->choices.count == TN_AXES_MOST)
        return tn_fail_at(error, TN_LIMIT, position, "over %d choices with those that are settled",
                          TN_AXES_MOST);
    TN_TRY(tn_arena_format(arena, &kept, error, "%s", key));
    TN_TRY(tn_arena_format(arena, &assignment, error, "values=%s", text));
    TN_TRY(tn_yaml_set(&root, assignment, arena, error));
    tn_yaml *values = tn_yaml_get(&root, "values");
    TN_TRY(keep_values(space, key, weight, values, error));
    if (values->count < 2) return TN_OK;
    tn_axis *axis = &space->choices.axis[space->choices.count++];
    TN_TRY(tn_axis_decode(kept, position, values, space->model, arena, axis, error));
    axis->settled = true;
    return TN_OK;
}

/* Whether a layer of its own, or the weight, has its flow among the choices of the file. */
static bool chooses_flow(const tn_space *space, size_t weight) {
    for (size_t i = 0; i < space->choices.count; i++) {
        const tn_axis *axis = &space->choices.axis[i];
        if (axis->kind != TN_AXIS_FLOW) continue;
        const size_t own = tn_model_weight_base(space->model, axis->weight);
        if (own == weight || axis->weight == weight) return true;
    }
    return false;
}

static tn_status add_flows(const char *values, tn_position position, tn_arena *arena, tn_space *space,
                           tn_error *error) {
    if (is_said(space, "flow")) return TN_OK;
    for (size_t i = 0; i < tn_model_weights(space->model); i++) {
        const tn_model_weight *entry = tn_model_weight_at(space->model, i);
        const char *key;
        if (tn_model_weight_base(space->model, i) != i || entry->weight.format == TN_DENSE) continue;
        if (chooses_flow(space, i)) continue;
        TN_TRY(tn_arena_format(arena, &key, error, "weights.%s.flow", entry->name));
        TN_TRY(add_axis(key, values, i, position, arena, space, error));
    }
    return TN_OK;
}

static tn_status add_row_axes(const row *settled, tn_position position, tn_arena *arena, tn_space *space,
                              tn_error *error) {
    if (strcmp(settled->key, "flow") == 0) return add_flows(settled->values, position, arena, space, error);
    return add_axis(settled->key, settled->values, SIZE_MAX, position, arena, space, error);
}

static tn_status add_named(const rows *all, const tn_yaml *item, tn_arena *arena, tn_space *space,
                           tn_error *error) {
    const char *key = item->kind == TN_YAML_SCALAR ? item->text : "";
    for (size_t i = 0; i < all->count; i++) {
        if (strcmp(all->row[i].key, key) != 0) continue;
        if (is_said(space, key))
            return tn_fail_at(error, TN_INPUT, item->position,
                              "%s is in the choices or in `set` of the space; settle it, or say it, not both",
                              key);
        return add_row_axes(&all->row[i], item->position, arena, space, error);
    }
    tn_buffer names = {0};
    for (size_t i = 0; i < all->count; i++) tn_buffer_format(&names, "%s%s", i ? ", " : "", all->row[i].key);
    const tn_status status =
        tn_fail_at(error, TN_INPUT, item->position,
                   "'%.60s' is no key that can be settled; those that change no value are %s", key,
                   names.status == TN_OK ? names.data : "in docs/space-file.md");
    tn_buffer_free(&names);
    return status;
}

tn_status tn_space_settle(const tn_yaml *settle, tn_arena *arena, tn_space *space, tn_error *error) {
    const rows all = list_rows();
    if (!settle) return TN_OK;
    if (settle->kind == TN_YAML_SCALAR && strcmp(settle->text, "all") == 0) {
        for (size_t i = 0; i < all.count; i++)
            TN_TRY(add_row_axes(&all.row[i], settle->position, arena, space, error));
        return TN_OK;
    }
    if (settle->kind != TN_YAML_SEQUENCE)
        return tn_fail_at(error, TN_INPUT, settle->position,
                          "settle must be all, or a list of keys, as [build.group]");
    for (size_t i = 0; i < settle->count; i++) TN_TRY(add_named(&all, settle->item[i], arena, space, error));
    return TN_OK;
}
