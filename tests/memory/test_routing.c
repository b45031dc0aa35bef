/* Multiplexers against what was synthesised, and a whole matmul engine against its synthesis. */
#include "memory/memory_share.h"
#include "support/formats.h"
#include "support/prices.h"

#include "device/block.h"
#include "kernel/kernel.h"
#include "support/shared.h"
#include "text/csv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>

static tn_arena arena;
static tn_device *device;

static int set_up(void **state) {
    (void)state;
    static const char *const set[] = {"operator_set=generated", "memory.geometry=yosys"};
    return tn_device_load("u50", set, 2, &arena, &device, NULL) == TN_OK ? 0 : -1;
}

static int tear_down(void **state) {
    (void)state;
    tn_arena_free(&arena);
    return 0;
}

/* What the prototype's engine takes by the parts of a price: `memories` of square banks before its ports. */
static tn_resources engine_of(const uint64_t kernel[3], uint64_t memories, uint64_t banks, uint64_t words,
                              uint64_t *lutram) {
    const tn_arithmetic fp32 = test_arithmetic("fp32");
    tn_matmul matmul = {kernel[0], kernel[1], kernel[2], {.group = 1}, false};
    tn_blocks block, open;
    assert_int_equal(tn_lane_load(device, &fp32, &matmul.lane, NULL), TN_OK);
    tn_resources used = tn_matmul_resources(device, &matmul);
    used.lut +=
        device->control
            .lut; /* the prototype's own, which other generated engines have by price/engine_logic.h */
    used.ff += device->control.ff;
    uint64_t edge = (uint64_t)sqrt((double)banks);
    for (int port = 0; port < 3; port++) {
        const tn_route route = {banks, 32, port < 2 ? memories : 1, {edge, edge}};
        const tn_resources more = tn_route_resources(device, &route);
        tn_resources_add(&used, &more, 1);
    }
    assert_int_equal(tn_memory_blocks(TN_GEOMETRY_YOSYS, TN_STYLE_BLOCK, 32, words, false, &block, NULL),
                     TN_OK);
    used.bram18 = memories * banks * (block.bram18 + 2 * block.bram36);
    assert_int_equal(tn_memory_blocks(TN_GEOMETRY_YOSYS, TN_STYLE_DISTRIBUTED, 32, 2 * matmul.lane.sum.stages,
                                      false, &open, NULL),
                     TN_OK);
    *lutram = kernel[0] * kernel[1] * open.lutram;
    used.lut -= *lutram; /* counted apart */
    return used;
}

static void check_engine(const uint64_t row[11]) {
    uint64_t lutram;
    const tn_resources got = engine_of(row, row[3], row[4], row[5], &lutram);
    printf("engine %llux%llux%llu: LUT %llu, synthesised %llu (%+.1f %%); FF %llu, %llu (%+.1f %%)\n",
           (unsigned long long)row[0], (unsigned long long)row[1], (unsigned long long)row[2],
           (unsigned long long)got.lut, (unsigned long long)row[7],
           100 * ((double)got.lut / (double)row[7] - 1), (unsigned long long)got.ff,
           (unsigned long long)row[8], 100 * ((double)got.ff / (double)row[8] - 1));
    assert_true(fabs((double)got.lut / (double)row[7] - 1) < 0.15);
    assert_true(fabs((double)got.ff / (double)row[8] - 1) < 0.15);
    assert_int_equal(got.dsp, row[6]);
    assert_int_equal(got.bram18, 2 * row[9]);
    assert_int_equal(lutram, row[10]);
}

/* The synthesised engines, kept here so that the test stands without the reference data. */
static void engines(void **state) {
    (void)state;
    check_engine((const uint64_t[]){4, 4, 1, 3, 16, 4096, 32, 21057, 8728, 192, 384});
    check_engine((const uint64_t[]){4, 4, 4, 3, 16, 4096, 128, 49377, 29344, 192, 384});
}

static void engines_oracle(void **state) {
    (void)state;
    const char *path = test_shared_or_skip("oracles/rtl/engine.csv");
    static const char *const names[] = {"rows",       "columns",         "reduction", "memories",
                                        "banks_each", "words_each_bank", "dsp",       "lut_cells",
                                        "ff",         "ramb36",          "lutram_lut"};
    tn_csv csv;
    size_t column[11];
    assert_int_equal(tn_csv_load(path, &arena, &csv, NULL), TN_OK);
    assert_int_equal(tn_csv_columns(&csv, names, 11, false, column, NULL), TN_OK);
    for (size_t i = 0; i < csv.rows; i++) {
        uint64_t row[11];
        for (size_t j = 0; j < 11; j++)
            assert_int_equal(tn_csv_count(&csv, i, column[j], 0, UINT64_MAX, &row[j], NULL), TN_OK);
        check_engine(row);
    }
}

static void multiplexers_oracle(void **state) {
    (void)state;
    const char *path = test_shared_or_skip("oracles/rtl/multiplexers.csv");
    static const char *const names[] = {"inputs", "width_bits", "lut"};
    tn_csv csv;
    size_t column[3];
    assert_int_equal(tn_csv_load(path, &arena, &csv, NULL), TN_OK);
    assert_int_equal(tn_csv_columns(&csv, names, 3, false, column, NULL), TN_OK);
    for (size_t i = 0; i < csv.rows; i++) {
        uint64_t value[3];
        for (size_t j = 0; j < 3; j++)
            assert_int_equal(tn_csv_count(&csv, i, column[j], 0, UINT64_MAX, &value[j], NULL), TN_OK);
        assert_int_equal(tn_multiplexer_lut(device, value[0], value[1]), value[2]);
    }
}

/* Between, beyond and without rows. */
static void other_multiplexers(void **state) {
    (void)state;
    assert_int_equal(tn_multiplexer_lut(device, 1, 512), 0);
    assert_int_equal(tn_multiplexer_lut(device, 0, 512), 0);
    assert_int_equal(tn_multiplexer_lut(device, 3, 512), 512);
    assert_int_equal(tn_multiplexer_lut(device, 25, 512), 16 * 486);
    assert_int_equal(tn_multiplexer_lut(device, 14, 32), 169);   /* halfway between 178 and 160 */
    assert_int_equal(tn_multiplexer_lut(device, 180, 32), 2666); /* twice 90 */
    tn_device bare = *device;
    bare.multiplexers.count = 0;
    assert_int_equal(tn_multiplexer_lut(&bare, 4, 32), 32);
    assert_int_equal(tn_multiplexer_lut(&bare, 64, 1), 21);
}

/* A bank deeper than a block chooses between rows of blocks: LUTs that Yosys 0.23 took for single banks with a write enable
 * an element, of which 11 to 18 % are missing. Bounds know no place, so they leave them out, and so do prices of high-level synthesis. */
static void deep_banks(void **state) {
    (void)state;
    static const struct {
        tn_memory_style style;
        uint64_t elements, depth, luts;
    } rows[] = {{TN_STYLE_BLOCK, 4, 6504, 778},
                {TN_STYLE_BLOCK, 16, 6504, 3196},
                {TN_STYLE_ULTRA, 16, 27535, 1699},
                {TN_STYLE_BLOCK, 16, 744, 0}};
    static const char *const hls[] = {"operator_set=hls"};
    const tn_build build = {.read_ports = 1, .rows = 4, .columns = 4, .reduction = 4, .vector = 4};
    tn_device *other;
    assert_int_equal(tn_device_load("u50", hls, 1, &arena, &other, NULL), TN_OK);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const tn_extent extent = {rows[i].depth * rows[i].elements, 1};
        const tn_mapped memory = {.arrays = 1, .copies = 1, .extents = 1, .extent = &extent};
        const tn_place place = {rows[i].style, TN_SPLIT_RESHAPE, 1};
        tn_row row = {rows[i].elements, 1, rows[i].depth, 1, rows[i].depth, 0};
        tn_memory_share share, twice, none;
        tn_build copied = build;
        copied.read_ports = 2;
        assert_int_equal(tn_price_share(device, 32, &memory, &row, &build, &place, &share, NULL), TN_OK);
        assert_int_equal(tn_price_share(device, 32, &memory, &row, &copied, &place, &twice, NULL), TN_OK);
        assert_int_equal(tn_price_share(other, 32, &memory, &row, &build, &place, &none, NULL), TN_OK);
        printf("bank of %llu x %llu: %llu LUT between its rows of blocks, synthesised %llu\n",
               (unsigned long long)rows[i].elements * 32, (unsigned long long)rows[i].depth,
               (unsigned long long)share.selection_lut, (unsigned long long)rows[i].luts);
        assert_true(fabs((double)share.selection_lut - (double)rows[i].luts) <= 0.20 * (double)rows[i].luts);
        assert_int_equal(twice.selection_lut, 2 * share.selection_lut);
        assert_int_equal(none.selection_lut, 0);
        row.of_bound = 1;
        assert_int_equal(tn_price_share(device, 32, &memory, &row, &build, &place, &none, NULL), TN_OK);
        assert_int_equal(none.selection_lut, 0);
    }
}

/* A share is that of the memory, whatever was asked of others before. */
static void known_shares(void **state) {
    (void)state;
    static const char *const hls[] = {"operator_set=hls"};
    tn_known_shares *known;
    tn_device *other;
    uint64_t random = 7, stored = 0;
    assert_int_equal(tn_device_load("u50", hls, 1, &arena, &other, NULL), TN_OK);
    assert_int_equal(tn_known_shares_new(&arena, &known, NULL), TN_OK);
    for (int i = 0; i < 20000; i++) {
        const uint64_t elements = UINT64_C(1) << test_draw(&random, 3),
                       depth = 100 + 900 * test_draw(&random, 2);
        const tn_extent extent = {depth * elements - test_draw(&random, 2), 1};
        const tn_mapped memory = {.arrays = 1,
                                  .copies = 1 + test_draw(&random, 3),
                                  .word_bits = test_draw(&random, 2) ? 16 : 0,
                                  .extents = 1,
                                  .extent = &extent};
        const tn_build build = {
            .read_ports = 1 + test_draw(&random, 2), .rows = 4, .columns = 4, .reduction = 4, .vector = 4};
        const uint64_t banks = test_draw(&random, 2) ? elements : 1;
        const uint64_t unpadded = depth >> 4 * test_draw(&random, 2), laid = depth + test_draw(&random, 2);
        const tn_row row = {elements, banks, laid, banks, unpadded, test_draw(&random, 2)};
        const tn_place place = {(tn_memory_style)test_draw(&random, TN_STYLE_SHALLOW + 1),
                                (tn_array_split)test_draw(&random, 2), 1 + test_draw(&random, 2)};
        const tn_device *on = test_draw(&random, 2) ? device : other;
        tn_memory_share share, again = {0};
        assert_int_equal(tn_price_share(on, 32, &memory, &row, &build, &place, &share, NULL), TN_OK);
        assert_int_equal(tn_known_share(known, on, 32, &memory, &row, &build, &place, &again, NULL), TN_OK);
        assert_int_equal(again.bram18, share.bram18);
        assert_int_equal(again.uram, share.uram);
        assert_int_equal(again.lutram, share.lutram);
        assert_int_equal(again.selection_lut, share.selection_lut);
        assert_int_equal(again.read_ff, share.read_ff);
        assert_int_equal(again.style, share.style);
        assert_true(again.stored_bits == share.stored_bits);
        assert_memory_equal(&again.port, &share.port, sizeof share.port);
        stored += share.stored_bits > 0;
    }
    assert_int_equal(stored, 20000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(engines),
        cmocka_unit_test(engines_oracle),
        cmocka_unit_test(multiplexers_oracle),
        cmocka_unit_test(other_multiplexers),
        cmocka_unit_test(deep_banks),
        cmocka_unit_test(known_shares),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
