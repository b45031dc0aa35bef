#include "search/build_front.h"

#include "base/memory.h"
#include "device/block.h"
#include "search/followed_cost.h"
#include "search/like_front.h"
#include "search/watched.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    const tn_space *space;
    const tn_units *units;
    const tn_layer_table *table;
    const tn_build *build;
    size_t build_index; /* of the build */
    const tn_front_options *options;
    const uint32_t *digit;
    size_t dimensions;
    tn_layer_cost cost[TN_SUM_DIMENSIONS]; /* of each dimension */
    bool follows[TN_COSTS];                /* objectives that follow from cycles, which are one, too: */
    tn_followed_cost followed[TN_COSTS];
    tn_boxes boxes;
    tn_watched_list watches;
    tn_price_part least_descriptors; /* of the fewest operations that a design has */
    tn_sums *level;                  /* [units]: what was kept after each merge */
    uint32_t **option;               /* [units]: the options that `right` counts */
} finder;

/* ---- costs ---- */

static double cost_of_option(const finder *state, uint32_t u, uint64_t option, tn_layer_cost cost) {
    return tn_option_cost(state->table, state->build_index, u, option, cost);
}

static double cost_of_rest(const finder *state, tn_layer_cost cost) {
    return tn_rest_cost(state->table, state->build_index, cost) +
           tn_part_cost(&state->watches.constant, cost);
}

/* The least (or greatest) that the options of a unit can add. */
static double extreme(const finder *state, uint32_t u, tn_layer_cost cost, bool most) {
    double found = most ? -INFINITY : INFINITY;
    for (uint64_t o = 0; o < state->table->unit[u].options; o++) {
        if (!state->table->unit[u].defined[o]) continue;
        double value = cost_of_option(state, u, o, cost);
        found = most ? fmax(found, value) : fmin(found, value);
    }
    return found;
}

static double extreme_sum(const finder *state, tn_layer_cost cost, bool most) {
    double sum = cost_of_rest(state, cost);
    for (uint32_t u = 0; u < state->table->units; u++) sum += extreme(state, u, cost, most);
    return sum;
}

static tn_status descriptors(const finder *state, double operations, tn_price_part *part, tn_error *error) {
    *part = (tn_price_part){0};
    return tn_descriptor_price(state->space->device, (uint64_t)operations, part, error);
}

/* Prunings that may each lose the width of a box: one for each unit, and one where memories are added after it. */
static unsigned rounds_of(const finder *state) {
    unsigned rounds = state->table->units;
    for (uint32_t u = 0; u < state->table->units; u++) rounds += tn_watched_close_with(&state->watches, u);
    return rounds;
}

/* Counts on where there is no room, for choose_dimensions to refuse. */
static void add_dimension(finder *state, tn_layer_cost cost) {
    if (state->dimensions < TN_SUM_DIMENSIONS) state->cost[state->dimensions] = cost;
    state->dimensions++;
}

/* Whether designs may differ in an objective. Memories that units share, or that cores of a class do, tell them apart, too. */
static bool varies(const finder *state, tn_layer_cost cost) {
    bool does = !state->table->bounded || cost == TN_COST_CAPACITY;
    for (uint32_t u = 0; u < state->table->units && !does; u++)
        does = extreme(state, u, cost, false) < extreme(state, u, cost, true);
    return does;
}

/* Exact fronts know every cost, and classes of cores take more than their options say. */
static bool follows_cycles(finder *state, tn_layer_cost cost) {
    state->follows[cost] = state->table->bounded && cost != TN_COST_CYCLES && cost != TN_COST_CAPACITY &&
                           state->options->objective[TN_COST_CYCLES] && state->options->epsilon > 0 &&
                           tn_cost_follows(state->table, state->build_index, cost, &state->followed[cost]);
    return state->follows[cost];
}

/* Objectives first, then what must not be exceeded: guards. */
static tn_status choose_dimensions(finder *state, tn_error *error) {
    const tn_resources *budget = &state->space->budget;
    tn_price_part least, most;
    double bram18, uram;
    for (int c = 0; c < TN_COSTS; c++)
        if (state->options->objective[c] && !follows_cycles(state, (tn_layer_cost)c) &&
            varies(state, (tn_layer_cost)c))
            add_dimension(state, (tn_layer_cost)c);
    /* Of designs that no objective tells apart one stands for all: exactly that of the least id; else the fastest. */
    if (state->dimensions == 0)
        add_dimension(state, state->options->epsilon > 0 ? TN_COST_CYCLES : TN_COST_NOTHING);
    state->boxes.rounded = state->dimensions;
    /* An objective that is rounded guards nothing: what breaks a constraint could cover what holds it. */
    for (int c = 0; c < TN_COSTS; c++)
        if (state->options->bounded[c] && !(state->options->objective[c] && state->options->epsilon == 0))
            add_dimension(state, (tn_layer_cost)c);
    TN_TRY(descriptors(state, extreme_sum(state, TN_COST_OPERATIONS, false), &least, error));
    TN_TRY(descriptors(state, extreme_sum(state, TN_COST_OPERATIONS, true), &most, error));
    state->least_descriptors = least;
    if (least.bram18 != most.bram18 && !state->options->bounds_only) add_dimension(state, TN_COST_OPERATIONS);
    TN_TRY(tn_watched_most(&state->watches, &bram18, &uram, error));
    bool exact_bram18 = state->options->bounds_only ||
                        (state->options->objective[TN_COST_BRAM18] && state->options->epsilon == 0) ||
                        state->options->bounded[TN_COST_BRAM18];
    bool exact_uram = state->options->bounds_only ||
                      (state->options->objective[TN_COST_URAM] && state->options->epsilon == 0) ||
                      state->options->bounded[TN_COST_URAM];
    if (!exact_bram18 &&
        extreme_sum(state, TN_COST_BRAM18, true) + most.bram18 + bram18 > (double)budget->bram18)
        add_dimension(state, TN_COST_BRAM18);
    if (!exact_uram && extreme_sum(state, TN_COST_URAM, true) + uram > (double)budget->uram)
        add_dimension(state, TN_COST_URAM);
    if (state->dimensions > TN_SUM_DIMENSIONS)
        return tn_fail(
            error, TN_LIMIT,
            "objectives, constraints and memories of this space make %zu costs to compare; at most %d "
            "are handled, so leave out an objective or a constraint",
            state->dimensions, TN_SUM_DIMENSIONS);
    state->boxes.width = pow(1 + state->options->epsilon, 1.0 / rounds_of(state)) - 1;
    for (size_t d = 0; d < state->boxes.rounded; d++)
        state->boxes.negated[d] = tn_cost_is_negated(state->table, state->cost[d]);
    return TN_OK;
}

/* What is sure to be added to a sum after the units before `next`. */
static tn_status set_shifts(finder *state, uint32_t next, tn_error *error) {
    tn_price_part least;
    TN_TRY(descriptors(state, extreme_sum(state, TN_COST_OPERATIONS, false), &least, error));
    for (size_t d = 0; d < state->boxes.rounded; d++) {
        tn_layer_cost cost = state->cost[d];
        double sum =
            tn_part_cost(&least, cost == TN_COST_CAPACITY || cost == TN_COST_BRAM18 ? cost : TN_COST_MACS);
        for (uint32_t u = next; u < state->table->units; u++)
            sum += state->boxes.negated[d] ? -extreme(state, u, cost, true) : extreme(state, u, cost, false);
        state->boxes.shift[d] = sum;
    }
    return TN_OK;
}

/* ---- merging ---- */

/* The part of a design's id that an option decides; 0 in a vast space, where none has one. */
static uint64_t id_of(const finder *state, uint32_t u, uint64_t option) {
    const tn_unit *unit = &state->units->unit[u];
    const tn_choices *choices = &state->space->choices;
    uint32_t digit[TN_AXES_MOST];
    if (choices->is_vast) return 0;
    tn_digits_of(choices, unit->axis, unit->axes, option, digit);
    return tn_digits_id(choices, unit->axis, unit->axes, digit);
}

static tn_status list_options(finder *state, uint32_t u, tn_sums *options, tn_error *error) {
    const tn_unit_table *unit = &state->table->unit[u];
    const tn_boxes exact = {.rounded = state->boxes.rounded};
    double value[TN_SUM_DIMENSIONS];
    tn_sums_begin(options, state->dimensions);
    for (uint64_t o = 0; o < unit->options; o++) {
        uint64_t number;
        if (!unit->defined[o]) continue;
        for (size_t d = 0; d < state->dimensions; d++) value[d] = cost_of_option(state, u, o, state->cost[d]);
        TN_TRY(tn_watched_label(&state->watches, u, o, &number, error));
        TN_TRY(tn_sums_add(options, value, number, id_of(state, u, o), (uint32_t)o, 0, error));
    }
    return tn_sums_prune(options, &exact, state->options->deadline, error);
}

static tn_status merge_options(finder *state, const tn_sums *before, const tn_sums *options, tn_sums *level,
                               tn_error *error) {
    tn_merging merging = {.boxes = &state->boxes,
                          .join = tn_watched_join,
                          .user = &state->watches,
                          .most = state->options->most,
                          .deadline = state->options->deadline};
    tn_sums_begin(level, state->dimensions);
    tn_status status = tn_merging_begin(&merging, level, error);
    if (status == TN_OK) status = tn_merging_add(&merging, before, options, error);
    if (status == TN_OK) status = tn_merging_end(&merging, error);
    tn_merging_free(&merging);
    return status;
}

static tn_status merge_unit(finder *state, uint32_t u, const tn_sums *before, tn_error *error) {
    tn_sums options;
    tn_status status = list_options(state, u, &options, error);
    if (status == TN_OK) status = set_shifts(state, u + 1, error);
    if (status == TN_OK) status = TN_ALLOC(options.count, &state->option[u], error);
    if (status == TN_OK) {
        memcpy(state->option[u], options.left, options.count * sizeof *options.left);
        status = merge_options(state, before, &options, &state->level[u], error);
    }
    if (status == TN_OK && tn_watched_close_with(&state->watches, u)) {
        status = tn_watched_close(&state->watches, u, state->cost, &state->level[u], error);
        if (status == TN_OK)
            status = tn_sums_prune(&state->level[u], &state->boxes, state->options->deadline, error);
    }
    tn_sums_free(&options);
    return status;
}

/* A point alone: what no unit adds. */
static tn_status begin_with_rest(finder *state, tn_sums *start, tn_error *error) {
    double value[TN_SUM_DIMENSIONS];
    tn_sums_begin(start, state->dimensions);
    for (size_t d = 0; d < state->dimensions; d++) value[d] = cost_of_rest(state, state->cost[d]);
    return tn_sums_add(start, value, 0, 0, 0, 0, error);
}

/* ---- what is left ---- */

/* All costs of a point whose options are in the front's next place; value[dimensions]: its sums. */
static tn_status put_point(finder *state, const double *value, tn_build_front *front, tn_error *error) {
    tn_price_part memory;
    size_t target = front->count;
    for (int c = 0; c < TN_COSTS; c++) {
        front->cost[c][target] = cost_of_rest(state, (tn_layer_cost)c);
        for (uint32_t u = 0; u < state->table->units; u++)
            front->cost[c][target] += cost_of_option(state, u, front->option[u][target], (tn_layer_cost)c);
    }
    /* Those that were summed have the memories of shared arrays and of classes of cores in them. */
    for (size_t d = 0; d < state->dimensions; d++) front->cost[state->cost[d]][target] = value[d];
    for (int c = 0; c < TN_COSTS; c++)
        if (state->follows[c])
            front->cost[c][target] =
                tn_followed_value(&state->followed[c], front->cost[TN_COST_CYCLES][target], front->slack);
    TN_TRY(descriptors(state, front->cost[TN_COST_OPERATIONS][target], &memory, error));
    /* Where bounds cover each other, what a design covers may have fewer operations. */
    if (state->options->bounds_only) memory = state->least_descriptors;
    front->cost[TN_COST_CAPACITY][target] += memory.capacity_bits;
    front->cost[TN_COST_BRAM18][target] += memory.bram18;
    for (int c = 0; c < TN_COSTS; c++)
        if (tn_cost_is_negated(state->table, (tn_layer_cost)c))
            front->cost[c][target] = -front->cost[c][target];
    bool fits = front->cost[TN_COST_BRAM18][target] <= (double)state->space->budget.bram18 &&
                front->cost[TN_COST_URAM][target] <= (double)state->space->budget.uram;
    front->count += fits || state->options->bounds_only;
    return TN_OK;
}

static tn_status begin_front(const finder *state, size_t count, tn_build_front *front, tn_error *error) {
    const uint32_t units = state->table->units;
    for (int c = 0; c < TN_COSTS; c++) TN_TRY(TN_ALLOC(count, &front->cost[c], error));
    TN_TRY(TN_ALLOC(units, &front->option, error));
    for (uint32_t u = 0; u < units; u++) TN_TRY(TN_ALLOC(count, &front->option[u], error));
    front->slack = state->options->epsilon > 0 ? pow(1 + state->boxes.width, rounds_of(state)) : 1;
    return TN_OK;
}

/* Unit by unit. */
static tn_status find_by_units(finder *state, tn_build_front *front, tn_error *error) {
    const uint32_t units = state->table->units;
    tn_sums start = {0};
    tn_status status = TN_ALLOC(units, &state->level, error);
    if (status == TN_OK) status = TN_ALLOC(units, &state->option, error);
    if (status == TN_OK) status = begin_with_rest(state, &start, error);
    for (uint32_t u = 0; status == TN_OK && u < units; u++)
        status = merge_unit(state, u, u ? &state->level[u - 1] : &start, error);
    const tn_sums *last = status == TN_OK ? &state->level[units - 1] : NULL;
    if (status == TN_OK) status = begin_front(state, last->count, front, error);
    for (size_t i = 0; status == TN_OK && i < last->count; i++) {
        double value[TN_SUM_DIMENSIONS];
        size_t index = i;
        for (size_t d = 0; d < state->dimensions; d++) value[d] = last->value[d][i];
        for (uint32_t u = units; u-- > 0; index = state->level[u].left[index])
            front->option[u][front->count] = state->option[u][state->level[u].right[index]];
        status = put_point(state, value, front, error);
    }
    tn_sums_free(&start);
    for (uint32_t u = 0; u < units; u++) {
        if (state->level) tn_sums_free(&state->level[u]);
        if (state->option) tn_free(state->option[u]);
    }
    tn_free(state->level);
    tn_free(state->option);
    return status;
}

/* By like units; of what adds no memories are common. */
static tn_status find_by_likes(finder *state, tn_build_front *front, tn_error *error) {
    double start[TN_SUM_DIMENSIONS], sure[TN_SUM_DIMENSIONS];
    tn_arena arena = {0};
    tn_like_units likes;
    tn_like_front found = {.option = NULL};
    for (size_t d = 0; d < state->dimensions; d++) {
        const tn_layer_cost cost = state->cost[d];
        start[d] = cost_of_rest(state, cost);
        sure[d] = cost == TN_COST_CAPACITY || cost == TN_COST_BRAM18
                      ? tn_part_cost(&state->least_descriptors, cost)
                      : 0;
    }
    tn_status status = tn_like_units_find(state->table, state->build_index, state->dimensions, state->cost,
                                          &arena, &likes, error);
    if (status == TN_OK)
        status = tn_like_front_find(&likes, start, &state->boxes, sure, state->options->most,
                                    state->options->deadline, &found, error);
    if (status == TN_OK) status = begin_front(state, found.sums.count, front, error);
    for (size_t i = 0; status == TN_OK && i < found.sums.count; i++) {
        double value[TN_SUM_DIMENSIONS];
        for (size_t d = 0; d < state->dimensions; d++) value[d] = found.sums.value[d][i];
        for (uint32_t u = 0; u < state->table->units; u++)
            front->option[u][front->count] = found.option[u][i];
        status = put_point(state, value, front, error);
    }
    tn_like_front_free(&found, state->table->units);
    tn_arena_free(&arena);
    return status;
}

tn_status tn_build_front_find(const tn_space *space, const tn_units *units, const tn_layer_table *table,
                              size_t build, const uint32_t *digit, const tn_front_options *options,
                              tn_build_front *front, tn_error *error) {
    finder state = {.space = space,
                    .units = units,
                    .table = table,
                    .build = &table->build[build],
                    .build_index = build,
                    .options = options,
                    .digit = digit};
    *front = (tn_build_front){0};
    tn_status status = tn_watched_begin(&state.watches, table, state.build, space->device, error);
    if (status == TN_OK) status = choose_dimensions(&state, error);
    if (status == TN_OK)
        status = table->bounded ? find_by_likes(&state, front, error) : find_by_units(&state, front, error);
    tn_watched_free(&state.watches);
    if (status != TN_OK) tn_build_front_free(front, table->units);
    return status;
}

void tn_build_front_free(tn_build_front *front, uint32_t units) {
    for (int c = 0; c < TN_COSTS; c++) tn_free(front->cost[c]);
    for (uint32_t u = 0; front->option && u < units; u++) tn_free(front->option[u]);
    tn_free(front->option);
    *front = (tn_build_front){0};
}
