/* Places for all memories of a map at once: style, split and grouping of each, so that together they fit the
 * block RAM, UltraRAM and LUTs that are there and take the least capacity (which is the least waste, as what
 * is stored is given).
 *
 * Each memory has its options; those that another option of the memory beats in every resource are dropped.
 * Choosing one of each is a multiple-choice knapsack with three budgets, which knapsack/allocation.h solves: the
 * result is exact unless its partial allocations outgrow `most_states`, and `bound_bits` says how far from the best
 * it can be then.
 */
#ifndef TN_HARDWARE_PLACEMENT_H
#define TN_HARDWARE_PLACEMENT_H

#include "base/arena.h"
#include "hardware/place.h"

typedef struct tn_placement_budget {
    uint64_t bram18, uram, lut;
} tn_placement_budget;

typedef struct tn_placement {
    tn_place *place; /* [map->memories] */
    bool fits;       /* false: nothing fits; `place` then has the least overall share of the device */
    bool exact;
    double capacity_bits, bound_bits; /* of what was found; no placement has less */
} tn_placement;

/* rows: [map->memories] where layouts are known, else NULL; a memory is then as it was laid, or has a bank for every
 * element. most_states 0: the solver's own limit. */
tn_status tn_placement_search(const tn_device *device, uint64_t word_bits, const tn_map *map,
                              const tn_row *rows, const tn_build *build, const tn_placement_budget *budget,
                              size_t most_states, tn_arena *arena, tn_placement *placement, tn_error *error);

#endif
