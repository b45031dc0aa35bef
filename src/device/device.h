/* A device file (docs/device-file.md): `kind: fpga` with resources, memories, operators and energy, or
 * `kind: roofline` with peaks and bandwidths. A file may inherit from another (`inherit: u50`) and override
 * keys; named variants (whole device, user area under a shell, one SLR) are chosen as NAME@VARIANT or by
 * `variant:`.
 *
 * Every figure that a user may doubt says where it comes from (tn_origin); a result lists the unverified ones
 * it rests on.
 */
#ifndef TN_DEVICE_DEVICE_H
#define TN_DEVICE_DEVICE_H

#include "base/error.h"
#include "base/memory.h"
#include "base/public.h"
#include "text/schema.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

TN_PUBLIC_BEGIN

/* Amounts of every on-chip resource: what a design uses, or what a device has. */
typedef struct tn_resources {
    uint64_t lut, ff, dsp, bram18, uram;
} tn_resources;

/* Bytes that so many BRAM and URAM blocks hold. */
double tn_resources_block_bytes(const tn_resources *resources);

typedef enum tn_device_kind { TN_DEVICE_FPGA, TN_DEVICE_ROOFLINE } tn_device_kind;

typedef struct tn_device tn_device;

/* Loads "u50", "u50@user-area" or a path (whose last @ names a variant too), applies `set` ("KEY=VALUE") in
 * order. All variants are checked, the chosen one is what the device is. */
tn_status tn_device_load(const char *name, const char *const *set, size_t set_count, tn_arena *arena,
                         tn_device **device, tn_error *error);
/* *changed = the device with `set` applied to it as it stands; another variant is TN_INPUT. */
tn_status tn_device_change(const tn_device *device, const char *const *set, size_t set_count, tn_arena *arena,
                           const tn_device **changed, tn_error *error);
tn_device_kind tn_device_kind_of(const tn_device *device);
const char *tn_device_name(const tn_device *device); /* "u50@user-area"; "u280" where there is no variant */
tn_resources tn_device_resources(const tn_device *device);
double tn_device_clock_MHz(const tn_device *device);

/* The tree of the file, inheritance, variant and sets applied: what other kinds than fpga decode. */
const tn_yaml *tn_device_root(const tn_device *device);

extern const tn_schema tn_device_schema; /* kind fpga */

TN_PUBLIC_END

#endif
