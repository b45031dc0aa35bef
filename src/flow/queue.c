#include "flow/queue.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

enum { FIRST_BITS = 8 };

static tn_status widen(tn_set_map *map, tn_arena *arena, tn_error *error) {
    tn_set_map wider = {.bits = map->entry ? map->bits + 2 : FIRST_BITS, .count = map->count};
    TN_TRY(TN_NEW(arena, (size_t)1 << wider.bits, &wider.entry, error));
    for (size_t slot = 0; map->entry && slot < (size_t)1 << map->bits; slot++)
        if (map->entry[slot].set) *tn_set_map_place(&wider, map->entry[slot].set) = map->entry[slot];
    *map = wider;
    return TN_OK;
}

tn_status tn_set_map_add(tn_set_map *map, uint64_t set, uint32_t number, tn_arena *arena, tn_error *error) {
    if (!map->entry || 2 * ((size_t)map->count + 1) > (size_t)1 << map->bits)
        TN_TRY(widen(map, arena, error));
    map->count++;
    *tn_set_map_place(map, set) = (tn_set_map_entry){set, number};
    return TN_OK;
}

void tn_set_map_clear(tn_set_map *map) {
    map->count = 0;
    if (map->entry) memset(map->entry, 0, sizeof *map->entry << map->bits);
}

enum { FIRST_CAPACITY = 128 };

static bool before(const tn_queued *a, const tn_queued *b) {
    if (a->key != b->key) return a->key < b->key;
    return a->second != b->second ? a->second < b->second : a->number < b->number;
}

tn_status tn_queue_push(tn_queue *queue, tn_queued item, tn_arena *arena, tn_error *error) {
    if (queue->count == queue->capacity) {
        size_t capacity = queue->capacity ? 4 * queue->capacity : FIRST_CAPACITY;
        tn_queued *wider = NULL;
        TN_TRY(TN_NEW(arena, capacity, &wider, error));
        if (queue->count) memcpy(wider, queue->item, queue->count * sizeof *wider);
        queue->item = wider;
        queue->capacity = capacity;
    }
    size_t place = queue->count++;
    while (place && before(&item, &queue->item[(place - 1) / 2])) {
        queue->item[place] = queue->item[(place - 1) / 2];
        place = (place - 1) / 2;
    }
    queue->item[place] = item;
    return TN_OK;
}

tn_queued tn_queue_pop(tn_queue *queue) {
    tn_queued *item = queue->item, top = item[0], last = item[--queue->count];
    size_t place = 0;
    for (size_t child; (child = 2 * place + 1) < queue->count; place = child) {
        if (child + 1 < queue->count && before(&item[child + 1], &item[child])) child++;
        if (!before(&item[child], &last)) break;
        item[place] = item[child];
    }
    item[place] = last;
    return top;
}
