#include "search/build_front.h"

#include "base/memory.h"
#include "device/block.h"
#include "search/watched.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* By which factor the member is worse than the bound in objective k; values as they are minimised. */
static double ratio_of(const tn_space *space, size_t k, double member, double bound) {
    if (member <= bound) return 1;
    if (space->objective[k]->maximise) return member < 0 ? bound / member : INFINITY;
    return bound > 0 ? member / bound : INFINITY;
}

static double greatest_ratio(const tn_space *space, const tn_point *member, const double *bound) {
    double most = 1;
    for (size_t k = 0; k < space->objectives; k++)
        most = fmax(most, ratio_of(space, k, member->value[k], bound[k]));
    return most;
}

void tn_certify(const tn_space *space, const tn_sums *bounds, double slack, const tn_point *member,
                size_t members, const uint32_t *own, double *factor, bool *exact) {
    for (size_t k = 0; k < space->objectives; k++) factor[k] = 1;
    for (size_t i = 0; i < bounds->count; i++) {
        double bound[TN_OBJECTIVES_MOST], least = INFINITY;
        size_t best = members;
        for (size_t k = 0; k < space->objectives; k++) bound[k] = bounds->value[k][i];
        if (own[i] < members) {
            best = own[i];
            least = greatest_ratio(space, &member[best], bound);
        }
        for (size_t m = 0; least > 1 && m < members; m++) {
            double most = greatest_ratio(space, &member[m], bound);
            if (most >= least) continue;
            least = most;
            best = m;
        }
        for (size_t k = 0; k < space->objectives; k++)
            factor[k] = fmax(factor[k],
                             best < members ? ratio_of(space, k, member[best].value[k], bound[k]) : INFINITY);
    }
    *exact = true;
    for (size_t k = 0; k < space->objectives; k++) {
        factor[k] *= slack;
        if (factor[k] > 1 && isfinite(factor[k])) factor[k] *= 1 + 1e-9; /* rounding */
        *exact &= factor[k] == 1;
    }
}

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
    tn_watched_list watches;
    tn_sums *level;    /* [units]: what was kept after each merge */
    uint32_t **option; /* [units]: the options that `right` counts */
} finder;

/* ---- costs ---- */

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
        return tn_part_cost(&unit->part[with->at][option], cost);
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
        return tn_part_cost(&with->table->rest[with->at], cost) + tn_part_cost(&with->watches.constant, cost);
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

/* Prunings that may each lose the width of a box: one for each unit, and one where memories are added after it. */
static unsigned rounds_of(const finder *with) {
    unsigned rounds = with->table->units;
    for (uint32_t u = 0; u < with->table->units; u++) rounds += tn_watched_close_with(&with->watches, u);
    return rounds;
}

/* Counts on where there is no room, for choose_dimensions to refuse. */
static void add_dimension(finder *with, tn_layer_cost cost) {
    if (with->dimensions < TN_SUM_DIMENSIONS) with->cost[with->dimensions] = cost;
    with->dimensions++;
}

/* Objectives first, then what must not be exceeded: guards. */
static tn_status choose_dimensions(finder *with, tn_error *error) {
    const tn_resources *budget = &with->space->budget;
    tn_price_part least, most;
    double bram18, uram;
    for (int c = 0; c < TN_COSTS; c++)
        if (with->options->objective[c]) add_dimension(with, (tn_layer_cost)c);
    with->boxes.rounded = with->dimensions;
    /* An objective that is rounded guards nothing: what breaks a constraint could cover what holds it. */
    for (int c = 0; c < TN_COSTS; c++)
        if (with->options->bounded[c] && !(with->options->objective[c] && with->options->epsilon == 0))
            add_dimension(with, (tn_layer_cost)c);
    TN_TRY(descriptors(with, extreme_sum(with, TN_COST_OPERATIONS, false), &least, error));
    TN_TRY(descriptors(with, extreme_sum(with, TN_COST_OPERATIONS, true), &most, error));
    if (least.bram18 != most.bram18) add_dimension(with, TN_COST_OPERATIONS);
    TN_TRY(tn_watched_most(&with->watches, &bram18, &uram, error));
    bool exact_bram18 = (with->options->objective[TN_COST_BRAM18] && with->options->epsilon == 0) ||
                        with->options->bounded[TN_COST_BRAM18];
    bool exact_uram = (with->options->objective[TN_COST_URAM] && with->options->epsilon == 0) ||
                      with->options->bounded[TN_COST_URAM];
    if (!exact_bram18 &&
        extreme_sum(with, TN_COST_BRAM18, true) + most.bram18 + bram18 > (double)budget->bram18)
        add_dimension(with, TN_COST_BRAM18);
    if (!exact_uram && extreme_sum(with, TN_COST_URAM, true) + uram > (double)budget->uram)
        add_dimension(with, TN_COST_URAM);
    if (with->dimensions > TN_SUM_DIMENSIONS)
        return tn_fail(
            error, TN_LIMIT,
            "objectives, constraints and memories of this space make %zu costs to compare; at most %d "
            "are handled, so leave out an objective or a constraint",
            with->dimensions, TN_SUM_DIMENSIONS);
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
            tn_part_cost(&least, cost == TN_COST_CAPACITY || cost == TN_COST_BRAM18 ? cost : TN_COST_MACS);
        for (uint32_t u = next; u < with->table->units; u++)
            sum += cost == TN_COST_DEGREES ? -extreme(with, u, cost, true) : extreme(with, u, cost, false);
        with->boxes.shift[d] = sum;
    }
    return TN_OK;
}

/* ---- merging ---- */

/* The part of a design's id that an option decides; 0 in a vast space, where none has one. */
static uint64_t id_of(const finder *with, uint32_t u, uint64_t option) {
    const tn_unit *unit = &with->units->unit[u];
    const tn_choices *choices = &with->space->choices;
    uint32_t digit[TN_AXES_MOST];
    if (choices->is_vast) return 0;
    tn_digits_of(choices, unit->axis, unit->axes, option, digit);
    return tn_digits_id(choices, unit->axis, unit->axes, digit);
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
        TN_TRY(tn_watched_label(&with->watches, u, o, &number, error));
        TN_TRY(tn_sums_add(options, value, number, id_of(with, u, o), (uint32_t)o, 0, error));
    }
    return tn_sums_prune(options, &exact, error);
}

static tn_status merge_unit(finder *with, uint32_t u, const tn_sums *before, tn_error *error) {
    tn_sums options;
    tn_status status = list_options(with, u, &options, error);
    if (status == TN_OK) status = set_shifts(with, u + 1, error);
    if (status == TN_OK) status = TN_ALLOC(options.count, &with->option[u], error);
    if (status == TN_OK) {
        memcpy(with->option[u], options.left, options.count * sizeof *options.left);
        status = tn_sums_merge(before, &options, &with->boxes, tn_watched_join, &with->watches,
                               with->options->most, with->options->deadline, &with->level[u], error);
    }
    if (status == TN_OK && tn_watched_close_with(&with->watches, u)) {
        status = tn_watched_close(&with->watches, u, with->cost, &with->level[u], error);
        if (status == TN_OK) status = tn_sums_prune(&with->level[u], &with->boxes, error);
    }
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
    for (int c = 0; c < TN_COSTS; c++) TN_TRY(TN_ALLOC(last->count, &front->cost[c], error));
    TN_TRY(TN_ALLOC(units, &front->option, error));
    for (uint32_t u = 0; u < units; u++) TN_TRY(TN_ALLOC(last->count, &front->option[u], error));
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
    tn_status status = TN_ALLOC(table->units, &with.level, error);
    if (status == TN_OK) status = TN_ALLOC(table->units, &with.option, error);
    if (status == TN_OK) status = tn_watched_begin(&with.watches, table, with.build, space->device, error);
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
    tn_watched_free(&with.watches);
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
