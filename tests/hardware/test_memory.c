/* Memories against what a synthesiser inferred, and against worked examples. */
#include "hardware/memory.h"
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
        {8, 16, TN_STYLE_BLOCK, {.bram18 = 1}},
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

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(yosys_samples), cmocka_unit_test(yosys_oracle)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
