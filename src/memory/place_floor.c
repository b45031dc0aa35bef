#include "memory/place_floor.h"

#include "layout/layout_demand.h"

#include <math.h>
#include <string.h>

/* Block RAM in blocks of 18 Kbit, UltraRAM, LUTs. */
enum { KINDS = 3 };
static const tn_memory_style style_of[KINDS] = {TN_STYLE_BLOCK, TN_STYLE_ULTRA, TN_STYLE_DISTRIBUTED};

/* So many memories of equal copies, and one of the rest: what one takes in each style alone. */
typedef struct {
    double times;
    const double *full, *rest; /* [KINDS] */
} grouping;

typedef struct {
    const tn_device *device;
    tn_known_shares *shares;
    uint64_t word_bits;
    const tn_build *least;
    uint32_t widest_log;
    double budget[KINDS];
    tn_error *error;
} finder;

/* The groupings of one memory of the map. */
typedef struct {
    size_t count;
    grouping *way;
} memory_ways;

static double amount_of(const tn_memory_share *share, int kind) {
    const uint64_t amount[KINDS] = {share->bram18, share->uram, share->lutram};
    return (double)amount[kind];
}

/* One memory that so many copies share; what the device has none of is of no use. */
static tn_status find_least(const finder *state, const tn_mapped *memory, uint64_t copies,
                            double least[KINDS]) {
    const tn_build one_port = {.read_ports = 1};
    tn_mapped shared = *memory;
    uint64_t depth = UINT64_MAX;
    shared.copies = copies;
    for (int k = 0; k < KINDS; k++) least[k] = INFINITY;
    for (uint32_t log = tn_log_above(tn_mapped_row(memory, state->least)); log <= state->widest_log; log++) {
        const uint64_t elements = UINT64_C(1) << log, rows = tn_mapped_rows(memory, elements);
        const tn_row row = {.elements = elements,
                            .banks = 1,
                            .depth = rows,
                            .asked_banks = 1,
                            .unpadded_depth = rows,
                            .of_bound = 1};
        if (rows == depth) break; /* wider for nothing */
        depth = rows;
        for (int k = 0; k < KINDS; k++) {
            const tn_place place = {style_of[k], TN_SPLIT_RESHAPE, copies};
            tn_memory_share share;
            if (state->budget[k] <= 0) continue;
            TN_TRY(tn_known_share(state->shares, state->device, state->word_bits, &shared, &row, &one_port,
                                  &place, &share, state->error));
            least[k] = fmin(least[k], amount_of(&share, k));
        }
    }
    return TN_OK;
}

/* The same, found once for each number of copies: known[copies + 1], where an unknown one has zeros, as no copies do. */
static tn_status recall_least(const finder *state, const tn_mapped *memory, uint64_t copies,
                              double (*known)[KINDS], const double **least) {
    *least = known[copies];
    return copies > 0 && known[copies][0] == 0 ? find_least(state, memory, copies, known[copies]) : TN_OK;
}

static tn_status add_way(const finder *state, const tn_mapped *memory, uint64_t group, double (*known)[KINDS],
                         memory_ways *ways) {
    grouping *way = &ways->way[ways->count++];
    way->times = (double)(memory->copies / group);
    TN_TRY(recall_least(state, memory, group, known, &way->full));
    return recall_least(state, memory, memory->copies % group, known, &way->rest);
}

static tn_status list_ways(const finder *state, const tn_mapped *memory, size_t groups, const uint64_t *group,
                           tn_arena *scratch, memory_ways *ways) {
    enum { SEARCHED_MOST = 64 };
    const uint64_t most = tn_placement_groups(memory);
    double(*known)[KINDS];
    TN_TRY(TN_NEW(scratch, memory->grouped ? groups + SEARCHED_MOST : 1, &ways->way, state->error));
    TN_TRY(TN_NEW(scratch, (memory->grouped ? memory->copies : 1) + 1, &known, state->error));
    for (uint64_t searched = 1;; searched = tn_placement_next_group(searched, most)) {
        TN_TRY(add_way(state, memory, searched, known, ways));
        if (searched == most) break;
    }
    for (size_t i = 0; memory->grouped && i < groups; i++)
        if (group[i] < memory->copies) TN_TRY(add_way(state, memory, group[i], known, ways));
    return TN_OK;
}

/* The kind that the part is cheapest in. */
static int cheapest_kind(const double price[KINDS], const double taken[KINDS]) {
    int best = 0;
    for (int k = 1; k < KINDS; k++)
        if (price[k] * taken[k] < price[best] * taken[best]) best = k;
    return best;
}

static double cost_of(const double price[KINDS], const grouping *way) {
    const int full = cheapest_kind(price, way->full), rest = cheapest_kind(price, way->rest);
    return way->times * price[full] * way->full[full] + price[rest] * way->rest[rest];
}

/* What all memories cost at least, and what they take then. */
static double cheapest(const memory_ways *ways, uint32_t memories, const double price[KINDS],
                       double taken[KINDS]) {
    double total = 0;
    memset(taken, 0, KINDS * sizeof *taken);
    for (uint32_t m = 0; m < memories; m++) {
        const grouping *best = ways[m].way;
        for (size_t i = 1; i < ways[m].count; i++)
            if (cost_of(price, &ways[m].way[i]) < cost_of(price, best)) best = &ways[m].way[i];
        const int full = cheapest_kind(price, best->full), rest = cheapest_kind(price, best->rest);
        taken[full] += best->times * best->full[full];
        taken[rest] += best->rest[rest];
        total += cost_of(price, best);
    }
    return total;
}

/* Raises the prices of what is used beyond its budget, and lowers the others, until the cheapest is too dear, or fits. */
static tn_memory_style judge(const finder *state, const memory_ways *ways, uint32_t memories) {
    enum { ROUNDS = 40 };
    static const double slack = 1e-9; /* rounding */
    double price[KINDS], taken[KINDS];
    for (int k = 0; k < KINDS; k++) price[k] = state->budget[k] > 0 ? 1 / state->budget[k] : 1;
    for (int round = 0; round < ROUNDS; round++) {
        const double total = cheapest(ways, memories, price, taken);
        double affordable = 0, most = 1;
        int shortest = KINDS;
        for (int k = 0; k < KINDS; k++) {
            if (state->budget[k] <= 0) continue;
            const double share = taken[k] / state->budget[k];
            affordable += price[k] * state->budget[k];
            if (share > most) {
                most = share;
                shortest = k;
            }
            price[k] *= sqrt(fmax(share, 0.25));
        }
        if (total > affordable * (1 + slack)) return style_of[shortest < KINDS ? shortest : 0];
        if (shortest == KINDS) break;
    }
    return TN_STYLE_AUTO;
}

tn_status tn_place_floor_find(const tn_device *device, tn_known_shares *shares, uint64_t word_bits,
                              const tn_map *map, const tn_build *least, const tn_build *greatest,
                              size_t groups, const uint64_t *group, const tn_placement_budget *within,
                              tn_arena *scratch, tn_memory_style *lacks, tn_error *error) {
    const finder state = {.device = device,
                          .shares = shares,
                          .word_bits = word_bits,
                          .least = least,
                          .widest_log = tn_widest_row_log(greatest),
                          .budget = {(double)within->bram18, (double)within->uram, (double)within->lut},
                          .error = error};
    memory_ways *ways;
    TN_TRY(TN_NEW(scratch, map->memories, &ways, error));
    for (uint32_t m = 0; m < map->memories; m++)
        TN_TRY(list_ways(&state, &map->memory[m], groups, group, scratch, &ways[m]));
    *lacks = judge(&state, ways, map->memories);
    return TN_OK;
}
