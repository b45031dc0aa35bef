/* How long a tree takes when several merges run side by side. Internal to the room. */
#ifndef TN_FLOW_SCHEDULE_H
#define TN_FLOW_SCHEDULE_H

#include "base/arena.h"
#include "base/error.h"
#include "flow/tree.h"

#include <stdbool.h>
#include <stdint.h>

/* Trees of at most so many merges are scheduled exactly. */
enum { TN_SCHEDULE_EXACT_MERGES = 8 };

/* *length = the time until the last merge is done on `units` >= 1 equal units, merge i taking duration[i] and
 * starting after its operands are made; saturates. *exact false: the list schedule that takes the longest
 * remaining path first, an upper bound of the best. */
tn_status tn_schedule_length(const tn_tree *tree, const uint64_t *duration, uint32_t units, tn_arena *scratch,
                             uint64_t *length, bool *exact, tn_error *error);

#endif
