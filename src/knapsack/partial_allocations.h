/* A front of partial allocations: none is no worse than another in objective and in every cost. It holds at
 * most `limit`; more are thinned to those of the least bound, and `dropped` remembers the least one lost.
 *
 * States are gathered in a buffer and settled (sorted, filtered, thinned) when it is full and at the end, so
 * the result depends on the states and their order alone. */
#ifndef TN_KNAPSACK_PARTIAL_ALLOCATIONS_H
#define TN_KNAPSACK_PARTIAL_ALLOCATIONS_H

#include "base/error.h"
#include "knapsack/knapsack.h"

#include <stddef.h>
#include <stdint.h>

typedef struct tn_partial_allocation {
    double objective; /* so far */
    double bound;     /* least objective that any completion can have */
    double cost[TN_COSTS_MOST];
    uint32_t parent, choice; /* state of the layer before, candidate of this layer */
} tn_partial_allocation;

typedef struct tn_partial_allocations {
    size_t costs, limit, count, capacity;
    tn_partial_allocation *state;
    double *least;  /* costs of states that are kept, arranged for finding a dominator fast */
    size_t stairs;  /* steps in `least` where there are two costs */
    double dropped; /* INFINITY: nothing was thinned */
} tn_partial_allocations;

tn_status tn_partial_allocations_new(tn_partial_allocations *front, size_t costs, size_t limit,
                                     tn_error *error);
void tn_partial_allocations_clear(tn_partial_allocations *front);
void tn_partial_allocations_free(tn_partial_allocations *front);
tn_status tn_partial_allocations_add(tn_partial_allocations *front, const tn_partial_allocation *state,
                                     tn_error *error);
void tn_partial_allocations_settle(tn_partial_allocations *front);

/* Parents and choices of the settled fronts of all layers, to walk back from a final state. */
typedef struct tn_allocation_trail {
    struct tn_allocation_steps {
        uint32_t *parent, *choice;
    } * layer;
} tn_allocation_trail;

tn_status tn_allocation_trail_new(tn_allocation_trail *trail, size_t layers, tn_error *error);
tn_status tn_allocation_trail_keep(tn_allocation_trail *trail, size_t layer,
                                   const tn_partial_allocations *front, tn_error *error);
/* choice[layers] of the allocation that ends in state `last` of the last layer. */
void tn_allocation_trail_follow(const tn_allocation_trail *trail, size_t layers, size_t last, size_t *choice);
void tn_allocation_trail_free(tn_allocation_trail *trail, size_t layers);

#endif
