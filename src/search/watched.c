#include "search/watched.h"

#include "base/memory.h"
#include "device/block.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The most blocks that a watched memory can take: over all sizes, and all blocks that a use can want. */
static tn_status watch_most(const tn_watched_list *with, const tn_watched *of, double *bram18, double *uram,
                            tn_error *error) {
    const tn_build *build = with->build;
    const tn_common_memory *memory = &with->table->memory[of->memory].of;
    double most_bram18 = 0, most_uram = 0;
    for (size_t z = 0; z < of->sizes; z++)
        for (int side = 0; side <= TN_SIDE_VECTOR; side++) { /* nothing is fused (tn_parting_refuses) */
            uint64_t edge[2];
            tn_side_edges((tn_side)side, build, edge);
            for (uint32_t i = 1; i <= edge[0]; i++)
                for (uint32_t k = 1; k <= edge[1]; k++) {
                    const tn_demand demand = {of->stands[z], 1, {{(tn_side)side, {i, k}}}};
                    tn_price_part part = {0};
                    if (z > 0 && of->stands[z] == of->stands[z - 1]) continue;
                    TN_TRY(tn_common_price(with->device, with->table->word_bits, build, memory, &demand,
                                           &part, error));
                    most_bram18 = fmax(most_bram18, part.bram18);
                    most_uram = fmax(most_uram, part.uram);
                }
        }
    *bram18 += most_bram18;
    *uram += most_uram;
    return TN_OK;
}

tn_status tn_watched_most(const tn_watched_list *with, double *bram18, double *uram, tn_error *error) {
    *bram18 = *uram = 0;
    for (uint32_t i = 0; i < with->count; i++) TN_TRY(watch_most(with, &with->watch[i], bram18, uram, error));
    return TN_OK;
}

static bool is_of_build(const tn_watched_list *with, const tn_table_memory *memory) {
    if (memory->of.staging)
        return with->build->off_chip_over_bytes == memory->off_chip_over_bytes &&
               with->build->off_chip_tile_bytes == memory->off_chip_tile_bytes &&
               with->build->off_chip_over_bytes > 0;
    return tn_is_on_chip(with->build, &memory->of);
}

/* What an option and no unit together ask of a memory, cut to the build. */
static tn_status demand_of(const tn_watched_list *with, uint32_t m, uint32_t u, uint64_t option,
                           tn_demand *demand, tn_error *error) {
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
static tn_status find_stands(const tn_watched_list *with, tn_watched *of, const tn_demand *like,
                             tn_error *error) {
    const tn_common_memory *memory = &with->table->memory[of->memory].of;
    tn_price_part above = {0};
    TN_TRY(TN_ALLOC(of->sizes, &of->stands, error));
    for (size_t i = of->sizes; i-- > 0;) {
        tn_demand demand = *like;
        tn_price_part part = {0};
        demand.elements = of->stands[i] = of->size[i];
        TN_TRY(tn_common_price(with->device, with->table->word_bits, with->build, memory, &demand, &part,
                               error));
        if (of->same_uses && i + 1 < of->sizes && memcmp(&part, &above, sizeof part) == 0)
            of->stands[i] = of->stands[i + 1];
        above = part;
    }
    return TN_OK;
}

static void settle(const tn_watched *of, tn_demand *demand) {
    const uint64_t *at = bsearch(&demand->elements, of->size, of->sizes, sizeof *of->size, by_size);
    if (at) demand->elements = of->stands[at - of->size];
}

/* All sizes that are asked of the memory; whether uses are all the same. */
static tn_status list_sizes(const tn_watched_list *with, tn_watched *of, tn_demand *like, tn_error *error) {
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
            TN_TRY(TN_GROW(&of->size, &capacity, of->sizes + 1, error));
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
static tn_status find_users(const tn_watched_list *with, tn_watched *of, const tn_demand *rest,
                            tn_error *error) {
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

static void free_watch(tn_watched *of) {
    tn_free(of->size);
    tn_free(of->stands);
    tn_free(of->demand);
    *of = (tn_watched){0};
}

/* A memory is watched where its price can differ; else its price is a constant. */
static tn_status begin_watch(tn_watched_list *with, uint32_t m, tn_error *error) {
    const tn_table_memory *memory = &with->table->memory[m];
    tn_demand like = {0}, rest = {0};
    if (with->count == TN_WATCHED_MOST)
        return tn_fail(error, TN_LIMIT, "units bear on over %d memories together", TN_WATCHED_MOST);
    tn_watched *of = &with->watch[with->count++];
    *of = (tn_watched){.memory = m};
    TN_TRY(list_sizes(with, of, &like, error));
    TN_TRY(find_stands(with, of, &like, error));
    if (!tn_demand_join(&rest, with->build, &memory->rest))
        return tn_fail(error, TN_LIMIT, "a memory has too many different uses at once");
    settle(of, &rest);
    TN_TRY(find_users(with, of, &rest, error));
    if (of->first != UINT32_MAX) return TN_OK;
    TN_TRY(tn_common_price(with->device, with->table->word_bits, with->build, &memory->of, &rest,
                           &with->constant, error));
    free_watch(of);
    with->count--;
    return TN_OK;
}

tn_status tn_watched_begin(tn_watched_list *with, const tn_layer_table *table, const tn_build *build,
                           const tn_device *device, tn_error *error) {
    *with = (tn_watched_list){.table = table, .build = build, .device = device};
    for (uint32_t m = 0; m < with->table->common; m++)
        if (is_of_build(with, &with->table->memory[m])) TN_TRY(begin_watch(with, m, error));
    /* Label 0: nothing asked yet. */
    TN_TRY(TN_GROW(&with->label, &with->label_capacity, 1, error));
    with->labels = 1;
    return TN_OK;
}

static tn_status number_of(tn_watched *of, const tn_demand *demand, uint16_t *number, tn_error *error) {
    size_t i = 0;
    while (i < of->count && memcmp(&of->demand[i], demand, sizeof *demand) != 0) i++;
    if (i == of->count) {
        if (i + 1 >= UINT16_MAX) return tn_fail(error, TN_LIMIT, "a memory has over 65,000 different uses");
        TN_TRY(TN_GROW(&of->demand, &of->capacity, i + 1, error));
        of->demand[of->count++] = *demand;
    }
    *number = (uint16_t)(i + 1);
    return TN_OK;
}

static tn_status label_number(tn_watched_list *with, const tn_watched_numbers *of, uint64_t *number,
                              tn_error *error) {
    size_t i = 0;
    while (i < with->labels && memcmp(&with->label[i], of, sizeof *of) != 0) i++;
    if (i == with->labels) {
        TN_TRY(TN_GROW(&with->label, &with->label_capacity, i + 1, error));
        with->label[with->labels++] = *of;
    }
    *number = i;
    return TN_OK;
}

static tn_status join_anew(tn_watched_list *with, uint64_t a, uint64_t b, uint64_t *joined, tn_error *error) {
    tn_watched_numbers both = with->label[a];
    for (uint32_t w = 0; w < with->count; w++) {
        tn_watched *of = &with->watch[w];
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

tn_status tn_watched_join(void *user, uint64_t a, uint64_t b, uint64_t *joined, tn_error *error) {
    tn_watched_list *with = user;
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
        TN_TRY(TN_ALLOC(grown * grown, &with->joined, error));
        with->join_side = side = grown;
    }
    if (a < side && b < side) with->joined[a * side + b] = (uint32_t)*joined + 1;
    return TN_OK;
}

tn_status tn_watched_label(tn_watched_list *with, uint32_t u, uint64_t option, uint64_t *number,
                           tn_error *error) {
    tn_watched_numbers own = {{0}};
    for (uint32_t w = 0; w < with->count; w++) {
        tn_watched *of = &with->watch[w];
        tn_demand demand;
        if (u < of->first || u > of->last || !with->table->memory[of->memory].user[u]) continue;
        TN_TRY(demand_of(with, of->memory, u, option, &demand, error));
        settle(of, &demand);
        TN_TRY(number_of(of, &demand, &own.number[w], error));
    }
    return label_number(with, &own, number, error);
}

/* Adds the memories whose last user is unit u, and takes them out of the labels. */
static tn_status close_watch(tn_watched_list *with, uint32_t w, const tn_layer_cost *cost, tn_sums *sums,
                             tn_error *error) {
    tn_watched *of = &with->watch[w];
    const tn_common_memory *memory = &with->table->memory[of->memory].of;
    tn_price_part *part = NULL;
    TN_TRY(TN_ALLOC(of->count, &part, error));
    tn_status status = TN_OK;
    for (size_t i = 0; status == TN_OK && i < of->count; i++)
        status = tn_common_price(with->device, with->table->word_bits, with->build, memory, &of->demand[i],
                                 &part[i], error);
    for (size_t i = 0; status == TN_OK && i < sums->count; i++) {
        tn_watched_numbers rest = with->label[sums->label[i]];
        const tn_price_part *own = &part[rest.number[w] - 1];
        for (size_t d = 0; d < sums->dimensions; d++) sums->value[d][i] += tn_part_cost(own, cost[d]);
        rest.number[w] = 0;
        status = label_number(with, &rest, &sums->label[i], error);
    }
    tn_free(part);
    return status;
}

bool tn_watched_close_with(const tn_watched_list *with, uint32_t u) {
    bool closes = false;
    for (uint32_t w = 0; w < with->count; w++) closes |= with->watch[w].last == u;
    return closes;
}

tn_status tn_watched_close(tn_watched_list *with, uint32_t u, const tn_layer_cost *cost, tn_sums *sums,
                           tn_error *error) {
    for (uint32_t w = 0; w < with->count; w++)
        if (with->watch[w].last == u) TN_TRY(close_watch(with, w, cost, sums, error));
    return TN_OK;
}

void tn_watched_free(tn_watched_list *with) {
    for (uint32_t w = 0; w < with->count; w++) free_watch(&with->watch[w]);
    tn_free(with->label);
    tn_free(with->joined);
}
