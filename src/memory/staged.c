#include "memory/staged.h"

#include "base/checked.h"

static const uint32_t NONE = UINT32_MAX;

typedef struct {
    const tn_step *step;
    const tn_map *map, *all_map;
    const tn_laid *on_chip;
    tn_row *memory; /* [map->memories] */
} staging;

static const tn_row *row_of(const staging *state, uint32_t array) {
    return &state->on_chip->memory[state->all_map->memory_of[array]];
}

/* Rows that the array takes. */
static uint64_t depth_of(const staging *state, uint32_t array) {
    const uint64_t known = state->on_chip->depth ? state->on_chip->depth[array] : 0;
    return known ? known : tn_ceil_div(state->step->array[array].elements, row_of(state, array)->elements);
}

static void widen(const staging *state, uint32_t memory, uint32_t array) {
    tn_row *row = &state->memory[memory];
    const tn_row *own = row_of(state, array);
    row->elements = tn_greatest(row->elements, own->elements);
    row->banks = tn_greatest(row->banks, own->banks);
    row->asked_banks = tn_greatest(row->asked_banks, own->asked_banks);
    row->of_bound = own->of_bound;
}

/* All of an array, or a piece and another, which may be the rest of the operand. */
static uint64_t staged_rows(const staging *state, const tn_staged *staged) {
    const uint64_t elements = state->step->array[staged->array].elements,
                   depth = depth_of(state, staged->array);
    if (staged->held >= elements) return depth;
    const uint64_t row = tn_greatest(1, elements / tn_greatest(1, depth));
    return staged->held / staged->piece * tn_ceil_div(staged->piece, row) +
           tn_ceil_div(staged->held % staged->piece, row);
}

static void stage_all(const staging *state) {
    for (uint32_t i = 0; i < state->map->staged_count; i++) {
        const tn_staged *staged = &state->map->staged[i];
        const uint32_t memory = state->map->staging_of[staged->position];
        tn_row *row = &state->memory[memory];
        widen(state, memory, staged->array);
        row->depth = tn_greatest(row->depth, staged_rows(state, staged));
    }
}

/* Slots of a memory lie one behind the other, each as deep as the deepest of its arrays. */
static tn_status hold_all(const staging *state, tn_error *error) {
    const tn_map *map = state->map;
    uint64_t *slot;
    TN_TRY(TN_ALLOC(map->slots + 1, &slot, error));
    for (uint32_t a = 0; a < state->step->arrays; a++) {
        const uint32_t memory = map->memory_of[a], its = map->slot_of[a];
        if (memory == NONE) continue;
        widen(state, memory, a);
        tn_row *row = &state->memory[memory];
        const uint64_t depth = depth_of(state, a);
        if (map->memory[memory].grouped || its == NONE) {
            row->depth = tn_greatest(row->depth, depth);
        } else if (depth > slot[its]) {
            row->depth += depth - slot[its];
            slot[its] = depth;
        }
    }
    tn_free(slot);
    return TN_OK;
}

tn_status tn_staged_lay(const tn_step *step, const tn_map *map, const tn_map *all_map, const tn_laid *on_chip,
                        tn_laid *laid, tn_error *error) {
    const staging state = {step, map, all_map, on_chip, laid->memory};
    for (uint32_t m = 0; m < map->memories; m++) state.memory[m] = (tn_row){0};
    *laid = *on_chip;
    laid->memory = state.memory;
    TN_TRY(hold_all(&state, error));
    stage_all(&state);
    for (uint32_t m = 0; m < map->memories; m++) {
        tn_row *row = &state.memory[m];
        row->unpadded_depth = tn_mapped_rows(&map->memory[m], row->elements);
        if (row->of_bound) row->depth = row->unpadded_depth;
    }
    return TN_OK;
}
