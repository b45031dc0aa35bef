#include "knapsack/knapsack.h"

#include "base/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double LARGEST_EXACT = 9007199254740992.0; /* 2^53 */

static bool usable(double amount) {
    return isfinite(amount) && amount >= 0;
}

tn_status tn_knapsack_check(const tn_knapsack *choices, tn_error *error) {
    if (choices->costs > TN_COSTS_MOST)
        return tn_fail(error, TN_LIMIT, "%zu budgets at once; at most %d are possible", choices->costs,
                       TN_COSTS_MOST);
    double sum[TN_COSTS_MOST + 1] = {0};
    for (size_t l = 0; l < choices->layers; l++) {
        double most[TN_COSTS_MOST + 1] = {0};
        if (choices->first[l + 1] <= choices->first[l])
            return tn_fail(error, TN_INPUT, "layer %zu has no candidate", l);
        for (size_t c = choices->first[l]; c < choices->first[l + 1]; c++)
            for (size_t k = 0; k <= choices->costs; k++) {
                double amount = k ? choices->cost[c * choices->costs + k - 1] : choices->objective[c];
                if (!usable(amount))
                    return tn_fail(error, TN_INPUT,
                                   "candidate %zu of layer %zu has the amount %g; amounts are at least 0",
                                   c - choices->first[l], l, amount);
                most[k] = fmax(most[k], amount);
            }
        for (size_t k = 0; k <= choices->costs; k++) sum[k] += most[k];
    }
    for (size_t k = 0; k <= choices->costs; k++)
        if (sum[k] > LARGEST_EXACT)
            return tn_fail(error, TN_OVERFLOW, "the amounts of the candidates may sum past 2^53");
    return TN_OK;
}

double tn_knapsack_objective(const tn_knapsack *choices, const size_t *choice) {
    double sum = 0;
    for (size_t l = 0; l < choices->layers; l++) sum += choices->objective[choices->first[l] + choice[l]];
    return sum;
}

void tn_knapsack_cost(const tn_knapsack *choices, const size_t *choice, double *total) {
    for (size_t k = 0; k < choices->costs; k++) {
        total[k] = 0;
        for (size_t l = 0; l < choices->layers; l++)
            total[k] += choices->cost[(choices->first[l] + choice[l]) * choices->costs + k];
    }
}

bool tn_knapsack_fit(const tn_knapsack *choices, const size_t *choice, const double *budget) {
    double total[TN_COSTS_MOST];
    tn_knapsack_cost(choices, choice, total);
    for (size_t k = 0; k < choices->costs; k++)
        if (total[k] > budget[k]) return false;
    return true;
}

typedef struct {
    double cost, objective; /* cost: what greedy weighs */
    size_t candidate;       /* within its layer */
} rung;

static double weighed_cost(const tn_knapsack *c, const double *budget, size_t candidate) {
    const double *cost = c->cost + candidate * c->costs;
    if (c->costs == 1) return cost[0];
    double sum = 0;
    for (size_t k = 0; k < c->costs; k++) sum += cost[k] / (budget[k] > 0 ? budget[k] : 1);
    return sum;
}

static int by_cost(const void *a, const void *b) {
    const rung *x = a, *y = b;
    if (x->cost != y->cost) return x->cost < y->cost ? -1 : 1;
    if (x->objective != y->objective) return x->objective < y->objective ? -1 : 1;
    return (x->candidate > y->candidate) - (x->candidate < y->candidate);
}

/* The steps of every layer, first[layer] on, `count[layer]` of them. */
static void make_ladders(const tn_knapsack *c, const double *budget, rung *ladder, size_t *count) {
    for (size_t l = 0; l < c->layers; l++) {
        rung *steps = ladder + c->first[l];
        size_t all = c->first[l + 1] - c->first[l];
        for (size_t i = 0; i < all; i++)
            steps[i] = (rung){weighed_cost(c, budget, c->first[l] + i), c->objective[c->first[l] + i], i};
        qsort(steps, all, sizeof *steps, by_cost);
        count[l] = 0;
        for (size_t i = 0; i < all; i++)
            if (i == 0 || steps[i].objective < steps[count[l] - 1].objective) steps[count[l]++] = steps[i];
    }
}

/* The upgrade that pays best among those that fit, or c->layers. Of equals the last layer's. */
static size_t best_upgrade(const tn_knapsack *c, const double *budget, const rung *ladder,
                           const size_t *count, size_t *step, size_t *choice) {
    size_t best = c->layers;
    double most = -1;
    for (size_t l = 0; l < c->layers; l++) {
        const rung *entry = ladder + c->first[l] + step[l];
        if (step[l] + 1 >= count[l]) continue;
        choice[l] = entry[1].candidate;
        bool fits = tn_knapsack_fit(c, choice, budget);
        choice[l] = entry[0].candidate;
        double cost = entry[1].cost - entry[0].cost, gain = entry[0].objective - entry[1].objective;
        double pays = gain / (c->costs == 1 ? fmax(1, cost) : fmax(1e-12, cost));
        if (!fits || pays < most) continue;
        most = pays;
        best = l;
    }
    return best;
}

tn_status tn_allocate_greedy(const tn_knapsack *choices, const double *budget, size_t *choice, bool *met,
                             tn_error *error) {
    const tn_knapsack *c = choices;
    rung *ladder = NULL;
    size_t *count = NULL;
    TN_TRY(TN_ALLOC(c->first[c->layers], &ladder, error));
    tn_status status = TN_ALLOC(2 * c->layers, &count, error);
    if (status == TN_OK) {
        size_t *step = count + c->layers;
        make_ladders(c, budget, ladder, count);
        for (size_t l = 0; l < c->layers; l++) choice[l] = ladder[c->first[l]].candidate;
        *met = tn_knapsack_fit(c, choice, budget);
        size_t up;
        while (*met && (up = best_upgrade(c, budget, ladder, count, step, choice)) < c->layers)
            choice[up] = ladder[c->first[up] + ++step[up]].candidate;
    }
    tn_free(ladder);
    tn_free(count);
    return status;
}

/* choice = the group's candidate in every layer; false where one lacks it. */
static bool choose_group(const tn_knapsack *c, const uint64_t *group, uint64_t wanted, size_t *choice) {
    for (size_t l = 0; l < c->layers; l++) {
        size_t i = c->first[l];
        while (i < c->first[l + 1] && group[i] != wanted) i++;
        if (i == c->first[l + 1]) return false;
        choice[l] = i - c->first[l];
    }
    return true;
}

tn_status tn_allocate_uniform(const tn_knapsack *choices, const double *budget, const uint64_t *group,
                              size_t *choice, bool *met, tn_error *error) {
    size_t *trial = NULL;
    double least = INFINITY;
    *met = false;
    if (choices->layers == 0) return TN_OK;
    TN_TRY(TN_ALLOC(choices->layers, &trial, error));
    for (size_t i = choices->first[0]; i < choices->first[1]; i++) {
        if (group[i] == UINT64_MAX || !choose_group(choices, group, group[i], trial)) continue;
        double objective = tn_knapsack_objective(choices, trial);
        if (objective >= least || !tn_knapsack_fit(choices, trial, budget)) continue;
        least = objective;
        *met = true;
        memcpy(choice, trial, choices->layers * sizeof *choice);
    }
    tn_free(trial);
    return TN_OK;
}
