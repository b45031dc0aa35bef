/* Operators of reports of high-level synthesis: the figures that stand in the files, and a device of which the rows are. */
#include "device/hls_report.h"
#include "support/program.h"
#include "support/shared.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

typedef struct {
    const char *name, *precision;
    tn_operator kind;
    uint64_t stages, dsp, lut, ff;
} expected;

static void check(const char *path, double period_ns, bool has_logic, const expected *rows, size_t count) {
    tn_arena arena = {0};
    tn_hls_report report;
    tn_error error = {0};
    if (tn_hls_report_load(test_source(path), &arena, &report, &error) != TN_OK)
        fail_msg("%s", error.message);
    assert_int_equal(report.count, count);
    assert_int_equal(report.has_logic, has_logic);
    for (size_t i = 0; i < count; i++) {
        const tn_operator_row *row = &report.row[i];
        assert_string_equal(row->name, rows[i].name);
        assert_string_equal(row->precision, rows[i].precision);
        assert_int_equal(row->operator_kind, rows[i].kind);
        assert_int_equal(row->set, TN_OPERATORS_HLS);
        assert_int_equal(row->origin, has_logic ? TN_REPORT : TN_UNVERIFIED);
        assert_true(row->period_ns == period_ns);
        assert_int_equal(row->stages, rows[i].stages);
        assert_int_equal(row->dsp, rows[i].dsp);
        assert_int_equal(row->lut, rows[i].lut);
        assert_int_equal(row->ff, rows[i].ff);
        assert_non_null(strstr(row->source, "2023.2"));
        assert_non_null(strstr(row->source, "xcu50-fsvh2104-2-e"));
    }
    tn_arena_free(&arena);
}

/* What computes in 64 bits or in integers, and what is no operator, gives no row; of two instances one does. */
static void test_verbose(void **state) {
    (void)state;
    static const expected rows[] = {
        {"hls-fp32-add-4ns-8-full-dsp", "fp32", TN_ADDER, 8, 2, 201, 318},
        {"hls-fp32-add-4ns-8-addsub-full-dsp", "fp32", TN_ADDER, 8, 2, 207, 320},
        {"hls-fp32-multiply-4ns-5-max-dsp", "fp32", TN_MULTIPLY, 5, 3, 84, 199},
        {"hls-fp32-compare-4ns-3-no-dsp", "fp32", TN_COMPARE, 3, 0, 0, 98},
        {"hls-fp32-divide-4ns-20-no-dsp", "fp32", TN_DIVIDE, 20, 0, 760, 1100},
        {"hls-fp32-exponential-4ns-18-full-dsp", "fp32", TN_EXPONENTIAL, 18, 7, 960, 480},
        {"hls-fp32-logarithm-4ns-19-full-dsp", "fp32", TN_LOGARITHM, 19, 5, 890, 700},
        {"hls-fp32-square-root-4ns-20-no-dsp", "fp32", TN_SQUARE_ROOT, 20, 0, 410, 620},
        {"hls-fp16-multiply-4ns-5-max-dsp", "fp16", TN_MULTIPLY, 5, 2, 40, 75},
    };
    check("tests/device/data/kernel.verbose.rpt.xml", 4, true, rows, sizeof rows / sizeof *rows);
}

/* Latencies of csynth.xml are one less than stages; it has no LUTs and flip-flops. */
static void test_csynth(void **state) {
    (void)state;
    static const expected rows[] = {
        {"hls-fp32-add-3-33ns-9-full-dsp", "fp32", TN_ADDER, 9, 2, 0, 0},
        {"hls-fp32-multiply-3-33ns-6-max-dsp", "fp32", TN_MULTIPLY, 6, 3, 0, 0},
    };
    check("tests/device/data/csynth.xml", 3.33, false, rows, sizeof rows / sizeof *rows);
}

/* The rows as they are printed, in a device file of 250 MHz, for which the U50 has none. */
static void test_device(void **state) {
    (void)state;
    const char *model = test_source("tests/rtl/data/fused.yaml");
    char command[2048];
    snprintf(command, sizeof command,
             "{ echo 'kind: fpga\nname: mine\ninherit: u50\nclock_MHz: 250\noperator_set: hls'; '%s' list "
             "operators '%s'; } >hls-device.yaml",
             TEST_PROGRAM, test_source("tests/device/data/kernel.verbose.rpt.xml"));
    test_run run = test_shell(command);
    if (run.status != 0) fail_msg("%s", run.err);
    test_run_free(&run);
    run = test_program("cost", model, "--set", "clock_MHz=250", NULL);
    assert_int_equal(run.status, 2);
    test_run_free(&run);
    run = test_program("cost", model, "--device", "hls-device.yaml", NULL);
    if (run.status != 0) fail_msg("%s", run.err);
    assert_non_null(strstr(run.out, "at 250 MHz"));
    assert_non_null(strstr(run.out, "operators: hls"));
    test_run_free(&run);
    /* The same rows come back from the device. */
    json_t *of_report = test_program_json(
        0, "list", "operators", test_source("tests/device/data/kernel.verbose.rpt.xml"), "--json", NULL);
    json_t *of_device = test_program_json(0, "list", "operators", "hls-device.yaml", "--json", NULL);
    json_t *rows = json_object_get(of_device, "operators");
    size_t found = 0, i, k;
    json_t *row, *other;
    json_array_foreach(json_object_get(of_report, "operators"), i, row) {
        json_array_foreach(rows, k, other) found += json_equal(row, other);
    }
    assert_int_equal(found, json_array_size(json_object_get(of_report, "operators")));
    assert_true(found > 5 && json_array_size(rows) > found);
    json_decref(of_report);
    json_decref(of_device);
    remove("hls-device.yaml");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_verbose), cmocka_unit_test(test_csynth),
                                       cmocka_unit_test(test_device)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
