#include "memory/place_table.h"

#include "base/checked.h"
#include "device/build.h"
#include "layout/layout_demand.h"
#include "layout/least_rows.h"

#include <math.h>
#include <string.h>

/* What memories take, and what routes them. */
typedef struct {
    uint64_t bram18, uram, lutram, routing_lut;
} amounts;

static uint64_t capacity_bits_of(const amounts *taken) {
    return taken->bram18 * TN_MEMORY_CAPACITY_BRAM18_BITS + taken->uram * TN_MEMORY_CAPACITY_URAM_BITS;
}

static void add(amounts *sum, const amounts *taken) {
    sum->bram18 += taken->bram18;
    sum->uram += taken->uram;
    sum->lutram += taken->lutram;
    sum->routing_lut += taken->routing_lut;
}

/* Through so many read ports, to which memories are routed alike. */
static amounts times(const amounts *taken, uint64_t count) {
    return (amounts){taken->bram18 * count, taken->uram * count, taken->lutram * count, taken->routing_lut};
}

static bool is_no_more(const amounts *a, const amounts *b) {
    return a->bram18 <= b->bram18 && a->uram <= b->uram && a->lutram <= b->lutram &&
           a->routing_lut <= b->routing_lut;
}

/* Takes it into a list of which none takes no less of everything than another. */
static void keep(amounts *list, uint32_t *count, const amounts *taken) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < *count; i++)
        if (is_no_more(&list[i], taken)) return;
    for (uint32_t i = 0; i < *count; i++)
        if (!is_no_more(taken, &list[i])) list[kept++] = list[i];
    list[kept] = *taken;
    *count = kept + 1;
}

/* The places of one memory that a search tries, of which none takes less of everything than another. */
enum { SEARCHED_PLACES_MOST = 3 * 12 };
typedef struct searched_places {
    uint64_t banks; /* as which they are split at least */
    uint32_t count;
    amounts place[SEARCHED_PLACES_MOST];
    struct searched_places *next;
} searched_places;

/* Of one memory with rows of so many elements, through one read port. */
typedef struct {
    amounts *as_built;    /* [splits][styles][groups]; NULL: not asked for yet */
    tn_port_source *port; /* [splits][groups], whatever the style; likewise */
    searched_places *searched;
} line;

/* Which styles and groups the memories of a store may have. */
enum { STYLES_MOST = TN_STYLE_SHALLOW + 1, SPLITS_MOST = TN_SPLIT_AUTO + 1 };
typedef struct {
    size_t styles, groups, each; /* each: of a split */
    tn_memory_style style[STYLES_MOST];
    amounts *sum; /* [splits][styles][groups]: of the rows at hand */
} store_places;

struct tn_place_table {
    const tn_device *device;
    uint64_t word_bits;
    const tn_map *map;
    tn_known_shares *shares;
    tn_arena *arena;
    size_t splits;
    tn_array_split split[SPLITS_MOST];
    const uint64_t *group; /* [store[TN_STORE_CORES].groups] */
    store_places store[TN_STORES];
    amounts *listed[TN_STORES];     /* of a split */
    uint64_t *routing_lut;          /* [splits][groups of cores]: of all memories, of the rows at hand */
    line (*line)[TN_ROW_LOGS];      /* [map->memories]: by the logarithm of a row's elements */
    size_t room;                    /* for steps */
    tn_place_step *step;            /* of the search at hand */
    const searched_places **choice; /* [map->memories]: likewise */
};

/* ---- one memory ---- */

/* The memory in so many banks, through one read port. */
static tn_status find_share(const tn_place_table *table, uint32_t memory, const tn_place *place,
                            const tn_row *given, uint64_t banks, tn_memory_share *share, tn_error *error) {
    const tn_build one_port = {.read_ports = 1};
    tn_row row = *given;
    row.banks = row.asked_banks = banks;
    return tn_known_share(table->shares, table->device, table->word_bits, &table->map->memory[memory], &row,
                          &one_port, place, share, error);
}

static tn_status find_amounts(const tn_place_table *table, uint32_t memory, const tn_place *place,
                              const tn_row *row, uint64_t banks, amounts *taken, tn_error *error) {
    tn_memory_share share;
    TN_TRY(find_share(table, memory, place, row, banks, &share, error));
    *taken = (amounts){share.bram18, share.uram, share.lutram, 0};
    return TN_OK;
}

/* What of the memory is before a kernel: the style does not matter. */
static tn_status find_port(const tn_place_table *table, uint32_t memory, tn_array_split split, uint64_t group,
                           const tn_row *row, tn_port_source *port, tn_error *error) {
    const tn_place place = {TN_STYLE_BLOCK, split, group};
    tn_memory_share share;
    TN_TRY(find_share(table, memory, &place, row, tn_split_banks(split, row->elements), &share, error));
    *port = share.port;
    return TN_OK;
}

static size_t groups_of(const tn_place_table *table, const tn_mapped *memory) {
    return memory->grouped ? table->store[memory->store].groups : 1;
}

static tn_status fill_line(const tn_place_table *table, uint32_t m, const tn_row *row, amounts **filled,
                           tn_port_source **port, tn_error *error) {
    const tn_mapped *memory = &table->map->memory[m];
    const store_places *store = &table->store[memory->store];
    const size_t groups = groups_of(table, memory);
    amounts *taken;
    TN_TRY(TN_NEW(table->arena, table->splits * store->styles * groups, filled, error));
    taken = *filled;
    TN_TRY(TN_NEW(table->arena, table->splits * groups, port, error));
    for (size_t i = 0; i < table->splits * groups; i++)
        TN_TRY(find_port(table, m, table->split[i / groups], memory->grouped ? table->group[i % groups] : 1,
                         row, &(*port)[i], error));
    for (size_t split = 0; split < table->splits; split++) {
        const uint64_t banks = tn_split_banks(table->split[split], row->elements);
        for (size_t style = 0; style < store->styles; style++)
            for (size_t g = 0; g < groups; g++) {
                const tn_place place = {store->style[style], TN_SPLIT_RESHAPE,
                                        memory->grouped ? table->group[g] : 1};
                TN_TRY(find_amounts(table, m, &place, row, banks, taken++, error));
            }
    }
    return TN_OK;
}

static line *line_of(tn_place_table *table, uint32_t m, const tn_row *row) {
    return &table->line[m][tn_log_above(row->elements)];
}

/* ---- as the keys of a build say: one style and group for all memories of a store ---- */

static tn_status sum_stores(tn_place_table *table, const tn_row *rows, const tn_place_options *options,
                            tn_error *error) {
    for (int s = 0; s < TN_STORES; s++)
        memset(table->store[s].sum, 0, table->splits * table->store[s].each * sizeof *table->store[s].sum);
    for (uint32_t m = 0; m < table->map->memories; m++) {
        const store_places *store = &table->store[table->map->memory[m].store];
        line *its = line_of(table, m, &rows[m]);
        if (!its->as_built) TN_TRY(fill_line(table, m, &rows[m], &its->as_built, &its->port, error));
        const bool by_group = groups_of(table, &table->map->memory[m]) == store->groups;
        for (size_t split = 0; split < table->splits; split++) {
            if (!(options->splits >> table->split[split] & 1)) continue;
            const size_t first = split * store->each;
            for (size_t i = first; i < first + store->each; i++)
                add(&store->sum[i], &its->as_built[by_group ? i : i / store->groups]);
        }
    }
    return TN_OK;
}

static bool has_group(const tn_place_options *options, uint64_t group) {
    for (size_t i = 0; i < options->groups; i++)
        if (options->group[i] == group) return true;
    return options->groups == 0;
}

/* Of what is before the kernels at each split and group of cores. */
static void find_routing(tn_place_table *table, const tn_row *rows, const tn_place_options *options) {
    const size_t groups = table->store[TN_STORE_CORES].groups;
    for (size_t i = 0; i < table->splits * groups; i++) {
        tn_port_source port[TN_SIDES] = {{0}};
        table->routing_lut[i] = 0;
        if (!options->routing || !(options->splits >> table->split[i / groups] & 1) ||
            !has_group(options, table->group ? table->group[i % groups] : 1))
            continue;
        for (uint32_t m = 0; m < table->map->memories; m++) {
            const tn_mapped *memory = &table->map->memory[m];
            const line *its = line_of(table, m, &rows[m]);
            const bool one = groups_of(table, memory) == 1; /* whatever the group */
            for (int side = 0; side < TN_SIDES; side++)
                if (memory->sides >> side & 1) tn_port_add(&port[side], &its->port[one ? i / groups : i]);
        }
        table->routing_lut[i] = options->routing(options->routing_user, port);
    }
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

static uint64_t lut_of(const amounts *taken) {
    return taken->lutram + taken->routing_lut;
}

static bool fits(const amounts *taken, const tn_placement_budget *within) {
    return taken->bram18 <= within->bram18 && taken->uram <= within->uram && lut_of(taken) <= within->lut;
}

/* By which factor the budget is exceeded at most. */
static double overuse(const amounts *taken, const tn_placement_budget *within) {
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
static tn_status judge(judging *state, const amounts *taken, uint64_t capacity_bits) {
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
static uint32_t list_sums(const tn_place_table *table, int s, size_t split, const tn_place_options *options,
                          amounts *list) {
    const store_places *store = &table->store[s];
    uint32_t count = 0;
    for (size_t i = 0; i < store->each; i++) {
        const size_t group = i % store->groups;
        amounts sum = store->sum[split * store->each + i];
        if (!(options->styles[s] >> store->style[i / store->groups] & 1)) continue;
        if (s == TN_STORE_CORES) {
            if (!has_group(options, table->group ? table->group[group] : 1)) continue;
            sum.routing_lut = table->routing_lut[split * store->groups + group];
        }
        keep(list, &count, &sum);
    }
    return count;
}

static tn_status judge_as_built(judging *state, const tn_row *rows, const tn_place_options *options) {
    tn_place_table *table = state->table;
    TN_TRY(sum_stores(table, rows, options, state->error));
    find_routing(table, rows, options);
    for (size_t split = 0; split < table->splits; split++) {
        if (!(options->splits >> table->split[split] & 1)) continue;
        const amounts *of_cores = table->listed[TN_STORE_CORES],
                      *of_others = table->listed[TN_STORE_ACTIVATIONS];
        const uint32_t cores =
                           list_sums(table, TN_STORE_CORES, split, options, table->listed[TN_STORE_CORES]),
                       others = list_sums(table, TN_STORE_ACTIVATIONS, split, options,
                                          table->listed[TN_STORE_ACTIVATIONS]);
        for (uint32_t c = 0; c < cores; c++)
            for (uint32_t a = 0; a < others; a++) {
                amounts both = of_cores[c];
                add(&both, &of_others[a]);
                both = times(&both, options->read_ports);
                TN_TRY(judge(state, &both, capacity_bits_of(&both)));
            }
    }
    return TN_OK;
}

/* ---- as they are searched: each memory by itself, within the budgets ---- */

/* Whether a search takes LUTRAM for a bank of some split: at least one of single elements. */
static bool may_be_lutram(const tn_place_table *table, uint32_t m, const tn_row *row, uint64_t group) {
    const tn_mapped *memory = &table->map->memory[m];
    const uint64_t bits = memory->word_bits > 0 ? memory->word_bits : table->word_bits;
    return bits * row->depth * group <= table->device->memory.lutram_bits_most;
}

/* A search splits a memory further than the build has it laid, never less; very wide rows are laid in one bank. */
static uint64_t fewest_banks(const tn_place_options *options, uint64_t elements) {
    uint64_t fewest = elements;
    if (elements > TN_LAYOUT_BANKS_MOST) return 1;
    for (int split = 0; split < SPLITS_MOST; split++)
        if (options->splits >> split & 1)
            fewest = tn_least(fewest, tn_split_banks((tn_array_split)split, elements));
    return fewest;
}

static tn_status list_searched(const tn_place_table *table, uint32_t m, const tn_row *row,
                               searched_places *places, tn_error *error) {
    const uint64_t most = tn_placement_groups(&table->map->memory[m]);
    for (uint64_t group = 1;; group = tn_placement_next_group(group, most)) {
        for (int style = TN_STYLE_BLOCK; style <= TN_STYLE_DISTRIBUTED; style++) {
            const tn_place place = {(tn_memory_style)style, TN_SPLIT_RESHAPE, group};
            amounts taken;
            if (style == TN_STYLE_DISTRIBUTED && !may_be_lutram(table, m, row, group)) continue;
            TN_TRY(find_amounts(table, m, &place, row, places->banks, &taken, error));
            keep(places->place, &places->count, &taken);
        }
        if (group == most) return TN_OK;
    }
}

static tn_status find_searched(tn_place_table *table, uint32_t m, const tn_row *row,
                               const tn_place_options *options, const searched_places **found,
                               tn_error *error) {
    const uint64_t banks = fewest_banks(options, row->elements);
    line *its = line_of(table, m, row);
    searched_places *places = its->searched;
    while (places && places->banks != banks) places = places->next;
    if (!places) {
        TN_TRY(TN_NEW(table->arena, 1, &places, error));
        places->banks = banks;
        TN_TRY(list_searched(table, m, row, places, error));
        places->next = its->searched;
        its->searched = places;
    }
    *found = places;
    return TN_OK;
}

/* What each memory takes at the place where its blocks at these prices are cheapest. */
static double cheapest(const tn_place_table *table, const double price[2], amounts *sum) {
    double total = 0;
    *sum = (amounts){0};
    for (uint32_t m = 0; m < table->map->memories; m++) {
        double least = INFINITY;
        const amounts *taken = NULL;
        for (uint32_t i = 0; i < table->choice[m]->count; i++) {
            const amounts *one = &table->choice[m]->place[i];
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
                amounts sum;
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
static uint64_t searched_routing(const tn_place_table *table, const tn_row *rows,
                                 const tn_place_options *options) {
    tn_port_source port[TN_SIDES] = {{0}};
    if (!options->routing) return 0;
    for (uint32_t m = 0; m < table->map->memories; m++) {
        const tn_mapped *memory = &table->map->memory[m];
        const uint64_t memories = tn_ceil_div(memory->copies, tn_placement_groups(memory));
        const bool narrow = memory->word_bits > 0 && memory->word_bits < table->word_bits;
        const tn_port_source own = {
            .memories = memories, .words = rows[m].elements, .narrow = narrow ? memories : 0};
        for (int side = 0; side < TN_SIDES; side++)
            if (memory->sides >> side & 1) tn_port_add(&port[side], &own);
    }
    return options->routing(options->routing_user, port);
}

static tn_status judge_searched(judging *state, const tn_row *rows, const tn_place_options *options) {
    tn_place_table *table = state->table;
    const double ports = (double)options->read_ports,
                 budget[2] = {(double)state->within->bram18 / ports, (double)state->within->uram / ports};
    amounts least = {0};
    for (uint32_t m = 0; m < table->map->memories; m++) {
        amounts own = {UINT64_MAX, UINT64_MAX, UINT64_MAX, 0};
        TN_TRY(find_searched(table, m, &rows[m], options, &table->choice[m], state->error));
        for (uint32_t i = 0; i < table->choice[m]->count; i++) {
            lower(&own.bram18, table->choice[m]->place[i].bram18);
            lower(&own.uram, table->choice[m]->place[i].uram);
            lower(&own.lutram, table->choice[m]->place[i].lutram);
        }
        add(&least, &own);
    }
    least = times(&least, options->read_ports);
    least.routing_lut = searched_routing(table, rows, options);
    if (!fits(&least, state->within)) return judge(state, &least, capacity_bits_of(&least));
    return judge(state, &least, options->read_ports * least_capacity(table, budget));
}

/* ---- the table ---- */

tn_status tn_place_table_make(const tn_device *device, uint64_t word_bits, const tn_map *map,
                              const tn_place_options *all, tn_known_shares *shares, tn_arena *arena,
                              tn_place_table **table, tn_error *error) {
    tn_place_table *made;
    TN_TRY(TN_NEW(arena, 1, &made, error));
    *made = (tn_place_table){.device = device,
                             .word_bits = word_bits,
                             .map = map,
                             .shares = shares,
                             .arena = arena,
                             .group = all->group};
    for (int split = 0; split < SPLITS_MOST; split++)
        if (all->splits >> split & 1) made->split[made->splits++] = (tn_array_split)split;
    for (int s = 0; s < TN_STORES; s++) {
        store_places *store = &made->store[s];
        store->groups = s == TN_STORE_CORES && all->groups ? all->groups : 1;
        for (int style = 0; style < STYLES_MOST; style++)
            if (all->styles[s] >> style & 1) store->style[store->styles++] = (tn_memory_style)style;
        store->each = store->styles * store->groups;
        TN_TRY(TN_NEW(arena, made->splits * store->each, &store->sum, error));
        TN_TRY(TN_NEW(arena, store->each, &made->listed[s], error));
    }
    TN_TRY(TN_NEW(arena, made->splits * made->store[TN_STORE_CORES].groups, &made->routing_lut, error));
    TN_TRY(TN_NEW(arena, map->memories, &made->line, error));
    TN_TRY(TN_NEW(arena, map->memories, &made->choice, error));
    *table = made;
    return TN_OK;
}

tn_status tn_place_table_least(tn_place_table *table, const tn_row *rows, const tn_place_options *options,
                               const tn_placement_budget *within, tn_place_least *least, tn_error *error) {
    judging state = {.table = table, .within = within, .least = least, .nearest = INFINITY, .error = error};
    *least = (tn_place_least){0};
    if (options->as_built) TN_TRY(judge_as_built(&state, rows, options));
    if (options->searched) TN_TRY(judge_searched(&state, rows, options));
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
