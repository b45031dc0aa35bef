#include "base/memory.h"
#include "price/bound.h"
#include "price/price_parts.h"
#include "price/recall.h"
#include "price/workload_data.h"

#include <stddef.h>
#include <stdlib.h>

typedef struct {
    tn_workload *workload;
    tn_plan *plan;
    bool every;
    tn_place_list *list;
    tn_error *error;
} lister;

/* Keys of places that a search for them does not read. */
static bool is_idle(const tn_field *key) {
    return key->offset == offsetof(tn_build, core_memory) ||
           key->offset == offsetof(tn_build, activation_memory) || key->offset == offsetof(tn_build, group);
}

static tn_status add_entry(const lister *state, const tn_build_set *set, uint64_t number) {
    enum { CORES = 1 << TN_STORE_CORES, ACTIVATIONS = 1 << TN_STORE_ACTIVATIONS };
    tn_place_list *list = state->list;
    tn_place_entry entry = {.number = number};
    if (set->build.placement == TN_PLACE_SEARCHED) {
        const tn_place_least *least;
        tn_build_set bound = *set;
        bound.build.layouts = TN_LAID_BOUND;
        TN_TRY(tn_recall_least_memories(state->workload, state->plan, &bound, &least, state->error));
        entry = (tn_place_entry){number, least->bram18, least->uram, least->lutram, 0, least->capacity_bits};
    } else {
        tn_memory_price memories = {0};
        TN_TRY(tn_recall_memories(state->workload, state->plan, &set->build, CORES, NULL, &memories,
                                  state->error));
        TN_TRY(tn_recall_memories(state->workload, state->plan, &set->build, ACTIVATIONS, NULL, &memories,
                                  state->error));
        entry = (tn_place_entry){number,           memories.bram18,
                                 memories.uram,    memories.lutram + memories.selection_lut,
                                 memories.read_ff, memories.block_bits};
    }
    TN_TRY(TN_GROW(&list->entry, &list->capacity, list->count + 1, state->error));
    list->entry[list->count++] = entry;
    return TN_OK;
}

/* The places of the set, whose keys up to the axis are fixed; idle: some that a search does not read have not their first value. */
static tn_status list_places(const lister *state, const tn_build_set *set, uint32_t axis, uint64_t number,
                             bool idle) {
    while (axis < set->axes &&
           !(set->free >> axis & 1 && tn_build_key_level(set->axis[axis].key) == TN_LEVEL_PLACE))
        axis++;
    if (axis == set->axes) {
        if (idle && !state->every && set->build.placement == TN_PLACE_SEARCHED) return TN_OK;
        return add_entry(state, set, number);
    }
    const tn_build_axis *free = &set->axis[axis];
    for (size_t v = 0; v < free->count; v++) {
        const tn_build_set fixed = tn_build_set_fixed(set, axis, v);
        TN_TRY(list_places(state, &fixed, axis + 1, number * free->count + v,
                           idle || (v > 0 && is_idle(free->key))));
    }
    return TN_OK;
}

static int by_capacity(const void *left, const void *right) {
    const tn_place_entry *a = left, *b = right;
    if (a->capacity_bits != b->capacity_bits) return a->capacity_bits < b->capacity_bits ? -1 : 1;
    return (a->number > b->number) - (a->number < b->number);
}

tn_status tn_price_set_places(tn_workload *workload, const tn_build_set *set, bool every, tn_place_list *list,
                              tn_error *error) {
    tn_build_set effective = *set;
    lister state = {.every = every, .list = list, .error = error};
    effective.build = tn_build_effective(&set->build);
    list->count = 0;
    TN_TRY(tn_workload_built(workload, &effective.build, &state.workload, error));
    TN_TRY(tn_recall_begin(state.workload, error));
    TN_TRY(tn_workload_plan(state.workload, &effective.build, &state.plan, error));
    TN_TRY(list_places(&state, &effective, 0, 0, false));
    if (list->count) qsort(list->entry, list->count, sizeof *list->entry, by_capacity);
    return TN_OK;
}
