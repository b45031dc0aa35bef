/* The parts between the device's floor and a step: they sum to the step's cycles whatever the build, each is as large as
 * the page says it is at least, and those that can be counted apart are counted apart. */
#include "device/device_data.h"
#include "support/models.h"
#include "support/prices.h"
#include "support/shared.h"
#include "support/steps.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static tn_arena arena;
static tn_device *device;

static bool is_sequential(const tn_build *build) {
    return build->schedule == TN_SCHEDULE_SEQUENTIAL;
}

/* Multiply-adds of each operation over the engine's, rounded up, counted from the step. */
static int64_t engine_cycles(const tn_step *step, const tn_build *build) {
    const uint64_t lanes = build->rows * build->columns * build->reduction;
    int64_t sum = 0;
    for (uint32_t i = 0; i < step->operations; i++)
        sum += (int64_t)((step->operation[i].macs + lanes - 1) / lanes);
    return sum;
}

static void check(tn_workload *workload, const tn_build *build) {
    tn_arena scratch = {0};
    const tn_explanation told = test_explain(workload, build, &scratch);
    const tn_fall_line *fall = told.fall;
    const bool moves = told.price.off_chip_bytes > 0;
    int64_t sum = 0, busy = 0;
    for (int part = 0; part < TN_FALLS; part++) {
        sum += fall[part].cycles;
        assert_int_equal(fall[part].reached, sum);
        assert_non_null(fall[part].part);
        assert_non_null(fall[part].keys);
        for (uint32_t g = 1; g < fall[part].groups; g++)
            assert_true(llabs(fall[part].group[g].cycles) <= llabs(fall[part].group[g - 1].cycles));
    }
    assert_int_equal(sum, (int64_t)told.price.cycles_per_step);
    assert_int_equal(fall[TN_FALL_FLOOR].cycles + fall[TN_FALL_ENGINE].cycles,
                     engine_cycles(told.step, build));
    assert_true(fall[TN_FALL_EDGES].cycles >= 0 && fall[TN_FALL_SUMS].cycles >= 0);
    assert_true(fall[TN_FALL_SUMS].cycles + fall[TN_FALL_LAYOUTS].cycles >= 0);
    for (int part = TN_FALL_DRAINS; part < TN_FALL_BESIDE; part++) assert_true(fall[part].cycles >= 0);
    if (!moves) assert_int_equal(fall[TN_FALL_MOVES].cycles, 0);
    if (build->layouts == TN_LAID_IDEALLY) {
        assert_int_equal(fall[TN_FALL_LAYOUTS].cycles, 0);
        assert_int_equal(fall[TN_FALL_VECTOR_LAYOUTS].cycles, 0);
    }
    for (uint32_t i = 0; i < told.items; i++) busy += (int64_t)(told.item[i].finish - told.item[i].start);
    if (is_sequential(build)) assert_int_equal(fall[TN_FALL_BESIDE].cycles, 0);
    if (build->schedule != TN_SCHEDULE_PIPELINED) {
        assert_int_equal(fall[TN_FALL_BESIDE].cycles, (int64_t)told.price.cycles_per_step - busy);
        assert_true(fall[TN_FALL_BESIDE].cycles <= 0);
    }
    tn_arena_free(&scratch);
}

static void random_builds(void **state) {
    uint64_t seed = 26;
    tn_workload *workload[] = {test_prepare(test_step_trains(2, 12, &arena), device, &arena), NULL, NULL,
                               NULL};
    static const char *const name[] = {"transformer", "branches", "decoder"};
    (void)state;
    for (int i = 0; i < 3; i++) {
        tn_step *step;
        assert_int_equal(TN_NEW(&arena, 1, &step, NULL), TN_OK);
        *step = test_step_of(test_model_named(name[i], &arena), &arena);
        workload[i + 1] = test_prepare(step, device, &arena);
    }
    for (int i = 0; i < 200; i++) {
        tn_build build = test_random_build(&seed);
        build.fusion = (uint32_t)test_draw(&seed, TN_FUSIONS);
        if (test_draw(&seed, 8) == 0) {
            build.array = TN_ARRAY_SYSTOLIC;
            build.reduction = 1;
        }
        check(workload[i % 4], &build);
    }
}

/* Every model that ships and trains on an FPGA; the largest ideally, as its layouts take minutes. */
static void shipped_models(void **state) {
    static const struct {
        const char *name;
        bool large;
    } model[] = {{"atis-2enc", false},    {"atis-4enc", false},   {"atis-6enc", false},
                 {"byte-decoder", false}, {"encoder-512", false}, {"vit-b", true}};
    (void)state;
    for (size_t i = 0; i < sizeof model / sizeof *model; i++) {
        tn_step *step;
        const tn_model *loaded = test_model_loaded(model[i].name, NULL, &arena);
        tn_build build;
        assert_int_equal(tn_build_decode(tn_model_build(loaded), &arena, &build, NULL), TN_OK);
        if (model[i].large) build.layouts = TN_LAID_IDEALLY;
        assert_int_equal(TN_NEW(&arena, 1, &step, NULL), TN_OK);
        *step = test_step_of(loaded, &arena);
        check(test_prepare(step, device, &arena), &build);
    }
}

static int begin(void **state) {
    (void)state;
    return tn_device_load("u50", NULL, 0, &arena, &device, NULL) != TN_OK;
}

static int end(void **state) {
    tn_arena_free(&arena);
    return test_models_end(state);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_builds),
        cmocka_unit_test(shipped_models),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
