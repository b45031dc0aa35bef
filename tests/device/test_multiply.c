/* DSP blocks of integer multipliers against what a synthesiser inferred, and against cutting by hand. */
#include "device/multiply.h"
#include "support/shared.h"
#include "text/csv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

typedef struct {
    uint64_t a_bits, b_bits;
    tn_signedness signedness;
    uint64_t dsp;
} sample;

/* Rows of the synthesiser's table: around every edge of the rule. */
static const sample samples[] = {
    {4, 4, TN_SIGNED, 0},     {9, 4, TN_SIGNED, 1},     {18, 18, TN_SIGNED, 1},   {24, 17, TN_SIGNED, 1},
    {24, 19, TN_SIGNED, 2},   {25, 25, TN_SIGNED, 2},   {8, 8, TN_UNSIGNED, 1},   {11, 11, TN_UNSIGNED, 1},
    {24, 24, TN_UNSIGNED, 2}, {17, 24, TN_UNSIGNED, 1}, {24, 18, TN_UNSIGNED, 2}, {27, 18, TN_SIGNED, 1},
};

static void small_table(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        uint64_t dsp, swapped;
        const sample *s = &samples[i];
        assert_int_equal(tn_multiply_dsp(&tn_dsp48e2, s->a_bits, s->b_bits, s->signedness, &dsp, NULL),
                         TN_OK);
        assert_int_equal(tn_multiply_dsp(&tn_dsp48e2, s->b_bits, s->a_bits, s->signedness, &swapped, NULL),
                         TN_OK);
        assert_int_equal(dsp, s->dsp);
        assert_int_equal(swapped, s->dsp);
    }
}

/* Cuts an operand from its least significant end: a lower slice carries port-1 bits (its sign is zero), the
 * top one of a signed operand up to port bits. */
static uint64_t cut(uint64_t bits, uint64_t port, bool is_signed) {
    uint64_t slices = 1, top = is_signed ? port : port - 1;
    while (bits > top) {
        bits -= port - 1;
        slices++;
    }
    return slices;
}

static void cutting_by_hand(void **state) {
    (void)state;
    const tn_dsp_block *const blocks[] = {&tn_dsp48e1, &tn_dsp48e2};
    for (size_t which = 0; which < 2; which++)
        for (uint64_t a = 1; a <= 130; a++)
            for (uint64_t b = 1; b <= a; b++)
                for (int is_signed = 0; is_signed < 2; is_signed++) {
                    uint64_t dsp, wide = which ? 27 : 25;
                    tn_signedness signedness = is_signed ? TN_SIGNED : TN_UNSIGNED;
                    assert_int_equal(tn_multiply_dsp(blocks[which], a, b, signedness, &dsp, NULL), TN_OK);
                    uint64_t hand = a + b < 9 ? 0 : cut(a, wide, is_signed) * cut(b, 18, is_signed);
                    assert_int_equal(dsp, hand);
                }
}

static void synthesis_table(void **state) {
    (void)state;
    const char *path = test_shared_or_skip("oracles/fpga/dsp_synthesis.csv");
    tn_arena arena = {0};
    tn_csv csv;
    size_t column[4], exact = 0;
    const char *const names[] = {"signedness", "a_bits", "b_bits", "dsp48e2"};
    assert_int_equal(tn_csv_load(path, &arena, &csv, NULL), TN_OK);
    assert_int_equal(tn_csv_columns(&csv, names, 4, false, column, NULL), TN_OK);
    for (size_t row = 0; row < csv.rows; row++) {
        uint64_t a, b, expected, dsp;
        assert_int_equal(tn_csv_count(&csv, row, column[1], 1, 64, &a, NULL), TN_OK);
        assert_int_equal(tn_csv_count(&csv, row, column[2], 1, 64, &b, NULL), TN_OK);
        assert_int_equal(tn_csv_count(&csv, row, column[3], 0, 64, &expected, NULL), TN_OK);
        bool is_signed = strcmp(tn_csv_at(&csv, row, column[0])->text, "signed") == 0;
        tn_signedness signedness = is_signed ? TN_SIGNED : TN_UNSIGNED;
        assert_int_equal(tn_multiply_dsp(&tn_dsp48e2, a, b, signedness, &dsp, NULL), TN_OK);
        exact += dsp == expected;
    }
    print_message("dsp_synthesis.csv: %zu of %zu rows exact\n", exact, csv.rows);
    assert_int_equal(csv.rows, 306);
    assert_int_equal(exact, csv.rows);
    tn_arena_free(&arena);
}

static void bad_sizes_are_refused(void **state) {
    (void)state;
    uint64_t dsp = 77;
    tn_error error;
    assert_int_equal(tn_multiply_dsp(&tn_dsp48e2, 0, 8, TN_SIGNED, &dsp, &error), TN_INPUT);
    assert_int_equal(tn_multiply_dsp(&tn_dsp48e2, 8, TN_MULTIPLY_MOST_BITS + 1, TN_SIGNED, &dsp, &error),
                     TN_INPUT);
    assert_int_equal(tn_multiply_dsp(&tn_dsp48e2, UINT64_MAX, UINT64_MAX, TN_SIGNED, &dsp, &error), TN_INPUT);
    assert_int_equal(dsp, 77);
    const tn_dsp_block *block;
    assert_int_equal(tn_dsp_block_find("dsp48e1", &block, &error), TN_OK);
    assert_ptr_equal(block, &tn_dsp48e1);
    assert_int_equal(tn_dsp_block_find("dsp48e3", &block, &error), TN_INPUT);
    assert_non_null(strstr(error.message, "dsp48e"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_table),
        cmocka_unit_test(cutting_by_hand),
        cmocka_unit_test(synthesis_table),
        cmocka_unit_test(bad_sizes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
