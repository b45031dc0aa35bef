/* Vector kernels: cycles against loops played trip by trip, operators against counts made by hand. */
#include "kernel/vector.h"

#include "base/checked.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

static tn_arena arena;
static tn_device *device;
static tn_operator_set operators;

static uint64_t cycles_of(tn_operation_kind kind, uint64_t lanes, uint64_t rows, uint64_t columns) {
    const tn_vector kernel = {.kind = kind, .lanes = lanes, .operators = &operators};
    uint64_t cycles;
    assert_int_equal(tn_vector_cycles(&kernel, rows, columns, &cycles, NULL), TN_OK);
    return cycles;
}

/* A pass played: a trip starts every cycle and is at the end of its operators `depth` cycles later; the next pass starts
 * behind the last. */
static uint64_t loop(uint64_t trips, uint64_t depth) {
    uint64_t end = 0;
    for (uint64_t trip = 0; trip < trips; trip++) end = trip + depth;
    return end;
}

/* FP32 at 5 ns: multiply 4, add 7, compare 2, divide 16, exponential 13, logarithm 16, square root 16. */
static void elementwise_kernels(void **state) {
    (void)state;
    static const struct {
        tn_operation_kind kind;
        uint64_t depth;
    } rows[] = {
        {TN_OP_ADD, 7},
        {TN_OP_GELU, 4 * 4 + 3 * 7 + 16 + 13},
        {TN_OP_GELU_GRADIENT, 7 * 4 + 4 * 7 + 16 + 13},
        {TN_OP_TANH, 2 * 7 + 16 + 13},
        {TN_OP_TANH_GRADIENT, 2 * 4 + 7},
        {TN_OP_UPDATE_SGD, 4 + 7},
        {TN_OP_UPDATE_MOMENTUM, 2 * 4 + 2 * 7},
        {TN_OP_UPDATE_ADAM, 4 * 4 + 3 * 7 + 16 + 16},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_true(tn_operation_is_elementwise(rows[i].kind));
        /* Rows and columns are one: 32 x 7 elements on 4 lanes are 56 trips, not 64. */
        assert_int_equal(cycles_of(rows[i].kind, 4, 32, 7), loop(56, rows[i].depth));
        assert_int_equal(cycles_of(rows[i].kind, 1, 1, 1), loop(1, rows[i].depth));
    }
    assert_int_equal(cycles_of(TN_OP_LOOKUP, 4, 32, 7), loop(64, 1));
}

/* Sums of `terms` on `lanes`, with `outputs` of them taken in turn; the gap between two additions to a sum is
 * at least an addition. Played as in the matmul kernel: outputs dealt to rounds of at least `add` where there
 * are so many. */
static uint64_t sums(uint64_t outputs, uint64_t terms, uint64_t lanes, uint64_t depth, uint64_t add) {
    uint64_t groups = (terms + lanes - 1) / lanes, levels = 0, interval = 1, rounds = outputs / add;
    while (((uint64_t)1 << levels) < lanes) levels++;
    if (rounds == 0) rounds = 1;
    uint64_t open = (outputs + rounds - 1) / rounds, narrow = (outputs + add - 1) / add;
    if (outputs >= add && narrow * add < rounds * open) rounds = narrow, open = add;
    if (groups > 1)
        while (open * interval < add) interval++;
    else
        rounds = outputs, open = 1;
    return rounds * open * groups * interval - 1 + depth + (levels + 1) * add;
}

static void reducing_kernels(void **state) {
    (void)state;
    const uint64_t mul = 4, add = 7, compare = 2, divide = 16, exponential = 13, logarithm = 16, root = 16;
    for (uint64_t rows = 1; rows < 40; rows += 6)
        for (uint64_t columns = 1; columns < 80; columns += 13)
            for (uint64_t v = 1; v <= 8; v *= 2) {
                uint64_t trips = rows * ((columns + v - 1) / v), groups = (columns + v - 1) / v;
                assert_int_equal(cycles_of(TN_OP_SOFTMAX, v, rows, columns),
                                 sums(rows, columns, v, mul, compare) +
                                     sums(rows, columns, v, add + exponential, add) + loop(rows, divide) +
                                     loop(trips, mul));
                assert_int_equal(cycles_of(TN_OP_SOFTMAX_GRADIENT, v, rows, columns),
                                 sums(rows, columns, v, mul, add) + loop(trips, 2 * mul + add));
                assert_int_equal(cycles_of(TN_OP_LAYER_NORM, v, rows, columns),
                                 sums(rows, columns, v, 1, add) + loop(rows, mul) +
                                     sums(rows, columns, v, mul + add, add) +
                                     loop(rows, mul + add + divide + root) + loop(trips, 2 * mul + 2 * add));
                assert_int_equal(cycles_of(TN_OP_LAYER_NORM_GRADIENT, v, rows, columns),
                                 sums(rows, columns, v, 2 * mul + add, add) + loop(rows, mul) +
                                     loop(trips, 3 * mul + 2 * add));
                assert_int_equal(cycles_of(TN_OP_CROSS_ENTROPY, v, rows, columns),
                                 sums(rows, columns, v, 1, compare) +
                                     sums(rows, columns, v, add + exponential, add) +
                                     loop(rows, add + logarithm) + loop(trips, mul + add));
                assert_int_equal(cycles_of(TN_OP_COLUMN_SUM, v, rows, columns),
                                 sums(groups, rows, 1, 1, add));
                assert_int_equal(cycles_of(TN_OP_SCATTER, v, rows, columns), sums(groups, rows, 1, 1, add));
                assert_int_equal(cycles_of(TN_OP_SCALE_GRADIENT, v, rows, columns),
                                 sums(groups, rows, 1, 2 * mul + add, add));
            }
}

/* Softmax on 4 lanes: 4 multiply, 4 subtract + 4 in the tree and accumulator, 4 exponential, 4 compare, 1
 * divide. */
static void resources(void **state) {
    (void)state;
    const tn_vector softmax = {.kind = TN_OP_SOFTMAX, .lanes = 4, .operators = &operators};
    tn_resources used = tn_vector_resources(device, &softmax);
    assert_int_equal(used.dsp, 4 * 3 + 8 * 2 + 4 * 7);
    assert_int_equal(used.lut, 4 * 78 + 8 * 214 + 4 * 900 + 4 * 66 + 800 + 1500);
    /* One unit for both has what softmax needs, and a layer norm's root a row. */
    uint64_t lanes[TN_OPERATION_KINDS] = {[TN_OP_SOFTMAX] = 4, [TN_OP_ADD] = 4};
    tn_resources unit = tn_vector_unit_resources(device, lanes, &operators);
    assert_memory_equal(&unit, &used, sizeof used);
    lanes[TN_OP_LAYER_NORM] = 4;
    unit = tn_vector_unit_resources(device, lanes, &operators);
    assert_true(unit.dsp >= used.dsp && unit.lut >= used.lut + 500);
    const tn_vector lookup = {.kind = TN_OP_LOOKUP, .lanes = 2, .operators = &operators};
    used = tn_vector_resources(device, &lookup);
    assert_int_equal(used.dsp, 0);
    assert_true(tn_vector_uses(TN_OP_SOFTMAX, TN_EXPONENTIAL) && !tn_vector_uses(TN_OP_ADD, TN_EXPONENTIAL));
    assert_int_equal(tn_vector_passes(TN_OP_SOFTMAX), 3);
    assert_int_equal(tn_vector_passes(TN_OP_GELU), 1);
    assert_int_equal(tn_vector_starts(TN_OP_SOFTMAX), 4);
    assert_int_equal(tn_vector_starts(TN_OP_GELU), 1);
}

/* The LUTs of a kernel alone are those of a unit that has no other, its control apart. */
static void lanes_by_lut(void **state) {
    (void)state;
    for (uint64_t unit = 1; unit <= 64; unit *= 4)
        for (uint64_t lane_lut = 0; lane_lut <= 4000; lane_lut += 250)
            for (int kind = TN_OP_LOOKUP; kind < TN_OPERATION_KINDS; kind++) {
                const uint64_t taken = tn_vector_lanes((tn_operation_kind)kind, unit,
                                                       &(tn_lane_means){.lut = lane_lut}, &operators);
                const tn_operation_shape shape = tn_operation_rows[kind].shape;
                uint64_t most = 1, lanes[TN_OPERATION_KINDS] = {0};
                for (uint64_t n = 1; n <= unit; n *= 2) {
                    lanes[kind] = n;
                    const tn_resources alone = tn_vector_unit_resources(device, lanes, &operators);
                    if (alone.lut - device->control.vector_lut <= unit * lane_lut) most = n;
                }
                if (lane_lut == 0 || shape == TN_SHAPE_ADD || shape == TN_SHAPE_LOOKUP ||
                    shape == TN_SHAPE_SCATTER || shape == TN_SHAPE_UPDATE)
                    most = unit;
                assert_int_equal(taken, most);
                /* Both bounds hold. */
                const tn_lane_means both = {5, lane_lut}, dsp = {.dsp = 5};
                assert_int_equal(
                    tn_vector_lanes((tn_operation_kind)kind, unit, &both, &operators),
                    tn_least(taken, tn_vector_lanes((tn_operation_kind)kind, unit, &dsp, &operators)));
            }
}

/* Kernels of different lanes in one unit: DSP blocks counted operator by operator from the texts of their rows, lanes by
 * trying them all. */
static void lanes_by_dsp(void **state) {
    (void)state;
    for (uint64_t unit = 1; unit <= 64; unit *= 2)
        for (uint64_t lane_dsp = 0; lane_dsp <= 48; lane_dsp += 3)
            for (int kind = TN_OP_LOOKUP; kind < TN_OPERATION_KINDS; kind++) {
                const uint64_t wanted = tn_vector_lane_dsp((tn_operation_kind)kind, &operators),
                               taken = tn_vector_lanes((tn_operation_kind)kind, unit,
                                                       &(tn_lane_means){.dsp = lane_dsp}, &operators);
                const tn_operation_shape shape = tn_operation_rows[kind].shape;
                uint64_t most = 1;
                for (uint64_t lanes = 1; lanes <= unit; lanes *= 2)
                    if (lanes * wanted <= unit * lane_dsp) most = lanes;
                if (lane_dsp == 0 || shape == TN_SHAPE_ADD || shape == TN_SHAPE_LOOKUP ||
                    shape == TN_SHAPE_SCATTER || shape == TN_SHAPE_UPDATE)
                    most = unit;
                assert_int_equal(taken, most);
            }
    /* Of a lane of softmax: a product, a sum in its tree beside one in front, an exponential. */
    assert_int_equal(tn_vector_lane_dsp(TN_OP_SOFTMAX, &operators), 3 + 2 * 2 + 7);
    assert_int_equal(tn_vector_lanes(TN_OP_SOFTMAX, 16, &(tn_lane_means){.dsp = 7}, &operators), 8);
    /* Softmax on 8 lanes and additions on 16: 8 products, 16 sums, 8 exponentials. */
    const uint64_t lanes[TN_OPERATION_KINDS] = {[TN_OP_SOFTMAX] = 8, [TN_OP_ADD] = 16};
    assert_int_equal(tn_vector_unit_resources(device, lanes, &operators).dsp, 8 * 3 + 16 * 2 + 8 * 7);
    /* A sum along rows goes through the unit's tree, whatever lanes it takes. */
    const tn_vector narrow = {.kind = TN_OP_SOFTMAX, .lanes = 4, .operators = &operators, .unit = 16},
                    four = {.kind = TN_OP_SOFTMAX, .lanes = 4, .operators = &operators};
    uint64_t here, there;
    assert_int_equal(tn_vector_cycles(&narrow, 64, 64, &here, NULL), TN_OK);
    assert_int_equal(tn_vector_cycles(&four, 64, 64, &there, NULL), TN_OK);
    assert_int_equal(here - there, 2 * (operators.row[TN_ADDER]->stages + operators.row[TN_COMPARE]->stages));
}

static void overflow(void **state) {
    (void)state;
    for (int kind = TN_OP_LOOKUP; kind < TN_OPERATION_KINDS; kind++) {
        const tn_vector kernel = {.kind = (tn_operation_kind)kind, .lanes = 1, .operators = &operators};
        uint64_t cycles;
        assert_int_equal(tn_vector_cycles(&kernel, UINT64_MAX / 2, UINT64_MAX / 2, &cycles, NULL),
                         TN_OVERFLOW);
    }
}

static int begin(void **state) {
    (void)state;
    static const char *const set[] = {"operator_set=hls"};
    if (tn_device_load("u50", set, 1, &arena, &device, NULL) != TN_OK) return 1;
    return tn_operator_set_load(device, &tn_fp32, &operators, NULL) != TN_OK;
}

static int end(void **state) {
    (void)state;
    tn_arena_free(&arena);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elementwise_kernels), cmocka_unit_test(reducing_kernels),
        cmocka_unit_test(resources),           cmocka_unit_test(lanes_by_dsp),
        cmocka_unit_test(lanes_by_lut),        cmocka_unit_test(overflow),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
