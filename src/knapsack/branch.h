/* Branch and bound for a knapsack whose objectives are multiples of one step (bits, elements, cycles): layer by
 * layer, the greatest first, with Lagrangian bounds and from a greedy start. Fast where layers are few and bounds
 * tight; knapsack/allocation.h begins with it and goes on with merging where it does not finish. */
#ifndef TN_KNAPSACK_BRANCH_H
#define TN_KNAPSACK_BRANCH_H

#include "base/error.h"
#include "knapsack/knapsack.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Local improvement of an allocation that keeps its budgets: single layers and pairs of layers change their
 * candidates as long as that lowers the objective within the budgets. Gives exact methods a good start. */

/* The same kind of walk towards the budgets, from an allocation that breaks some; true where it arrives. */
bool tn_knapsack_repair(const tn_knapsack *choices, const double *budget, size_t *choice);

/* choice[layers] fits the budgets and is changed in place. */
void tn_knapsack_improve(const tn_knapsack *choices, const double *budget, size_t *choice);

/* The Lagrangian dual of an allocation: a price on each cost such that choosing for every layer the candidate
 * of least objective + price * cost, each on its own, bounds from below what any allocation within the
 * budgets can reach:
 *     bound(price) = sum over layers of min over candidates (objective + price . cost) - price . budget.
 * The best prices are found by the ellipsoid method (Bland, Goldfarb, Todd, "The ellipsoid method: a survey",
 * Operations Research 29 (1981)), which needs a handful of dimensions, no smoothness and no step sizes. Any
 * prices >= 0 give a valid bound, so how near it comes to the best ones decides speed, never correctness.
 */

typedef struct tn_dual {
    double price[TN_COSTS_MOST];
    double bound;
} tn_dual;

/* What rounding may have added to a bound whose terms sum to `magnitude` in absolute value; it is subtracted,
 * so that a bound is one whatever the size of the prices. */
double tn_dual_rounding(const tn_knapsack *choices, double magnitude);

/* choice[layers] receives the best allocation within the budgets that was met on the way; where there was
 * none (*met = false), the one that breaks them least. */
tn_status tn_dual_solve(const tn_knapsack *choices, const double *budget, tn_dual *dual, size_t *choice,
                        bool *met, tn_error *error);

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
