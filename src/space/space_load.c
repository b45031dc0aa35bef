/* Reading a space file. */
#include "base/checked.h"
#include "base/search_path.h"
#include "model/layer_weight.h"
#include "space/layer_choice.h"
#include "space/settle.h"
#include "space/space.h"
#include "text/schema.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct {
    uint32_t kind;
    const char *name, *model, *device, *error_table, *accuracy_table;
    tn_text_list set;
    const tn_yaml *choices, *tied, *settle, *objectives, *constraints;
    bool buildable;
    tn_caps caps;
    uint64_t hypervolume_samples;
    tn_position model_at, device_at, choices_at, error_table_at, accuracy_table_at;
} space_file;
static const char *const kinds[] = {"space", NULL};
static const tn_field space_fields[] = {
    TN_KEY(CHOICE, space_file, kind, "says what this file is", TN_REQUIRED, TN_ONE_OF(kinds)),
    TN_KEY(TEXT, space_file, name, "for results", TN_REQUIRED),
    TN_KEY(TEXT, space_file, model, "model: a path or a bare name; absent where it is a choice",
           TN_SEEN(space_file, model_at)),
    TN_KEY(TEXT, space_file, device,
           "device: a path or a bare name, with @VARIANT; absent where it is a choice",
           TN_SEEN(space_file, device_at)),
    TN_KEY(TEXT_LIST, space_file, set, "KEY=VALUE overrides of the model, before the choices"),
    TN_KEY(NODE, space_file, choices, "mapping from the key that varies to its values; see below",
           TN_REQUIRED, TN_SEEN(space_file, choices_at)),
    TN_KEY(NODE, space_file, tied,
           "lists of choices of layers that always have the same value, as [[layers.encoder*.query.rank, "
           "layers.encoder*.key.rank]]"),
    TN_KEY(NODE, space_file, settle,
           "keys that change no computed value and that the search settles by itself, those in `choices` and "
           "`set` apart: "
           "all, or a list of them; default none"),
    TN_KEY(MAPPING, space_file, caps, "how much of the device designs may fill", .sub = &tn_caps_schema),
    TN_KEY(NODE, space_file, constraints,
           "list of conditions beside the caps: mappings, see constraint, or expressions such as bram18 <= "
           "60 %"),
    TN_KEY(BOOL, space_file, buildable,
           "whether designs that `tenfold rtl` does not generate are left out before the front is found",
           TN_DEFAULT("false")),
    TN_KEY(NODE, space_file, objectives,
           "list of 1 to 8 quantities; default seconds_per_step, on_chip_bytes, dsp and, with an "
           "accuracy_table, what it gives, else with an error_table relative_error, else degrees_of_freedom"),
    TN_KEY(TEXT, space_file, error_table,
           "CSV of weight,rows,columns,rank,relative_error,norm that gives the quantity relative_error",
           TN_SEEN(space_file, error_table_at)),
    TN_KEY(TEXT, space_file, accuracy_table,
           "CSV, as tenfold accuracy writes it, that gives the quantity accuracy, or perplexity",
           TN_SEEN(space_file, accuracy_table_at)),
    TN_KEY(COUNT, space_file, hypervolume_samples,
           "points of the Sobol sequence that measure the hypervolume of three and more objectives",
           TN_DEFAULT("65536"), TN_WITHIN(1024, 1e8)),
};
static const tn_schema space_schema = TN_SCHEMA("space", space_file, space_fields);

/* Energy is none of them: nearly all of it is static power times latency, so it says latency once more. The
 * last is what the model can learn: its measured accuracy or error where a table has it, else degrees of freedom. */
static const char *const default_objectives[] = {"seconds_per_step", "on_chip_bytes", "dsp"};

void tn_space_document(tn_buffer *out) {
    tn_schema_document(&space_schema, out);
    tn_schema_document(&tn_constraint_schema, out);
    tn_axis_document(out);
    tn_space_settle_document(out);
}

static tn_status read_choices(const space_file *file, tn_arena *arena, tn_space *space, tn_error *error) {
    const tn_yaml *node = file->choices;
    if (node->kind != TN_YAML_MAPPING || node->count == 0)
        return tn_fail_at(error, TN_INPUT, node->position,
                          "choices must be a mapping from keys to lists of values");
    if (node->count > TN_AXES_MOST)
        return tn_fail_at(error, TN_LIMIT, node->position, "%zu choices; at most %d are handled", node->count,
                          TN_AXES_MOST);
    for (size_t i = 0; i < node->count; i++) {
        const char *key = node->key[i]->text;
        bool of_layers;
        TN_TRY(tn_layer_choice_decode(key, node->key[i]->position, node->item[i], arena, space, &of_layers,
                                      error));
        if (of_layers) continue;
        if (space->choices.count == TN_AXES_MOST)
            return tn_fail_at(error, TN_LIMIT, node->position, "over %d choices with those of single layers",
                              TN_AXES_MOST);
        TN_TRY(tn_axis_decode(key, node->key[i]->position, node->item[i], space->model, arena,
                              &space->choices.axis[space->choices.count++], error));
    }
    TN_TRY(tn_layer_choices_tie(file->tied, arena, space, error));
    TN_TRY(tn_layer_choices_check(space, error));
    TN_TRY(tn_space_settle(file->settle, arena, space, error));
    for (size_t i = 0; i < space->choices.count; i++) {
        if (space->choices.axis[i].kind == TN_AXIS_MODEL) space->model_choice = i;
        if (space->choices.axis[i].kind == TN_AXIS_DEVICE) space->device_choice = i;
    }
    return TN_OK;
}

/* When a choice takes its place among the outer ones; those of builds have none. Models and devices first, then model keys, so
 * that models are loaded seldom; settled ones of these last: what such designs have alike is found for them one after the
 * other. */
enum { OUTER_PASSES = 4, SETTLED_PASS = 3 };
static int outer_pass(const tn_axis *axis) {
    if (axis->kind == TN_AXIS_BUILD) return -1;
    if (axis->kind != TN_AXIS_MODEL_KEY) return axis->kind <= TN_AXIS_DEVICE ? 0 : 2;
    return axis->settled ? SETTLED_PASS : 1;
}

/* Outer and inner places and counts. */
static tn_status count_designs(const space_file *file, tn_space *space, tn_error *error) {
    bool inner_fits = true;
    TN_TRY(tn_choices_count(&space->choices, file->choices_at, error));
    space->outer_count = space->inner_count = space->steps_together = 1;
    space->laid_most = 10000;
    for (int pass = 0; pass < OUTER_PASSES; pass++)
        for (size_t i = 0; i < space->choices.count; i++)
            if (outer_pass(&space->choices.axis[i]) == pass) {
                space->outer[space->outers++] = i;
                if (pass == SETTLED_PASS) space->steps_together *= space->choices.axis[i].count;
                space->outer_count =
                    space->choices.is_vast ? UINT64_MAX : space->outer_count * space->choices.axis[i].count;
            }
    for (size_t i = 0; i < space->choices.count; i++)
        if (space->choices.axis[i].kind == TN_AXIS_BUILD) {
            space->inner[space->inners++] = i;
            inner_fits &= tn_mul(space->inner_count, space->choices.axis[i].count, &space->inner_count);
        }
    return inner_fits
               ? TN_OK
               : tn_fail_at(error, TN_OVERFLOW, file->choices_at, "over 2^64 builds; narrow the choices");
}

static tn_status add_objective(tn_space *space, const char *name, tn_position position, tn_error *error) {
    const tn_quantity *quantity;
    TN_TRY(tn_quantity_find(name, position, &quantity, error));
    for (size_t i = 0; i < space->objectives; i++)
        if (space->objective[i] == quantity)
            return tn_fail_at(error, TN_INPUT, position, "objective '%s' is given twice", name);
    space->objective[space->objectives++] = quantity;
    return TN_OK;
}

static tn_status read_objectives(const space_file *file, tn_space *space, tn_error *error) {
    const tn_yaml *node = file->objectives;
    if (!node) {
        for (size_t i = 0; i < sizeof default_objectives / sizeof *default_objectives; i++)
            TN_TRY(add_objective(space, default_objectives[i], (tn_position){0}, error));
        return add_objective(space,
                             file->accuracy_table ? tn_accuracy_table_quantity(&space->accuracy_table)
                             : file->error_table  ? "relative_error"
                                                  : "degrees_of_freedom",
                             (tn_position){0}, error);
    }
    if (node->kind != TN_YAML_SEQUENCE || node->count == 0 || node->count > TN_OBJECTIVES_MOST)
        return tn_fail_at(error, TN_INPUT, node->position, "objectives must be a list of 1 to %d quantities",
                          TN_OBJECTIVES_MOST);
    for (size_t i = 0; i < node->count; i++) {
        if (node->item[i]->kind != TN_YAML_SCALAR)
            return tn_fail_at(error, TN_INPUT, node->item[i]->position,
                              "an objective is the name of a quantity");
        TN_TRY(add_objective(space, node->item[i]->text, node->item[i]->position, error));
    }
    return TN_OK;
}

static tn_status decode_constraints(const space_file *file, tn_arena *arena, tn_space *space,
                                    tn_error *error) {
    const tn_yaml *node = file->constraints;
    const tn_resources has = tn_device_resources(space->device);
    TN_TRY(tn_caps_budget(&file->caps, &has, &space->budget, error));
    if (file->buildable) {
        space->constraint[0] = (tn_constraint){.name = "rtl", .least = -INFINITY};
        TN_TRY(tn_quantity_find("rtl", space->root->position, &space->constraint[0].quantity, error));
        space->constraints = 1;
    }
    if (!node) return TN_OK;
    tn_design_columns columns;
    TN_TRY(tn_design_columns_of(&space->choices, &has, arena, &columns, error));
    if (node->kind != TN_YAML_SEQUENCE)
        return tn_fail_at(error, TN_INPUT, node->position, "constraints must be a list");
    if (node->count + space->constraints > TN_CONSTRAINTS_MOST)
        return tn_fail_at(error, TN_LIMIT, node->position, "%zu constraints; at most %d are handled",
                          node->count, TN_CONSTRAINTS_MOST);
    for (size_t i = 0; i < node->count; i++)
        TN_TRY(tn_constraint_decode(node->item[i], &columns, arena, &space->constraint[space->constraints++],
                                    error));
    return TN_OK;
}

static tn_status read_constraints(const space_file *file, tn_arena *arena, tn_space *space, tn_error *error) {
    TN_TRY(decode_constraints(file, arena, space, error));
    space->within = tn_constraints_within(space->constraint, space->constraints, &space->budget);
    space->most = tn_evaluation_most(&space->budget);
    return TN_OK;
}

/* Of two keys of the model one of which is inside the other, as precision and precision.products, the one that is set last
 * would decide alone. */
static tn_status check_no_key_inside(const tn_space *space, tn_error *error) {
    for (size_t i = 0; i < space->choices.count; i++)
        for (size_t k = 0; k < space->choices.count; k++) {
            const tn_axis *outer = &space->choices.axis[i], *inner = &space->choices.axis[k];
            size_t length = strlen(outer->key);
            if (outer->kind == TN_AXIS_MODEL_KEY && inner->kind == TN_AXIS_MODEL_KEY &&
                strncmp(outer->key, inner->key, length) == 0 && inner->key[length] == '.')
                return tn_fail_at(error, TN_INPUT, inner->position,
                                  "%s is a part of the choice %s, which replaces all of it; keep one of them",
                                  inner->key, outer->key);
        }
    return TN_OK;
}

static bool has_other_bonds(const tn_space *space, size_t weight) {
    size_t base = tn_model_weight_base(space->model, weight);
    for (size_t i = 0; i < space->choices.count; i++) {
        const tn_axis *choice = &space->choices.axis[i];
        if ((choice->kind == TN_AXIS_FORMAT || choice->kind == TN_AXIS_FOLDING) &&
            (tn_axis_varies(choice, weight) || tn_axis_varies(choice, base)))
            return true;
    }
    return false;
}

/* Lists of ranks fit the weight as it is, unless its format or folding is a choice: then some may. */
static tn_status check_rank_lists(const tn_space *space, tn_error *error) {
    for (size_t i = 0; i < space->choices.count; i++) {
        const tn_axis *choice = &space->choices.axis[i];
        if (choice->kind != TN_AXIS_RANK || !choice->rank_list || has_other_bonds(space, choice->weight))
            continue;
        for (size_t v = 0; v < choice->count; v++) {
            tn_weight weight = tn_model_weight_at(space->model, choice->weight)->weight;
            if (choice->rank_list[v].count) TN_TRY(tn_axis_set_ranks(choice, v, &weight, error));
        }
    }
    return TN_OK;
}

/* Every value of a model key must give a model that loads, so that no sweep stops at one half-way; designs whose
 * counts overflow are counted as such. */
static tn_status check_model_keys(const tn_space *space, tn_error *error) {
    for (size_t i = 0; i < space->choices.count; i++) {
        const tn_axis *choice = &space->choices.axis[i];
        for (size_t v = 0; choice->kind == TN_AXIS_MODEL_KEY && v < choice->count; v++) {
            tn_arena arena = {0};
            tn_model *model;
            const char *set;
            tn_error cause = {0};
            tn_status status = tn_arena_format(&arena, &set, &cause, "%s=%s", choice->key, choice->text[v]);
            if (status == TN_OK)
                status = tn_model_vary(tn_model_root(space->model), &set, 1, &arena, &model, &cause);
            if (status == TN_OK) status = tn_model_split_like(model, space->model, &arena, &cause);
            tn_arena_free(&arena);
            if (status != TN_OK && status != TN_OVERFLOW)
                return tn_fail_at(error, status, choice->position, "with %s=%s: %s", choice->key,
                                  choice->text[v], cause.message);
        }
    }
    return TN_OK;
}

/* A model or device that is named in the space but can't be found is an error at the place that names it. */
static tn_status placed(tn_status status, tn_position position, tn_error *error) {
    if (status == TN_INPUT && error && !error->file[0]) {
        snprintf(error->file, sizeof error->file, "%s", position.file ? position.file : "");
        error->line = position.line;
        error->column = position.column;
    }
    return status;
}

/* Whether an objective or a constraint speaks of the quantity. */
static bool is_wanted(const tn_space *space, const char *quantity) {
    for (size_t i = 0; i < space->objectives; i++)
        if (strcmp(space->objective[i]->name, quantity) == 0) return true;
    for (size_t i = 0; i < space->constraints; i++) {
        const tn_constraint *constraint = &space->constraint[i];
        if (constraint->expression ? tn_expression_mentions(constraint->expression, quantity)
                                   : strcmp(constraint->quantity->name, quantity) == 0)
            return true;
    }
    return false;
}

static tn_status read_accuracy_table(const space_file *file, tn_arena *arena, tn_space *space,
                                     tn_error *error) {
    if (!file->accuracy_table) return TN_OK;
    space->accuracy_table_path = file->accuracy_table;
    return placed(tn_accuracy_table_read(file->accuracy_table, arena, &space->accuracy_table, error),
                  file->accuracy_table_at, error);
}

/* What is asked of accuracies is what the table has. */
static tn_status bind_accuracy_table(const space_file *file, tn_arena *arena, tn_space *space,
                                     tn_error *error) {
    static const char *const quantities[] = {"accuracy", "perplexity", "accuracy_interpolated",
                                             "accuracy_deviation"};
    const char *has = tn_accuracy_table_quantity(&space->accuracy_table);
    for (size_t i = 0; i < sizeof quantities / sizeof *quantities; i++) {
        if (!is_wanted(space, quantities[i])) continue;
        if (!file->accuracy_table)
            return tn_fail_at(error, TN_INPUT, file->choices_at,
                              "%s needs an accuracy_table; `tenfold accuracy SPACE --data FOLDER -o DIR` "
                              "writes one",
                              quantities[i]);
        if (i < 2 && strcmp(quantities[i], has) != 0)
            return tn_fail_at(error, TN_INPUT, file->accuracy_table_at,
                              "accuracy_table has no column %s; the quantity that it gives is %s",
                              quantities[i], has);
    }
    if (!file->accuracy_table) return TN_OK;
    return placed(tn_accuracy_table_bind(&space->accuracy_table, space->choices.axis, space->choices.count,
                                         space->model, arena, error),
                  file->accuracy_table_at, error);
}

static tn_status read_error_table(const space_file *file, tn_arena *arena, tn_space *space, tn_error *error) {
    if (!file->error_table) {
        if (is_wanted(space, "relative_error"))
            return tn_fail_at(error, TN_INPUT, file->choices_at,
                              "relative_error needs an error_table; `tenfold ranks MODEL --weights FILE -o "
                              "DIR` writes one");
        return TN_OK;
    }
    space->error_table_path = file->error_table;
    TN_TRY(placed(tn_error_table_load(file->error_table, arena, &space->error_table, error),
                  file->error_table_at, error));
    for (size_t i = 0; i < tn_model_weights(space->model); i++)
        if (tn_error_table_covers(&space->error_table, tn_model_weight_at(space->model, i)->name))
            return TN_OK;
    return tn_fail_at(error, TN_INPUT, file->error_table_at, "%s has no row for any weight of the model",
                      file->error_table);
}

/* A path is relative to the file that says it, which is the space's unless an override said it; bare names of
 * models and devices are left to the search path. */
static tn_status resolve(const char **path, tn_position position, bool may_be_bare, const tn_space *space,
                         tn_arena *arena, tn_error *error) {
    const char *name = *path, *slash = strrchr(space->path, '/');
    bool bare = may_be_bare && !strchr(name, '/') && !strstr(name, ".yaml");
    if (bare || name[0] == '/' || !slash || !position.file || strcmp(position.file, space->path) != 0)
        return TN_OK;
    return tn_arena_format(arena, path, error, "%.*s/%s", (int)(slash - space->path), space->path, name);
}

/* Models, or devices: what the key of that name says, or the values of the choice of that name. */
typedef struct {
    size_t count;
    const char **name;
    tn_position *position;
} named;

static tn_status find_named(const char *key, const char *single, tn_position single_at,
                            const space_file *file, const tn_space *space, tn_arena *arena, named *list,
                            tn_error *error) {
    const tn_yaml *choice = file->choices->kind == TN_YAML_MAPPING ? tn_yaml_get(file->choices, key) : NULL;
    if (single && choice)
        return tn_fail_at(error, TN_INPUT, choice->position,
                          "%s is a choice, and line %u names one too; leave one out", key, single_at.line);
    if (!single && !choice)
        return tn_fail_at(error, TN_INPUT, space->root->position,
                          "space needs '%s'; the key itself, or a choice of that name with several", key);
    if (choice && (choice->kind != TN_YAML_SEQUENCE || choice->count == 0))
        return tn_fail_at(error, TN_INPUT, choice->position,
                          "a choice needs the list of its values, as [a, b]");
    list->count = choice ? choice->count : 1;
    TN_TRY(TN_NEW(arena, list->count, &list->name, error));
    TN_TRY(TN_NEW(arena, list->count, &list->position, error));
    for (size_t i = 0; i < list->count; i++) {
        list->position[i] = choice ? choice->item[i]->position : single_at;
        list->name[i] = choice ? choice->item[i]->text : single;
        if (choice && choice->item[i]->kind != TN_YAML_SCALAR)
            return tn_fail_at(error, TN_INPUT, list->position[i], "a value must be one word or number");
        TN_TRY(resolve(&list->name[i], list->position[i], true, space, arena, error));
    }
    return TN_OK;
}

/* The files that a space is made of. */
typedef struct {
    space_file file;
    named model, device;
} sources;

static tn_status replace(named *list, const char *const *instead, size_t count, const char *what,
                         const tn_space *space, tn_error *error) {
    if (!instead) return TN_OK;
    if (count != list->count)
        return tn_fail_at(error, TN_INPUT, (tn_position){.file = space->path},
                          "names %zu %ss; there are files of %zu", list->count, what, count);
    for (size_t i = 0; i < count; i++) list->name[i] = instead[i];
    return TN_OK;
}

/* The files that the space names, or those given instead. */
static tn_status find_inputs(const tn_space_inputs *inputs, const tn_space *space, tn_arena *arena,
                             sources *source, tn_error *error) {
    space_file *file = &source->file;
    TN_TRY(find_named("model", file->model, file->model_at, file, space, arena, &source->model, error));
    TN_TRY(find_named("device", file->device, file->device_at, file, space, arena, &source->device, error));
    if (source->model.count > TN_VARIANTS_MOST / source->device.count)
        return tn_fail_at(error, TN_LIMIT, file->choices_at,
                          "%zu models on %zu devices; at most %d pairs are handled", source->model.count,
                          source->device.count, TN_VARIANTS_MOST);
    if (file->error_table)
        TN_TRY(resolve(&file->error_table, file->error_table_at, false, space, arena, error));
    if (file->accuracy_table)
        TN_TRY(resolve(&file->accuracy_table, file->accuracy_table_at, false, space, arena, error));
    if (!inputs) return TN_OK;
    TN_TRY(replace(&source->model, inputs->model, inputs->models, "model", space, error));
    TN_TRY(replace(&source->device, inputs->device, inputs->devices, "device", space, error));
    if (inputs->error_table) file->error_table = inputs->error_table;
    if (inputs->accuracy_table) file->accuracy_table = inputs->accuracy_table;
    return TN_OK;
}

/* A choice gives its key a value in every design: setting it too would say nothing. */
static tn_status check_no_choice(const tn_yaml *root, const tn_yaml *set, tn_error *error) {
    const tn_yaml *choices = tn_yaml_get(root, "choices");
    const size_t length = set->text ? strcspn(set->text, "=") : 0;
    for (size_t i = 0; choices && choices->kind == TN_YAML_MAPPING && i < choices->count; i++)
        if (strlen(choices->key[i]->text) == length && strncmp(choices->key[i]->text, set->text, length) == 0)
            return tn_fail_at(error, TN_INPUT, set->position,
                              "%.*s is a choice of the space; leave it out, or give that choice one value",
                              (int)length, set->text);
    return TN_OK;
}

/* A key of the space, or one of the model, which joins the overrides under `set`. */
static tn_status set_key(tn_yaml *root, const char *set, tn_arena *arena, tn_error *error) {
    const char *pattern;
    tn_layer_what what;
    bool of_layer;
    tn_yaml *all, *text, **item;
    TN_TRY(tn_layer_key(set, arena, &of_layer, &pattern, &what, error));
    if (!of_layer && (tn_schema_has(&space_schema, set) || !tn_schema_has(&tn_model_schema, set)))
        return tn_yaml_set(root, set, arena, error);
    const tn_yaml *before = tn_yaml_get(root, "set");
    size_t count = before && before->kind == TN_YAML_SEQUENCE ? before->count : 0;
    TN_TRY(TN_NEW(arena, 1, &text, error));
    TN_TRY(TN_NEW(arena, count + 1, &item, error));
    *text = (tn_yaml){.kind = TN_YAML_SCALAR, .position = {"--set", 1, 1}, .text = set, .quoted = true};
    if (count) memcpy(item, before->item, count * sizeof *item);
    item[count] = text;
    TN_TRY(tn_yaml_set(root, "set=[]", arena, error));
    all = tn_yaml_get(root, "set");
    all->item = item;
    all->count = count + 1;
    return TN_OK;
}

/* The model with the first overrides under `set`, and a build that can be read. */
static tn_status load_overridden(const tn_space *space, size_t overrides, tn_arena *arena, tn_model **model,
                                 tn_error *error) {
    tn_build build;
    TN_TRY(tn_model_load(space->model_name, space->set, overrides, arena, model, error));
    return tn_build_decode(tn_model_build(*model), arena, &build, error);
}

/* What an override does wrong is told at its place: that of the first with which there is no model. */
static tn_status load_model(tn_arena *arena, tn_space *space, tn_error *error) {
    const tn_status status = load_overridden(space, space->set_count, arena, &space->model, error);
    size_t wrong = 0;
    tn_model *ignored;
    if (status != TN_INPUT || !error || strcmp(error->file, "--set") != 0) return status;
    while (wrong + 1 < space->set_count && load_overridden(space, wrong + 1, arena, &ignored, NULL) == TN_OK)
        wrong++;
    const tn_yaml *set = tn_yaml_get(space->root, "set")->item[wrong];
    const bool of_file = strcmp(set->position.file, "--set") != 0;
    snprintf(error->file, sizeof error->file, "%s", set->position.file);
    error->line = set->position.line;
    error->column += set->position.column - 1 + (of_file && set->quoted);
    return status;
}

/* The space of one model and one device. */
static tn_status load_variant(const sources *source, size_t model, size_t device, tn_arena *arena,
                              tn_space *space, tn_error *error) {
    const space_file *file = &source->file;
    space->model_name = source->model.name[model];
    space->device_name = source->device.name[device];
    TN_TRY(placed(load_model(arena, space, error), source->model.position[model], error));
    tn_device *loaded;
    TN_TRY(placed(tn_device_load(space->device_name, NULL, 0, arena, &loaded, error),
                  source->device.position[device], error));
    space->device = loaded;
    TN_TRY(read_choices(file, arena, space, error));
    TN_TRY(count_designs(file, space, error));
    TN_TRY(read_accuracy_table(file, arena, space, error));
    TN_TRY(read_objectives(file, space, error));
    TN_TRY(read_constraints(file, arena, space, error));
    TN_TRY(check_no_key_inside(space, error));
    TN_TRY(check_rank_lists(space, error));
    TN_TRY(check_model_keys(space, error));
    TN_TRY(tn_space_check_flows(space, file->choices_at, error));
    TN_TRY(read_error_table(file, arena, space, error));
    return bind_accuracy_table(file, arena, space, error);
}

static bool is_same_axis(const tn_axis *a, const tn_axis *b, tn_buffer *value, tn_buffer *other) {
    if (strcmp(a->key, b->key) != 0 || a->count != b->count) return false;
    bool same = true;
    for (size_t i = 0; same && i < a->count; i++) {
        value->length = other->length = 0;
        tn_axis_value(a, i, value);
        tn_axis_value(b, i, other);
        same = value->status == TN_OK && other->status == TN_OK && strcmp(value->data, other->data) == 0;
    }
    return same;
}

/* Ids are those of one space only if each choice has the same values on every model. */
static tn_status check_same_choices(const tn_space *first, const tn_space *other, tn_position position,
                                    tn_error *error) {
    tn_buffer value = {0}, same = {0};
    size_t i = 0;
    while (i < first->choices.count && i < other->choices.count &&
           is_same_axis(&first->choices.axis[i], &other->choices.axis[i], &value, &same))
        i++;
    tn_status status = value.status != TN_OK ? value.status : same.status;
    tn_buffer_free(&value);
    tn_buffer_free(&same);
    if (status != TN_OK) return tn_fail(error, status, "no memory for the values of a choice");
    if (i == first->choices.count && i == other->choices.count) return TN_OK;
    return tn_fail_at(
        error, TN_INPUT, position,
        "%.100s has other choices than %.100s: %.200s; models that are choices need weights and "
        "layers of the same names and sizes where those vary",
        other->model_name, first->model_name,
        (i < first->choices.count ? first : other)->choices.axis[i].key);
}

/* What is wrong with a variant, and with which. */
static tn_status of_variant(tn_status status, const tn_space *variant, tn_error *error) {
    if (status != TN_INPUT || !error) return status;
    tn_error why = *error;
    snprintf(error->message, sizeof error->message, "with model=%.100s and device=%.100s: %.700s",
             variant->model_name, variant->device_name, why.message);
    return status;
}

static tn_status load_variants(const sources *source, tn_arena *arena, tn_space *space, tn_error *error) {
    tn_space *variant;
    TN_TRY(TN_NEW(arena, space->models * space->devices, &variant, error));
    for (size_t m = 0; m < space->models; m++)
        for (size_t d = 0; d < space->devices; d++) {
            tn_space *next = &variant[m * space->devices + d];
            *next = *space;
            TN_TRY(of_variant(load_variant(source, m, d, arena, next, error), next, error));
            TN_TRY(check_same_choices(variant, next, source->model.position[m], error));
            next->models = next->devices = 1;
            next->weights_before = 0;
            for (size_t before = 0; before < m; before++)
                next->weights_before += tn_model_weights(variant[before * space->devices].model);
        }
    size_t models = space->models, devices = space->devices;
    *space = variant[0];
    space->models = models;
    space->devices = devices;
    space->variant = variant;
    return TN_OK;
}

tn_status tn_space_load(const char *name, const char *const *set, size_t set_count,
                        const tn_space_inputs *inputs, tn_arena *arena, tn_space *space, tn_error *error) {
    *space = (tn_space){0};
    tn_yaml *root;
    sources source = {0};
    TN_TRY(tn_search_path_find("spaces", name, arena, &space->path, error));
    TN_TRY(tn_yaml_load(space->path, arena, &root, error));
    for (size_t i = 0; i < set_count; i++) TN_TRY(set_key(root, set[i], arena, error));
    TN_TRY(tn_schema_decode(&space_schema, root, arena, &source.file, error));
    for (size_t i = 0; i < source.file.set.count; i++)
        TN_TRY(check_no_choice(root, tn_yaml_get(root, "set")->item[i], error));
    space->root = root;
    TN_TRY(find_inputs(inputs, space, arena, &source, error));
    space->name = source.file.name;
    space->set = source.file.set.item;
    space->set_count = source.file.set.count;
    space->hypervolume_samples = source.file.hypervolume_samples;
    TN_TRY(TN_NEW(arena, 1, &space->choices.listed, error));
    space->choices.listed->arena = arena;
    space->models = source.model.count;
    space->devices = source.device.count;
    space->model_choice = space->device_choice = TN_AXES_MOST;
    if (space->models == 1 && space->devices == 1) return load_variant(&source, 0, 0, arena, space, error);
    return load_variants(&source, arena, space, error);
}
