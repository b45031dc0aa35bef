/* The matmul kernel against a kernel played issue by issue, and its resources against the operator table. */
#include "kernel/kernel.h"
#include "kernel/pipeline.h"
#include "support/formats.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

/* Rows of high-level synthesis: figures of a report. */
static const char *const operators_set[] = {"operator_set=hls"};

static uint64_t ceil_div(uint64_t a, uint64_t b) {
    return a / b + (a % b > 0);
}

/* A lane whose additions are all alike. */
static tn_lane lane(uint64_t multiply_cycles, uint64_t add_cycles) {
    return (tn_lane){.multiply.stages = multiply_cycles, .sum.stages = add_cycles, .group = 1};
}

/* Plays all issues: which tile of the output an issue adds to and when. Every term of every output is
 * multiplied exactly once, no sum is taken up before the addition to it has ended, and the last result leaves
 * the adders when the formula says. */
static void play(const tn_matmul *kernel, const tn_product_size *size) {
    tn_matmul_time time;
    tn_error error;
    assert_int_equal(tn_matmul_cycles(kernel, size, &time, &error), TN_OK);
    uint64_t tiles =
        size->batch * ceil_div(size->rows, kernel->rows) * ceil_div(size->columns, kernel->columns);
    uint64_t groups = ceil_div(size->reduction, kernel->reduction);
    int64_t *last = malloc(tiles * sizeof *last);
    uint64_t *added = calloc(tiles, sizeof *added), done = 0, issue = 0;
    assert_true(last && added);
    uint64_t rounds = time.issues / (time.interleaved * groups);
    assert_int_equal(rounds * time.interleaved * groups, time.issues);
    for (uint64_t round = 0; round < rounds; round++)
        for (uint64_t group = 0; group < groups; group++)
            for (uint64_t open = 0; open < time.interleaved; open++, issue++) {
                uint64_t tile = round * time.interleaved + open;
                int64_t now = (int64_t)(issue * time.interval_cycles);
                if (tile >= tiles) continue; /* padding */
                if (group > 0) assert_true(now - last[tile] >= (int64_t)kernel->lane.sum.stages);
                last[tile] = now;
                added[tile]++;
                done++;
            }
    for (uint64_t tile = 0; tile < tiles; tile++) assert_int_equal(added[tile], groups);
    assert_int_equal(done, tiles * groups);
    /* From the last issue: multiplier, the tree's levels, the accumulating adder. */
    uint64_t levels = 0;
    while (((uint64_t)1 << levels) < kernel->reduction) levels++;
    assert_int_equal(time.cycles, (time.issues - 1) * time.interval_cycles + kernel->lane.multiply.stages +
                                      (levels + 1) * kernel->lane.sum.stages);
    /* Neither more padding nor a longer interval than needed. */
    assert_true(time.issues - done < kernel->lane.sum.stages * groups);
    if (time.interval_cycles > 1) assert_true(tiles * (time.interval_cycles - 1) < kernel->lane.sum.stages);
    free(last);
    free(added);
}

static void every_issue(void **state) {
    (void)state;
    uint64_t seed = 7;
    for (int i = 0; i < 3000; i++) {
        uint64_t value[10];
        for (int j = 0; j < 10; j++) {
            seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            value[j] = seed >> 40;
        }
        const tn_matmul kernel = {1 + value[0] % 8, 1 + value[1] % 8, 1 + value[2] % 20,
                                  lane(1 + value[3] % 6, 1 + value[4] % 9), false};
        const tn_product_size size = {1 + value[5] % 3, 1 + value[6] % 40, 1 + value[7] % 60,
                                      1 + value[8] % 40};
        play(&kernel, &size);
    }
}

/* 32 x 768 x 12 on 4 x 4 x 8 at 5 ns: 24 tiles, 96 groups of terms, 7 cycles an addition. */
static void worked_example(void **state) {
    (void)state;
    const tn_matmul kernel = {4, 4, 8, lane(4, 7), false};
    const tn_product_size size = {1, 32, 768, 12};
    tn_matmul_time time;
    assert_int_equal(tn_matmul_cycles(&kernel, &size, &time, NULL), TN_OK);
    assert_int_equal(time.interval_cycles, 1);
    assert_int_equal(time.interleaved, 8);
    assert_int_equal(time.issues, 24 * 96);
    assert_int_equal(time.cycles, 24 * 96 - 1 + 4 + 4 * 7);
}

static void resources(void **state) {
    (void)state;
    tn_arena arena = {0};
    tn_device *device;
    const tn_arithmetic fp32 = test_arithmetic("fp32");
    tn_matmul kernel = {.rows = 4, .columns = 2, .reduction = 8};
    assert_int_equal(tn_device_load("u50", operators_set, 1, &arena, &device, NULL), TN_OK);
    assert_int_equal(tn_lane_load(device, &fp32, &kernel.lane, NULL), TN_OK);
    tn_resources used = tn_matmul_resources(device, &kernel);
    assert_int_equal(used.dsp, 64 * (3 + 2));
    assert_int_equal(used.ff, 64 * (143 + 227) + 300);
    /* 14 open sums of 32 bits: 24 LUTs for each of 8. */
    assert_int_equal(used.lut, 64 * (78 + 214) + 8 * 24 + 7560);
    assert_int_equal(used.bram18 + used.uram, 0);
    tn_arena_free(&arena);
}

static void overflow(void **state) {
    (void)state;
    const tn_matmul kernel = {1, 1, 1, lane(4, 7), false};
    const tn_product_size size = {UINT64_MAX / 2, 3, 3, 3};
    tn_matmul_time time;
    assert_int_equal(tn_matmul_cycles(&kernel, &size, &time, NULL), TN_OVERFLOW);
    const tn_product_size slow = {1, 1, UINT64_MAX / 4, 1};
    assert_int_equal(tn_matmul_cycles(&kernel, &slow, &time, NULL), TN_OVERFLOW);
}

/* The dot-product formula measured in RTL, for kernels of one output at a time. */
static void equals_the_dot_product(void **state) {
    (void)state;
    for (uint64_t lanes = 1; lanes <= 16; lanes *= 2)
        for (uint64_t m = 1; m < 40; m += 7) {
            const tn_matmul kernel = {1, 1, lanes, lane(3, 6), false};
            const tn_product_size size = {1, m, 50, 1};
            tn_dot dot = {.lanes = lanes, .multiply_cycles = 3, .add_cycles = 6, .k = 50};
            tn_matmul_time time;
            tn_dot_result result;
            assert_int_equal(tn_matmul_cycles(&kernel, &size, &time, NULL), TN_OK);
            dot.interval_cycles = time.interval_cycles;
            dot.n = time.interleaved;
            dot.m = time.issues / time.interleaved / ((50 + lanes - 1) / lanes);
            assert_int_equal(tn_dot_cycles(&dot, &result, NULL), TN_OK);
            assert_true(result.legal);
            assert_int_equal(time.cycles, result.cycles);
        }
}

/* Block floating point of 16 values, 3 exponent and 4 mantissa bits, on 2 x 2 x 32 at 5 ns. */
static void block_floating_point(void **state) {
    (void)state;
    tn_arena arena = {0};
    tn_device *device;
    tn_arithmetic bfp = test_arithmetic("bfp16,3,4");
    tn_matmul kernel = {.rows = 2, .columns = 2, .reduction = 32};
    assert_int_equal(tn_device_load("u50", operators_set, 1, &arena, &device, NULL), TN_OK);
    assert_int_equal(tn_lane_load(device, &bfp, &kernel.lane, NULL), TN_OK);
    /* Two products of 5 x 5 bits take a DSP block, and 10 LUTs each to come apart; sums of 16 products 14 bits; an fp32 adder and a 4-bit
     * exponent adder, and what normalises 14 bits; converters of 2 x 32 values on either side and of 4 results. */
    tn_resources used = tn_matmul_resources(device, &kernel);
    assert_int_equal(used.dsp, 4 * (32 / 2 + 2 * 2));
    assert_int_equal(used.lut, 4 * (32 * 10 + 30 * 14 + 2 * (214 + 4 + 14 * 7)) +
                                   (4 * 32 + 4) * (24 + 4 * 7) + 4 * 24 + 7560);
    /* Two to convert, three to normalise, three cycles to multiply, four levels of a cycle, one level and one accumulation of seven. */
    const tn_product_size size = {1, 2, 32, 2};
    tn_matmul_time time;
    assert_int_equal(tn_matmul_cycles(&kernel, &size, &time, NULL), TN_OK);
    assert_int_equal(time.cycles, 2 + 3 + 3 + 4 * 1 + 7 + 7);
    /* Narrow mantissas need no DSP block to multiply. */
    bfp = test_arithmetic("bfp16,3,2");
    assert_int_equal(tn_lane_load(device, &bfp, &kernel.lane, NULL), TN_OK);
    assert_int_equal(tn_matmul_resources(device, &kernel).dsp, 4 * 2 * 2);
    assert_int_equal(kernel.lane.multiply.lut, 9);
    tn_arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_issue),
                                       cmocka_unit_test(worked_example),
                                       cmocka_unit_test(resources),
                                       cmocka_unit_test(equals_the_dot_product),
                                       cmocka_unit_test(block_floating_point),
                                       cmocka_unit_test(overflow)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
