/* What a training step costs on a device with a build: cycles, resources, energy, and whether it fits.
 *
 * Two levels: tn_price_step is called for every design of a sweep (millions; microseconds on a prepared
 * workload, less where parts of the build came before); tn_price_explain (design/explain.h) gives the same
 * numbers with their origin for one design.
 */
#ifndef TN_PRICE_PRICE_H
#define TN_PRICE_PRICE_H

#include "base/error.h"
#include "base/public.h"
#include "device/build.h"
#include "device/device.h"
#include "price/workload.h"

#include <stdbool.h>
#include <stdint.h>

TN_PUBLIC_BEGIN

typedef struct tn_price {
    uint64_t cycles_per_step;
    double seconds_per_step, joules_per_step, watts;
    double static_joules_per_step; /* the part of joules_per_step that the device draws at rest */
    tn_resources used;
    uint64_t on_chip_bytes;           /* capacity of the BRAM and URAM blocks taken */
    uint64_t off_chip_bytes;          /* of arrays that live in external memory */
    uint64_t off_chip_bytes_per_step; /* moved to and from it */
    uint32_t misfits;                 /* bit i: resource i (tn_resource) is short */
} tn_price;

typedef enum tn_resource { TN_LUT, TN_FF, TN_DSP, TN_BRAM18, TN_URAM, TN_RESOURCES } tn_resource;
static inline uint64_t tn_resource_amount(const tn_resources *resources, tn_resource which) {
    const uint64_t amount[TN_RESOURCES] = {resources->lut, resources->ff, resources->dsp, resources->bram18,
                                           resources->uram};
    return amount[which];
}
extern const char *const tn_resource_names[]; /* "lut", "ff", "dsp", "bram18", "uram" */

/* An illegal build (zero parallelism, ...) is TN_INPUT, as are off-chip arrays that the device has no
 * external memory for; a count past 64 bits is TN_OVERFLOW. */
tn_status tn_price_step(tn_workload *workload, const tn_build *build, tn_price *price, tn_error *error);

TN_PUBLIC_END

#endif
