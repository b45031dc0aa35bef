#include "knapsack/branch.h"

#include "base/memory.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS_MOST = 200 };

typedef struct {
    const tn_knapsack *choices;
    const double *budget;
    size_t *choice;
    double total[TN_COSTS_MOST];
} walk;

typedef struct {
    size_t layer[2], candidate[2]; /* counted from the start of the table */
    double gain;
} move;

static double gain_of(const walk *w, size_t layer, size_t candidate) {
    return w->choices->objective[w->choices->first[layer] + w->choice[layer]] -
           w->choices->objective[candidate];
}

/* after[k] = before[k] with layer's candidate exchanged; false where the budget of some cost is broken. */
static bool exchange(const walk *w, size_t layer, size_t candidate, const double *before, double *after) {
    const tn_knapsack *c = w->choices;
    size_t now = c->first[layer] + w->choice[layer];
    bool fits = true;
    for (size_t k = 0; k < c->costs; k++) {
        after[k] = before[k] - c->cost[now * c->costs + k] + c->cost[candidate * c->costs + k];
        fits = fits && after[k] <= w->budget[k];
    }
    return fits;
}

/* The best partner for an exchange that was made in `layer`, which may have left the budgets. */
static void find_partner(const walk *w, size_t layer, size_t candidate, const double *total, move *best) {
    const tn_knapsack *c = w->choices;
    double gain = gain_of(w, layer, candidate), after[TN_COSTS_MOST];
    for (size_t other = layer + 1; other < c->layers; other++)
        for (size_t i = c->first[other]; i < c->first[other + 1]; i++) {
            double both = gain + gain_of(w, other, i);
            if (both <= best->gain || !exchange(w, other, i, total, after)) continue;
            *best = (move){{layer, other}, {candidate, i}, both};
        }
}

static bool step(walk *w) {
    const tn_knapsack *c = w->choices;
    move best = {.gain = 1e-12 * fabs(tn_knapsack_objective(c, w->choice))};
    bool found = false;
    for (size_t l = 0; l < c->layers; l++)
        for (size_t i = c->first[l]; i < c->first[l + 1]; i++) {
            double after[TN_COSTS_MOST];
            if (i == c->first[l] + w->choice[l]) continue;
            double before = best.gain;
            if (exchange(w, l, i, w->total, after) && gain_of(w, l, i) > best.gain)
                best = (move){{l, l}, {i, i}, gain_of(w, l, i)};
            find_partner(w, l, i, after, &best);
            found |= best.gain > before;
        }
    for (int i = 0; found && i < 2; i++)
        w->choice[best.layer[i]] = best.candidate[i] - c->first[best.layer[i]];
    tn_knapsack_cost(c, w->choice, w->total);
    return found;
}

static double excess_of(const tn_knapsack *c, const double *total, const double *budget) {
    double excess = 0;
    for (size_t k = 0; k < c->costs; k++)
        excess += fmax(0, total[k] - budget[k]) / (budget[k] > 0 ? budget[k] : 1);
    return excess;
}

/* By how much an allocation breaks its budgets: the sum of the excesses, each in shares of its budget. */
static double knapsack_excess(const tn_knapsack *choices, const size_t *choice, const double *budget) {
    double total[TN_COSTS_MOST];
    tn_knapsack_cost(choices, choice, total);
    return excess_of(choices, total, budget);
}

static bool repair_step(walk *w) {
    const tn_knapsack *c = w->choices;
    double after[TN_COSTS_MOST], both[TN_COSTS_MOST], least = excess_of(c, w->total, w->budget);
    move best = {.gain = 0};
    for (size_t l = 0; l < c->layers; l++)
        for (size_t i = c->first[l]; i < c->first[l + 1]; i++) {
            exchange(w, l, i, w->total, after);
            for (size_t other = l; other < c->layers; other++)
                for (size_t j = c->first[other]; j < c->first[other + 1]; j++) {
                    if (other == l && j != i) continue;
                    exchange(w, other, j, other == l ? w->total : after, both);
                    double excess = excess_of(c, both, w->budget);
                    if (excess >= least) continue;
                    least = excess;
                    best = (move){{l, other}, {i, j}, 1};
                }
        }
    for (int i = 0; best.gain > 0 && i < 2; i++)
        w->choice[best.layer[i]] = best.candidate[i] - c->first[best.layer[i]];
    tn_knapsack_cost(c, w->choice, w->total);
    return best.gain > 0;
}

bool tn_knapsack_repair(const tn_knapsack *choices, const double *budget, size_t *choice) {
    walk w = {.choices = choices, .budget = budget, .choice = choice};
    tn_knapsack_cost(choices, choice, w.total);
    for (int round = 0; round < ROUNDS_MOST && excess_of(choices, w.total, budget) > 0; round++)
        if (!repair_step(&w)) return false;
    return tn_knapsack_fit(choices, choice, budget);
}

void tn_knapsack_improve(const tn_knapsack *choices, const double *budget, size_t *choice) {
    walk w = {.choices = choices, .budget = budget, .choice = choice};
    tn_knapsack_cost(choices, choice, w.total);
    for (int round = 0; round < ROUNDS_MOST && step(&w); round++) {}
}

enum { STEPS_PER_COST = 1500 };

static const double START_RADIUS = 1e4; /* of the spread of the objective, in prices per whole budget */
static const double CLOSE_ENOUGH = 1e-10;

/* The search runs in prices per whole budget, so that costs of any unit weigh alike. */
typedef struct {
    const tn_knapsack *choices;
    const double *budget;
    double unit[TN_COSTS_MOST]; /* budget, or 1 where that is 0 */
    size_t *choice, *best;      /* of the prices looked at; the best within the budgets */
    double best_objective, least_excess;
    size_t n;
    double centre[TN_COSTS_MOST], axes[TN_COSTS_MOST][TN_COSTS_MOST]; /* the ellipsoid */
} dual_search;

double tn_dual_rounding(const tn_knapsack *choices, double magnitude) {
    return 4 * DBL_EPSILON * (double)(choices->layers + choices->costs + 2) * magnitude;
}

/* Bound at `price`; slope[k] = its supergradient, usage - 1 in units of the budget. */
static double look(dual_search *s, const double *price, double *slope) {
    const tn_knapsack *c = s->choices;
    double bound = 0, magnitude = 0;
    for (size_t k = 0; k < s->n; k++) {
        slope[k] = -s->budget[k] / s->unit[k];
        bound += price[k] * slope[k];
        magnitude += fabs(price[k] * slope[k]);
    }
    for (size_t l = 0; l < c->layers; l++) {
        double least = INFINITY;
        for (size_t i = c->first[l]; i < c->first[l + 1]; i++) {
            double value = c->objective[i];
            for (size_t k = 0; k < s->n; k++) value += price[k] * c->cost[i * s->n + k] / s->unit[k];
            if (value >= least) continue;
            least = value;
            s->choice[l] = i - c->first[l];
        }
        bound += least;
        magnitude += fabs(least);
        for (size_t k = 0; k < s->n; k++)
            slope[k] += c->cost[(c->first[l] + s->choice[l]) * s->n + k] / s->unit[k];
    }
    double excess = knapsack_excess(c, s->choice, s->budget), objective = tn_knapsack_objective(c, s->choice);
    if (excess < s->least_excess || (excess == s->least_excess && objective < s->best_objective)) {
        s->least_excess = excess;
        s->best_objective = objective;
        memcpy(s->best, s->choice, c->layers * sizeof *s->best);
    }
    return bound - tn_dual_rounding(c, magnitude);
}

/* Half of the ellipsoid { centre + axes u : |u| <= 1 }, the one where `away` . (x - centre) <= 0, in the
 * least ellipsoid around it. Returns the half width along `away` of the one before. Kept as axes, not as
 * their product, which rounding would make indefinite. */
static double halve(dual_search *s, const double *away) {
    size_t n = s->n;
    double along[TN_COSTS_MOST] = {0}, step[TN_COSTS_MOST] = {0}, squares = 0;
    for (size_t j = 0; j < n; j++) {
        for (size_t i = 0; i < n; i++) along[j] += s->axes[i][j] * away[i];
        squares += along[j] * along[j];
    }
    double width = sqrt(squares), dimension = (double)n;
    if (!(width > 0)) return 0;
    double grow = n == 1 ? 1 : dimension / sqrt(dimension * dimension - 1);
    double shrink = n == 1 ? 0.5 : 1 - sqrt((dimension - 1) / (dimension + 1));
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) step[i] += s->axes[i][j] * along[j] / width;
    for (size_t i = 0; i < n; i++) {
        s->centre[i] -= step[i] / (dimension + 1);
        for (size_t j = 0; j < n; j++)
            s->axes[i][j] = grow * (s->axes[i][j] - shrink * step[i] * along[j] / width);
    }
    return width;
}

static double spread(const tn_knapsack *c) {
    double sum = 0;
    for (size_t l = 0; l < c->layers; l++) {
        double low = INFINITY, high = 0;
        for (size_t i = c->first[l]; i < c->first[l + 1]; i++) {
            low = fmin(low, c->objective[i]);
            high = fmax(high, c->objective[i]);
        }
        sum += high - low;
    }
    return sum;
}

/* Cuts until the ellipsoid can't hold a bound that is noticeably better. */
static void solve(dual_search *s, tn_dual *dual) {
    double price[TN_COSTS_MOST] = {0}, slope[TN_COSTS_MOST], radius = START_RADIUS * spread(s->choices);
    dual->bound = look(s, price, slope); /* no prices at all: budgets that bind nothing */
    for (size_t i = 0; i < s->n; i++) s->axes[i][i] = radius;
    for (size_t step = 0; step < STEPS_PER_COST * s->n && radius > 0; step++) {
        double away[TN_COSTS_MOST] = {0}, width;
        size_t negative = 0;
        while (negative < s->n && s->centre[negative] >= 0) negative++;
        if (negative < s->n) {
            away[negative] = -1;
            if (!(halve(s, away) > 0)) return;
            continue;
        }
        double bound = look(s, s->centre, slope);
        if (bound > dual->bound) {
            dual->bound = bound;
            for (size_t k = 0; k < s->n; k++) dual->price[k] = s->centre[k] / s->unit[k];
        }
        for (size_t k = 0; k < s->n; k++) away[k] = -slope[k];
        width = halve(s, away);
        if (width <= CLOSE_ENOUGH * fabs(dual->bound)) return;
    }
}

tn_status tn_dual_solve(const tn_knapsack *choices, const double *budget, tn_dual *dual, size_t *choice,
                        bool *met, tn_error *error) {
    dual_search s = {.choices = choices,
                     .budget = budget,
                     .best = choice,
                     .best_objective = INFINITY,
                     .least_excess = INFINITY,
                     .n = choices->costs};
    *dual = (tn_dual){0};
    for (size_t k = 0; k < s.n; k++) s.unit[k] = budget[k] > 0 ? budget[k] : 1;
    TN_TRY(TN_ALLOC(choices->layers, &s.choice, error));
    solve(&s, dual);
    *met = s.least_excess == 0;
    tn_free(s.choice);
    return TN_OK;
}

typedef struct {
    size_t layer;
    double least; /* objective */
} item;

typedef struct {
    const tn_knapsack *choices;
    const double *budget;
    uint64_t nodes, most_nodes;
    item *item;                  /* [layers], the greatest first: their choice decides most */
    double price[TN_COSTS_MOST]; /* multipliers of the bound */
    double *rest;                /* [layers + 1]: least objective of the items from here on, without and .. */
    double *rest_priced;         /* .. with the multipliers */
    double *rest_cost;           /* [(layers + 1) * costs]: least of each cost */
    size_t *chosen, *best;       /* [layers], by layer */
    double best_objective, root_bound;
} search;

static double priced(const search *s, size_t candidate) {
    const tn_knapsack *c = s->choices;
    double sum = c->objective[candidate];
    for (size_t k = 0; k < c->costs; k++) sum += s->price[k] * c->cost[candidate * c->costs + k];
    return sum;
}

/* Within a layer: candidates in the caller's order. */
static size_t least_priced(const search *s, size_t layer) {
    const tn_knapsack *c = s->choices;
    size_t least = c->first[layer];
    for (size_t i = least + 1; i < c->first[layer + 1]; i++)
        if (priced(s, i) < priced(s, least)) least = i;
    return least;
}

static size_t least_objective(const tn_knapsack *c, size_t layer) {
    size_t least = c->first[layer];
    for (size_t i = least + 1; i < c->first[layer + 1]; i++)
        if (c->objective[i] < c->objective[least]) least = i;
    return least;
}

static int by_greatest(const void *left, const void *right) {
    const item *a = left, *b = right;
    if (a->least != b->least) return a->least > b->least ? -1 : 1;
    return a->layer < b->layer ? -1 : a->layer > b->layer;
}

/* Multipliers by subgradient steps; every set of them gives a valid bound, the best is kept. */
static void find_prices(search *s) {
    enum { STEPS = 60 };
    const tn_knapsack *c = s->choices;
    double best[TN_COSTS_MOST] = {0}, bound = -INFINITY;
    for (int step = 0; step < STEPS; step++) {
        double value = 0, norm = 0, excess[TN_COSTS_MOST];
        for (size_t k = 0; k < c->costs; k++) excess[k] = -s->budget[k];
        for (size_t index = 0; index < c->layers; index++) {
            size_t least = least_priced(s, s->item[index].layer);
            value += priced(s, least);
            for (size_t k = 0; k < c->costs; k++) excess[k] += c->cost[least * c->costs + k];
        }
        for (size_t k = 0; k < c->costs; k++) value -= s->price[k] * s->budget[k];
        if (value > bound) {
            bound = value;
            memcpy(best, s->price, sizeof best);
        }
        for (size_t k = 0; k < c->costs; k++) norm += excess[k] * excess[k] / (1 + s->budget[k]);
        if (norm == 0) break;
        for (size_t k = 0; k < c->costs; k++) {
            double length = fabs(value) * 0.5 / (1 + step) / norm / (1 + s->budget[k]);
            s->price[k] = fmax(0, s->price[k] + length * excess[k]);
        }
    }
    memcpy(s->price, best, sizeof best);
    s->root_bound = bound;
}

static void fill_rests(search *s) {
    const tn_knapsack *c = s->choices;
    for (size_t index = c->layers; index-- > 0;) {
        size_t layer = s->item[index].layer;
        s->rest[index] = s->rest[index + 1] + s->item[index].least;
        s->rest_priced[index] = s->rest_priced[index + 1] + priced(s, least_priced(s, layer));
        for (size_t k = 0; k < c->costs; k++) {
            double least = INFINITY;
            for (size_t i = c->first[layer]; i < c->first[layer + 1]; i++)
                least = fmin(least, c->cost[i * c->costs + k]);
            s->rest_cost[index * c->costs + k] = s->rest_cost[(index + 1) * c->costs + k] + least;
        }
    }
    if (s->rest[0] > s->root_bound) s->root_bound = s->rest[0];
}

static void branch(search *s, size_t index, double objective, const double *used) {
    const tn_knapsack *c = s->choices;
    if (s->nodes++ >= s->most_nodes) return;
    double bound = objective + s->rest_priced[index];
    for (size_t k = 0; k < c->costs; k++) {
        if (used[k] + s->rest_cost[index * c->costs + k] > s->budget[k]) return;
        bound += s->price[k] * (used[k] - s->budget[k]);
    }
    /* A bound within half a step of the best can't improve on it. */
    if (fmax(bound, objective + s->rest[index]) > s->best_objective - c->step / 2) return;
    if (index == c->layers) {
        s->best_objective = objective;
        memcpy(s->best, s->chosen, c->layers * sizeof *s->best);
        return;
    }
    size_t layer = s->item[index].layer;
    for (size_t i = c->first[layer]; i < c->first[layer + 1]; i++) {
        double then[TN_COSTS_MOST];
        for (size_t k = 0; k < c->costs; k++) then[k] = used[k] + c->cost[i * c->costs + k];
        s->chosen[layer] = i - c->first[layer];
        branch(s, index + 1, objective + c->objective[i], then);
    }
}

static double overuse(const tn_knapsack *c, const double *used, const double *budget) {
    double sum = 0;
    for (size_t k = 0; k < c->costs; k++)
        if (used[k] > budget[k]) sum += (used[k] - budget[k]) / (1 + budget[k]);
    return sum;
}

/* The candidate whose choice removes the most overuse for its price; false where none removes any. */
static bool relieve(const tn_knapsack *c, const double *budget, const item *order, size_t *choice,
                    double *used) {
    double excess = overuse(c, used, budget), best_rate = 0, best_used[TN_COSTS_MOST] = {0};
    size_t best_layer = 0, best_candidate = 0;
    for (size_t index = 0; index < c->layers; index++) {
        size_t layer = order ? order[index].layer : index, now = c->first[layer] + choice[layer];
        for (size_t target = c->first[layer]; target < c->first[layer + 1]; target++) {
            double then[TN_COSTS_MOST];
            for (size_t k = 0; k < c->costs; k++)
                then[k] = used[k] - c->cost[now * c->costs + k] + c->cost[target * c->costs + k];
            double gain = excess - overuse(c, then, budget);
            if (gain <= 0) continue;
            double rate = gain / fmax(1, c->objective[target] - c->objective[now]);
            if (rate <= best_rate) continue;
            best_rate = rate;
            best_layer = layer;
            best_candidate = target;
            memcpy(best_used, then, c->costs * sizeof *then);
        }
    }
    if (best_rate == 0) return false;
    choice[best_layer] = best_candidate - c->first[best_layer];
    memcpy(used, best_used, c->costs * sizeof *used);
    return true;
}

static bool greedy(const tn_knapsack *c, const double *budget, const item *order, size_t *choice) {
    double used[TN_COSTS_MOST] = {0};
    for (size_t l = 0; l < c->layers; l++) choice[l] = least_objective(c, l) - c->first[l];
    tn_knapsack_cost(c, choice, used);
    while (overuse(c, used, budget) > 0)
        if (!relieve(c, budget, order, choice, used)) return false;
    return true;
}

bool tn_knapsack_greedy(const tn_knapsack *choices, const double *budget, size_t *choice) {
    return greedy(choices, budget, NULL, choice);
}

static void run(search *s, tn_branch *out) {
    const tn_knapsack *c = s->choices;
    const double nothing[TN_COSTS_MOST] = {0};
    for (size_t l = 0; l < c->layers; l++) s->item[l] = (item){l, c->objective[least_objective(c, l)]};
    qsort(s->item, c->layers, sizeof *s->item, by_greatest);
    find_prices(s);
    fill_rests(s);
    out->met = greedy(c, s->budget, s->item, s->best);
    s->best_objective = out->met ? tn_knapsack_objective(c, s->best) : INFINITY;
    branch(s, 0, 0, nothing);
    out->met = isfinite(s->best_objective);
    out->nodes = s->nodes;
    out->finished = s->nodes < s->most_nodes;
    out->bound = out->finished && out->met ? s->best_objective : s->root_bound;
}

tn_status tn_branch_and_bound(const tn_knapsack *choices, const double *budget, uint64_t most_nodes,
                              size_t *choice, tn_branch *out, tn_error *error) {
    size_t layers = choices->layers;
    search s = {.choices = choices, .budget = budget, .most_nodes = most_nodes, .best = choice};
    *out = (tn_branch){0};
    tn_status status = TN_ALLOC(layers, &s.item, error);
    if (status == TN_OK) status = TN_ALLOC(layers, &s.chosen, error);
    if (status == TN_OK) status = TN_ALLOC((layers + 1) * (choices->costs + 2), &s.rest, error);
    if (status == TN_OK) {
        s.rest_priced = s.rest + layers + 1;
        s.rest_cost = s.rest_priced + layers + 1;
        run(&s, out);
    }
    tn_free(s.item);
    tn_free(s.chosen);
    tn_free(s.rest);
    return status;
}
