#include "space/space.h"

const tn_space *tn_space_variant(const tn_space *space, size_t model, size_t device) {
    return space->variant ? &space->variant[model * space->devices + device] : space;
}

const tn_space *tn_space_of_digits(const tn_space *space, const uint32_t *digit) {
    if (!space->variant) return space;
    return tn_space_variant(space,
                            space->model_choice < space->choices.count ? digit[space->model_choice] : 0,
                            space->device_choice < space->choices.count ? digit[space->device_choice] : 0);
}

static size_t digit_of(const tn_space *space, uint64_t id, size_t choice) {
    return choice < space->choices.count ? tn_choices_digit(&space->choices, id, choice) : 0;
}

size_t tn_space_device_of(const tn_space *space, uint64_t id) {
    return digit_of(space, id, space->device_choice);
}

const tn_space *tn_space_of(const tn_space *space, uint64_t id) {
    return tn_space_variant(space, digit_of(space, id, space->model_choice),
                            digit_of(space, id, space->device_choice));
}

size_t tn_space_weights(const tn_space *space) {
    const tn_space *last = tn_space_variant(space, space->models - 1, 0);
    return last->weights_before + tn_model_weights(last->model);
}

const char *tn_space_weight_name(const tn_space *space, size_t number) {
    size_t m = space->models - 1;
    while (number < tn_space_variant(space, m, 0)->weights_before) m--;
    const tn_space *variant = tn_space_variant(space, m, 0);
    return tn_model_weight_at(variant->model, number - variant->weights_before)->name;
}

static tn_status join_names(const tn_space *space, bool devices, tn_arena *arena, const char **names,
                            tn_error *error) {
    size_t count = devices ? space->devices : space->models;
    *names = "";
    for (size_t i = 0; i < count; i++) {
        const tn_space *variant = tn_space_variant(space, devices ? 0 : i, devices ? i : 0);
        TN_TRY(tn_arena_format(arena, names, error, "%s%s%s", *names, i ? ", " : "",
                               devices ? tn_device_name(variant->device) : tn_model_name(variant->model)));
    }
    return TN_OK;
}

tn_status tn_space_model_names(const tn_space *space, tn_arena *arena, const char **names, tn_error *error) {
    return join_names(space, false, arena, names, error);
}

tn_status tn_space_device_names(const tn_space *space, tn_arena *arena, const char **names, tn_error *error) {
    return join_names(space, true, arena, names, error);
}

bool tn_space_is_settled(const tn_space *space) {
    bool any = false;
    for (size_t i = 0; i < space->choices.count; i++) any |= space->choices.axis[i].settled;
    return any;
}

uint64_t tn_space_id(const tn_space *space, uint64_t outer, uint64_t inner) {
    const tn_choices *choices = &space->choices;
    uint32_t digit[TN_AXES_MOST];
    tn_digits_of(choices, space->outer, space->outers, outer, digit);
    tn_digits_of(choices, space->inner, space->inners, inner, digit);
    return tn_digits_id(choices, space->outer, space->outers, digit) +
           tn_digits_id(choices, space->inner, space->inners, digit);
}

void tn_space_split(const tn_space *space, uint64_t id, uint64_t *outer, uint64_t *inner) {
    const tn_choices *choices = &space->choices;
    uint32_t digit[TN_AXES_MOST];
    for (size_t i = 0; i < choices->count; i++) digit[i] = (uint32_t)tn_choices_digit(choices, id, i);
    *outer = choices->is_vast ? id : tn_digits_number(choices, space->outer, space->outers, digit);
    *inner = tn_digits_number(choices, space->inner, space->inners, digit);
}

void tn_space_point(const tn_space *space, const tn_evaluation *evaluation, uint64_t id, tn_point *point) {
    *point = (tn_point){.id = id};
    for (size_t i = 0; i < space->objectives; i++) {
        double value = space->objective[i]->get(evaluation);
        point->value[i] = space->objective[i]->maximise ? -value : value;
    }
}
