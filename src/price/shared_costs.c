#include "price/shared_costs.h"

#include <math.h>
#include <stdbool.h>

static const uint32_t NONE = UINT32_MAX;

/* A term's side where it has the variable. */
typedef struct {
    uint32_t term, side;
} use;

typedef struct {
    const tn_shared_costs *costs;
    double *(*price)[TN_TERM_VARIABLES]; /* [terms]: [values] */
    double *(*least)[TN_TERM_VARIABLES]; /* [terms]: [classes]: the least price of a value in the class */
    use *uses;                           /* by variable: */
    uint32_t *first;                     /* [variables + 1] */
    double *loss;                        /* [most uses of a variable][most values] */
    double *of_class;                    /* [most classes] */
} bounder;

static uint32_t values_of(const tn_shared_costs *costs, const tn_cost_term *term, uint32_t side) {
    return term->variable[side] == NONE ? 1 : costs->values[term->variable[side]];
}

static void find_least(bounder *state, uint32_t t, uint32_t side) {
    const tn_cost_term *term = &state->costs->term[t];
    double *least = state->least[t][side];
    if (term->variable[side] == NONE) return;
    for (uint32_t c = 0; c < term->classes[side]; c++) least[c] = INFINITY;
    for (uint32_t x = 0; x < values_of(state->costs, term, side); x++) {
        double *its = &least[term->class_of[side][x]];
        *its = fmin(*its, state->price[t][side][x]);
    }
}

/* Of a row of costs with what is added to each. */
static double least_of_row(const double *cost, const double *added, uint32_t count) {
    double least = INFINITY;
    for (uint32_t i = 0; i < count; i++) {
        const double sum = cost[i] + added[i];
        least = sum < least ? sum : least;
    }
    return least;
}

static void lower_row(const double *cost, double added, uint32_t count, double *row) {
    for (uint32_t i = 0; i < count; i++) {
        const double sum = cost[i] + added;
        row[i] = sum < row[i] ? sum : row[i];
    }
}

/* The least that the term costs with each class of one side, whose own price is not in it. */
static void find_marginals(const bounder *state, uint32_t t, uint32_t side, double *marginal) {
    const tn_cost_term *term = &state->costs->term[t];
    double *const *least = state->least[t];
    const uint32_t *classes = term->classes;
    const double *row = term->cost;
    for (uint32_t c = 0; c < classes[side]; c++) marginal[c] = INFINITY;
    for (uint32_t a = 0; a < classes[0]; a++)
        for (uint32_t b = 0; b < classes[1]; b++, row += classes[2]) {
            const double both = (side != 0 ? least[0][a] : 0) + (side != 1 ? least[1][b] : 0);
            if (side == 2) {
                lower_row(row, both, classes[2], marginal);
                continue;
            }
            double *own = &marginal[side == 0 ? a : b];
            *own = fmin(*own, both + least_of_row(row, least[2], classes[2]));
        }
}

static void take_turn(bounder *state, uint32_t variable) {
    const tn_shared_costs *costs = state->costs;
    const uint32_t values = costs->values[variable], first = state->first[variable],
                   uses = state->first[variable + 1] - first;
    for (uint32_t i = 0; i < uses; i++) {
        const use *its = &state->uses[first + i];
        find_marginals(state, its->term, its->side, state->of_class);
        for (uint32_t x = 0; x < values; x++)
            state->loss[i * values + x] = state->of_class[costs->term[its->term].class_of[its->side][x]] +
                                          state->price[its->term][its->side][x];
    }
    for (uint32_t x = 0; x < values; x++) {
        double mean = 0;
        for (uint32_t i = 0; i < uses; i++) mean += state->loss[i * values + x];
        mean /= uses;
        for (uint32_t i = 0; i < uses; i++) {
            const use *its = &state->uses[first + i];
            state->price[its->term][its->side][x] += mean - state->loss[i * values + x];
        }
    }
    for (uint32_t i = 0; i < uses; i++)
        find_least(state, state->uses[first + i].term, state->uses[first + i].side);
}

static double sum_of_least(const bounder *state) {
    double sum = 0;
    for (uint32_t t = 0; t < state->costs->terms; t++) {
        const tn_cost_term *term = &state->costs->term[t];
        double least = INFINITY;
        find_marginals(state, t, 0, state->of_class);
        for (uint32_t c = 0; c < term->classes[0]; c++)
            least = fmin(least, state->of_class[c] + state->least[t][0][c]);
        sum += least;
    }
    return sum;
}

static tn_status list_uses(bounder *state, tn_arena *arena, tn_error *error) {
    const tn_shared_costs *costs = state->costs;
    uint32_t all = 0, most_values = 1, most_uses = 1, most_classes = 1;
    TN_TRY(TN_NEW(arena, costs->variables + 2, &state->first, error));
    TN_TRY(TN_NEW(arena, (size_t)TN_TERM_VARIABLES * costs->terms + 1, &state->uses, error));
    for (uint32_t v = 0; v < costs->variables; v++) {
        state->first[v] = all;
        for (uint32_t t = 0; t < costs->terms; t++)
            for (uint32_t side = 0; side < TN_TERM_VARIABLES; side++)
                if (costs->term[t].variable[side] == v) state->uses[all++] = (use){t, side};
        if (costs->values[v] > most_values) most_values = costs->values[v];
        if (all - state->first[v] > most_uses) most_uses = all - state->first[v];
    }
    state->first[costs->variables] = all;
    for (uint32_t t = 0; t < costs->terms; t++)
        for (uint32_t side = 0; side < TN_TERM_VARIABLES; side++)
            if (costs->term[t].classes[side] > most_classes) most_classes = costs->term[t].classes[side];
    TN_TRY(TN_NEW(arena, (size_t)most_uses * most_values, &state->loss, error));
    return TN_NEW(arena, most_classes, &state->of_class, error);
}

static tn_status begin(bounder *state, tn_arena *arena, tn_error *error) {
    const tn_shared_costs *costs = state->costs;
    TN_TRY(list_uses(state, arena, error));
    TN_TRY(TN_NEW(arena, costs->terms, &state->price, error));
    TN_TRY(TN_NEW(arena, costs->terms, &state->least, error));
    for (uint32_t t = 0; t < costs->terms; t++)
        for (uint32_t side = 0; side < TN_TERM_VARIABLES; side++) {
            TN_TRY(TN_NEW(arena, values_of(costs, &costs->term[t], side), &state->price[t][side], error));
            TN_TRY(TN_NEW(arena, costs->term[t].classes[side], &state->least[t][side], error));
        }
    return TN_OK;
}

tn_status tn_shared_costs_bound(const tn_shared_costs *costs, tn_arena *arena, double *bound,
                                tn_error *error) {
    enum { ROUNDS_MOST = 40 };
    static const double little = 1e-3;
    bounder state = {.costs = costs};
    TN_TRY(begin(&state, arena, error));
    *bound = sum_of_least(&state);
    bool better = true;
    for (int round = 0; round < ROUNDS_MOST && better; round++) {
        for (uint32_t v = 0; v < costs->variables; v++)
            if (state.first[v + 1] > state.first[v]) take_turn(&state, v);
        const double now = sum_of_least(&state);
        better = now > *bound * (1 + little);
        *bound = fmax(*bound, now);
    }
    return TN_OK;
}
