/* Parts of prices, as they were found for builds before. Inside the room.
 *
 * A part's key is the build by the keys alone that bear on the part (device/build.h), and the part is priced of its key:
 * of nothing that the key leaves out. Tables are direct-mapped: a part that falls on another's place takes it. So a price
 * depends on the build alone, never on what was priced before.
 *
 * Of a set of builds the least of a part is that over all values of the free keys that bear on it, one key after the other: what
 * is known of a part of the set is remembered, too. */
#ifndef TN_PRICE_RECALL_H
#define TN_PRICE_RECALL_H

#include "price/build_set.h"
#include "price/place_list.h"
#include "price/price_parts.h"

/* Makes the workload's tables where it has none. */
tn_status tn_recall_begin(tn_workload *workload, tn_error *error);

/* What is valid until the next call. */
tn_status tn_recall_work(tn_workload *workload, tn_plan *plan, const tn_build *build,
                         const tn_work_price **work, tn_error *error);
/* The same operation by operation, though it may split: with its chain. */
tn_status tn_recall_whole_work(tn_workload *workload, tn_plan *plan, const tn_build *build,
                               const tn_work_price **work, tn_error *error);

/* Of all builds of a set whose work splits (tn_work_splits), whatever is least; vector kernels with other layouts than products. With
 * layouts that are searched no key is free that rows or banks follow from. From `enough` cycles on products that weigh less may be
 * told of as the first bound does (price/bound.h). */
tn_status tn_recall_least_work(tn_workload *workload, tn_plan *plan, const tn_build_set *set,
                               tn_laying of_vectors, uint64_t enough, tn_work_price *work, tn_error *error);

/* Adds the memories of the stores whose bits are set; `work` is read where places are searched. */
tn_status tn_recall_memories(tn_workload *workload, tn_plan *plan, const tn_build *build, unsigned stores,
                             const tn_work_price *work, tn_memory_price *sum, tn_error *error);

/* The least memories of a set that differ in places alone, by the rows that parallelism gives them; the descriptors' memory is in
 * it. Routing is that of `routed`, the build of the set's least counts. */
tn_status tn_recall_least_memories(tn_workload *workload, tn_plan *plan, const tn_build_set *set,
                                   const tn_build *routed, const tn_place_least **least, tn_error *error);

/* The places of the set, by the rows that parallelism gives its memories (price/place_list.h). */
tn_status tn_recall_places(tn_workload *workload, tn_plan *plan, const tn_build_set *set,
                           const tn_build *routed, bool every, tn_place_list *list, tn_error *error);

/* tn_workload_lanes_lut. */
tn_status tn_recall_lanes_lut(tn_workload *workload, const tn_build *build, uint64_t *lut, tn_error *error);

#endif
