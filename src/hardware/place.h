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

/* What one copy of a memory is where layouts are known (hardware/laid.h): rows of `elements` a cycle in so many banks,
 * and how many rows its arrays take. What no search decides: the banks that the build asks for (auto: one), and the rows
 * that arrays would take if none of their axes were padded. */
typedef struct tn_row {
    uint64_t elements, banks, depth, asked_banks, unpadded_depth;
} tn_row;

/* What the keys of the build say. */
tn_place tn_place_as_built(const tn_mapped *memory, const tn_build *build);

typedef struct tn_placed {
    tn_place place;                              /* style resolved */
    uint64_t accesses, banks, width_bits, depth; /* of one memory; of a full group where there are several */
    uint64_t memories;                           /* copies, or groups of them; read ports apart */
    tn_blocks blocks;                            /* of all of them, read ports included */
    double stored_bits, capacity_bits;           /* of the arrays; of the blocks (a LUT holds 64 bits) */
} tn_placed;

/* `row` NULL: as if every word that an operation wants lay in one row, and no axis were padded. Style auto looks at
 * what no search decides, so that no layout changes it. `word_bits`: where the memory does not say. */
tn_status tn_place_price(const tn_device *device, uint64_t word_bits, const tn_mapped *memory,
                         const tn_row *row, const tn_build *build, const tn_place *place, tn_placed *placed,
                         tn_error *error);

TN_PUBLIC_END

#endif
