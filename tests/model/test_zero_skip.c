/* The scheduler that passes over zeros, against one that is written apart from the sets of places that each lane may take, and on
 * streams whose cycles are known. */
#include "model/zero_skip.h"

#include "base/random.h"
#include "model/technique.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

enum { LANES = 16, STEPS = 96, ROWS = 4 };

static bool busy[ROWS * STEPS * LANES], kept[ROWS * STEPS * LANES];

static uint64_t play(size_t rows, size_t steps, size_t depth) {
    uint64_t cycles;
    assert_int_equal(tn_zero_skip_play(busy, rows, steps, LANES, depth, &cycles, NULL), TN_OK);
    for (size_t i = 0; i < rows * steps * LANES; i++) assert_false(busy[i]);
    return cycles;
}

/* Nothing to skip, nothing to do, one lane that others help, one pair in three steps. */
static void known_streams(void **state) {
    (void)state;
    memset(busy, true, sizeof busy);
    assert_int_equal(play(ROWS, STEPS, 3), STEPS);
    assert_int_equal(play(ROWS, STEPS, 3), STEPS / 3);
    for (size_t s = 0; s < STEPS; s++) busy[s * LANES + 4] = true;
    /* Lane 4 takes its own; of the two steps ahead lanes 3, 5, 7, and 6, 2 reach over: three a cycle. */
    assert_int_equal(play(1, STEPS, 3), STEPS / 3);
    for (size_t s = 0; s < STEPS; s++) busy[s * LANES + 4] = true;
    assert_int_equal(play(1, STEPS, 1), STEPS);
    for (size_t s = 0; s < STEPS; s += 3) busy[s * LANES + s % LANES] = true;
    assert_int_equal(play(1, STEPS, 3), STEPS / 3);
    /* A row that is full holds the others back. */
    for (size_t s = 0; s < STEPS * LANES; s++) busy[s] = true;
    assert_int_equal(play(ROWS, STEPS, 3), STEPS);
}

/* Another way to say the same: a map of what each lane's places are, lanes in the order of the published levels. */
static uint64_t replay(bool *pair, size_t rows, size_t steps) {
    static const int order[LANES] = {0, 5, 10, 1, 6, 11, 2, 7, 12, 3, 8, 13, 4, 9, 14, 15};
    uint64_t cycles = 0;
    size_t begin = 0;
    while (begin < steps) {
        size_t least = 3;
        for (size_t r = 0; r < rows; r++) {
            for (int k = 0; k < LANES; k++) {
                const int i = order[k];
                const int at[8][2] = {{0, i},     {1, i},     {2, i},     {1, i - 1},
                                      {1, i + 1}, {2, i - 2}, {2, i + 2}, {1, i - 3}};
                for (int p = 0; p < 8; p++) {
                    const size_t step = begin + (size_t)at[p][0], lane = (size_t)((at[p][1] + LANES) % LANES);
                    if (step >= steps || !pair[(r * steps + step) * LANES + lane]) continue;
                    pair[(r * steps + step) * LANES + lane] = false;
                    break;
                }
            }
            size_t empty = 0;
            for (size_t s = begin; s < begin + 3 && s < steps; s++) {
                size_t left = 0;
                for (size_t l = 0; l < LANES; l++) left += pair[(r * steps + s) * LANES + l];
                if (left) break;
                empty++;
            }
            if (empty < least) least = empty;
        }
        begin += least;
        cycles++;
    }
    return cycles;
}

static void as_played_apart(void **state) {
    (void)state;
    uint64_t seed = 7;
    for (int round = 0; round < 200; round++) {
        const double zeros = tn_splitmix_unit(&seed);
        const size_t rows = 1 + tn_splitmix_below(&seed, ROWS), steps = 1 + tn_splitmix_below(&seed, STEPS);
        for (size_t i = 0; i < rows * steps * LANES; i++)
            busy[i] = kept[i] = tn_splitmix_unit(&seed) >= zeros;
        assert_int_equal(play(rows, steps, 3), replay(kept, rows, steps));
    }
}

/* Between the formula, which no scheduler beats, and no skipping; more zeros take no longer. */
static void the_formula_is_a_bound(void **state) {
    (void)state;
    double before = 1;
    for (int tenth = 0; tenth <= 10; tenth++) {
        double ratio;
        assert_int_equal(tn_zero_skip_ratio(tenth / 10.0, 3, &ratio, NULL), TN_OK);
        assert_true(ratio >= 1 / tn_zero_skipping_speedup(3, tenth / 10.0, 1) - 0.02);
        assert_true(ratio <= before);
        before = ratio;
    }
    assert_true(fabs(before - 1.0 / 3) < 1e-3);
}

static void sizes_beyond_are_refused(void **state) {
    (void)state;
    uint64_t cycles;
    assert_int_equal(tn_zero_skip_play(busy, 1, 1, 0, 3, &cycles, NULL), TN_INPUT);
    assert_int_equal(tn_zero_skip_play(busy, 1, 1, 65, 3, &cycles, NULL), TN_INPUT);
    assert_int_equal(tn_zero_skip_play(busy, 1, 1, 16, 65, &cycles, NULL), TN_INPUT);
    assert_int_equal(tn_zero_skip_play(busy, 0, 1, 16, 3, &cycles, NULL), TN_INPUT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_streams),
        cmocka_unit_test(as_played_apart),
        cmocka_unit_test(the_formula_is_a_bound),
        cmocka_unit_test(sizes_beyond_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
