/* Which cost of layers a quantity follows from, as an objective or a constraint of a decomposition (docs/decomposition.md). */
#ifndef TN_SEARCH_QUANTITY_COST_H
#define TN_SEARCH_QUANTITY_COST_H

#include "search/layer_table.h"
#include "space/space.h"

#include <stdbool.h>

typedef struct tn_quantity_cost {
    const char *quantity;
    tn_layer_cost cost; /* TN_COSTS: the same for all designs of a build */
    bool is_bound;      /* no sum of costs, not even where prices split, but no less than one */
} tn_quantity_cost;

/* NULL where it follows from none. */
const tn_quantity_cost *tn_quantity_cost_of(const tn_quantity *quantity);

/* NULL, or why an objective of the space lets no front be found so. */
const char *tn_objective_without_cost(const tn_space *space);

/* Whether an objective or a constraint is of a cost that follows from the space's accuracy table. */
bool tn_space_asks_learned(const tn_space *space, tn_layer_cost cost);

#endif
