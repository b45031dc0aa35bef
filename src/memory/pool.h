/* Memories shared by arrays that do not live at once.
 *
 * Arrays are dealt to slots, largest first, each to the first slot whose arrays' lifetimes do not meet its
 * own (lifetimes are closed intervals of operations); a slot is as large as its first array. Slots that an
 * operation reads at once are put into different memories (a greedy colouring of the conflicts); the slots of
 * a memory lie one behind the other. So every memory needs one read port and one write port, and none of its
 * words is wanted by two arrays at a time.
 */
#ifndef TN_MEMORY_POOL_H
#define TN_MEMORY_POOL_H

#include "base/error.h"
#include "base/memory.h"
#include "model/step.h"

#include <stdint.h>

typedef struct tn_slot {
    uint32_t array;  /* the largest: the step's array that gives the slot its size */
    uint32_t memory; /* 0 .. memories-1 */
    uint64_t elements;
} tn_slot;

typedef struct tn_pool {
    uint32_t slots, memories;
    tn_slot *slot;     /* largest first */
    uint32_t *slot_of; /* [count]: of each array given */
} tn_pool;

/* The last operation that the array keeps its place for. What an inference makes and nothing takes up is an answer, which is
 * read when the step has ended. */
uint32_t tn_array_last(const tn_step *step, uint32_t array);

/* Pools `count` arrays of the step (positions in `array`, each at least one element). */
tn_status tn_pool_make(const tn_step *step, const uint32_t *array, uint32_t count, tn_arena *arena,
                       tn_pool *pool, tn_error *error);

/* Only deals them to slots: no memories (0). Time: O(count log count) for every 64 slots of arrays that do not live throughout;
 * memory: O(count) for each of these. */
tn_status tn_pool_deal(const tn_step *step, const uint32_t *array, uint32_t count, tn_arena *arena,
                       tn_pool *pool, tn_error *error);

#endif
