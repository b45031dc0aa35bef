/* The Lagrangian dual of an allocation: a price on each cost such that choosing for every layer the candidate
 * of least objective + price * cost, each on its own, bounds from below what any allocation within the
 * budgets can reach:
 *     bound(price) = sum over layers of min over candidates (objective + price . cost) - price . budget.
 * The best prices are found by the ellipsoid method (Bland, Goldfarb, Todd, "The ellipsoid method: a survey",
 * Operations Research 29 (1981)), which needs a handful of dimensions, no smoothness and no step sizes. Any
 * prices >= 0 give a valid bound, so how near it comes to the best ones decides speed, never correctness.
 */
#ifndef TN_KNAPSACK_DUAL_H
#define TN_KNAPSACK_DUAL_H

#include "base/error.h"
#include "knapsack/knapsack.h"

#include <stddef.h>

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

#endif
