/* The whole front of an allocation: the least objective at every amount of one cost, without budgets.
 *
 * The layers' candidates are merged one layer at a time; sums that are no better than another one's in both
 * are dropped. A front that outgrows `most_points` is thinned so that every point dropped leaves one of no
 * greater cost whose objective is at most (1 + t) times as large; the factors multiply up to `worst_factor`.
 * Beside it every point has a lower bound from the convex hulls of the layers (the least objective that any
 * mixture of candidates reaches at that cost), so what the front may miss is known point by point.
 */
#ifndef TN_KNAPSACK_TRADEOFF_H
#define TN_KNAPSACK_TRADEOFF_H

#include "base/error.h"
#include "base/public.h"
#include "knapsack/knapsack.h"

#include <stdbool.h>
#include <stddef.h>

TN_PUBLIC_BEGIN

enum { TN_TRADEOFF_POINTS = 1 << 13 };

typedef struct tn_tradeoff_point {
    double cost, objective, lower_bound;
} tn_tradeoff_point;

typedef struct tn_tradeoff {
    size_t count;
    tn_tradeoff_point *point; /* cost rising, objective falling */
    bool exact;               /* nothing was thinned */
    double worst_factor;      /* no point is further above the true front's than this; 1 where exact */
} tn_tradeoff;

/* Of cost number `cost`. most_points 0: TN_TRADEOFF_POINTS. */
tn_status tn_tradeoff_make(const tn_knapsack *choices, size_t cost, size_t most_points, tn_tradeoff *front,
                           tn_error *error);
void tn_tradeoff_free(tn_tradeoff *front);

TN_PUBLIC_END

#endif
