#include "price/place_list.h"

#include "base/checked.h"
#include "price/price_parts.h"
#include "price/recall.h"
#include "price/workload_data.h"

#include <stddef.h>
#include <stdlib.h>

/* A place on the way to all its keys' values. */
typedef struct {
    tn_build_set set;
    uint64_t number;
    bool idle; /* some that a search does not read have not their first value */
} place;

typedef struct {
    tn_workload *workload;
    tn_plan *plan;
    const tn_build *routed;
    bool every;
    uint64_t copies; /* the most that are grouped (tn_map_most_copies) */
    size_t count;
    tn_place_entry *entry; /* NULL: they are counted alone */
    tn_error *error;
} lister;

/* Keys of places that a search for them does not read. */
static bool is_idle(const tn_field *key) {
    return key->offset == offsetof(tn_build, core_memory) ||
           key->offset == offsetof(tn_build, activation_memory) || key->offset == offsetof(tn_build, group);
}

static tn_status add_entry(lister *state, const place *spot) {
    const tn_place_least *least;
    if (state->entry) {
        TN_TRY(tn_recall_least_memories(state->workload, state->plan, &spot->set, state->routed, &least,
                                        state->error));
        state->entry[state->count] = (tn_place_entry){.number = spot->number,
                                                      .bram18 = least->bram18,
                                                      .uram = least->uram,
                                                      .capacity_bits = least->capacity_bits,
                                                      .lut = least->lut};
    }
    state->count++;
    return TN_OK;
}

static bool is_open(const tn_build_set *set, uint32_t axis) {
    return set->free >> axis & 1 && tn_build_key_level(set->axis[axis].key) == TN_LEVEL_PLACE;
}

/* Whether the value makes groups that one before it makes: none has more members than there are. */
static bool is_repeated(const lister *state, const tn_build_axis *axis, size_t v) {
    if (axis->key->offset != offsetof(tn_build, group) || state->every) return false;
    size_t first = 0;
    while (tn_least(axis->value[first], state->copies) != tn_least(axis->value[v], state->copies)) first++;
    return first < v;
}

/* The places of the set, whose keys up to the axis are fixed. */
static tn_status list_places(lister *state, const place *spot, uint32_t axis) {
    while (axis < spot->set.axes && !is_open(&spot->set, axis)) axis++;
    if (axis == spot->set.axes) {
        if (spot->idle && !state->every && spot->set.build.placement == TN_PLACE_SEARCHED) return TN_OK;
        return add_entry(state, spot);
    }
    const tn_build_axis *free = &spot->set.axis[axis];
    for (size_t v = 0; v < free->count; v++) {
        place next = *spot;
        if (is_repeated(state, free, v)) continue;
        next.set = tn_build_set_fixed(&spot->set, axis, v);
        next.number = spot->number * free->count + v;
        next.idle = spot->idle || (v > 0 && is_idle(free->key));
        TN_TRY(list_places(state, &next, axis + 1));
    }
    return TN_OK;
}

static int by_capacity(const void *left, const void *right) {
    const tn_place_entry *a = left, *b = right;
    if (a->capacity_bits != b->capacity_bits) return a->capacity_bits < b->capacity_bits ? -1 : 1;
    return (a->number > b->number) - (a->number < b->number);
}

tn_status tn_place_list_make(tn_workload *workload, tn_plan *plan, const tn_build_set *set,
                             const tn_build *routed, bool every, tn_place_list *list, tn_error *error) {
    const place first = {.set = *set};
    tn_place_entry *entry;
    lister state = {.workload = workload,
                    .plan = plan,
                    .routed = routed,
                    .every = every,
                    .copies = tn_map_most_copies(&plan->map),
                    .error = error};
    TN_TRY(list_places(&state, &first, 0));
    TN_TRY(TN_NEW(workload->arena, state.count, &entry, error));
    state.entry = entry;
    state.count = 0;
    TN_TRY(list_places(&state, &first, 0));
    if (state.count) qsort(entry, state.count, sizeof *entry, by_capacity);
    *list = (tn_place_list){.count = state.count, .entry = entry};
    return TN_OK;
}

tn_status tn_price_set_places(tn_workload *workload, const tn_build_set *set, bool every, tn_place_list *list,
                              tn_error *error) {
    tn_build_set effective = *set;
    uint64_t lanes_lut = 0;
    tn_plan *plan;
    effective.build = tn_build_effective(&set->build);
    const tn_build routed = tn_build_set_least(&effective);
    TN_TRY(tn_workload_built(workload, &effective.build, &workload, error));
    TN_TRY(tn_recall_begin(workload, error));
    TN_TRY(tn_workload_plan(workload, &effective.build, &plan, error));
    effective.build.layouts = TN_LAID_BOUND;
    if (plan->map.memories) TN_TRY(tn_recall_lanes_lut(workload, &routed, &lanes_lut, error));
    TN_TRY(tn_recall_places(workload, plan, &effective, &routed, every, list, error));
    list->lanes_lut = lanes_lut;
    return TN_OK;
}
