/* Explanations: sums that must add up, energy recomputed from kernels and memories, misfits, doubts, and
 * steps that were transformed. */
#include "design/explain.h"
#include "device/device_data.h"
#include "price/plan.h"
#include "support/formats.h"
#include "support/prices.h"
#include "support/steps.h"

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

static void explanation_adds_up(void **state) {
    (void)state;
    tn_device *generated; /* whose deep memories have multiplexers between rows of blocks */
    assert_int_equal(tn_device_load("u50", NULL, 0, &arena, &generated, NULL), TN_OK);
    const tn_step *step = test_step_trains(4, 12, &arena);
    uint64_t seed = 5;
    for (int i = 0; i < 60; i++) {
        tn_workload *workload = test_prepare(step, i % 2 ? generated : device, &arena);
        tn_build build = test_random_build(&seed);
        tn_explanation told = test_explain(workload, &build, &arena);
        tn_resources used = {0};
        uint64_t critical = 0, operations = 0, last = 0;
        for (uint32_t k = 0; k < told.kernels; k++) {
            tn_resources_add(&used, &told.kernel[k].used, 1);
            critical += told.kernel[k].critical_cycles;
            operations += told.kernel[k].operations;
            assert_true(told.kernel[k].utilisation > 0 && told.kernel[k].utilisation <= 1);
            assert_true(told.kernel[k].filled >= 0 && told.kernel[k].filled <= 1);
        }
        for (uint32_t m = 0; m < told.memories; m++) {
            const tn_blocks *blocks = &told.memory[m].placed.blocks;
            const tn_resources taken = {
                .lut = blocks->lutram, .bram18 = blocks->bram18 + 2 * blocks->bram36, .uram = blocks->uram};
            tn_resources_add(&used, &taken, 1);
            assert_true(told.memory[m].placed.stored_bits <= told.memory[m].placed.capacity_bits);
        }
        /* With kernels per phase, one that has nothing to do is built all the same only if its phase has
         * products. */
        assert_memory_equal(&used, &told.price.used, sizeof used);
        assert_int_equal(critical, told.price.cycles_per_step);
        assert_int_equal(operations, told.items);
        for (uint32_t t = 0; t < told.items; t++)
            if (told.item[t].finish > last) last = told.item[t].finish;
        assert_int_equal(last, told.price.cycles_per_step);
        assert_non_null(strstr(told.bound, "of the critical path"));
    }
}

/* The energy of every part, recomputed from kernels and memories as the device file says. */
static void energy_again(void **state) {
    (void)state;
    tn_workload *workload = test_prepare(test_step_trains(2, 12, &arena), device, &arena);
    tn_build build = test_build();
    build.core_memory = build.activation_memory = TN_STYLE_BLOCK;
    tn_explanation told = test_explain(workload, &build, &arena);
    double cycles = (double)told.price.cycles_per_step, square = 0.85 * 0.85, kernels = 0, blocks = 0,
           sum = 0;
    for (uint32_t k = 0; k < told.kernels; k++) {
        const tn_resources *used = &told.kernel[k].used;
        double pF = (0.3 * (double)used->lut + 0.1 * (double)used->ff) * 4.75 + 55 * (double)used->dsp;
        double busy = (double)told.kernel[k].busy_cycles;
        kernels += pF * square * (0.125 * busy + 0.02 * (cycles - busy)) * 1e-12;
    }
    for (uint32_t m = 0; m < told.memories; m++)
        blocks += (30 * (double)told.memory[m].placed.blocks.bram18 +
                   0.3 * 4.75 * (double)told.memory[m].placed.blocks.lutram) *
                  square * 0.02 * cycles * 1e-12;
    assert_true(fabs(told.joules[TN_ENERGY_STATIC] - 14.8 * told.price.seconds_per_step) < 1e-12);
    assert_true(fabs(told.joules[TN_ENERGY_KERNELS] - kernels) < 1e-9 * kernels);
    assert_true(fabs(told.joules[TN_ENERGY_MEMORY_BLOCKS] - blocks) < 1e-9 * blocks);
    const double clock = 0.044e-12 * square * (double)told.price.used.ff * cycles;
    assert_true(fabs(told.joules[TN_ENERGY_CLOCK] - clock) < 1e-9 * clock);
    assert_true(told.joules[TN_ENERGY_MEMORY_ACCESSES] > 0 && told.joules[TN_ENERGY_OFF_CHIP] == 0);
    for (int part = 0; part < TN_ENERGY_PARTS; part++) sum += told.joules[part];
    assert_true(fabs(sum - told.price.joules_per_step) < 1e-12 * sum);
    assert_true(fabs(told.price.watts - sum / told.price.seconds_per_step) < 1e-9);
}

/* Words moved by one product: 6 x 5 sums of 4 terms on 2 x 2 x 2: 18 issues... of 2x2 and 2x2 words, 30
 * written. */
static void accesses_of_one_product(void **state) {
    (void)state;
    test_step made;
    test_step_begin(&made, "one", &arena);
    uint32_t a = test_step_array(&made, TN_ARRAY_ACTIVATION, 24, false);
    uint32_t b = test_step_array(&made, TN_ARRAY_ACTIVATION, 20, false);
    uint32_t c = test_step_array(&made, TN_ARRAY_ACTIVATION, 30, false);
    test_step_product(&made, TN_FORWARD, a, b, c, 6, 4, 5);
    tn_build build = test_build();
    build.rows = build.columns = build.reduction = 2;
    build.activation_memory = TN_STYLE_BLOCK;
    tn_explanation told = test_explain(test_prepare(test_step_end(&made), device, &arena), &build, &arena);
    /* 3 x 3 tiles, 2 groups of terms each; all 9 tiles are open at once. */
    double words = 18 * (2 * 2 + 2 * 2) + 30;
    assert_true(fabs(told.joules[TN_ENERGY_MEMORY_ACCESSES] - words * 32 * 0.156e-12) < 1e-20);
    assert_int_equal(told.price.cycles_per_step, 17 + 4 + 2 * 7 + 6);
}

static bool doubts(const tn_explanation *told, const char *name) {
    for (uint32_t i = 0; i < told->unverified_count; i++)
        if (strcmp(told->unverified[i], name) == 0) return true;
    return false;
}

static void unverified_figures(void **state) {
    (void)state;
    const tn_step *step = test_step_trains(1, 4, &arena);
    tn_build build = test_build();
    tn_explanation told = test_explain(test_prepare(step, device, &arena), &build, &arena);
    assert_true(doubts(&told, "energy.static_W") && doubts(&told, "operators.fp32-add-5ns"));
    assert_true(doubts(&told, "control.vector_lut") && doubts(&told, "operators.fp32-exponential-5ns"));
    /* Confirmed, or not used here. */
    assert_false(doubts(&told, "operators.fp32-multiply-5ns") ||
                 doubts(&told, "operators.fp32-square-root-5ns"));
    assert_false(doubts(&told, "external.hbm2.latency_ns") || doubts(&told, "resources"));
    build.off_chip_over_bytes = 1000;
    told = test_explain(test_prepare(step, device, &arena), &build, &arena);
    assert_true(doubts(&told, "external.hbm2.latency_ns") && !doubts(&told, "external.hbm2"));
    assert_false(doubts(&told, "external.hbm2.channels")); /* as the vendor's guide says */
    const char *const set[] = {"operator_set=hls", "energy.static_W.origin=measured"};
    tn_device *own;
    assert_int_equal(tn_device_load("u50@slr0", set, 2, &arena, &own, NULL), TN_OK);
    told = test_explain(test_prepare(step, own, &arena), &build, &arena);
    assert_false(doubts(&told, "energy.static_W"));
    assert_true(doubts(&told, "resources.ff"));
}

static void misfits(void **state) {
    (void)state;
    tn_workload *workload = test_prepare(test_step_trains(14, 12, &arena), device, &arena);
    tn_build build = test_build();
    build.rows = build.columns = build.reduction = 16;
    build.group = 1;
    build.core_memory = build.activation_memory = TN_STYLE_BLOCK;
    tn_explanation told = test_explain(workload, &build, &arena);
    assert_int_equal(told.price.misfits, 1 << TN_LUT | 1 << TN_DSP | 1 << TN_BRAM18);
    assert_int_equal(told.misfits, 3);
    for (uint32_t i = 0; i < told.misfits; i++) {
        const tn_misfit *misfit = &told.misfit[i];
        assert_true(misfit->needed > misfit->available && misfit->count > 0);
        for (uint32_t j = 1; j < misfit->count; j++) assert_true(misfit->amount[j] <= misfit->amount[j - 1]);
    }
    assert_string_equal(told.misfit[1].largest[0], "matmul");
    assert_int_equal(told.misfit[1].amount[0], 16 * 16 * 16 * 5);
    uint64_t greatest = 0;
    for (uint32_t m = 0; m < told.memories; m++)
        if (told.memory[m].placed.blocks.bram18 > greatest) greatest = told.memory[m].placed.blocks.bram18;
    assert_int_equal(told.misfit[2].amount[0], greatest);
}

static void floor_of_a_step(void **state) {
    (void)state;
    const tn_step *step = test_step_trains(2, 12, &arena);
    tn_step counted = *step;
    for (uint32_t i = 0; i < step->operations; i++)
        counted.macs[step->operation[i].phase] += step->operation[i].macs;
    tn_build build = test_build();
    tn_explanation told = test_explain(test_prepare(&counted, device, &arena), &build, &arena);
    /* Five DSP blocks a multiply-add. */
    uint64_t macs = counted.macs[0] + counted.macs[1] + counted.macs[2];
    assert_int_equal(told.floor_cycles, (macs * 5 + 5947) / 5948);
    assert_true(told.floor_cycles < told.price.cycles_per_step);
}

/* Precision, sparsity and recomputation are changes of the list of operations; no kernel knows of them. */
static void transformations(void **state) {
    (void)state;
    const tn_arithmetic bfp = test_arithmetic("bfp16,3,4");
    const tn_step *step = test_step_trains(2, 12, &arena);
    tn_build build = test_build();
    build.kernels = 2;
    tn_price plain = test_price(test_prepare(step, device, &arena), &build);
    tn_step changed = *step;
    assert_int_equal(TN_NEW(&arena, 2 * step->operations, &changed.operation, NULL), TN_OK);
    /* Weight gradients in block floating point: a kernel of its own, cheaper than the other. */
    memcpy(changed.operation, step->operation, step->operations * sizeof *step->operation);
    for (uint32_t i = 0; i < step->operations; i++)
        if (step->operation[i].phase == TN_WEIGHT_GRADIENT) changed.operation[i].arithmetic = &bfp;
    tn_workload *workload = test_prepare(&changed, device, &arena);
    for (build.sharing = 0; build.sharing < 2; build.sharing++) {
        tn_explanation told = test_explain(workload, &build, &arena);
        unsigned matmuls = 0, blocks = 0;
        for (uint32_t k = 0; k < told.kernels; k++) {
            if (!strstr(told.kernel[k].name, "matmul")) continue;
            matmuls++;
            bool block = strstr(told.kernel[k].name, "bfp16,3,4") != NULL;
            blocks += block;
            assert_int_equal(told.kernel[k].count, 2);
            /* Two of 5 x 5 bits a DSP block, one fp32 adder for each of 16 sums. */
            assert_int_equal(told.kernel[k].used.dsp, 2 * (block ? 32 + 16 * 2 : 64 * 5));
        }
        assert_int_equal(matmuls, build.sharing ? 3 : 2);
        assert_int_equal(blocks, 1);
        assert_int_equal(told.unverified_count > 0, true);
    }
    build.sharing = TN_SHARED;
    /* Half of the terms of every sum left out. */
    memcpy(changed.operation, step->operation, step->operations * sizeof *step->operation);
    for (uint32_t i = 0; i < step->operations; i++)
        changed.operation[i].reduction = (step->operation[i].reduction + 1) / 2;
    assert_true(test_price(test_prepare(&changed, device, &arena), &build).cycles_per_step <
                plain.cycles_per_step);
    /* Every forward operation once more before the rest. */
    uint32_t count = 0, forward = 0;
    uint64_t again = 0;
    while (step->operation[forward].phase == TN_FORWARD) forward++;
    for (uint32_t i = 0; i < forward; i++) changed.operation[count++] = step->operation[i];
    for (uint32_t i = 0; i < step->operations; i++) changed.operation[count++] = step->operation[i];
    changed.operations = count;
    for (uint32_t i = 0; i < count; i++) {
        changed.operation[i].after_count = 0;
        changed.operation[i].after = NULL;
    }
    workload = test_prepare(&changed, device, &arena);
    tn_explanation told = test_explain(workload, &build, &arena);
    for (uint32_t i = 0; i < forward; i++) again += told.item[i].finish - told.item[i].start;
    assert_int_equal(told.price.cycles_per_step, plain.cycles_per_step + again);
}

/* A device whose figures of energy lie anywhere in their ranges prices the same build between the bounds that
 * the explanation tells, and on the bounds at the ends. */
static void energy_range_holds(void **state) {
    static const char *const key[] = {
        "static_W", "voltage_V",       "toggle",          "idle_toggle",      "lut_pF",
        "ff_pF",    "dsp_pF",          "bram18_pF",       "uram_pF",          "wires",
        "clock_pF", "bram_pJ_per_bit", "uram_pJ_per_bit", "lutram_pJ_per_bit"};
    enum { KEYS = sizeof key / sizeof *key, TRIALS = 12 };
    (void)state;
    assert_int_equal(KEYS, TN_ENERGY_FIGURES);
    tn_build build = test_build();
    const tn_step *step = test_step_trains(2, 12, &arena);
    tn_explanation told = test_explain(test_prepare(step, device, &arena), &build, &arena);
    double least = 0, most = 0;
    for (int part = 0; part < TN_ENERGY_PARTS; part++) {
        assert_true(told.least_joules[part] <= told.joules[part] &&
                    told.joules[part] <= told.most_joules[part]);
        least += told.least_joules[part];
        most += told.most_joules[part];
    }
    tn_sourced figure[TN_ENERGY_FIGURES];
    memcpy(figure, told.coefficients, sizeof figure);
    for (int trial = 0; trial < TRIALS; trial++) {
        char text[TN_ENERGY_FIGURES][64];
        const char *set[TN_ENERGY_FIGURES + 1] = {"operator_set=hls"};
        for (int i = 0; i < KEYS; i++) {
            double low, high, share = trial < 2 ? trial : (double)((trial * 7 + i * 5) % 11) / 10;
            tn_figure_range(&figure[i], &low, &high);
            snprintf(text[i], sizeof text[i], "energy.%s.value=%.17g", key[i], low + share * (high - low));
            set[i + 1] = text[i];
        }
        tn_device *other;
        tn_price price;
        assert_int_equal(tn_device_load("u50", set, KEYS + 1, &arena, &other, NULL), TN_OK);
        assert_int_equal(tn_price_step(test_prepare(step, other, &arena), &build, &price, NULL), TN_OK);
        assert_true(price.joules_per_step >= least * (1 - 1e-9));
        assert_true(price.joules_per_step <= most * (1 + 1e-9));
        if (trial == 0) assert_true(fabs(price.joules_per_step / least - 1) < 1e-9);
        if (trial == 1) assert_true(fabs(price.joules_per_step / most - 1) < 1e-9);
    }
}

/* Every FPGA that ships says its own power at rest with an origin and what it may be. */
static void every_device_has_static_figures(void **state) {
    static const char *const name[] = {"u50", "u280", "u55c", "kv260", "pynq-z2", "zcu102", "vck190"};
    (void)state;
    for (size_t i = 0; i < sizeof name / sizeof *name; i++) {
        tn_device *other;
        double low, high;
        assert_int_equal(tn_device_load(name[i], NULL, 0, &arena, &other, NULL), TN_OK);
        const tn_sourced *figure = &other->energy.static_W;
        tn_figure_range(figure, &low, &high);
        assert_true(figure->source && figure->least > 0 && figure->most > figure->least);
        assert_true(low <= figure->value && figure->value <= high);
    }
}

static int begin(void **state) {
    (void)state;
    static const char *const set[] = {"operator_set=hls"}; /* whose rows are of several origins */
    return tn_device_load("u50", set, 1, &arena, &device, NULL) != TN_OK;
}

static int end(void **state) {
    (void)state;
    tn_arena_free(&arena);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(explanation_adds_up),
        cmocka_unit_test(energy_again),
        cmocka_unit_test(energy_range_holds),
        cmocka_unit_test(every_device_has_static_figures),
        cmocka_unit_test(accesses_of_one_product),
        cmocka_unit_test(unverified_figures),
        cmocka_unit_test(misfits),
        cmocka_unit_test(floor_of_a_step),
        cmocka_unit_test(transformations),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
