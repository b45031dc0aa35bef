/* Cycles of an M x K x N product on a systolic array of R rows x C columns.
 *
 * Cycles are counted from the first input to the last valid output, over all tiles of the product.
 *
 *   ws_serial            weights stay: load R, stream M rows skewed, drain, then the next tile. K lies on the
 *                        rows, N on the columns: T = ceil(K/R) * ceil(N/C) tiles,
 *                        T * (2R + M + C - 2) - (C - Cl), Cl valid columns of the last column of tiles.
 *   os_serial            sums stay: stream K, then drain R: T = ceil(M/R) * ceil(N/C), T * (K + 2R + C - 2).
 *   ws_double_buffered   the next tile's weights load in the shadow of this one's products: a tile every
 *                        P = max(M, R) cycles.
 *   os_overlapped        finished sums leave through the rows above while the next tile accumulates: a tile
 *                        every P = max(K, 2R - 1) cycles.
 *   scalesim_ws/os/is    as SCALE-Sim v2 and v3 count (no drain of the last skew, weights loaded serially):
 *                        os T(K + R + C - 2) - 1, ws T(M + 2R + C - 2) - 1 with T = ceil(K/R) ceil(N/C),
 *                        is T(N + 2R + C - 2) - 1 with T = ceil(K/R) ceil(M/C); os's T = ceil(M/R) ceil(N/C).
 *
 * SCALE-Sim counts a finished product one cycle short of the RTL and, in os, without shifting the sums out:
 * the two definitions differ on purpose and every result says which one it follows.
 *
 * Source: RTL simulation and SCALE-Sim v2/v3 (tests/kernel/test_systolic.c); kernel/systolic_player.h plays the
 * array cycle by cycle.
 */
#ifndef TN_KERNEL_SYSTOLIC_H
#define TN_KERNEL_SYSTOLIC_H

#include "base/error.h"
#include "base/public.h"
#include "model/step.h"

#include <stdbool.h>
#include <stdint.h>

TN_PUBLIC_BEGIN

typedef enum tn_dataflow {
    TN_WS_SERIAL,
    TN_OS_SERIAL,
    TN_WS_DOUBLE_BUFFERED,
    TN_OS_OVERLAPPED,
    TN_SCALESIM_WS,
    TN_SCALESIM_OS,
    TN_SCALESIM_IS,
} tn_dataflow;

/* Names in the order of tn_dataflow, ended by NULL. */
extern const char *const tn_dataflow_names[];

/* Limits: an array edge is 1 to TN_SYSTOLIC_MOST_EDGE, a product's size 1 to 2^40. */
enum { TN_SYSTOLIC_MOST_EDGE = 65536 };
#define TN_SYSTOLIC_MOST_SIZE ((uint64_t)1 << 40)

typedef struct tn_systolic {
    uint64_t rows, columns;
} tn_systolic;

/* C[m x n] = A[m x k] B[k x n] */
typedef struct tn_array_product {
    uint64_t m, k, n;
} tn_array_product;

typedef struct tn_systolic_result {
    uint64_t cycles;
    uint64_t tiles;
    double utilisation; /* MACs over (cycles * rows * columns) */
} tn_systolic_result;

tn_status tn_systolic_cycles(const tn_systolic *array, tn_dataflow dataflow, const tn_array_product *product,
                             tn_systolic_result *result, tn_error *error);

TN_PUBLIC_END

/* The three passes of training a linear layer Y[S x N] = X[S x K] W[K x N] on a systolic array, with the
 * transposed products done in place, beside an array that has to transpose explicitly.
 *
 * In place (K on the R rows, N on the C columns, T = ceil(K/R) * ceil(N/C) tiles of W, serial):
 *   forward          weights load from above, X streams from the left: ws_serial.
 *   input gradient   dX = dY W^T: dY streams from the other edge through the weights where they rest, sums
 *                    leave sideways: S + R + C - 2 a tile, no transposition. Tiles are visited in the reverse
 *                    order of the forward pass, so the one still resident is not loaded again; the others are.
 *   weight gradient  dW = X^T dY accumulates where the weights lie (X from the left, dY from above), then
 *                    drains R: os_serial of a K x S x N product.
 * One tile: R + (S + R + C - 2), S + R + C - 2, (S + R + C - 2) + R; 78, 62, 78 on 16 x 16 with S = 32.
 *
 * In the other dataflows (tn_systolic_pass_cycles) the passes are wired alike. ws_double_buffered: weights of the next
 * tile load behind this one's products in the input gradient too, so tile t >= 1 begins at max(t S, (t - 1) R + 1), and
 * the weight gradient is os_overlapped. os_serial, os_overlapped: the result rests in every pass, the input gradient is
 * an S x N x K product whose upper edge reads W along its rows. SCALE-Sim's count products of these sizes.
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
 * follow from the wiring (tests/kernel/test_systolic_training.c plays it).
 */

typedef struct tn_systolic_passes {
    uint64_t forward_cycles, input_gradient_cycles, weight_gradient_cycles;
    uint64_t transposition_cycles; /* 0 in place */
    uint64_t total_cycles;
    uint64_t transposition_accesses; /* words read and written to transpose W and X; 0 in place */
} tn_systolic_passes;

typedef struct tn_systolic_training {
    tn_systolic_passes in_place, explicit_transposition;
} tn_systolic_training;

/* Cycles of one of the three passes; layer: m = S tokens, k = K inputs, n = N outputs. Limits as in
 * tn_systolic_cycles. TN_INPUT for a phase that is none of the three. */
tn_status tn_systolic_pass_cycles(const tn_systolic *array, tn_dataflow dataflow, tn_phase pass,
                                  const tn_array_product *layer, uint64_t *cycles, tn_error *error);
/* Words that a pass done in place neither reads nor writes for a transposed copy: 2 size(W) in the input gradient, 2
 * size(X) in the weight gradient, 0 forward. */
tn_status tn_systolic_saved_accesses(tn_phase pass, const tn_array_product *layer, uint64_t *words,
                                     tn_error *error);
/* All three, ws_serial. */
tn_status tn_systolic_training_cycles(const tn_systolic *array, const tn_array_product *layer,
                                      tn_systolic_training *training, tn_error *error);

#endif
