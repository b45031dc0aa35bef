#include "hardware/placement.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BUDGETS = 3, STYLES = 3, SPLITS = 2, GROUPS = 12, OPTIONS_MOST = STYLES * SPLITS * GROUPS };

typedef struct {
    tn_place place;
    double value;         /* capacity, bits */
    double need[BUDGETS]; /* block RAM, UltraRAM, LUTs */
} option;

typedef struct {
    uint32_t memory, count;
    option *option; /* cheapest first */
} item;

typedef struct {
    const tn_device *device;
    uint64_t word_bits, node_limit, nodes;
    const tn_build *build;
    tn_arena *arena;
    tn_error *error;
    uint32_t items;
    item *item;
    double budget[BUDGETS];
    double price[BUDGETS]; /* multipliers of the bound */
    double *suffix_value;  /* [items + 1]: least value of the items from here on, without and .. */
    double *suffix_priced; /* .. with the multipliers */
    double (*suffix_need)[BUDGETS];
    uint32_t *chosen, *best;
    double best_value, root_bound;
} search;

/* ---- options ---- */

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

static tn_status try_place(search *with, const tn_mapped *memory, tn_place place, item *of) {
    tn_placed placed;
    TN_TRY(tn_place_price(with->device, with->word_bits, memory, with->build, &place, &placed, with->error));
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
static tn_status list_options(search *with, const tn_mapped *memory, uint32_t position, item *of) {
    static const tn_memory_style styles[STYLES] = {TN_STYLE_BLOCK, TN_STYLE_ULTRA, TN_STYLE_DISTRIBUTED};
    *of = (item){.memory = position};
    TN_TRY(tn_arena_alloc(with->arena, OPTIONS_MOST, sizeof *of->option, &of->option, with->error));
    for (int style = 0; style < STYLES; style++)
        for (int split = 0; split < SPLITS; split++) {
            uint64_t most = memory->grouped ? memory->copies : 1, group = 1;
            if (most > TN_BUILD_GROUP_MOST) most = TN_BUILD_GROUP_MOST;
            for (;;) {
                const tn_place place = {styles[style], (tn_array_split)split, group};
                TN_TRY(try_place(with, memory, place, of));
                if (group == most) break;
                group = 2 * group < most ? 2 * group : most;
            }
        }
    qsort(of->option, of->count, sizeof *of->option, by_value);
    return TN_OK;
}

/* The greatest first: their choice decides most. */
static int by_greatest(const void *left, const void *right) {
    const item *a = left, *b = right;
    if (a->option[0].value != b->option[0].value) return a->option[0].value > b->option[0].value ? -1 : 1;
    return a->memory < b->memory ? -1 : a->memory > b->memory;
}

/* ---- bounds ---- */

static double priced(const search *with, const option *of) {
    double sum = of->value;
    for (int i = 0; i < BUDGETS; i++) sum += with->price[i] * of->need[i];
    return sum;
}

static const option *least_priced(const search *with, const item *of) {
    const option *least = &of->option[0];
    for (uint32_t i = 1; i < of->count; i++)
        if (priced(with, &of->option[i]) < priced(with, least)) least = &of->option[i];
    return least;
}

/* Multipliers by subgradient steps; every set of them gives a valid bound, the best is kept. */
static void find_prices(search *with) {
    enum { STEPS = 60 };
    double best[BUDGETS] = {0}, bound = -INFINITY;
    for (int step = 0; step < STEPS; step++) {
        double value = 0, excess[BUDGETS], norm = 0;
        for (int i = 0; i < BUDGETS; i++) excess[i] = -with->budget[i];
        for (uint32_t at = 0; at < with->items; at++) {
            const option *least = least_priced(with, &with->item[at]);
            value += priced(with, least);
            for (int i = 0; i < BUDGETS; i++) excess[i] += least->need[i];
        }
        for (int i = 0; i < BUDGETS; i++) value -= with->price[i] * with->budget[i];
        if (value > bound) {
            bound = value;
            memcpy(best, with->price, sizeof best);
        }
        for (int i = 0; i < BUDGETS; i++) norm += excess[i] * excess[i] / (1 + with->budget[i]);
        if (norm == 0) break;
        for (int i = 0; i < BUDGETS; i++) {
            double length = fabs(value) * 0.5 / (1 + step) / norm / (1 + with->budget[i]);
            with->price[i] = fmax(0, with->price[i] + length * excess[i]);
        }
    }
    memcpy(with->price, best, sizeof best);
    with->root_bound = bound;
}

static void fill_suffixes(search *with) {
    uint32_t n = with->items;
    with->suffix_value[n] = with->suffix_priced[n] = 0;
    for (int i = 0; i < BUDGETS; i++) with->suffix_need[n][i] = 0;
    for (uint32_t at = n; at-- > 0;) {
        const item *of = &with->item[at];
        with->suffix_value[at] = with->suffix_value[at + 1] + of->option[0].value;
        with->suffix_priced[at] = with->suffix_priced[at + 1] + priced(with, least_priced(with, of));
        for (int i = 0; i < BUDGETS; i++) {
            double least = of->option[0].need[i];
            for (uint32_t j = 1; j < of->count; j++) least = fmin(least, of->option[j].need[i]);
            with->suffix_need[at][i] = with->suffix_need[at + 1][i] + least;
        }
    }
    if (with->suffix_value[0] > with->root_bound) with->root_bound = with->suffix_value[0];
}

/* ---- search ---- */

static void branch(search *with, uint32_t at, double value, const double *used) {
    if (with->nodes++ >= with->node_limit) return;
    double bound = value + with->suffix_priced[at];
    for (int i = 0; i < BUDGETS; i++) {
        if (used[i] + with->suffix_need[at][i] > with->budget[i]) return;
        bound += with->price[i] * (used[i] - with->budget[i]);
    }
    /* Values are whole bits: a bound within half a bit of the best can't improve on it. */
    if (fmax(bound, value + with->suffix_value[at]) > with->best_value - 0.5) return;
    if (at == with->items) {
        with->best_value = value;
        memcpy(with->best, with->chosen, with->items * sizeof *with->best);
        return;
    }
    const item *of = &with->item[at];
    for (uint32_t i = 0; i < of->count; i++) {
        double then[BUDGETS];
        for (int j = 0; j < BUDGETS; j++) then[j] = used[j] + of->option[i].need[j];
        with->chosen[at] = i;
        branch(with, at + 1, value + of->option[i].value, then);
    }
}

static double overuse(const search *with, const double *used) {
    double sum = 0;
    for (int i = 0; i < BUDGETS; i++)
        if (used[i] > with->budget[i]) sum += (used[i] - with->budget[i]) / (1 + with->budget[i]);
    return sum;
}

/* From the cheapest options: while something is over its budget, the change that removes the most overuse for
 * its price. Ends with what fits, or with what no single change improves. */
static bool greedy(search *with) {
    double used[BUDGETS] = {0}, value = 0;
    for (uint32_t at = 0; at < with->items; at++) {
        with->best[at] = 0;
        value += with->item[at].option[0].value;
        for (int i = 0; i < BUDGETS; i++) used[i] += with->item[at].option[0].need[i];
    }
    for (;;) {
        double over = overuse(with, used), best_rate = 0, best_used[BUDGETS] = {0};
        uint32_t best_item = with->items, best_option = 0;
        if (over == 0) break;
        for (uint32_t at = 0; at < with->items; at++)
            for (uint32_t j = 0; j < with->item[at].count; j++) {
                const option *now = &with->item[at].option[with->best[at]], *to = &with->item[at].option[j];
                double then[BUDGETS];
                for (int i = 0; i < BUDGETS; i++) then[i] = used[i] - now->need[i] + to->need[i];
                double gain = over - overuse(with, then);
                if (gain <= 0) continue;
                double rate = gain / fmax(1, to->value - now->value);
                if (rate <= best_rate) continue;
                best_rate = rate;
                best_item = at;
                best_option = j;
                memcpy(best_used, then, sizeof best_used);
            }
        if (best_item == with->items) return false;
        value += with->item[best_item].option[best_option].value -
                 with->item[best_item].option[with->best[best_item]].value;
        with->best[best_item] = best_option;
        memcpy(used, best_used, sizeof used);
    }
    with->best_value = value;
    return true;
}

static tn_status make_room(search *with, uint32_t items) {
    TN_TRY(tn_arena_alloc(with->arena, items, sizeof *with->item, &with->item, with->error));
    TN_TRY(
        tn_arena_alloc(with->arena, items + 1, sizeof *with->suffix_value, &with->suffix_value, with->error));
    TN_TRY(tn_arena_alloc(with->arena, items + 1, sizeof *with->suffix_priced, &with->suffix_priced,
                          with->error));
    TN_TRY(
        tn_arena_alloc(with->arena, items + 1, sizeof *with->suffix_need, &with->suffix_need, with->error));
    TN_TRY(tn_arena_alloc(with->arena, items, sizeof *with->chosen, &with->chosen, with->error));
    return tn_arena_alloc(with->arena, items, sizeof *with->best, &with->best, with->error);
}

tn_status tn_placement_search(const tn_device *device, uint64_t word_bits, const tn_map *map,
                              const tn_build *build, const tn_placement_budget *budget, uint64_t node_limit,
                              tn_arena *arena, tn_placement *placement, tn_error *error) {
    search with = {.device = device,
                   .word_bits = word_bits,
                   .build = build,
                   .arena = arena,
                   .error = error,
                   .node_limit = node_limit,
                   .items = map->memories,
                   .budget = {(double)budget->bram18, (double)budget->uram, (double)budget->lut},
                   .best_value = INFINITY};
    const double nothing[BUDGETS] = {0};
    TN_TRY(make_room(&with, map->memories));
    for (uint32_t i = 0; i < map->memories; i++)
        TN_TRY(list_options(&with, &map->memory[i], i, &with.item[i]));
    qsort(with.item, with.items, sizeof *with.item, by_greatest);
    find_prices(&with);
    fill_suffixes(&with);
    bool started = greedy(&with);
    branch(&with, 0, 0, nothing);
    *placement = (tn_placement){.exact = with.nodes < with.node_limit, .bound_bits = with.root_bound};
    placement->fits = started || isfinite(with.best_value);
    TN_TRY(tn_arena_alloc(arena, map->memories, sizeof *placement->place, &placement->place, error));
    for (uint32_t i = 0; i < with.items; i++) {
        const option *taken = &with.item[i].option[with.best[i]];
        placement->place[with.item[i].memory] = taken->place;
        placement->capacity_bits += taken->value;
    }
    if (placement->exact && placement->fits) placement->bound_bits = placement->capacity_bits;
    return TN_OK;
}
