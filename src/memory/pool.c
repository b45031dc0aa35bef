#include "memory/pool.h"

#include <stdbool.h>
#include <stdlib.h>

/* ---- which slots are free ---- */

/* Up to 64 slots, a bit of a word each. Times are those at which some array begins, since of two arrays that live at once one
 * begins while the other lives; a segment tree over them says of each node which slots are taken at some of its times, and
 * which at all of them. */
enum { BLOCK_SLOTS = 64 };
typedef struct slot_block {
    uint64_t *some, *all; /* [2 times]: the root is 1, the node's halves are 2 node and 2 node + 1 */
    uint32_t slots, slot[BLOCK_SLOTS];
    struct slot_block *next;
} slot_block;

typedef struct {
    tn_arena *arena;
    uint32_t times; /* a power of two */
    uint32_t slots;
    slot_block *first, **end; /* those with the lowest slots first */
} slots_taken;

/* Of the block's slots those that are taken from `first` to `last`. */
static uint64_t taken_between(const slots_taken *taken, const slot_block *block, uint32_t first,
                              uint32_t last) {
    const uint32_t low = taken->times + first, high = taken->times + last;
    uint64_t slots = 0;
    for (uint32_t a = low, b = high + 1; a < b; a /= 2, b /= 2) {
        if (a % 2) slots |= block->some[a++];
        if (b % 2) slots |= block->some[--b];
    }
    for (uint32_t a = low, b = high; a > 0; a /= 2, b /= 2) slots |= block->all[a] | block->all[b];
    return slots;
}

static void take_between(const slots_taken *taken, slot_block *block, uint32_t first, uint32_t last,
                         uint64_t slot) {
    const uint32_t low = taken->times + first, high = taken->times + last;
    for (uint32_t a = low, b = high + 1; a < b; a /= 2, b /= 2) {
        if (a % 2) block->all[a++] |= slot;
        if (b % 2) block->all[--b] |= slot;
    }
    for (uint32_t a = low, b = high; a > 0; a /= 2, b /= 2) {
        block->some[a] |= slot;
        block->some[b] |= slot;
    }
}

static tn_status add_block(slots_taken *taken, slot_block **made, tn_error *error) {
    slot_block *block;
    TN_TRY(TN_NEW(taken->arena, 1, &block, error));
    TN_TRY(tn_arena_alloc(taken->arena, taken->times, 2 * sizeof *block->some, &block->some, error));
    TN_TRY(tn_arena_alloc(taken->arena, taken->times, 2 * sizeof *block->all, &block->all, error));
    *taken->end = *made = block;
    taken->end = &block->next;
    return TN_OK;
}

/* The first slot that is free from `first` to `last`, or a new one behind all others. What lives at all times shares none. */
static tn_status take_slot(slots_taken *taken, uint32_t first, uint32_t last, uint32_t *slot,
                           tn_error *error) {
    slot_block *block = taken->first;
    uint64_t free = 0;
    *slot = taken->slots;
    if (first == 0 && last == taken->times - 1) {
        taken->slots++;
        return TN_OK;
    }
    for (; block; block = block->next) {
        const uint64_t made = block->slots < BLOCK_SLOTS ? (UINT64_C(1) << block->slots) - 1 : UINT64_MAX;
        free = made & ~taken_between(taken, block, first, last);
        if (free || block->slots < BLOCK_SLOTS) break;
    }
    if (!block) TN_TRY(add_block(taken, &block, error));
    if (!free) {
        free = UINT64_C(1) << block->slots;
        block->slot[block->slots++] = taken->slots++;
    }
    *slot = block->slot[__builtin_ctzll(free)];
    take_between(taken, block, first, last, free & (~free + 1));
    return TN_OK;
}

/* ---- the whole ---- */

static const uint32_t NONE = UINT32_MAX;

typedef struct {
    uint64_t elements;
    uint32_t first, array, place; /* place: in the caller's list */
} entry;

/* Largest first; of equal ones that which lives first, for which dealing to the first free slot needs the
 * fewest (interval graph colouring). */
static int by_size(const void *left, const void *right) {
    const entry *a = left, *b = right;
    if (a->elements != b->elements) return a->elements > b->elements ? -1 : 1;
    if (a->first != b->first) return a->first < b->first ? -1 : 1;
    return a->array < b->array ? -1 : a->array > b->array;
}

uint32_t tn_array_last(const tn_step *step, uint32_t array) {
    const uint32_t last = step->array[array].last;
    const bool answers =
        step->inference && last < step->operations && step->operation[last].writes[0] == array;
    return answers ? step->operations - 1 : last;
}

static int ascending(const void *left, const void *right) {
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

/* How many of the times, which ascend, are at `time` or before. */
static uint32_t times_until(const uint32_t *times, uint32_t count, uint32_t time) {
    uint32_t low = 0, high = count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (times[middle] <= time)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The times at which the entries begin, each once, ascending; returns how many. */
static uint32_t list_times(const entry *entries, uint32_t count, uint32_t *times) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++) times[i] = entries[i].first;
    qsort(times, count, sizeof *times, ascending);
    for (uint32_t i = 0; i < count; i++)
        if (i == 0 || times[i] != times[kept - 1]) times[kept++] = times[i];
    return kept;
}

static tn_status deal(const tn_step *step, const uint32_t *owner, uint32_t count, tn_arena *scratch,
                      tn_pool *pool, tn_error *error) {
    slots_taken taken = {.arena = scratch, .times = 1};
    entry *entries;
    uint32_t *times;
    taken.end = &taken.first;
    TN_TRY(TN_NEW(scratch, count, &entries, error));
    TN_TRY(TN_NEW(scratch, count, &times, error));
    for (uint32_t i = 0; i < count; i++)
        entries[i] = (entry){step->array[owner[i]].elements, step->array[owner[i]].first, owner[i], i};
    qsort(entries, count, sizeof *entries, by_size);
    const uint32_t begins = list_times(entries, count, times);
    while (taken.times < begins) taken.times *= 2;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t array = entries[i].array, first = times_until(times, begins, entries[i].first) - 1,
                       last = times_until(times, begins, tn_array_last(step, array)) - 1;
        uint32_t slot;
        TN_TRY(take_slot(&taken, first, last == begins - 1 ? taken.times - 1 : last, &slot, error));
        if (slot == pool->slots) pool->slot[pool->slots++] = (tn_slot){array, 0, entries[i].elements};
        pool->slot_of[entries[i].place] = slot;
    }
    return TN_OK;
}

/* Of each slot the earlier slots that an operation reads together with it, one behind the other: those of slot
 * s are other[begin[s]] .. other[begin[s + 1] - 1], some more than once. */
typedef struct {
    size_t *begin;
    uint32_t *other;
} conflicts;

typedef void visit(conflicts *graph, uint32_t slot, uint32_t earlier);

static void count_conflict(conflicts *graph, uint32_t slot, uint32_t earlier) {
    (void)earlier;
    graph->begin[slot]++;
}

/* Fills from the end, so that begin[slot], which was the end, becomes the begin. */
static void put_conflict(conflicts *graph, uint32_t slot, uint32_t earlier) {
    graph->other[--graph->begin[slot]] = earlier;
}

/* slot_of_array: [step->arrays], NONE outside. */
static void each_pair(const uint32_t *array, uint32_t count, const uint32_t *slot_of_array, visit *call,
                      conflicts *graph) {
    for (uint32_t j = 0; j < count; j++)
        for (uint32_t k = 0; k < count; k++) {
            uint32_t a = slot_of_array[array[j]], b = slot_of_array[array[k]];
            if (a != NONE && b != NONE && b < a) call(graph, a, b);
        }
}

/* What is read at once; and of a product, what is written at once: a vector kernel writes in turn. */
static void each_conflict(const tn_step *step, const uint32_t *slot_of_array, visit *call, conflicts *graph) {
    for (uint32_t i = 0; i < step->operations; i++) {
        const tn_operation *operation = &step->operation[i];
        each_pair(operation->reads, operation->read_count, slot_of_array, call, graph);
        if (operation->kind == TN_OP_PRODUCT)
            each_pair(operation->writes, operation->write_count, slot_of_array, call, graph);
    }
}

static tn_status find_conflicts(const tn_step *step, const uint32_t *slot_of_array, uint32_t slots,
                                tn_arena *arena, conflicts *found, tn_error *error) {
    TN_TRY(TN_NEW(arena, (size_t)slots + 1, &found->begin, error));
    each_conflict(step, slot_of_array, count_conflict, found);
    for (uint32_t i = 0; i < slots; i++) found->begin[i + 1] += found->begin[i];
    TN_TRY(TN_NEW(arena, found->begin[slots], &found->other, error));
    each_conflict(step, slot_of_array, put_conflict, found);
    return TN_OK;
}

/* Each slot goes to the first memory that holds no slot it conflicts with. `holder` [slots], zeroed: one more
 * than the slot that last found a conflict in the memory. */
static void colour(tn_pool *pool, const conflicts *graph, uint32_t *holder) {
    for (uint32_t i = 0; i < pool->slots; i++) {
        uint32_t memory = 0;
        for (size_t j = graph->begin[i]; j < graph->begin[i + 1]; j++)
            holder[pool->slot[graph->other[j]].memory] = i + 1;
        while (memory < pool->memories && holder[memory] == i + 1) memory++;
        pool->slot[i].memory = memory;
        if (memory == pool->memories) pool->memories++;
    }
}

static tn_status assign_memories(const tn_step *step, const uint32_t *array, uint32_t count,
                                 tn_arena *scratch, tn_pool *pool, tn_error *error) {
    uint32_t *slot_of_array, *holder;
    conflicts found;
    TN_TRY(TN_NEW(scratch, step->arrays, &slot_of_array, error));
    TN_TRY(TN_NEW(scratch, pool->slots, &holder, error));
    for (uint32_t i = 0; i < step->arrays; i++) slot_of_array[i] = NONE;
    for (uint32_t i = 0; i < count; i++) slot_of_array[array[i]] = pool->slot_of[i];
    TN_TRY(find_conflicts(step, slot_of_array, pool->slots, scratch, &found, error));
    colour(pool, &found, holder);
    return TN_OK;
}

tn_status tn_pool_deal(const tn_step *step, const uint32_t *array, uint32_t count, tn_arena *arena,
                       tn_pool *pool, tn_error *error) {
    tn_arena scratch = {0}; /* which slots are free takes many times what the slots do */
    *pool = (tn_pool){0};
    TN_TRY(TN_NEW(arena, count, &pool->slot, error));
    TN_TRY(TN_NEW(arena, count, &pool->slot_of, error));
    tn_status status = deal(step, array, count, &scratch, pool, error);
    tn_arena_free(&scratch);
    return status;
}

tn_status tn_pool_make(const tn_step *step, const uint32_t *array, uint32_t count, tn_arena *arena,
                       tn_pool *pool, tn_error *error) {
    tn_arena scratch = {0};
    TN_TRY(tn_pool_deal(step, array, count, arena, pool, error));
    tn_status status = assign_memories(step, array, count, &scratch, pool, error);
    tn_arena_free(&scratch);
    return status;
}
