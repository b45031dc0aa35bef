#include "memory/placement.h"

#include "base/checked.h"
#include "base/digest.h"
#include "knapsack/allocation.h"
#include "knapsack/branch.h"
#include "layout/layout_demand.h"

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

static uint64_t rows_of(const tn_mapped *memory, uint64_t accesses) {
    uint64_t depth = 0;
    for (uint32_t i = 0; i < memory->extents; i++)
        depth += memory->extent[i].arrays * tn_ceil_div(memory->extent[i].elements, accesses);
    return depth;
}

static shape shape_of(const tn_mapped *memory, const tn_row *row, const tn_build *build, tn_array_split split,
                      uint64_t word_bits) {
    shape form = {0};
    form.accesses = row ? row->elements : tn_mapped_accesses(memory, build);
    form.banks = row && split != TN_SPLIT_PARTITION ? row->banks : tn_split_banks(split, form.accesses);
    form.word_bits = word_bits;
    form.width_bits = word_bits * (form.accesses / form.banks);
    form.depth = row ? row->depth : rows_of(memory, form.accesses);
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

tn_status tn_place_price(const tn_device *device, uint64_t word_bits, const tn_mapped *memory,
                         const tn_row *row, const tn_build *build, const tn_place *place, tn_placed *placed,
                         tn_error *error) {
    if (memory->word_bits > 0) word_bits = memory->word_bits;
    const shape form = shape_of(memory, row, build, place->split, word_bits);
    uint64_t words = 0, group = place->group < memory->copies ? place->group : memory->copies;
    uint64_t full = memory->copies / group, rest = memory->copies % group;
    for (uint32_t i = 0; i < memory->extents; i++)
        words += memory->extent[i].arrays * memory->extent[i].elements;
    *placed = (tn_placed){.place = {place->style, row ? split_of(&form) : place->split, group},
                          .accesses = form.accesses,
                          .banks = form.banks,
                          .width_bits = form.width_bits,
                          .depth = form.depth * group,
                          .memories = full + (rest > 0),
                          .stored_bits = (double)words * (double)word_bits * (double)memory->copies};
    tn_memory_style style = place->style;
    if (rest > 0)
        TN_TRY(add_memories(device, &form, rest, build->read_ports, &style, &placed->blocks, error));
    TN_TRY(add_memories(device, &form, group, build->read_ports * full, &placed->place.style, &placed->blocks,
                        error));
    placed->capacity_bits = capacity_of(&placed->blocks);
    return TN_OK;
}

/* Groups that a search tries: 1, 2, 4, .. and of all. */
static uint64_t greatest_group(const tn_mapped *memory) {
    return memory->grouped ? tn_least(memory->copies, TN_BUILD_GROUP_MOST) : 1;
}
static uint64_t next_group(uint64_t group, uint64_t most) {
    return 2 * group < most ? 2 * group : most;
}

/* ---- the least that any of several places takes ---- */

/* What memories take. */
typedef struct {
    uint64_t bram18, uram, lutram;
} amounts;

static uint64_t capacity_bits_of(const amounts *taken) {
    return taken->bram18 * TN_MEMORY_CAPACITY_BRAM18_BITS + taken->uram * TN_MEMORY_CAPACITY_URAM_BITS;
}

typedef struct {
    const tn_device *device;
    uint64_t word_bits;
    const tn_map *map;
    const tn_row *rows;
    const tn_place_options *options;
    const tn_placement_budget *within;
    tn_build build;
    tn_place_memo *memo;
    tn_place_least *least;
    bool any_fits;  /* of the places that were looked at */
    double nearest; /* by how much the one that fits least badly is over, where none fits */
    tn_arena *arena;
    tn_error *error;
} least_search;

/* All that the blocks of a memory follow from, where its split is `reshape`. */
enum { PLACE_KEYS = 9, PLACES_KEPT = 2048 };
struct tn_place_memo {
    struct {
        uint64_t key[PLACE_KEYS]; /* the first 0: nothing is kept */
        amounts taken;
    } kept[PLACES_KEPT];
};

tn_status tn_place_memo_new(tn_arena *arena, tn_place_memo **memo, tn_error *error) {
    return TN_NEW(arena, 1, memo, error);
}

static tn_status price_row(const least_search *state, uint32_t memory, const tn_place *place,
                           const tn_row *row, amounts *taken) {
    tn_placed placed;
    TN_TRY(tn_place_price(state->device, state->word_bits, &state->map->memory[memory], row, &state->build,
                          place, &placed, state->error));
    *taken =
        (amounts){placed.blocks.bram18 + 2 * placed.blocks.bram36, placed.blocks.uram, placed.blocks.lutram};
    return TN_OK;
}

static tn_status price_at(const least_search *state, uint32_t memory, const tn_place *place, uint64_t banks,
                          amounts *taken) {
    const tn_mapped *mapped = &state->map->memory[memory];
    tn_row row = state->rows[memory];
    row.banks = row.asked_banks = banks;
    if (!state->memo) return price_row(state, memory, place, &row, taken);
    const uint64_t key[PLACE_KEYS] = {(uint64_t)(uintptr_t)state->device,
                                      row.elements,
                                      row.depth,
                                      row.unpadded_depth,
                                      banks,
                                      mapped->word_bits > 0 ? mapped->word_bits : state->word_bits,
                                      tn_least(place->group, mapped->copies),
                                      mapped->copies,
                                      2 * (8 * state->build.read_ports + (uint64_t)place->style) +
                                          (row.of_bound > 0)};
    const size_t at = tn_hash_place(tn_hash_counts(key + 1, PLACE_KEYS - 1), PLACES_KEPT);
    if (memcmp(state->memo->kept[at].key, key, sizeof key) != 0) {
        TN_TRY(price_row(state, memory, place, &row, &state->memo->kept[at].taken));
        memcpy(state->memo->kept[at].key, key, sizeof key);
    }
    *taken = state->memo->kept[at].taken;
    return TN_OK;
}

/* ---- as the keys of a build say: one style and group for all memories of a store ---- */

typedef struct {
    size_t count;
    amounts *sum; /* [count]: by style and group */
} store_places;

/* Of the memories of a store those that are grouped, or those that are not. */
static tn_status sum_store(const least_search *state, tn_store store, bool grouped, tn_memory_style style,
                           uint64_t group, tn_array_split split, amounts *sum) {
    for (uint32_t m = 0; m < state->map->memories; m++) {
        const tn_mapped *memory = &state->map->memory[m];
        const tn_place place = {style, TN_SPLIT_RESHAPE, group};
        amounts taken;
        if (memory->store != store || memory->grouped != grouped) continue;
        TN_TRY(price_at(state, m, &place, tn_split_banks(split, state->rows[m].elements), &taken));
        sum->bram18 += taken.bram18;
        sum->uram += taken.uram;
        sum->lutram += taken.lutram;
    }
    return TN_OK;
}

static tn_status list_store(const least_search *state, tn_store store, tn_array_split split,
                            store_places *places) {
    enum { STYLES_MOST = TN_STYLE_SHALLOW + 1 };
    const uint64_t alone = 1;
    const bool groups = store == TN_STORE_CORES;
    const size_t count = groups ? state->options->groups : 1;
    places->count = 0;
    TN_TRY(TN_NEW(state->arena, STYLES_MOST * count, &places->sum, state->error));
    for (int style = 0; style < STYLES_MOST; style++) {
        amounts others = {0};
        if (!(state->options->styles[store] >> style & 1)) continue;
        TN_TRY(sum_store(state, store, false, (tn_memory_style)style, alone, split, &others));
        for (size_t g = 0; g < count; g++) {
            amounts *sum = &places->sum[places->count++];
            *sum = others;
            TN_TRY(sum_store(state, store, true, (tn_memory_style)style,
                             groups ? state->options->group[g] : alone, split, sum));
        }
    }
    return TN_OK;
}

static void lower(uint64_t *least, uint64_t amount) {
    if (amount < *least) *least = amount;
}

/* By which factor the budget is exceeded at most; up to 1: it is not. */
static double overuse(const amounts *taken, const tn_placement_budget *within) {
    const double of_bram18 = (double)taken->bram18 / fmax(1, (double)within->bram18),
                 of_uram = (double)taken->uram / fmax(1, (double)within->uram);
    return taken->bram18 <= within->bram18 && taken->uram <= within->uram ? 0 : fmax(of_bram18, of_uram);
}

static void lower_by(least_search *state, const amounts *taken, uint64_t capacity_bits) {
    lower(&state->least->bram18, taken->bram18);
    lower(&state->least->uram, taken->uram);
    lower(&state->least->lutram, taken->lutram);
    lower(&state->least->capacity_bits, capacity_bits);
}

/* What fits counts; as long as nothing does, what is nearest to fitting: the reason why. */
static void judge_place(least_search *state, const amounts *taken) {
    const double over = overuse(taken, state->within);
    if (over > 0 && (state->any_fits || over >= state->nearest)) return;
    if (over > 0 || !state->any_fits)
        *state->least = (tn_place_least){UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX};
    state->any_fits = over == 0;
    state->nearest = over;
    lower_by(state, taken, capacity_bits_of(taken));
}

static tn_status lower_as_built(least_search *state, tn_array_split split) {
    store_places of[TN_STORES];
    for (int store = 0; store < TN_STORES; store++)
        TN_TRY(list_store(state, (tn_store)store, split, &of[store]));
    const store_places *cores = &of[TN_STORE_CORES], *others = &of[TN_STORE_ACTIVATIONS];
    for (size_t c = 0; c < cores->count; c++)
        for (size_t a = 0; a < others->count; a++) {
            const amounts both = {cores->sum[c].bram18 + others->sum[a].bram18,
                                  cores->sum[c].uram + others->sum[a].uram,
                                  cores->sum[c].lutram + others->sum[a].lutram};
            judge_place(state, &both);
        }
    return TN_OK;
}

/* ---- as they are searched: each memory by itself, within the budgets ---- */

/* The places of one memory, of which none takes less of everything than another. */
enum { SEARCHED_PLACES_MOST = 3 * 12 };
typedef struct {
    uint32_t count;
    amounts place[SEARCHED_PLACES_MOST];
} memory_places;

/* Whether a search takes LUTRAM for a bank of some split: at least one of single elements. */
static bool may_be_lutram(const least_search *state, uint32_t m, uint64_t group) {
    const tn_mapped *memory = &state->map->memory[m];
    const uint64_t bits = memory->word_bits > 0 ? memory->word_bits : state->word_bits;
    return bits * state->rows[m].depth * group <= state->device->memory.lutram_bits_most;
}

static bool is_no_more(const amounts *a, const amounts *b) {
    return a->bram18 <= b->bram18 && a->uram <= b->uram && a->lutram <= b->lutram;
}

static void keep_place(memory_places *places, const amounts *taken) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < places->count; i++)
        if (is_no_more(&places->place[i], taken)) return;
    for (uint32_t i = 0; i < places->count; i++)
        if (!is_no_more(taken, &places->place[i])) places->place[kept++] = places->place[i];
    places->place[kept] = *taken;
    places->count = kept + 1;
}

/* A search splits a memory further than the build has it laid, never less; very wide rows are laid in one bank. */
static uint64_t fewest_banks(const least_search *state, uint32_t m) {
    const uint64_t elements = state->rows[m].elements;
    uint64_t fewest = elements;
    if (elements > TN_LAYOUT_BANKS_MOST) return 1;
    for (int split = 0; split <= TN_SPLIT_AUTO; split++)
        if (state->options->splits >> split & 1)
            fewest = tn_least(fewest, tn_split_banks((tn_array_split)split, elements));
    return fewest;
}

static tn_status list_searched(const least_search *state, uint32_t m, memory_places *places) {
    const uint64_t most = greatest_group(&state->map->memory[m]), banks = fewest_banks(state, m);
    places->count = 0;
    for (uint64_t group = 1;; group = next_group(group, most)) {
        for (int style = TN_STYLE_BLOCK; style <= TN_STYLE_DISTRIBUTED; style++) {
            const tn_place place = {(tn_memory_style)style, TN_SPLIT_RESHAPE, group};
            amounts taken;
            if (style == TN_STYLE_DISTRIBUTED && !may_be_lutram(state, m, group)) continue;
            TN_TRY(price_at(state, m, &place, banks, &taken));
            keep_place(places, &taken);
        }
        if (group == most) return TN_OK;
    }
}

/* What each memory takes at the place where its blocks at these prices are cheapest. */
static double cheapest(const memory_places *places, uint32_t memories, const double price[2], amounts *sum) {
    double total = 0;
    *sum = (amounts){0};
    for (uint32_t m = 0; m < memories; m++) {
        double least = INFINITY;
        const amounts *taken = NULL;
        for (uint32_t i = 0; i < places[m].count; i++) {
            const amounts *one = &places[m].place[i];
            const double cost = price[0] * (double)one->bram18 + price[1] * (double)one->uram;
            if (cost >= least) continue;
            least = cost;
            taken = one;
        }
        if (!taken) continue;
        total += least;
        sum->bram18 += taken->bram18;
        sum->uram += taken->uram;
    }
    return total;
}

/* No places within the budget have less capacity than their Lagrangian at any prices p >= 0 of what is taken of it:
 *     capacity >= capacity + p . (taken - budget) >= sum over memories of min (capacity + p . taken) - p . budget.
 * Good prices are found by halving, for one budget after the other; whole blocks of BRAM round it up. */
static uint64_t least_capacity(const memory_places *places, uint32_t memories,
                               const tn_placement_budget *within) {
    enum { ROUNDS = 2, HALVINGS = 10 };
    const double block = TN_MEMORY_CAPACITY_BRAM18_BITS, unit[2] = {block, TN_MEMORY_CAPACITY_URAM_BITS},
                 budget[2] = {(double)within->bram18, (double)within->uram};
    double extra[2] = {0, 0}, best = 0;
    for (int round = 0; round < ROUNDS; round++)
        for (int k = 0; k < 2; k++) {
            double low = 0, high = 64 * block;
            for (int step = 0; step <= HALVINGS; step++) {
                amounts sum;
                extra[k] = step == 0 ? 0 : (low + high) / 2;
                const double price[2] = {unit[0] + extra[0], unit[1] + extra[1]},
                             bound = cheapest(places, memories, price, &sum) -
                                     extra[0] * fmin(budget[0], 1e15) - extra[1] * fmin(budget[1], 1e15);
                const bool is_over = (k == 0 ? (double)sum.bram18 : (double)sum.uram) > budget[k];
                best = fmax(best, bound);
                if (step == 0 && !is_over) break;
                if (step > 0) *(is_over ? &low : &high) = extra[k];
            }
        }
    return (uint64_t)ceil(best * (1 - 1e-12) / block) * TN_MEMORY_CAPACITY_BRAM18_BITS;
}

static tn_status lower_searched(least_search *state) {
    const uint32_t memories = state->map->memories;
    memory_places *places;
    amounts least = {0};
    TN_TRY(TN_NEW(state->arena, memories + 1, &places, state->error));
    for (uint32_t m = 0; m < memories; m++) {
        amounts own = {UINT64_MAX, UINT64_MAX, UINT64_MAX};
        TN_TRY(list_searched(state, m, &places[m]));
        for (uint32_t i = 0; i < places[m].count; i++) {
            lower(&own.bram18, places[m].place[i].bram18);
            lower(&own.uram, places[m].place[i].uram);
            lower(&own.lutram, places[m].place[i].lutram);
        }
        least.bram18 += own.bram18;
        least.uram += own.uram;
        least.lutram += own.lutram;
    }
    const double over = overuse(&least, state->within);
    if (over > 0) {
        judge_place(state, &least);
        return TN_OK;
    }
    if (!state->any_fits) *state->least = (tn_place_least){UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX};
    state->any_fits = true;
    lower_by(state, &least, least_capacity(places, memories, state->within));
    return TN_OK;
}

tn_status tn_places_least(const tn_device *device, uint64_t word_bits, const tn_map *map, const tn_row *rows,
                          const tn_build *build, const tn_place_options *options,
                          const tn_placement_budget *within, tn_place_memo *memo, tn_place_least *least,
                          tn_error *error) {
    least_search state = {.device = device,
                          .word_bits = word_bits,
                          .map = map,
                          .rows = rows,
                          .options = options,
                          .within = within,
                          .memo = memo,
                          .build = *build,
                          .least = least,
                          .nearest = INFINITY,
                          .error = error};
    state.build.read_ports = options->read_ports;
    *least = (tn_place_least){0};
    tn_arena arena = {0};
    state.arena = &arena;
    tn_status status = TN_OK;
    for (int split = 0; status == TN_OK && split <= TN_SPLIT_AUTO; split++)
        if (options->as_built && options->splits >> split & 1)
            status = lower_as_built(&state, (tn_array_split)split);
    if (status == TN_OK && options->searched) status = lower_searched(&state);
    tn_arena_free(&arena);
    return status;
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
            const uint64_t most = greatest_group(memory);
            for (uint64_t group = 1;; group = next_group(group, most)) {
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
