#include "knapsack/dual.h"

#include "base/memory.h"
#include "knapsack/improve.h"

#include <float.h>
#include <math.h>
#include <string.h>

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
} search;

double tn_dual_rounding(const tn_knapsack *choices, double magnitude) {
    return 4 * DBL_EPSILON * (double)(choices->layers + choices->costs + 2) * magnitude;
}

/* Bound at `price`; slope[k] = its supergradient, usage - 1 in units of the budget. */
static double look(search *s, const double *price, double *slope) {
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
    double excess = tn_knapsack_excess(c, s->choice, s->budget),
           objective = tn_knapsack_objective(c, s->choice);
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
static double halve(search *s, const double *away) {
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
static void solve(search *s, tn_dual *dual) {
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
    search s = {.choices = choices,
                .budget = budget,
                .best = choice,
                .best_objective = INFINITY,
                .least_excess = INFINITY,
                .n = choices->costs};
    *dual = (tn_dual){0};
    for (size_t k = 0; k < s.n; k++) s.unit[k] = budget[k] > 0 ? budget[k] : 1;
    TN_TRY(tn_alloc(choices->layers, sizeof *s.choice, &s.choice, error));
    solve(&s, dual);
    *met = s.least_excess == 0;
    tn_free(s.choice);
    return TN_OK;
}
