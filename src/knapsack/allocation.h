/* Allocation: one candidate for each layer such that the objective's sum is least while every cost's sum
 * stays within its budget (a multiple-choice knapsack with several budgets), exactly where that is possible.
 *
 * The layers' candidates are merged layer by layer into one front of partial allocations. A partial
 * allocation is dropped where it is certain not to be needed: another one of the same layers is no worse in
 * objective and in every cost; or the cheapest rest breaks a budget; or the Lagrangian bound of its best
 * completion (knapsack/branch.h) is above an allocation that is known. What is left at the end is the optimum. Where
 * a front outgrows `most_states` it is thinned to those of the best bounds, and the least bound among the
 * dropped ones becomes the proven lower bound: `gap` says how far above it the answer may be. Ties are broken
 * by least first cost, then by the earlier candidate, so the answer depends on the input alone.
 *
 * Objectives that are multiples of a step are tried by branch and bound first (knapsack/branch.h), which is faster
 * where it finishes; of several best allocations it takes the first it meets.
 */
#ifndef TN_KNAPSACK_ALLOCATION_H
#define TN_KNAPSACK_ALLOCATION_H

#include "base/error.h"
#include "base/public.h"
#include "knapsack/knapsack.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

TN_PUBLIC_BEGIN

/* With up to two budgets, and with more, where the dominated are harder to find. */
enum { TN_ALLOCATION_STATES = 1 << 17, TN_ALLOCATION_STATES_MANY = 1 << 16 };

typedef struct tn_allocation {
    bool found; /* some allocation keeps the budgets; where `exact`, false means that none does */
    bool exact;
    size_t *choice; /* [layers], candidate counted within its layer; NULL if !found; tn_free */
    double objective;
    double cost[TN_COSTS_MOST];
    double lower_bound; /* of the objective of any allocation within the budgets */
    double gap;         /* (objective - lower_bound) / objective; 0 where exact */
    uint64_t states;    /* partial allocations kept, over all layers */
} tn_allocation;

/* budget[costs]. most_states 0: the constants above; it also limits the nodes of branch and bound. */
tn_status tn_allocate(const tn_knapsack *choices, const double *budget, size_t most_states,
                      tn_allocation *allocation, tn_error *error);
void tn_allocation_free(tn_allocation *allocation);

TN_PUBLIC_END

#endif
