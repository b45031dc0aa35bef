/* A product whose operands lie off chip, cut into tiles that staging memories hold.
 *
 * A tile is m rows by n columns of the result over k terms of its sums: of the left operand m x k is staged, of the right one
 * k x n, of the result m x n, each of those that lie off chip, twice (one is filled while the other is used). Three orders:
 *   the left tile stays     while the right ones pass: for rows, for terms, for columns
 *   the right tile stays    while the left ones pass: for columns, for terms, for rows
 *   the result stays        while its terms pass: for rows, for columns, for terms
 * An operand's tile is moved whenever another is wanted; where terms are split, a result that does not stay is a partial sum,
 * moved out and in again for each further split of its terms. The kernel begins a sum with what the tile has so far.
 *
 * Operands lie row by row. What of a tile lies together is a line: the whole tile where it has whole rows, else each of its
 * rows. A line is moved in bursts, and of accesses that reach beyond its end the rest is moved for nothing, so short lines
 * cost more than they bring. Of all m and n that are a power of two or the whole, for each the most terms that fit (a power of
 * two of at least an access, or all), and all orders, the least is moved; of equal ones the fewest tiles. A tile has at least
 * one row, one column, and an access of terms, whatever fits.
 */
#ifndef TN_KERNEL_TILING_H
#define TN_KERNEL_TILING_H

#include "base/error.h"
#include "kernel/kernel.h"
#include "model/step.h"

#include <stdbool.h>
#include <stdint.h>

enum { TN_TILED_LEFT, TN_TILED_RIGHT, TN_TILED_RESULT, TN_TILED_OPERANDS };

/* In elements. */
typedef struct tn_tile_limits {
    uint64_t capacity;      /* that are on chip of an operand at a time; 0: operands are staged whole */
    uint64_t access, burst; /* that external memory moves at least, and at most by one request */
} tn_tile_limits;

typedef struct tn_tiling {
    uint64_t rows, columns, reduction;  /* of a tile */
    uint64_t tiles;                     /* of the product, its batch included */
    uint64_t staged[TN_TILED_OPERANDS]; /* elements of a tile; 0 on chip */
    uint64_t
        moved[TN_TILED_OPERANDS]; /* elements over the whole product, ends of lines included; 0 on chip */
    uint64_t bursts[TN_TILED_OPERANDS];      /* over the whole product */
    uint64_t tile_bursts[TN_TILED_OPERANDS]; /* of a tile */
} tn_tiling;

/* TN_OVERFLOW where counts leave 64 bits. */
tn_status tn_tiling_find(const tn_product_size *product, const bool off_chip[TN_TILED_OPERANDS],
                         const tn_tile_limits *limits, tn_tiling *tiling, tn_error *error);

/* *elements = moved of all operands; false where that leaves 64 bits. */
bool tn_tiling_moved(const tn_tiling *tiling, uint64_t *elements);

/* The tiles of a product of which an operand lies off chip; tiles 0: it is none, or operands are staged whole. */
tn_status tn_operation_tiling(const tn_operation *operation, const bool *off_chip,
                              const tn_tile_limits *limits, tn_tiling *tiling, tn_error *error);

#endif
