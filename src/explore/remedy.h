/* What would make a design fit: every single change of its build, and of the ranks of its weights, is made and
 * priced; those after which it fits are told. What is done already is no change, so it is never proposed.
 *
 *   counts (rows, columns, reduction, vector, read_ports, kernels)  halved until it fits
 *   group                                                           doubled until it fits
 *   off_chip_over_bytes                                             from 1 MiB down by factors of 4
 *   off_chip_tile_bytes                                             from 64 KiB down by factors of 4
 *   choices (sharing, memories, split, buffers, placement)          every other one
 *   the ranks of a weight                                           three quarters, a half, .. until it fits
 */
#ifndef TN_EXPLORE_REMEDY_H
#define TN_EXPLORE_REMEDY_H

#include "base/arena.h"
#include "hardware/price.h"
#include "model/model.h"

#include <stdbool.h>

typedef struct tn_remedy {
    const char *change; /* "build.vector=2", "weights.square.rank=6": as --set takes it */
    const char *was;    /* "4" */
    tn_price price;     /* of the design with it */
    double ratio;       /* greatest need over budget then; at most 1 where it fits */
} tn_remedy;

typedef struct tn_remedies {
    size_t count, tried;
    bool cut;            /* not all were tried: the step is very long */
    size_t weights_left; /* whose ranks were not tried: those of the smaller ones */
    tn_remedy *remedy;   /* fastest design first; of equally fast ones in the order above */
    double given_ratio;  /* without any change */
    tn_remedy
        closest; /* of the changes that do not suffice the one that comes nearest; change NULL: none helps */
} tn_remedies;

/* Of the model as it stands (its weights are changed and put back) with that build. A design fits when it
 * takes at most `budget`. */
tn_status tn_remedies_find(tn_model *model, const tn_device *device, const tn_build *build,
                           const tn_resources *budget, tn_arena *arena, tn_remedies *remedies,
                           tn_error *error);

/* Whether an amount of every resource is within a budget, and the greatest ratio of need to budget: above 1
 * where it is not. */
double tn_budget_ratio(const tn_resources *used, const tn_resources *budget);

#endif
