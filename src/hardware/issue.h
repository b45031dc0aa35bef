/* Cycles of a product whose operands lie in banks: what generated hardware takes (confirmed cycle by cycle in
 * simulation, tests/rtl), and so what it costs.
 *
 * A tile of R x C sums takes an issue for each group of P terms. An issue fetches a block of either operand, in as
 * many cycles (phases) as the operand's fullest bank has words of it; the tile's last issue also leaves room for the
 * result to be written. So an issue lasts
 *     max(interval, phases of the left block, of the right block, and of the result in the last group)
 * where `interval` lets one sum's additions follow each other (hardware/kernel.h). The result's phases are the most
 * that any tile of the product takes, since a tile's write reaches into the time of the next issue. Tiles that pad the
 * last round of open sums take the interval only. Blocks at an array's edge are cut and may take fewer phases.
 *
 * Of each of the three blocks four kinds exist: whole, cut in its first direction, in its second, in both; kind
 * (first is cut) + 2 * (second is cut). Directions: left rows, terms; right terms, columns; result rows, columns.
 */
#ifndef TN_HARDWARE_ISSUE_H
#define TN_HARDWARE_ISSUE_H

#include "base/error.h"
#include "hardware/kernel.h"

#include <stdbool.h>
#include <stdint.h>

enum { TN_BLOCK_KINDS = 4 };

/* One cut index a group, or none (1 block). `others`: product of the indices that are looped over whole: batch, and
 * those of rows and columns; of the reduction. */
typedef struct tn_issued_product {
    uint64_t row_blocks, column_blocks, term_blocks, other_tiles, other_groups;
    bool row_edge, column_edge, term_edge; /* the last block is cut */
    uint64_t left[TN_BLOCK_KINDS], right[TN_BLOCK_KINDS],
        result[TN_BLOCK_KINDS]; /* phases, by kind of block */
} tn_issued_product;

typedef struct tn_issued {
    uint64_t tiles, groups, rounds, open; /* open tiles in each round */
    uint64_t interval;                    /* cycles between two additions to different sums, at least */
    uint64_t write_phases;
    uint64_t cycles;      /* of all issues */
    uint64_t last_phases; /* of the last write: 1 where padding follows it */
} tn_issued;

/* TN_OVERFLOW where the cycles do not fit. */
tn_status tn_issue_product(const tn_matmul *kernel, const tn_issued_product *product, tn_issued *issued,
                           tn_error *error);

#endif
