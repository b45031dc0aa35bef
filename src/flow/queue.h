/* A queue that gives the least first: a binary heap in an arena. Internal to the room. Equal keys come in the
 * order of their second key, then of their numbers, so that a search never depends on the heap's shape. */
#ifndef TN_FLOW_QUEUE_H
#define TN_FLOW_QUEUE_H

#include "base/error.h"
#include "base/memory.h"

#include <stddef.h>
#include <stdint.h>

/* A map from sets of tensors to numbers: open addressing in an arena. Internal to the room. */

#define TN_SET_MAP_NONE UINT32_MAX

typedef struct tn_set_map_entry {
    uint64_t set; /* 0: free */
    uint32_t number;
} tn_set_map_entry;

typedef struct tn_set_map {
    uint32_t bits, count; /* at most half of the 2^bits entries are in use */
    tn_set_map_entry *entry;
} tn_set_map;

tn_status tn_set_map_add(tn_set_map *map, uint64_t set, uint32_t number, tn_arena *arena, tn_error *error);
/* Forgets everything, keeps the memory. */
void tn_set_map_clear(tn_set_map *map);

static inline tn_set_map_entry *tn_set_map_place(const tn_set_map *map, uint64_t set) {
    uint64_t mask = ((uint64_t)1 << map->bits) - 1, slot = set * 0x9e3779b97f4a7c15u >> (64 - map->bits);
    while (map->entry[slot].set && map->entry[slot].set != set) slot = (slot + 1) & mask;
    return &map->entry[slot];
}

/* The set's number, or TN_SET_MAP_NONE. Something must have been added before. */
static inline uint32_t tn_set_map_find(const tn_set_map *map, uint64_t set) {
    const tn_set_map_entry *entry = tn_set_map_place(map, set);
    return entry->set ? entry->number : TN_SET_MAP_NONE;
}

typedef struct tn_queued {
    uint64_t key, second;
    uint32_t number;
} tn_queued;

typedef struct tn_queue {
    size_t count, capacity;
    tn_queued *item;
} tn_queue;

tn_status tn_queue_push(tn_queue *queue, tn_queued item, tn_arena *arena, tn_error *error);
/* Of a queue that is not empty. */
tn_queued tn_queue_pop(tn_queue *queue);

#endif
