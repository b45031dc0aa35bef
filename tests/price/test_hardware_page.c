/* The pages on devices, builds and the hardware model say what the code says: keys, comparisons, figures. */
#include "design/changes.h"
#include "design/explain.h"
#include "device/device_data.h"
#include "model/model.h"
#include "support/pages.h"
#include "support/reports.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static tn_arena arena;
static tn_device *device;
static tn_program_cache *cache;

static void keys(void **state) {
    (void)state;
    tn_buffer of_device = {0}, of_build = {0};
    tn_schema_document(&tn_device_schema, &of_device);
    tn_schema_document(&tn_build_schema, &of_build);
    test_page("device-file.md", "schema", &of_device);
    test_page("build-keys.md", "schema", &of_build);
    tn_buffer_free(&of_device);
    tn_buffer_free(&of_build);
}

static void reports(void **state) {
    (void)state;
    tn_buffer text = {0};
    tn_buffer_text(
        &text, "| part | module | words x bits | reported BRAM18 | model | |\n|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < TEST_REPORTS; i++) {
        const test_report *row = &test_reports[i];
        tn_buffer_format(&text, "| %s | %s | %" PRIu64 " x %" PRIu64 " | %" PRIu64 " | %" PRIu64 " | %s |\n",
                         row->part, row->module, row->words, row->bits, row->bram18, test_report_bram18(row),
                         row->remark);
    }
    test_page("model-hardware.md", "reports", &text);
    tn_buffer_free(&text);
}

static tn_workload *workload_with(const char *name, size_t count, const char *const *set) {
    tn_model *model;
    tn_step *step;
    tn_workload *workload;
    assert_int_equal(TN_NEW(&arena, 1, &step, NULL), TN_OK);
    assert_int_equal(tn_model_load(name, set, count, &arena, &model, NULL), TN_OK);
    assert_int_equal(tn_step_build(model, cache, &arena, step, NULL), TN_OK);
    assert_int_equal(tn_workload_prepare(step, device, &arena, &workload, NULL), TN_OK);
    return workload;
}

static tn_workload *workload_of(const char *name) {
    return workload_with(name, 0, NULL);
}

static tn_build build_of(uint64_t parallel) {
    tn_build build;
    assert_int_equal(tn_build_decode(NULL, &arena, &build, NULL), TN_OK);
    build.rows = build.columns = build.reduction = build.vector = parallel;
    return build;
}

static void grouping(void **state) {
    (void)state;
    static const char *const models[] = {"atis-2enc", "atis-4enc", "atis-6enc"};
    tn_buffer text = {0};
    tn_buffer_text(
        &text, "| model | multiply-adds a cycle | memories | BRAM18 | URAM | MB taken | used, % | fits |\n"
               "|---|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < 3; i++) {
        tn_workload *workload = workload_of(models[i]);
        for (uint64_t parallel = 4; parallel <= 8; parallel *= 2) {
            tn_grouping line[TN_GROUPINGS];
            const tn_priced priced = {.design = {.device = device, .build = build_of(parallel)},
                                      .workload = workload};
            assert_int_equal(tn_grouping_compare(&priced, line, NULL), TN_OK);
            for (int j = 0; j < TN_GROUPINGS; j++)
                tn_buffer_format(
                    &text, "| %s | %" PRIu64 " | %s%s | %" PRIu64 " | %" PRIu64 " | %.1f | %.0f | %s |\n",
                    models[i], parallel * parallel * parallel, line[j].name, line[j].exact ? ", exact" : "",
                    line[j].bram18, line[j].uram, line[j].capacity_bits / 8e6,
                    100 * line[j].stored_bits / line[j].capacity_bits, line[j].fits ? "yes" : "no");
            /* What the published design groups its cores for. */
            assert_true(line[1].capacity_bits < line[0].capacity_bits &&
                        line[2].capacity_bits < line[1].capacity_bits);
        }
    }
    test_page("model-hardware.md", "grouping", &text);
    tn_buffer_free(&text);
}

static void schedules(void **state) {
    (void)state;
    static const struct {
        const char *name;
        tn_schedule_kind kind;
        tn_sharing sharing;
        uint64_t kernels, read_ports;
        tn_buffers buffers;
    } rows[] = {
        {"sequential", TN_SCHEDULE_SEQUENTIAL, TN_SHARED, 1, 1, TN_BUFFERS_POOLED},
        {"gradients together, a kernel per phase", TN_SCHEDULE_GRADIENTS_TOGETHER, TN_PER_PHASE, 1, 1,
         TN_BUFFERS_POOLED},
        {"the same, two read ports", TN_SCHEDULE_GRADIENTS_TOGETHER, TN_PER_PHASE, 1, 2, TN_BUFFERS_POOLED},
        {"parallel, three shared kernels, two read ports", TN_SCHEDULE_PARALLEL, TN_SHARED, 3, 2,
         TN_BUFFERS_POOLED},
        {"the same, separate buffers", TN_SCHEDULE_PARALLEL, TN_SHARED, 3, 2, TN_BUFFERS_SEPARATE},
        {"pipelined, three shared kernels, two read ports, separate buffers", TN_SCHEDULE_PIPELINED,
         TN_SHARED, 3, 2, TN_BUFFERS_SEPARATE},
    };
    tn_buffer text = {0};
    tn_workload *workload = workload_of("atis-2enc");
    tn_buffer_text(
        &text,
        "| schedule | cycles | DSP | BRAM18 | URAM | waits on the critical path: data, kernel, memory port, "
        "order | fits |\n|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tn_build build = build_of(4);
        tn_explanation told;
        build.schedule = rows[i].kind;
        build.sharing = rows[i].sharing;
        build.kernels = rows[i].kernels;
        build.read_ports = rows[i].read_ports;
        build.buffers = rows[i].buffers;
        assert_int_equal(tn_price_explain(workload, &build, &arena, &told, NULL), TN_OK);
        double cycles = (double)told.price.cycles_per_step;
        tn_buffer_format(
            &text,
            "| %s | %" PRIu64 " | %" PRIu64 " | %" PRIu64 " | %" PRIu64
            " | %.0f %%, %.0f %%, %.0f %%, %.0f %% | %s |\n",
            rows[i].name, told.price.cycles_per_step, told.price.used.dsp, told.price.used.bram18,
            told.price.used.uram, 100 * (double)told.waited.data_cycles / cycles,
            100 * (double)told.waited.kernel_cycles / cycles, 100 * (double)told.waited.port_cycles / cycles,
            100 * (double)told.waited.order_cycles / cycles, told.price.misfits ? "no" : "yes");
    }
    test_page("model-hardware.md", "schedules", &text);
    tn_buffer_free(&text);
}

static void off_chip(void **state) {
    (void)state;
    static const struct {
        const char *name, *set;
        uint64_t over_bytes;
    } rows[] = {
        {"compressed, all on chip", "format=as-given", 0},
        {"compressed, arrays over 90 kB outside", "format=as-given", 90000},
        {"dense, all on chip", "format=dense", 0},
        {"dense, arrays over 500 kB outside", "format=dense", 500000},
    };
    tn_buffer text = {0};
    tn_buffer_text(
        &text,
        "| `atis-2enc` | ms | mJ | of which off chip | MB outside | MB moved a step | MB of blocks | fits |\n"
        "|---|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tn_build build = build_of(4);
        tn_explanation told;
        build.off_chip_over_bytes = rows[i].over_bytes;
        assert_int_equal(
            tn_price_explain(workload_with("atis-2enc", 1, &rows[i].set), &build, &arena, &told, NULL),
            TN_OK);
        tn_buffer_format(&text, "| %s | %.2f | %.1f | %.2f | %.2f | %.1f | %.1f | %s |\n", rows[i].name,
                         1e3 * told.price.seconds_per_step, 1e3 * told.price.joules_per_step,
                         1e3 * told.joules[TN_ENERGY_OFF_CHIP], (double)told.price.off_chip_bytes * 1e-6,
                         (double)told.price.off_chip_bytes_per_step * 1e-6,
                         (double)told.price.on_chip_bytes * 1e-6, told.price.misfits ? "no" : "yes");
    }
    test_page("model-hardware.md", "off chip", &text);
    tn_buffer_free(&text);
}

static int begin(void **state) {
    (void)state;
    if (tn_program_cache_new(&cache, NULL) != TN_OK) return 1;
    return tn_device_load("u50@user-area", NULL, 0, &arena, &device, NULL) != TN_OK;
}

static int end(void **state) {
    (void)state;
    tn_program_cache_free(cache);
    tn_arena_free(&arena);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(keys), cmocka_unit_test(reports),
                                       cmocka_unit_test(grouping), cmocka_unit_test(schedules),
                                       cmocka_unit_test(off_chip)};
    return cmocka_run_group_tests(tests, begin, end);
}
