/* A product whose operands lie off chip, cut into tiles that staging memories hold.
 *
 * A tile is m rows by n columns of the result with the whole reduction, so that no partial sum leaves the kernel: of the left
 * operand m x K is staged, of the right one K x n, of the result m x n, each of those that lie off chip, twice (one is
 * filled while the other is used). Two orders: rows outside, so that a left tile stays while the right ones pass, or
 * columns outside. An operand that stays is moved once; the other as often as there are tiles of the one outside, unless
 * its own tile is all of it. Of all m and n that are a power of two or the whole, and both orders, the least is moved; of
 * equal ones the fewest tiles. A tile has at least one row and one column, whatever fits.
 */
#ifndef TN_KERNEL_TILING_H
#define TN_KERNEL_TILING_H

#include "base/error.h"
#include "kernel/kernel.h"
#include "model/step.h"

#include <stdbool.h>
#include <stdint.h>

enum { TN_TILED_LEFT, TN_TILED_RIGHT, TN_TILED_RESULT, TN_TILED_OPERANDS };

typedef struct tn_tiling {
    uint64_t rows, columns;             /* of a tile */
    uint64_t tiles;                     /* of the product, its batch included */
    uint64_t staged[TN_TILED_OPERANDS]; /* elements of a tile; 0 on chip */
    uint64_t moved[TN_TILED_OPERANDS];  /* elements over the whole product; 0 on chip */
} tn_tiling;

/* `capacity`: elements that a staging memory holds of an operand. TN_OVERFLOW where counts leave 64 bits. */
tn_status tn_tiling_find(const tn_product_size *product, const bool off_chip[TN_TILED_OPERANDS],
                         uint64_t capacity, tn_tiling *tiling, tn_error *error);

/* *elements = moved of all operands; false where that leaves 64 bits. */
bool tn_tiling_moved(const tn_tiling *tiling, uint64_t *elements);

/* The tiles of a product of which an operand lies off chip; tiles 0: it is none, or operands are staged whole. */
tn_status tn_operation_tiling(const tn_operation *operation, const bool *off_chip, uint64_t tile_elements,
                              tn_tiling *tiling, tn_error *error);

#endif
