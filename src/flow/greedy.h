/* A tree built greedily: always the pair whose result is smallest beside its operands. Internal to the room.
 */
#ifndef TN_FLOW_GREEDY_H
#define TN_FLOW_GREEDY_H

#include "flow/mutable_tree.h"

/* Merges the network of the sketch (whose tree is not looked at) into merge[tensors - 1]. Each pair is scored
 * log2(result) - log2(a + b), in elements, plus `noise` times a random number (Gumbel). Pairs that share no
 * index are merged only where there are no others, and never with `no_outer`: then TN_INPUT. */
tn_status tn_greedy(const tn_mutable_tree *sketch, bool no_outer, double noise, uint64_t *random,
                    tn_arena *arena, tn_merge *merge, tn_error *error);

#endif
