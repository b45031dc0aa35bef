/* Blocks of units: so many units of a set with options of one species (search/like_units.h), what they cost together, and which of
 * them no others are needed for. A design of a set is a block of each of some species; its cost is the sum of theirs. */
#ifndef TN_SEARCH_UNIT_BLOCKS_H
#define TN_SEARCH_UNIT_BLOCKS_H

#include "search/like_units.h"

/* An option of a type. */
typedef struct tn_block_entry {
    uint32_t type;
    uint64_t option;
} tn_block_entry;

/* The blocks of a species; of a set of one unit, of all options. */
typedef struct tn_species_blocks {
    uint32_t entries;
    tn_block_entry *entry;
    tn_sums *of; /* [states]: by how many units of each type they take; `left` is a place among: */
    uint16_t
        *counts; /* [blocks][entries]: units with that option; of a set of one unit `left` is the entry */
    size_t blocks, room;
} tn_species_blocks;

typedef struct tn_unit_blocks {
    const tn_like_set *set;
    size_t states;    /* of numbers of units: n_t of type t has the number sum n_t stride[t] */
    uint32_t *stride; /* [set->types] */
    uint32_t species;
    tn_species_blocks *block; /* [species] */
} tn_unit_blocks;

/* deadline (tn_clock_seconds): TN_INTERRUPTED after it, and by interruptions. Free with tn_unit_blocks_free, also after an error. The rest lives in `arena`. */
tn_status tn_unit_blocks_find(const tn_like_units *likes, const tn_like_set *set, double deadline,
                              tn_arena *arena, tn_unit_blocks *blocks, tn_error *error);
void tn_unit_blocks_free(tn_unit_blocks *blocks);

#endif
