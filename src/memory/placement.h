/* Places for all memories of a map at once: style, split and grouping of each, so that together they fit the
 * block RAM, UltraRAM and LUTs that are there and take the least capacity (which is the least waste, as what
 * is stored is given).
 *
 * Each memory has its options; those that another option of the memory beats in every resource are dropped.
 * Choosing one of each is a multiple-choice knapsack with three budgets, which knapsack/allocation.h solves: the
 * result is exact unless its partial allocations outgrow `most_states`, and `bound_bits` says how far from the best
 * it can be then.
 */
#ifndef TN_MEMORY_PLACEMENT_H
#define TN_MEMORY_PLACEMENT_H

#include "base/error.h"
#include "base/memory.h"
#include "base/public.h"
#include "device/device_data.h"
#include "memory/map.h"

/* A place: style, split and grouping of one memory of a map, and the blocks that it then takes. */

TN_PUBLIC_BEGIN

typedef struct tn_place {
    tn_memory_style
        style; /* auto: LUTRAM while a bank is small, else what takes the least share of the device */
    tn_array_split split;
    uint64_t group; /* cores that share a memory; at least 1 */
} tn_place;

/* What one copy of a memory is where layouts are known (memory/laid.h): rows of `elements` a cycle in so many banks,
 * and how many rows its arrays take. What no search decides: the banks that the build asks for (auto: one), and the rows
 * that arrays would take if none of their axes were padded. Of a bound (1, else 0): what the memory takes is to be no more
 * than that of a deeper one, or of one in more banks. */
typedef struct tn_row {
    uint64_t elements, banks, depth, asked_banks, unpadded_depth, of_bound;
} tn_row;

/* Bits of the arrays of all copies; word_bits: of an element, unless the memory has its own. */
double tn_mapped_stored_bits(const tn_mapped *memory, uint64_t word_bits);

/* What the keys of the build say. */
tn_place tn_place_as_built(const tn_mapped *memory, const tn_build *build);

typedef struct tn_placed {
    tn_place place;                              /* style resolved */
    uint64_t accesses, banks, width_bits, depth; /* of one memory; of a full group where there are several */
    uint64_t memories;                           /* copies, or groups of them; read ports apart */
    tn_blocks blocks;                            /* of all of them, read ports included */
    double stored_bits, capacity_bits;           /* of the arrays; of the blocks (a LUT holds 64 bits) */
} tn_placed;

/* Blocks of one bank whose words are elements of `word_bits`; *rows: of blocks, one of which answers. Of generated hardware, which
 * writes element by element, by the rules of geometry yosys (tn_memory_element_blocks); else as the device's geometry says, which
 * has no multiplexers: one row. */
tn_status tn_bank_blocks(const tn_device *device, tn_memory_style style, uint64_t word_bits,
                         uint64_t width_bits, uint64_t depth, tn_blocks *blocks, uint64_t *rows,
                         tn_error *error);

/* `row` NULL: as if every word that an operation wants lay in one row, and no axis were padded. Style auto looks at
 * what no search decides, so that no layout changes it. `word_bits`: where the memory does not say. */
tn_status tn_place_price(const tn_device *device, uint64_t word_bits, const tn_mapped *memory,
                         const tn_row *row, const tn_build *build, const tn_place *place, tn_placed *placed,
                         tn_error *error);

TN_PUBLIC_END

/* What there is for memories. */
typedef struct tn_placement_budget {
    uint64_t bram18, uram, lut;
} tn_placement_budget;

/* Groups that a search tries: 1, 2, 4, .. and of all. */
uint64_t tn_placement_groups(const tn_mapped *memory);
uint64_t tn_placement_next_group(uint64_t group, uint64_t most);

typedef struct tn_placement {
    tn_place *place; /* [map->memories] */
    bool fits;       /* false: nothing fits; `place` then has the least overall share of the device */
    bool exact;
    double capacity_bits, bound_bits; /* of what was found; no placement has less */
} tn_placement;

/* rows: [map->memories] where layouts are known, else NULL; a memory is then as it was laid, or has a bank for every
 * element. most_states 0: the solver's own limit. */
tn_status tn_placement_search(const tn_device *device, uint64_t word_bits, const tn_map *map,
                              const tn_row *rows, const tn_build *build, const tn_placement_budget *budget,
                              size_t most_states, tn_arena *arena, tn_placement *placement, tn_error *error);

#endif
