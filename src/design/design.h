/* A design: a model's training step on a device under a build.
 *
 * A design has one price, made by tn_design_price and nowhere else: the model's step, the step as the build does it, the
 * workload of it, the price. What if it were otherwise is another design, made by a change: tn_design_change takes KEY=VALUE as
 * --set does, and design/changes.h lists designs that differ from one by its clock, its flows, its techniques. */
#ifndef TN_DESIGN_DESIGN_H
#define TN_DESIGN_DESIGN_H

#include "base/error.h"
#include "base/memory.h"
#include "base/public.h"
#include "device/build.h"
#include "device/device.h"
#include "model/model.h"
#include "price/price.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

TN_PUBLIC_BEGIN

typedef struct tn_design {
    tn_model *
        model; /* weights as its tree has them, but for flows that were settled and ranks that were trimmed */
    const tn_device *device; /* NULL: none, so it has a step and no price */
    tn_build build;
    uint32_t
        left_out; /* so many of the model's transformations (step/transformation.h), the last ones, are left out */
    bool
        trims_ranks; /* a changed weight keeps no rank above what its modes can fill, as a sweep's designs do */
} tn_design;

/* All of it lives in the arena of the call, the model, the device and the cache. */
typedef struct tn_priced {
    tn_design design;
    const tn_step *given;  /* the model's step, */
    const tn_step *step;   /* and as the build does it: operations fused or not (build.fusion) */
    tn_workload *workload; /* of the given one (price/workload.h); NULL where there is no device */
    tn_price price;        /* 0 likewise */
} tn_priced;

/* `like`: the price of a design that may have the same model, with the same weights still; then its step is taken, and its
 * layouts, and where the device is the same, too, all that it has found. NULL: there is none. Fails as tn_step_build,
 * tn_workload_prepare and tn_price_step do. */
tn_status tn_design_price(const tn_design *design, const tn_priced *like, tn_program_cache *cache,
                          tn_arena *arena, tn_priced *priced, tn_error *error);

/* The same alone, in memory of its own. */
tn_status tn_design_price_alone(const tn_design *design, tn_price *price, tn_error *error);

/* *changed = the design with `set`, KEY=VALUE of its build, its model or its device by their dotted paths.
 * Everything that `set` does not name stays as it stands in the design; a new format or folding spreads
 * the rank anew, as in a file. The model is the same one where
 * only the build and the device change. Keys of several values that do not go together are told by the price. */
tn_status tn_design_change(const tn_design *design, const char *const *set, size_t count, tn_arena *arena,
                           tn_design *changed, tn_error *error);

TN_PUBLIC_END

#endif
