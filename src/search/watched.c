#include "search/watched.h"

#include "base/checked.h"
#include "base/memory.h"
#include "device/block.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The most blocks that a watched memory can take: over all sizes, and all blocks that a use can want. */
static tn_status watch_most(const tn_watched_list *list, const tn_watched *watched, double *bram18,
                            double *uram, tn_error *error) {
    const tn_build *build = list->build;
    const tn_common_memory *memory = &list->table->memory[watched->memory].common;
    double most_bram18 = 0, most_uram = 0;
    for (size_t z = 0; z < watched->sizes; z++)
        for (int side = 0; side <= TN_SIDE_VECTOR; side++) { /* nothing is fused (tn_parting_refuses) */
            uint64_t edge[2];
            tn_side_edges((tn_side)side, build, edge);
            for (uint32_t i = 1; i <= edge[0]; i++)
                for (uint32_t k = 1; k <= edge[1]; k++) {
                    const tn_demand demand = {watched->stands[z], 1, {{(tn_side)side, {i, k}}}};
                    tn_price_part part = {0};
                    if (z > 0 && watched->stands[z] == watched->stands[z - 1]) continue;
                    TN_TRY(tn_common_price(list->device, list->table->word_bits, build, memory, &demand,
                                           &part, error));
                    most_bram18 = fmax(most_bram18, part.bram18);
                    most_uram = fmax(most_uram, part.uram);
                }
        }
    *bram18 += most_bram18;
    *uram += most_uram;
    return TN_OK;
}

tn_status tn_watched_most(const tn_watched_list *list, double *bram18, double *uram, tn_error *error) {
    *bram18 = *uram = 0;
    for (uint32_t i = 0; i < list->count; i++) TN_TRY(watch_most(list, &list->watch[i], bram18, uram, error));
    return TN_OK;
}

static bool is_of_build(const tn_watched_list *list, const tn_table_memory *memory) {
    if (memory->common.staging)
        return list->build->off_chip_over_bytes == memory->off_chip_over_bytes &&
               list->build->off_chip_tile_bytes == memory->off_chip_tile_bytes &&
               list->build->off_chip_over_bytes > 0;
    return tn_is_on_chip(list->build, &memory->common);
}

/* What an option and no unit together ask of a memory, cut to the build. */
static tn_status demand_of(const tn_watched_list *list, uint32_t m, uint32_t u, uint64_t option,
                           tn_demand *demand, tn_error *error) {
    const tn_unit_table *unit = &list->table->unit[u];
    *demand = (tn_demand){0};
    if (tn_demand_join(demand, list->build, &list->table->memory[m].rest) &&
        tn_demand_join(demand, list->build, &unit->demand[m * unit->options + option]))
        return TN_OK;
    return tn_fail(error, TN_LIMIT, "a memory has too many different uses at once");
}

static bool same_uses(const tn_demand *a, const tn_demand *b) {
    return a->count == b->count && memcmp(a->use, b->use, sizeof a->use) == 0;
}

/* Of sizes one behind the other that take the same blocks the greatest stands for all. */
static tn_status find_stands(const tn_watched_list *list, tn_watched *watched, const tn_demand *like,
                             tn_error *error) {
    const tn_common_memory *memory = &list->table->memory[watched->memory].common;
    tn_price_part above = {0};
    TN_TRY(TN_ALLOC(watched->sizes, &watched->stands, error));
    for (size_t i = watched->sizes; i-- > 0;) {
        tn_demand demand = *like;
        tn_price_part part = {0};
        demand.elements = watched->stands[i] = watched->size[i];
        TN_TRY(tn_common_price(list->device, list->table->word_bits, list->build, memory, &demand, &part,
                               error));
        if (watched->same_uses && i + 1 < watched->sizes && memcmp(&part, &above, sizeof part) == 0)
            watched->stands[i] = watched->stands[i + 1];
        above = part;
    }
    return TN_OK;
}

static void settle(const tn_watched *watched, tn_demand *demand) {
    const uint64_t *entry =
        bsearch(&demand->elements, watched->size, watched->sizes, sizeof *watched->size, tn_count_order);
    if (entry) demand->elements = watched->stands[entry - watched->size];
}

/* All sizes that are asked of the memory; whether uses are all the same. */
static tn_status list_sizes(const tn_watched_list *list, tn_watched *watched, tn_demand *like,
                            tn_error *error) {
    const tn_table_memory *memory = &list->table->memory[watched->memory];
    size_t capacity = 0;
    bool first = true;
    watched->same_uses = true;
    for (uint32_t u = 0; u < list->table->units; u++)
        for (uint64_t o = 0; memory->user[u] && o < list->table->unit[u].options; o++) {
            tn_demand demand;
            if (!list->table->unit[u].defined[o]) continue;
            TN_TRY(demand_of(list, watched->memory, u, o, &demand, error));
            if (first) *like = demand;
            first = false;
            watched->same_uses &= same_uses(like, &demand);
            TN_TRY(TN_GROW(&watched->size, &capacity, watched->sizes + 1, error));
            watched->size[watched->sizes++] = demand.elements;
        }
    if (watched->sizes) qsort(watched->size, watched->sizes, sizeof *watched->size, tn_count_order);
    size_t distinct = 0;
    for (size_t i = 0; i < watched->sizes; i++)
        if (i == 0 || watched->size[i] != watched->size[distinct - 1])
            watched->size[distinct++] = watched->size[i];
    watched->sizes = distinct;
    return TN_OK;
}

/* Units some of whose options ask for more than is asked anyway. */
static tn_status find_users(const tn_watched_list *list, tn_watched *watched, const tn_demand *rest,
                            tn_error *error) {
    watched->first = UINT32_MAX;
    for (uint32_t u = 0; u < list->table->units; u++) {
        bool bears = false;
        for (uint64_t o = 0; !bears && o < list->table->unit[u].options; o++) {
            tn_demand demand;
            if (!list->table->unit[u].defined[o]) continue;
            TN_TRY(demand_of(list, watched->memory, u, o, &demand, error));
            settle(watched, &demand);
            bears = memcmp(&demand, rest, sizeof demand) != 0;
        }
        if (!bears) continue;
        if (watched->first == UINT32_MAX) watched->first = u;
        watched->last = u;
    }
    return TN_OK;
}

static void free_watch(tn_watched *watched) {
    tn_free(watched->size);
    tn_free(watched->stands);
    tn_free(watched->demand);
    *watched = (tn_watched){0};
}

/* A memory is watched where its price can differ; else its price is a constant. */
static tn_status begin_watch(tn_watched_list *list, uint32_t m, tn_error *error) {
    const tn_table_memory *memory = &list->table->memory[m];
    tn_demand like = {0}, rest = {0};
    if (list->count == TN_WATCHED_MOST)
        return tn_fail(error, TN_LIMIT, "units bear on over %d memories together", TN_WATCHED_MOST);
    tn_watched *watched = &list->watch[list->count++];
    *watched = (tn_watched){.memory = m};
    TN_TRY(list_sizes(list, watched, &like, error));
    TN_TRY(find_stands(list, watched, &like, error));
    if (!tn_demand_join(&rest, list->build, &memory->rest))
        return tn_fail(error, TN_LIMIT, "a memory has too many different uses at once");
    settle(watched, &rest);
    TN_TRY(find_users(list, watched, &rest, error));
    if (watched->first != UINT32_MAX) return TN_OK;
    TN_TRY(tn_common_price(list->device, list->table->word_bits, list->build, &memory->common, &rest,
                           &list->constant, error));
    free_watch(watched);
    list->count--;
    return TN_OK;
}

tn_status tn_watched_begin(tn_watched_list *list, const tn_layer_table *table, const tn_build *build,
                           const tn_device *device, tn_error *error) {
    *list = (tn_watched_list){.table = table, .build = build, .device = device};
    for (uint32_t m = 0; m < list->table->common; m++)
        if (is_of_build(list, &list->table->memory[m])) TN_TRY(begin_watch(list, m, error));
    /* Label 0: nothing asked yet. */
    TN_TRY(TN_GROW(&list->label, &list->label_capacity, 1, error));
    list->labels = 1;
    return TN_OK;
}

static tn_status number_of(tn_watched *watched, const tn_demand *demand, uint16_t *number, tn_error *error) {
    size_t i = 0;
    while (i < watched->count && memcmp(&watched->demand[i], demand, sizeof *demand) != 0) i++;
    if (i == watched->count) {
        if (i + 1 >= UINT16_MAX) return tn_fail(error, TN_LIMIT, "a memory has over 65,000 different uses");
        TN_TRY(TN_GROW(&watched->demand, &watched->capacity, i + 1, error));
        watched->demand[watched->count++] = *demand;
    }
    *number = (uint16_t)(i + 1);
    return TN_OK;
}

static tn_status label_number(tn_watched_list *list, const tn_watched_numbers *numbers, uint64_t *number,
                              tn_error *error) {
    size_t i = 0;
    while (i < list->labels && memcmp(&list->label[i], numbers, sizeof *numbers) != 0) i++;
    if (i == list->labels) {
        TN_TRY(TN_GROW(&list->label, &list->label_capacity, i + 1, error));
        list->label[list->labels++] = *numbers;
    }
    *number = i;
    return TN_OK;
}

static tn_status join_anew(tn_watched_list *list, uint64_t a, uint64_t b, uint64_t *joined, tn_error *error) {
    tn_watched_numbers both = list->label[a];
    for (uint32_t w = 0; w < list->count; w++) {
        tn_watched *watched = &list->watch[w];
        uint16_t own = both.number[w], other = list->label[b].number[w];
        if (!own) both.number[w] = other;
        if (!own || !other || own == other) continue;
        tn_demand demand = watched->demand[own - 1];
        if (!tn_demand_join(&demand, list->build, &watched->demand[other - 1]))
            return tn_fail(error, TN_LIMIT, "a memory has too many different uses at once");
        TN_TRY(number_of(watched, &demand, &both.number[w], error));
    }
    return label_number(list, &both, joined, error);
}

tn_status tn_watched_join(void *user, uint64_t a, uint64_t b, uint64_t *joined, tn_error *error) {
    tn_watched_list *list = user;
    size_t side = list->join_side;
    if (a < side && b < side && list->joined[a * side + b]) {
        *joined = list->joined[a * side + b] - 1;
        return TN_OK;
    }
    TN_TRY(join_anew(list, a, b, joined, error));
    if (list->labels > side) {
        enum { SIDE_MOST = 4096 };
        size_t grown = side ? 2 * side : 64;
        if (grown > SIDE_MOST || list->labels > SIDE_MOST) return TN_OK;
        while (grown < list->labels) grown *= 2;
        tn_free(list->joined);
        list->joined = NULL;
        list->join_side = 0;
        TN_TRY(TN_ALLOC(grown * grown, &list->joined, error));
        list->join_side = side = grown;
    }
    if (a < side && b < side) list->joined[a * side + b] = (uint32_t)*joined + 1;
    return TN_OK;
}

tn_status tn_watched_label(tn_watched_list *list, uint32_t u, uint64_t option, uint64_t *number,
                           tn_error *error) {
    tn_watched_numbers own = {{0}};
    for (uint32_t w = 0; w < list->count; w++) {
        tn_watched *watched = &list->watch[w];
        tn_demand demand;
        if (u < watched->first || u > watched->last || !list->table->memory[watched->memory].user[u])
            continue;
        TN_TRY(demand_of(list, watched->memory, u, option, &demand, error));
        settle(watched, &demand);
        TN_TRY(number_of(watched, &demand, &own.number[w], error));
    }
    return label_number(list, &own, number, error);
}

/* Adds the memories whose last user is unit u, and takes them out of the labels. */
static tn_status close_watch(tn_watched_list *list, uint32_t w, const tn_layer_cost *cost, tn_sums *sums,
                             tn_error *error) {
    tn_watched *watched = &list->watch[w];
    const tn_common_memory *memory = &list->table->memory[watched->memory].common;
    tn_price_part *part = NULL;
    TN_TRY(TN_ALLOC(watched->count, &part, error));
    tn_status status = TN_OK;
    for (size_t i = 0; status == TN_OK && i < watched->count; i++)
        status = tn_common_price(list->device, list->table->word_bits, list->build, memory,
                                 &watched->demand[i], &part[i], error);
    for (size_t i = 0; status == TN_OK && i < sums->count; i++) {
        tn_watched_numbers rest = list->label[sums->label[i]];
        const tn_price_part *own = &part[rest.number[w] - 1];
        for (size_t d = 0; d < sums->dimensions; d++) sums->value[d][i] += tn_part_cost(own, cost[d]);
        rest.number[w] = 0;
        status = label_number(list, &rest, &sums->label[i], error);
    }
    tn_free(part);
    return status;
}

bool tn_watched_close_with(const tn_watched_list *list, uint32_t u) {
    bool closes = false;
    for (uint32_t w = 0; w < list->count; w++) closes |= list->watch[w].last == u;
    return closes;
}

tn_status tn_watched_close(tn_watched_list *list, uint32_t u, const tn_layer_cost *cost, tn_sums *sums,
                           tn_error *error) {
    for (uint32_t w = 0; w < list->count; w++)
        if (list->watch[w].last == u) TN_TRY(close_watch(list, w, cost, sums, error));
    return TN_OK;
}

void tn_watched_free(tn_watched_list *list) {
    for (uint32_t w = 0; w < list->count; w++) free_watch(&list->watch[w]);
    tn_free(list->label);
    tn_free(list->joined);
}
