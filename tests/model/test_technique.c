/* Formulas of techniques against the thing itself: chains that are run, tiles that are paired, blocks that are
 * moved, refreshes that are counted. */
#include "model/technique.h"

#include "base/memory.h"
#include "base/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>

enum { LAYERS_MOST = 64, TILES_MOST = 6 };

/* A group written out: the exponent, then of every value a sign and two bits for each chunk. */
static void groups_are_counted_bit_by_bit(void **state) {
    (void)state;
    for (uint64_t group = 1; group < 40; group += 3)
        for (uint64_t exponent = 1; exponent < 9; exponent++)
            for (uint64_t mantissa = 2; mantissa <= 8; mantissa += 2) {
                uint64_t bits = 0, written = exponent;
                for (uint64_t value = 0; value < group; value++)
                    for (uint64_t left = mantissa; left > 0; left -= 2) written += 1 + 2;
                assert_int_equal(tn_fast_group_bits(group, exponent, mantissa, &bits, NULL), TN_OK);
                assert_int_equal(bits, written);
            }
    uint64_t bits;
    assert_int_equal(tn_fast_group_bits(16, 3, 3, &bits, NULL), TN_INPUT);
    assert_int_equal(tn_fast_group_bits(UINT64_MAX, 3, 4, &bits, NULL), TN_OVERFLOW);
}

static void passes_are_pairs_of_chunks(void **state) {
    (void)state;
    static const struct {
        uint64_t w, a, g, passes;
    } cases[] = {{2, 2, 2, 3}, {4, 4, 4, 12}, {2, 2, 4, 5}, {4, 2, 2, 5}, {6, 4, 2, 11}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t passes;
        assert_int_equal(tn_fast_passes(cases[i].w, cases[i].a, cases[i].g, &passes, NULL), TN_OK);
        assert_int_equal(passes, cases[i].passes);
    }
    uint64_t passes;
    assert_int_equal(tn_fast_passes(2, 0, 2, &passes, NULL), TN_INPUT);
    assert_int_equal(tn_fast_passes(UINT64_MAX - 1, UINT64_MAX - 1, 2, &passes, NULL), TN_OVERFLOW);
}

/* Goes through a training step of `layers` in `segments` and counts activations that are held at once and
 * layers that run forward. Segments' inputs are held all along; the last segment is still there when its
 * backward pass begins. */
static void run_chain(uint64_t layers, uint64_t segments, uint64_t *held_most, uint64_t *forward) {
    uint64_t first[LAYERS_MOST + 1];
    for (uint64_t s = 0; s <= segments; s++) first[s] = s * layers / segments;
    *held_most = 0;
    *forward = layers;
    for (uint64_t s = segments; s-- > 0;) {
        uint64_t held = segments + first[s + 1] - first[s];
        if (s + 1 < segments) *forward += first[s + 1] - first[s];
        if (held > *held_most) *held_most = held;
    }
}

static void checkpointing_as_a_chain_runs(void **state) {
    (void)state;
    for (uint64_t layers = 1; layers <= LAYERS_MOST; layers++)
        for (uint64_t segments = 1; segments <= layers; segments++) {
            uint64_t live, held, forward;
            run_chain(layers, segments, &held, &forward);
            assert_int_equal(tn_checkpointing_live(layers, segments, &live, NULL), TN_OK);
            assert_int_equal(live, held);
            if (layers % segments != 0) continue;
            double ran = ((double)forward + 2 * (double)layers) / (3 * (double)layers);
            assert_true(fabs(tn_checkpointing_time_ratio(segments, TN_BACKWARD_RATIO) - ran) < 1e-12);
        }
    uint64_t live;
    assert_int_equal(tn_checkpointing_live(100, 10, &live, NULL), TN_OK);
    assert_int_equal(live, 20);
    assert_true(fabs(tn_checkpointing_time_ratio(10, TN_BACKWARD_RATIO) - 1.3) < 1e-12);
    assert_int_equal(tn_checkpointing_live(3, 4, &live, NULL), TN_INPUT);
    assert_int_equal(tn_checkpointing_live(3, 0, &live, NULL), TN_INPUT);
    assert_true(fabs(3 * tn_reversible_time_ratio(TN_BACKWARD_RATIO) - 4) < 1e-12); /* 4 N for 3 N */
}

/* The least possible maximum over all ways to pair halves. */
static uint64_t best_pairing(const uint64_t *half, size_t count, unsigned used) {
    size_t first = 0;
    while (first < count && (used >> first & 1)) first++;
    if (first == count) return 0;
    uint64_t best = UINT64_MAX;
    for (size_t other = first + 1; other < count; other++) {
        if (used >> other & 1) continue;
        uint64_t pair = half[first] + half[other];
        uint64_t rest = best_pairing(half, count, used | 1u << first | 1u << other);
        if (rest > pair) pair = rest;
        if (pair < best) best = pair;
    }
    return best;
}

static void pairing_sorted_halves_is_the_best_pairing(void **state) {
    (void)state;
    tn_random *random;
    assert_int_equal(tn_random_open(7, &random, NULL), TN_OK);
    for (int trial = 0; trial < 60; trial++) {
        uint64_t tile[TILES_MOST], half[2 * TILES_MOST], unbalanced, balanced, most = 0;
        size_t count = 1 + tn_random_below(random, TILES_MOST - 1);
        for (size_t i = 0; i < count; i++) {
            tile[i] = tn_random_below(random, 20);
            half[2 * i] = tile[i] / 2;
            half[2 * i + 1] = (tile[i] + 1) / 2;
            if (tile[i] > most) most = tile[i];
        }
        assert_int_equal(tn_procrustes_cycles(tile, count, &unbalanced, &balanced, NULL), TN_OK);
        assert_int_equal(unbalanced, most);
        assert_int_equal(balanced, best_pairing(half, 2 * count, 0));
    }
    tn_random_close(random);
    static const uint64_t worked[] = {10, 2, 8, 4}, full[] = {UINT64_MAX, UINT64_MAX};
    uint64_t unbalanced, balanced;
    assert_int_equal(tn_procrustes_cycles(worked, 4, &unbalanced, &balanced, NULL), TN_OK);
    assert_int_equal(unbalanced, 10);
    assert_int_equal(balanced, 6);
    assert_int_equal(tn_procrustes_cycles(full, 2, &unbalanced, &balanced, NULL), TN_OK);
    assert_true(balanced == UINT64_MAX);
    tn_memory_fail_at(1);
    assert_int_equal(tn_procrustes_cycles(worked, 4, &unbalanced, &balanced, NULL), TN_MEMORY);
    tn_memory_fail_at(0);
}

/* Step by step: what k predicted and m true steps cost in forward passes. */
static void predicted_gradients_step_by_step(void **state) {
    (void)state;
    for (uint64_t predicted = 0; predicted < 6; predicted++)
        for (uint64_t truly = 0; truly < 6; truly++) {
            double cost = 0, plain = 0, speedup, predictor = 0.125;
            for (uint64_t i = 0; i < predicted; i++) cost += 1 + predictor;
            for (uint64_t i = 0; i < truly; i++) cost += 3 + 3 * predictor;
            for (uint64_t i = 0; i < predicted + truly; i++) plain += 3;
            tn_status status = tn_predicted_gradient_speedup(predicted, truly, predictor, 2, &speedup, NULL);
            assert_int_equal(status, predicted + truly > 0 ? TN_OK : TN_INPUT);
            if (status == TN_OK) assert_true(fabs(speedup - plain / cost) < 1e-12);
        }
    static const struct {
        uint64_t k;
        double speedup;
    } worked[] = {{4, 15. / 7}, {3, 2}, {2, 1.8}, {1, 1.5}};
    for (size_t i = 0; i < sizeof worked / sizeof *worked; i++) {
        double speedup;
        assert_int_equal(tn_predicted_gradient_speedup(worked[i].k, 1, 0, 2, &speedup, NULL), TN_OK);
        assert_true(fabs(speedup - worked[i].speedup) < 1e-12);
    }
}

static void zeros_are_skipped_as_far_as_is_in_reach(void **state) {
    (void)state;
    assert_true(fabs(tn_zero_skipping_speedup(3, .5, 1) - 2) < 1e-12);
    assert_true(fabs(tn_zero_skipping_speedup(3, .8, 1) - 3) < 1e-12);
    assert_true(tn_zero_skipping_speedup(3, 1, 1) == 3);
    assert_true(tn_zero_skipping_speedup(3, 0, 1) == 1);
    assert_true(fabs(tn_zero_skipping_speedup(3, .8, .5) - 1 / .6) < 1e-12);
}

static void refreshes_are_counted(void **state) {
    (void)state;
    for (uint64_t data = 0; data < 60; data++)
        for (uint64_t retention = 1; retention < 20; retention++) {
            uint64_t due = 0, refreshes;
            for (uint64_t index = retention; index <= data; index += retention) due++;
            /* Tenths, which doubles hold only nearly. */
            assert_int_equal(tn_refreshes((double)data / 10, (double)retention / 10, &refreshes, NULL),
                             TN_OK);
            assert_int_equal(refreshes, due);
        }
    static const struct {
        double data;
        uint64_t refreshes;
    } worked[] = {{2.66, 0}, {3.10, 0}, {3.40, 1}, {4.13, 1}};
    uint64_t refreshes;
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(tn_refreshes(worked[i].data, 3.35, &refreshes, NULL), TN_OK);
        assert_int_equal(refreshes, worked[i].refreshes);
    }
    assert_int_equal(tn_refreshes(1, 0, &refreshes, NULL), TN_INPUT);
    assert_int_equal(tn_refreshes(NAN, 1, &refreshes, NULL), TN_INPUT);
    assert_int_equal(tn_refreshes(1e300, 1, &refreshes, NULL), TN_OVERFLOW);
}

/* Every block reads its columns of the weight and all of the flat operand, and writes its outputs. */
static void flat_products_block_by_block(void **state) {
    (void)state;
    for (uint64_t m = 1; m < 20; m += 3)
        for (uint64_t k = 8; k < 200; k += 33)
            for (uint64_t block = 4; block <= 64; block *= 2) {
                uint64_t n = 3 * block, moved = 0, blocks = 0;
                for (uint64_t index = 0; index < n; index += block, blocks++)
                    moved += k * block + m * k + m * block;
                double intensity = 2 * (double)(m * n * k) / (double)moved;
                assert_true(fabs(tn_flat_product_intensity(m, k, block) - intensity) < 1e-12 * intensity);
                assert_int_equal(tn_flat_product_blocks(n, block), blocks);
                assert_int_equal(tn_flat_product_blocks(n + 1, block), blocks + 1);
            }
    assert_true(fabs(tn_flat_product_intensity(8, 4096, 128) - 15.03) < 0.005);
    assert_int_equal(tn_flat_product_blocks(4096, 128), 32);
}

static void inference_runs_a_part(void **state) {
    (void)state;
    static const double exits[] = {.25, .25, .5}, more[] = {.5, .75}, negative[] = {1.5, -.5};
    static const uint64_t bytes[] = {4096, 1000};
    double layers, saved;
    assert_int_equal(tn_early_exit_layers(exits, 3, &layers, NULL), TN_OK);
    assert_true(fabs(layers - 2.25) < 1e-12);
    assert_int_equal(tn_early_exit_layers(more, 2, &layers, NULL), TN_INPUT);
    assert_int_equal(tn_early_exit_layers(negative, 2, &layers, NULL), TN_INPUT);
    assert_true(fabs(tn_pruned_attention_ratio(.5, .5) - .125) < 1e-12);
    assert_int_equal(tn_sparse_update_saved(bytes, more, 2, &saved, NULL), TN_OK);
    assert_true(fabs(saved - 2798) < 1e-9);
    assert_int_equal(tn_sparse_update_saved(bytes, negative, 2, &saved, NULL), TN_INPUT);
}

/* The recursion over the place of a random pivot, which every other number is compared with. */
static void quick_selection_as_it_runs(void **state) {
    (void)state;
    enum { MOST = 40 };
    static double mean[MOST + 1][MOST + 1];
    for (int n = 1; n <= MOST; n++)
        for (int k = 1; k <= n; k++) {
            double sum = 0;
            for (int pivot = 1; pivot <= n; pivot++) {
                if (pivot < k) sum += mean[n - pivot][k - pivot];
                if (pivot > k) sum += mean[pivot - 1][k];
            }
            mean[n][k] = n - 1 + sum / n;
            assert_true(fabs(tn_quick_select_comparisons((uint64_t)n, (uint64_t)k) - mean[n][k]) < 1e-10);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quick_selection_as_it_runs),
        cmocka_unit_test(groups_are_counted_bit_by_bit),
        cmocka_unit_test(passes_are_pairs_of_chunks),
        cmocka_unit_test(checkpointing_as_a_chain_runs),
        cmocka_unit_test(pairing_sorted_halves_is_the_best_pairing),
        cmocka_unit_test(predicted_gradients_step_by_step),
        cmocka_unit_test(zeros_are_skipped_as_far_as_is_in_reach),
        cmocka_unit_test(refreshes_are_counted),
        cmocka_unit_test(flat_products_block_by_block),
        cmocka_unit_test(inference_runs_a_part),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
