#include "flow/set_map.h"

#include <stddef.h>
#include <string.h>

enum { FIRST_BITS = 8 };

static tn_status widen(tn_set_map *map, tn_arena *arena, tn_error *error) {
    tn_set_map wider = {.bits = map->entry ? map->bits + 2 : FIRST_BITS, .count = map->count};
    TN_TRY(tn_arena_alloc(arena, (size_t)1 << wider.bits, sizeof *wider.entry, &wider.entry, error));
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
