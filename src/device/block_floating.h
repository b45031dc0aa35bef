/* What a kernel of block floating point has besides multipliers and adders, by the `block_floating` of a device file.
 *
 *   converter    fp32 values to a common exponent and rounded mantissas: the greatest exponent of a group by a tree, each value
 *                shifted and rounded; in chunks the choice of the one that a pass takes. LUT = a + b m of a value, m bits of
 *                mantissa
 *   normaliser   the sum of a group, an integer of s bits, to an fp32 number: magnitude, leading zeros, shift. LUT = c s
 *
 * Source: Yosys 0.23 of tests/rtl/block_floating.sv (docs/device-file.md).
 */
#ifndef TN_DEVICE_BLOCK_FLOATING_H
#define TN_DEVICE_BLOCK_FLOATING_H

#include "base/public.h"
#include "text/schema.h"

#include <stdbool.h>
#include <stdint.h>

TN_PUBLIC_BEGIN

/* A device without the mapping has zeros: they are free. */
typedef struct tn_block_floating_figures {
    uint64_t convert_lut, convert_lut_per_bit, convert_ff, convert_ff_per_bit, convert_stages;
    uint64_t normalise_lut_per_bit, normalise_ff, normalise_ff_per_bit, normalise_stages;
    uint64_t chunk_lut, chunk_ff, chunk_stages;
    uint32_t origin;
    const char *source;
} tn_block_floating_figures;
extern const tn_schema tn_block_floating_schema;

TN_PUBLIC_END

typedef struct tn_block_floating_cost {
    uint64_t lut, ff, stages;
} tn_block_floating_cost;

/* Of one value that enters a kernel or leaves it for an array of block floating point. */
tn_block_floating_cost tn_block_floating_convert(const tn_block_floating_figures *figures,
                                                 uint64_t mantissa_bits, bool in_chunks);
/* Of one group's sum. */
tn_block_floating_cost tn_block_floating_normalise(const tn_block_floating_figures *figures,
                                                   uint64_t sum_bits);

#endif
