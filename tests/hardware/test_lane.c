/* Lanes: plain ones are the device's operators; adders of block floating point hold every sum of their group. */
#include "hardware/lane.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

static tn_arena arena;
static tn_device *device;
static tn_error error;

static void plain_lanes_are_operators(void **state) {
    (void)state;
    for (int precision = 0; precision < TN_PRECISIONS; precision++) {
        const tn_arithmetic plain = {.precision = (tn_precision)precision};
        const tn_operator_row *multiply, *add;
        tn_lane lane;
        char text[32];
        bool has = tn_device_operator(device, plain.precision, TN_MULTIPLY, &multiply, &error) == TN_OK &&
                   tn_device_operator(device, plain.precision, TN_ADDER, &add, &error) == TN_OK;
        assert_int_equal(tn_lane_load(device, &plain, &lane, &error) == TN_OK, has);
        tn_arithmetic_text(&plain, text, sizeof text);
        assert_string_equal(text, tn_precision_names[precision]);
        if (!has) continue;
        assert_int_equal(lane.group, 1);
        assert_ptr_equal(lane.multiply.row, multiply);
        assert_ptr_equal(lane.tree.row, add);
        assert_int_equal(lane.multiply.dsp, multiply->dsp);
        assert_int_equal(lane.sum.stages, add->stages);
        assert_int_equal(lane.sum_bits, precision == TN_INT8 ? 32 : 8 * tn_precision_bytes(plain.precision));
    }
}

/* The largest sum is that of a group of products of the most negative mantissas, -2^m each. */
static void adders_hold_every_sum_of_a_group(void **state) {
    (void)state;
    for (uint64_t mantissa = 1; mantissa <= 12; mantissa++)
        for (uint64_t group = 1; group <= 256; group *= 2) {
            const tn_arithmetic block = {TN_FP32, group, 4, mantissa};
            tn_lane lane;
            assert_int_equal(tn_lane_load(device, &block, &lane, &error), TN_OK);
            assert_int_equal(lane.group, group);
            uint64_t bits = lane.tree.lut / device->integer.add_lut_per_bit;
            uint64_t largest = group << 2 * mantissa;
            assert_true(largest <= UINT64_C(1) << (bits - 1));     /* fits, with a sign */
            assert_true(largest > UINT64_C(1) << (bits - 1) >> 3); /* and not with two bits to spare */
            assert_true(lane.multiply.dsp > 0 || lane.multiply.lut > 0);
            assert_false(lane.multiply.dsp > 0 && lane.multiply.lut > 0);
        }
}

static void group_sums_are_scaled_and_added_in_fp32(void **state) {
    (void)state;
    const tn_arithmetic plain = {.precision = TN_FP32};
    tn_lane fp32, narrow, wide;
    assert_int_equal(tn_lane_load(device, &plain, &fp32, &error), TN_OK);
    assert_int_equal(tn_lane_load(device, &(tn_arithmetic){TN_FP32, 16, 3, 4}, &narrow, &error), TN_OK);
    assert_int_equal(tn_lane_load(device, &(tn_arithmetic){TN_FP32, 16, 8, 4}, &wide, &error), TN_OK);
    assert_int_equal(narrow.sum.stages, fp32.sum.stages);
    assert_int_equal(narrow.sum.lut - fp32.sum.lut, 4 * device->integer.add_lut_per_bit);
    assert_int_equal(wide.sum.lut - narrow.sum.lut, 5 * device->integer.add_lut_per_bit);
    assert_int_equal(narrow.sum_bits, 32);
    char text[32];
    tn_arithmetic_text(&(tn_arithmetic){TN_FP32, 16, 3, 4}, text, sizeof text);
    assert_string_equal(text, "bfp g16 e3 m4");
}

static void impossible_blocks_are_refused(void **state) {
    (void)state;
    static const tn_arithmetic cases[] = {{TN_FP32, 16, 3, 0},
                                          {TN_FP32, 16, 3, 33},
                                          {TN_FP32, 16, 0, 4},
                                          {TN_FP32, 16, 17, 4},
                                          {TN_FP32, 4097, 3, 4}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tn_lane lane;
        assert_int_equal(tn_lane_load(device, &cases[i], &lane, &error), TN_INPUT);
        assert_non_null(strstr(error.message, "block floating point"));
    }
}

static int begin(void **state) {
    (void)state;
    return tn_device_load("u50", NULL, 0, &arena, &device, &error) != TN_OK;
}

static int end(void **state) {
    (void)state;
    tn_arena_free(&arena);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_lanes_are_operators),
        cmocka_unit_test(adders_hold_every_sum_of_a_group),
        cmocka_unit_test(group_sums_are_scaled_and_added_in_fp32),
        cmocka_unit_test(impossible_blocks_are_refused),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
