/* Cycles of a product whose operands lie in banks: what generated hardware takes (confirmed cycle by cycle in
 * simulation, tests/rtl), and so what it costs.
 *
 * A tile of R x C sums takes an issue for each group of P terms. An issue fetches a block of either operand, in as
 * many cycles (phases) as the operand's fullest bank has words of it; the tile's last issue also leaves room for the
 * result to be written, and fetches what is read beside it then (a bias, a residual: price/workload_data.h). So an issue
 * lasts
 *     max(interval, phases of the left block, of the right block, and in the last group of the result and beside it)
 * where `interval` lets one sum's additions follow each other (kernel/kernel.h). The result's phases are the most
 * that any tile of the product takes, since a tile's write reaches into the time of the next issue. Tiles that pad the
 * last round of open sums take the interval only. Blocks at an array's edge are cut and may take fewer phases.
 *
 * Rows, columns and terms cut one or two indices each, so a block of two of them has up to four edges and there are
 * 16 kinds of it: bit k of the kind says that the array's end cuts the block along its k-th edge. Edges: those of the
 * left block are the rows' two and the terms' two, of the right one terms and columns, of the result rows and columns.
 *
 * A systolic array takes a product in one of its passes (kernel/array_kernel.h), whose blocks are rows of elements: an
 * issue fetches a vector, loads a row of weights, takes a term or drains a row of sums, and a tile is a row of results
 * that leaves, of which `open` follow each other through the same weights.
 */
#ifndef TN_KERNEL_ISSUE_H
#define TN_KERNEL_ISSUE_H

#include "base/error.h"
#include "kernel/kernel.h"
#include "model/operation.h"

#include <stdbool.h>
#include <stdint.h>

enum { TN_ISSUE_CUTS = 2, TN_BLOCK_KINDS = 16 };

/* Rows, columns or terms: into how many blocks each of the cut indices falls (1 where there is none), and whether
 * the last of them is cut by the index' end. */
typedef struct tn_issued_group {
    uint64_t blocks[TN_ISSUE_CUTS];
    bool edge[TN_ISSUE_CUTS];
} tn_issued_group;

/* How a kernel takes a product: lanes of dot products, or one of the passes of a systolic array. */
typedef enum tn_array_pass {
    TN_PASS_OF_LANES,
    TN_PASS_FORWARD,  /* weights rest, vectors move right, sums down */
    TN_PASS_SIDEWAYS, /* weights rest, vectors move down, sums right: input gradients */
    TN_PASS_RESTS,    /* sums rest: weight gradients */
} tn_array_pass;

/* `others`: product of the indices that are looped over whole: batch, and those of rows and columns; of the
 * reduction. */
typedef struct tn_issued_product {
    tn_issued_group row, column, term;
    uint64_t other_tiles, other_groups;
    uint64_t left[TN_BLOCK_KINDS], right[TN_BLOCK_KINDS],
        result[TN_BLOCK_KINDS]; /* phases, by kind of block; those of kinds that do not occur are not read */
    uint64_t
        extra[TN_BLOCK_KINDS]; /* of the slowest array read as the result is written, by its kinds; 0: none */
    tn_array_pass pass;
    uint64_t vectors; /* of a pass whose weights rest: rows of the product that take the same weights */
    uint64_t drained; /* of one whose sums rest: rows of the last tile, up to the last that is a result */
} tn_issued_product;

typedef struct tn_issued {
    uint64_t tiles, groups, rounds, open; /* open tiles in each round */
    uint64_t interval;                    /* cycles between two additions to different sums, at least */
    uint64_t write_phases;
    uint64_t
        cycles; /* of all issues; on an array up to the last result, filling and draining in between included */
    uint64_t last_phases; /* of the last write, less the padding that follows it; at least 1 */
} tn_issued;

/* TN_OVERFLOW where the cycles do not fit. */
tn_status tn_issue_product(const tn_matmul *kernel, const tn_issued_product *product, tn_issued *issued,
                           tn_error *error);

/* From the first issue to the last word written: the issues, the operators, the phases of the last write. What starts a
 * product on a device comes on top (control.product_cycles). An operand is taken up in the last cycle of its issue, so a
 * kernel that waits `interval` cycles for its sums takes interval - 1 more than tn_matmul_cycles says. */
tn_status tn_issue_product_cycles(const tn_matmul *kernel, const tn_issued_product *product, uint64_t *cycles,
                                  tn_error *error);

/* A pass of a vector kernel over rows of columns, V columns of a row an issue: a sum along rows is a product whose tiles
 * are rows and whose terms are blocks of columns, a sum down the columns one whose tiles are blocks and whose terms are
 * rows, any other pass takes every block of every row on its own. */
typedef struct tn_issued_pass {
    tn_pass_form form;
    uint64_t rows, blocks; /* of V columns in a row; of a pass per row: 1 */
    bool cut;              /* the row's end cuts the last of them */
    /* Of a whole block and of one that is cut: cycles that its slowest operand takes to be fetched, and that its result
     * takes to be written: of a map and of a sum along rows the block that streams out, of a sum down the columns the
     * sums. */
    uint64_t phases[2], write_phases[2];
    uint64_t lanes, depth, sum_cycles; /* V; of a lane's operators; of the operator that sums */
} tn_issued_pass;

/* *behind: cycles from the last issue to the last effect, lanes, sums and last write. The pass takes issued->cycles - 1 +
 * *behind, what starts it on a device (control.vector_cycles) apart. TN_OVERFLOW where they do not fit. */
tn_status tn_issue_pass(const tn_issued_pass *pass, tn_issued *issued, uint64_t *trailing, tn_error *error);

#endif
