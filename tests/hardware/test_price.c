/* Prices: against sums made operation by operation, independence of what was priced before, agreement of the
 * two levels, energy made again from the explanation, misfits, doubts and refusals. */
#include "base/memory.h"
#include "hardware/explain.h"
#include "hardware/workload.h"
#include "model/model.h"
#include "support/steps.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static tn_arena arena;
static tn_device *device;

static tn_build default_build(void) {
    tn_build build;
    assert_int_equal(tn_build_decode(NULL, &arena, &build, NULL), TN_OK);
    return build;
}

static tn_workload *prepare(const tn_step *step, const tn_device *on) {
    tn_workload *workload;
    tn_error error;
    if (tn_workload_prepare(step, on, &arena, &workload, &error) != TN_OK) fail_msg("%s", error.message);
    return workload;
}

static tn_price price_of(tn_workload *workload, const tn_build *build) {
    tn_price price;
    tn_error error;
    if (tn_price_step(workload, build, &price, &error) != TN_OK) fail_msg("%s", error.message);
    return price;
}

static tn_explanation explain(tn_workload *workload, const tn_build *build) {
    tn_explanation explanation;
    tn_error error;
    if (tn_price_explain(workload, build, &arena, &explanation, &error) != TN_OK)
        fail_msg("%s", error.message);
    return explanation;
}

/* One operation after the other, no merging of equal ones. */
static void sequential_sum(void **state) {
    (void)state;
    const tn_step *step = test_step_trains(3, 12, &arena);
    tn_workload *workload = prepare(step, device);
    tn_operator_set set;
    assert_int_equal(tn_operator_set_load(device, TN_FP32, &set, NULL), TN_OK);
    tn_build build = default_build();
    for (build.rows = 1; build.rows <= 16; build.rows *= 4)
        for (build.vector = 1; build.vector <= 8; build.vector *= 8) {
            const tn_lane lane = {.multiply.stages = 4, .sum.stages = 7, .group = 1};
            const tn_matmul kernel = {build.rows, build.columns, build.reduction, lane};
            uint64_t sum = 0;
            for (uint32_t i = 0; i < step->operations; i++) {
                const tn_operation *operation = &step->operation[i];
                const tn_product_size size = {operation->batch, operation->rows, operation->reduction,
                                              operation->columns};
                const tn_vector vector = {tn_vector_of(step, operation), build.vector, &set};
                tn_matmul_time time = {0};
                if (operation->kind == TN_OP_PRODUCT)
                    assert_int_equal(tn_matmul_cycles(&kernel, &size, &time, NULL), TN_OK);
                else
                    assert_int_equal(
                        tn_vector_cycles(&vector, operation->rows, operation->columns, &time.cycles, NULL),
                        TN_OK);
                sum += time.cycles;
            }
            tn_price price = price_of(workload, &build);
            assert_int_equal(price.cycles_per_step, sum);
            assert_true(price.seconds_per_step == (double)sum / 200e6);
        }
}

static uint64_t draw(uint64_t *state, uint64_t bound) {
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (*state >> 33) % bound;
}

static tn_build random_build(uint64_t *state) {
    tn_build build = default_build();
    build.rows = 1 + draw(state, 4);
    build.columns = 1 + draw(state, 4);
    build.reduction = (uint64_t)1 << draw(state, 4);
    build.vector = 1 + draw(state, 4);
    build.kernels = 1 + draw(state, 2);
    build.group = 1 + draw(state, 8);
    build.read_ports = 1 + draw(state, 2);
    build.blocks = 1 + draw(state, 4);
    build.sharing = (uint32_t)draw(state, 2);
    build.core_memory = (uint32_t)draw(state, 4);
    build.activation_memory = (uint32_t)draw(state, 4);
    build.split = (uint32_t)draw(state, 2);
    build.buffers = (uint32_t)draw(state, 2);
    build.schedule = (uint32_t)draw(state, 4);
    build.placement = draw(state, 4) == 0;
    build.off_chip_over_bytes = draw(state, 3) ? 0 : 50000;
    return build;
}

static void assert_equal_prices(const tn_price *a, const tn_price *b) {
    /* Up to the last member: what pads the struct says nothing. */
    assert_memory_equal(a, b, offsetof(tn_price, misfits) + sizeof a->misfits);
}

/* A price is the build's alone: the same from a fresh workload, in any order, and from the explanation. */
static void prices_do_not_depend_on_history(void **state) {
    (void)state;
    enum { BUILDS = 400 };
    const tn_step *step = test_step_trains(2, 6, &arena);
    tn_workload *shared = prepare(step, device);
    tn_build build[BUILDS];
    tn_price first[BUILDS];
    uint64_t seed = 11;
    for (int i = 0; i < BUILDS; i++) {
        build[i] = random_build(&seed);
        first[i] = price_of(shared, &build[i]);
    }
    for (int i = BUILDS; i-- > 0;) {
        tn_price again = price_of(shared, &build[i]);
        assert_equal_prices(&again, &first[i]);
        if (i % 4 == 0) {
            tn_price fresh = price_of(prepare(step, device), &build[i]);
            tn_explanation told = explain(shared, &build[i]);
            assert_equal_prices(&fresh, &first[i]);
            assert_equal_prices(&told.price, &first[i]);
        }
    }
}

/* ---- explanations ---- */

static void explanation_adds_up(void **state) {
    (void)state;
    tn_workload *workload = prepare(test_step_trains(4, 12, &arena), device);
    uint64_t seed = 5;
    for (int i = 0; i < 60; i++) {
        tn_build build = random_build(&seed);
        tn_explanation told = explain(workload, &build);
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

/* The energy of every part, made again from kernels and memories as the device file says. */
static void energy_again(void **state) {
    (void)state;
    tn_workload *workload = prepare(test_step_trains(2, 12, &arena), device);
    tn_build build = default_build();
    build.core_memory = build.activation_memory = TN_STYLE_BLOCK;
    tn_explanation told = explain(workload, &build);
    double cycles = (double)told.price.cycles_per_step, square = 0.85 * 0.85, kernels = 0, blocks = 0,
           sum = 0;
    for (uint32_t k = 0; k < told.kernels; k++) {
        const tn_resources *used = &told.kernel[k].used;
        double pF = 0.3 * (double)used->lut + 0.1 * (double)used->ff + 55 * (double)used->dsp;
        double busy = (double)told.kernel[k].busy_cycles;
        kernels += pF * square * (0.125 * busy + 0.02 * (cycles - busy)) * 1e-12;
    }
    for (uint32_t m = 0; m < told.memories; m++)
        blocks += (30 * (double)told.memory[m].placed.blocks.bram18 +
                   0.3 * (double)told.memory[m].placed.blocks.lutram) *
                  square * 0.02 * cycles * 1e-12;
    assert_true(fabs(told.joules[TN_ENERGY_STATIC] - 10 * told.price.seconds_per_step) < 1e-12);
    assert_true(fabs(told.joules[TN_ENERGY_KERNELS] - kernels) < 1e-9 * kernels);
    assert_true(fabs(told.joules[TN_ENERGY_MEMORY_BLOCKS] - blocks) < 1e-9 * blocks);
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
    uint32_t a = test_step_array(&made, "a", TN_ARRAY_ACTIVATION, 24, false);
    uint32_t b = test_step_array(&made, "b", TN_ARRAY_ACTIVATION, 20, false);
    uint32_t c = test_step_array(&made, "c", TN_ARRAY_ACTIVATION, 30, false);
    test_step_product(&made, TN_FORWARD, a, b, c, 6, 4, 5);
    tn_build build = default_build();
    build.rows = build.columns = build.reduction = 2;
    build.activation_memory = TN_STYLE_BLOCK;
    tn_explanation told = explain(prepare(test_step_end(&made), device), &build);
    /* 3 x 3 tiles, 2 groups of terms each; all 9 tiles are open at once. */
    double words = 18 * (2 * 2 + 2 * 2) + 30;
    assert_true(fabs(told.joules[TN_ENERGY_MEMORY_ACCESSES] - words * 32 * 0.156e-12) < 1e-20);
    assert_int_equal(told.price.cycles_per_step, 17 + 4 + 2 * 7);
}

static bool doubts(const tn_explanation *told, const char *name) {
    for (uint32_t i = 0; i < told->unverified_count; i++)
        if (strcmp(told->unverified[i], name) == 0) return true;
    return false;
}

static void unverified_figures(void **state) {
    (void)state;
    const tn_step *step = test_step_trains(1, 4, &arena);
    tn_build build = default_build();
    tn_explanation told = explain(prepare(step, device), &build);
    assert_true(doubts(&told, "energy.static_W") && doubts(&told, "operators.fp32-add-5ns"));
    assert_true(doubts(&told, "control") && doubts(&told, "operators.fp32-exponential-5ns"));
    /* Confirmed, or not used here. */
    assert_false(doubts(&told, "operators.fp32-multiply-5ns") ||
                 doubts(&told, "operators.fp32-square-root-5ns"));
    assert_false(doubts(&told, "external.hbm2") || doubts(&told, "resources"));
    build.off_chip_over_bytes = 1000;
    told = explain(prepare(step, device), &build);
    assert_true(doubts(&told, "external.hbm2"));
    const char *const set[] = {"energy.static_W.origin=measured"};
    tn_device *own;
    assert_int_equal(tn_device_load("u50@slr0", set, 1, &arena, &own, NULL), TN_OK);
    told = explain(prepare(step, own), &build);
    assert_false(doubts(&told, "energy.static_W"));
    assert_true(doubts(&told, "resources.ff"));
}

static void misfits(void **state) {
    (void)state;
    tn_workload *workload = prepare(test_step_trains(14, 12, &arena), device);
    tn_build build = default_build();
    build.rows = build.columns = build.reduction = 16;
    build.group = 1;
    build.core_memory = build.activation_memory = TN_STYLE_BLOCK;
    tn_explanation told = explain(workload, &build);
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
    tn_build build = default_build();
    tn_explanation told = explain(prepare(&counted, device), &build);
    /* Five DSP blocks a multiply-add. */
    uint64_t macs = counted.macs[0] + counted.macs[1] + counted.macs[2];
    assert_int_equal(told.floor_cycles, (macs * 5 + 5947) / 5948);
    assert_true(told.floor_cycles < told.price.cycles_per_step);
}

/* ---- transformations of a step ---- */

/* Precision, sparsity and recomputation are changes of the list of operations; no kernel knows of them. */
static void transformations(void **state) {
    (void)state;
    static const tn_arithmetic bfp = {TN_FP32, 16, 3, 4};
    const tn_step *step = test_step_trains(2, 12, &arena);
    tn_build build = default_build();
    build.kernels = 2;
    tn_price plain = price_of(prepare(step, device), &build);
    tn_step changed = *step;
    assert_int_equal(
        tn_arena_alloc(&arena, 2 * step->operations, sizeof *changed.operation, &changed.operation, NULL),
        TN_OK);
    /* Weight gradients in block floating point: a kernel of its own, cheaper than the other. */
    memcpy(changed.operation, step->operation, step->operations * sizeof *step->operation);
    for (uint32_t i = 0; i < step->operations; i++)
        if (step->operation[i].phase == TN_WEIGHT_GRADIENT) changed.operation[i].arithmetic = &bfp;
    tn_workload *workload = prepare(&changed, device);
    for (build.sharing = 0; build.sharing < 2; build.sharing++) {
        tn_explanation told = explain(workload, &build);
        unsigned matmuls = 0, blocks = 0;
        for (uint32_t k = 0; k < told.kernels; k++) {
            if (!strstr(told.kernel[k].name, "matmul")) continue;
            matmuls++;
            bool block = strstr(told.kernel[k].name, "bfp g16 e3 m4") != NULL;
            blocks += block;
            assert_int_equal(told.kernel[k].count, 2);
            /* 5 x 5 bits a DSP block each, one fp32 adder for each of 16 sums. */
            assert_int_equal(told.kernel[k].used.dsp, 2 * (block ? 64 + 16 * 2 : 64 * 5));
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
    assert_true(price_of(prepare(&changed, device), &build).cycles_per_step < plain.cycles_per_step);
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
    workload = prepare(&changed, device);
    tn_explanation told = explain(workload, &build);
    for (uint32_t i = 0; i < forward; i++) again += told.item[i].finish - told.item[i].start;
    assert_int_equal(told.price.cycles_per_step, plain.cycles_per_step + again);
}

/* ---- off chip ---- */

static void off_chip(void **state) {
    (void)state;
    const tn_step *step = test_step_trains(10, 12, &arena);
    tn_workload *workload = prepare(step, device);
    tn_build build = default_build();
    tn_price inside = price_of(workload, &build);
    build.off_chip_over_bytes = 32 * 768 * 4 - 1; /* whole activations and nothing else */
    tn_price outside = price_of(workload, &build);
    uint64_t held = 0, moved = 0, cycles = 0;
    for (uint32_t i = 0; i < step->arrays; i++)
        if (step->array[i].elements >= 32 * 768) held += 4 * step->array[i].elements;
    for (uint32_t i = 0; i < step->operations; i++) {
        const tn_operation *operation = &step->operation[i];
        uint64_t bytes = 0;
        for (uint32_t j = 0; j < operation->read_count; j++)
            if (step->array[operation->reads[j]].elements >= 32 * 768) bytes += 4 * 32 * 768;
        if (step->array[operation->writes[0]].elements >= 32 * 768) bytes += 4 * 32 * 768;
        moved += bytes;
        uint64_t own = workload->cycles[i];
        /* 316 GB/s at 200 MHz are 1580 bytes a cycle; 120 ns are 24 cycles. */
        if (bytes > 0) assert_true(own >= (bytes + 1579) / 1580 + 24);
        cycles += own;
    }
    assert_int_equal(outside.off_chip_bytes, held);
    assert_int_equal(outside.off_chip_bytes_per_step, moved);
    assert_int_equal(outside.cycles_per_step, cycles);
    assert_true(outside.cycles_per_step > inside.cycles_per_step);
    assert_true(outside.on_chip_bytes < inside.on_chip_bytes);
    tn_explanation told = explain(workload, &build);
    assert_true(fabs(told.joules[TN_ENERGY_OFF_CHIP] - 8 * (double)moved * 3.9e-12) < 1e-12);
}

static void off_chip_refused(void **state) {
    (void)state;
    char folder[] = "/tmp/tenfold-price-XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/bare.yaml", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file,
            "kind: fpga\nname: bare\ninherit: %s/models/devices/families/ultrascale-plus.yaml\n"
            "resources: {lut: 100000, ff: 100000, dsp: 1000, bram18: 100, uram: 0}\n",
            TEST_SOURCE_DIR);
    fclose(file);
    tn_device *bare;
    tn_error error;
    tn_price price;
    assert_int_equal(tn_device_load(path, NULL, 0, &arena, &bare, &error), TN_OK);
    tn_workload *workload = prepare(test_step_trains(1, 4, &arena), bare);
    tn_build build = default_build();
    assert_true(price_of(workload, &build).used.uram == 0); /* style auto sees that there is none */
    build.off_chip_over_bytes = 1000;
    assert_int_equal(tn_price_step(workload, &build, &price, &error), TN_INPUT);
    assert_non_null(strstr(error.message, "no external memory"));
    unlink(path);
    rmdir(folder);
    const char *const set[] = {"external.hbm2.capacity_bytes=5000"};
    tn_device *tiny;
    assert_int_equal(tn_device_load("u50", set, 1, &arena, &tiny, &error), TN_OK);
    workload = prepare(test_step_trains(1, 4, &arena), tiny);
    assert_int_equal(tn_price_step(workload, &build, &price, &error), TN_INPUT);
    assert_non_null(strstr(error.message, "do not fit"));
}

/* ---- refusals ---- */

static void builds_refused(void **state) {
    (void)state;
    tn_workload *workload = prepare(test_step_trains(1, 4, &arena), device);
    for (size_t i = 0; i < tn_build_schema.count; i++) {
        const tn_field *field = &tn_build_schema.field[i];
        for (int low = 0; low < 2; low++) {
            tn_build build = default_build();
            tn_price price;
            tn_error error;
            uint64_t count = low ? (uint64_t)field->minimum - 1 : (uint64_t)field->maximum + 1;
            if (low && (field->type == TN_FIELD_CHOICE || field->minimum == 0)) continue;
            if (field->type == TN_FIELD_COUNT)
                memcpy((char *)&build + field->offset, &count, sizeof count);
            else
                memset((char *)&build + field->offset, 0x7f, sizeof(uint32_t));
            assert_int_equal(tn_price_step(workload, &build, &price, &error), TN_INPUT);
            assert_non_null(strstr(error.message, field->key));
        }
    }
}

static void giant_steps_refused(void **state) {
    (void)state;
    static const uint64_t giants[][3] = {
        {UINT64_MAX / 2, 3, 3}, {(uint64_t)1 << 32, (uint64_t)1 << 32, 1}, {(uint64_t)1 << 50, 1, 1 << 10}};
    for (size_t i = 0; i < sizeof giants / sizeof *giants; i++) {
        test_step made;
        tn_workload *workload;
        tn_error error;
        test_step_begin(&made, "giant", &arena);
        uint32_t a = test_step_array(&made, "a", TN_ARRAY_ACTIVATION, 1, false);
        test_step_product(&made, TN_FORWARD, a, a, a, giants[i][0], giants[i][1], giants[i][2]);
        assert_int_equal(tn_workload_prepare(test_step_end(&made), device, &arena, &workload, &error),
                         TN_OVERFLOW);
        test_step_begin(&made, "vast", &arena);
        a = test_step_array(&made, "a", TN_ARRAY_ACTIVATION, UINT64_MAX / (i + 2), false);
        test_step_product(&made, TN_FORWARD, a, a, a, 2, 2, 2);
        assert_int_equal(tn_workload_prepare(test_step_end(&made), device, &arena, &workload, &error),
                         TN_OVERFLOW);
    }
    tn_device *gpu;
    tn_workload *workload;
    tn_error error;
    assert_int_equal(tn_device_load("h200", NULL, 0, &arena, &gpu, &error), TN_OK);
    assert_int_equal(tn_workload_prepare(test_step_trains(1, 2, &arena), gpu, &arena, &workload, &error),
                     TN_INPUT);
}

/* The widest build of the largest step that is let through stays exact. */
static void bounds_hold(void **state) {
    (void)state;
    test_step made;
    test_step_begin(&made, "large", &arena);
    uint32_t a = test_step_array(&made, "a", TN_ARRAY_ACTIVATION, (uint64_t)1 << 36, false);
    test_step_product(&made, TN_FORWARD, a, a, a, (uint64_t)1 << 16, 1 << 16, 1 << 16);
    tn_workload *workload = prepare(test_step_end(&made), device);
    tn_build build = default_build();
    build.rows = build.columns = build.reduction = build.vector = TN_BUILD_PARALLEL_MOST;
    build.kernels = TN_SERVERS_MOST;
    build.read_ports = TN_BUILD_READ_PORTS_MOST;
    for (build.split = 0; build.split < 2; build.split++) {
        tn_price price = price_of(workload, &build);
        uint64_t issues = (uint64_t)64 * 64 * 64;
        assert_true(price.cycles_per_step >= issues && price.cycles_per_step < issues + 1000);
        assert_true(price.used.dsp >= (uint64_t)TN_SERVERS_MOST << 30);
    }
    build.rows = build.columns = build.reduction = 1;
    build.split = TN_SPLIT_PARTITION;
    assert_true(price_of(workload, &build).cycles_per_step >= (uint64_t)1 << 48);
}

static void every_request_fails(void **state) {
    (void)state;
    const tn_step *step = test_step_random(9, 30, &arena);
    tn_build build = default_build();
    build.schedule = TN_SCHEDULE_PIPELINED;
    build.placement = TN_PLACE_SEARCHED;
    tn_status status = TN_MEMORY;
    for (long request = 1; status != TN_OK; request++) {
        tn_arena own = {0};
        tn_workload *workload;
        tn_price price;
        tn_explanation told;
        tn_memory_fail_at(request);
        status = tn_workload_prepare(step, device, &own, &workload, NULL);
        if (status == TN_OK) status = tn_price_step(workload, &build, &price, NULL);
        if (status == TN_OK) status = tn_price_explain(workload, &build, &own, &told, NULL);
        tn_memory_fail_at(0);
        if (status != TN_OK) assert_int_equal(status, TN_MEMORY);
        tn_arena_free(&own);
    }
}

/* ---- the models of the tree ---- */

static const tn_step *step_of(const char *name, size_t count, const char *const *set,
                              tn_program_cache *cache) {
    tn_model *model;
    tn_step *step;
    tn_error error;
    assert_int_equal(tn_arena_alloc(&arena, 1, sizeof *step, &step, NULL), TN_OK);
    if (tn_model_load(name, set, count, &arena, &model, &error) != TN_OK) fail_msg("%s", error.message);
    if (tn_step_build(model, cache, &arena, step, &error) != TN_OK) fail_msg("%s", error.message);
    return step;
}

/* The published design holds these models in less than 6 MB of block RAM and 22.5 MB of UltraRAM. */
static void atis_models_fit(void **state) {
    (void)state;
    static const char *const names[] = {"atis-2enc", "atis-4enc", "atis-6enc"};
    tn_program_cache *cache;
    assert_int_equal(tn_program_cache_new(&cache, NULL), TN_OK);
    tn_build build = default_build();
    for (size_t i = 0; i < 3; i++) {
        tn_workload *workload = prepare(step_of(names[i], 0, NULL, cache), device);
        tn_price price = price_of(workload, &build);
        assert_int_equal(price.misfits, 0);
        assert_true(price.on_chip_bytes < 28500000);
        printf("%s: %.2f ms a step, %.1f MB on chip, %.1f W\n", names[i], price.seconds_per_step * 1e3,
               (double)price.on_chip_bytes * 1e-6, price.watts);
    }
    const char *const dense = "format=dense";
    tn_price price = price_of(prepare(step_of("atis-2enc", 1, &dense, cache), device), &build);
    assert_true(price.misfits & (1 << TN_BRAM18 | 1 << TN_URAM));
    /* Narrower values take less memory and no more time. */
    build.core_memory = build.activation_memory = TN_STYLE_BLOCK;
    tn_price fp32 = price_of(prepare(step_of("atis-2enc", 0, NULL, cache), device), &build);
    static const char *const precisions[] = {"precision=fp16", "precision=bf16", "precision=int8"};
    for (size_t i = 0; i < 3; i++) {
        price = price_of(prepare(step_of("atis-2enc", 1, &precisions[i], cache), device), &build);
        assert_true(price.on_chip_bytes < fp32.on_chip_bytes &&
                    price.cycles_per_step <= fp32.cycles_per_step);
    }
    tn_program_cache_free(cache);
}

static int begin(void **state) {
    (void)state;
    return tn_device_load("u50", NULL, 0, &arena, &device, NULL) != TN_OK;
}

static int end(void **state) {
    (void)state;
    tn_arena_free(&arena);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sequential_sum),
        cmocka_unit_test(prices_do_not_depend_on_history),
        cmocka_unit_test(explanation_adds_up),
        cmocka_unit_test(energy_again),
        cmocka_unit_test(accesses_of_one_product),
        cmocka_unit_test(unverified_figures),
        cmocka_unit_test(misfits),
        cmocka_unit_test(floor_of_a_step),
        cmocka_unit_test(transformations),
        cmocka_unit_test(off_chip),
        cmocka_unit_test(off_chip_refused),
        cmocka_unit_test(builds_refused),
        cmocka_unit_test(giant_steps_refused),
        cmocka_unit_test(bounds_hold),
        cmocka_unit_test(every_request_fails),
        cmocka_unit_test(atis_models_fit),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
