/* Whether the memories of a map can fit at all, whatever one of many builds makes of them: in rows of any length that it may have, any
 * split, style and grouping. What is found to lack room fits under no build; of all else nothing is said.
 *
 * Theorem. Copies that share a memory take no fewer blocks of a style than the fewest over all lengths of rows from the least build's
 * to the widest of the greatest, in one bank, with nothing padded (rows grow with parallelism, blocks with banks and depth:
 * price/bound.h). A grouping makes memories of g copies and one of the rest, each
 * in some style. Whatever the prices p >= 0 of a block of RAM, an UltraRAM and a LUT, what fits costs at most p . budget; and no less
 * than the sum over memories of the cheapest grouping, each part in its cheapest style. Where that sum is more, nothing fits. Good
 * prices are found by raising those of what is short. */
#ifndef TN_MEMORY_PLACE_FLOOR_H
#define TN_MEMORY_PLACE_FLOOR_H

#include "base/error.h"
#include "base/memory.h"
#include "memory/memory_share.h"
#include "memory/placement.h"

/* shares: what is remembered of memories. least, greatest: builds of no more, and no less, parallelism than any. group[groups]: how many cores builds let share a memory,
 * besides what a search tries. *lacks: block, ultra or distributed, whichever is short of room the most; auto: nothing is found to
 * be. Geometry hls. */
tn_status tn_place_floor_find(const tn_device *device, tn_known_shares *shares, uint64_t word_bits,
                              const tn_map *map, const tn_build *least, const tn_build *greatest,
                              size_t groups, const uint64_t *group, const tn_placement_budget *within,
                              tn_arena *scratch, tn_memory_style *lacks, tn_error *error);

#endif
