/* What a training step costs on a device with a build: cycles, resources, energy, and whether it fits.
 *
 * Two levels: tn_price_step is called for every design of a sweep (millions; it allocates nothing and takes
 * about a microsecond on a prepared workload); tn_price_explain gives the same numbers with their origin
 * (kernels, arrays, largest contributors, energy shares, timeline) for one design.
 */
#ifndef TN_HARDWARE_PRICE_H
#define TN_HARDWARE_PRICE_H

#include "base/arena.h"
#include "base/error.h"
#include "hardware/build.h"
#include "hardware/device.h"
#include "model/step.h"

#include <stdbool.h>
#include <stdint.h>

/* A step boiled down for pricing: equal operations and equal arrays are merged with a count. */
typedef struct tn_workload tn_workload;
tn_status tn_workload_prepare(const tn_step *step, const tn_device *device, tn_arena *arena,
                              tn_workload **workload, tn_error *error);

typedef struct tn_price {
    uint64_t cycles_per_step;
    double seconds_per_step, joules_per_step, watts;
    tn_resources used;
    uint64_t on_chip_bytes; /* capacity of the BRAM and URAM blocks taken */
    uint32_t misfits;       /* bit i: resource i (tn_resource) is short */
} tn_price;

typedef enum tn_resource { TN_LUT, TN_FF, TN_DSP, TN_BRAM18, TN_URAM, TN_RESOURCES } tn_resource;
extern const char *const tn_resource_names[]; /* "lut", "ff", "dsp", "bram18", "uram" */

/* An illegal build (zero parallelism, ...) is TN_INPUT; a count past 64 bits TN_OVERFLOW. */
tn_status tn_price_step(const tn_workload *workload, const tn_build *build, tn_price *price, tn_error *error);

#endif
