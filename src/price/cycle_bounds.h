/* The least that each operation of a step takes under a build, whatever the choices of other layers (price/part_bounds.h has the
 * argument). Inside the room. */
#ifndef TN_PRICE_CYCLE_BOUNDS_H
#define TN_PRICE_CYCLE_BOUNDS_H

#include "price/core_shares.h"
#include "price/parting.h"
#include "price/plan.h"
#include "price/work.h"

/* The build with one operation after the other, whose operations take no more than its own. */
tn_build tn_build_in_turn(const tn_build *build);

/* cycles[operations]: what each takes at least; of the products of a layer's program only the sum is a bound, as they share
 * the words of tensors (price/program_words.h). The plan is the build's; core: what cores of the classes take, or NULL. Remembers in `arena`, which lives as long as the
 * parting, what other builds of the parting ask again. *price: of the work in turn. */
tn_status tn_cycle_bounds_find(tn_parting *parting, tn_plan *plan, const tn_build *build,
                               const tn_core_share *core, tn_arena *arena, double *cycles,
                               tn_work_price *price, tn_error *error);

#endif
