/* A systolic array as the kernel of a build: cycles of the RTL, of the worked three passes, of cells with slow adders played
 * by hand, and designs priced with it. */
#include "kernel/array_kernel.h"
#include "price/price.h"
#include "support/formats.h"
#include "support/models.h"
#include "support/shared.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Cells whose multiplier takes no cycle of its own: with an adder of one they multiply and add in a cycle, as the RTL's. */
static tn_matmul cells(uint64_t rows, uint64_t columns, uint64_t add_cycles) {
    return (tn_matmul){rows,
                       columns,
                       1,
                       {.multiply = {.stages = 0}, .sum = {.stages = add_cycles}, .group = 1, .packed = 1},
                       true};
}

static uint64_t cycles_of(const tn_matmul *kernel, tn_phase phase, uint64_t rows, uint64_t reduction,
                          uint64_t columns) {
    const tn_product_size size = {1, rows, reduction, columns};
    tn_array_time time;
    assert_int_equal(tn_array_kernel_cycles(kernel, phase, &size, &time, NULL), TN_OK);
    return time.cycles;
}

/* Forward and weight gradients of cells that multiply and add in a cycle. Results leave as whole rows, so columns that a
 * product's last tile has not are waited for. */
static void cycles_are_those_of_the_rtl(void **state) {
    (void)state;
    const char *path = test_shared_or_skip("oracles/systolic/rtl_cycles.csv");
    FILE *file = fopen(path, "r");
    char line[256];
    int rows = 0;
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) {
        char dataflow[64];
        unsigned long r, c, m, k, n, cycles;
        if (sscanf(line, "%63[^,],%lu,%lu,%lu,%lu,%lu,%lu", dataflow, &r, &c, &m, &k, &n, &cycles) != 7)
            continue;
        bool forward = strcmp(dataflow, "ws_serial") == 0;
        if (!forward && strcmp(dataflow, "os_serial") != 0) continue;
        const tn_matmul kernel = cells(r, c, 1);
        if (forward) cycles += (c - n % c) % c;
        assert_int_equal(cycles_of(&kernel, forward ? TN_FORWARD : TN_WEIGHT_GRADIENT, m, k, n), cycles);
        rows++;
    }
    fclose(file);
    assert_true(rows >= 10);
}

static void worked_passes(void **state) {
    (void)state;
    const tn_matmul kernel = cells(16, 16, 1);
    assert_int_equal(cycles_of(&kernel, TN_FORWARD, 32, 16, 16), 78);
    /* 62 with the weights where the forward pass left them (kernel/systolic.h); here they are loaded, 16 rows. */
    assert_int_equal(cycles_of(&kernel, TN_INPUT_GRADIENT, 32, 16, 16), 62 + 16);
    /* dW = X^T dY: as many rows as the layer has inputs, a term for each token. */
    assert_int_equal(cycles_of(&kernel, TN_WEIGHT_GRADIENT, 16, 32, 16), 78);
}

/* When each sum of a tile leaves, by walking along the cells: operands enter row r at cycle r, a cell takes one of every
 * cycle and hands its sum on `wait` cycles later. */
static uint64_t walk_forward(uint64_t rows, uint64_t columns, uint64_t vectors, uint64_t wait) {
    uint64_t last = 0;
    for (uint64_t v = 0; v < vectors; v++)
        for (uint64_t c = 0; c < columns; c++) {
            uint64_t ready =
                rows + v + c; /* behind the load; a value moves on to the next column in a cycle */
            for (uint64_t r = 0; r < rows; r++) ready += wait;
            if (ready > last) last = ready;
        }
    return last;
}

static void slow_adders(void **state) {
    (void)state;
    for (uint64_t rows = 1; rows <= 9; rows += 2)
        for (uint64_t columns = 1; columns <= 9; columns += 4)
            for (uint64_t wait = 1; wait <= 7; wait += 3) {
                const tn_matmul kernel = cells(rows, columns, wait);
                uint64_t played = walk_forward(rows, columns, 12, wait);
                assert_int_equal(cycles_of(&kernel, TN_FORWARD, 12, rows, columns), played);
                /* Each of 12 terms holds its cell for as long as an addition takes, and comes at that time's end. */
                const tn_matmul quick = cells(rows, columns, 1);
                assert_int_equal(cycles_of(&kernel, TN_WEIGHT_GRADIENT, rows, 12, columns),
                                 cycles_of(&quick, TN_WEIGHT_GRADIENT, rows, 12, columns) + 13 * (wait - 1));
            }
}

/* A step on an array: each pass of its products by its dataflow, and fewer loads and no transposition in the input
 * gradients. */
static void priced_in_a_build(void **state) {
    tn_arena arena = {0};
    tn_device *device;
    tn_build build;
    tn_price lanes, array;
    const char *dense = "format=dense";
    tn_workload *workload;
    tn_model *model = test_model_loaded("atis-2enc", dense, &arena);
    const tn_step step = test_step_of(model, &arena);
    assert_int_equal(tn_device_load("u50", NULL, 0, &arena, &device, NULL), TN_OK);
    assert_int_equal(tn_build_decode(NULL, &arena, &build, NULL), TN_OK);
    build.rows = build.columns = 8;
    build.reduction = 1;
    build.layouts = TN_LAID_IDEALLY;
    assert_int_equal(tn_workload_prepare(&step, device, &arena, &workload, NULL), TN_OK);
    assert_int_equal(tn_price_step(workload, &build, &lanes, NULL), TN_OK);
    build.array = TN_ARRAY_SYSTOLIC;
    assert_int_equal(tn_price_step(workload, &build, &array, NULL), TN_OK);
    uint64_t difference = 0, whole = 0;
    tn_lane lane;
    const tn_arithmetic fp32 = test_arithmetic("fp32");
    assert_int_equal(tn_lane_load(device, &fp32, &lane, NULL), TN_OK);
    const tn_matmul kernel = {8, 8, 1, lane, true};
    for (uint32_t i = 0; i < step.operations; i++) {
        const tn_operation *o = &step.operation[i];
        if (o->kind != TN_OP_PRODUCT) continue;
        const tn_product_size size = {o->batch, o->rows, o->reduction, o->columns};
        tn_array_time on_array;
        tn_matmul_time on_lanes;
        assert_int_equal(tn_array_kernel_cycles(&kernel, o->phase, &size, &on_array, NULL), TN_OK);
        assert_int_equal(tn_matmul_cycles(&kernel, &size, &on_lanes, NULL), TN_OK);
        difference += on_array.cycles;
        whole += on_lanes.cycles;
    }
    assert_int_equal(array.cycles_per_step - difference, lanes.cycles_per_step - whole);
    build.reduction = 2;
    tn_error error = {0};
    assert_int_equal(tn_price_step(workload, &build, &array, &error), TN_INPUT);
    assert_non_null(strstr(error.message, "reduction"));
    test_models_end(state);
    tn_arena_free(&arena);
}

/* More vectors than sums wait for go in rounds, each of which loads its weights. */
static void rounds(void **state) {
    (void)state;
    const tn_matmul kernel = cells(4, 4, 1);
    const uint64_t each = cycles_of(&kernel, TN_FORWARD, 300, 8, 4);
    assert_int_equal(tn_array_open(600), 300);
    assert_int_equal(tn_array_open(TN_ARRAY_SLOTS), TN_ARRAY_SLOTS);
    assert_int_equal(cycles_of(&kernel, TN_FORWARD, 600, 8, 4), 2 * each);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cycles_are_those_of_the_rtl),
        cmocka_unit_test(worked_passes),
        cmocka_unit_test(slow_adders),
        cmocka_unit_test(rounds),
        cmocka_unit_test(priced_in_a_build),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
