#include "search/unit_blocks.h"

#include "base/memory.h"

#include <string.h>

enum { BLOCKS_MOST = 20000 }; /* of a species; with more of them each option is one of its own */

/* A species while its blocks are counted out. */
typedef struct {
    const tn_like_units *likes;
    const tn_like_set *set;
    tn_unit_blocks *blocks;
    tn_species_blocks *its;
    uint32_t participant;
    uint32_t classes, *core_class; /* that its options have cores of */
    uint32_t *times;               /* [entries][classes]: cores of a unit with the option */
    uint16_t *count;               /* [entries] */
    uint32_t *left;                /* [types]: units without an option */
    uint32_t *cores;               /* [classes] */
    double deadline;
    tn_arena *arena;
} counter;

static size_t state_of(const counter *state) {
    size_t number = 0;
    for (uint32_t t = 0; t < state->set->types; t++)
        number += (size_t)state->blocks->stride[t] * (state->set->type[t].count - state->left[t]);
    return number;
}

/* ---- classes of a species ---- */

static tn_status list_classes(counter *state, tn_error *error) {
    const tn_like_units *likes = state->likes;
    const tn_species_blocks *its = state->its;
    uint32_t all = likes->has_classes ? likes->table->view[likes->build].survey->cores.count : 0, *place;
    TN_TRY(TN_NEW(state->arena, all, &place, error));
    TN_TRY(TN_NEW(state->arena, all, &state->core_class, error));
    for (int pass = 0; all > 0 && pass < 2; pass++) {
        if (pass > 0)
            TN_TRY(TN_NEW(state->arena, (size_t)its->entries * state->classes, &state->times, error));
        for (uint32_t e = 0; e < its->entries; e++) {
            const tn_part_cores *cores = &state->set->type[its->entry[e].type].cores[its->entry[e].option];
            for (uint32_t i = 0; i < cores->count; i++) {
                uint32_t *known = &place[cores->core_class[i]];
                if (*known == 0) {
                    state->core_class[state->classes++] = cores->core_class[i];
                    *known = state->classes;
                }
                if (pass > 0) state->times[(size_t)e * state->classes + *known - 1]++;
            }
        }
    }
    return TN_NEW(state->arena, state->classes, &state->cores, error);
}

/* ---- counting blocks out ---- */

static tn_status add_block(counter *state, tn_error *error) {
    tn_species_blocks *its = state->its;
    const tn_like_units *likes = state->likes;
    double value[TN_SUM_DIMENSIONS] = {0}, bits = 0;
    const size_t number = state_of(state);
    if (number == 0) return TN_OK;
    memset(state->cores, 0, state->classes * sizeof *state->cores);
    for (uint32_t e = 0; e < its->entries; e++) {
        const tn_like_type *type = &state->set->type[its->entry[e].type];
        if (state->count[e] == 0) continue;
        for (size_t d = 0; d < likes->dimensions; d++)
            value[d] += tn_like_cost(type, d, its->entry[e].option, state->count[e]);
        for (uint32_t i = 0; i < state->classes; i++)
            state->cores[i] += state->count[e] * state->times[(size_t)e * state->classes + i];
    }
    for (uint32_t i = 0; i < state->classes; i++)
        bits += tn_like_class_cost(likes, state->core_class[i], state->participant, state->cores[i]);
    for (size_t d = 0; d < likes->dimensions; d++)
        if (likes->cost[d] == TN_COST_CAPACITY) value[d] += bits;
    TN_TRY(TN_GROW(&its->counts, &its->room, (its->blocks + 1) * its->entries, error));
    memcpy(its->counts + its->blocks * its->entries, state->count, its->entries * sizeof *state->count);
    return tn_sums_add(&its->of[number], value, 0, 0, (uint32_t)its->blocks++, 0, error);
}

/* Every number of units with the entry and those behind it. */
static tn_status count_out(counter *state, uint32_t entry, tn_error *error) {
    if (entry == state->its->entries) return add_block(state, error);
    uint32_t *left = &state->left[state->its->entry[entry].type];
    const uint32_t most = *left;
    tn_status status = TN_OK;
    for (uint32_t n = 0; status == TN_OK && n <= most; n++) {
        state->count[entry] = (uint16_t)n;
        *left = most - n;
        status = count_out(state, entry + 1, error);
    }
    *left = most;
    state->count[entry] = 0;
    return status;
}

static tn_status prune_blocks(const counter *state, tn_error *error) {
    tn_boxes boxes = {.rounded = state->likes->dimensions};
    for (size_t i = 0; i < state->blocks->states; i++)
        TN_TRY(tn_sums_prune(&state->its->of[i], &boxes, state->deadline, error));
    return TN_OK;
}

/* Of one unit a block for each option. */
static tn_status add_options(counter *state, tn_error *error) {
    tn_species_blocks *its = state->its;
    const tn_like_units *likes = state->likes;
    for (uint32_t e = 0; e < its->entries; e++) {
        const tn_like_type *type = &state->set->type[0];
        const uint64_t option = its->entry[e].option;
        double value[TN_SUM_DIMENSIONS], bits = 0;
        for (uint32_t i = 0, n; likes->has_classes && i < type->cores[option].count; i += n) {
            const tn_part_cores *cores = &type->cores[option]; /* equal ones are one behind the other */
            for (n = 1; i + n < cores->count && cores->core_class[i + n] == cores->core_class[i]; n++) {}
            bits += tn_like_class_cost(likes, cores->core_class[i], state->participant, n);
        }
        for (size_t d = 0; d < likes->dimensions; d++)
            value[d] = tn_like_cost(type, d, option, 1) + (likes->cost[d] == TN_COST_CAPACITY ? bits : 0);
        TN_TRY(tn_sums_add(&its->of[1], value, 0, 0, e, 0, error));
    }
    return TN_OK;
}

static tn_status fill_species(const tn_like_units *likes, tn_unit_blocks *blocks, tn_species_blocks *its,
                              uint32_t participant, double deadline, tn_arena *arena, tn_error *error) {
    const tn_like_set *set = blocks->set;
    counter state = {.likes = likes,
                     .set = set,
                     .blocks = blocks,
                     .its = its,
                     .participant = participant,
                     .deadline = deadline,
                     .arena = arena};
    TN_TRY(TN_NEW(arena, blocks->states, &its->of, error));
    for (size_t i = 0; i < blocks->states; i++) tn_sums_begin(&its->of[i], likes->dimensions);
    if (set->units == 1) {
        TN_TRY(add_options(&state, error));
        return prune_blocks(&state, error);
    }
    TN_TRY(TN_NEW(arena, its->entries, &state.count, error));
    TN_TRY(TN_NEW(arena, set->types, &state.left, error));
    for (uint32_t t = 0; t < set->types; t++) state.left[t] = set->type[t].count;
    TN_TRY(list_classes(&state, error));
    TN_TRY(count_out(&state, 0, error));
    return prune_blocks(&state, error);
}

/* ---- species ---- */

/* How many blocks so many options of every type make. */
static double blocks_of(const tn_like_set *set, uint32_t options) {
    double blocks = 1;
    for (uint32_t t = 0; t < set->types; t++)
        for (uint32_t i = 1; i <= options && blocks <= BLOCKS_MOST; i++)
            blocks *= (double)(set->type[t].count + i) / i;
    return blocks;
}

static tn_status add_entries(const tn_like_set *set, uint32_t species, uint64_t option, bool one,
                             tn_species_blocks *its, tn_error *error) {
    size_t room = 0;
    for (uint32_t t = 0; t < set->types; t++)
        for (uint64_t o = one ? option : 0; o < (one ? option + 1 : set->options); o++) {
            if (!set->defined[o] || (set->units > 1 && set->species_of[o] != species)) continue;
            TN_TRY(TN_GROW(&its->entry, &room, its->entries + 1, error));
            its->entry[its->entries++] = (tn_block_entry){t, o};
        }
    return TN_OK;
}

/* A species, or of one with too many blocks each option. */
static tn_status add_species(const tn_like_units *likes, tn_unit_blocks *blocks, uint32_t species,
                             size_t *room, double deadline, tn_arena *arena, tn_error *error) {
    const tn_like_set *set = blocks->set;
    const uint32_t participant = set->first_participant + species;
    uint32_t options = 0;
    for (uint64_t o = 0; set->units > 1 && o < set->options; o++)
        options += set->defined[o] && set->species_of[o] == species;
    const bool each = set->units > 1 && options > 1 && blocks_of(set, options) > BLOCKS_MOST;
    for (uint64_t o = 0; o < (each ? set->options : 1); o++) {
        if (each && (!set->defined[o] || set->species_of[o] != species)) continue;
        TN_TRY(TN_GROW(&blocks->block, room, blocks->species + 1, error));
        tn_species_blocks *its = &blocks->block[blocks->species++];
        TN_TRY(add_entries(set, species, o, each, its, error));
        /* Each option is a participant of its own, beside others. */
        TN_TRY(fill_species(likes, blocks, its, each ? UINT32_MAX - 1 : participant, deadline, arena, error));
    }
    return TN_OK;
}

tn_status tn_unit_blocks_find(const tn_like_units *likes, const tn_like_set *set, double deadline,
                              tn_arena *arena, tn_unit_blocks *blocks, tn_error *error) {
    size_t room = 0;
    *blocks = (tn_unit_blocks){.set = set, .states = 1};
    TN_TRY(TN_NEW(arena, set->types, &blocks->stride, error));
    for (uint32_t t = 0; t < set->types; t++) {
        blocks->stride[t] = (uint32_t)blocks->states;
        blocks->states *= set->type[t].count + 1;
    }
    for (uint32_t s = 0; s < (set->units > 1 ? set->species : 1); s++)
        TN_TRY(add_species(likes, blocks, s, &room, deadline, arena, error));
    return TN_OK;
}

void tn_unit_blocks_free(tn_unit_blocks *blocks) {
    for (uint32_t s = 0; s < blocks->species; s++) {
        tn_species_blocks *its = &blocks->block[s];
        for (size_t i = 0; its->of && i < blocks->states; i++) tn_sums_free(&its->of[i]);
        tn_free(its->entry);
        tn_free(its->counts);
    }
    tn_free(blocks->block);
    *blocks = (tn_unit_blocks){0};
}
