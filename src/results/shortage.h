/* Why no design of a space fits: what the nearest of them lacks, and which key would change most about it. */
#ifndef TN_RESULTS_SHORTAGE_H
#define TN_RESULTS_SHORTAGE_H

#include "base/error.h"
#include "base/memory.h"
#include "space/space.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct tn_shortage {
    uint64_t looked_at, design; /* designs by what they cost at least; of them the nearest */
    const char *cause;          /* the resource that it lacks, or the constraint that it breaks */
    double factor;              /* need over what is allowed; INFINITY: a constraint has none */
    const char *key;            /* that says what is allowed: "caps.lut", or "constraints" */
    uint64_t needed, allowed;   /* of a resource */
    const char *change,
        *was; /* "build.rows=16", "256": the change after which it fits (several keys with " --set " between
                                   them where one is not enough), or that comes nearest; NULL: none helps */
    double changed_factor; /* need over what is allowed with it, at most 1 where it fits */
} tn_shortage;

/* *shortage is of texts in `arena` and the space; cause NULL: none of the designs that were looked at lacks anything, or the space
 * is vast. Takes a second or two. */
tn_status tn_shortage_find(const tn_space *space, tn_arena *arena, tn_shortage *shortage, tn_error *error);

#endif
