#include "memory/placement.h"

#include "base/checked.h"
#include "knapsack/allocation.h"
#include "knapsack/branch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

tn_place tn_place_as_built(const tn_mapped *memory, const tn_build *build) {
    bool activations = memory->store == TN_STORE_ACTIVATIONS;
    return (tn_place){
        .style = (tn_memory_style)(activations ? build->activation_memory : build->core_memory),
        .split = (tn_array_split)build->split,
        .group = memory->grouped ? build->group : 1,
    };
}

/* Shares of the device, multiplied out: uram/has uram < bram/has bram. */
static bool ultra_takes_less(const tn_blocks *bram, const tn_blocks *ultra,
                             const tn_device_resources_data *has) {
    double of_bram = (double)(bram->bram18 + 2 * bram->bram36) * (double)has->uram;
    return has->uram > 0 && (double)ultra->uram * (double)has->bram18 < of_bram;
}

tn_status tn_bank_blocks(const tn_device *device, tn_memory_style style, uint64_t word_bits,
                         uint64_t width_bits, uint64_t depth, tn_blocks *blocks, uint64_t *rows,
                         tn_error *error) {
    *rows = 1;
    if (tn_device_is_generated(device))
        return tn_memory_element_blocks(style, width_bits / word_bits, word_bits, depth, blocks, rows, error);
    return tn_memory_blocks((tn_geometry)device->memory.geometry, style, width_bits, depth, false, blocks,
                            error);
}

/* No more than that for any greater depth, or for banks that are together as wide. */
static tn_status least_bank_blocks(const tn_device *device, tn_memory_style style, uint64_t word_bits,
                                   uint64_t width_bits, uint64_t depth, tn_blocks *blocks, tn_error *error) {
    if (tn_device_is_generated(device))
        return tn_memory_element_least(style, width_bits / word_bits, word_bits, depth, blocks, error);
    TN_TRY(tn_memory_blocks((tn_geometry)device->memory.geometry, style, width_bits, depth, false, blocks,
                            error));
    if (style == TN_STYLE_DISTRIBUTED) blocks->lutram = tn_memory_least_luts(width_bits, depth);
    return TN_OK;
}

/* What tools take for a bank: LUTRAM while it is small, else what takes the least share of the device, by whole words. */
static tn_status choose_style(const tn_device *device, uint64_t width_bits, uint64_t depth,
                              tn_memory_style *style, tn_error *error) {
    tn_geometry geometry = (tn_geometry)device->memory.geometry;
    tn_blocks block, ultra;
    if (*style == TN_STYLE_SHALLOW) *style = depth <= TN_LUT_WORDS ? TN_STYLE_DISTRIBUTED : TN_STYLE_AUTO;
    if (*style != TN_STYLE_AUTO) return TN_OK;
    *style = tn_memory_style_auto(width_bits, depth, device->memory.lutram_bits_most);
    if (*style == TN_STYLE_DISTRIBUTED) return TN_OK;
    TN_TRY(tn_memory_blocks(geometry, TN_STYLE_BLOCK, width_bits, depth, false, &block, error));
    TN_TRY(tn_memory_blocks(geometry, TN_STYLE_ULTRA, width_bits, depth, false, &ultra, error));
    if (ultra_takes_less(&block, &ultra, &device->resources)) *style = TN_STYLE_ULTRA;
    return TN_OK;
}

static void add_blocks(tn_blocks *sum, const tn_blocks *blocks, uint64_t times) {
    sum->bram18 += blocks->bram18 * times;
    sum->bram36 += blocks->bram36 * times;
    sum->uram += blocks->uram * times;
    sum->lutram += blocks->lutram * times;
}

static double capacity_of(const tn_blocks *blocks) {
    enum { LUT_BITS = 64 };
    return (double)(blocks->bram18 + 2 * blocks->bram36) * TN_MEMORY_CAPACITY_BRAM18_BITS +
           (double)blocks->uram * TN_MEMORY_CAPACITY_URAM_BITS + (double)blocks->lutram * LUT_BITS;
}

/* One memory of one copy. */
typedef struct {
    uint64_t accesses, banks, word_bits, width_bits, depth;
    uint64_t asked_bits, unpadded_depth; /* what the style is chosen by */
    bool of_bound;
} shape;

static shape shape_of(const tn_mapped *memory, const tn_row *row, const tn_build *build, tn_array_split split,
                      uint64_t word_bits) {
    shape form = {0};
    form.accesses = row ? row->elements : tn_mapped_accesses(memory, build);
    form.banks = row && split != TN_SPLIT_PARTITION ? row->banks : tn_split_banks(split, form.accesses);
    form.word_bits = word_bits;
    form.width_bits = word_bits * (form.accesses / form.banks);
    form.depth = row ? row->depth : tn_mapped_rows(memory, form.accesses);
    form.asked_bits =
        row && split != TN_SPLIT_PARTITION ? word_bits * (form.accesses / row->asked_banks) : form.width_bits;
    form.unpadded_depth = row ? row->unpadded_depth : form.depth;
    form.of_bound = row && row->of_bound;
    return form;
}

static tn_array_split split_of(const shape *form) {
    if (form->banks == 1) return TN_SPLIT_RESHAPE;
    return form->banks == form->accesses ? TN_SPLIT_PARTITION : TN_SPLIT_BANKS;
}

/* So many memories of `copies` copies each. */
static tn_status add_memories(const tn_device *device, const shape *form, uint64_t copies, uint64_t times,
                              tn_memory_style *style, tn_blocks *sum, tn_error *error) {
    tn_blocks blocks;
    uint64_t rows, depth = form->depth * copies;
    TN_TRY(choose_style(device, form->asked_bits, form->unpadded_depth * copies, style, error));
    if (form->of_bound)
        TN_TRY(least_bank_blocks(device, *style, form->word_bits, form->width_bits, depth, &blocks, error));
    else
        TN_TRY(
            tn_bank_blocks(device, *style, form->word_bits, form->width_bits, depth, &blocks, &rows, error));
    add_blocks(sum, &blocks, form->banks * times);
    return TN_OK;
}

double tn_mapped_stored_bits(const tn_mapped *memory, uint64_t word_bits) {
    uint64_t words = 0;
    for (uint32_t i = 0; i < memory->extents; i++)
        words += memory->extent[i].arrays * memory->extent[i].elements;
    return (double)words * (double)(memory->word_bits > 0 ? memory->word_bits : word_bits) *
           (double)memory->copies;
}

tn_status tn_place_price(const tn_device *device, uint64_t word_bits, const tn_mapped *memory,
                         const tn_row *row, const tn_build *build, const tn_place *place, tn_placed *placed,
                         tn_error *error) {
    if (memory->word_bits > 0) word_bits = memory->word_bits;
    const shape form = shape_of(memory, row, build, place->split, word_bits);
    uint64_t group = place->group < memory->copies ? place->group : memory->copies;
    uint64_t full = memory->copies / group, rest = memory->copies % group;
    *placed = (tn_placed){.place = {place->style, row ? split_of(&form) : place->split, group},
                          .accesses = form.accesses,
                          .banks = form.banks,
                          .width_bits = form.width_bits,
                          .depth = form.depth * group,
                          .memories = full + (rest > 0),
                          .stored_bits = tn_mapped_stored_bits(memory, word_bits)};
    tn_memory_style style = place->style;
    if (rest > 0)
        TN_TRY(add_memories(device, &form, rest, build->read_ports, &style, &placed->blocks, error));
    TN_TRY(add_memories(device, &form, group, build->read_ports * full, &placed->place.style, &placed->blocks,
                        error));
    placed->capacity_bits = capacity_of(&placed->blocks);
    return TN_OK;
}

uint64_t tn_placement_groups(const tn_mapped *memory) {
    return memory->grouped ? tn_least(memory->copies, TN_BUILD_GROUP_MOST) : 1;
}

uint64_t tn_placement_next_group(uint64_t group, uint64_t most) {
    return 2 * group < most ? 2 * group : most;
}

/* ---- places searched ---- */

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

static void keep(item *entry, const option *candidate) {
    for (uint32_t i = 0; i < entry->count; i++)
        if (beats(&entry->option[i], candidate)) return;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < entry->count; i++)
        if (!beats(candidate, &entry->option[i])) entry->option[kept++] = entry->option[i];
    entry->option[kept] = *candidate;
    entry->count = kept + 1;
}

static tn_status try_place(search *state, const tn_mapped *memory, const tn_row *row, tn_place place,
                           item *entry) {
    tn_placed placed;
    TN_TRY(tn_place_price(state->device, state->word_bits, memory, row, state->build, &place, &placed,
                          state->error));
    /* Larger memories of LUTs would cost more logic than they save in blocks: what tools take them for. */
    bool large = placed.width_bits * placed.depth > state->device->memory.lutram_bits_most;
    if (place.style == TN_STYLE_DISTRIBUTED && large) return TN_OK;
    const option made = {.place = place,
                         .value = placed.capacity_bits,
                         .need = {(double)(placed.blocks.bram18 + 2 * placed.blocks.bram36),
                                  (double)placed.blocks.uram, (double)placed.blocks.lutram}};
    keep(entry, &made);
    return TN_OK;
}

static int by_value(const void *left, const void *right) {
    const option *a = left, *b = right;
    if (a->value != b->value) return a->value < b->value ? -1 : 1;
    for (int i = 0; i < BUDGETS; i++)
        if (a->need[i] != b->need[i]) return a->need[i] < b->need[i] ? -1 : 1;
    return 0;
}

static tn_status list_options(search *state, const tn_mapped *memory, const tn_row *row, item *entry) {
    static const tn_memory_style styles[STYLES] = {TN_STYLE_BLOCK, TN_STYLE_ULTRA, TN_STYLE_DISTRIBUTED};
    *entry = (item){0};
    TN_TRY(TN_NEW(state->arena, OPTIONS_MOST, &entry->option, state->error));
    for (int style = 0; style < STYLES; style++)
        for (int split = 0; split < SPLITS; split++) {
            const uint64_t most = tn_placement_groups(memory);
            for (uint64_t group = 1;; group = tn_placement_next_group(group, most)) {
                const tn_place place = {styles[style], (tn_array_split)split, group};
                TN_TRY(try_place(state, memory, row, place, entry));
                if (group == most) break;
            }
        }
    qsort(entry->option, entry->count, sizeof *entry->option, by_value);
    return TN_OK;
}

/* The options as a knapsack: a layer for each memory, the capacity as its objective. */
static tn_status knapsack_of(search *state, tn_knapsack *choices) {
    size_t options = 0, *first;
    double *capacity, *need;
    for (uint32_t i = 0; i < state->items; i++) options += state->item[i].count;
    TN_TRY(TN_NEW(state->arena, state->items + 1, &first, state->error));
    TN_TRY(TN_NEW(state->arena, options, &capacity, state->error));
    TN_TRY(TN_NEW(state->arena, options * BUDGETS, &need, state->error));
    for (uint32_t i = 0; i < state->items; i++) {
        const item *entry = &state->item[i];
        first[i + 1] = first[i] + entry->count;
        for (uint32_t j = 0; j < entry->count; j++) {
            capacity[first[i] + j] = entry->option[j].value;
            for (int k = 0; k < BUDGETS; k++) need[(first[i] + j) * BUDGETS + k] = entry->option[j].need[k];
        }
    }
    *choices = (tn_knapsack){state->items, BUDGETS, first, capacity, need, .step = 1};
    return TN_OK;
}

tn_status tn_placement_search(const tn_device *device, uint64_t word_bits, const tn_map *map,
                              const tn_row *rows, const tn_build *build, const tn_placement_budget *budget,
                              size_t most_states, tn_arena *arena, tn_placement *placement, tn_error *error) {
    search state = {.device = device,
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
    TN_TRY(TN_NEW(arena, map->memories, &placement->place, error));
    if (map->memories == 0) return TN_OK;
    TN_TRY(TN_NEW(arena, map->memories, &state.item, error));
    for (uint32_t i = 0; i < map->memories; i++)
        TN_TRY(list_options(&state, &map->memory[i], rows ? &rows[i] : NULL, &state.item[i]));
    TN_TRY(knapsack_of(&state, &choices));
    TN_TRY(tn_allocate(&choices, has, most_states, &found, error));
    /* Where nothing fits: as near to the budgets as single changes lead. */
    TN_TRY(TN_NEW(arena, map->memories, &choice, error));
    placement->fits = found.found;
    placement->exact = found.exact;
    placement->bound_bits = found.lower_bound;
    if (!found.found) tn_knapsack_greedy(&choices, has, choice);
    for (uint32_t i = 0; i < map->memories; i++) {
        const option *taken = &state.item[i].option[found.found ? found.choice[i] : choice[i]];
        placement->place[i] = taken->place;
        placement->capacity_bits += taken->value;
    }
    tn_allocation_free(&found);
    return TN_OK;
}
