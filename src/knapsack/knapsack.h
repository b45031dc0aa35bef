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
#include <stdint.h>

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

/* What people do instead of an exact allocation, to compare with. */

/* Greedy: every layer starts with its cheapest candidate; then, as long as one fits, the upgrade of one layer
 * by one step that lowers the objective most per cost. A layer's steps are its candidates that no other one
 * of it beats, by rising cost. With several budgets a cost is the sum of the costs in shares of their
 * budgets; with one it is the cost itself, at least 1. *met = false where not even the start fits. */
tn_status tn_allocate_greedy(const tn_knapsack *choices, const double *budget, size_t *choice, bool *met,
                             tn_error *error);

/* Uniform: the same group, say the same requested rank, in every layer; of the groups that fit the one of
 * least objective. group[candidate] over the whole table; UINT64_MAX: in none. A group that some layer lacks
 * is passed over; of two candidates of one group in a layer the first counts. */
tn_status tn_allocate_uniform(const tn_knapsack *choices, const double *budget, const uint64_t *group,
                              size_t *choice, bool *met, tn_error *error);

#endif
