/* The scheduler of a multiplier array that passes over zeros, played cycle by cycle: Mahmoud et al., TensorDash, MICRO 2020,
 * sections 3.2 and 3.3.
 *
 * A row of the array multiplies `lanes` pairs of operands a cycle and sees those of `depth` steps: this one and depth - 1
 * ahead. A lane whose own pair is zero may take another one: of its own lane in later steps (lookahead), or of a neighbour's
 * (lookaside), eight places in all for depth 3, in the order
 *     (+0, i) (+1, i) (+2, i) (+1, i-1) (+1, i+1) (+2, i-2) (+2, i+2) (+1, i-3)
 * round the row's end. Lanes choose in six levels, those five apart at once, so that none takes what another took; of less depth
 * the places beyond it are gone, of more there are none. Steps of which nothing is left go, up to `depth` in a cycle; the `rows`
 * of a tile share their other operands, so that all advance by as many as the row that is behind. What comes in the places of
 * those that went is whole.
 */
#ifndef TN_MODEL_ZERO_SKIP_H
#define TN_MODEL_ZERO_SKIP_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TN_ZERO_SKIP_LANES = 16, TN_ZERO_SKIP_ROWS = 4, TN_ZERO_SKIP_DEPTH_MOST = 64 };

/* busy[(row * steps + step) * lanes + lane]: the pair is to be multiplied. Which is none afterwards. *cycles: at least
 * steps / depth. lanes 1..64, depth 1..64; else TN_INPUT. */
tn_status tn_zero_skip_play(bool *busy, size_t rows, size_t steps, size_t lanes, size_t depth,
                            uint64_t *cycles, tn_error *error);

/* Cycles by those without skipping of a tile of the published size, 4 rows of 16 lanes, whose pairs are zero with that
 * probability, each by itself: 1,024 steps drawn from a fixed seed and played. */
tn_status tn_zero_skip_ratio(double zeros, size_t depth, double *ratio, tn_error *error);

#endif
