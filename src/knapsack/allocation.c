#include "knapsack/allocation.h"

#include "base/memory.h"
#include "knapsack/branch.h"
#include "knapsack/partial_allocations.h"

#include <math.h>
#include <string.h>

enum { FIRST_STATES = 1 << 11, WIDEN = 4, PRICES_MOST = 3 + 5 * TN_COSTS_MOST };

/* Bounds are compared with this slack, so that rounding never drops the optimum. */
static const double SLACK = 1e-9;

typedef struct {
    const tn_knapsack *choices;
    const double *budget;
    tn_dual dual;
    size_t prices;
    double price[PRICES_MOST][TN_COSTS_MOST]; /* the first are the dual's, the others lie around them */
    double *rest_bound; /* [(layers + 1) * prices] of the layers from l on, budgets paid */
    size_t *best;       /* [layers] */
    bool met;
    double best_objective, best_cost;
    size_t *kept, *kept_first; /* candidates that may be in an optimum, layer by layer */
    double *rest;              /* [(layers + 1) * costs] least cost of the layers from l on */
} problem;

static double priced(const problem *p, const double *price, size_t candidate) {
    const tn_knapsack *c = p->choices;
    double value = c->objective[candidate];
    for (size_t k = 0; k < c->costs; k++) value += price[k] * c->cost[candidate * c->costs + k];
    return value;
}

static bool dominates(const tn_knapsack *c, size_t a, size_t b) {
    bool equal = c->objective[a] == c->objective[b];
    if (c->objective[a] > c->objective[b]) return false;
    for (size_t k = 0; k < c->costs; k++) {
        double left = c->cost[a * c->costs + k], right = c->cost[b * c->costs + k];
        if (left > right) return false;
        equal = equal && left == right;
    }
    return !equal || a < b;
}

/* The dual's prices bound allocations that use all budgets evenly. One that has spent much of one budget
 * early is bounded better by prices at which that budget is dearer, so each price in turn is varied. */
static void vary_prices(problem *p) {
    static const double factors[] = {0, 0.5, 0.8, 1.25, 2}, few[] = {0.02, 0.05, 0.1, 0.2, 0.5};
    size_t costs = p->choices->costs, variants = sizeof factors / sizeof *factors;
    double largest = 0;
    for (size_t k = 0; k < costs; k++) largest = fmax(largest, p->dual.price[k] * p->budget[k]);
    memcpy(p->price[p->prices++], p->dual.price, sizeof p->dual.price);
    for (int v = 0; v < 2; v++, p->prices++)
        for (size_t k = 0; k < costs; k++) p->price[p->prices][k] = p->dual.price[k] * (v ? 64 : 8);
    for (size_t k = 0; k < costs && largest > 0; k++)
        for (size_t v = 0; v < variants; v++) {
            double now = p->dual.price[k];
            memcpy(p->price[p->prices], p->dual.price, sizeof p->dual.price);
            p->price[p->prices++][k] = now > 0            ? now * factors[v]
                                       : p->budget[k] > 0 ? few[v] * largest / p->budget[k]
                                                          : 0;
        }
}

/* Largest magnitude that the terms of a bound at these prices can sum to. */
static double magnitude_of(const problem *p, const double *price) {
    const tn_knapsack *c = p->choices;
    double sum = 0;
    for (size_t k = 0; k < c->costs; k++) sum += price[k] * p->budget[k];
    for (size_t l = 0; l < c->layers; l++) {
        double most = 0;
        for (size_t i = c->first[l]; i < c->first[l + 1]; i++) most = fmax(most, priced(p, price, i));
        sum += most;
    }
    return sum;
}

static void find_rest_bounds(problem *p) {
    const tn_knapsack *c = p->choices;
    for (size_t j = 0; j < p->prices; j++) {
        double bound = -tn_dual_rounding(c, magnitude_of(p, p->price[j]));
        for (size_t k = 0; k < c->costs; k++) bound -= p->price[j][k] * p->budget[k];
        p->rest_bound[c->layers * p->prices + j] = bound;
        for (size_t l = c->layers; l-- > 0;) {
            double least = INFINITY;
            for (size_t i = c->first[l]; i < c->first[l + 1]; i++)
                least = fmin(least, priced(p, p->price[j], i));
            p->rest_bound[l * p->prices + j] = bound += least;
        }
    }
}

/* Objectives and bounds above this are of no use. */
static double bound_most(const problem *p) {
    return p->met ? p->best_objective + SLACK * fabs(p->best_objective) : INFINITY;
}

/* Least objective that any allocation with this candidate can have. */
static double candidate_bound(const problem *p, size_t l, size_t candidate) {
    double bound = 0;
    for (size_t j = 0; j < p->prices; j++) {
        double layer = p->rest_bound[l * p->prices + j] - p->rest_bound[(l + 1) * p->prices + j];
        bound = fmax(bound, p->rest_bound[j] - layer + priced(p, p->price[j], candidate));
    }
    return bound;
}

/* Raises state->bound to the least objective of any completion by the layers from l on; false once it is over
 * `most`. */
static bool within_bound(const problem *p, size_t l, double most, tn_partial_allocation *state) {
    const double *rest = p->rest_bound + l * p->prices;
    for (size_t j = 0; j < p->prices; j++) {
        double bound = state->objective + rest[j];
        for (size_t k = 0; k < p->choices->costs; k++) bound += p->price[j][k] * state->cost[k];
        if (bound > most) return false;
        state->bound = fmax(state->bound, bound);
    }
    return true;
}

/* Keeps the candidates that nothing of their layer dominates and whose bound does not rule them out. */
static void keep_candidates(problem *p) {
    const tn_knapsack *c = p->choices;
    double most = bound_most(p);
    size_t count = 0;
    for (size_t l = 0; l < c->layers; l++) {
        p->kept_first[l] = count;
        for (size_t i = c->first[l]; i < c->first[l + 1]; i++) {
            bool needed = candidate_bound(p, l, i) <= most;
            for (size_t j = c->first[l]; needed && j < c->first[l + 1]; j++) needed = !dominates(c, j, i);
            if (needed) p->kept[count++] = i;
        }
    }
    p->kept_first[c->layers] = count;
    for (size_t k = 0; k < c->costs; k++) p->rest[c->layers * c->costs + k] = 0;
    for (size_t l = c->layers; l-- > 0;)
        for (size_t k = 0; k < c->costs; k++) {
            double least = INFINITY;
            for (size_t i = p->kept_first[l]; i < p->kept_first[l + 1]; i++)
                least = fmin(least, c->cost[p->kept[i] * c->costs + k]);
            p->rest[l * c->costs + k] = p->rest[(l + 1) * c->costs + k] + least;
        }
}

/* `state` extended by a candidate of layer l, or false where that can't be in an optimum. */
static bool extend(const problem *p, const tn_partial_allocation *state, size_t l, size_t candidate,
                   double most, tn_partial_allocation *next) {
    const tn_knapsack *c = p->choices;
    *next = *state;
    next->objective += c->objective[candidate];
    for (size_t k = 0; k < c->costs; k++) {
        next->cost[k] += c->cost[candidate * c->costs + k];
        if (next->cost[k] + p->rest[(l + 1) * c->costs + k] > p->budget[k]) return false;
    }
    next->choice = (uint32_t)(candidate - c->first[l]);
    return within_bound(p, l + 1, most, next);
}

static tn_status merge_layer(const problem *p, size_t l, const tn_partial_allocations *source,
                             tn_partial_allocations *target, tn_error *error) {
    double most = bound_most(p);
    for (size_t s = 0; s < source->count; s++)
        for (size_t i = p->kept_first[l]; i < p->kept_first[l + 1]; i++) {
            tn_partial_allocation next;
            if (!extend(p, &source->state[s], l, p->kept[i], most, &next)) continue;
            next.parent = (uint32_t)s;
            TN_TRY(tn_partial_allocations_add(target, &next, error));
        }
    tn_partial_allocations_settle(target);
    return TN_OK;
}

/* Remembers the best complete allocation. Ties go to the lower first cost. */
static void take_best(problem *p, const tn_partial_allocations *last, tn_allocation_trail *trail) {
    for (size_t s = 0; s < last->count; s++) {
        const tn_partial_allocation *state = &last->state[s];
        if (p->met && (state->objective > p->best_objective ||
                       (state->objective == p->best_objective && !(state->cost[0] < p->best_cost))))
            continue;
        p->met = true;
        p->best_objective = state->objective;
        p->best_cost = state->cost[0];
        tn_allocation_trail_follow(trail, p->choices->layers, s, p->best);
    }
}

/* One pass over all layers with fronts of at most `limit`. *dropped = least bound that thinning lost. */
static tn_status merge_all(problem *p, size_t limit, double *dropped, uint64_t *states, tn_error *error) {
    size_t layers = p->choices->layers;
    tn_allocation_trail trail = {0};
    tn_partial_allocations front[2] = {{0}};
    tn_status status = tn_allocation_trail_new(&trail, layers, error);
    for (int i = 0; i < 2 && status == TN_OK; i++)
        status = tn_partial_allocations_new(&front[i], p->choices->costs, limit, error);
    tn_partial_allocation start = {0};
    if (status == TN_OK) status = tn_partial_allocations_add(&front[0], &start, error);
    *dropped = INFINITY;
    *states = 0;
    for (size_t l = 0; l < layers && status == TN_OK; l++) {
        tn_partial_allocations *source = &front[l % 2], *target = &front[(l + 1) % 2];
        tn_partial_allocations_clear(target);
        status = merge_layer(p, l, source, target, error);
        if (status == TN_OK) status = tn_allocation_trail_keep(&trail, l, target, error);
        *dropped = fmin(*dropped, target->dropped);
        *states += target->count;
    }
    if (status == TN_OK) take_best(p, &front[layers % 2], &trail);
    tn_allocation_trail_free(&trail, layers);
    for (int i = 0; i < 2; i++) tn_partial_allocations_free(&front[i]);
    return status;
}

static double largest_objective(const tn_knapsack *c) {
    double sum = 0;
    for (size_t l = 0; l < c->layers; l++) {
        double most = 0;
        for (size_t i = c->first[l]; i < c->first[l + 1]; i++) most = fmax(most, c->objective[i]);
        sum += most;
    }
    return sum;
}

/* Betters the best allocation known, if there is one. */
static void improve(problem *p) {
    double total[TN_COSTS_MOST] = {0};
    if (!p->met) return;
    tn_knapsack_improve(p->choices, p->budget, p->best);
    tn_knapsack_cost(p->choices, p->best, total);
    p->best_objective = tn_knapsack_objective(p->choices, p->best);
    p->best_cost = total[0];
}

static size_t default_states(const tn_knapsack *c) {
    return c->costs <= 2 ? TN_ALLOCATION_STATES : TN_ALLOCATION_STATES_MANY;
}

/* By branch and bound, where that finishes. */
static tn_status try_branching(problem *p, size_t most_states, bool *finished, tn_allocation *a,
                               tn_error *error) {
    tn_branch branch;
    TN_TRY(tn_branch_and_bound(p->choices, p->budget, most_states, p->best, &branch, error));
    *finished = branch.finished;
    a->found = branch.met;
    a->exact = branch.finished;
    a->lower_bound = branch.bound;
    a->states = branch.nodes;
    return TN_OK;
}

/* Widens the fronts until nothing is thinned or the limit is reached. */
static tn_status solve(problem *p, size_t most_states, tn_allocation *a, tn_error *error) {
    const tn_knapsack *c = p->choices;
    bool finished = false;
    if (c->step > 0) TN_TRY(try_branching(p, most_states, &finished, a, error));
    if (finished) return TN_OK;
    TN_TRY(tn_dual_solve(c, p->budget, &p->dual, p->best, &p->met, error));
    /* Prices at which the bound passes every allocation there is show that none keeps the budgets. */
    if (!p->met && p->dual.bound > largest_objective(c) * (1 + SLACK)) {
        a->exact = true;
        return TN_OK;
    }
    p->met = p->met || tn_knapsack_repair(c, p->budget, p->best);
    improve(p);
    vary_prices(p);
    TN_TRY(TN_ALLOC((c->layers + 1) * p->prices, &p->rest_bound, error));
    find_rest_bounds(p);
    double dropped = 0;
    for (size_t limit = most_states < FIRST_STATES ? most_states : FIRST_STATES;; limit *= WIDEN) {
        if (limit > most_states) limit = most_states;
        keep_candidates(p);
        TN_TRY(merge_all(p, limit, &dropped, &a->states, error));
        improve(p);
        if (dropped == INFINITY || limit == most_states) break;
    }
    a->found = p->met;
    a->exact = dropped == INFINITY || (p->met && dropped >= p->best_objective);
    a->lower_bound = fmin(dropped, p->met ? p->best_objective : INFINITY);
    return TN_OK;
}

static void report(const problem *p, tn_allocation *a) {
    if (!a->found) return;
    a->objective = tn_knapsack_objective(p->choices, p->best);
    tn_knapsack_cost(p->choices, p->best, a->cost);
    if (a->exact) a->lower_bound = a->objective;
    a->gap = a->objective > 0 ? fmax(0, (a->objective - a->lower_bound) / a->objective) : 0;
}

tn_status tn_allocate(const tn_knapsack *choices, const double *budget, size_t most_states,
                      tn_allocation *allocation, tn_error *error) {
    *allocation = (tn_allocation){0};
    TN_TRY(tn_knapsack_check(choices, error));
    size_t layers = choices->layers, candidates = choices->first[layers];
    problem p = {.choices = choices, .budget = budget};
    tn_status status = TN_ALLOC(layers, &p.best, error);
    if (status == TN_OK) status = TN_ALLOC(candidates, &p.kept, error);
    if (status == TN_OK) status = TN_ALLOC(layers + 1, &p.kept_first, error);
    if (status == TN_OK) status = TN_ALLOC((layers + 1) * (choices->costs + 1), &p.rest, error);
    if (status == TN_OK)
        status = solve(&p, most_states ? most_states : default_states(choices), allocation, error);
    if (status == TN_OK) report(&p, allocation);
    if (status == TN_OK && allocation->found) {
        allocation->choice = p.best;
        p.best = NULL;
    }
    tn_free(p.best);
    tn_free(p.kept);
    tn_free(p.kept_first);
    tn_free(p.rest_bound);
    tn_free(p.rest);
    return status;
}

void tn_allocation_free(tn_allocation *allocation) {
    tn_free(allocation->choice);
    *allocation = (tn_allocation){0};
}
