#include "search/outer_step.h"

#include "base/checked.h"
#include "model/layer_weight.h"
#include "price/workload_data.h"
#include "step/program_cache.h"

#include <math.h>
#include <string.h>

/* Programs, and bytes of their layouts, that a thread keeps before it starts afresh: bounds its memory on long sweeps. */
enum { OUTERS_PER_CACHE = 4096, LAID_BYTES_KEPT = 64 << 20 };

/* `format: dense` takes all weights out of their cores. */
static bool is_all_dense(const tn_model *model) {
    const tn_yaml *format = tn_yaml_get(tn_model_root(model), "format");
    return format && format->kind == TN_YAML_SCALAR && strcmp(format->text, "dense") == 0;
}

static tn_status find_shares(tn_loaded_model *loaded, tn_error *error) {
    size_t weights = tn_model_weights(loaded->model);
    uint64_t *layers;
    TN_TRY(TN_NEW(&loaded->arena, weights, &layers, error));
    for (size_t i = 0; i < weights; i++)
        layers[tn_model_weight_base(loaded->model, i)] += loaded->use[i].layers;
    for (size_t i = 0; i < weights; i++)
        if (loaded->use[i].layers)
            loaded->use[i].share =
                (double)loaded->use[i].layers / (double)layers[tn_model_weight_base(loaded->model, i)];
    return TN_OK;
}

static tn_status find_uses(tn_loaded_model *loaded, tn_error *error) {
    size_t weights = tn_model_weights(loaded->model);
    TN_TRY(TN_NEW(&loaded->arena, weights, &loaded->use, error));
    bool in_cores = !is_all_dense(loaded->model);
    for (size_t i = 0; i < tn_model_layers(loaded->model); i++) {
        const tn_model_layer layer = tn_model_layer_at(loaded->model, i);
        if (!layer.weight) continue;
        tn_layer_use *use = &loaded->use[tn_model_weight_place(loaded->model, layer.weight)];
        use->layers++;
        use->looked_up |= in_cores && layer.looked_up;
        use->multiplied |= in_cores && !layer.looked_up;
    }
    return find_shares(loaded, error);
}

/* Weights are set anew for every design: what a design has no choice of is the file's, never the design's before. */
static tn_status keep_weights(tn_loaded_model *loaded, tn_error *error) {
    size_t weights = tn_model_weights(loaded->model);
    TN_TRY(TN_NEW(&loaded->arena, weights, &loaded->given, error));
    for (size_t i = 0; i < weights; i++) loaded->given[i] = *tn_model_weight_at(loaded->model, i);
    return TN_OK;
}

static tn_status load_model(const tn_space *space, const size_t *digit, tn_loaded_model *loaded,
                            tn_error *error) {
    tn_arena *arena = &loaded->arena;
    const char **set;
    size_t count = 0;
    TN_TRY(TN_NEW(arena, space->outers, &set, error));
    for (size_t i = 0; i < space->outers; i++) {
        const tn_axis *choice = &space->choices.axis[space->outer[i]];
        if (choice->kind != TN_AXIS_MODEL_KEY) continue; /* of a choice of models the variant has its own */
        TN_TRY(tn_arena_format(arena, &set[count++], error, "%s=%s", choice->key, choice->text[digit[i]]));
    }
    TN_TRY(tn_model_vary(tn_model_root(space->model), set, count, arena, &loaded->model, error));
    TN_TRY(tn_model_split_like(loaded->model, space->model, arena, error));
    TN_TRY(tn_build_decode(tn_model_build(loaded->model), arena, &loaded->base_build, error));
    TN_TRY(keep_weights(loaded, error));
    return find_uses(loaded, error);
}

/* The model of those keys: as it was loaded before, or anew in the place of the one that was loaded longest ago. */
static tn_status take_model(tn_evaluator *evaluator, const size_t *digit, uint64_t keys, tn_error *error) {
    tn_loaded_model *loaded = evaluator->loaded, *end = loaded + TN_MODELS_KEPT;
    while (loaded < end && !(loaded->filled && loaded->keys == keys)) loaded++;
    if (loaded == end) {
        loaded = &evaluator->loaded[evaluator->next_loaded++ % TN_MODELS_KEPT];
        loaded->filled = false;
        tn_arena_reset(&loaded->arena);
        TN_TRY(load_model(evaluator->space, digit, loaded, error));
        loaded->keys = keys;
        loaded->filled = true;
    }
    evaluator->model = loaded->model;
    evaluator->base_build = loaded->base_build;
    evaluator->use = loaded->use;
    evaluator->given = loaded->given;
    return TN_OK;
}

/* What the choices say of one weight: places of their values, SIZE_MAX where there is no such choice. */
typedef struct {
    const tn_axis *format, *folding, *rank, *flow;
    size_t format_digit, folding_digit, rank_digit, flow_digit;
} weight_choices;

/* `base`: choices of the weight that a layer's own one is a copy of stand where the layer has none itself. */
static void find_choices(const tn_space *space, size_t weight, bool base, const size_t *digit,
                         weight_choices *choices) {
    for (size_t i = 0; i < space->outers; i++) {
        const tn_axis *choice = &space->choices.axis[space->outer[i]];
        if (!tn_axis_varies(choice, weight)) continue;
        if (choice->kind == TN_AXIS_FORMAT && !(base && choices->format))
            choices->format = choice, choices->format_digit = digit[i];
        if (choice->kind == TN_AXIS_FOLDING && !(base && choices->folding))
            choices->folding = choice, choices->folding_digit = digit[i];
        if (choice->kind == TN_AXIS_RANK && !(base && choices->rank))
            choices->rank = choice, choices->rank_digit = digit[i];
        if (choice->kind == TN_AXIS_FLOW && !(base && choices->flow))
            choices->flow = choice, choices->flow_digit = digit[i];
    }
}

static weight_choices choices_of(const tn_space *space, size_t weight, const size_t *digit) {
    weight_choices choices = {0};
    size_t base = tn_model_weight_base(space->model, weight);
    find_choices(space, weight, false, digit, &choices);
    if (base != weight) find_choices(space, base, true, digit, &choices);
    return choices;
}

/* The weight as the model file has it, with the choices applied: format, then folding, then rank (a new
 * format or folding has other bonds, so the rank is spread anew: the chosen one, else the greatest of the
 * file), then flow. Ranks above what the modes can fill are trimmed: they would take memory and express nothing
 * more. */
static tn_status set_weight(tn_evaluator *evaluator, size_t position, const size_t *digit, tn_error *error) {
    const tn_space *space = evaluator->space;
    weight_choices choices = choices_of(space, position, digit);
    tn_model_weight *entry = tn_model_weight_at(evaluator->model, position);
    *entry = evaluator->given[position];
    tn_weight *weight = &entry->weight;
    if (choices.format || choices.folding) {
        const tn_folding_pair *pair =
            choices.folding ? &choices.folding->folding[choices.folding_digit] : NULL;
        tn_weight_reshape(
            weight, choices.format ? (tn_format)choices.format->number[choices.format_digit] : weight->format,
            pair ? pair->m.d : weight->d, pair ? pair->m.factor : weight->m,
            pair ? pair->n.factor : weight->n);
    }
    uint64_t given = tn_weight_greatest_rank(&tn_model_weight_at(space->model, position)->weight);
    if (choices.format || choices.folding || choices.rank) {
        if (choices.rank && choices.rank->text && choices.rank->text[choices.rank_digit])
            TN_TRY(tn_axis_set_ranks(choices.rank, choices.rank_digit, weight, error));
        else
            TN_TRY(tn_weight_set_rank(weight, choices.rank ? choices.rank->number[choices.rank_digit] : given,
                                      error));
        TN_TRY(tn_weight_trim_ranks(weight, error));
    }
    evaluator->use[position].rank = choices.rank ? choices.rank->number[choices.rank_digit] : given;
    if (choices.flow) entry->flow = (tn_flow_name)choices.flow->number[choices.flow_digit];
    return TN_OK;
}

static bool is_copy(const tn_evaluator *evaluator, size_t weight) {
    return tn_model_weight_base(evaluator->model, weight) != weight;
}

/* The root of the summed squared errors over the root of the summed squared norms, of the weights that the table
 * speaks of; the rows of the table are over all layers of a weight together (docs/ranks.md). */
static tn_status error_of_weights(tn_evaluator *evaluator, tn_error *error) {
    const tn_error_table *table = &evaluator->space->error_table;
    double squares = 0, norms = 0;
    evaluator->error = NAN;
    for (size_t i = 0; table->count && i < tn_model_weights(evaluator->model); i++) {
        const tn_model_weight *entry = tn_model_weight_at(evaluator->model, i);
        const tn_error_row *row;
        const char *name = entry->name;
        if (evaluator->use[i].layers == 0) continue;
        if (!tn_error_table_covers(table, name))
            name = tn_model_weight_at(evaluator->model, tn_model_weight_base(evaluator->model, i))->name;
        if (!tn_error_table_covers(table, name)) continue;
        TN_TRY(tn_error_table_find(table, name, &entry->weight, evaluator->use[i].rank, &row, error));
        double norm = row->norm * row->norm *
                      (name == entry->name && is_copy(evaluator, i) ? 1 : evaluator->use[i].share);
        squares += row->relative_error * row->relative_error * norm;
        norms += norm;
    }
    if (table->count) evaluator->error = norms > 0 ? sqrt(squares / norms) : 0;
    return TN_OK;
}

static void accuracy_of_choices(tn_evaluator *evaluator, const size_t *outer_digit) {
    const tn_space *space = evaluator->space;
    size_t digit[TN_AXES_MOST] = {0};
    for (size_t i = 0; i < space->outers; i++) digit[space->outer[i]] = outer_digit[i];
    tn_accuracy_value value[TN_ACCURACY_CHOICES_MOST];
    evaluator->accuracy = (tn_accuracy_estimate){NAN, NAN, NAN, NAN, NAN};
    evaluator->accuracy_basis = TN_ACCURACY_UNKNOWN;
    if (space->accuracy_table.rows == 0) return;
    tn_accuracy_table_values(&space->accuracy_table, digit, value);
    const tn_accuracy_table *table = &space->accuracy_table;
    evaluator->has_perplexity = table->answers > 0;
    evaluator->accuracy = tn_accuracy_table_told_estimate(
        table, tn_accuracy_table_at(table, value, table->model.passes, &evaluator->accuracy_basis));
    /* To digits that other machines find, too, whatever their BLAS adds up first. */
    evaluator->accuracy.mean = round(1e6 * evaluator->accuracy.mean) / 1e6;
    evaluator->accuracy.deviation = round(1e6 * evaluator->accuracy.deviation) / 1e6;
}

/* The step that stands goes with its layouts. */
static tn_status renew_layouts(tn_evaluator *evaluator, tn_error *error) {
    tn_arena_reset(&evaluator->laid_arena);
    return tn_laid_programs_begin(&evaluator->laid, &evaluator->laid_arena, error);
}

static tn_status renew_cache(tn_evaluator *evaluator, tn_error *error) {
    if (evaluator->cache && tn_arena_bytes(&evaluator->laid_arena) > LAID_BYTES_KEPT)
        TN_TRY(renew_layouts(evaluator, error));
    if (evaluator->cache && evaluator->cached_outers++ < OUTERS_PER_CACHE) return TN_OK;
    tn_program_cache_free(evaluator->cache);
    evaluator->cache = NULL;
    evaluator->cached_outers = 0;
    TN_TRY(renew_layouts(evaluator, error));
    return tn_program_cache_new(&evaluator->cache, error);
}

tn_status tn_evaluator_as_cause(tn_evaluator *evaluator, tn_status status, tn_cause *cause, tn_error *error) {
    switch (status) {
    case TN_OK:
        return TN_OK;
    case TN_LIMIT:
        *cause = TN_CAUSE_LIMIT;
        return TN_OK;
    case TN_OVERFLOW:
        *cause = TN_CAUSE_OVERFLOW;
        return TN_OK;
    case TN_INPUT:
        evaluator->undefined = (tn_undefined_flow){.weight = TN_UNDEFINED_KEYS};
        *cause = TN_CAUSE_UNDEFINED;
        return TN_OK;
    default:
        if (error) *error = evaluator->why;
        return status;
    }
}

/* Whether a choice sets the weight's format, folding, rank or flow; *any: that of some weight. */
static bool is_varied(const tn_space *space, const char *name, bool *any) {
    bool found = *any = false;
    const tn_model_weight *entry = tn_model_weight_find(space->model, name);
    size_t weight = entry ? tn_model_weight_place(space->model, entry) : SIZE_MAX;
    for (size_t i = 0; i < space->outers; i++) {
        const tn_axis *choice = &space->choices.axis[space->outer[i]];
        if (!tn_axis_is_of_weight(choice)) continue;
        *any = true;
        found |= entry && (tn_axis_varies(choice, weight) ||
                           tn_axis_varies(choice, tn_model_weight_base(space->model, weight)));
    }
    return found;
}

/* Over the layers, since each trains a copy of its own. Where the choices vary no weight, all named ones
 * count. */
tn_status tn_varied_degrees_of_freedom(const tn_space *space, const tn_step *step,
                                       uint64_t *degrees_of_freedom, tn_error *error) {
    *degrees_of_freedom = 0;
    for (uint32_t i = 0; i < step->layers; i++) {
        const tn_step_layer *layer = &step->layer[i];
        uint64_t degrees;
        bool any;
        if (!layer->weight_name || (!is_varied(space, layer->weight_name, &any) && any)) continue;
        TN_TRY(tn_weight_degrees_of_freedom(layer->weight, &degrees, error));
        if (!tn_add(*degrees_of_freedom, degrees, degrees_of_freedom))
            return tn_fail(error, TN_OVERFLOW, "the model has more than 2^64 degrees of freedom");
    }
    return TN_OK;
}

static bool has_flow(const tn_model_weight *entry, const tn_layer_use *use) {
    if (entry->weight.format == TN_DENSE) return true;
    return (!use->multiplied || tn_flow_exists(&entry->weight, entry->flow)) &&
           (!use->looked_up || tn_lookup_flow_exists(entry->flow));
}

/* True if some weight's format does not have its flow. */
static bool is_undefined(tn_evaluator *evaluator) {
    for (size_t i = 0; i < tn_model_weights(evaluator->model); i++) {
        const tn_model_weight *entry = tn_model_weight_at(evaluator->model, i);
        if (has_flow(entry, &evaluator->use[i])) continue;
        evaluator->undefined = (tn_undefined_flow){(uint32_t)(evaluator->space->weights_before + i),
                                                   entry->weight.format, entry->weight.d, entry->flow};
        return true;
    }
    return false;
}

/* A numbered point that the front of the layer's training flows does not reach. */
static bool is_past_front(tn_evaluator *evaluator, const tn_model_layer *layer) {
    if (!layer->weight || layer->looked_up || layer->weight->flow < TN_FLOW_TRAINING_FRONT_2 ||
        !tn_flow_is_training(layer->weight->flow))
        return false;
    for (int first = 0; first < 2; first++) {
        const tn_program_options options = {.training = true, .no_input_gradient = first};
        const tn_program *program;
        if (tn_program_cache_get(evaluator->cache, &layer->weight->weight, layer->tokens, layer->weight->flow,
                                 &options, &program, NULL) == TN_INPUT)
            return true;
    }
    return false;
}

/* Whether a step could not be made for want of a point on a front: only its search tells how many there are. */
static bool lacks_point(tn_evaluator *evaluator) {
    for (size_t i = 0; i < tn_model_layers(evaluator->model); i++) {
        const tn_model_layer layer = tn_model_layer_at(evaluator->model, i);
        if (!is_past_front(evaluator, &layer)) continue;
        evaluator->undefined =
            (tn_undefined_flow){(uint32_t)(evaluator->space->weights_before +
                                           tn_model_weight_place(evaluator->model, layer.weight)),
                                layer.weight->weight.format, layer.weight->weight.d, layer.weight->flow};
        return true;
    }
    return false;
}

static tn_status set_weights(tn_evaluator *evaluator, const size_t *digit, tn_error *error) {
    for (size_t i = 0; i < tn_model_weights(evaluator->model); i++)
        TN_TRY(set_weight(evaluator, i, digit, error));
    return TN_OK;
}

static tn_status build_step(tn_evaluator *evaluator, tn_error *error) {
    TN_TRY(
        tn_step_build(evaluator->model, evaluator->cache, &evaluator->step_arena, &evaluator->step, error));
    TN_TRY(tn_varied_degrees_of_freedom(evaluator->space, &evaluator->step, &evaluator->degrees_of_freedom,
                                        error));
    TN_TRY(tn_workload_prepare(&evaluator->step, evaluator->space->device, &evaluator->step_arena,
                               &evaluator->workload, error));
    evaluator->workload->laid_programs = &evaluator->laid;
    evaluator->workload->within = evaluator->space->within;
    return TN_OK;
}

static tn_status make_step(tn_evaluator *evaluator, const size_t *digit, tn_cause *cause, tn_error *error) {
    TN_TRY(tn_evaluator_as_cause(evaluator, set_weights(evaluator, digit, &evaluator->why), cause, error));
    if (*cause != TN_CAUSE_NONE) return TN_OK;
    if (is_undefined(evaluator)) {
        *cause = TN_CAUSE_UNDEFINED;
        return TN_OK;
    }
    TN_TRY(error_of_weights(evaluator, error));
    accuracy_of_choices(evaluator, digit);
    tn_status status = build_step(evaluator, &evaluator->why);
    if (status == TN_INPUT && lacks_point(evaluator)) {
        *cause = TN_CAUSE_UNDEFINED;
        return TN_OK;
    }
    return tn_evaluator_as_cause(evaluator, status, cause, error);
}

/* The model and the device of the digits. */
static void take_variant(tn_evaluator *evaluator, const size_t *digit) {
    size_t model = 0, device = 0;
    for (size_t i = 0; i < evaluator->whole->outers; i++) {
        if (evaluator->whole->outer[i] == evaluator->whole->model_choice) model = digit[i];
        if (evaluator->whole->outer[i] == evaluator->whole->device_choice) device = digit[i];
    }
    evaluator->space = tn_space_variant(evaluator->whole, model, device);
}

uint64_t tn_outer_keys(const tn_space *space, const size_t *digit) {
    uint64_t keys = 0;
    for (size_t i = 0; i < space->outers; i++)
        if (space->choices.axis[space->outer[i]].kind <= TN_AXIS_MODEL_KEY)
            keys = keys * space->choices.axis[space->outer[i]].count + digit[i];
    return keys;
}

void tn_outer_digits(const tn_space *space, uint64_t outer, size_t *digit) {
    uint32_t of_choice[TN_AXES_MOST];
    if (!space->choices.is_vast) tn_digits_of(&space->choices, space->outer, space->outers, outer, of_choice);
    for (size_t i = 0; i < space->outers; i++)
        digit[i] = space->choices.is_vast ? tn_choices_digit(&space->choices, outer, space->outer[i])
                                          : of_choice[space->outer[i]];
}

tn_status tn_evaluator_load_digits(tn_evaluator *evaluator, const size_t *digit, tn_error *error) {
    const tn_space *space = evaluator->space;
    const uint64_t keys = tn_outer_keys(space, digit);
    take_variant(evaluator, digit);
    evaluator->has_outer = evaluator->has_digits = false;
    evaluator->outer_cause = TN_CAUSE_NONE;
    TN_TRY(tn_evaluator_as_cause(evaluator, take_model(evaluator, digit, keys, &evaluator->why),
                                 &evaluator->outer_cause, error));
    TN_TRY(renew_cache(evaluator, error));
    tn_arena_reset(&evaluator->step_arena);
    if (evaluator->outer_cause == TN_CAUSE_NONE)
        TN_TRY(make_step(evaluator, digit, &evaluator->outer_cause, error));
    memcpy(evaluator->digit, digit, space->outers * sizeof *digit);
    return TN_OK;
}

tn_status tn_evaluator_load_outer(tn_evaluator *evaluator, uint64_t outer, tn_error *error) {
    size_t digit[TN_AXES_MOST];
    tn_outer_digits(evaluator->space, outer, digit);
    TN_TRY(tn_evaluator_load_digits(evaluator, digit, error));
    evaluator->outer = outer;
    evaluator->has_outer = evaluator->has_digits = true;
    return TN_OK;
}
