/* A systolic array played cycle by cycle: cells with registers, edges that feed them skewed, one tile after the other.
 * Numbers move from cell to cell as in the circuit, so the values are the array's and the cycles are counted, not
 * computed; tests hold both against the product and against the formulas of kernel/systolic.h.
 *
 * Cell (r, c) of R x C has a resting register (a weight, or a sum that grows), one waiting weight, an operand that
 * moves right, one that moves down, and a sum on its way out. A number that moves carries a tag: which vector or term
 * it is. A pass reads its operands as they lie; none is transposed:
 *
 *   pass               a        b        c                   weights rest (ws_*)            sums rest (os_*)
 *   forward            X[SxK]   W[KxN]   Y  = a b    [SxN]   X in from the left, sums down  X left, W above
 *   input gradient     dY[SxN]  W[KxN]   dX = a b^T  [SxK]   dY in from above, sums right   dY left, W above
 *   weight gradient    X[SxK]   dY[SxN]  dW = a^T b  [KxN]   as with os_*                   X left, dY above
 *
 * With resting weights the input gradient finds the last tile of the forward pass in the cells and visits the tiles
 * backwards. ws_serial and os_serial end a tile before they begin the next; ws_double_buffered loads the next tile's
 * weights and os_overlapped moves finished sums out meanwhile. scalesim_* are ways to count, no wiring: TN_INPUT.
 *
 * Integers are 64 bits wide; a product or a sum that does not fit is TN_OVERFLOW. Reals add in the array's order. */
#ifndef TN_KERNEL_SYSTOLIC_PLAYER_H
#define TN_KERNEL_SYSTOLIC_PLAYER_H

#include "kernel/systolic.h"

TN_PUBLIC_BEGIN

typedef union tn_array_value {
    int64_t integer;
    double real;
} tn_array_value;

enum { TN_PLAYER_MOST_CELLS = 1 << 20 };

typedef struct tn_array_play {
    tn_systolic array; /* at most TN_PLAYER_MOST_CELLS cells, else TN_LIMIT */
    tn_dataflow dataflow;
    tn_phase pass;           /* forward, input gradient or weight gradient */
    tn_array_product layer;  /* m = S tokens, k = K inputs, n = N outputs */
    bool integers;           /* which member of the values is meant */
    const tn_array_value *a; /* in C order, shapes as above */
    const tn_array_value *b;
} tn_array_play;

typedef struct tn_array_played {
    uint64_t cycles;         /* from the first input, loading included, to the last valid output */
    uint64_t loaded_weights; /* words that entered from above to rest, padding included */
    uint64_t saved_accesses; /* tn_systolic_saved_accesses */
} tn_array_played;

/* c: in C order, shape as above. */
tn_status tn_systolic_play(const tn_array_play *play, tn_array_value *c, tn_array_played *played,
                           tn_error *error);

TN_PUBLIC_END

#endif
