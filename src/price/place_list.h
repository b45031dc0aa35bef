/* What memories add at least at each of the places of a set of builds.
 *
 * It follows from the rows that parallelism gives the memories, so builds of one step with equal rows have one list. Each amount is that
 * of tn_price_set_bound for the one place: none of memories as laid is below it. */
#ifndef TN_PRICE_PLACE_LIST_H
#define TN_PRICE_PLACE_LIST_H

#include "base/error.h"
#include "base/public.h"
#include "price/build_set.h"
#include "price/plan.h"
#include "price/workload.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

TN_PUBLIC_BEGIN

typedef struct tn_place_entry {
    uint64_t
        number; /* of the values of its free keys of places, in the order of the axes, the last changing fastest */
    uint64_t bram18, uram, capacity_bits;
    uint64_t lut; /* of LUTRAM and routing, but for what lanes add */
} tn_place_entry;

/* What it points to lives as long as the workload. */
typedef struct tn_place_list {
    size_t count;
    const tn_place_entry *entry; /* [count]: by capacity, those of equal ones by number */
    uint64_t lanes_lut;          /* what the lanes of the set's least build add to the LUTs of each */
} tn_place_list;

/* All places of a set that has a bound and in which no keys but those of lanes and places are free. every: also those that cost the
 * same as one of a lower number, as keys that a search for places does not read have other values. */
tn_status tn_price_set_places(tn_workload *workload, const tn_build_set *set, bool every, tn_place_list *list,
                              tn_error *error);

TN_PUBLIC_END

/* Inside the room: made anew, without lanes. `routed`: the build that routing to kernels is counted for. */
tn_status tn_place_list_make(tn_workload *workload, tn_plan *plan, const tn_build_set *set,
                             const tn_build *routed, bool every, tn_place_list *list, tn_error *error);

#endif
