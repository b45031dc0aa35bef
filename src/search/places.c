#include "search/places.h"

#include "device/build.h"

#include <string.h>

/* Whether the key says where memories lie, and nothing of what is done. */
static bool is_place(const tn_field *key) {
    const unsigned bears = tn_build_key_of(key)->bears_on;
    const unsigned memories = TN_BEARS_MEMORIES | TN_BEARS_CORES | TN_BEARS_ACTIVATIONS;
    const unsigned work =
        TN_BEARS_STEP | TN_BEARS_PRODUCTS | TN_BEARS_VECTORS | TN_BEARS_OFF_CHIP | TN_BEARS_KERNELS;
    return (bears & memories) && !(bears & work);
}

static bool is_key(const tn_axis *axis, const char *key) {
    return strcmp(axis->field->key, key) == 0;
}

/* What the builds ask for under one key: the values of its choice, or the one that all have. */
typedef struct {
    size_t count;
    const uint64_t *value;
} asked;

static asked values_of(const tn_space *space, const char *key, const uint64_t *base) {
    for (size_t i = 0; i < space->inners; i++) {
        const tn_axis *axis = &space->choices.axis[space->inner[i]];
        if (is_key(axis, key)) return (asked){axis->count, axis->number};
    }
    return (asked){1, base};
}

static unsigned bits_of(const tn_space *space, const char *key, uint64_t base) {
    const asked values = values_of(space, key, &base);
    unsigned bits = 0;
    for (size_t i = 0; i < values.count; i++) bits |= 1u << values.value[i];
    return bits;
}

static void list_groups(const tn_space *space, uint64_t base, tn_place_axes *axes) {
    const asked values = values_of(space, "group", &base);
    size_t groups = 0;
    for (size_t i = 0; i < values.count && groups < TN_BUILD_GROUP_MOST; i++) {
        size_t at = groups++;
        for (; at > 0 && axes->group[at - 1] > values.value[i]; at--) axes->group[at] = axes->group[at - 1];
        axes->group[at] = values.value[i];
    }
    axes->any.groups = groups;
    axes->any.group = axes->group;
}

static void list_options(const tn_space *space, const tn_build *base, tn_place_axes *axes) {
    const asked ports = values_of(space, "read_ports", &base->read_ports);
    axes->any = (tn_place_options){
        .styles = {[TN_STORE_CORES] = bits_of(space, "core_memory", base->core_memory),
                   [TN_STORE_ACTIVATIONS] = bits_of(space, "activation_memory", base->activation_memory)},
        .splits = bits_of(space, "split", base->split),
        .read_ports = ports.value[0],
        .number = TN_PLACES_ANY};
    const unsigned placements = bits_of(space, "placement", base->placement);
    axes->any.as_built = placements >> TN_PLACE_AS_BUILT & 1;
    axes->any.searched = placements >> TN_PLACE_SEARCHED & 1;
    for (size_t i = 1; i < ports.count; i++)
        if (ports.value[i] < axes->any.read_ports) axes->any.read_ports = ports.value[i];
    list_groups(space, base->group, axes);
}

static void list_kinds(const tn_space *space, tn_place_axes *axes) {
    for (uint64_t k = 0; k < axes->kind_count; k++) {
        tn_place_options *options = &axes->of_kind[k];
        uint32_t digit[TN_AXES_MOST];
        *options = axes->any;
        options->number += 1 + (uint32_t)k;
        tn_digits_of(&space->choices, axes->kind, axes->kinds, k, digit);
        for (size_t i = 0; i < axes->kinds; i++) {
            const tn_axis *axis = &space->choices.axis[axes->kind[i]];
            const uint64_t value = axis->number[digit[axes->kind[i]]];
            if (is_key(axis, "split")) options->splits = 1u << value;
            if (is_key(axis, "placement")) options->as_built = value == TN_PLACE_AS_BUILT;
            if (is_key(axis, "placement")) options->searched = value == TN_PLACE_SEARCHED;
        }
    }
}

void tn_place_axes_of(const tn_space *space, const tn_build *base, tn_place_axes *axes) {
    *axes = (tn_place_axes){.work_count = 1, .kind_count = 1, .place_count = 1};
    for (size_t i = 0; i < space->inners; i++) {
        const tn_axis *axis = &space->choices.axis[space->inner[i]];
        if (is_key(axis, "split") || is_key(axis, "placement")) {
            axes->kind[axes->kinds++] = space->inner[i];
            axes->kind_count *= axis->count;
        } else if (is_place(axis->field)) {
            axes->place[axes->places++] = space->inner[i];
            axes->place_count *= axis->count;
        } else {
            axes->work[axes->works++] = space->inner[i];
            axes->work_count *= axis->count;
        }
    }
    axes->designs = axes->place_count * axes->kind_count;
    list_options(space, base, axes);
    list_kinds(space, axes);
}

bool tn_place_repeats(const tn_space *space, const tn_build *build) {
    if (build->placement != TN_PLACE_SEARCHED) return false;
    for (size_t i = 0; i < space->constraints; i++)
        if (space->constraint[i].expression) return false; /* which may ask for values of these keys */
    for (size_t i = 0; i < space->inners; i++) {
        const tn_axis *axis = &space->choices.axis[space->inner[i]];
        const bool idle =
            is_key(axis, "core_memory") || is_key(axis, "activation_memory") || is_key(axis, "group");
        if (idle && tn_build_value(build, axis->field) != axis->number[0]) return true;
    }
    return false;
}

uint64_t tn_place_axes_inner(const tn_place_axes *axes, const tn_space *space, uint64_t work, uint64_t kind,
                             uint64_t place) {
    uint32_t digit[TN_AXES_MOST];
    tn_digits_of(&space->choices, axes->work, axes->works, work, digit);
    tn_digits_of(&space->choices, axes->kind, axes->kinds, kind, digit);
    tn_digits_of(&space->choices, axes->place, axes->places, place, digit);
    return tn_digits_number(&space->choices, space->inner, space->inners, digit);
}
