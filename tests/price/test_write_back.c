/* Prices of fused steps against those of plain ones: what passes are gone, what lanes and waiting they cost. */
#include "base/memory.h"
#include "design/explain.h"
#include "model/model.h"
#include "price/bound.h"
#include "price/plan.h"
#include "step/fusion.h"
#include "support/prices.h"
#include "support/shared.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

typedef struct {
    tn_arena arena;
    tn_program_cache *cache;
    tn_step step;
    tn_device *device;
    tn_workload *workload;
} priced;

static void begin(const char *model, priced *fixture) {
    tn_model *loaded;
    *fixture = (priced){0};
    assert_int_equal(tn_model_load(model, NULL, 0, &fixture->arena, &loaded, NULL), TN_OK);
    assert_int_equal(tn_program_cache_new(&fixture->cache, NULL), TN_OK);
    assert_int_equal(tn_step_build(loaded, fixture->cache, &fixture->arena, &fixture->step, NULL), TN_OK);
    assert_int_equal(tn_device_load("u50@user-area", NULL, 0, &fixture->arena, &fixture->device, NULL),
                     TN_OK);
    fixture->workload = test_prepare(&fixture->step, fixture->device, &fixture->arena);
}

static void end(priced *fixture) {
    tn_program_cache_free(fixture->cache);
    tn_arena_free(&fixture->arena);
}

/* FP32 at 5 ns: an addition 7; GELU 4 products, 3 additions, a division, an exponential; tanh 2, 1 and 1. */
static uint64_t depth_of(tn_operation_kind kind) {
    return kind == TN_OP_ADD ? 7 : kind == TN_OP_GELU ? 4 * 4 + 3 * 7 + 16 + 13 : 2 * 7 + 16 + 13;
}

/* Ideal layouts, one operation after the other: a pass that is gone took its issues, its depth and 7 cycles; the product
 * that does it takes its depth more. */
static void passes_are_gone(void **state) {
    (void)state;
    priced fixture;
    tn_build build = test_build();
    begin("atis-2enc", &fixture);
    build.layouts = TN_LAID_IDEALLY;
    uint64_t plain = test_price(fixture.workload, &build).cycles_per_step, gone = 0, instead = 0;
    for (uint32_t fusion = TN_FUSION_ADDITIONS; fusion < TN_FUSIONS; fusion++) {
        const tn_step *step;
        build.fusion = fusion;
        assert_int_equal(tn_workload_step(fixture.workload, &build, &step, NULL), TN_OK);
        gone = instead = 0;
        for (uint32_t i = 0, index = 0; i < step->operations; i++, index++)
            for (uint32_t k = 0; k < step->operation[i].fused_count; k++) {
                const tn_operation *pass = &fixture.step.operation[++index];
                uint64_t issues = (pass->rows * pass->columns + build.vector - 1) / build.vector;
                gone += issues - 1 + depth_of(pass->kind) + 7;
                instead += depth_of(pass->kind);
            }
        assert_true(gone > 0);
        assert_int_equal(test_price(fixture.workload, &build).cycles_per_step, plain - gone + instead);
    }
    end(&fixture);
}

/* A lane for each of 4 x 4 results: two adders for a bias and a residual; three more and the rest of a GELU with a bias. */
static void lanes_are_paid(void **state) {
    (void)state;
    priced fixture;
    tn_build build = test_build();
    const tn_operator_row *row[TN_OPERATORS];
    begin("atis-2enc", &fixture);
    for (int kind = 0; kind < TN_OPERATORS; kind++)
        assert_int_equal(tn_device_operator(fixture.device, &tn_fp32, (tn_operator)kind, &row[kind], NULL),
                         TN_OK);
    const uint64_t dsp[] = {[TN_FUSION_ADDITIONS] = 16 * 2 * row[TN_ADDER]->dsp,
                            [TN_FUSION_WRITE_BACK] =
                                16 * (4 * row[TN_MULTIPLY]->dsp + 4 * row[TN_ADDER]->dsp +
                                      row[TN_DIVIDE]->dsp + row[TN_EXPONENTIAL]->dsp)};
    for (uint32_t fusion = TN_FUSION_ADDITIONS; fusion < TN_FUSIONS; fusion++) {
        build.fusion = fusion;
        tn_explanation told = test_explain(fixture.workload, &build, &fixture.arena);
        const tn_kernel_line *line = NULL;
        for (uint32_t i = 0; i < told.kernels; i++)
            if (told.kernel[i].lanes == 16) line = &told.kernel[i];
        assert_non_null(line);
        assert_string_equal(line->name, "write-back");
        assert_int_equal(line->used.dsp, dsp[fusion]);
        /* two arrays of 16 elements wait for sums of 4 + 3 x 7 cycles: a LUT holds 32 places of a bit */
        assert_true(line->used.lut >= 2 * 16 * 32);
    }
    end(&fixture);
}

/* On any build: no bound is above the price, what is explained is the price, and its kernels and memories are all of it. */
static void sums_hold(void **state) {
    (void)state;
    priced fixture;
    uint64_t seed = 7;
    begin(test_source("tests/rtl/data/kernels.yaml"), &fixture);
    for (int i = 0; i < 60; i++) {
        tn_build build = test_random_build(&seed);
        build.off_chip_over_bytes = build.off_chip_over_bytes ? 40 : 0;
        build.off_chip_tile_bytes = i % 2 ? 64 : 0;
        build.fusion = (uint32_t)i % 3;
        tn_price bound, price = test_price(fixture.workload, &build);
        bool exact;
        assert_int_equal(tn_price_bound(fixture.workload, &build, &bound, &exact, NULL), TN_OK);
        assert_true(bound.cycles_per_step <= price.cycles_per_step);
        assert_true(bound.used.dsp <= price.used.dsp && bound.used.bram18 <= price.used.bram18);
        tn_explanation told = test_explain(fixture.workload, &build, &fixture.arena);
        assert_int_equal(told.price.cycles_per_step, price.cycles_per_step);
        assert_true(told.price.joules_per_step == price.joules_per_step);
        tn_resources sum = {0};
        for (uint32_t k = 0; k < told.kernels; k++) tn_resources_add(&sum, &told.kernel[k].used, 1);
        assert_int_equal(sum.dsp, price.used.dsp);
        assert_int_equal(sum.ff, price.used.ff);
        for (uint32_t m = 0; m < told.memories; m++) sum.lut += told.memory[m].placed.blocks.lutram;
        assert_int_equal(sum.lut, price.used.lut);
        assert_int_equal(told.items, told.step->operations);
        assert_true((told.fused_lines > 0) == (build.fusion > 0));
    }
    end(&fixture);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(passes_are_gone), cmocka_unit_test(lanes_are_paid),
                                       cmocka_unit_test(sums_hold)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
