/* The three passes of training a linear layer Y[S x N] = X[S x K] W[K x N] on a systolic array, with the
 * transposed products done in place, beside an array that has to transpose explicitly.
 *
 * In place (K on the R rows, N on the C columns, T = ceil(K/R) * ceil(N/C) tiles of W, serial):
 *   forward          weights load from above, X streams from the left: ws_serial.
 *   input gradient   dX = dY W^T: dY streams from the other edge through the weights where they rest, sums
 *                    leave sideways: S + R + C - 2 a tile, no transposition. Tiles are visited in the reverse
 *                    order of the forward pass, so the one still resident is not loaded again; the others
 * are. weight gradient  dW = X^T dY accumulates where the weights lie (X from the left, dY from above), then
 *                    drains R: os_serial of a K x S x N product.
 * One tile: R + (S + R + C - 2), S + R + C - 2, (S + R + C - 2) + R; 78, 62, 78 on 16 x 16 with S = 32.
 *
 * What is saved is loads and buffer accesses. Where the tokens are few beside the layer's width, accumulating
 * in place drains many tiles after little work and takes more cycles than a product of the transposed
 * operand; both are reported.
 *
 * Explicit: every pass is a ws_serial product of operands that lie the right way round, so W^T and X^T are
 * first written to the buffer: each word read once and written once, C words a cycle. That is the 2 size(W)
 * + 2 size(X) buffer accesses that doing it in place saves.
 *
 * Source: the in-place transposed product of FAST (HPCA 2022), as cost formulas; the cycles of one tile
 * follow from the wiring (tests/hardware/test_systolic_training.c plays it).
 */
#ifndef TN_HARDWARE_SYSTOLIC_TRAINING_H
#define TN_HARDWARE_SYSTOLIC_TRAINING_H

#include "hardware/systolic.h"

typedef struct tn_systolic_passes {
    uint64_t forward_cycles, input_gradient_cycles, weight_gradient_cycles;
    uint64_t transposition_cycles; /* 0 in place */
    uint64_t total_cycles;
    uint64_t transposition_accesses; /* words read and written to transpose W and X; 0 in place */
} tn_systolic_passes;

typedef struct tn_systolic_training {
    tn_systolic_passes in_place, explicit_transposition;
} tn_systolic_training;

/* layer: m = S tokens, k = K inputs, n = N outputs. Limits as in tn_systolic_cycles. */
tn_status tn_systolic_training_cycles(const tn_systolic *array, const tn_array_product *layer,
                                      tn_systolic_training *training, tn_error *error);

#endif
