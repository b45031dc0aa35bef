#include "knapsack/branch.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
        for (size_t at = 0; at < c->layers; at++) {
            size_t least = least_priced(s, s->item[at].layer);
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
    for (size_t at = c->layers; at-- > 0;) {
        size_t layer = s->item[at].layer;
        s->rest[at] = s->rest[at + 1] + s->item[at].least;
        s->rest_priced[at] = s->rest_priced[at + 1] + priced(s, least_priced(s, layer));
        for (size_t k = 0; k < c->costs; k++) {
            double least = INFINITY;
            for (size_t i = c->first[layer]; i < c->first[layer + 1]; i++)
                least = fmin(least, c->cost[i * c->costs + k]);
            s->rest_cost[at * c->costs + k] = s->rest_cost[(at + 1) * c->costs + k] + least;
        }
    }
    if (s->rest[0] > s->root_bound) s->root_bound = s->rest[0];
}

static void branch(search *s, size_t at, double objective, const double *used) {
    const tn_knapsack *c = s->choices;
    if (s->nodes++ >= s->most_nodes) return;
    double bound = objective + s->rest_priced[at];
    for (size_t k = 0; k < c->costs; k++) {
        if (used[k] + s->rest_cost[at * c->costs + k] > s->budget[k]) return;
        bound += s->price[k] * (used[k] - s->budget[k]);
    }
    /* A bound within half a step of the best can't improve on it. */
    if (fmax(bound, objective + s->rest[at]) > s->best_objective - c->step / 2) return;
    if (at == c->layers) {
        s->best_objective = objective;
        memcpy(s->best, s->chosen, c->layers * sizeof *s->best);
        return;
    }
    size_t layer = s->item[at].layer;
    for (size_t i = c->first[layer]; i < c->first[layer + 1]; i++) {
        double then[TN_COSTS_MOST];
        for (size_t k = 0; k < c->costs; k++) then[k] = used[k] + c->cost[i * c->costs + k];
        s->chosen[layer] = i - c->first[layer];
        branch(s, at + 1, objective + c->objective[i], then);
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
    double over = overuse(c, used, budget), best_rate = 0, best_used[TN_COSTS_MOST] = {0};
    size_t best_layer = 0, best_candidate = 0;
    for (size_t at = 0; at < c->layers; at++) {
        size_t layer = order ? order[at].layer : at, now = c->first[layer] + choice[layer];
        for (size_t to = c->first[layer]; to < c->first[layer + 1]; to++) {
            double then[TN_COSTS_MOST];
            for (size_t k = 0; k < c->costs; k++)
                then[k] = used[k] - c->cost[now * c->costs + k] + c->cost[to * c->costs + k];
            double gain = over - overuse(c, then, budget);
            if (gain <= 0) continue;
            double rate = gain / fmax(1, c->objective[to] - c->objective[now]);
            if (rate <= best_rate) continue;
            best_rate = rate;
            best_layer = layer;
            best_candidate = to;
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
    tn_status status = tn_alloc(layers, sizeof *s.item, &s.item, error);
    if (status == TN_OK) status = tn_alloc(layers, sizeof *s.chosen, &s.chosen, error);
    if (status == TN_OK)
        status = tn_alloc((layers + 1) * (choices->costs + 2), sizeof *s.rest, &s.rest, error);
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
