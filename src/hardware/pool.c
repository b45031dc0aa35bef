#include "hardware/pool.h"

#include <stdlib.h>
#include <string.h>

enum { WORD_BITS = 64 };

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

typedef struct {
    const tn_step *step;
    const uint32_t *array;
    uint32_t count;
    tn_pool *pool;
    uint32_t *last_of_slot; /* head of the list of places in a slot */
    uint32_t *next;         /* [count] */
} dealer;

static bool meets(const tn_array *a, const tn_array *b) {
    return a->first <= b->last && b->first <= a->last;
}

static bool fits(const dealer *with, uint32_t slot, const tn_array *array) {
    for (uint32_t place = with->last_of_slot[slot]; place != NONE; place = with->next[place])
        if (meets(&with->step->array[with->array[place]], array)) return false;
    return true;
}

static void deal(dealer *with, const entry *entries) {
    tn_pool *pool = with->pool;
    for (uint32_t i = 0; i < with->count; i++) {
        const tn_array *array = &with->step->array[entries[i].array];
        uint32_t slot = 0;
        while (slot < pool->slots && !fits(with, slot, array)) slot++;
        if (slot == pool->slots) {
            pool->slot[slot] = (tn_slot){entries[i].array, 0, array->elements};
            with->last_of_slot[slot] = NONE;
            pool->slots++;
        }
        with->next[entries[i].place] = with->last_of_slot[slot];
        with->last_of_slot[slot] = entries[i].place;
        pool->slot_of[entries[i].place] = slot;
    }
}

/* Symmetric bit matrix: slots that an operation reads at once. slot_of_array: [step->arrays], NONE outside.
 */
static void find_conflicts(const tn_step *step, const uint32_t *slot_of_array, uint64_t *bits,
                           uint32_t words) {
    for (uint32_t i = 0; i < step->operations; i++) {
        const tn_operation *operation = &step->operation[i];
        for (uint32_t j = 0; j < operation->read_count; j++)
            for (uint32_t k = 0; k < operation->read_count; k++) {
                uint32_t a = slot_of_array[operation->reads[j]], b = slot_of_array[operation->reads[k]];
                if (a == NONE || b == NONE || a == b) continue;
                bits[(size_t)a * words + b / WORD_BITS] |= (uint64_t)1 << b % WORD_BITS;
            }
    }
}

static bool taken(const tn_pool *pool, uint32_t slot, uint32_t memory, const uint64_t *bits, uint32_t words) {
    for (uint32_t other = 0; other < slot; other++)
        if (pool->slot[other].memory == memory &&
            bits[(size_t)slot * words + other / WORD_BITS] >> other % WORD_BITS & 1)
            return true;
    return false;
}

/* Each slot goes to the first memory that holds no slot it conflicts with. */
static void colour(tn_pool *pool, const uint64_t *bits, uint32_t words) {
    for (uint32_t i = 0; i < pool->slots; i++) {
        uint32_t memory = 0;
        while (taken(pool, i, memory, bits, words)) memory++;
        pool->slot[i].memory = memory;
        if (memory >= pool->memories) pool->memories = memory + 1;
    }
}

static tn_status assign_memories(const tn_step *step, const uint32_t *array, uint32_t count, tn_arena *arena,
                                 tn_pool *pool, tn_error *error) {
    uint32_t words = pool->slots / WORD_BITS + 1, *slot_of_array;
    uint64_t *bits;
    TN_TRY(tn_arena_alloc(arena, step->arrays, sizeof *slot_of_array, &slot_of_array, error));
    TN_TRY(tn_arena_alloc(arena, (size_t)pool->slots * words, sizeof *bits, &bits, error));
    for (uint32_t i = 0; i < step->arrays; i++) slot_of_array[i] = NONE;
    for (uint32_t i = 0; i < count; i++) slot_of_array[array[i]] = pool->slot_of[i];
    find_conflicts(step, slot_of_array, bits, words);
    colour(pool, bits, words);
    return TN_OK;
}

tn_status tn_pool_make(const tn_step *step, const uint32_t *array, uint32_t count, tn_arena *arena,
                       tn_pool *pool, tn_error *error) {
    entry *entries;
    *pool = (tn_pool){0};
    dealer with = {.step = step, .array = array, .count = count, .pool = pool};
    TN_TRY(tn_arena_alloc(arena, count, sizeof *entries, &entries, error));
    TN_TRY(tn_arena_alloc(arena, count, sizeof *pool->slot, &pool->slot, error));
    TN_TRY(tn_arena_alloc(arena, count, sizeof *pool->slot_of, &pool->slot_of, error));
    TN_TRY(tn_arena_alloc(arena, count, sizeof *with.last_of_slot, &with.last_of_slot, error));
    TN_TRY(tn_arena_alloc(arena, count, sizeof *with.next, &with.next, error));
    for (uint32_t i = 0; i < count; i++)
        entries[i] = (entry){step->array[array[i]].elements, step->array[array[i]].first, array[i], i};
    qsort(entries, count, sizeof *entries, by_size);
    deal(&with, entries);
    return assign_memories(step, array, count, arena, pool, error);
}
