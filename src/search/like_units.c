#include "search/like_units.h"

#include "base/checked.h"
#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const uint32_t NONE = UINT32_MAX;

typedef struct {
    tn_like_units *likes;
    tn_arena *arena;
    const tn_core_classes *classes;
    const tn_core_share *share; /* [classes] */
} finder;

/* What an option adds, apart from cores of classes. */
static double value_of(const finder *state, uint32_t u, uint64_t option, size_t dimension) {
    const tn_like_units *likes = state->likes;
    const tn_layer_cost cost = likes->cost[dimension];
    double value = tn_option_cost(likes->table, likes->build, u, option, cost);
    if (cost != TN_COST_CAPACITY || !likes->has_classes) return value;
    const tn_part_cores *cores = &likes->table->unit[u].cores[likes->build][option];
    for (uint32_t i = 0; i < cores->count; i++) value -= state->share[cores->core_class[i]].capacity_bits;
    return value;
}

/* ---- which units are alike ---- */

static bool same_cores(const tn_part_cores *a, const tn_part_cores *b) {
    return a->count == b->count &&
           (a->count == 0 || memcmp(a->core_class, b->core_class, a->count * sizeof *a->core_class) == 0);
}

/* Sizes of the cores and their roles, rising. */
static void list_sizes(const finder *state, const tn_part_cores *cores, uint64_t *size) {
    for (uint32_t i = 0; i < cores->count; i++) {
        const tn_core_class *its = &state->classes->list[cores->core_class[i]];
        size[i] = its->elements * TN_ARRAY_ROLES + its->role;
    }
    if (cores->count) qsort(size, cores->count, sizeof *size, tn_count_order);
}

static tn_status same_sizes(const finder *state, const tn_part_cores *a, const tn_part_cores *b, bool *same,
                            tn_error *error) {
    uint64_t *size;
    *same = a->count == b->count;
    if (!*same || same_cores(a, b)) return TN_OK;
    TN_TRY(TN_ALLOC(2 * (size_t)a->count, &size, error));
    list_sizes(state, a, size);
    list_sizes(state, b, size + a->count);
    *same = memcmp(size, size + a->count, a->count * sizeof *size) == 0;
    tn_free(size);
    return TN_OK;
}

/* Whether the unit differs from the type's first by constants, nearly. */
static bool is_of_type(const finder *state, const tn_like_type *type, uint32_t u, uint64_t options) {
    static const double nearly = 0.25;
    const tn_like_units *likes = state->likes;
    const tn_part_cores *cores = likes->table->unit[u].cores[likes->build];
    const bool *defined = likes->table->unit[u].defined;
    for (uint64_t o = 0; o < options; o++)
        if (defined[o] && !same_cores(&type->cores[o], &cores[o])) return false;
    for (size_t d = 0; d < likes->dimensions; d++) {
        double least = INFINITY, most = -INFINITY, whole = 0;
        for (uint64_t o = 0; o < options; o++) {
            if (!defined[o]) continue;
            const double first = value_of(state, type->unit[0], o, d),
                         apart = value_of(state, u, o, d) - first;
            least = fmin(least, apart);
            most = fmax(most, apart);
            whole = fmax(whole, fabs(first));
        }
        if (most - least > nearly * whole) return false;
    }
    return true;
}

static tn_status is_of_set(const finder *state, const tn_like_set *set, uint32_t u, bool *is,
                           tn_error *error) {
    const tn_unit_table *unit = &state->likes->table->unit[u];
    const tn_part_cores *cores = unit->cores[state->likes->build];
    *is = unit->options == set->options &&
          memcmp(unit->defined, set->defined, set->options * sizeof *set->defined) == 0;
    bool any = false;
    for (uint64_t o = 0; *is && o < set->options; o++) {
        if (set->defined[o]) TN_TRY(same_sizes(state, &set->type->cores[o], &cores[o], is, error));
        any |= set->defined[o] && cores[o].count > 0;
    }
    *is &= any;
    return TN_OK;
}

/* Numbers of units of each type that blocks are told apart by. */
static uint64_t states_of(const tn_like_set *set) {
    uint64_t states = 1;
    for (uint32_t t = 0; t < set->types; t++) states *= set->type[t].count + 1;
    return states;
}

static tn_status begin_type(finder *state, tn_like_set *set, uint32_t u, tn_error *error) {
    const tn_like_units *likes = state->likes;
    tn_like_type *type = &set->type[set->types++];
    TN_TRY(TN_NEW(state->arena, likes->table->units, &type->unit, error));
    type->unit[type->count++] = u;
    type->cores = likes->table->unit[u].cores[likes->build];
    set->units++;
    return TN_OK;
}

static tn_status begin_set(finder *state, uint32_t u, tn_error *error) {
    tn_like_set *set = &state->likes->set[state->likes->sets++];
    const tn_unit_table *unit = &state->likes->table->unit[u];
    *set = (tn_like_set){.options = unit->options, .defined = unit->defined};
    TN_TRY(TN_NEW(state->arena, state->likes->table->units, &set->type, error));
    return begin_type(state, set, u, error);
}

static tn_status place_unit(finder *state, uint32_t u, tn_error *error) {
    enum { STATES_MOST = 128, OPTIONS_MOST = 4096 };
    const bool may = state->likes->has_classes && state->likes->table->unit[u].options <= OPTIONS_MOST;
    for (uint32_t s = 0; may && s < state->likes->sets; s++) {
        tn_like_set *set = &state->likes->set[s];
        bool is;
        TN_TRY(is_of_set(state, set, u, &is, error));
        if (!is) continue;
        uint32_t t = 0;
        while (t < set->types && !is_of_type(state, &set->type[t], u, set->options)) t++;
        if (t == set->types) {
            if (2 * states_of(set) > STATES_MOST) continue;
            return begin_type(state, set, u, error);
        }
        const uint64_t states = states_of(set) / (set->type[t].count + 1) * (set->type[t].count + 2);
        if (states > STATES_MOST) continue;
        set->type[t].unit[set->type[t].count++] = u;
        set->units++;
        return TN_OK;
    }
    return begin_set(state, u, error);
}

/* ---- what they cost ---- */

static int by_value(const void *a, const void *b) {
    const double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

/* By how much most options of a unit differ from those of the type's first: the median. */
static double constant_of(const finder *state, const tn_like_set *set, const tn_like_type *type,
                          uint32_t unit, size_t d, double *apart) {
    size_t count = 0;
    for (uint64_t o = 0; o < set->options; o++)
        if (set->defined[o])
            apart[count++] = value_of(state, unit, o, d) - value_of(state, type->unit[0], o, d);
    qsort(apart, count, sizeof *apart, by_value);
    return apart[count / 2];
}

/* C of all options, from e of all units. */
static tn_status find_costs_of(finder *state, tn_like_set *set, tn_like_type *type, size_t d, double *apart,
                               double *constant, tn_error *error) {
    const size_t numbers = (size_t)type->count + 1;
    TN_TRY(tn_arena_alloc(state->arena, set->options * numbers, sizeof **type->cost, &type->cost[d], error));
    for (uint32_t i = 0; i < type->count; i++) {
        constant[i] = constant_of(state, set, type, type->unit[i], d, apart);
        set->constant[d] += constant[i];
    }
    for (uint64_t o = 0; o < set->options; o++) {
        if (!set->defined[o]) continue;
        const double first = value_of(state, type->unit[0], o, d);
        double *cost = type->cost[d] + o * numbers;
        for (uint32_t i = 0; i < type->count; i++)
            cost[i + 1] = value_of(state, type->unit[i], o, d) - first - constant[i];
        qsort(cost + 1, type->count, sizeof *cost, by_value);
        for (uint32_t i = 1; i < numbers; i++) cost[i] += cost[i - 1] + first;
    }
    return TN_OK;
}

static tn_status find_costs(finder *state, tn_like_set *set, tn_like_type *type, tn_error *error) {
    double *apart, *constant = NULL;
    TN_TRY(TN_ALLOC(set->options, &apart, error));
    tn_status status = TN_ALLOC(type->count, &constant, error);
    for (size_t d = 0; status == TN_OK && d < state->likes->dimensions; d++)
        status = find_costs_of(state, set, type, d, apart, constant, error);
    tn_free(apart);
    tn_free(constant);
    return status;
}

static tn_status find_species(finder *state, tn_like_set *set, tn_error *error) {
    const tn_part_cores *cores = set->type[0].cores;
    uint64_t *first; /* an option of each */
    TN_TRY(TN_NEW(state->arena, set->options, &set->species_of, error));
    TN_TRY(TN_ALLOC(set->options, &first, error));
    tn_status status = TN_OK;
    for (uint64_t o = 0; status == TN_OK && o < set->options; o++) {
        bool same = false;
        uint32_t s = 0;
        if (!set->defined[o]) continue;
        for (; status == TN_OK && s < set->species && cores[o].count > 0; s++) {
            status = same_sizes(state, &cores[first[s]], &cores[o], &same, error);
            if (same) break;
        }
        if (!same) {
            s = set->species++;
            first[s] = o;
        }
        set->species_of[o] = s;
    }
    tn_free(first);
    return status;
}

/* ---- who shares classes ---- */

static void note_participants(finder *state, const tn_like_set *set) {
    uint32_t *participant = state->likes->participant;
    for (uint32_t t = 0; t < set->types; t++)
        for (uint64_t o = 0; o < set->options; o++) {
            if (!set->defined[o]) continue;
            const uint32_t its = set->first_participant + (set->units > 1 ? set->species_of[o] : 0);
            for (uint32_t i = 0; i < set->type[t].cores[o].count; i++) {
                uint32_t *known = &participant[set->type[t].cores[o].core_class[i]];
                *known = *known == NONE - 1 || *known == its ? its : NONE;
            }
        }
}

/* What no unit decides may have cores of a class, too. */
static tn_status find_participants(finder *state, tn_error *error) {
    tn_like_units *likes = state->likes;
    const uint32_t classes = state->classes->count;
    uint32_t participants = 0;
    TN_TRY(TN_NEW(state->arena, classes, &likes->participant, error));
    for (uint32_t i = 0; i < classes; i++)
        likes->participant[i] = state->classes->list[i].most[likes->table->units] > 0 ? NONE : NONE - 1;
    for (uint32_t s = 0; s < likes->sets; s++) {
        tn_like_set *set = &likes->set[s];
        set->first_participant = participants;
        participants += set->units > 1 ? set->species : 1;
        note_participants(state, set);
    }
    return TN_OK;
}

double tn_like_class_cost(const tn_like_units *likes, uint32_t core_class, uint32_t participant,
                          uint32_t count) {
    const tn_core_share *share = &likes->table->view[likes->build].core[core_class];
    return (likes->participant[core_class] == participant ? share->alone : share->among)[count];
}

/* ---- the whole ---- */

/* The largest first: with it sums begin. */
static int by_units(const void *a, const void *b) {
    const tn_like_set *left = a, *right = b;
    if (left->units != right->units) return left->units > right->units ? -1 : 1;
    return (left->type->unit[0] > right->type->unit[0]) - (left->type->unit[0] < right->type->unit[0]);
}

tn_status tn_like_units_find(const tn_layer_table *table, size_t build, size_t dimensions,
                             const tn_layer_cost *cost, tn_arena *arena, tn_like_units *likes,
                             tn_error *error) {
    const tn_part_view *view = &table->view[build];
    finder state = {.likes = likes, .arena = arena, .classes = &view->survey->cores, .share = view->core};
    *likes = (tn_like_units){.table = table, .build = build, .dimensions = dimensions, .cost = cost};
    for (size_t d = 0; d < dimensions; d++)
        likes->has_classes |= cost[d] == TN_COST_CAPACITY && view->core != NULL;
    TN_TRY(TN_NEW(arena, table->units, &likes->set, error));
    for (uint32_t u = 0; u < table->units; u++) TN_TRY(place_unit(&state, u, error));
    qsort(likes->set, likes->sets, sizeof *likes->set, by_units);
    for (uint32_t s = 0; s < likes->sets; s++) {
        for (uint32_t t = 0; t < likes->set[s].types; t++)
            TN_TRY(find_costs(&state, &likes->set[s], &likes->set[s].type[t], error));
        if (likes->set[s].units > 1) TN_TRY(find_species(&state, &likes->set[s], error));
    }
    return likes->has_classes ? find_participants(&state, error) : TN_OK;
}
