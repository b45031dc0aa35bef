/* A step boiled down for pricing on one device: equal operations and equal arrays are merged with a count. */
#ifndef TN_PRICE_WORKLOAD_H
#define TN_PRICE_WORKLOAD_H

#include "base/error.h"
#include "base/memory.h"
#include "base/public.h"
#include "device/build.h"
#include "device/device.h"
#include "model/step.h"

TN_PUBLIC_BEGIN

/* It remembers what it has priced (in the arena), so it serves one thread at a time. */
typedef struct tn_workload tn_workload;

/* Step, device and arena must outlive it. TN_INPUT where the device is no FPGA or an operation has an extent of 0, TN_LIMIT
 * where products are of too many arithmetics, TN_OVERFLOW where some build's price would not fit 64 bits. */
tn_status tn_workload_prepare(const tn_step *step, const tn_device *device, tn_arena *arena,
                              tn_workload **workload, tn_error *error);

/* Layouts do not depend on the device: `workload`, of the same step, takes those that `source` found, which must outlive
 * it. */
void tn_workload_share_layouts(tn_workload *workload, const tn_workload *source);

/* The step as the build does it: with operations fused or not (build.fusion). */
tn_status tn_workload_step(tn_workload *workload, const tn_build *build, const tn_step **step,
                           tn_error *error);

/* What keeps the design from being generated as hardware (price/obstacle.h); 0: nothing. `off_chip`: whether its price has
 * arrays there. */
tn_status tn_workload_obstacle(tn_workload *workload, const tn_build *build, bool off_chip,
                               uint32_t *obstacle, tn_error *error);

TN_PUBLIC_END

#endif
