#include "memory/place_table.h"

#include "base/checked.h"
#include "layout/layout_demand.h"
#include "layout/least_rows.h"
#include "memory/place_lines.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint64_t capacity_bits_of(const tn_amounts *taken) {
    return taken->bram18 * TN_MEMORY_CAPACITY_BRAM18_BITS + taken->uram * TN_MEMORY_CAPACITY_URAM_BITS;
}

static void add(tn_amounts *sum, const tn_amounts *taken) {
    sum->bram18 += taken->bram18;
    sum->uram += taken->uram;
    sum->lutram += taken->lutram;
    sum->routing_lut += taken->routing_lut;
}

/* Through so many read ports, to which memories are routed alike. */
static tn_amounts times(const tn_amounts *taken, uint64_t count) {
    return (tn_amounts){taken->bram18 * count, taken->uram * count, taken->lutram * count,
                        taken->routing_lut};
}

/* Of all memories as they are searched, under some splits and read ports. */
typedef struct searched_sums {
    unsigned splits;
    uint64_t read_ports;
    tn_placement_budget within;
    tn_amounts least; /* without routing */
    tn_port_source port[TN_SIDES];
    uint64_t capacity_bits; /* at least, where that fits */
    struct searched_sums *next;
} searched_sums;

/* LUTs between them and the kernels of some builds. */
typedef struct routed_sums {
    uint64_t kernels;
    uint64_t *lut; /* [splits][groups of cores]; UINT64_MAX: not asked for yet */
    struct routed_sums *next;
} routed_sums;

/* Of memories as built. */
typedef struct built_sums {
    uint32_t sides;                   /* bit i: some memory is on side i (tn_side) */
    tn_amounts *store[TN_STORES];     /* [splits][styles][groups]; NULL: not asked for yet */
    tn_port_source (*port)[TN_SIDES]; /* [splits][groups of cores]; likewise */
} built_sums;

/* Of all memories with rows that have a number. */
typedef struct row_sums {
    built_sums built;
    routed_sums *routed;
    searched_sums *searched;
} row_sums;

/* A memory of the map. */
typedef struct {
    const tn_mapped *memory;
    uint32_t index,
        count; /* count: how many take as much with the rows at hand; 0: it is among those of another */
} alike;

struct tn_place_table {
    tn_lined_places places;
    tn_arena *arena;
    tn_amounts *listed[TN_STORES];      /* of a split */
    bool *has_group;                    /* [groups of cores]: the options at hand have it */
    tn_place_line (*line)[TN_ROW_LOGS]; /* [map->memories]: by the logarithm of a row's elements */
    uint32_t kinds;                     /* of rows: memories of a kind have equal ones */
    uint32_t *begin;                    /* [kinds + 1]: the first member of each, */
    uint32_t *member;                   /* [map->memories]: memories by kind */
    built_sums (*of_kind)[TN_ROW_LOGS]; /* [kinds] */
    alike *order;                      /* [map->memories]: those that are alike but for their rows together */
    size_t numbers;                    /* of rows */
    row_sums **sums;                   /* [numbers]; NULL: not asked for yet */
    size_t room;                       /* for steps */
    tn_place_step *step;               /* of the search at hand */
    const tn_searched_places **choice; /* [map->memories]: likewise, in their order */
};

static tn_place_line *line_of(tn_place_table *table, uint32_t m, const tn_row *row) {
    return &table->line[m][tn_log_above(row->elements)];
}

/* ---- as the keys of a build say: one style and group for all memories of a store ---- */

static tn_status begin_built(const tn_place_table *table, built_sums *sums, tn_error *error) {
    const tn_lined_places *places = &table->places;
    *sums = (built_sums){0};
    for (int s = 0; s < TN_STORES; s++)
        TN_TRY(TN_NEW(table->arena, places->splits * places->store[s].each, &sums->store[s], error));
    return TN_NEW(table->arena, places->splits * places->store[TN_STORE_CORES].groups, &sums->port, error);
}

static tn_status add_memory(tn_place_table *table, uint32_t m, const tn_row *row, built_sums *sums,
                            tn_error *error) {
    const tn_lined_places *places = &table->places;
    const tn_mapped *memory = &places->map->memory[m];
    const tn_store_places *store = &places->store[memory->store];
    const size_t groups = tn_lined_groups(places, memory), cores = places->store[TN_STORE_CORES].groups;
    tn_place_line *own = line_of(table, m, row);
    sums->sides |= memory->sides;
    if (!own->as_built) TN_TRY(tn_place_line_fill(places, m, row, table->arena, own, error));
    for (size_t i = 0; i < places->splits * store->each; i++)
        add(&sums->store[memory->store][i], &own->as_built[groups == store->groups ? i : i / store->groups]);
    for (size_t i = 0; i < places->splits * cores; i++)
        for (int side = 0; side < TN_SIDES; side++)
            if (memory->sides >> side & 1)
                tn_port_add(&sums->port[i][side], &own->port[groups == 1 ? i / cores : i]);
    return TN_OK;
}

static void add_built(const tn_place_table *table, const built_sums *more, built_sums *sums) {
    const tn_lined_places *places = &table->places;
    for (int s = 0; s < TN_STORES; s++)
        for (size_t i = 0; i < places->splits * places->store[s].each; i++)
            add(&sums->store[s][i], &more->store[s][i]);
    for (size_t i = 0; i < places->splits * places->store[TN_STORE_CORES].groups; i++)
        for (int side = 0; side < TN_SIDES; side++)
            if (more->sides >> side & 1) tn_port_add(&sums->port[i][side], &more->port[i][side]);
}

/* Memories of a kind, as they were summed before with rows as long. */
static tn_status add_kind(tn_place_table *table, uint32_t kind, const tn_row *rows, built_sums *sums,
                          tn_error *error) {
    const uint32_t begin = table->begin[kind], end = table->begin[kind + 1], first = table->member[begin];
    if (end == begin + 1) return add_memory(table, first, &rows[first], sums, error);
    built_sums *own = &table->of_kind[kind][tn_log_above(rows[first].elements)];
    if (!own->port) {
        built_sums made;
        TN_TRY(begin_built(table, &made, error));
        for (uint32_t i = begin; i < end; i++)
            TN_TRY(add_memory(table, table->member[i], &rows[table->member[i]], &made, error));
        *own = made;
    }
    add_built(table, own, sums);
    return TN_OK;
}

/* Under all splits, styles and groups of the table. */
static tn_status sum_memories(tn_place_table *table, const tn_row *rows, built_sums *sums, tn_error *error) {
    built_sums made;
    TN_TRY(begin_built(table, &made, error));
    for (uint32_t k = 0; k < table->kinds; k++) TN_TRY(add_kind(table, k, rows, &made, error));
    *sums = made;
    return TN_OK;
}

/* What is known of rows of that number; number 0: nothing. */
static tn_status find_sums(tn_place_table *table, uint32_t number, row_sums **sums, tn_error *error) {
    if (number >= table->numbers) {
        const size_t numbers = 2 * (size_t)number + 1;
        row_sums **grown;
        TN_TRY(TN_NEW(table->arena, numbers, &grown, error));
        if (table->numbers) memcpy(grown, table->sums, table->numbers * sizeof(row_sums *));
        table->sums = grown;
        table->numbers = numbers;
    }
    if (number == 0 || !table->sums[number]) TN_TRY(TN_NEW(table->arena, 1, &table->sums[number], error));
    *sums = table->sums[number];
    return TN_OK;
}

/* Which groups of cores some build of the options has. */
static void find_groups(const tn_place_table *table, const tn_place_options *options) {
    const tn_lined_places *places = &table->places;
    for (size_t i = 0; i < places->store[TN_STORE_CORES].groups; i++) {
        table->has_group[i] = options->groups == 0 || !places->group;
        for (size_t k = 0; k < options->groups && !table->has_group[i]; k++)
            table->has_group[i] = tn_least(options->group[k], places->copies) == places->group[i];
    }
}

/* Of what is before the kernels at each split and group of cores that the options have. */
static tn_status find_routing(const tn_place_table *table, row_sums *sums, const tn_place_options *options,
                              const uint64_t **lut, tn_error *error) {
    const size_t groups = table->places.store[TN_STORE_CORES].groups, all = table->places.splits * groups;
    routed_sums *routed = sums->routed;
    while (routed && routed->kernels != options->kernels) routed = routed->next;
    if (!routed) {
        TN_TRY(TN_NEW(table->arena, 1, &routed, error));
        TN_TRY(TN_NEW(table->arena, all, &routed->lut, error));
        for (size_t i = 0; i < all; i++) routed->lut[i] = options->routing ? UINT64_MAX : 0;
        routed->kernels = options->kernels;
        routed->next = sums->routed;
        sums->routed = routed;
    }
    *lut = routed->lut;
    for (size_t split = 0; split < table->places.splits; split++) {
        if (!(options->splits >> table->places.split[split] & 1)) continue;
        for (size_t group = 0; group < groups; group++) {
            const size_t i = split * groups + group;
            if (routed->lut[i] == UINT64_MAX && table->has_group[group])
                routed->lut[i] = options->routing(options->routing_user, sums->built.port[i]);
        }
    }
    return TN_OK;
}

/* The least so far. */
typedef struct {
    tn_place_table *table;
    const tn_placement_budget *within;
    tn_place_least *least;
    bool any_fits;  /* of the places that were looked at */
    double nearest; /* by how much the one that fits least badly is over, where none fits */
    tn_error *error;
} judging;

static void lower(uint64_t *least, uint64_t amount) {
    if (amount < *least) *least = amount;
}

static uint64_t lut_of(const tn_amounts *taken) {
    return taken->lutram + taken->routing_lut;
}

static bool fits(const tn_amounts *taken, const tn_placement_budget *within) {
    return taken->bram18 <= within->bram18 && taken->uram <= within->uram && lut_of(taken) <= within->lut;
}

/* By which factor the budget is exceeded at most. */
static double overuse(const tn_amounts *taken, const tn_placement_budget *within) {
    const double of_bram18 = (double)taken->bram18 / fmax(1, (double)within->bram18),
                 of_uram = (double)taken->uram / fmax(1, (double)within->uram),
                 of_lut = (double)lut_of(taken) / fmax(1, (double)within->lut);
    return fmax(of_bram18, fmax(of_uram, of_lut));
}

/* A step, unless one takes no more LUTs and has no more capacity; those that it is so to go. */
static tn_status add_step(judging *state, uint64_t lut, uint64_t capacity_bits) {
    tn_place_table *table = state->table;
    uint32_t *steps = &state->least->steps, place = 0, behind;
    while (place < *steps && table->step[place].lut <= lut) place++;
    if (place > 0 && table->step[place - 1].capacity_bits <= capacity_bits) return TN_OK;
    if (place > 0 && table->step[place - 1].lut == lut) place--;
    behind = place;
    while (behind < *steps && table->step[behind].capacity_bits >= capacity_bits) behind++;
    if (*steps + 1 > table->room) {
        tn_place_step *grown;
        const size_t room = 2 * table->room + 16;
        TN_TRY(TN_NEW(table->arena, room, &grown, state->error));
        if (*steps) memcpy(grown, table->step, *steps * sizeof *grown);
        table->step = grown;
        table->room = room;
    }
    memmove(&table->step[place + 1], &table->step[behind], (*steps - behind) * sizeof *table->step);
    table->step[place] = (tn_place_step){lut, capacity_bits};
    *steps = *steps - (behind - place) + 1;
    return TN_OK;
}

/* What fits counts; as long as nothing does, what is nearest to fitting: the reason why. */
static tn_status judge(judging *state, const tn_amounts *taken, uint64_t capacity_bits) {
    tn_place_least *least = state->least;
    const bool fit = fits(taken, state->within);
    if (!fit) {
        const double over = overuse(taken, state->within);
        if (state->any_fits || over >= state->nearest) return TN_OK;
        state->nearest = over;
    }
    if (!fit || !state->any_fits)
        *least =
            (tn_place_least){UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, 0, NULL};
    state->any_fits = fit;
    lower(&least->bram18, taken->bram18);
    lower(&least->uram, taken->uram);
    lower(&least->lutram, taken->lutram);
    lower(&least->routing_lut, taken->routing_lut);
    lower(&least->lut, lut_of(taken));
    lower(&least->capacity_bits, capacity_bits);
    return add_step(state, lut_of(taken), capacity_bits);
}

/* What the memories of a store take at the places that the options have. */
static uint32_t list_sums(const tn_place_table *table, const row_sums *sums, const uint64_t *routing_lut,
                          int s, size_t split, const tn_place_options *options, tn_amounts *list) {
    const tn_store_places *store = &table->places.store[s];
    uint32_t count = 0;
    for (size_t style = 0; style < store->styles; style++) {
        const tn_amounts *own = sums->built.store[s] + split * store->each + style * store->groups;
        if (!(options->styles[s] >> store->style[style] & 1)) continue;
        for (size_t group = 0; group < store->groups; group++) {
            tn_amounts sum = own[group];
            if (s == TN_STORE_CORES) {
                if (!table->has_group[group]) continue;
                sum.routing_lut = routing_lut[split * store->groups + group];
            }
            tn_amounts_keep(list, &count, &sum);
        }
    }
    return count;
}

static tn_status judge_as_built(judging *state, const tn_row *rows, row_sums *sums,
                                const tn_place_options *options) {
    tn_place_table *table = state->table;
    const uint64_t *lut;
    if (!sums->built.port) TN_TRY(sum_memories(table, rows, &sums->built, state->error));
    find_groups(table, options);
    TN_TRY(find_routing(table, sums, options, &lut, state->error));
    for (size_t split = 0; split < table->places.splits; split++) {
        if (!(options->splits >> table->places.split[split] & 1)) continue;
        const tn_amounts *of_cores = table->listed[TN_STORE_CORES],
                         *of_others = table->listed[TN_STORE_ACTIVATIONS];
        const uint32_t cores = list_sums(table, sums, lut, TN_STORE_CORES, split, options,
                                         table->listed[TN_STORE_CORES]),
                       others = list_sums(table, sums, lut, TN_STORE_ACTIVATIONS, split, options,
                                          table->listed[TN_STORE_ACTIVATIONS]);
        for (uint32_t c = 0; c < cores; c++)
            for (uint32_t a = 0; a < others; a++) {
                tn_amounts both = of_cores[c];
                add(&both, &of_others[a]);
                both = times(&both, options->read_ports);
                TN_TRY(judge(state, &both, capacity_bits_of(&both)));
            }
    }
    return TN_OK;
}

/* ---- as they are searched: each memory by itself, within the budgets ---- */

/* Memories that are alike but for their rows come behind each other. */
static int compare_alike(const tn_mapped *a, const tn_mapped *b) {
    const uint64_t of_a[] = {a->store, a->grouped, a->copies, a->word_bits, a->sides},
                   of_b[] = {b->store, b->grouped, b->copies, b->word_bits, b->sides};
    for (size_t i = 0; i < sizeof of_a / sizeof *of_a; i++)
        if (of_a[i] != of_b[i]) return of_a[i] < of_b[i] ? -1 : 1;
    return 0;
}

static int by_likeness(const void *a, const void *b) {
    const alike *x = a, *y = b;
    const int order = compare_alike(x->memory, y->memory);
    return order ? order : (x->index > y->index) - (x->index < y->index);
}

static tn_status order_memories(tn_place_table *table, tn_error *error) {
    const uint32_t memories = table->places.map->memories;
    TN_TRY(TN_NEW(table->arena, memories, &table->order, error));
    for (uint32_t m = 0; m < memories; m++) table->order[m] = (alike){&table->places.map->memory[m], m, 0};
    if (memories) qsort(table->order, memories, sizeof *table->order, by_likeness);
    return TN_OK;
}

static bool is_same_row(const tn_row *a, const tn_row *b) {
    return a->elements == b->elements && a->depth == b->depth && a->unpadded_depth == b->unpadded_depth &&
           a->of_bound == b->of_bound;
}

/* The first memory of those that take as much as others before them counts them, which count none. */
static void count_alike(tn_place_table *table, const tn_row *rows) {
    uint32_t first = 0;
    for (uint32_t i = 0; i < table->places.map->memories; i++) {
        alike *own = &table->order[i];
        if (compare_alike(own->memory, table->order[first].memory) != 0) first = i;
        uint32_t k = first;
        while (k < i &&
               !(table->order[k].count > 0 && is_same_row(&rows[own->index], &rows[table->order[k].index])))
            k++;
        own->count = 0;
        table->order[k].count++;
    }
}

static void add_times(tn_amounts *sum, const tn_amounts *taken, uint64_t count) {
    sum->bram18 += taken->bram18 * count;
    sum->uram += taken->uram * count;
    sum->lutram += taken->lutram * count;
}

/* What each memory takes at the place where its blocks at these prices are cheapest. */
static double cheapest(const tn_place_table *table, const double price[2], tn_amounts *sum) {
    double total = 0;
    *sum = (tn_amounts){0};
    for (uint32_t m = 0; m < table->places.map->memories; m++) {
        const uint32_t count = table->order[m].count;
        double least = INFINITY;
        const tn_amounts *taken = NULL;
        for (uint32_t i = 0; count > 0 && i < table->choice[m]->count; i++) {
            const tn_amounts *one = &table->choice[m]->place[i];
            const double cost = price[0] * (double)one->bram18 + price[1] * (double)one->uram;
            if (cost >= least) continue;
            least = cost;
            taken = one;
        }
        if (!taken) continue;
        total += count * least;
        sum->bram18 += count * taken->bram18;
        sum->uram += count * taken->uram;
    }
    return total;
}

/* No places within the budget have less capacity than their Lagrangian at any prices p >= 0 of what is taken of it:
 *     capacity >= capacity + p . (taken - budget) >= sum over memories of min (capacity + p . taken) - p . budget.
 * Good prices are found by halving, for one budget after the other; whole blocks of BRAM round it up. Budgets are those of one
 * read port. */
static uint64_t least_capacity(const tn_place_table *table, const double budget[2]) {
    enum { ROUNDS = 2, HALVINGS = 10 };
    const double block = TN_MEMORY_CAPACITY_BRAM18_BITS, unit[2] = {block, TN_MEMORY_CAPACITY_URAM_BITS};
    double extra[2] = {0, 0}, best = 0;
    for (int round = 0; round < ROUNDS; round++)
        for (int k = 0; k < 2; k++) {
            double low = 0, high = 64 * block;
            for (int step = 0; step <= HALVINGS; step++) {
                tn_amounts sum;
                extra[k] = step == 0 ? 0 : (low + high) / 2;
                const double price[2] = {unit[0] + extra[0], unit[1] + extra[1]},
                             bound = cheapest(table, price, &sum) - extra[0] * fmin(budget[0], 1e15) -
                                     extra[1] * fmin(budget[1], 1e15);
                const bool is_over = (k == 0 ? (double)sum.bram18 : (double)sum.uram) > budget[k];
                best = fmax(best, bound);
                if (step == 0 && !is_over) break;
                if (step > 0) *(is_over ? &low : &high) = extra[k];
            }
        }
    return (uint64_t)ceil(best * (1 - 1e-12) / block) * TN_MEMORY_CAPACITY_BRAM18_BITS;
}

/* Copies are grouped as far as they can be, and nothing need be rotated. */
static void add_searched_port(const tn_place_table *table, const alike *its, const tn_row *row,
                              tn_port_source port[TN_SIDES]) {
    const tn_mapped *memory = its->memory;
    const uint64_t memories = its->count * tn_ceil_div(memory->copies, tn_placement_groups(memory));
    const bool narrow = memory->word_bits > 0 && memory->word_bits < table->places.word_bits;
    const tn_port_source own = {
        .memories = memories, .words = row->elements, .narrow = narrow ? memories : 0};
    for (int side = 0; side < TN_SIDES; side++)
        if (memory->sides >> side & 1) tn_port_add(&port[side], &own);
}

static tn_status sum_searched(tn_place_table *table, const tn_row *rows, const tn_place_options *options,
                              searched_sums *sums, tn_error *error) {
    count_alike(table, rows);
    for (uint32_t m = 0; m < table->places.map->memories; m++) {
        const alike *its = &table->order[m];
        const tn_row *row = &rows[its->index];
        tn_amounts own = {UINT64_MAX, UINT64_MAX, UINT64_MAX, 0};
        if (its->count == 0) continue;
        TN_TRY(tn_place_line_search(&table->places, its->index, row, options->splits, table->arena,
                                    line_of(table, its->index, row), &table->choice[m], error));
        for (uint32_t i = 0; i < table->choice[m]->count; i++) {
            lower(&own.bram18, table->choice[m]->place[i].bram18);
            lower(&own.uram, table->choice[m]->place[i].uram);
            lower(&own.lutram, table->choice[m]->place[i].lutram);
        }
        add_times(&sums->least, &own, its->count);
        add_searched_port(table, its, row, sums->port);
    }
    sums->least = times(&sums->least, options->read_ports);
    return TN_OK;
}

static searched_sums *recall_searched(const row_sums *sums, const tn_place_options *options,
                                      const tn_placement_budget *within) {
    searched_sums *its = sums->searched;
    while (its && (its->splits != options->splits || its->read_ports != options->read_ports ||
                   memcmp(&its->within, within, sizeof *within) != 0))
        its = its->next;
    return its;
}

/* Their capacity is looked for beside their other sums, whether it is asked for or not: it needs the same rows. */
static tn_status find_searched_sums(const judging *state, const tn_row *rows, row_sums *sums,
                                    const tn_place_options *options, const searched_sums **found) {
    tn_place_table *table = state->table;
    searched_sums *its = recall_searched(sums, options, state->within);
    *found = its;
    if (its) return TN_OK;
    TN_TRY(TN_NEW(table->arena, 1, &its, state->error));
    its->splits = options->splits;
    its->read_ports = options->read_ports;
    its->within = *state->within;
    TN_TRY(sum_searched(table, rows, options, its, state->error));
    const double ports = (double)options->read_ports,
                 budget[2] = {(double)state->within->bram18 / ports, (double)state->within->uram / ports};
    its->capacity_bits = fits(&its->least, state->within)
                             ? options->read_ports * least_capacity(table, budget)
                             : capacity_bits_of(&its->least);
    its->next = sums->searched;
    *found = sums->searched = its;
    return TN_OK;
}

static tn_status judge_searched(judging *state, const tn_row *rows, row_sums *sums,
                                const tn_place_options *options) {
    const searched_sums *searched;
    TN_TRY(find_searched_sums(state, rows, sums, options, &searched));
    tn_amounts least = searched->least;
    if (options->routing) least.routing_lut = options->routing(options->routing_user, searched->port);
    return judge(state, &least,
                 fits(&least, state->within) ? searched->capacity_bits : capacity_bits_of(&least));
}

bool tn_place_table_knows(const tn_place_table *table, uint32_t number, const tn_place_options *options,
                          const tn_placement_budget *within) {
    const row_sums *sums = number > 0 && number < table->numbers ? table->sums[number] : NULL;
    return sums && (!options->as_built || sums->built.port) &&
           (!options->searched || recall_searched(sums, options, within));
}

/* ---- the table ---- */

/* kind_of[map->memories]; NULL: each is of its own. */
static tn_status list_kinds(tn_place_table *table, const uint32_t *kind_of, tn_error *error) {
    const uint32_t memories = table->places.map->memories;
    for (uint32_t m = 0; m < memories; m++)
        table->kinds = (uint32_t)tn_greatest(table->kinds, 1 + (uint64_t)(kind_of ? kind_of[m] : m));
    TN_TRY(TN_NEW(table->arena, (size_t)table->kinds + 2, &table->begin, error));
    TN_TRY(TN_NEW(table->arena, memories, &table->member, error));
    TN_TRY(TN_NEW(table->arena, table->kinds, &table->of_kind, error));
    uint32_t *end =
        table->begin + 1; /* while members are listed the end of each kind is the next one's beginning */
    for (uint32_t m = 0; m < memories; m++) end[(kind_of ? kind_of[m] : m) + 1]++;
    for (uint32_t k = 0; k < table->kinds; k++) end[k + 1] += end[k];
    for (uint32_t m = 0; m < memories; m++) table->member[end[kind_of ? kind_of[m] : m]++] = m;
    return TN_OK;
}

tn_status tn_place_table_make(const tn_device *device, uint64_t word_bits, const tn_map *map,
                              const uint32_t *row_kind, const tn_place_options *all, tn_known_shares *shares,
                              tn_known_lines *lines, tn_arena *arena, tn_place_table **table,
                              tn_error *error) {
    tn_place_table *made;
    TN_TRY(TN_NEW(arena, 1, &made, error));
    *made = (tn_place_table){
        .places = {.device = device, .word_bits = word_bits, .map = map, .shares = shares, .known = lines},
        .arena = arena};
    TN_TRY(tn_lined_places_find(all, arena, &made->places, error));
    for (int store = 0; store < TN_STORES; store++)
        TN_TRY(TN_NEW(arena, made->places.store[store].each, &made->listed[store], error));
    TN_TRY(TN_NEW(arena, made->places.store[TN_STORE_CORES].groups, &made->has_group, error));
    TN_TRY(TN_NEW(arena, map->memories, &made->line, error));
    TN_TRY(TN_NEW(arena, map->memories, &made->choice, error));
    TN_TRY(order_memories(made, error));
    TN_TRY(list_kinds(made, row_kind, error));
    *table = made;
    return TN_OK;
}

tn_status tn_place_table_least(tn_place_table *table, const tn_row *rows, uint32_t number,
                               const tn_place_options *options, const tn_placement_budget *within,
                               tn_place_least *least, tn_error *error) {
    judging state = {.table = table, .within = within, .least = least, .nearest = INFINITY, .error = error};
    row_sums *sums;
    *least = (tn_place_least){0};
    TN_TRY(find_sums(table, number, &sums, error));
    if (options->as_built) TN_TRY(judge_as_built(&state, rows, sums, options));
    if (options->searched) TN_TRY(judge_searched(&state, rows, sums, options));
    if (least->steps == 0) return TN_OK;
    tn_place_step *step;
    TN_TRY(TN_NEW(table->arena, least->steps, &step, error));
    memcpy(step, table->step, least->steps * sizeof *step);
    least->step = step;
    return TN_OK;
}

uint64_t tn_place_least_capacity(const tn_place_least *least, uint64_t lut) {
    uint32_t place = least->steps;
    while (place > 0 && least->step[place - 1].lut > lut) place--;
    return place ? least->step[place - 1].capacity_bits : UINT64_MAX;
}
