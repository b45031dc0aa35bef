/* The units of a space: choices of weights and layers that bear on the same layers, and so are one choice of the
 * layers they bear on. Different units choose independently (docs/decomposition.md). */
#ifndef TN_SEARCH_UNITS_H
#define TN_SEARCH_UNITS_H

#include "base/error.h"
#include "base/memory.h"
#include "space/space.h"

#include <stddef.h>
#include <stdint.h>

typedef struct tn_unit {
    size_t axes;
    size_t
        *axis; /* [axes]: places among the space's choices, rising; an option is the number of their digits */
    uint64_t options; /* combinations; UINT64_MAX where they do not fit 64 bits */
} tn_unit;

typedef struct tn_units {
    uint32_t count;
    tn_unit *unit; /* in the order of their first layers */
    uint32_t layers;
    uint32_t *of_layer; /* [layers of the model]: the layer's unit, or `count` for none */
} tn_units;

tn_status tn_units_find(const tn_space *space, tn_arena *arena, tn_units *units, tn_error *error);

#endif
