#include "memory/row_kinds.h"

#include "base/checked.h"
#include "base/word_lists.h"
#include "layout/layout_demand.h"

#include <stdlib.h>
#include <string.h>

static const uint32_t NONE = UINT32_MAX;

typedef struct {
    const tn_step *step;
    const tn_laid_arrays *arrays;
    const tn_map *map;
    tn_arena *arena;
    uint32_t *tied; /* [map->memories]: a memory before it that has rows as long, or itself */
    uint32_t *next; /* [map->memories]: of those that are tied to the same first one; NONE: the last */
    tn_error *error;
} finder;

/* The first of the memories that it is tied to. */
static uint32_t first_of(uint32_t *tied, uint32_t memory) {
    while (tied[memory] != memory) memory = tied[memory] = tied[tied[memory]];
    return memory;
}

static void tie(const finder *state, const uint32_t *array, uint32_t arrays) {
    uint32_t first = NONE;
    for (uint32_t i = 0; i < arrays; i++) {
        const uint32_t memory = state->map->memory_of[array[i]];
        if (memory == NONE) continue;
        const uint32_t own = first_of(state->tied, memory),
                       least = first == NONE || own < first ? own : first;
        if (first != NONE) state->tied[own] = state->tied[first] = least;
        first = least;
    }
}

static tn_status tie_memories(finder *state) {
    const tn_laid_arrays *arrays = state->arrays;
    TN_TRY(TN_NEW(state->arena, state->map->memories, &state->tied, state->error));
    for (uint32_t m = 0; m < state->map->memories; m++) state->tied[m] = m;
    for (uint32_t i = 0; i < arrays->updates; i++) {
        const tn_operation *update = &state->step->operation[arrays->update[i]];
        tie(state, update->reads, update->read_count);
    }
    for (uint32_t i = 0; i < arrays->cuts; i++) {
        const tn_operation *copy = &state->step->operation[arrays->cut[i]];
        tie(state, (const uint32_t[]){copy->reads[0], copy->writes[0]}, 2);
    }
    return TN_OK;
}

/* Behind the first of those that are tied come the others. */
static tn_status list_tied(finder *state) {
    TN_TRY(TN_NEW(state->arena, state->map->memories, &state->next, state->error));
    for (uint32_t m = 0; m < state->map->memories; m++) {
        const uint32_t first = first_of(state->tied, m);
        state->next[m] = first == m ? NONE : state->next[first];
        if (first != m) state->next[first] = m;
    }
    return TN_OK;
}

/* Extents are at most TN_BUILD_PARALLEL_MOST, as far as they matter, and rows are powers of two: what the next power above an extent
 * makes of them the extent does. */
enum { EXTENT_BITS = 30 };
_Static_assert(2 * TN_BUILD_PARALLEL_MOST < 1 << EXTENT_BITS, "an extent does not fit its bits");

static uint64_t word_of(const tn_use *use) {
    uint64_t extent[2];
    for (int k = 0; k < 2; k++)
        extent[k] = UINT64_C(1) << tn_log_above(tn_least(use->extent[k], TN_BUILD_PARALLEL_MOST));
    return ((uint64_t)use->side << EXTENT_BITS | extent[0]) << EXTENT_BITS | extent[1];
}

static tn_use use_of(uint64_t word) {
    const uint32_t mask = (1u << EXTENT_BITS) - 1;
    return (tn_use){.side = (tn_side)(word >> 2 * EXTENT_BITS),
                    .extent = {(uint32_t)(word >> EXTENT_BITS) & mask, (uint32_t)word & mask}};
}

/* Whether rows of the second use are as long whatever the build. */
static bool is_longer(const tn_use *a, const tn_use *b) {
    return a->side == b->side && a->extent[0] >= b->extent[0] && a->extent[1] >= b->extent[1];
}

/* Of rising words those of which none makes rows as long as another. */
static uint32_t keep_longest(uint64_t *word, uint32_t all) {
    uint32_t kept = 0;
    for (uint32_t i = all; i-- > 0;) { /* what is longer comes behind */
        const tn_use use = use_of(word[i]);
        bool longest = true;
        for (uint32_t k = 0; k < kept && longest; k++) {
            const tn_use other = use_of(word[all - 1 - k]);
            longest = !is_longer(&other, &use);
        }
        if (longest) word[all - 1 - kept++] = word[i];
    }
    memmove(word, word + all - kept, kept * sizeof *word);
    return kept;
}

/* The uses of all memories that are tied to the first one, sorted; *uses of them. */
static void gather_uses(const finder *state, uint32_t first, uint64_t *word, uint32_t *uses) {
    uint32_t all = 0;
    for (uint32_t m = first; m != NONE; m = state->next[m])
        for (uint32_t i = 0; i < state->map->memory[m].uses; i++)
            word[all++] = word_of(&state->map->memory[m].use[i]);
    if (all) qsort(word, all, sizeof *word, tn_count_order);
    *uses = keep_longest(word, all);
}

static tn_status add_kind(const finder *state, const uint64_t *word, uint32_t uses, tn_row_kinds *kinds) {
    tn_use *use;
    TN_TRY(TN_NEW(state->arena, uses, &use, state->error));
    for (uint32_t i = 0; i < uses; i++) use[i] = use_of(word[i]);
    kinds->asked[kinds->count++] = (tn_mapped){.uses = uses, .use = use};
    return TN_OK;
}

tn_status tn_row_kinds_find(const tn_step *step, const tn_laid_arrays *arrays, const tn_map *map,
                            tn_arena *arena, tn_row_kinds *kinds, tn_error *error) {
    finder state = {.step = step, .arrays = arrays, .map = map, .arena = arena, .error = error};
    tn_word_lists lists;
    uint64_t *word;
    uint32_t all = 0, uses;
    *kinds = (tn_row_kinds){0};
    for (uint32_t m = 0; m < map->memories; m++) all += map->memory[m].uses;
    TN_TRY(tie_memories(&state));
    TN_TRY(list_tied(&state));
    TN_TRY(TN_NEW(arena, all, &word, error));
    TN_TRY(TN_NEW(arena, map->memories, &kinds->of_memory, error));
    TN_TRY(TN_NEW(arena, map->memories, &kinds->asked, error));
    TN_TRY(tn_word_lists_begin(&lists, map->memories, arena, error));
    for (uint32_t m = 0; m < map->memories; m++) {
        const uint32_t first = first_of(state.tied, m);
        if (first < m) {
            kinds->of_memory[m] = kinds->of_memory[first];
            continue;
        }
        gather_uses(&state, m, word, &uses);
        TN_TRY(tn_word_lists_number(&lists, word, uses, &kinds->of_memory[m], error));
        if (kinds->of_memory[m] == kinds->count) TN_TRY(add_kind(&state, word, uses, kinds));
    }
    return TN_OK;
}
