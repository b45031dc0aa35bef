/* Units whose options cost alike under a build, so that it does not matter which of them takes an option but how many do: bounds
 * of prices (price/part_bounds.h) where cores of a class lie in memories together (price/core_shares.h).
 *
 * A *type* is units whose cores are of the same classes and whose costs differ by constants, or by little more. Let v_u(o) be what
 * option o of unit u adds to a cost, apart from cores of classes, v(o) the same of the type's first unit, k_u a constant, and e_u(o) =
 * v_u(o) - v(o) - k_u. However the units of a type are dealt to options, n_o to option o, the sum of all v_u(o_u) is no less
 * than the sum of all k_u, of all n_o v(o), and of the n_o least e_u(o) for every option: C(o, n) = n v(o) + the sum of the n least
 * e_u(o). A *set* is types whose options have cores of the same sizes. Options of a set with cores of equal sizes are a
 * *species*: they share classes.
 *
 * A *participant* in the classes is a species of a set, or, where a set is one unit, all of its options. A class that one
 * participant has alone costs it D of price/core_shares.h, one that several have A. */
#ifndef TN_SEARCH_LIKE_UNITS_H
#define TN_SEARCH_LIKE_UNITS_H

#include "front/sums.h"
#include "search/layer_table.h"

typedef struct tn_like_type {
    uint32_t count, *unit;
    double *cost[TN_SUM_DIMENSIONS]; /* [options][count + 1]: C */
    const tn_part_cores *cores;      /* [options] */
} tn_like_type;

typedef struct tn_like_set {
    uint64_t options;
    const bool *defined;
    uint32_t units, types;
    tn_like_type *type;
    double constant[TN_SUM_DIMENSIONS]; /* of all units: the sum of k */
    uint32_t species, *species_of;      /* [options] */
    uint32_t first_participant;         /* its species are numbered from here */
} tn_like_set;

typedef struct tn_like_units {
    const tn_layer_table *table;
    size_t build, dimensions;
    const tn_layer_cost *cost; /* [dimensions] */
    bool has_classes;          /* else every unit is a set */
    uint32_t sets;
    tn_like_set *set;      /* the largest first */
    uint32_t *participant; /* [classes]: the only one; UINT32_MAX: there are several */
} tn_like_units;

/* Of a build of a table of bounds. Lives in `arena`. */
tn_status tn_like_units_find(const tn_layer_table *table, size_t build, size_t dimensions,
                             const tn_layer_cost *cost, tn_arena *arena, tn_like_units *likes,
                             tn_error *error);

/* C of the type in a dimension. No unit adds less than C(o, 1). */
static inline double tn_like_cost(const tn_like_type *type, size_t dimension, uint64_t option,
                                  uint32_t units) {
    return type->cost[dimension][option * (type->count + 1) + units];
}

/* What so many cores of a class cost the participant. */
double tn_like_class_cost(const tn_like_units *likes, uint32_t core_class, uint32_t participant,
                          uint32_t count);

#endif
