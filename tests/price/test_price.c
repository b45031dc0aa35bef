/* Prices: against sums made operation by operation, independence of what was priced before, agreement of the
 * two levels, energy recomputed from the explanation, misfits, unverified figures and refusals. */
#include "base/memory.h"
#include "design/explain.h"
#include "kernel/kernel.h"
#include "kernel/vector.h"
#include "model/model.h"
#include "price/price.h"
#include "price/schedule.h"
#include "price/workload_data.h"
#include "support/prices.h"
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

/* One operation after the other, no merging of equal ones, nowhere a word that must be waited for. */
static void sequential_sum(void **state) {
    (void)state;
    const tn_step *step = test_step_trains(3, 12, &arena);
    tn_workload *workload = test_prepare(step, device, &arena);
    tn_operator_set set;
    assert_int_equal(tn_operator_set_load(device, &tn_fp32, &set, NULL), TN_OK);
    tn_build build = test_build();
    build.layouts = TN_LAID_IDEALLY;
    for (build.rows = 1; build.rows <= 16; build.rows *= 4)
        for (build.vector = 1; build.vector <= 8; build.vector *= 8) {
            const tn_lane lane = {.multiply.stages = 4, .sum.stages = 7, .group = 1};
            const tn_matmul kernel = {build.rows, build.columns, build.reduction, lane, false};
            uint64_t sum = 0;
            for (uint32_t i = 0; i < step->operations; i++) {
                const tn_operation *operation = &step->operation[i];
                const tn_product_size size = {operation->batch, operation->rows, operation->reduction,
                                              operation->columns};
                const tn_vector vector = {.kind = operation->kind, .lanes = build.vector, .operators = &set};
                tn_matmul_time time = {0};
                if (operation->kind == TN_OP_PRODUCT)
                    assert_int_equal(tn_matmul_cycles(&kernel, &size, &time, NULL), TN_OK);
                else
                    assert_int_equal(
                        tn_vector_cycles(&vector, operation->rows, operation->columns, &time.cycles, NULL),
                        TN_OK);
                sum += time.cycles +
                       (operation->kind == TN_OP_PRODUCT ? 6 : 7 * tn_vector_starts(operation->kind));
            }
            tn_price price = test_price(workload, &build);
            assert_int_equal(price.cycles_per_step, sum);
            assert_true(price.seconds_per_step == (double)sum / 200e6);
        }
}

/* What the device file adds to every product and every pass of a vector kernel. */
static void starting_cycles(void **state) {
    (void)state;
    const tn_step *step = test_step_trains(2, 4, &arena);
    const char *const set[] = {"control.product_cycles=19", "control.vector_cycles=12"};
    uint64_t products = 0, passes = 0;
    tn_device *slow;
    tn_build build = test_build();
    for (uint32_t i = 0; i < step->operations; i++) {
        products += step->operation[i].kind == TN_OP_PRODUCT;
        passes += tn_vector_starts(step->operation[i].kind);
    }
    assert_int_equal(tn_device_load("u50", set, 2, &arena, &slow, NULL), TN_OK);
    assert_int_equal(test_price(test_prepare(step, slow, &arena), &build).cycles_per_step,
                     test_price(test_prepare(step, device, &arena), &build).cycles_per_step + 13 * products +
                         5 * passes);
}

/* A price is the build's alone: the same from a fresh workload, in any order, and from the explanation. */
static void prices_do_not_depend_on_history(void **state) {
    (void)state;
    enum { BUILDS = 400 };
    const tn_step *step = test_step_trains(2, 6, &arena);
    tn_workload *shared = test_prepare(step, device, &arena);
    tn_build build[BUILDS];
    tn_price first[BUILDS];
    uint64_t seed = 11;
    for (int i = 0; i < BUILDS; i++) {
        build[i] = test_random_build(&seed);
        first[i] = test_price(shared, &build[i]);
    }
    for (int i = BUILDS; i-- > 0;) {
        tn_price again = test_price(shared, &build[i]);
        test_same_price(&again, &first[i]);
        if (i % 4 == 0) {
            tn_price fresh = test_price(test_prepare(step, device, &arena), &build[i]);
            tn_explanation told = test_explain(shared, &build[i], &arena);
            test_same_price(&fresh, &first[i]);
            test_same_price(&told.price, &first[i]);
        }
    }
}

/* Where memories are searched for, by the LUTs that kernels leave: so many that some places are too dear for some of these. */
static void searched_places_do_not_depend_on_history(void **state) {
    (void)state;
    static const uint64_t lane_lut[] = {0, 300, 700, 1400};
    const tn_step *step = test_step_trains(2, 6, &arena);
    uint32_t told_apart = 0;
    tn_device *small;
    assert_int_equal(tn_device_load("kv260", NULL, 0, &arena, &small, NULL), TN_OK);
    tn_workload *shared = test_prepare(step, small, &arena);
    tn_build build = test_build();
    build.placement = TN_PLACE_SEARCHED;
    build.rows = 4;
    for (build.vector = 16; build.vector <= 128; build.vector += 8) {
        uint64_t first_bytes = 0;
        for (size_t i = 0; i < sizeof lane_lut / sizeof *lane_lut; i++) {
            build.lane_lut = lane_lut[i];
            const tn_price price = test_price(shared, &build),
                           fresh = test_price(test_prepare(step, small, &arena), &build);
            test_same_price(&price, &fresh);
            if (i == 0) first_bytes = price.on_chip_bytes;
            told_apart += price.on_chip_bytes != first_bytes;
        }
    }
    assert_true(told_apart > 0); /* else nothing was tried */
}

/* ---- off chip ---- */

static void off_chip(void **state) {
    (void)state;
    const tn_step *step = test_step_trains(10, 12, &arena);
    tn_workload *workload = test_prepare(step, device, &arena);
    tn_build build = test_build();
    tn_price inside = test_price(workload, &build);
    build.off_chip_over_bytes = 32 * 768 * 4 - 1; /* whole activations and nothing else */
    tn_price outside = test_price(workload, &build);
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
        /* 316 GB/s, of which 92 % come, at 200 MHz are 1453.6 bytes a cycle; a port of 32 bytes to each of 32 channels takes
         * 1024 of them. 129 ns are 26 cycles. */
        if (bytes > 0) assert_true(own >= (bytes + 1023) / 1024 + 26);
        cycles += own;
    }
    assert_int_equal(outside.off_chip_bytes, held);
    assert_int_equal(outside.off_chip_bytes_per_step, moved);
    assert_int_equal(outside.cycles_per_step, cycles);
    assert_true(outside.cycles_per_step > inside.cycles_per_step);
    assert_true(outside.on_chip_bytes < inside.on_chip_bytes);
    tn_explanation told = test_explain(workload, &build, &arena);
    /* Bursts of 512 bytes, each of which opens a row. */
    assert_true(fabs(told.joules[TN_ENERGY_OFF_CHIP] - (8 * 3.5 + 909.0 / 512) * (double)moved * 1e-12) <
                1e-12);
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
    tn_workload *workload = test_prepare(test_step_trains(1, 4, &arena), bare, &arena);
    tn_build build = test_build();
    assert_true(test_price(workload, &build).used.uram == 0); /* style auto sees that there is none */
    build.off_chip_over_bytes = 1000;
    assert_int_equal(tn_price_step(workload, &build, &price, &error), TN_INPUT);
    assert_non_null(strstr(error.message, "no external memory"));
    unlink(path);
    rmdir(folder);
    const char *const set[] = {"external.hbm2.capacity_bytes=5000"};
    tn_device *tiny;
    assert_int_equal(tn_device_load("u50", set, 1, &arena, &tiny, &error), TN_OK);
    workload = test_prepare(test_step_trains(1, 4, &arena), tiny, &arena);
    assert_int_equal(tn_price_step(workload, &build, &price, &error), TN_INPUT);
    assert_non_null(strstr(error.message, "do not fit"));
}

/* ---- refusals ---- */

static void builds_refused(void **state) {
    (void)state;
    tn_workload *workload = test_prepare(test_step_trains(1, 4, &arena), device, &arena);
    for (size_t i = 0; i < tn_build_schema.count; i++) {
        const tn_field *field = &tn_build_schema.field[i];
        for (int low = 0; low < 2; low++) {
            tn_build build = test_build();
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
        uint32_t a = test_step_array(&made, TN_ARRAY_ACTIVATION, 1, false);
        test_step_product(&made, TN_FORWARD, a, a, a, giants[i][0], giants[i][1], giants[i][2]);
        assert_int_equal(tn_workload_prepare(test_step_end(&made), device, &arena, &workload, &error),
                         TN_OVERFLOW);
        test_step_begin(&made, "vast", &arena);
        a = test_step_array(&made, TN_ARRAY_ACTIVATION, UINT64_MAX / (i + 2), false);
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
    uint32_t a = test_step_array(&made, TN_ARRAY_ACTIVATION, (uint64_t)1 << 36, false);
    test_step_product(&made, TN_FORWARD, a, a, a, (uint64_t)1 << 16, 1 << 16, 1 << 16);
    tn_workload *workload = test_prepare(test_step_end(&made), device, &arena);
    tn_build build = test_build();
    build.rows = build.columns = build.reduction = build.vector = TN_BUILD_PARALLEL_MOST;
    build.kernels = TN_SERVERS_MOST;
    build.read_ports = TN_BUILD_READ_PORTS_MOST;
    for (build.split = 0; build.split < 2; build.split++) {
        tn_price price = test_price(workload, &build);
        uint64_t issues = (uint64_t)64 * 64 * 64;
        assert_true(price.cycles_per_step >= issues && price.cycles_per_step < issues + 1000);
        assert_true(price.used.dsp >= (uint64_t)TN_SERVERS_MOST << 30);
    }
    build.rows = build.columns = build.reduction = 1;
    build.split = TN_SPLIT_PARTITION;
    assert_true(test_price(workload, &build).cycles_per_step >= (uint64_t)1 << 48);
}

static void every_request_fails(void **state) {
    (void)state;
    const tn_step *step = test_step_random(9, 30, &arena);
    tn_build build = test_build();
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
    assert_int_equal(TN_NEW(&arena, 1, &step, NULL), TN_OK);
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
    tn_build build = test_build();
    for (size_t i = 0; i < 3; i++) {
        tn_workload *workload = test_prepare(step_of(names[i], 0, NULL, cache), device, &arena);
        tn_price price = test_price(workload, &build);
        assert_int_equal(price.misfits, 0);
        assert_true(price.on_chip_bytes < 28500000);
        printf("%s: %.2f ms a step, %.1f MB on chip, %.1f W\n", names[i], price.seconds_per_step * 1e3,
               (double)price.on_chip_bytes * 1e-6, price.watts);
    }
    const char *const dense = "format=dense";
    tn_price price = test_price(test_prepare(step_of("atis-2enc", 1, &dense, cache), device, &arena), &build);
    assert_true(price.misfits & (1 << TN_BRAM18 | 1 << TN_URAM));
    /* Narrower values take less memory and no more time. */
    build.core_memory = build.activation_memory = TN_STYLE_BLOCK;
    tn_price fp32 = test_price(test_prepare(step_of("atis-2enc", 0, NULL, cache), device, &arena), &build);
    static const char *const precisions[] = {"precision=fp16", "precision=bf16", "precision=int8"};
    for (size_t i = 0; i < 3; i++) {
        price =
            test_price(test_prepare(step_of("atis-2enc", 1, &precisions[i], cache), device, &arena), &build);
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
        cmocka_unit_test(starting_cycles),
        cmocka_unit_test(bounds_hold),
        cmocka_unit_test(prices_do_not_depend_on_history),
        cmocka_unit_test(searched_places_do_not_depend_on_history),
        cmocka_unit_test(off_chip),
        cmocka_unit_test(off_chip_refused),
        cmocka_unit_test(builds_refused),
        cmocka_unit_test(giant_steps_refused),
        cmocka_unit_test(every_request_fails),
        cmocka_unit_test(atis_models_fit),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
