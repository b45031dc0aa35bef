/* A lower bound on the peak of every tree: what the last merge needs. Internal to the room.
 *
 * The last merge takes two tensors, made from two halves of the network, and makes the result; all three are
 * live beside the resident ones (a half of one tensor is resident itself). The least of that over all halves
 * bounds every tree. The halves are found by branch and bound: tensors are given to one side or the other in
 * an order in which neighbours come soon, and what is open between the sides only grows. */
#ifndef TN_FLOW_LAST_MERGE_BOUND_H
#define TN_FLOW_LAST_MERGE_BOUND_H

#include "flow/problem.h"

/* Elements above what is resident; where the search takes too many steps, the result alone. For at least 2
 * tensors. *work grows by the steps taken. */
uint64_t tn_last_merge_bound(const tn_problem *problem, uint64_t *work);

#endif
