/* A device file (docs/device-file.md): `kind: fpga` with resources, memories, operators and energy, or
 * `kind: roofline` with peaks and bandwidths. A file may inherit from another (`inherit: u50`) and override
 * keys; named variants (whole device, user area under a shell, one SLR) are chosen as NAME@VARIANT or by
 * `variant:`. */
#ifndef TN_HARDWARE_DEVICE_H
#define TN_HARDWARE_DEVICE_H

#include "base/arena.h"
#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

/* Amounts of every on-chip resource: what a design uses, or what a device has. */
typedef struct tn_resources {
    uint64_t lut, ff, dsp, bram18, uram;
} tn_resources;

typedef struct tn_device tn_device;

/* Loads "u50", "u50@user-area" or a path, applies `set` in order. */
tn_status tn_device_load(const char *name, const char *const *set, size_t set_count, tn_arena *arena,
                         tn_device **device, tn_error *error);
const char *tn_device_name(const tn_device *device);
tn_resources tn_device_resources(const tn_device *device);
double tn_device_clock_MHz(const tn_device *device);

#endif
