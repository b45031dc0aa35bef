/* What a generated engine takes of the device, counted before anything is synthesised.
 *
 * DSP blocks are those of its operators; BRAM, UltraRAM and LUTRAM follow from its memories and open sums by the rules
 * of device/block.h (Yosys). Flip-flops are the templates' registers, counted one by one; delays of three cycles
 * and more are shift registers, which take LUTs. LUTs are those of the operators (the device file's rows of the set
 * `generated`), of multiplexers by fan-in (memory/memory_share.h), and of adders and comparisons by their bits.
 */
#ifndef TN_RTL_RESOURCES_H
#define TN_RTL_RESOURCES_H

#include "device/device.h"
#include "rtl/engine.h"

typedef struct tn_rtl_resources {
    uint64_t lut, ff, dsp, bram18, uram,
        lutram; /* lut: logic and shift registers; lutram: LUTs that are memory */
} tn_rtl_resources;

tn_status tn_rtl_resources_count(const tn_rtl_engine *engine, const tn_device *device,
                                 tn_rtl_resources *resources, tn_error *error);

#endif
