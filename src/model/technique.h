/* What techniques of the field claim to save, as formulas: each from one publication, exact where it counts.
 *
 * They answer for a whole network or product at once and know nothing of a step's operations; what a
 * transformation of the step (step/transformation.h) changes is counted from its list. Ratios are to the
 * same work without the technique. Figures outside a formula's range are TN_INPUT, counts past 64 bits
 * TN_OVERFLOW.
 */
#ifndef TN_MODEL_TECHNIQUE_H
#define TN_MODEL_TECHNIQUE_H

#include "base/error.h"
#include "base/public.h"

#include <stddef.h>
#include <stdint.h>

TN_PUBLIC_BEGIN

/* Backward work over forward work of a network of products: an input gradient and a weight gradient each. */
#define TN_BACKWARD_RATIO 2.0

/* FAST. Mantissas are kept as chunks of TN_CHUNK_BITS bits, each with its sign; a chunk is multiplied with a
 * chunk in one pass of the array. Mantissa bits that are no whole number of chunks are TN_INPUT.
 *   bits of a group = exponent + group (mantissa / 2) 3
 *   passes of a product = (mantissa of one operand / 2) (mantissa of the other / 2) */
enum { TN_CHUNK_BITS = 2 };
tn_status tn_fast_group_bits(uint64_t group, uint64_t exponent_bits, uint64_t mantissa_bits, uint64_t *bits,
                             tn_error *error);
/* Forward (weights, activations), input gradient (weights, gradients), weight gradient (activations,
 * gradients) together. */
tn_status tn_fast_passes(uint64_t weight_bits, uint64_t activation_bits, uint64_t gradient_bits,
                         uint64_t *passes, tn_error *error);

/* Checkpointing. `segments` equal ones of 1..layers: their inputs are kept, and inside the segment in work
 * every layer's, k + ceil(n/k); all but the last segment are computed a second time, so the step takes
 * 1 + (1 - 1/k) / (1 + backward_ratio) of its time. */
tn_status tn_checkpointing_live(uint64_t layers, uint64_t segments, uint64_t *live, tn_error *error);
double tn_checkpointing_time_ratio(uint64_t segments, double backward_ratio);

/* Reversible blocks: every input is computed anew from the output, one more forward pass. */
double tn_reversible_time_ratio(double backward_ratio);

/* Procrustes. Work of the tiles of a sparse product, in non-zeros; all wait for the fullest. Unbalanced: as
 * they are. Balanced: each tile is cut in two, and the fullest half shares a tile with the emptiest.
 * count >= 1; `tiles` stays as it is. */
tn_status tn_procrustes_cycles(const uint64_t *tiles, size_t count, uint64_t *unbalanced, uint64_t *balanced,
                               tn_error *error);

/* ADA-GP. Of `predicted` + `truly` steps the first have no backward pass. The predictor costs `predictor` of
 * a forward pass wherever it predicts, and is trained for `predictor` of forward and backward in the others:
 *   (1 + b) (k + m) / ((1 + p) ((1 + b) m + k)), b the backward ratio; 3 (k + m) / (3 m + k) with b = 2, p = 0. */
tn_status tn_predicted_gradient_speedup(uint64_t predicted, uint64_t truly, double predictor,
                                        double backward_ratio, double *speedup, tn_error *error);

/* TensorDash. Operands of `depth` steps are within reach of a multiplier, of which a share `sparsity` is zero
 * and a share `efficiency` of that can be filled: min(depth, 1 / (1 - efficiency sparsity)). */
double tn_zero_skipping_speedup(uint64_t depth, double sparsity, double efficiency);

/* CAMEL. Refreshes of data that are needed for `data_us` in memory that keeps them for `retention_us`:
 * floor(data / retention); a quotient within rounding of a whole number is that number. */
tn_status tn_refreshes(double data_us, double retention_us, uint64_t *refreshes, tn_error *error);

/* FlashDecoding++. A flat product of M x K by K x N, cut along N into blocks. Operations for each element that
 * is moved, 2 M K / (K + M K / block + M), and blocks, ceil(N / block). */
double tn_flat_product_intensity(uint64_t m, uint64_t k, uint64_t block);
uint64_t tn_flat_product_blocks(uint64_t n, uint64_t block);

/* Sparse update (training under 256 KB). Of the layers' saved activations, in bytes, only shares are kept;
 * with updates in place the largest gradient is held, not all. */
tn_status tn_sparse_update_saved(const uint64_t *bytes, const double *share, size_t count, double *saved,
                                 tn_error *error);

/* How many of so many (channels, tokens, heads) a share of them is: rounded up, at least one. */
uint64_t tn_kept_of(uint64_t count, double share);

/* SpAtten. MACs of attention that remain when shares of tokens and heads do: tokens^2 heads. */
double tn_pruned_attention_ratio(double tokens, double heads);
/* Comparisons that find the `rank`-th of `count` numbers, in the mean over all orders, by quick selection with a pivot at random:
 *   2 ((n + 1) H(n) - (n + 3 - k) H(n + 1 - k) - (k + 2) H(k) + n + 3)
 * (Knuth, Mathematical analysis of algorithms, 1971). rank 1..count. */
double tn_quick_select_comparisons(uint64_t count, uint64_t rank);
/* Bits that are fetched of a value on average: its high ones, and in so large a share of cases the low ones. */
double tn_progressive_bits(uint64_t high_bits, uint64_t low_bits, double refetched);

/* EdgeBERT. Layers that run on average where exit[i] of the inputs leave behind layer i + 1. The shares add up
 * to 1 within 1e-9. */
tn_status tn_early_exit_layers(const double *exit, size_t count, double *layers, tn_error *error);

TN_PUBLIC_END

#endif
