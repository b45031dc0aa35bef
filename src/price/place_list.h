/* What memories add at least at each of the places of a set of builds (tn_price_set_places). Inside the room.
 *
 * It follows from the rows that parallelism gives the memories, so builds of one step with equal rows have one list. Each amount is that
 * of tn_price_set_bound for the one place: none of memories as laid is below it. */
#ifndef TN_PRICE_PLACE_LIST_H
#define TN_PRICE_PLACE_LIST_H

#include "price/bound.h"
#include "price/plan.h"

/* Made anew, without lanes. `routed`: the build that routing to kernels is counted for. */
tn_status tn_place_list_make(tn_workload *workload, tn_plan *plan, const tn_build_set *set,
                             const tn_build *routed, bool every, tn_place_list *list, tn_error *error);

#endif
