#include "knapsack/knapsack.h"

#include <math.h>

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
