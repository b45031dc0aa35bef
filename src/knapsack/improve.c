#include "knapsack/improve.h"

#include <math.h>
#include <stdbool.h>
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

double tn_knapsack_excess(const tn_knapsack *choices, const size_t *choice, const double *budget) {
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
