#include "hardware/placement.h"

#include "knapsack/allocation.h"
#include "knapsack/branch.h"

#include <stdlib.h>

enum { BUDGETS = 3, STYLES = 3, SPLITS = 2, GROUPS = 12, OPTIONS_MOST = STYLES * SPLITS * GROUPS };

typedef struct {
    tn_place place;
    double value;         /* capacity, bits */
    double need[BUDGETS]; /* block RAM, UltraRAM, LUTs */
} option;

typedef struct {
    uint32_t count;
    option *option; /* cheapest first */
} item;

typedef struct {
    const tn_device *device;
    uint64_t word_bits;
    const tn_build *build;
    tn_arena *arena;
    tn_error *error;
    uint32_t items;
    item *item; /* one for each memory */
} search;

static bool beats(const option *a, const option *b) {
    if (a->value > b->value) return false;
    for (int i = 0; i < BUDGETS; i++)
        if (a->need[i] > b->need[i]) return false;
    return true;
}

static void keep(item *of, const option *candidate) {
    for (uint32_t i = 0; i < of->count; i++)
        if (beats(&of->option[i], candidate)) return;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < of->count; i++)
        if (!beats(candidate, &of->option[i])) of->option[kept++] = of->option[i];
    of->option[kept] = *candidate;
    of->count = kept + 1;
}

static tn_status try_place(search *with, const tn_mapped *memory, const tn_row *row, tn_place place,
                           item *of) {
    tn_placed placed;
    TN_TRY(tn_place_price(with->device, with->word_bits, memory, row, with->build, &place, &placed,
                          with->error));
    /* Larger memories of LUTs would cost more logic than they save in blocks: what tools take them for. */
    bool large = placed.width_bits * placed.depth > with->device->memory.lutram_bits_most;
    if (place.style == TN_STYLE_DISTRIBUTED && large) return TN_OK;
    const option made = {.place = place,
                         .value = placed.capacity_bits,
                         .need = {(double)(placed.blocks.bram18 + 2 * placed.blocks.bram36),
                                  (double)placed.blocks.uram, (double)placed.blocks.lutram}};
    keep(of, &made);
    return TN_OK;
}

static int by_value(const void *left, const void *right) {
    const option *a = left, *b = right;
    if (a->value != b->value) return a->value < b->value ? -1 : 1;
    for (int i = 0; i < BUDGETS; i++)
        if (a->need[i] != b->need[i]) return a->need[i] < b->need[i] ? -1 : 1;
    return 0;
}

/* Groups of 1, 2, 4, .. and of all. */
static tn_status list_options(search *with, const tn_mapped *memory, const tn_row *row, item *of) {
    static const tn_memory_style styles[STYLES] = {TN_STYLE_BLOCK, TN_STYLE_ULTRA, TN_STYLE_DISTRIBUTED};
    *of = (item){0};
    TN_TRY(tn_arena_alloc(with->arena, OPTIONS_MOST, sizeof *of->option, &of->option, with->error));
    for (int style = 0; style < STYLES; style++)
        for (int split = 0; split < SPLITS; split++) {
            uint64_t most = memory->grouped ? memory->copies : 1, group = 1;
            if (most > TN_BUILD_GROUP_MOST) most = TN_BUILD_GROUP_MOST;
            for (;;) {
                const tn_place place = {styles[style], (tn_array_split)split, group};
                TN_TRY(try_place(with, memory, row, place, of));
                if (group == most) break;
                group = 2 * group < most ? 2 * group : most;
            }
        }
    qsort(of->option, of->count, sizeof *of->option, by_value);
    return TN_OK;
}

/* The options as a knapsack: a layer for each memory, the capacity as its objective. */
static tn_status knapsack_of(search *with, tn_knapsack *choices) {
    size_t options = 0, *first;
    double *capacity, *need;
    for (uint32_t i = 0; i < with->items; i++) options += with->item[i].count;
    TN_TRY(tn_arena_alloc(with->arena, with->items + 1, sizeof *first, &first, with->error));
    TN_TRY(tn_arena_alloc(with->arena, options, sizeof *capacity, &capacity, with->error));
    TN_TRY(tn_arena_alloc(with->arena, options * BUDGETS, sizeof *need, &need, with->error));
    for (uint32_t i = 0; i < with->items; i++) {
        const item *of = &with->item[i];
        first[i + 1] = first[i] + of->count;
        for (uint32_t j = 0; j < of->count; j++) {
            capacity[first[i] + j] = of->option[j].value;
            for (int k = 0; k < BUDGETS; k++) need[(first[i] + j) * BUDGETS + k] = of->option[j].need[k];
        }
    }
    *choices = (tn_knapsack){with->items, BUDGETS, first, capacity, need, .step = 1};
    return TN_OK;
}

tn_status tn_placement_search(const tn_device *device, uint64_t word_bits, const tn_map *map,
                              const tn_row *rows, const tn_build *build, const tn_placement_budget *budget,
                              size_t most_states, tn_arena *arena, tn_placement *placement, tn_error *error) {
    search with = {.device = device,
                   .word_bits = word_bits,
                   .build = build,
                   .arena = arena,
                   .error = error,
                   .items = map->memories};
    const double has[BUDGETS] = {(double)budget->bram18, (double)budget->uram, (double)budget->lut};
    tn_knapsack choices;
    tn_allocation found;
    size_t *choice;
    *placement = (tn_placement){.fits = true, .exact = true};
    TN_TRY(tn_arena_alloc(arena, map->memories, sizeof *placement->place, &placement->place, error));
    if (map->memories == 0) return TN_OK;
    TN_TRY(tn_arena_alloc(arena, map->memories, sizeof *with.item, &with.item, error));
    for (uint32_t i = 0; i < map->memories; i++)
        TN_TRY(list_options(&with, &map->memory[i], rows ? &rows[i] : NULL, &with.item[i]));
    TN_TRY(knapsack_of(&with, &choices));
    TN_TRY(tn_allocate(&choices, has, most_states, &found, error));
    /* Where nothing fits: as near to the budgets as single changes lead. */
    TN_TRY(tn_arena_alloc(arena, map->memories, sizeof *choice, &choice, error));
    placement->fits = found.found;
    placement->exact = found.exact;
    placement->bound_bits = found.lower_bound;
    if (!found.found) tn_knapsack_greedy(&choices, has, choice);
    for (uint32_t i = 0; i < map->memories; i++) {
        const option *taken = &with.item[i].option[found.found ? found.choice[i] : choice[i]];
        placement->place[i] = taken->place;
        placement->capacity_bits += taken->value;
    }
    tn_allocation_free(&found);
    return TN_OK;
}
