/* What each technique of a design changes: the transformations that its model asks for (model/transformation.h), in the
 * order in which they are applied, priced before and behind each. */
#ifndef TN_HARDWARE_TECHNIQUE_PRICES_H
#define TN_HARDWARE_TECHNIQUE_PRICES_H

#include "base/arena.h"
#include "base/error.h"
#include "hardware/build.h"
#include "hardware/device.h"
#include "model/model.h"

#include <stdint.h>

/* Before, and behind. */
typedef struct tn_change {
    uint64_t before, after;
} tn_change;
typedef struct tn_real_change {
    double before, after;
} tn_real_change;

typedef struct tn_technique_price {
    const char *name, *keys;
    tn_change macs;                    /* of a step, all phases */
    tn_change saved_bytes, peak_bytes; /* activations kept for the backward pass; most live at once */
    tn_change cycles_per_step;
    tn_real_change joules_per_step;
} tn_technique_price;

/* Lives in `arena`. */
tn_status tn_technique_prices(const tn_model *model, const tn_device *device, const tn_build *build,
                              tn_program_cache *cache, tn_arena *arena, tn_technique_price **line,
                              uint32_t *count, tn_error *error);

#endif
