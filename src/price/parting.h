/* How the layers of a step are dealt to units (price/parts.h). Inside the room. */
#ifndef TN_PRICE_PARTING_H
#define TN_PRICE_PARTING_H

#include "price/parts.h"

static const uint32_t TN_OWNER_SHARED = UINT32_MAX - 1; /* of an array: several units */

struct tn_parting {
    tn_workload *workload;
    uint32_t units;
    const uint32_t *unit_of_layer; /* [layers] */
    uint32_t *unit_of_operation;   /* [operations] */
    uint32_t
        *owner; /* [arrays]: a unit, `units` for none, TN_OWNER_SHARED, or UINT32_MAX where none touches it */
    uint32_t shared_count;
    tn_common_memory *shared;
    tn_demand *demand;    /* [shared_count][units + 1] */
    bool fits;            /* no demand ran out of room */
    uint32_t *core_class; /* [arrays]: place in a survey's classes, UINT32_MAX for no core; NULL: not known */
    struct tn_kept_words *kept_words; /* price/cycle_bounds.c: of builds before; NULL: none yet */
};

#endif
