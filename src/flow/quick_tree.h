/* The cost of a tree found without search, to begin a search with. Internal to the room. */
#ifndef TN_FLOW_QUICK_TREE_H
#define TN_FLOW_QUICK_TREE_H

#include "flow/problem.h"

/* MACs of the greedy tree: of the tensors left, always the two that share an index and whose merge adds the
 * fewest elements to those there are. No outer products: UINT64_MAX where they would be needed, or past 64
 * bits. */
uint64_t tn_quick_tree_cost(const tn_problem *problem);

#endif
