/* What bounds a design: amounts as a space file gives them, a number or a percentage of what the device has
 * ("80 %"), the caps on each resource, and constraints ("bram18 <= 80 %", space/expression.h).
 */
#ifndef TN_SPACE_BOUND_H
#define TN_SPACE_BOUND_H

#include "base/error.h"
#include "base/memory.h"
#include "base/public.h"
#include "device/device.h"
#include "space/expression.h"
#include "space/quantity.h"
#include "text/schema.h"

#include <stddef.h>

TN_PUBLIC_BEGIN

typedef struct tn_constraint {
    const tn_quantity *quantity;     /* that is bounded; NULL: see expression */
    double least, most;              /* inclusive; -inf and +inf where not given */
    const tn_expression *expression; /* what is more than bounds of one quantity; NULL where that is all */
    const char *name;                /* "seconds_per_step <= 0.01", as causes of rejection are called */
} tn_constraint;

/* Shares of the device that designs may fill, as texts: mapping `caps` of a space. */
typedef struct tn_caps {
    const char *lut, *ff, *dsp, *bram18, *uram;
    tn_position lut_at, ff_at, dsp_at, bram18_at, uram_at;
} tn_caps;
extern const tn_schema tn_caps_schema;
/* How many of each a design may use: at most all that the device has. */
tn_status tn_caps_budget(const tn_caps *caps, const tn_resources *has, tn_resources *budget, tn_error *error);

/* Decodes an item of `constraints`: a mapping {quantity, least, most}, or an expression such as "bram18 <= 80 %".
 * A percentage is of the device's resource of that name. */
extern const tn_schema tn_constraint_schema;
tn_status tn_constraint_decode(const tn_yaml *node, const tn_design_columns *columns, tn_arena *arena,
                               tn_constraint *constraint, tn_error *error);
/* Whether a design that has no less of anything, and as many degrees of freedom, can't hold a constraint that the other one
 * breaks. */
bool tn_constraints_only_cap(const tn_constraint *constraint, size_t constraints);

/* What of the budget is left to designs that fulfil all constraints: no more of a resource than one of them allows. */
tn_resources tn_constraints_within(const tn_constraint *constraint, size_t constraints,
                                   const tn_resources *budget);

/* Whether the design fulfils it; where not everything is known of it, and of a set, whether one may. */
bool tn_constraint_holds(const tn_constraint *constraint, const tn_choices *choices,
                         const tn_candidate *design);

TN_PUBLIC_END

#endif
