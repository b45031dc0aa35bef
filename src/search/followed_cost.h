/* A cost that nearly follows from the cycles of a build's designs, as energy does, and is no dimension of its bounds then.
 *
 * Let option o of unit u add c_u(o) cycles and v_u(o) to the cost. For any rate r a design's cost is at least r times its cycles and a
 * constant k: what the rest of the step adds beyond r times its cycles, and for each unit the least of v_u(o) - r c_u(o). The rate is
 * that from which options deviate with the least squares.
 *
 * Where a sum has c cycles, at most f times the c' of a design that it stands for, and k is below 0, r c + k is at most f (r c' + k) +
 * (f - 1) |k|. So it is at most f (1 + (f - 1) / f |k| / m) times the design's cost, which is no less than r c' + k, and than the
 * least of all designs, m. */
#ifndef TN_SEARCH_FOLLOWED_COST_H
#define TN_SEARCH_FOLLOWED_COST_H

#include "search/layer_table.h"

typedef struct tn_followed_cost {
    double rate, constant, least; /* r, k, m */
} tn_followed_cost;

/* Whether no design's cost is more than a hundredth above what its cycles say. */
bool tn_cost_follows(const tn_layer_table *table, size_t build, tn_layer_cost cost,
                     tn_followed_cost *followed);

/* With cycles up to a factor of `slack`: the cost that they say, up to the same factor. */
double tn_followed_value(const tn_followed_cost *followed, double cycles, double slack);

#endif
