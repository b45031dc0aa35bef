#include "search/units.h"

#include "base/checked.h"
#include "model/layer_weight.h"

static const size_t NONE = SIZE_MAX;

/* Union-find over choices: the least of a set stands for it. */
static size_t find(size_t *set, size_t i) {
    while (set[i] != i) i = set[i] = set[set[i]];
    return i;
}

static void join(size_t *set, size_t a, size_t b) {
    a = find(set, a);
    b = find(set, b);
    if (a < b)
        set[b] = a;
    else
        set[a] = b;
}

/* The choice of one thing of a weight, or of the weight that it is a copy of; NONE where there is none. */
static size_t choice_of(const tn_space *space, size_t weight, tn_axis_kind kind) {
    for (size_t i = 0; i < space->choices.count; i++)
        if (space->choices.axis[i].kind == kind && tn_axis_varies(&space->choices.axis[i], weight)) return i;
    size_t base = tn_model_weight_base(space->model, weight);
    return base == weight ? NONE : choice_of(space, base, kind);
}

/* Joins the choices that bear on one weight; the first of them, or NONE. */
static size_t join_weight(const tn_space *space, size_t weight, size_t *set) {
    static const tn_axis_kind kinds[] = {TN_AXIS_FORMAT, TN_AXIS_FOLDING, TN_AXIS_RANK, TN_AXIS_FLOW};
    size_t first = NONE;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        size_t choice = choice_of(space, weight, kinds[k]);
        if (choice == NONE) continue;
        if (first != NONE) join(set, first, choice);
        if (first == NONE || choice < first) first = choice;
    }
    return first;
}

static tn_status fill_unit(const tn_space *space, size_t *set, size_t root, tn_arena *arena, tn_unit *unit,
                           tn_error *error) {
    *unit = (tn_unit){.options = 1};
    TN_TRY(TN_NEW(arena, space->choices.count, &unit->axis, error));
    for (size_t i = 0; i < space->choices.count; i++) {
        if (!tn_axis_is_of_weight(&space->choices.axis[i]) || find(set, i) != root) continue;
        unit->axis[unit->axes++] = i;
        if (!tn_mul(unit->options, space->choices.axis[i].count, &unit->options)) unit->options = UINT64_MAX;
    }
    return TN_OK;
}

tn_status tn_units_find(const tn_space *space, tn_arena *arena, tn_units *units, tn_error *error) {
    size_t *set, *unit_of, *root;
    uint32_t layers = (uint32_t)tn_model_layers(space->model);
    *units = (tn_units){.layers = layers};
    TN_TRY(TN_NEW(arena, space->choices.count, &set, error));
    TN_TRY(TN_NEW(arena, space->choices.count, &unit_of, error));
    TN_TRY(TN_NEW(arena, layers, &root, error));
    TN_TRY(TN_NEW(arena, space->choices.count, &units->unit, error));
    TN_TRY(TN_NEW(arena, layers, &units->of_layer, error));
    for (size_t i = 0; i < space->choices.count; i++) {
        set[i] = i;
        unit_of[i] = NONE;
    }
    for (uint32_t i = 0; i < layers; i++) {
        const tn_model_layer layer = tn_model_layer_at(space->model, i);
        root[i] =
            layer.weight ? join_weight(space, tn_model_weight_place(space->model, layer.weight), set) : NONE;
    }
    for (uint32_t i = 0; i < layers; i++) {
        if (root[i] == NONE) continue;
        size_t *place = &unit_of[find(set, root[i])];
        if (*place == NONE) {
            *place = units->count;
            TN_TRY(fill_unit(space, set, find(set, root[i]), arena, &units->unit[units->count++], error));
        }
    }
    for (uint32_t i = 0; i < layers; i++)
        units->of_layer[i] = root[i] == NONE ? units->count : (uint32_t)unit_of[find(set, root[i])];
    /* Choices of weights that no layer names any more still count designs: units without layers. */
    for (size_t i = 0; i < space->choices.count; i++)
        if (tn_axis_is_of_weight(&space->choices.axis[i]) && unit_of[find(set, i)] == NONE) {
            unit_of[find(set, i)] = units->count;
            for (uint32_t k = 0; k < layers; k++) units->of_layer[k] += units->of_layer[k] == units->count;
            TN_TRY(fill_unit(space, set, find(set, i), arena, &units->unit[units->count++], error));
        }
    return TN_OK;
}
