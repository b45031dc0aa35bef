/* A place: style, split and grouping of one memory of a map, and the blocks that it then takes. */
#ifndef TN_HARDWARE_PLACE_H
#define TN_HARDWARE_PLACE_H

#include "base/error.h"
#include "base/public.h"
#include "hardware/device_data.h"
#include "hardware/map.h"

TN_PUBLIC_BEGIN

typedef struct tn_place {
    tn_memory_style
        style; /* auto: LUTRAM while a bank is small, else what takes the least share of the device */
    tn_array_split split;
    uint64_t group; /* cores that share a memory; at least 1 */
} tn_place;

/* What the keys of the build say. */
tn_place tn_place_as_built(const tn_mapped *memory, const tn_build *build);

typedef struct tn_placed {
    tn_place place;                              /* style resolved */
    uint64_t accesses, banks, width_bits, depth; /* of one memory; of a full group where there are several */
    uint64_t memories;                           /* copies, or groups of them; read ports apart */
    tn_blocks blocks;                            /* of all of them, read ports included */
    double stored_bits, capacity_bits;           /* of the arrays; of the blocks (a LUT holds 64 bits) */
} tn_placed;

/* `word_bits`: where the memory does not say. */
tn_status tn_place_price(const tn_device *device, uint64_t word_bits, const tn_mapped *memory,
                         const tn_build *build, const tn_place *place, tn_placed *placed, tn_error *error);

TN_PUBLIC_END

#endif
