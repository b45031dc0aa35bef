/* A systolic array as the matmul kernel of a build: R = `rows` x C = `columns` cells, each a multiplier and an adder, with
 * the operands of the three passes of training where they are (kernel/systolic.h, and as hardware templates/systolic.sv):
 *
 *   forward          C = A B: B rests in the cells, a row of it loaded a cycle; vectors of A move right, sums down
 *   input gradient   C = A B^T of the same cells: vectors of A move down, sums leave sideways; nothing is transposed
 *   weight gradient  C = A^T B accumulates where it will rest, and drains a row a cycle
 *
 * Each takes blocks of these edges, and one tile after the other, the next one's first weight or term a cycle after the
 * last result of the one before. With a multiplier of m cycles, an adder of s and M vectors a tile takes
 *
 *   pass             rows, columns, terms    cycles of a tile
 *   forward             1, C, R              R + M + (m + R s + C - 2)
 *   input gradient      1, R, C              R + M + (m + C s + R - 2)
 *   weight gradient     R, C, 1              K s + (m + s + R + C - 3) + R, of K terms
 *
 * where every block takes a cycle; else each row of weights, vector, term and drained row as long as its block
 * (kernel/issue.h). With m = 0 and s = 1 these are the cycles of the RTL of cells that multiply and add in one cycle, but
 * for what a product's last columns are short of C, as results leave as whole rows.
 *
 * Sums of a vector wait for the next tile's terms in a memory of TN_ARRAY_SLOTS rows at the array's edge, where they enter
 * as the sums of its first cells do. A product of more vectors goes in rounds of as many as divide them, each of which
 * loads its weights. What a pass finds in the cells is what the product before left there, which in a whole step is
 * another layer's: weights are loaded in every pass.
 */
#ifndef TN_KERNEL_ARRAY_KERNEL_H
#define TN_KERNEL_ARRAY_KERNEL_H

#include "kernel/issue.h"
#include "kernel/kernel.h"
#include "model/step.h"

enum { TN_ARRAY_SLOTS = 512 }; /* a row's element is one block RAM of 36 bits deep */

typedef struct tn_array_time {
    uint64_t cycles, tiles;
    uint64_t words[2]; /* read of the left and right operand */
} tn_array_time;

/* `phase` of the product: forward, input gradient, else weight gradient. */
tn_array_pass tn_array_pass_of(tn_phase phase);
/* Rows, columns and terms of the pass's blocks, in this order. */
void tn_array_edges(uint64_t rows, uint64_t columns, tn_array_pass pass, uint64_t edge[3]);
/* Vectors of a round: the most that divide all of them, up to TN_ARRAY_SLOTS. */
uint64_t tn_array_open(uint64_t vectors);
/* From the last vector, or term, to the first cycle in which the next tile may begin, or sums drain: cycles in between. */
uint64_t tn_array_wait_cycles(const tn_matmul *kernel, tn_array_pass pass);

/* With every block in one word, one product of the batch behind the other; no layouts take fewer. */
tn_status tn_array_kernel_cycles(const tn_matmul *kernel, tn_phase phase, const tn_product_size *product,
                                 tn_array_time *time, tn_error *error);

#endif
