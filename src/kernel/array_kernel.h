/* A systolic array as the matmul kernel of a build: `rows` x `columns` cells, each a multiplier and an adder, with the
 * operands of the three passes of training where they are (kernel/systolic.h):
 *
 *   forward          C = A B: B rests in the cells, loaded from above; A streams in from the left    ws_serial
 *   input gradient   C = A B^T of the same cells: A streams in from the other edge, sums leave sideways; the tile that
 *                    the forward pass left behind is not loaded again, and nothing is transposed
 *   weight gradient  C = A^T B accumulates where it will rest, and drains                            os_serial
 *
 * Cells whose adder takes s cycles pass a sum on s cycles later: rows (s - 1) cycles more a tile forward,
 * columns (s - 1) for input gradients, and s - 1 for every term where a cell accumulates. With one cycle
 * these are the cycles of the RTL. A batch is that many products one behind the other.
 */
#ifndef TN_KERNEL_ARRAY_KERNEL_H
#define TN_KERNEL_ARRAY_KERNEL_H

#include "kernel/kernel.h"
#include "kernel/systolic.h"
#include "model/step.h"

typedef struct tn_array_time {
    uint64_t cycles, tiles;
    uint64_t words[2]; /* read of the left and right operand */
} tn_array_time;

/* `phase` of the product: forward, input gradient, else weight gradient. kernel->reduction is 1. */
tn_status tn_array_kernel_cycles(const tn_matmul *kernel, tn_phase phase, const tn_product_size *product,
                                 tn_array_time *time, tn_error *error);

#endif
