/* Memories against what a synthesiser inferred, and against worked examples. */
#include "device/block.h"
#include "support/reports.h"
#include "support/shared.h"
#include "text/csv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

static tn_blocks blocks_of(tn_geometry geometry, tn_memory_style style, uint64_t width, uint64_t depth) {
    tn_blocks blocks;
    tn_error error;
    assert_int_equal(tn_memory_blocks(geometry, style, width, depth, false, &blocks, &error), TN_OK);
    return blocks;
}

/* Rows of the synthesiser's answers, kept here so that the test stands without the reference data. */
static void yosys_samples(void **state) {
    (void)state;
    static const struct {
        uint64_t width, depth;
        tn_memory_style style;
        tn_blocks expected;
    } rows[] = {
        {8, 16, TN_STYLE_BLOCK, {.bram18 = 1}},           {24, 4096, TN_STYLE_BLOCK, {.bram36 = 3}},
        {144, 4096, TN_STYLE_BLOCK, {.bram36 = 16}},      {128, 8192, TN_STYLE_BLOCK, {.bram36 = 30}},
        {16, 2048, TN_STYLE_BLOCK, {.bram36 = 1}},        {48, 128, TN_STYLE_BLOCK, {.bram36 = 1}},
        {256, 256, TN_STYLE_BLOCK, {.bram36 = 4}},        {144, 65536, TN_STYLE_BLOCK, {.bram36 = 256}},
        {9, 128, TN_STYLE_BLOCK, {.bram18 = 1}},          {32, 32, TN_STYLE_BLOCK, {.bram18 = 1}},
        {64, 32768, TN_STYLE_ULTRA, {.uram = 8}},         {18, 16384, TN_STYLE_ULTRA, {.uram = 1}},
        {48, 8192, TN_STYLE_ULTRA, {.uram = 2}},          {512, 4096, TN_STYLE_ULTRA, {.uram = 8}},
        {72, 512, TN_STYLE_DISTRIBUTED, {.lutram = 704}}, {16, 64, TN_STYLE_DISTRIBUTED, {.lutram = 24}},
        {18, 16, TN_STYLE_DISTRIBUTED, {.lutram = 16}},   {512, 128, TN_STYLE_DISTRIBUTED, {.lutram = 1184}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tn_blocks got = blocks_of(TN_GEOMETRY_YOSYS, rows[i].style, rows[i].width, rows[i].depth);
        assert_memory_equal(&got, &rows[i].expected, sizeof got);
    }
}

static void yosys_oracle(void **state) {
    (void)state;
    const char *path = test_shared_or_skip("oracles/fpga/memory_synthesis.csv");
    static const char *const names[] = {"width", "depth", "ram_style", "lutram", "bram18", "bram36", "uram"};
    tn_arena arena = {0};
    tn_csv csv;
    size_t column[7], exact = 0;
    assert_int_equal(tn_csv_load(path, &arena, &csv, NULL), TN_OK);
    assert_int_equal(tn_csv_columns(&csv, names, 7, false, column, NULL), TN_OK);
    for (size_t row = 0; row < csv.rows; row++) {
        uint64_t value[7];
        for (size_t i = 0; i < 7; i++)
            if (i != 2)
                assert_int_equal(tn_csv_count(&csv, row, column[i], 0, UINT64_MAX, &value[i], NULL), TN_OK);
        const char *style_name = tn_csv_at(&csv, row, column[2])->text;
        uint32_t style = TN_STYLE_BLOCK;
        while (tn_memory_style_names[style] && strcmp(tn_memory_style_names[style], style_name) != 0) style++;
        assert_non_null(tn_memory_style_names[style]);
        tn_blocks got = blocks_of(TN_GEOMETRY_YOSYS, (tn_memory_style)style, value[0], value[1]);
        bool same = got.lutram == value[3] && got.bram18 == value[4] && got.bram36 == value[5] &&
                    got.uram == value[6];
        exact += same;
        if (!same)
            printf("%s %llu x %llu: lutram %llu/%llu bram18 %llu/%llu bram36 %llu/%llu uram %llu/%llu\n",
                   style_name, (unsigned long long)value[0], (unsigned long long)value[1],
                   (unsigned long long)got.lutram, (unsigned long long)value[3],
                   (unsigned long long)got.bram18, (unsigned long long)value[4],
                   (unsigned long long)got.bram36, (unsigned long long)value[5], (unsigned long long)got.uram,
                   (unsigned long long)value[6]);
    }
    printf("memory_synthesis.csv: %zu of %zu rows exact\n", exact, csv.rows);
    assert_true(exact * 100 >= csv.rows * 98);
    tn_arena_free(&arena);
}

/* The least over every way to tile, found by trying all heights of every shape. */
static void hls_against_brute_force(void **state) {
    (void)state;
    static const uint64_t shapes[][2] = {{36, 512}, {18, 1024}, {9, 2048}, {4, 4096}, {2, 8192}, {1, 16384}};
    for (uint64_t width = 1; width < 120; width += 7)
        for (uint64_t depth = 1; depth < 40000; depth = depth * 3 + 1)
            for (int dual = 0; dual < 2; dual++) {
                uint64_t least = UINT64_MAX;
                for (size_t i = (size_t)dual; i < 6; i++) {
                    uint64_t across = 0, down = 0;
                    while (across * shapes[i][0] < width) across++;
                    while (down * shapes[i][1] < depth) down++;
                    if (across * down < least) least = across * down;
                }
                tn_blocks got;
                assert_int_equal(
                    tn_memory_blocks(TN_GEOMETRY_HLS, TN_STYLE_BLOCK, width, depth, dual, &got, NULL), TN_OK);
                assert_int_equal(got.bram18, least);
                assert_int_equal(got.bram36 + got.uram + got.lutram, 0);
            }
    assert_int_equal(blocks_of(TN_GEOMETRY_HLS, TN_STYLE_ULTRA, 512, 4500).uram, 16);
    assert_int_equal(blocks_of(TN_GEOMETRY_HLS, TN_STYLE_DISTRIBUTED, 32, 32).lutram, 24);
}

/* No LUTRAM that is as deep or deeper takes fewer LUTs, alone or cut into banks; and a shallower one may take more. */
static void least_luts_of_deeper_memories(void **state) {
    (void)state;
    bool falls = false;
    for (uint64_t width = 1; width <= 60; width++)
        for (uint64_t depth = 1; depth <= 200; depth += 1 + depth / 40) {
            uint64_t least = UINT64_MAX,
                     own = blocks_of(TN_GEOMETRY_HLS, TN_STYLE_DISTRIBUTED, width, depth).lutram;
            for (uint64_t banks = 1; banks <= 4; banks++)
                for (uint64_t deeper = depth; deeper <= depth + 130; deeper++) {
                    const uint64_t luts = banks * blocks_of(TN_GEOMETRY_HLS, TN_STYLE_DISTRIBUTED,
                                                            (width + banks - 1) / banks, deeper)
                                                      .lutram;
                    if (luts < least) least = luts;
                }
            falls |= least < own;
            assert_true(tn_memory_least_luts(width, depth) <= least);
            assert_true(4 * tn_memory_least_luts(width, depth) >= own);
        }
    assert_true(falls);
}

static uint64_t amount_of(const tn_blocks *blocks) { /* of a style, one of them is not 0 */
    return blocks->bram18 + 2 * blocks->bram36 + blocks->uram + blocks->lutram;
}

/* Memories written element by element: the least is no more than what any memory as deep or deeper takes, or one cut into banks,
 * and no capacity is below the least density. And blocks do fall with depth, so that the least is needed. */
static void least_of_deeper_element_memories(void **state) {
    (void)state;
    static const uint64_t bits[] = {8, 16, 32};
    uint64_t falls = 0;
    for (int style = TN_STYLE_BLOCK; style <= TN_STYLE_DISTRIBUTED; style++)
        for (size_t b = 0; b < 3; b++)
            for (uint64_t count = 1; count <= 16; count *= 2)
                for (uint64_t depth = 1; depth <= 40000; depth += 1 + depth / 5) {
                    const tn_memory_style kind = (tn_memory_style)style;
                    tn_blocks least, own, got;
                    uint64_t rows;
                    assert_int_equal(tn_memory_element_least(kind, count, bits[b], depth, &least, NULL),
                                     TN_OK);
                    assert_int_equal(tn_memory_element_blocks(kind, count, bits[b], depth, &own, &rows, NULL),
                                     TN_OK);
                    if (kind != TN_STYLE_DISTRIBUTED) {
                        const double capacity =
                            (double)amount_of(&own) * (double)(kind == TN_STYLE_ULTRA
                                                                   ? TN_MEMORY_CAPACITY_URAM_BITS
                                                                   : TN_MEMORY_CAPACITY_BRAM18_BITS);
                        assert_true(capacity >= tn_memory_element_density(kind, bits[b]) *
                                                    (double)(count * bits[b] * depth) * (1 - 1e-12));
                    }
                    for (uint64_t banks = 1; banks <= count; banks *= 2)
                        for (uint64_t deeper = depth; deeper <= 3 * depth; deeper += 1 + depth / 7) {
                            assert_int_equal(tn_memory_element_blocks(kind, count / banks, bits[b], deeper,
                                                                      &got, &rows, NULL),
                                             TN_OK);
                            assert_true(amount_of(&least) <= banks * amount_of(&got));
                            falls += banks == 1 && amount_of(&got) < amount_of(&own);
                        }
                }
    assert_true(falls > 0);
}

static void hls_reports(void **state) {
    (void)state;
    unsigned count[TEST_OPEN + 1] = {0};
    for (size_t i = 0; i < TEST_REPORTS; i++) {
        const test_report *row = &test_reports[i];
        if (row->kind != TEST_OPEN) assert_int_equal(test_report_bram18(row), row->bram18);
        count[row->kind]++;
    }
    printf("UltraScale+ memories of HLS reports: %u plain, %u with two ports or ping-pong, %u open\n",
           count[TEST_PLAIN], count[TEST_DUAL] + count[TEST_DUAL_PING_PONG], count[TEST_OPEN]);
    assert_true(count[TEST_OPEN] <= 2);
}

/* The table above is the report file's, row by row. */
static void hls_reports_oracle(void **state) {
    (void)state;
    const char *path = test_shared_or_skip("oracles/fpga/hls_memory_rows.csv");
    static const char *const names[] = {"device", "words", "bits", "bram18"};
    tn_arena arena = {0};
    tn_csv csv;
    size_t column[4], index = 0;
    assert_int_equal(tn_csv_load(path, &arena, &csv, NULL), TN_OK);
    assert_int_equal(tn_csv_columns(&csv, names, 4, false, column, NULL), TN_OK);
    for (size_t row = 0; row < csv.rows; row++) {
        const char *device = tn_csv_at(&csv, row, column[0])->text;
        uint64_t value[3];
        for (size_t i = 0; i < 3; i++)
            assert_int_equal(tn_csv_count(&csv, row, column[1 + i], 0, UINT64_MAX, &value[i], NULL), TN_OK);
        bool ultrascale_plus = strncmp(device, "xck", 3) == 0 || strncmp(device, "xczu", 4) == 0;
        if (!ultrascale_plus || value[2] == 0) continue;
        assert_true(index < TEST_REPORTS);
        assert_int_equal(test_reports[index].words, value[0]);
        assert_int_equal(test_reports[index].bits, value[1]);
        assert_int_equal(test_reports[index].bram18, value[2]);
        index++;
    }
    assert_int_equal(index, TEST_REPORTS);
    tn_arena_free(&arena);
}

/* Core 12 x 8 x 12 of 32-bit words, 12 of them a cycle. */
static void example_core(void **state) {
    (void)state;
    static const struct {
        tn_array_split split;
        uint64_t group, bram18;
        double use; /* percent */
    } rows[] = {
        {TN_SPLIT_PARTITION, 1, 12, 16.7},
        {TN_SPLIT_RESHAPE, 1, 11, 18.2},
        {TN_SPLIT_PARTITION, 5, 12, 83.3},
        {TN_SPLIT_RESHAPE, 5, 11, 90.9},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const tn_array_memory array = {.words = 12 * 8 * 12,
                                       .word_bits = 32,
                                       .accesses = 12,
                                       .group = rows[i].group,
                                       .split = rows[i].split,
                                       .style = TN_STYLE_BLOCK};
        tn_array_blocks got;
        assert_int_equal(tn_array_memory_blocks(&array, TN_GEOMETRY_HLS, &got, NULL), TN_OK);
        assert_int_equal(got.blocks.bram18, rows[i].bram18);
        assert_true(got.use * 100 > rows[i].use - 0.05 && got.use * 100 < rows[i].use + 0.05);
        assert_int_equal(got.banks, rows[i].split == TN_SPLIT_PARTITION ? 12 : 1);
        tn_array_memory twice = array;
        twice.ping_pong = true;
        assert_int_equal(tn_array_memory_blocks(&twice, TN_GEOMETRY_HLS, &got, NULL), TN_OK);
        assert_int_equal(got.blocks.bram18, 2 * rows[i].bram18);
    }
}

static void refused(void **state) {
    (void)state;
    tn_blocks blocks;
    tn_error error;
    assert_int_equal(tn_memory_blocks(TN_GEOMETRY_HLS, TN_STYLE_BLOCK, 0, 5, false, &blocks, &error),
                     TN_INPUT);
    assert_int_equal(tn_memory_blocks(TN_GEOMETRY_HLS, TN_STYLE_BLOCK, 5, 0, false, &blocks, &error),
                     TN_INPUT);
    assert_int_equal(tn_memory_blocks(TN_GEOMETRY_HLS, TN_STYLE_AUTO, 5, 5, false, &blocks, &error),
                     TN_INPUT);
    assert_int_equal(tn_memory_blocks(TN_GEOMETRY_YOSYS, TN_STYLE_BLOCK, 5, 5, true, &blocks, &error),
                     TN_INPUT);
    for (int style = TN_STYLE_BLOCK; style <= TN_STYLE_DISTRIBUTED; style++)
        for (int geometry = 0; geometry < 2; geometry++)
            assert_int_equal(tn_memory_blocks((tn_geometry)geometry, (tn_memory_style)style, UINT64_MAX,
                                              UINT64_MAX, false, &blocks, &error),
                             TN_OVERFLOW);
    tn_array_memory array = {.words = 10, .word_bits = 8, .accesses = 1, .group = 1, .style = TN_STYLE_BLOCK};
    tn_array_blocks got;
    array.accesses = 0;
    assert_int_equal(tn_array_memory_blocks(&array, TN_GEOMETRY_HLS, &got, &error), TN_INPUT);
    array.accesses = 12; /* more than words: banks of one word, two of them empty */
    assert_int_equal(tn_array_memory_blocks(&array, TN_GEOMETRY_HLS, &got, &error), TN_OK);
    assert_int_equal(got.blocks.bram18, 12);
    array.accesses = UINT64_MAX / 4;
    assert_int_equal(tn_array_memory_blocks(&array, TN_GEOMETRY_HLS, &got, &error), TN_OVERFLOW);
    array.split = TN_SPLIT_RESHAPE;
    assert_int_equal(tn_array_memory_blocks(&array, TN_GEOMETRY_HLS, &got, &error), TN_OVERFLOW);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(yosys_samples),
        cmocka_unit_test(yosys_oracle),
        cmocka_unit_test(hls_against_brute_force),
        cmocka_unit_test(least_luts_of_deeper_memories),
        cmocka_unit_test(least_of_deeper_element_memories),
        cmocka_unit_test(hls_reports),
        cmocka_unit_test(hls_reports_oracle),
        cmocka_unit_test(example_core),
        cmocka_unit_test(refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
