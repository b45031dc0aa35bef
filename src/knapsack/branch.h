/* Branch and bound for a knapsack whose objectives are multiples of one step (bits, elements, cycles): layer by
 * layer, the greatest first, with Lagrangian bounds and from a greedy start. Fast where layers are few and bounds
 * tight; knapsack/allocation.h begins with it and goes on with merging where it does not finish. */
#ifndef TN_KNAPSACK_BRANCH_H
#define TN_KNAPSACK_BRANCH_H

#include "base/error.h"
#include "knapsack/knapsack.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct tn_branch {
    bool met;      /* an allocation keeps the budgets: the one in `choice` */
    bool finished; /* within the nodes; then it is the best, or none does */
    double bound;  /* no allocation within the budgets has less */
    uint64_t nodes;
} tn_branch;

/* choices->step > 0. choice[layers] is the best found; where none keeps the budgets, what the greedy start ended
 * with. Of several best ones the first in the order of the search counts. */
tn_status tn_branch_and_bound(const tn_knapsack *choices, const double *budget, uint64_t most_nodes,
                              size_t *choice, tn_branch *branch, tn_error *error);

/* Greedy: from each layer's candidate of least objective; while a budget is broken, the change of one layer that
 * removes the most overuse for its price. Ends with what fits (true), or with what no single change improves. */
bool tn_knapsack_greedy(const tn_knapsack *choices, const double *budget, size_t *choice);

#endif
