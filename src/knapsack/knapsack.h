/* What an allocation chooses from: for every layer some candidates, each with an objective (to be made least
 * in sum) and one amount of every cost that has a budget. Which is which is the caller's: error under budgets
 * of parameters and cycles, or parameters under a budget of error.
 *
 * Candidates of layer l are first[l] .. first[l+1]-1; objective[candidate], cost[candidate * costs + k]. All
 * are finite and at least 0; counts are exact as doubles up to 2^53, which tn_knapsack_check assures for the
 * sums.
 */
#ifndef TN_KNAPSACK_KNAPSACK_H
#define TN_KNAPSACK_KNAPSACK_H

#include "base/error.h"
#include "base/public.h"

#include <stdbool.h>
#include <stddef.h>

TN_PUBLIC_BEGIN

enum { TN_COSTS_MOST = 8 };

typedef struct tn_knapsack {
    size_t layers, costs;
    const size_t *first;
    const double *objective, *cost;
    double step; /* every objective is a multiple of it; 0: not known to be */
} tn_knapsack;

tn_status tn_knapsack_check(const tn_knapsack *choices, tn_error *error);

/* Sums over the layers, added in their order; choice[l] counts from first[l]. total has `costs` entries. */
double tn_knapsack_objective(const tn_knapsack *choices, const size_t *choice);
void tn_knapsack_cost(const tn_knapsack *choices, const size_t *choice, double *total);
bool tn_knapsack_fit(const tn_knapsack *choices, const size_t *choice, const double *budget);

TN_PUBLIC_END

#endif
