/* The least that all memories of a map take at any of several places: those that builds give them which differ in styles, splits,
 * groups, read ports and who chooses them alone.
 *
 * Rows are those of a bound (TN_LAID_BOUND), whose banks do not count: what a memory then takes at a place follows from how many
 * elements a row has. So each memory is priced once for each length of its rows at each place, and the memories of a build, whatever
 * its parallelism, are a sum over a line of that table.
 *
 * By the theorem of price/bound.h a memory as built under a split takes no less than in as many banks as that split asks for. One
 * that is searched is split further than it is laid, or as it is: in no fewer banks than the fewest that any of the splits asks
 * for. Styles, groups and splits as built are those of all memories of a store, so each combination is added up; what is searched is
 * bounded by its Lagrangian.
 *
 * Blocks can be saved with LUTs, which kernels need, too: those of LUTRAM, and those that route more and smaller memories to the
 * kernels. So the least capacity is told for each amount of LUTs.
 */
#ifndef TN_MEMORY_PLACE_TABLE_H
#define TN_MEMORY_PLACE_TABLE_H

#include "base/error.h"
#include "base/memory.h"
#include "device/device_data.h"
#include "memory/map.h"
#include "memory/memory_share.h"
#include "memory/placement.h"

/* LUTs between the kernels and memories that are these before their sides; grows with all of it. */
typedef uint64_t tn_place_routing(const void *user, const tn_port_source port[TN_SIDES]);

/* The places of a set of builds. */
typedef struct tn_place_options {
    unsigned styles[TN_STORES]; /* bit i: some build asks for style i (tn_memory_style) */
    unsigned splits;            /* bit i: some build asks for split i (tn_array_split) */
    size_t groups;
    const uint64_t *group;     /* [groups]: rising; NULL: what is searched has no use for them */
    uint64_t read_ports;       /* the fewest */
    bool as_built, searched;   /* which placements some build has (tn_placing) */
    tn_place_routing *routing; /* NULL: none is counted */
    const void *routing_user;
    uint64_t kernels; /* a number for the kernels that it is to, under which it is remembered */
} tn_place_options;

/* Places that take fewer LUTs than the next step's, for LUTRAM and routing together, have blocks of no less than that capacity. */
typedef struct tn_place_step {
    uint64_t lut, capacity_bits;
} tn_place_step;

/* Of the places that take no more than there is; where none does, of the one that is over it by the least factor. */
typedef struct tn_place_least {
    uint64_t bram18, uram, lutram, routing_lut, lut,
        capacity_bits; /* each by itself: no one place need have them all; lut: LUTRAM and routing together */
    uint32_t steps;
    const tn_place_step
        *step; /* [steps]: rising LUTs, falling capacity; of as many LUTs as there are the last */
} tn_place_least;

/* The least capacity with so many LUTs; UINT64_MAX: they are too few. */
uint64_t tn_place_least_capacity(const tn_place_least *least, uint64_t lut);

/* What single memories take at all of the places, remembered whatever the step: few memories differ between steps. */
typedef struct tn_known_lines tn_known_lines;
tn_status tn_known_lines_new(tn_arena *arena, tn_known_lines **lines, tn_error *error);

/* Styles, splits and groups of `all` are those that will be asked for. row_kind[map->memories]: those of one kind always have equal
 * rows (memory/row_kinds.h); NULL: nothing is known of that. Map, shares, lines and groups must outlive the table, which lives in
 * `arena`. */
typedef struct tn_place_table tn_place_table;
tn_status tn_place_table_make(const tn_device *device, uint64_t word_bits, const tn_map *map,
                              const uint32_t *row_kind, const tn_place_options *all, tn_known_shares *shares,
                              tn_known_lines *lines, tn_arena *arena, tn_place_table **table,
                              tn_error *error);

/* rows[map->memories]: each follows from its elements alone. number: of these rows, from 1, under which what is found of them is
 * remembered; 0: they have none. `options` are among the table's; what stands in *least lives as long as the table. */
tn_status tn_place_table_least(tn_place_table *table, const tn_row *rows, uint32_t number,
                               const tn_place_options *options, const tn_placement_budget *within,
                               tn_place_least *least, tn_error *error);
/* Whether that is known of rows of that number, so that they need not be told. */
bool tn_place_table_knows(const tn_place_table *table, uint32_t number, const tn_place_options *options,
                          const tn_placement_budget *within);

#endif
