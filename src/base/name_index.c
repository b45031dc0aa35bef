#include "base/name_index.h"

#include <string.h>

tn_status tn_name_index_new(tn_name_index *index, size_t most, tn_arena *arena, tn_error *error) {
    index->slots = 2;
    while (index->slots / 2 < most) {
        if (index->slots > UINT32_MAX / 2) return tn_fail(error, TN_LIMIT, "more than 2^30 names");
        index->slots *= 2;
    }
    return tn_arena_alloc(arena, index->slots, sizeof *index->slot, &index->slot, error);
}

/* The slot of the name, or the free one where it belongs. */
static struct tn_name_slot *slot_of(const tn_name_index *index, const char *name) {
    uint64_t hash = 0xcbf29ce484222325u;
    for (const char *at = name; *at; at++) hash = (hash ^ (unsigned char)*at) * 0x100000001b3u;
    uint32_t mask = index->slots - 1, at = (uint32_t)(hash ^ hash >> 32) & mask;
    while (index->slot[at].name && strcmp(index->slot[at].name, name) != 0) at = (at + 1) & mask;
    return &index->slot[at];
}

uint32_t tn_name_index_find(const tn_name_index *index, const char *name) {
    const struct tn_name_slot *slot = slot_of(index, name);
    return slot->name ? slot->place : TN_NAME_NONE;
}

uint32_t tn_name_index_add(tn_name_index *index, const char *name, uint32_t place) {
    struct tn_name_slot *slot = slot_of(index, name);
    if (slot->name) return slot->place;
    *slot = (struct tn_name_slot){name, place};
    return TN_NAME_NONE;
}
