#include "flow/neighbours.h"

#include <string.h>

enum { FIRST_CAPACITY = 256 };

void tn_neighbours_clear(tn_neighbours *neighbours) {
    neighbours->count = 0;
    memset(neighbours->head, 0xff, sizeof neighbours->head); /* TN_NEIGHBOUR_NONE */
}

static tn_status widen(tn_neighbours *neighbours, tn_arena *arena, tn_error *error) {
    uint32_t capacity = neighbours->capacity ? 2 * neighbours->capacity : FIRST_CAPACITY;
    tn_neighbour *wider = NULL;
    TN_TRY(tn_arena_alloc(arena, capacity, sizeof *wider, &wider, error));
    if (neighbours->count) memcpy(wider, neighbours->item, neighbours->count * sizeof *wider);
    neighbours->item = wider;
    neighbours->capacity = capacity;
    return TN_OK;
}

tn_status tn_neighbours_add(tn_neighbours *neighbours, const tn_problem *problem, tn_neighbour item,
                            uint64_t groups, tn_arena *arena, tn_error *error) {
    for (; groups; groups &= groups - 1) {
        uint32_t group = (uint32_t)__builtin_ctzll(groups);
        uint32_t *head = &neighbours->head[group][tn_neighbours_side(problem, group, item.set)];
        if (neighbours->count == neighbours->capacity) TN_TRY(widen(neighbours, arena, error));
        item.next = *head;
        *head = neighbours->count;
        neighbours->item[neighbours->count++] = item;
    }
    return TN_OK;
}
