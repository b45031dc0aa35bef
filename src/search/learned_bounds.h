/* What designs learn at best, accuracy or perplexity by the space's table, the deviation with which that is known and what it rests
 * on, as sums over units: lower bounds of what is minimised, so the negative of an accuracy.
 *
 * It depends on the settings of a few choices. Let v(k) be what setting k comes to, and c_u(k) what it says of unit u. Sums
 * c + sum of g_u(c_u(k)) begin with the mean effects of the units and the greatest c with which none is above v; then unit after unit
 * each g_u(x) grows by the least that a setting with c_u = x is still above its sum. So no sum is above v, and each x of the last
 * unit has a setting where it is equal: where all that is learned depends on one unit, the sums are exact. */
#ifndef TN_SEARCH_LEARNED_BOUNDS_H
#define TN_SEARCH_LEARNED_BOUNDS_H

#include "search/layer_table.h"

/* learned of every unit and learned_rest of the table, of one of the costs that follow from it, in `arena`; digit[choices]: of the
 * model keys. Where there are more than settings_most settings, nothing is known of the units, and all may learn everything.
 * deadline (tn_clock_seconds): TN_INTERRUPTED after it, and by interruptions. */
tn_status tn_learned_bounds_find(const tn_space *space, const tn_units *units, const uint32_t *digit,
                                 tn_layer_cost cost, uint64_t settings_most, double deadline, tn_arena *arena,
                                 tn_layer_table *table, tn_error *error);

#endif
