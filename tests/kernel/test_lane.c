/* Lanes: plain ones are the device's operators; adders of block floating point hold every sum of their group. */
#include "kernel/kernel.h"

#include "device/multiply.h"
#include "price/price.h"
#include "support/folder.h"
#include "support/formats.h"
#include "support/models.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static tn_arena arena;
static tn_device *device;
static tn_error error;

static void plain_lanes_are_operators(void **state) {
    (void)state;
    static const struct {
        const char *name;
        uint64_t sum_bits;
    } row[] = {{"fp32", 32}, {"fp16", 16}, {"bf16", 16}, {"int8", 32}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        const tn_arithmetic plain = test_arithmetic(row[i].name);
        const tn_operator_row *multiply, *add;
        tn_lane lane;
        char text[TN_ARITHMETIC_TEXT];
        assert_int_equal(tn_device_operator(device, &plain.left, TN_MULTIPLY, &multiply, &error), TN_OK);
        assert_int_equal(tn_device_operator(device, &plain.left, TN_ADDER, &add, &error), TN_OK);
        assert_int_equal(tn_lane_load(device, &plain, &lane, &error), TN_OK);
        tn_arithmetic_text(&plain, text);
        assert_string_equal(text, row[i].name);
        assert_int_equal(lane.group, 1);
        assert_ptr_equal(lane.multiply.row, multiply);
        assert_ptr_equal(lane.tree.row, add);
        assert_int_equal(lane.multiply.dsp, multiply->dsp);
        assert_int_equal(lane.sum.stages, add->stages);
        assert_int_equal(lane.sum_bits, row[i].sum_bits);
    }
}

/* Integers that the device lists nothing for: a product's blocks, a sum that 2^16 of the largest products fit. */
static void integers_follow_from_their_bits(void **state) {
    (void)state;
    static const char *const names[] = {"int16", "fixed16,8", "fixed24,12", "fixed9,4", "fixed4,2"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (size_t j = 0; j < sizeof names / sizeof *names; j++) {
            tn_arithmetic mixed = {
                .left = test_format(names[i]), .right = test_format(names[j]), .sum = test_format("int16")};
            const tn_dsp_block *block;
            uint64_t dsp, a = mixed.left.bits, b = mixed.right.bits;
            tn_lane lane;
            assert_int_equal(tn_lane_load(device, &mixed, &lane, &error), TN_OK);
            assert_int_equal(tn_dsp_block_find("dsp48e2", &block, NULL), TN_OK);
            assert_int_equal(tn_multiply_dsp(block, a, b, TN_SIGNED, &dsp, NULL), TN_OK);
            assert_int_equal(lane.multiply.dsp, dsp);
            assert_int_equal(lane.sum_bits, a + b + 16);
            assert_int_equal(lane.sum.lut, lane.sum_bits * device->integer.add_lut_per_bit);
            assert_true(lane.packed == 1 || dsp == 1);
        }
    char text[TN_ARITHMETIC_TEXT];
    const tn_arithmetic mixed = {
        .left = test_format("int16"), .right = test_format("fixed16,8"), .sum = test_format("fp32")};
    tn_arithmetic_text(&mixed, text);
    assert_string_equal(text, "int16 x fixed16,8");
}

/* Two products on one wide port: each lower one borrows at most one from the next, so the upper is found by adding the
 * lower one's sign. All pairs of all 5-bit mantissas, and 8-bit extremes, on 27 bits. */
static void packed_products_come_apart(void **state) {
    (void)state;
    static const uint64_t bits[] = {4, 5, 8};
    for (size_t i = 0; i < 3; i++) {
        int64_t width = (int64_t)bits[i], least = -(INT64_C(1) << (width - 1)),
                shift = 2 * width + TN_PACKED_GUARD_BITS;
        int64_t step = width == 8 ? 15 : 1;
        assert_int_equal(tn_multiply_packed(&tn_dsp48e2, bits[i], bits[i]), bits[i] == 4 ? 3 : 2);
        for (int64_t a = least; a < -least; a += step)
            for (int64_t b = least; b < -least; b += step)
                for (int64_t c = least; c < -least; c += step) {
                    int64_t wide = a * (INT64_C(1) << shift) + b;
                    assert_true(wide >= -(INT64_C(1) << 26) && wide < INT64_C(1) << 26);
                    int64_t product = wide * c, low = (product & ((INT64_C(1) << shift) - 1));
                    if (low >= INT64_C(1) << (shift - 1)) low -= INT64_C(1) << shift;
                    assert_true(low == b * c && (product - low) / (INT64_C(1) << shift) == a * c);
                }
    }
    assert_int_equal(tn_multiply_packed(&tn_dsp48e1, 8, 8), 1);
    assert_int_equal(tn_multiply_packed(&tn_dsp48e2, 16, 16), 1);
    assert_int_equal(tn_multiply_packed(&tn_dsp48e2, 30, 4), 1);
}

/* Any format may have operators of the device's own. */
static void devices_define_operators(void **state) {
    (void)state;
    const char *const set[] = {
        "operators.mine={precision: \"fixed16,8\", operator: multiply, period_ns: 5, stages: 2, "
        "dsp: 1, packed: 3, source: here}",
        "operators.sum={precision: \"fixed16,08\", operator: add, period_ns: 5, stages: 1, lut: 7}"};
    const char *wrong = "operators.mine={precision: fp31, operator: multiply, period_ns: 5, stages: 2}";
    tn_device *own;
    tn_lane lane;
    const tn_arithmetic fixed = test_arithmetic("fixed16,8");
    assert_int_equal(tn_device_load("u50", set, 2, &arena, &own, &error), TN_OK);
    assert_int_equal(tn_lane_load(own, &fixed, &lane, &error), TN_OK);
    assert_int_equal(lane.packed, 3);
    assert_int_equal(lane.multiply.stages, 2);
    assert_int_equal(lane.sum.lut, 7);
    assert_int_equal(tn_device_load("u50", &wrong, 1, &arena, &own, &error), TN_INPUT);
    assert_non_null(strstr(error.message, "fp31"));
}

static tn_price priced(const char *products, const tn_device *this_device) {
    char set[64];
    const char *const sets[] = {set};
    tn_model *model;
    tn_build build;
    tn_workload *workload;
    tn_price price;
    snprintf(set, sizeof set, "precision.products=%s", products);
    assert_int_equal(tn_model_load("atis-2enc", sets, 1, &arena, &model, &error), TN_OK);
    const tn_step step = test_step_of(model, &arena);
    assert_int_equal(tn_build_decode(NULL, &arena, &build, &error), TN_OK);
    assert_int_equal(tn_workload_prepare(&step, this_device, &arena, &workload, &error), TN_OK);
    assert_int_equal(tn_price_step(workload, &build, &price, &error), TN_OK);
    return price;
}

/* A device file of the user's own with operators of formats that the families know nothing of, in whole designs. */
static void a_device_file_defines_operators(void **state) {
    (void)state;
    static const struct {
        const char *products, *multiply, *add; /* rows */
        uint64_t dsp, lut;                     /* of a multiplier, in each of 64 lanes */
        uint64_t packed;
    } own[] = {
        {"fixed12,6",
         "{precision: \"fixed12,6\", operator: multiply, period_ns: 5, stages: 2, lut: 30, dsp: 1, packed: "
         "2}",
         "{precision: \"fixed12,6\", operator: add, period_ns: 5, stages: 1, lut: 28}", 1, 30, 2},
        {"fixed20,4",
         "{precision: \"fixed20,4\", operator: multiply, period_ns: 5, stages: 2, lut: 700, dsp: 0}",
         "{precision: \"fixed20,4\", operator: add, period_ns: 5, stages: 1, lut: 28}", 0, 700, 1},
        {"bfp16,8,4",
         "{precision: \"bfp16,8,4\", operator: multiply, period_ns: 5, stages: 1, lut: 45, dsp: 0}",
         "{precision: \"bfp16,8,4\", operator: add, period_ns: 5, stages: 1, lut: 9}", 0, 45, 1},
        {"olive4", "{precision: olive4, operator: multiply, period_ns: 5, stages: 1, lut: 19, dsp: 0}",
         "{precision: olive4, operator: add, period_ns: 5, stages: 1, lut: 9}", 0, 19, 1},
    };
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        const char *path = test_in_folder("mine.yaml");
        FILE *file = fopen(path, "w");
        tn_device *mine;
        tn_lane lane, usual;
        assert_non_null(file);
        fprintf(file,
                "kind: fpga\nname: mine\ninherit: %s/models/devices/u50.yaml\noperators:\n  m: %s\n  a: %s\n",
                TEST_SOURCE_DIR, own[i].multiply, own[i].add);
        assert_int_equal(fclose(file), 0);
        if (tn_device_load(path, NULL, 0, &arena, &mine, &error) != TN_OK) fail_msg("%s", error.message);
        const tn_arithmetic arithmetic = test_arithmetic(own[i].products);
        assert_int_equal(tn_lane_load(mine, &arithmetic, &lane, &error), TN_OK);
        assert_int_equal(tn_lane_load(device, &arithmetic, &usual, &error), TN_OK);
        assert_int_equal(lane.multiply.dsp, own[i].dsp);
        assert_int_equal(lane.multiply.lut, own[i].lut);
        assert_int_equal(lane.packed, own[i].packed);
        const tn_price changed = priced(own[i].products, mine), plain = priced(own[i].products, device);
        enum { LANES = 64 };
        assert_int_equal((int64_t)changed.used.dsp - (int64_t)plain.used.dsp,
                         (int64_t)(LANES * lane.multiply.dsp / lane.packed) -
                             (int64_t)(LANES * usual.multiply.dsp / usual.packed));
        assert_true(changed.cycles_per_step > 0 && changed.used.lut != plain.used.lut);
    }
}

/* The largest sum is that of a group of products of the most negative mantissas, -2^m each. */
static void adders_hold_every_sum_of_a_group(void **state) {
    (void)state;
    for (uint64_t mantissa = 1; mantissa <= 12; mantissa++)
        for (uint64_t group = 1; group <= 256; group *= 2) {
            char name[32];
            snprintf(name, sizeof name, "bfp%d,4,%d", (int)group, (int)mantissa);
            const tn_arithmetic block = test_arithmetic(name);
            tn_lane lane;
            assert_int_equal(tn_lane_load(device, &block, &lane, &error), TN_OK);
            assert_int_equal(lane.group, group);
            uint64_t bits = lane.tree.lut / device->integer.add_lut_per_bit;
            uint64_t largest = group << 2 * mantissa;
            assert_true(largest <= UINT64_C(1) << (bits - 1));     /* fits, with a sign */
            assert_true(largest > UINT64_C(1) << (bits - 1) >> 3); /* and not with two bits to spare */
            assert_true(lane.multiply.dsp > 0 || lane.multiply.lut > 0);
            assert_int_equal(lane.multiply.lut > 0, lane.multiply.dsp == 0 || lane.packed > 1);
        }
}

static void group_sums_are_scaled_and_added_in_fp32(void **state) {
    (void)state;
    const tn_arithmetic plain = test_arithmetic("fp32"), three = test_arithmetic("bfp16,3,4"),
                        eight = test_arithmetic("bfp16,8,4");
    tn_lane fp32, narrow, wide;
    assert_int_equal(tn_lane_load(device, &plain, &fp32, &error), TN_OK);
    assert_int_equal(tn_lane_load(device, &three, &narrow, &error), TN_OK);
    assert_int_equal(tn_lane_load(device, &eight, &wide, &error), TN_OK);
    assert_int_equal(narrow.sum.stages, fp32.sum.stages);
    assert_int_equal(narrow.sum.lut - fp32.sum.lut,
                     4 * device->integer.add_lut_per_bit + 14 * device->block_floating.normalise_lut_per_bit);
    assert_int_equal(wide.sum.lut - narrow.sum.lut, 5 * device->integer.add_lut_per_bit);
    assert_int_equal(narrow.sum_bits, 32);
    char text[TN_ARITHMETIC_TEXT];
    tn_arithmetic_text(&three, text);
    assert_string_equal(text, "bfp16,3,4");
}

/* What Yosys 0.23 made of tests/rtl/block_floating.sv for UltraScale+, against the figures of the device. */
static void conversions_are_as_synthesised(void **state) {
    (void)state;
    static const struct {
        uint64_t bits, lut, ff; /* of 16 values */
    } converters[] = {{2, 638, 576}, {4, 787, 608}, {8, 1262, 672}};
    static const struct {
        uint64_t bits, lut, ff;
    } normalisers[] = {{10, 56, 60}, {14, 77, 72}, {18, 125, 85}, {22, 174, 97}};
    for (size_t i = 0; i < sizeof converters / sizeof *converters; i++) {
        const tn_block_floating_cost cost =
            tn_block_floating_convert(&device->block_floating, converters[i].bits, false);
        assert_true(fabs((double)(16 * cost.lut) / (double)converters[i].lut - 1) < 0.06);
        assert_int_equal(16 * cost.ff, converters[i].ff);
    }
    for (size_t i = 0; i < sizeof normalisers / sizeof *normalisers; i++) {
        const tn_block_floating_cost cost =
            tn_block_floating_normalise(&device->block_floating, normalisers[i].bits);
        assert_true(fabs((double)cost.lut / (double)normalisers[i].lut - 1) < 0.28);
        assert_true(fabs((double)cost.ff - (double)normalisers[i].ff) <= 1);
    }
    const tn_block_floating_cost whole = tn_block_floating_convert(&device->block_floating, 4, false),
                                 cut = tn_block_floating_convert(&device->block_floating, 4, true);
    assert_int_equal(16 * (cut.lut - whole.lut), 32);
    assert_int_equal(16 * (cut.ff - whole.ff), 48);
}

/* A lane of chunks multiplies a chunk and a sign on either side whatever the mantissas: no DSP block, nine pairs of bits; what
 * enters it is as wide as the widest mantissa. */
static void chunks_are_as_wide_as_a_chunk(void **state) {
    (void)state;
    const tn_arithmetic two = test_arithmetic("bfp16,8,2");
    tn_arithmetic chunked = two;
    tn_lane narrow, lane;
    chunked.chunk_bits = 2;
    chunked.begin = test_arithmetic("bfp16,8,8").left;
    assert_int_equal(tn_lane_load(device, &two, &narrow, &error), TN_OK);
    assert_int_equal(tn_lane_load(device, &chunked, &lane, &error), TN_OK);
    assert_int_equal(lane.multiply.lut, 3 * 3);
    assert_int_equal(lane.multiply.dsp, 0);
    assert_int_equal(lane.multiply.lut, narrow.multiply.lut);
    assert_int_equal(lane.tree.lut, narrow.tree.lut);
    assert_int_equal(lane.sum.lut - narrow.sum.lut, 9 * device->integer.add_lut_per_bit);
    assert_int_equal(lane.convert.lut, 24 + 8 * 7 + 2);
    assert_int_equal(lane.operand_bits, 10);
    assert_int_equal(narrow.operand_bits, 4);
}

/* A kernel of two formats has the multipliers of both kernels and the adders of sums of one. */
static void two_formats_share_their_sums(void **state) {
    (void)state;
    static const char *const names[] = {"fp32", "bfp16,8,4", "int8", "bf16"};
    for (size_t i = 0; i < 4; i++)
        for (size_t j = 0; j < 4; j++) {
            if (i == j) continue;
            tn_arithmetic both = test_arithmetic(names[i]), begin = test_arithmetic(names[j]);
            both.sum = begin.sum = test_format("fp32");
            tn_matmul kernel[3] = {{.rows = 4, .columns = 4, .reduction = 16},
                                   {.rows = 4, .columns = 4, .reduction = 16},
                                   {.rows = 4, .columns = 4, .reduction = 16}};
            assert_int_equal(tn_lane_load(device, &both, &kernel[0].lane, &error), TN_OK);
            assert_int_equal(tn_lane_load(device, &begin, &kernel[1].lane, &error), TN_OK);
            both.begin = begin.left;
            both.begins = 1;
            assert_int_equal(tn_lane_load(device, &both, &kernel[2].lane, &error), TN_OK);
            tn_resources used[3];
            for (int k = 0; k < 3; k++) used[k] = tn_matmul_resources(device, &kernel[k]);
            /* Sixteen accumulating adders are common where both sum in fp32. */
            assert_true(used[2].dsp <= used[0].dsp + used[1].dsp);
            for (int k = 0; k < 2; k++) {
                assert_true(used[2].dsp >= used[k].dsp && used[2].lut >= used[k].lut);
                assert_true(tn_matmul_fill_cycles(&kernel[2]) >= tn_matmul_fill_cycles(&kernel[k]));
            }
            if (strcmp(names[i], "fp32") == 0 && strcmp(names[j], "bfp16,8,4") == 0)
                assert_int_equal(used[2].dsp, used[0].dsp + used[1].dsp - 16 * kernel[0].lane.sum.dsp);
        }
}

static void impossible_blocks_are_refused(void **state) {
    (void)state;
    const tn_arithmetic wide = test_arithmetic("bfp4097,3,4");
    tn_lane lane;
    assert_int_equal(tn_lane_load(device, &wide, &lane, &error), TN_INPUT);
    assert_non_null(strstr(error.message, "block floating point"));
}

static int begin(void **state) {
    if (test_folder_make(state) != 0) return -1;
    return tn_device_load("u50", NULL, 0, &arena, &device, &error) != TN_OK;
}

static int end(void **state) {
    test_models_end(state);
    tn_arena_free(&arena);
    return test_folder_remove(state);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_lanes_are_operators),
        cmocka_unit_test(integers_follow_from_their_bits),
        cmocka_unit_test(packed_products_come_apart),
        cmocka_unit_test(devices_define_operators),
        cmocka_unit_test(a_device_file_defines_operators),
        cmocka_unit_test(adders_hold_every_sum_of_a_group),
        cmocka_unit_test(group_sums_are_scaled_and_added_in_fp32),
        cmocka_unit_test(conversions_are_as_synthesised),
        cmocka_unit_test(chunks_are_as_wide_as_a_chunk),
        cmocka_unit_test(two_formats_share_their_sums),
        cmocka_unit_test(impossible_blocks_are_refused),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
