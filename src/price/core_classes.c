#include "price/core_classes.h"

#include "base/checked.h"
#include "layout/layout_problem.h"
#include "price/parting.h"

#include <string.h>

static const uint32_t NONE = UINT32_MAX;

/* ---- uses of a step's cores ---- */

typedef struct {
    const tn_step *step;
    tn_core_uses *uses; /* [arrays] */
    bool *is_full;      /* [arrays]: some use had no room */
    tn_core_uses *way;  /* [arrays]: of all that the core is updated with */
} uses_of_step;

static void add_use(uses_of_step *found, uint32_t array, tn_use use) {
    tn_core_uses *its = &found->uses[array];
    if (!found->step->array[array].is_core) return;
    found->is_full[array] |= !tn_uses_add(its->use, &its->count, TN_USES_MOST, use);
}

/* Without room a way has fewer uses, whose row is no wider. */
static void add_ways(uses_of_step *found) {
    const tn_step *step = found->step;
    for (uint32_t a = 0; a < step->arrays; a++) found->way[a] = found->uses[a];
    for (uint32_t i = 0; i < step->operations; i++) {
        const tn_operation *update = &step->operation[i];
        if (!tn_operation_is_update(update)) continue;
        for (uint32_t j = 0; j < update->read_count; j++)
            for (uint32_t k = 0; k < update->read_count; k++) {
                const tn_core_uses *its = &found->uses[update->reads[k]];
                tn_core_uses *way = &found->way[update->reads[j]];
                for (uint32_t n = 0; n < its->count; n++)
                    tn_uses_add(way->use, &way->count, TN_USES_MOST, its->use[n]);
            }
    }
}

static tn_status find_uses(const tn_step *step, tn_arena *arena, uses_of_step *found, tn_error *error) {
    *found = (uses_of_step){.step = step};
    TN_TRY(TN_NEW(arena, step->arrays, &found->uses, error));
    TN_TRY(TN_NEW(arena, step->arrays, &found->is_full, error));
    TN_TRY(TN_NEW(arena, step->arrays, &found->way, error));
    for (uint32_t i = 0; i < step->operations; i++) {
        const tn_operation *operation = &step->operation[i];
        for (uint32_t j = 0; j < operation->read_count; j++)
            add_use(found, operation->reads[j], tn_use_of(operation, j));
        for (uint32_t j = 0; j < operation->write_count; j++)
            add_use(found, operation->writes[j], tn_use_of(operation, TN_OPERATION_READS));
    }
    add_ways(found);
    return TN_OK;
}

/* ---- which class ---- */

static bool same_uses(const tn_core_uses *a, const tn_core_uses *b) {
    bool same = a->count == b->count;
    for (uint32_t i = 0; same && i < a->count; i++)
        same = a->use[i].side == b->use[i].side && a->use[i].extent[0] == b->use[i].extent[0] &&
               a->use[i].extent[1] == b->use[i].extent[1];
    return same;
}

static bool same_class(const tn_core_class *a, const tn_core_class *b) {
    return a->elements == b->elements && a->word_bits == b->word_bits && a->role == b->role &&
           a->ordinal == b->ordinal && same_uses(&a->uses, &b->uses);
}

static tn_core_class class_of_array(const uses_of_step *found, uint32_t array) {
    const tn_array *core = &found->step->array[array];
    return (tn_core_class){.elements = core->elements,
                           .word_bits = tn_array_word_bits(found->step, array),
                           .role = core->role,
                           .uses = found->uses[array]};
}

static bool is_core(const tn_step *step, uint32_t array) {
    return step->array[array].is_core && step->array[array].elements > 0;
}

static uint64_t hash_of(const tn_core_class *its) {
    uint64_t hash = its->elements * 31 + its->word_bits * 7 + (uint64_t)its->role + 131 * its->ordinal;
    for (uint32_t i = 0; i < its->uses.count; i++)
        hash = hash * 1031 + (uint64_t)its->uses.use[i].side +
               5 * (its->uses.use[i].extent[0] + UINT64_C(2048) * its->uses.use[i].extent[1]);
    return hash * UINT64_C(0x9e3779b97f4a7c15) >> 20;
}

/* Where the class is kept, or belongs; its place in the list, or NONE. */
static uint32_t place_of(const tn_core_classes *classes, const tn_core_class *its, size_t *slot) {
    *slot = classes->slots ? (size_t)hash_of(its) & (classes->slots - 1) : 0;
    while (classes->slots && classes->slot[*slot]) {
        const uint32_t place = classes->slot[*slot] - 1;
        if (same_class(&classes->list[place], its)) return place;
        *slot = (*slot + 1) & (classes->slots - 1);
    }
    return NONE;
}

/* The classes of a step's arrays: `visit` with the class, all but its ordinal the array's own. */
static tn_status each_core(const uses_of_step *found, tn_arena *scratch,
                           tn_status (*visit)(void *user, uint32_t array, tn_core_class *its,
                                              tn_error *error),
                           void *user, tn_error *error) {
    const tn_step *step = found->step;
    uint32_t *first, *next; /* cores of a layer, one behind the other */
    TN_TRY(TN_NEW(scratch, step->layers, &first, error));
    TN_TRY(TN_NEW(scratch, step->arrays, &next, error));
    for (uint32_t l = 0; l < step->layers; l++) first[l] = NONE;
    for (uint32_t a = 0; a < step->arrays; a++) {
        if (!is_core(step, a)) continue;
        tn_core_class its = class_of_array(found, a);
        uint32_t before = first[step->array[a].layer];
        for (; before != NONE; before = next[before]) {
            const tn_core_class other = class_of_array(found, before);
            its.ordinal += same_class(&other, &(tn_core_class){.elements = its.elements,
                                                               .word_bits = its.word_bits,
                                                               .role = its.role,
                                                               .uses = its.uses});
        }
        next[a] = first[step->array[a].layer];
        first[step->array[a].layer] = a;
        TN_TRY(visit(user, a, &its, error));
    }
    return TN_OK;
}

/* ---- adding a step ---- */

typedef struct {
    tn_core_classes *classes;
    const tn_parting *parting;
    const uses_of_step *found;
    tn_array_rows rows;
    uint32_t *class_of; /* [arrays] */
    uint32_t *layers;   /* [classes before, and those of the step][units + 1]: of this step; grows */
    size_t layer_room;
    tn_arena *arena;
} adder;

static tn_status make_room(tn_core_classes *classes, tn_arena *arena, tn_error *error) {
    if (2 * (size_t)(classes->count + 1) > classes->slots) {
        const size_t slots = classes->slots ? 2 * classes->slots : 256;
        TN_TRY(TN_NEW(arena, slots, &classes->slot, error));
        classes->slots = slots;
        for (uint32_t i = 0; i < classes->count; i++) {
            size_t slot;
            place_of(classes, &classes->list[i], &slot);
            classes->slot[slot] = i + 1;
        }
    }
    if (classes->count == classes->room) {
        const size_t room = classes->room ? 2 * classes->room : 64;
        tn_core_class *grown;
        TN_TRY(TN_NEW(arena, room, &grown, error));
        if (classes->count) memcpy(grown, classes->list, classes->count * sizeof *grown);
        classes->list = grown;
        classes->room = room;
    }
    return TN_OK;
}

static void add_way(tn_core_class *its, const tn_core_uses *way) {
    for (uint32_t i = 0; i < its->ways; i++)
        if (same_uses(&its->way[i], way)) return;
    its->has_more_ways |= its->ways == TN_CORE_WAYS;
    if (!its->has_more_ways) its->way[its->ways++] = *way;
}

static void add_rows(const adder *state, tn_core_class *its, uint32_t array, bool is_new) {
    const tn_step *step = state->found->step;
    const uint64_t stored = tn_array_stored(&step->array[array]);
    its->stored = is_new ? stored : tn_least(its->stored, stored);
    its->is_padded = (is_new || its->is_padded) && state->rows.least[array];
    for (uint32_t log = 0; its->is_padded && log < TN_ROW_LOGS; log++) {
        const uint64_t depth = tn_array_depth(&state->rows, step, array, log);
        its->rows[log] = is_new ? depth : tn_least(its->rows[log], depth);
    }
}

static tn_status add_core(void *user, uint32_t array, tn_core_class *its, tn_error *error) {
    adder *state = user;
    tn_core_classes *classes = state->classes;
    const uint32_t units = state->parting->units,
                   unit = state->parting->unit_of_layer[state->found->step->array[array].layer];
    size_t slot;
    TN_TRY(make_room(classes, state->arena, error));
    uint32_t place = place_of(classes, its, &slot);
    const bool is_new = place == NONE;
    if (is_new) {
        place = classes->count++;
        classes->slot[slot] = place + 1;
        classes->list[place] = *its;
        classes->list[place].linked = place;
        TN_TRY(TN_NEW(state->arena, units + 1, &classes->list[place].most, error));
    }
    tn_core_class *kept = &classes->list[place];
    state->class_of[array] = place;
    kept->is_blurred |= state->found->is_full[array];
    add_way(kept, &state->found->way[array]);
    add_rows(state, kept, array, is_new);
    TN_TRY(TN_GROW(&state->layers, &state->layer_room, (size_t)classes->count * (units + 1), error));
    const uint32_t layers = ++state->layers[(size_t)place * (units + 1) + unit];
    if (layers > kept->most[unit]) {
        kept->layers += layers - kept->most[unit];
        kept->most[unit] = layers;
    }
    return TN_OK;
}

/* ---- rows of one size ---- */

uint32_t tn_core_class_linked(const tn_core_classes *classes, uint32_t core_class) {
    while (classes->list[core_class].linked != core_class) core_class = classes->list[core_class].linked;
    return core_class;
}

static void link_classes(tn_core_classes *classes, uint32_t a, uint32_t b) {
    a = tn_core_class_linked(classes, a);
    b = tn_core_class_linked(classes, b);
    const bool is_open = classes->list[a].is_open || classes->list[b].is_open;
    classes->list[a > b ? a : b].linked = a > b ? b : a;
    classes->list[a > b ? b : a].is_open = is_open;
}

/* What updates, and copies of parts, go through. */
static void link_updates(const adder *state) {
    const tn_step *step = state->found->step;
    tn_core_classes *classes = state->classes;
    for (uint32_t i = 0; i < step->operations; i++) {
        const tn_operation *operation = &step->operation[i];
        uint32_t first = NONE;
        bool others = operation->partial != NULL;
        if (!tn_operation_is_update(operation) && !operation->partial) continue;
        for (uint32_t j = 0; j < operation->read_count; j++) {
            const uint32_t its = state->class_of[operation->reads[j]];
            others |= its == NONE || classes->list[its].is_blurred;
            if (its == NONE) continue;
            if (first == NONE) first = its;
            link_classes(classes, first, its);
        }
        if (first != NONE && others) classes->list[tn_core_class_linked(classes, first)].is_open = true;
        const uint32_t written = operation->partial ? state->class_of[operation->writes[0]] : NONE;
        if (written != NONE) classes->list[tn_core_class_linked(classes, written)].is_open = true;
    }
}

tn_status tn_core_classes_add(tn_core_classes *classes, const tn_parting *parting, tn_arena *arena,
                              tn_error *error) {
    tn_arena scratch = {0};
    uses_of_step found;
    adder state = {.classes = classes, .parting = parting, .found = &found, .arena = arena};
    const uint32_t arrays = parting->workload->step->arrays;
    tn_status status = find_uses(parting->workload->step, &scratch, &found, error);
    if (status == TN_OK) status = tn_array_rows_find(parting->workload, &scratch, &state.rows, error);
    if (status == TN_OK) status = TN_NEW(&scratch, arrays, &state.class_of, error);
    for (uint32_t a = 0; status == TN_OK && a < arrays; a++) state.class_of[a] = NONE;
    if (status == TN_OK) status = each_core(&found, &scratch, add_core, &state, error);
    if (status == TN_OK) link_updates(&state);
    tn_free(state.layers);
    tn_arena_free(&scratch);
    return status;
}

typedef struct {
    const tn_core_classes *classes;
    uint32_t *class_of;
} asked;

static tn_status look_up(void *user, uint32_t array, tn_core_class *its, tn_error *error) {
    const asked *state = user;
    size_t slot;
    (void)error;
    state->class_of[array] = place_of(state->classes, its, &slot);
    return TN_OK;
}

tn_status tn_core_classes_find(const tn_core_classes *classes, const tn_parting *parting, uint32_t *class_of,
                               tn_error *error) {
    const tn_step *step = parting->workload->step;
    tn_arena scratch = {0};
    uses_of_step found;
    asked state = {classes, class_of};
    for (uint32_t a = 0; a < step->arrays; a++) class_of[a] = NONE;
    tn_status status = find_uses(step, &scratch, &found, error);
    if (status == TN_OK) status = each_core(&found, &scratch, look_up, &state, error);
    tn_arena_free(&scratch);
    return status;
}
