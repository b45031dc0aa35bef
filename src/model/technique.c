#include "model/technique.h"

#include "base/checked.h"
#include "base/memory.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

static tn_status overflow(tn_error *error, const char *what) {
    return tn_fail(error, TN_OVERFLOW, "%s do not fit 64 bits", what);
}

/* --- FAST */

static tn_status count_chunks(uint64_t mantissa_bits, uint64_t *chunks, tn_error *error) {
    if (mantissa_bits == 0 || mantissa_bits % TN_CHUNK_BITS != 0)
        return tn_fail(error, TN_INPUT,
                       "mantissas of %" PRIu64 " bits are not made of chunks of %d bits; 2, 4, 6 or 8 are",
                       mantissa_bits, (int)TN_CHUNK_BITS);
    *chunks = mantissa_bits / TN_CHUNK_BITS;
    return TN_OK;
}

tn_status tn_fast_group_bits(uint64_t group, uint64_t exponent_bits, uint64_t mantissa_bits, uint64_t *bits,
                             tn_error *error) {
    uint64_t chunks, values, total = exponent_bits;
    TN_TRY(count_chunks(mantissa_bits, &chunks, error));
    if (!tn_mul(group, chunks, &values) || !tn_mul_add(values, TN_CHUNK_BITS + 1, &total))
        return overflow(error, "bits of the group");
    *bits = total;
    return TN_OK;
}

tn_status tn_fast_passes(uint64_t weight_bits, uint64_t activation_bits, uint64_t gradient_bits,
                         uint64_t *passes, tn_error *error) {
    uint64_t w, a, g, total = 0;
    TN_TRY(count_chunks(weight_bits, &w, error));
    TN_TRY(count_chunks(activation_bits, &a, error));
    TN_TRY(count_chunks(gradient_bits, &g, error));
    if (!tn_mul_add(w, a, &total) || !tn_mul_add(w, g, &total) || !tn_mul_add(a, g, &total))
        return overflow(error, "passes");
    *passes = total;
    return TN_OK;
}

/* --- checkpointing and reversible blocks */

tn_status tn_checkpointing_live(uint64_t layers, uint64_t segments, uint64_t *live, tn_error *error) {
    if (segments == 0 || segments > layers)
        return tn_fail(error, TN_INPUT,
                       "%" PRIu64 " segments of %" PRIu64 " layers; there are 1 to as many as layers",
                       segments, layers);
    if (!tn_add(segments, tn_ceil_div(layers, segments), live)) return overflow(error, "live activations");
    return TN_OK;
}

double tn_checkpointing_time_ratio(uint64_t segments, double backward_ratio) {
    return 1 + (1 - 1 / (double)segments) / (1 + backward_ratio);
}

double tn_reversible_time_ratio(double backward_ratio) {
    return 1 + 1 / (1 + backward_ratio);
}

/* --- Procrustes */

static int fuller_first(const void *left, const void *right) {
    const uint64_t *a = left, *b = right;
    return (*a < *b) - (*a > *b);
}

tn_status tn_procrustes_cycles(const uint64_t *tiles, size_t count, uint64_t *unbalanced, uint64_t *balanced,
                               tn_error *error) {
    uint64_t *half, halves, most = 0;
    if (!tn_mul(count, 2, &halves)) return overflow(error, "halves of tiles");
    TN_TRY(TN_ALLOC(halves, &half, error));
    for (size_t i = 0; i < count; i++) {
        half[2 * i] = tiles[i] / 2;
        half[2 * i + 1] = tiles[i] - tiles[i] / 2;
        if (tiles[i] > most) most = tiles[i];
    }
    *unbalanced = most;
    qsort(half, halves, sizeof *half, fuller_first);
    most = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t pair = half[i] + half[halves - 1 - i]; /* of halves: at most 2^64 - 1 */
        if (pair > most) most = pair;
    }
    *balanced = most;
    tn_free(half);
    return TN_OK;
}

/* --- predicted gradients, zero skipping, refreshes, flat products */

tn_status tn_predicted_gradient_speedup(uint64_t predicted, uint64_t truly, double predictor,
                                        double backward_ratio, double *speedup, tn_error *error) {
    if (predicted == 0 && truly == 0)
        return tn_fail(error, TN_INPUT, "0 predicted and 0 true steps; at least one is needed");
    double step = 1 + backward_ratio, k = (double)predicted, m = (double)truly;
    *speedup = step * (k + m) / ((1 + predictor) * (step * m + k));
    return TN_OK;
}

double tn_zero_skipping_speedup(uint64_t depth, double sparsity, double efficiency) {
    double busy = 1 - efficiency * sparsity;
    return busy * (double)depth <= 1 ? (double)depth : 1 / busy;
}

tn_status tn_refreshes(double data_us, double retention_us, uint64_t *refreshes, tn_error *error) {
    if (!(retention_us > 0) || !(data_us >= 0))
        return tn_fail(error, TN_INPUT,
                       "data of %g us and retention of %g us; data is at least 0, retention above", data_us,
                       retention_us);
    double quotient = data_us / retention_us, whole = nearbyint(quotient);
    /* Both are decimals that doubles hold only nearly: 0.3 / 0.1 is 3. */
    if (fabs(quotient - whole) > 2 * DBL_EPSILON * quotient) whole = floor(quotient);
    if (!(whole < 0x1p63)) return overflow(error, "refreshes");
    *refreshes = (uint64_t)whole;
    return TN_OK;
}

double tn_flat_product_intensity(uint64_t m, uint64_t k, uint64_t block) {
    double work = (double)m * (double)k;
    return 2 * work / ((double)k + work / (double)block + (double)m);
}

uint64_t tn_flat_product_blocks(uint64_t n, uint64_t block) {
    return tn_ceil_div(n, block);
}

/* --- sparse update, pruning, early exit */

tn_status tn_sparse_update_saved(const uint64_t *bytes, const double *share, size_t count, double *saved,
                                 tn_error *error) {
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        if (!(share[i] >= 0 && share[i] <= 1))
            return tn_fail(error, TN_INPUT, "share %g of layer %zu is not from 0 to 1", share[i], i + 1);
        sum += share[i] * (double)bytes[i];
    }
    *saved = sum;
    return TN_OK;
}

uint64_t tn_kept_of(uint64_t count, double share) {
    uint64_t stay = (uint64_t)ceil((double)count * share - 1e-9);
    return stay > 0 ? stay : 1;
}

double tn_pruned_attention_ratio(double tokens, double heads) {
    return tokens * tokens * heads;
}

static double harmonic(uint64_t count) {
    double sum = 0;
    for (uint64_t i = count; i > 0; i--) sum += 1 / (double)i;
    return sum;
}

double tn_quick_select_comparisons(uint64_t count, uint64_t rank) {
    const double n = (double)count, k = (double)rank;
    return 2 * ((n + 1) * harmonic(count) - (n + 3 - k) * harmonic(count + 1 - rank) -
                (k + 2) * harmonic(rank) + n + 3);
}

double tn_progressive_bits(uint64_t high_bits, uint64_t low_bits, double refetched) {
    return (double)high_bits + refetched * (double)low_bits;
}

tn_status tn_early_exit_layers(const double *exit, size_t count, double *layers, tn_error *error) {
    double sum = 0, mean = 0;
    for (size_t i = 0; i < count; i++) {
        if (!(exit[i] >= 0 && exit[i] <= 1))
            return tn_fail(error, TN_INPUT, "share %g of layer %zu is not from 0 to 1", exit[i], i + 1);
        sum += exit[i];
        mean += (double)(i + 1) * exit[i];
    }
    if (fabs(sum - 1) > 1e-9)
        return tn_fail(error, TN_INPUT, "shares of the exits add up to %.9g; they add up to 1", sum);
    *layers = mean;
    return TN_OK;
}
