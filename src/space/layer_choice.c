#include "space/layer_choice.h"

#include "model/layer_weight.h"

#include <string.h>

#define INSTEAD "a sweep chooses, too; list the flows to choose from, as "
#define FLOWS   "[bidirectional, optimal, cheapest-2, cheapest-3]"

static bool offers_fastest(const tn_axis *choice) {
    for (size_t v = 0; choice->kind == TN_AXIS_FLOW && v < choice->count; v++)
        if (choice->number[v] == TN_FLOW_FASTEST) return true;
    return false;
}

static bool has_flow_choice(const tn_space *space, size_t weight) {
    size_t base = tn_model_weight_base(space->model, weight);
    for (size_t i = 0; i < space->choices.count; i++) {
        const tn_axis *choice = &space->choices.axis[i];
        if (choice->kind == TN_AXIS_FLOW && (tn_axis_varies(choice, weight) || tn_axis_varies(choice, base)))
            return true;
    }
    return false;
}

tn_status tn_space_check_flows(const tn_space *space, tn_position choices, tn_error *error) {
    for (size_t i = 0; i < space->choices.count; i++)
        if (offers_fastest(&space->choices.axis[i]))
            return tn_fail_at(error, TN_INPUT, space->choices.axis[i].position,
                              "which flow is the fastest depends on the build, which " INSTEAD FLOWS);
    for (size_t i = 0; i < tn_model_weights(space->model); i++) {
        const tn_model_weight *weight = tn_model_weight_at(space->model, i);
        if (weight->flow == TN_FLOW_FASTEST && !has_flow_choice(space, i))
            return tn_fail_at(error, TN_INPUT, choices,
                              "weight \"%.100s\" has flow fastest, which depends on the build, which " INSTEAD
                              "weights.%.100s.flow: " FLOWS,
                              weight->name, weight->name);
    }
    return TN_OK;
}

static const tn_axis_kind kind_of[TN_LAYER_WHATS] = {[TN_LAYER_RANK] = TN_AXIS_RANK,
                                                     [TN_LAYER_FOLDING] = TN_AXIS_FOLDING,
                                                     [TN_LAYER_FORMAT] = TN_AXIS_FORMAT,
                                                     [TN_LAYER_FLOW] = TN_AXIS_FLOW};

static tn_status add_axis(tn_space *space, const char *layer, tn_layer_what what, size_t weight,
                          tn_position position, const tn_yaml *values, tn_arena *arena, tn_error *error) {
    const char *key;
    if (space->choices.count == TN_AXES_MOST)
        return tn_fail_at(error, TN_LIMIT, position, "over %d choices with those of single layers; tie some",
                          TN_AXES_MOST);
    TN_TRY(tn_arena_format(arena, &key, error, "layers.%s.%s", layer, tn_layer_what_names[what]));
    tn_axis *made = &space->choices.axis[space->choices.count++];
    return tn_axis_decode_weight(key, position, values, space->model, weight, kind_of[what], arena, made,
                                 error);
}

tn_status tn_layer_choice_decode(const char *key, tn_position position, const tn_yaml *values,
                                 tn_arena *arena, tn_space *space, bool *found, tn_error *error) {
    const char *pattern;
    tn_layer_what what;
    size_t *layer, count;
    TN_TRY(tn_layer_key(key, arena, found, &pattern, &what, error));
    if (!*found) return TN_OK;
    TN_TRY(tn_layers_match(space->model, pattern, position, arena, &layer, &count, error));
    for (size_t i = 0; i < count; i++) {
        size_t weight;
        TN_TRY(tn_model_split(space->model, layer[i], arena, &weight, error));
        TN_TRY(add_axis(space, tn_model_layer_at(space->model, layer[i]).name, what, weight, position, values,
                        arena, error));
    }
    return TN_OK;
}

/* ---- tied ---- */

/* The place of the choice of one thing of a weight, or space->choices.count. */
static size_t find_choice(const tn_space *space, size_t weight, tn_axis_kind kind) {
    size_t i = 0;
    while (i < space->choices.count &&
           (space->choices.axis[i].kind != kind || !tn_axis_varies(&space->choices.axis[i], weight)))
        i++;
    return i;
}

static tn_status same_values(const tn_axis *a, const tn_axis *b, tn_position position, tn_error *error) {
    tn_buffer left = {0}, right = {0};
    bool same = a->kind == b->kind && a->count == b->count;
    for (size_t i = 0; same && i < a->count; i++) {
        left.length = right.length = 0;
        tn_axis_value(a, i, &left);
        tn_axis_value(b, i, &right);
        same = left.status == TN_OK && right.status == TN_OK && strcmp(left.data, right.data) == 0;
    }
    tn_status status = left.status != TN_OK ? left.status : right.status;
    tn_buffer_free(&left);
    tn_buffer_free(&right);
    if (status != TN_OK) return tn_fail(error, status, "no memory for the values of a choice");
    if (same) return TN_OK;
    return tn_fail_at(error, TN_INPUT, position,
                      "%.100s and %.100s can't be tied, as their values differ; list the same ones for both",
                      a->key, b->key);
}

/* Lets the first choice vary the weight of the other one, which is taken out. */
static tn_status join(tn_space *space, size_t first, size_t other, tn_arena *arena, tn_error *error) {
    tn_axis *target = &space->choices.axis[first];
    const tn_axis *source = &space->choices.axis[other];
    size_t *more, count = target->more + 1 + source->more;
    TN_TRY(TN_NEW(arena, count, &more, error));
    if (target->more) memcpy(more, target->more_weight, target->more * sizeof *more);
    more[target->more] = source->weight;
    if (source->more) memcpy(more + target->more + 1, source->more_weight, source->more * sizeof *more);
    target->more = count;
    target->more_weight = more;
    memmove(&space->choices.axis[other], &space->choices.axis[other + 1],
            (--space->choices.count - other) * sizeof *space->choices.axis);
    return TN_OK;
}

static tn_status tie_layer(const char *layer, size_t weight, tn_layer_what what, tn_position position,
                           tn_arena *arena, size_t *first, tn_space *space, tn_error *error) {
    size_t own = find_choice(space, weight, kind_of[what]);
    if (own == space->choices.count)
        return tn_fail_at(error, TN_INPUT, position,
                          "no choice varies layers.%.100s.%s; list it among the `choices`", layer,
                          tn_layer_what_names[what]);
    if (*first == SIZE_MAX) *first = own;
    if (own == *first) return TN_OK;
    TN_TRY(same_values(&space->choices.axis[*first], &space->choices.axis[own], position, error));
    if (own > *first) return join(space, *first, own, arena, error);
    TN_TRY(join(space, own, *first, arena, error));
    *first = own;
    return TN_OK;
}

static tn_status tie_list(const tn_yaml *list, tn_arena *arena, tn_space *space, tn_error *error) {
    size_t first = SIZE_MAX;
    for (size_t i = 0; i < list->count; i++) {
        const tn_yaml *item = list->item[i];
        const char *pattern;
        tn_layer_what what;
        size_t *layer, count;
        bool found = item->kind == TN_YAML_SCALAR;
        if (found) TN_TRY(tn_layer_key(item->text, arena, &found, &pattern, &what, error));
        if (!found)
            return tn_fail_at(error, TN_INPUT, item->position,
                              "a tied choice is layers.PATTERN.rank, .folding, .format or .flow");
        TN_TRY(tn_layers_match(space->model, pattern, item->position, arena, &layer, &count, error));
        for (size_t k = 0; k < count; k++) {
            const tn_model_layer model_layer = tn_model_layer_at(space->model, layer[k]);
            TN_TRY(tie_layer(model_layer.name, tn_model_weight_place(space->model, model_layer.weight), what,
                             item->position, arena, &first, space, error));
        }
    }
    return TN_OK;
}

tn_status tn_layer_choices_tie(const tn_yaml *tied, tn_arena *arena, tn_space *space, tn_error *error) {
    if (!tied) return TN_OK;
    bool lists = tied->kind == TN_YAML_SEQUENCE && tied->count > 0;
    for (size_t i = 0; lists && i < tied->count; i++) lists = tied->item[i]->kind == TN_YAML_SEQUENCE;
    if (!lists)
        return tn_fail_at(error, TN_INPUT, tied->position,
                          "tied must be a list of lists of choices, as [[layers.encoder*.query.rank, "
                          "layers.encoder*.key.rank]]");
    for (size_t i = 0; i < tied->count; i++) TN_TRY(tie_list(tied->item[i], arena, space, error));
    return TN_OK;
}

tn_status tn_layer_choices_check(const tn_space *space, tn_error *error) {
    for (size_t i = 0; i < space->choices.count; i++) {
        const tn_axis *choice = &space->choices.axis[i];
        if (!tn_axis_is_of_weight(choice)) continue;
        for (size_t k = 0; k <= choice->more; k++) {
            size_t weight = k ? choice->more_weight[k - 1] : choice->weight;
            size_t first = find_choice(space, weight, choice->kind);
            if (first < i)
                return tn_fail_at(error, TN_INPUT, choice->position,
                                  "%.100s is chosen twice, here and in line %u; let one pattern mean it",
                                  choice->key, space->choices.axis[first].position.line);
        }
    }
    return TN_OK;
}
