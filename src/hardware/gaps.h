/* Gaps: when slots are free. Answers which is the first slot that is free throughout a closed interval of times,
 * and gives the interval away.
 *
 * A gap is a closed interval of times of a slot. They lie in a Fenwick tree over their starts, each of whose
 * nodes is a treap over their ends that knows the least slot below: a question or a change costs
 * O(log^2 gaps), memory is O(gaps log gaps).
 */
#ifndef TN_HARDWARE_GAPS_H
#define TN_HARDWARE_GAPS_H

#include "base/arena.h"
#include "base/error.h"

#include <stdint.h>

typedef struct tn_gaps {
    tn_arena *arena;
    uint32_t starts, slots;
    uint32_t *start;        /* [starts]: ascending, where gaps may begin */
    struct tn_gap **before; /* [starts + 1]: Fenwick tree of treaps */
    struct tn_gap *spare;
} tn_gaps;

/* No slots. `start`, in any order and changed: where gaps may begin, which is behind every interval to be
 * taken but those that last to UINT32_MAX. */
tn_status tn_gaps_make(uint32_t *start, uint32_t starts, tn_arena *arena, tn_gaps *gaps, tn_error *error);

/* Takes first..last (first <= last) of the first slot that is free then, or of a new slot behind the others.
 */
tn_status tn_gaps_take(tn_gaps *gaps, uint32_t first, uint32_t last, uint32_t *slot, tn_error *error);

#endif
