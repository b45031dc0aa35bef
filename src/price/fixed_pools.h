/* Pools of what no choice changes, as biases and norms: those whose arrays, lifetimes and uses are the same in all steps (survey). They
 * have the same memories in all designs, as an operation belongs to one layer, and layers follow each other in the same order.
 *
 * Their rows are no narrower than their own uses ask, and no wider than any block of the build. An update goes through rows of one
 * size (memory/laid.h): where all that it goes through lies in such pools, that size is the same in all designs, too. */
#ifndef TN_PRICE_FIXED_POOLS_H
#define TN_PRICE_FIXED_POOLS_H

#include "price/part_survey.h"
#include "price/plan.h"

/* Whether the array is of such a pool under the build, an effective one. */
bool tn_is_of_fixed_pool(const tn_part_survey *survey, const tn_workload *workload, const tn_build *build,
                         uint32_t array);

/* *bits = capacity of the blocks that all of them take at least. */
tn_status tn_fixed_pools_price(const tn_part_survey *survey, const tn_workload *workload, const tn_plan *plan,
                               const tn_build *build, double *bits, tn_error *error);

#endif
