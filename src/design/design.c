#include "design/design.h"

#include "model/layer_weight.h"
#include "price/workload.h"
#include "step/transformation.h"

#include <inttypes.h>
#include <string.h>

/* ---- the price ---- */

static uint32_t transformations_of(const tn_design *design) {
    uint32_t all = 0;
    for (const tn_transformation *const *one = tn_transformations; *one; one++) all++;
    return all - design->left_out;
}

static tn_status make_step(const tn_design *design, tn_program_cache *cache, tn_arena *arena,
                           const tn_step **step, tn_error *error) {
    tn_step *made;
    TN_TRY(TN_NEW(arena, 1, &made, error));
    *step = made;
    return tn_step_build_part(design->model, cache, transformations_of(design), arena, made, error);
}

tn_status tn_design_price(const tn_design *design, const tn_priced *like, tn_program_cache *cache,
                          tn_arena *arena, tn_priced *priced, tn_error *error) {
    if (like && (like->design.model != design->model || like->design.left_out != design->left_out))
        like = NULL;
    *priced = (tn_priced){.design = *design, .given = like ? like->given : NULL};
    if (!like) TN_TRY(make_step(design, cache, arena, &priced->given, error));
    priced->step = priced->given;
    if (!design->device) return TN_OK;
    if (like && like->design.device == design->device) {
        priced->workload = like->workload;
    } else {
        TN_TRY(tn_workload_prepare(priced->given, design->device, arena, &priced->workload, error));
        if (like && like->workload) tn_workload_share_layouts(priced->workload, like->workload);
    }
    TN_TRY(tn_price_step(priced->workload, &design->build, &priced->price, error));
    return tn_workload_step(priced->workload, &design->build, &priced->step, error);
}

tn_status tn_design_price_alone(const tn_design *design, tn_price *price, tn_error *error) {
    tn_program_cache *cache;
    tn_arena arena = {0};
    tn_priced priced = {0};
    TN_TRY(tn_program_cache_new(&cache, error));
    tn_status status = tn_design_price(design, NULL, cache, &arena, &priced, error);
    *price = priced.price;
    tn_program_cache_free(cache);
    tn_arena_free(&arena);
    return status;
}

/* ---- changes ---- */

typedef struct key_list {
    const char **set;
    size_t count;
    tn_arena *arena;
    tn_error *error;
} key_list;

/* Flows that are not as the model's tree has them: those that were settled. */
static tn_status add_flows(key_list *list, tn_model *model) {
    tn_model *file;
    TN_TRY(tn_model_vary(tn_model_root(model), NULL, 0, list->arena, &file, list->error));
    for (size_t i = 0; i < tn_model_weights(model); i++) {
        const tn_model_weight *entry = tn_model_weight_at(model, i);
        if (entry->flow == tn_model_weight_at(file, i)->flow) continue;
        TN_TRY(tn_arena_format(list->arena, &list->set[list->count++], list->error, "%s.%s.flow=%s",
                               tn_model_weight_base(model, i) == i ? "weights" : "layers", entry->name,
                               tn_flow_names[entry->flow]));
    }
    return TN_OK;
}

static bool names_build(const char *assignment) {
    const size_t length = strcspn(assignment, ".=");
    return length == strlen("build") && strncmp(assignment, "build", length) == 0;
}

static bool is_model_key(const char *assignment) {
    return !names_build(assignment) && tn_schema_has(&tn_model_schema, assignment);
}
static bool is_device_key(const char *assignment) {
    return !tn_schema_has(&tn_model_schema, assignment);
}

/* Those that are meant, in their order. */
static tn_status choose(const char *const *set, size_t count, bool (*is_meant)(const char *assignment),
                        key_list *chosen) {
    TN_TRY(TN_NEW(chosen->arena, count, &chosen->set, chosen->error));
    for (size_t i = 0; i < count; i++)
        if (is_meant(set[i])) chosen->set[chosen->count++] = set[i];
    return TN_OK;
}

static tn_status change_build(const key_list *set, tn_build *build) {
    tn_yaml root = {.kind = TN_YAML_MAPPING};
    if (set->count == 0) return TN_OK;
    TN_TRY(tn_yaml_set(&root, "build={}", set->arena, set->error));
    for (size_t i = 0; i < tn_build_schema.count; i++) {
        const tn_field *field = &tn_build_schema.field[i];
        const uint64_t value = tn_build_value(build, field);
        const char *given;
        if (field->type == TN_FIELD_CHOICE)
            TN_TRY(tn_arena_format(set->arena, &given, set->error, "build.%s=%s", field->key,
                                   field->choices[value]));
        else
            TN_TRY(tn_arena_format(set->arena, &given, set->error, "build.%s=%" PRIu64, field->key, value));
        TN_TRY(tn_yaml_set(&root, given, set->arena, set->error));
    }
    for (size_t i = 0; i < set->count; i++) TN_TRY(tn_yaml_set(&root, set->set[i], set->arena, set->error));
    return tn_build_decode(tn_yaml_get(&root, "build"), set->arena, build, set->error);
}

/* As a sweep does (search/outer_step.c): the ranks of every weight that is not as it stands in the design. */
static tn_status trim_ranks(tn_model *stands, tn_model *model, tn_error *error) {
    for (size_t i = 0; i < tn_model_weights(model); i++) {
        tn_model_weight *entry = tn_model_weight_at(model, i);
        const tn_model_weight *base = tn_model_weight_at(model, tn_model_weight_base(model, i));
        const tn_model_weight *given = tn_model_weight_find(stands, entry->name);
        if (!given) given = tn_model_weight_find(stands, base->name);
        if (!tn_weight_equal(&given->weight, &entry->weight))
            TN_TRY(tn_weight_trim_ranks(&entry->weight, error));
    }
    return TN_OK;
}

static tn_status change_model(const tn_design *design, const key_list *set, tn_model **changed) {
    key_list all = {.arena = set->arena, .error = set->error};
    const size_t most = tn_model_weights(design->model) + set->count;
    if (set->count == 0) return TN_OK;
    TN_TRY(TN_NEW(set->arena, most, &all.set, set->error));
    TN_TRY(add_flows(&all, design->model));
    for (size_t i = 0; i < set->count; i++) all.set[all.count++] = set->set[i];
    TN_TRY(tn_model_vary(tn_model_root(design->model), all.set, all.count, set->arena, changed, set->error));
    return design->trims_ranks ? trim_ranks(design->model, *changed, set->error) : TN_OK;
}

tn_status tn_design_change(const tn_design *design, const char *const *set, size_t count, tn_arena *arena,
                           tn_design *changed, tn_error *error) {
    key_list build = {.arena = arena, .error = error}, model = build, device = build;
    tn_design made = *design;
    TN_TRY(choose(set, count, names_build, &build));
    TN_TRY(choose(set, count, is_model_key, &model));
    TN_TRY(choose(set, count, is_device_key, &device));
    TN_TRY(change_build(&build, &made.build));
    TN_TRY(change_model(design, &model, &made.model));
    if (device.count)
        TN_TRY(tn_device_change(design->device, device.set, device.count, arena, &made.device, error));
    *changed = made;
    return TN_OK;
}
