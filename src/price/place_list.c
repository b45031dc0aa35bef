#include "base/checked.h"
#include "base/digest.h"
#include "base/memory.h"
#include "price/bound.h"
#include "price/price_parts.h"
#include "price/recall.h"
#include "price/routing.h"
#include "price/workload_data.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* What memories of one of the stores add where a place's keys say so. */
typedef struct tn_place_part {
    bool known;
    tn_place_entry amounts;
    tn_port_source port[TN_SIDES];
} part;

/* LUTs that route what is before the sides of kernels. */
typedef struct tn_kept_ports {
    bool known;
    tn_port_source port[TN_SIDES];
    uint64_t lut;
} kept_ports;
enum { PORTS_KEPT = 64, PORT_COUNTS = TN_SIDES * (sizeof(tn_port_source) / sizeof(uint64_t)) };

/* A place on the way to all its keys' values. */
typedef struct {
    tn_build_set set;
    uint64_t number,
        of_store[TN_STORES]; /* the last: of the values of keys that bear on that store alone, or on both */
    bool idle;               /* some that a search does not read have not their first value */
} place;

typedef struct {
    tn_workload *workload;
    tn_plan *plan;
    bool every;
    tn_build routed;
    uint64_t lanes_lut;
    uint64_t copies; /* the most that are grouped (tn_map_most_copies) */
    tn_place_list *list;
    part *part[TN_STORES];
    tn_error *error;
} lister;

/* Keys of places that a search for them does not read. */
static bool is_idle(const tn_field *key) {
    return key->offset == offsetof(tn_build, core_memory) ||
           key->offset == offsetof(tn_build, activation_memory) || key->offset == offsetof(tn_build, group);
}

static bool bears_on_store(const tn_field *key, int store) {
    const unsigned own = store == TN_STORE_CORES ? TN_BEARS_CORES : TN_BEARS_ACTIVATIONS,
                   all = TN_BEARS_CORES | TN_BEARS_ACTIVATIONS, bears = tn_build_key_of(key)->bears_on;
    return (bears & all) == 0 || bears & own;
}

static tn_status find_part(const lister *state, const place *spot, int store, const part **found) {
    part *own = &state->part[store][spot->of_store[store]];
    *found = own;
    if (own->known) return TN_OK;
    tn_memory_price memories = {0};
    TN_TRY(tn_recall_memories(state->workload, state->plan, &spot->set.build, 1u << store, NULL, &memories,
                              state->error));
    own->known = true;
    own->amounts = (tn_place_entry){.bram18 = memories.bram18,
                                    .uram = memories.uram,
                                    .lut = memories.lutram + memories.selection_lut,
                                    .ff = memories.read_ff,
                                    .capacity_bits = memories.block_bits};
    memcpy(own->port, memories.port, sizeof own->port);
    return TN_OK;
}

static tn_status add_searched(const lister *state, const place *spot, tn_place_entry *entry) {
    const tn_place_least *least;
    tn_build_set bound = spot->set;
    bound.build.layouts = TN_LAID_BOUND;
    TN_TRY(
        tn_recall_least_memories(state->workload, state->plan, &bound, &state->routed, &least, state->error));
    *entry = (tn_place_entry){
        spot->number, least->bram18, least->uram, least->lut + state->lanes_lut, 0, least->capacity_bits};
    return TN_OK;
}

/* Styles do not bear on ports, so few of them differ. */
static uint64_t recall_ports(const lister *state, const tn_port_source *port) {
    uint64_t key[PORT_COUNTS];
    memcpy(key, port, sizeof key);
    kept_ports *kept = &state->list->ports[tn_hash_place(tn_hash_counts(key, PORT_COUNTS), PORTS_KEPT)];
    if (!kept->known || memcmp(kept->port, port, sizeof kept->port) != 0) {
        kept->known = true;
        memcpy(kept->port, port, sizeof kept->port);
        kept->lut = tn_workload_ports_lut(state->workload, &state->routed, port);
    }
    return kept->lut;
}

static tn_status add_as_built(const lister *state, const place *spot, tn_place_entry *entry) {
    tn_port_source port[TN_SIDES] = {{0}};
    *entry = (tn_place_entry){.number = spot->number};
    for (int store = 0; store < TN_STORES; store++) {
        const part *own;
        TN_TRY(find_part(state, spot, store, &own));
        entry->bram18 += own->amounts.bram18;
        entry->uram += own->amounts.uram;
        entry->lut += own->amounts.lut;
        entry->ff += own->amounts.ff;
        entry->capacity_bits += own->amounts.capacity_bits;
        for (int side = 0; side < TN_SIDES; side++) tn_port_add(&port[side], &own->port[side]);
    }
    entry->lut += recall_ports(state, port);
    return TN_OK;
}

static tn_status add_entry(const lister *state, const place *spot) {
    tn_place_list *list = state->list;
    tn_place_entry entry;
    TN_TRY(
        (spot->set.build.placement == TN_PLACE_SEARCHED ? add_searched : add_as_built)(state, spot, &entry));
    TN_TRY(TN_GROW(&list->entry, &list->capacity, list->count + 1, state->error));
    list->entry[list->count++] = entry;
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
static tn_status list_places(const lister *state, const place *spot, uint32_t axis) {
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
        for (int store = 0; store < TN_STORES; store++)
            if (bears_on_store(free->key, store))
                next.of_store[store] = spot->of_store[store] * free->count + v;
        next.idle = spot->idle || (v > 0 && is_idle(free->key));
        TN_TRY(list_places(state, &next, axis + 1));
    }
    return TN_OK;
}

/* Room for what each store's memories add by the values of the keys that bear on it, behind each other. */
static tn_status begin_parts(lister *state, const tn_build_set *set) {
    size_t parts[TN_STORES] = {1, 1};
    for (uint32_t i = 0; i < set->axes; i++)
        for (int store = 0; store < TN_STORES; store++)
            if (is_open(set, i) && bears_on_store(set->axis[i].key, store))
                parts[store] *= set->axis[i].count;
    tn_place_list *list = state->list;
    const size_t all = parts[TN_STORE_CORES] + parts[TN_STORE_ACTIVATIONS];
    TN_TRY(TN_GROW(&list->part, &list->part_capacity, all, state->error));
    for (size_t i = 0; i < all; i++) list->part[i].known = false;
    if (!list->ports) TN_TRY(TN_ALLOC(PORTS_KEPT, &list->ports, state->error));
    for (size_t i = 0; i < PORTS_KEPT; i++) list->ports[i].known = false; /* of another build */
    state->part[TN_STORE_CORES] = list->part;
    state->part[TN_STORE_ACTIVATIONS] = list->part + parts[TN_STORE_CORES];
    return TN_OK;
}

void tn_place_list_free(tn_place_list *list) {
    tn_free(list->entry);
    tn_free(list->part);
    tn_free(list->ports);
    *list = (tn_place_list){0};
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
    state.routed = tn_build_set_least(&effective);
    list->count = 0;
    TN_TRY(tn_workload_built(workload, &effective.build, &state.workload, error));
    TN_TRY(tn_recall_begin(state.workload, error));
    TN_TRY(tn_workload_plan(state.workload, &effective.build, &state.plan, error));
    if (state.plan->map.memories)
        TN_TRY(tn_recall_lanes_lut(state.workload, &state.routed, &state.lanes_lut, error));
    state.copies = tn_map_most_copies(&state.plan->map);
    TN_TRY(begin_parts(&state, &effective));
    const place first = {.set = effective};
    TN_TRY(list_places(&state, &first, 0));
    if (list->count) qsort(list->entry, list->count, sizeof *list->entry, by_capacity);
    return TN_OK;
}
