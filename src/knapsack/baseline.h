/* What people do instead of an exact allocation, to compare with. */
#ifndef TN_KNAPSACK_BASELINE_H
#define TN_KNAPSACK_BASELINE_H

#include "base/error.h"
#include "knapsack/knapsack.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
