#include "explore/build_front.h"

#include "base/memory.h"
#include "hardware/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A memory that several units bear on, and whose price depends on what they choose. Until the last of them is merged a
 * point's label says what its options ask of it. */
typedef struct {
    uint32_t memory;      /* of the table */
    uint32_t first, last; /* units that bear on it */
    bool same_uses;       /* demands differ in size alone; then sizes that take the same blocks are one: */
    size_t sizes;
    uint64_t *size, *stands; /* [sizes]: rising, and the size that stands for each */
    size_t count, capacity;
    tn_demand *demand; /* [count]: number i + 1 in labels */
} watch;

enum { WATCHES_MOST = 24 };
typedef struct {
    uint16_t number[WATCHES_MOST]; /* of a demand for each watch; 0: none yet */
} label;

typedef struct {
    const tn_space *space;
    const tn_units *units;
    const tn_layer_table *table;
    const tn_build *build;
    size_t at; /* of the build */
    const tn_front_options *options;
    const uint32_t *digit;
    size_t dimensions;
    tn_layer_cost cost[TN_SUM_DIMENSIONS]; /* of each dimension */
    tn_boxes boxes;
    tn_price_part constant; /* memories that several units bear on without a difference */
    uint32_t watches;
    watch watch[WATCHES_MOST];
    size_t labels, label_capacity;
    label *label; /* [labels]: a point's label counts them */
    size_t join_side;
    uint32_t *joined;  /* [join_side * join_side]: labels joined before, plus 1 */
    tn_sums *level;    /* [units]: what was kept after each merge */
    uint32_t **option; /* [units]: the options that `right` counts */
} finder;

/* ---- costs ---- */

static double cost_of_part(const tn_price_part *part, tn_layer_cost cost) {
    switch (cost) {
    case TN_COST_CYCLES:
        return part->cycles;
    case TN_COST_CAPACITY:
        return part->capacity_bits;
    case TN_COST_BRAM18:
        return part->bram18;
    case TN_COST_URAM:
        return part->uram;
    case TN_COST_OPERATIONS:
        return part->operations;
    default:
        return 0;
    }
}

/* As it is summed: degrees of freedom negated. */
static double cost_of_option(const finder *with, uint32_t u, uint64_t option, tn_layer_cost cost) {
    const tn_unit_table *unit = &with->table->unit[u];
    switch (cost) {
    case TN_COST_DEGREES:
        return -unit->sum[TN_SUM_DEGREES][option];
    case TN_COST_PARAMETERS:
        return unit->sum[TN_SUM_PARAMETERS][option];
    case TN_COST_MACS:
        return unit->sum[TN_SUM_MACS][option];
    default:
        return cost_of_part(&unit->part[with->at][option], cost);
    }
}

static double cost_of_rest(const finder *with, tn_layer_cost cost) {
    switch (cost) {
    case TN_COST_DEGREES:
        return 0;
    case TN_COST_PARAMETERS:
        return with->table->rest_sum[TN_SUM_PARAMETERS];
    case TN_COST_MACS:
        return with->table->rest_sum[TN_SUM_MACS];
    default:
        return cost_of_part(&with->table->rest[with->at], cost) + cost_of_part(&with->constant, cost);
    }
}

/* The least (or greatest) that the options of a unit can add. */
static double extreme(const finder *with, uint32_t u, tn_layer_cost cost, bool most) {
    double found = most ? -INFINITY : INFINITY;
    for (uint64_t o = 0; o < with->table->unit[u].options; o++) {
        if (!with->table->unit[u].defined[o]) continue;
        double value = cost_of_option(with, u, o, cost);
        found = most ? fmax(found, value) : fmin(found, value);
    }
    return found;
}

static double extreme_sum(const finder *with, tn_layer_cost cost, bool most) {
    double sum = cost_of_rest(with, cost);
    for (uint32_t u = 0; u < with->table->units; u++) sum += extreme(with, u, cost, most);
    return sum;
}

static tn_status descriptors(const finder *with, double operations, tn_price_part *part, tn_error *error) {
    *part = (tn_price_part){0};
    return tn_descriptor_price(with->space->device, (uint64_t)operations, part, error);
}

/* The most blocks that a watched memory can take: over all sizes, and all blocks that a use can want. */
static tn_status watch_most(const finder *with, const watch *of, double *bram18, double *uram,
                            tn_error *error) {
    const tn_build *build = with->build;
    const tn_common_memory *memory = &with->table->memory[of->memory].of;
    const uint64_t parallel[][2] = {[TN_SIDE_LEFT] = {build->rows, build->reduction},
                                    [TN_SIDE_RIGHT] = {build->reduction, build->columns},
                                    [TN_SIDE_RESULT] = {build->rows, build->columns},
                                    [TN_SIDE_VECTOR] = {build->vector, 1}};
    double most_bram18 = 0, most_uram = 0;
    for (size_t z = 0; z < of->sizes; z++)
        for (int side = 0; side < TN_SIDES; side++)
            for (uint32_t i = 1; i <= parallel[side][0]; i++)
                for (uint32_t k = 1; k <= parallel[side][1]; k++) {
                    const tn_demand demand = {of->stands[z], 1, {{(tn_side)side, {i, k}}}};
                    tn_price_part part = {0};
                    if (z > 0 && of->stands[z] == of->stands[z - 1]) continue;
                    TN_TRY(tn_common_price(with->space->device, with->table->word_bits, build, memory,
                                           &demand, &part, error));
                    most_bram18 = fmax(most_bram18, part.bram18);
                    most_uram = fmax(most_uram, part.uram);
                }
    *bram18 += most_bram18;
    *uram += most_uram;
    return TN_OK;
}

static tn_status shared_most(const finder *with, double *bram18, double *uram, tn_error *error) {
    *bram18 = *uram = 0;
    for (uint32_t i = 0; i < with->watches; i++)
        TN_TRY(watch_most(with, &with->watch[i], bram18, uram, error));
    return TN_OK;
}

/* Prunings that may each lose the width of a box: one for each unit, and one where memories are added after it. */
static unsigned rounds_of(const finder *with) {
    unsigned rounds = with->table->units;
    for (uint32_t u = 0; u < with->table->units; u++) {
        bool closes = false;
        for (uint32_t w = 0; w < with->watches; w++) closes |= with->watch[w].last == u;
        rounds += closes;
    }
    return rounds;
}

static void add_dimension(finder *with, tn_layer_cost cost) {
    if (with->dimensions < TN_SUM_DIMENSIONS) with->cost[with->dimensions++] = cost;
}

/* Objectives first, then what must not be exceeded: guards. */
static tn_status choose_dimensions(finder *with, tn_error *error) {
    const tn_resources *budget = &with->space->budget;
    tn_price_part least, most;
    double bram18, uram;
    for (int c = 0; c < TN_COSTS; c++)
        if (with->options->objective[c]) add_dimension(with, (tn_layer_cost)c);
    with->boxes.rounded = with->dimensions;
    for (int c = 0; c < TN_COSTS; c++)
        if (with->options->bounded[c] && !with->options->objective[c]) add_dimension(with, (tn_layer_cost)c);
    TN_TRY(descriptors(with, extreme_sum(with, TN_COST_OPERATIONS, false), &least, error));
    TN_TRY(descriptors(with, extreme_sum(with, TN_COST_OPERATIONS, true), &most, error));
    if (least.bram18 != most.bram18) add_dimension(with, TN_COST_OPERATIONS);
    TN_TRY(shared_most(with, &bram18, &uram, error));
    bool exact_bram18 = (with->options->objective[TN_COST_BRAM18] && with->options->epsilon == 0) ||
                        with->options->bounded[TN_COST_BRAM18];
    bool exact_uram = (with->options->objective[TN_COST_URAM] && with->options->epsilon == 0) ||
                      with->options->bounded[TN_COST_URAM];
    if (!exact_bram18 &&
        extreme_sum(with, TN_COST_BRAM18, true) + most.bram18 + bram18 > (double)budget->bram18)
        add_dimension(with, TN_COST_BRAM18);
    if (!exact_uram && extreme_sum(with, TN_COST_URAM, true) + uram > (double)budget->uram)
        add_dimension(with, TN_COST_URAM);
    with->boxes.width = pow(1 + with->options->epsilon, 1.0 / rounds_of(with)) - 1;
    for (size_t d = 0; d < with->boxes.rounded; d++)
        with->boxes.negated[d] = with->cost[d] == TN_COST_DEGREES;
    return TN_OK;
}

/* What is sure to be added to a sum after the units before `next`. */
static tn_status set_shifts(finder *with, uint32_t next, tn_error *error) {
    tn_price_part least;
    TN_TRY(descriptors(with, extreme_sum(with, TN_COST_OPERATIONS, false), &least, error));
    for (size_t d = 0; d < with->boxes.rounded; d++) {
        tn_layer_cost cost = with->cost[d];
        double sum =
            cost_of_part(&least, cost == TN_COST_CAPACITY || cost == TN_COST_BRAM18 ? cost : TN_COST_MACS);
        for (uint32_t u = next; u < with->table->units; u++)
            sum += cost == TN_COST_DEGREES ? -extreme(with, u, cost, true) : extreme(with, u, cost, false);
        with->boxes.shift[d] = sum;
    }
    return TN_OK;
}

/* ---- memories that several units bear on ---- */

static bool is_of_build(const finder *with, const tn_table_memory *memory) {
    if (memory->of.staging)
        return with->build->off_chip_over_bytes == memory->off_chip_over_bytes &&
               with->build->off_chip_tile_bytes == memory->off_chip_tile_bytes &&
               with->build->off_chip_over_bytes > 0;
    return tn_is_on_chip(with->build, &memory->of);
}

/* What an option and no unit together ask of a memory, cut to the build. */
static tn_status demand_of(const finder *with, uint32_t m, uint32_t u, uint64_t option, tn_demand *demand,
                           tn_error *error) {
    const tn_unit_table *unit = &with->table->unit[u];
    *demand = (tn_demand){0};
    if (tn_demand_join(demand, with->build, &with->table->memory[m].rest) &&
        tn_demand_join(demand, with->build, &unit->demand[m * unit->options + option]))
        return TN_OK;
    return tn_fail(error, TN_LIMIT, "a memory has too many different uses at once");
}

static bool same_uses(const tn_demand *a, const tn_demand *b) {
    return a->count == b->count && memcmp(a->use, b->use, sizeof a->use) == 0;
}

static int by_size(const void *a, const void *b) {
    uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

/* Of sizes one behind the other that take the same blocks the greatest stands for all. */
static tn_status find_stands(const finder *with, watch *of, const tn_demand *like, tn_error *error) {
    const tn_common_memory *memory = &with->table->memory[of->memory].of;
    tn_price_part above = {0};
    TN_TRY(tn_alloc(of->sizes, sizeof *of->stands, &of->stands, error));
    for (size_t i = of->sizes; i-- > 0;) {
        tn_demand demand = *like;
        tn_price_part part = {0};
        demand.elements = of->stands[i] = of->size[i];
        TN_TRY(tn_common_price(with->space->device, with->table->word_bits, with->build, memory, &demand,
                               &part, error));
        if (of->same_uses && i + 1 < of->sizes && memcmp(&part, &above, sizeof part) == 0)
            of->stands[i] = of->stands[i + 1];
        above = part;
    }
    return TN_OK;
}

static void settle(const watch *of, tn_demand *demand) {
    const uint64_t *at = bsearch(&demand->elements, of->size, of->sizes, sizeof *of->size, by_size);
    if (at) demand->elements = of->stands[at - of->size];
}

/* All sizes that are asked of the memory; whether uses are all the same. */
static tn_status list_sizes(const finder *with, watch *of, tn_demand *like, tn_error *error) {
    const tn_table_memory *memory = &with->table->memory[of->memory];
    size_t capacity = 0;
    bool first = true;
    of->same_uses = true;
    for (uint32_t u = 0; u < with->table->units; u++)
        for (uint64_t o = 0; memory->user[u] && o < with->table->unit[u].options; o++) {
            tn_demand demand;
            if (!with->table->unit[u].defined[o]) continue;
            TN_TRY(demand_of(with, of->memory, u, o, &demand, error));
            if (first) *like = demand;
            first = false;
            of->same_uses &= same_uses(like, &demand);
            TN_TRY(tn_grow(&of->size, &capacity, of->sizes + 1, sizeof *of->size, error));
            of->size[of->sizes++] = demand.elements;
        }
    if (of->sizes) qsort(of->size, of->sizes, sizeof *of->size, by_size);
    size_t distinct = 0;
    for (size_t i = 0; i < of->sizes; i++)
        if (i == 0 || of->size[i] != of->size[distinct - 1]) of->size[distinct++] = of->size[i];
    of->sizes = distinct;
    return TN_OK;
}

/* Units some of whose options ask for more than is asked anyway. */
static tn_status find_users(const finder *with, watch *of, const tn_demand *rest, tn_error *error) {
    of->first = UINT32_MAX;
    for (uint32_t u = 0; u < with->table->units; u++) {
        bool bears = false;
        for (uint64_t o = 0; !bears && o < with->table->unit[u].options; o++) {
            tn_demand demand;
            if (!with->table->unit[u].defined[o]) continue;
            TN_TRY(demand_of(with, of->memory, u, o, &demand, error));
            settle(of, &demand);
            bears = memcmp(&demand, rest, sizeof demand) != 0;
        }
        if (!bears) continue;
        if (of->first == UINT32_MAX) of->first = u;
        of->last = u;
    }
    return TN_OK;
}

static void free_watch(watch *of) {
    tn_free(of->size);
    tn_free(of->stands);
    tn_free(of->demand);
    *of = (watch){0};
}

/* A memory is watched where its price can differ; else its price is a constant. */
static tn_status begin_watch(finder *with, uint32_t m, tn_error *error) {
    const tn_table_memory *memory = &with->table->memory[m];
    tn_demand like = {0}, rest = {0};
    if (with->watches == WATCHES_MOST)
        return tn_fail(error, TN_LIMIT, "units bear on over %d memories together", WATCHES_MOST);
    watch *of = &with->watch[with->watches++];
    *of = (watch){.memory = m};
    TN_TRY(list_sizes(with, of, &like, error));
    TN_TRY(find_stands(with, of, &like, error));
    if (!tn_demand_join(&rest, with->build, &memory->rest))
        return tn_fail(error, TN_LIMIT, "a memory has too many different uses at once");
    settle(of, &rest);
    TN_TRY(find_users(with, of, &rest, error));
    if (of->first != UINT32_MAX) return TN_OK;
    TN_TRY(tn_common_price(with->space->device, with->table->word_bits, with->build, &memory->of, &rest,
                           &with->constant, error));
    free_watch(of);
    with->watches--;
    return TN_OK;
}

static tn_status begin_watches(finder *with, tn_error *error) {
    for (uint32_t m = 0; m < with->table->common; m++)
        if (is_of_build(with, &with->table->memory[m])) TN_TRY(begin_watch(with, m, error));
    /* Label 0: nothing asked yet. */
    TN_TRY(tn_grow(&with->label, &with->label_capacity, 1, sizeof *with->label, error));
    with->labels = 1;
    return TN_OK;
}

static tn_status number_of(watch *of, const tn_demand *demand, uint16_t *number, tn_error *error) {
    size_t i = 0;
    while (i < of->count && memcmp(&of->demand[i], demand, sizeof *demand) != 0) i++;
    if (i == of->count) {
        if (i + 1 >= UINT16_MAX) return tn_fail(error, TN_LIMIT, "a memory has over 65,000 different uses");
        TN_TRY(tn_grow(&of->demand, &of->capacity, i + 1, sizeof *of->demand, error));
        of->demand[of->count++] = *demand;
    }
    *number = (uint16_t)(i + 1);
    return TN_OK;
}

static tn_status label_number(finder *with, const label *of, uint64_t *number, tn_error *error) {
    size_t i = 0;
    while (i < with->labels && memcmp(&with->label[i], of, sizeof *of) != 0) i++;
    if (i == with->labels) {
        TN_TRY(tn_grow(&with->label, &with->label_capacity, i + 1, sizeof *with->label, error));
        with->label[with->labels++] = *of;
    }
    *number = i;
    return TN_OK;
}

static tn_status join_anew(finder *with, uint64_t a, uint64_t b, uint64_t *joined, tn_error *error) {
    label both = with->label[a];
    for (uint32_t w = 0; w < with->watches; w++) {
        watch *of = &with->watch[w];
        uint16_t own = both.number[w], other = with->label[b].number[w];
        if (!own) both.number[w] = other;
        if (!own || !other || own == other) continue;
        tn_demand demand = of->demand[own - 1];
        if (!tn_demand_join(&demand, with->build, &of->demand[other - 1]))
            return tn_fail(error, TN_LIMIT, "a memory has too many different uses at once");
        TN_TRY(number_of(of, &demand, &both.number[w], error));
    }
    return label_number(with, &both, joined, error);
}

static tn_status join_labels(void *user, uint64_t a, uint64_t b, uint64_t *joined, tn_error *error) {
    finder *with = user;
    size_t side = with->join_side;
    if (a < side && b < side && with->joined[a * side + b]) {
        *joined = with->joined[a * side + b] - 1;
        return TN_OK;
    }
    TN_TRY(join_anew(with, a, b, joined, error));
    if (with->labels > side) {
        enum { SIDE_MOST = 4096 };
        size_t grown = side ? 2 * side : 64;
        if (grown > SIDE_MOST || with->labels > SIDE_MOST) return TN_OK;
        while (grown < with->labels) grown *= 2;
        tn_free(with->joined);
        with->joined = NULL;
        with->join_side = 0;
        TN_TRY(tn_alloc(grown * grown, sizeof *with->joined, &with->joined, error));
        with->join_side = side = grown;
    }
    if (a < side && b < side) with->joined[a * side + b] = (uint32_t)*joined + 1;
    return TN_OK;
}

static tn_status label_of(finder *with, uint32_t u, uint64_t option, uint64_t *number, tn_error *error) {
    label own = {{0}};
    for (uint32_t w = 0; w < with->watches; w++) {
        watch *of = &with->watch[w];
        tn_demand demand;
        if (u < of->first || u > of->last || !with->table->memory[of->memory].user[u]) continue;
        TN_TRY(demand_of(with, of->memory, u, option, &demand, error));
        settle(of, &demand);
        TN_TRY(number_of(of, &demand, &own.number[w], error));
    }
    return label_number(with, &own, number, error);
}

/* Adds the memories whose last user is unit u, and takes them out of the labels. */
static tn_status close_watch(finder *with, uint32_t w, tn_sums *sums, tn_error *error) {
    watch *of = &with->watch[w];
    const tn_common_memory *memory = &with->table->memory[of->memory].of;
    tn_price_part *part = NULL;
    TN_TRY(tn_alloc(of->count, sizeof *part, &part, error));
    tn_status status = TN_OK;
    for (size_t i = 0; status == TN_OK && i < of->count; i++)
        status = tn_common_price(with->space->device, with->table->word_bits, with->build, memory,
                                 &of->demand[i], &part[i], error);
    for (size_t i = 0; status == TN_OK && i < sums->count; i++) {
        label rest = with->label[sums->label[i]];
        const tn_price_part *own = &part[rest.number[w] - 1];
        for (size_t d = 0; d < with->dimensions; d++) sums->value[d][i] += cost_of_part(own, with->cost[d]);
        rest.number[w] = 0;
        status = label_number(with, &rest, &sums->label[i], error);
    }
    tn_free(part);
    return status;
}

static tn_status close_watches(finder *with, uint32_t u, tn_sums *sums, tn_error *error) {
    bool closed = false;
    for (uint32_t w = 0; w < with->watches; w++) {
        if (with->watch[w].last != u) continue;
        TN_TRY(close_watch(with, w, sums, error));
        closed = true;
    }
    return closed ? tn_sums_prune(sums, &with->boxes, error) : TN_OK;
}

/* ---- merging ---- */

/* The part of a design's id that an option decides; 0 in a vast space, where none has one. */
static uint64_t id_of(const finder *with, uint32_t u, uint64_t option) {
    const tn_unit *unit = &with->units->unit[u];
    uint64_t id = 0;
    for (size_t i = unit->axes; i-- > 0;) {
        uint64_t count = with->space->choice[unit->axis[i]].count;
        id += option % count * with->space->stride[unit->axis[i]];
        option /= count;
    }
    return with->space->is_vast ? 0 : id;
}

static tn_status list_options(finder *with, uint32_t u, tn_sums *options, tn_error *error) {
    const tn_unit_table *unit = &with->table->unit[u];
    const tn_boxes exact = {.rounded = with->boxes.rounded};
    double value[TN_SUM_DIMENSIONS];
    tn_sums_begin(options, with->dimensions);
    for (uint64_t o = 0; o < unit->options; o++) {
        uint64_t number;
        if (!unit->defined[o]) continue;
        for (size_t d = 0; d < with->dimensions; d++) value[d] = cost_of_option(with, u, o, with->cost[d]);
        TN_TRY(label_of(with, u, o, &number, error));
        TN_TRY(tn_sums_add(options, value, number, id_of(with, u, o), (uint32_t)o, 0, error));
    }
    return tn_sums_prune(options, &exact, error);
}

static tn_status merge_unit(finder *with, uint32_t u, const tn_sums *before, tn_error *error) {
    tn_sums options;
    tn_status status = list_options(with, u, &options, error);
    if (status == TN_OK) status = set_shifts(with, u + 1, error);
    if (status == TN_OK) status = tn_alloc(options.count, sizeof *with->option[u], &with->option[u], error);
    if (status == TN_OK) {
        memcpy(with->option[u], options.left, options.count * sizeof *options.left);
        status = tn_sums_merge(before, &options, &with->boxes, join_labels, with, with->options->most,
                               with->options->deadline, &with->level[u], error);
    }
    if (status == TN_OK) status = close_watches(with, u, &with->level[u], error);
    tn_sums_free(&options);
    return status;
}

/* A point alone: what no unit adds. */
static tn_status begin_with_rest(finder *with, tn_sums *start, tn_error *error) {
    double value[TN_SUM_DIMENSIONS];
    tn_sums_begin(start, with->dimensions);
    for (size_t d = 0; d < with->dimensions; d++) value[d] = cost_of_rest(with, with->cost[d]);
    return tn_sums_add(start, value, 0, 0, 0, 0, error);
}

/* ---- what is left ---- */

/* All costs of a point of the last level, from its options. */
static tn_status put_point(finder *with, uint32_t at, tn_build_front *front, tn_error *error) {
    uint32_t units = with->table->units;
    tn_price_part memory;
    size_t to = front->count;
    for (int c = 0; c < TN_COSTS; c++) front->cost[c][to] = cost_of_rest(with, (tn_layer_cost)c);
    const tn_sums *last = &with->level[units - 1];
    double summed[TN_COSTS] = {0};
    for (size_t d = 0; d < with->dimensions; d++) summed[with->cost[d]] = last->value[d][at];
    for (uint32_t u = units; u-- > 0;) {
        uint32_t option = with->option[u][with->level[u].right[at]];
        front->option[u][to] = option;
        for (int c = 0; c < TN_COSTS; c++)
            front->cost[c][to] += cost_of_option(with, u, option, (tn_layer_cost)c);
        at = with->level[u].left[at];
    }
    /* Those that were summed have the memories of shared arrays in them. */
    for (size_t d = 0; d < with->dimensions; d++) front->cost[with->cost[d]][to] = summed[with->cost[d]];
    TN_TRY(descriptors(with, front->cost[TN_COST_OPERATIONS][to], &memory, error));
    front->cost[TN_COST_CAPACITY][to] += memory.capacity_bits;
    front->cost[TN_COST_BRAM18][to] += memory.bram18;
    front->cost[TN_COST_DEGREES][to] = -front->cost[TN_COST_DEGREES][to];
    bool fits = front->cost[TN_COST_BRAM18][to] <= (double)with->space->budget.bram18 &&
                front->cost[TN_COST_URAM][to] <= (double)with->space->budget.uram;
    front->count += fits;
    return TN_OK;
}

static tn_status list_points(finder *with, tn_build_front *front, tn_error *error) {
    uint32_t units = with->table->units;
    const tn_sums *last = &with->level[units - 1];
    for (int c = 0; c < TN_COSTS; c++)
        TN_TRY(tn_alloc(last->count, sizeof *front->cost[c], &front->cost[c], error));
    TN_TRY(tn_alloc(units, sizeof *front->option, &front->option, error));
    for (uint32_t u = 0; u < units; u++)
        TN_TRY(tn_alloc(last->count, sizeof *front->option[u], &front->option[u], error));
    for (size_t i = 0; i < last->count; i++) TN_TRY(put_point(with, (uint32_t)i, front, error));
    front->slack = with->options->epsilon > 0 ? pow(1 + with->boxes.width, rounds_of(with)) : 1;
    return TN_OK;
}

tn_status tn_build_front_find(const tn_space *space, const tn_units *units, const tn_layer_table *table,
                              size_t build, const uint32_t *digit, const tn_front_options *options,
                              tn_build_front *front, tn_error *error) {
    finder with = {.space = space,
                   .units = units,
                   .table = table,
                   .build = &table->build[build],
                   .at = build,
                   .options = options,
                   .digit = digit};
    tn_sums start = {0};
    *front = (tn_build_front){0};
    tn_status status = tn_alloc(table->units, sizeof *with.level, &with.level, error);
    if (status == TN_OK) status = tn_alloc(table->units, sizeof *with.option, &with.option, error);
    if (status == TN_OK) status = begin_watches(&with, error);
    if (status == TN_OK) status = choose_dimensions(&with, error);
    if (status == TN_OK) status = begin_with_rest(&with, &start, error);
    for (uint32_t u = 0; status == TN_OK && u < table->units; u++)
        status = merge_unit(&with, u, u ? &with.level[u - 1] : &start, error);
    if (status == TN_OK) status = list_points(&with, front, error);
    tn_sums_free(&start);
    for (uint32_t u = 0; u < table->units; u++) {
        if (with.level) tn_sums_free(&with.level[u]);
        if (with.option) tn_free(with.option[u]);
    }
    for (uint32_t w = 0; w < with.watches; w++) free_watch(&with.watch[w]);
    tn_free(with.label);
    tn_free(with.joined);
    tn_free(with.level);
    tn_free(with.option);
    if (status != TN_OK) tn_build_front_free(front, table->units);
    return status;
}

void tn_build_front_free(tn_build_front *front, uint32_t units) {
    for (int c = 0; c < TN_COSTS; c++) tn_free(front->cost[c]);
    for (uint32_t u = 0; front->option && u < units; u++) tn_free(front->option[u]);
    tn_free(front->option);
    *front = (tn_build_front){0};
}
