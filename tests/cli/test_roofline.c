/* tenfold roofline: products, batches, fits and steps through the program. */
#include "base/file.h"
#include "support/folder.h"
#include "support/program.h"

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

static void write_text(const char *name, const char *text) {
    assert_int_equal(tn_file_write(test_in_folder(name), text, strlen(text), NULL), TN_OK);
}

static double number(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    if (!json_is_number(value)) fail_msg("no number under %s", key);
    return json_number_value(value);
}

/* 8 x 8 x 16 fits one tile of one core: 1 us launch, 16*16*16*2 flops at 0.7 of 96 Gflop/s a core. */
static void one_product(void **state) {
    (void)state;
    json_t *j = test_program_json(0, "roofline", "--device", "generic-cpu", "--dtype", "fp32", "--m", "8",
                                  "--n", "8", "--k", "16", "--json", NULL);
    assert_true(fabs(number(j, "predicted_us") - (1 + 2.0 * 16 * 16 * 16 / (0.7 * 96e3))) < 1e-9);
    json_decref(j);
    j = test_program_json(0, "roofline", "--device", "generic-cpu", "--dtype", "fp32", "--m", "8", "--n", "8",
                          "--k", "16", "--time", "eager", "--json", NULL);
    assert_true(number(j, "predicted_us") == 3);
    json_decref(j);
    /* --set reaches the device. */
    j = test_program_json(0, "roofline", "--device", "generic-cpu", "--dtype", "fp32", "--m", "8", "--n", "8",
                          "--k", "16", "--json", "--set", "roofline.laws.0.launch_us=5", NULL);
    assert_true(fabs(number(j, "predicted_us") - (5 + 2.0 * 16 * 16 * 16 / (0.7 * 96e3))) < 1e-9);
    json_decref(j);
}

static void batch_prints_its_rows_with_answers(void **state) {
    (void)state;
    write_text("products.csv", "name,dtype,M,N,K\na,fp32,32,768,768\nb,bf16,768,12,32\n");
    test_run run =
        test_program("roofline", "--device", "h200", "--batch", test_in_folder("products.csv"), NULL);
    assert_int_equal(run.status, 0);
    double first, second;
    assert_int_equal(sscanf(run.out,
                            "name,dtype,M,N,K,predicted_us\na,fp32,32,768,768,%lf\nb,bf16,768,12,32,%lf\n",
                            &first, &second),
                     2);
    /* Measured on an H200: 7.712 and 3.027 us, among the rows the law was fitted to. */
    assert_true(fabs(first / 7.712 - 1) < 0.2 && fabs(second / 3.027 - 1) < 0.2);
    test_run_free(&run);
    json_t *j = test_program_json(0, "roofline", "--device", "h200", "--json", "--batch",
                                  test_in_folder("products.csv"), NULL);
    assert_true(number(json_array_get(json_object_get(j, "rows"), 1), "predicted_us") == second);
    json_decref(j);
}

/* With measured times beside the sizes the errors are added and summed up. */
static void batch_with_measured_times(void **state) {
    (void)state;
    write_text("measured.csv", "dtype,M,N,K,graph_us\nfp32,8,8,16,3\nfp32,8,8,16,4\nfp32,8,8,16,9\n");
    json_t *j = test_program_json(0, "roofline", "--device", "generic-cpu", "--json", "--batch",
                                  test_in_folder("measured.csv"), NULL);
    const json_t *rows = json_object_get(j, "rows");
    double us = number(json_array_get(rows, 0), "predicted_us");
    assert_true(fabs(number(json_array_get(rows, 0), "relative_error") - (us / 3 - 1)) < 1e-12);
    assert_true(fabs(number(json_object_get(j, "median_relative_error"), "fp32") - fabs(us / 4 - 1)) < 1e-12);
    json_decref(j);
}

static void expect_refusal(const char *arguments, const char *message) {
    char command[512];
    snprintf(command, sizeof command, "cd %s && \"$TENFOLD\" roofline %s", test_folder, arguments);
    test_run run = test_shell(command);
    if (run.status != 2 || !strstr(run.err, message))
        print_error("%s: %d %s\n", arguments, run.status, run.err);
    assert_int_equal(run.status, 2);
    assert_string_equal(run.out, "");
    assert_non_null(strstr(run.err, message));
    test_run_free(&run);
}

static void bad_usage(void **state) {
    (void)state;
    write_text("typo.csv", "dtype,M,N,KK\nfp32,1,1,1\n");
    write_text("zero.csv", "dtype,M,N,K\nfp32,1,1,1\nfp32,1,0,1\n");
    write_text("unknown.csv", "dtype,M,N,K\nfp23,1,1,1\n");
    expect_refusal("--dtype fp32 --m 1 --n 1 --k 1", "--device");
    expect_refusal("--device h200", "which product");
    expect_refusal("--device h20 --dtype fp32 --m 1 --n 1 --k 1", "h200");
    expect_refusal("--device u50 --dtype fp32 --m 1 --n 1 --k 1", "no roofline device");
    expect_refusal("--device h200 --dtype fp32 --m 1 --n 1", "K = 0");
    expect_refusal("--device h200 --dtype fp32 --m 1 --n 1 --k 1 --time gaph", "graph or eager");
    expect_refusal("--device h200 --batch typo.csv", "typo.csv:1:11:");
    expect_refusal("--device h200 --batch zero.csv", "zero.csv:3:");
    expect_refusal("--device h200 --batch unknown.csv", "unknown.csv:2:1:");
    expect_refusal("--device h200 --batch zero.csv --m 3", "--batch");
    expect_refusal("fit --device h200", "nothing to fit");
    expect_refusal("fit --device h200 zero.csv", "graph_us");
    expect_refusal("step atis-2enc", "--device");
    expect_refusal("step atis-2en --device h200", "atis-2enc");
}

/* Twenty made-up rows: t = 2 + a share of the work. */
static void write_measurements(const char *name) {
    tn_buffer text = {0};
    tn_buffer_text(&text, "dtype,M,N,K,graph_us,eager_us\n");
    for (int i = 1; i <= 20; i++) {
        int m = 16 * i, n = 8 * (1 + i % 5), k = 32 * (1 + i % 3);
        double us = 2 + m * n * k * 1e-5;
        tn_buffer_format(&text, "fp32,%d,%d,%d,%.3f,%.3f\n", m, n, k, us, us + 6);
    }
    assert_int_equal(tn_file_write_buffer(test_in_folder(name), &text, NULL), TN_OK);
    tn_buffer_free(&text);
}

static void fit_writes_a_device(void **state) {
    (void)state;
    write_measurements("rows.csv");
    write_text("steps.csv", "kernels,step_ms,energy_mJ\n100,2,100\n");
    json_t *j = test_program_json(0, "roofline", "fit", "--device", "h200", test_in_folder("rows.csv"),
                                  "--steps", test_in_folder("steps.csv"), "--splits", "0", "--seed", "7",
                                  "-o", test_in_folder("mine.yaml"), "--json", "--quiet", NULL);
    assert_true(number(j, "seed") == 7);
    assert_true(fabs(number(j, "host_us_per_kernel") - 20) < 1e-9);
    json_decref(j);
    write_text("products.csv", "dtype,M,N,K,graph_us\nfp32,32,24,96,2.737\nfp32,160,8,64,2.819\n");
    j = test_program_json(0, "roofline", "--device", test_in_folder("mine.yaml"), "--json", "--batch",
                          test_in_folder("products.csv"), NULL);
    assert_true(number(json_object_get(j, "median_relative_error"), "fp32") < 0.1);
    json_decref(j);
    /* The precision that was not measured keeps its law, the host its new cost. */
    j = test_program_json(0, "roofline", "--device", test_in_folder("mine.yaml"), "--dtype", "bf16", "--m",
                          "64", "--n", "64", "--k", "64", "--json", NULL);
    assert_true(number(j, "predicted_us") > 1);
    json_decref(j);
    j = test_program_json(0, "roofline", "step", "atis-2enc", "--device", test_in_folder("mine.yaml"),
                          "--kernels", "1000", "--json", NULL);
    assert_true(fabs(number(j, "launched_ms") - 20) < 1e-6);
    assert_true(fabs(number(j, "joules") - 1) < 1e-6);
    json_decref(j);
    char command[256];
    snprintf(command, sizeof command,
             "cd %s && \"$TENFOLD\" roofline fit --device ./mine.yaml rows.csv -o ./mine.yaml", test_folder);
    test_run run = test_shell(command);
    assert_int_equal(run.status, 2);
    assert_non_null(strstr(run.err, "inherit from itself"));
    test_run_free(&run);
}

/* A device beside the output is inherited by its name there, one elsewhere by its whole path. */
static void fitted_device_of_a_path(void **state) {
    (void)state;
    char command[512];
    write_measurements("rows.csv");
    write_text("base.yaml", "kind: roofline\nname: base\ninherit: generic-cpu\n");
    snprintf(command, sizeof command,
             "cd %s && mkdir -p sub && \"$TENFOLD\" roofline fit --quiet --splits 0 --device base.yaml "
             "rows.csv -o "
             "beside.yaml && \"$TENFOLD\" roofline fit --quiet --splits 0 --device base.yaml rows.csv -o "
             "sub/deep.yaml "
             "&& cd / && for f in beside sub/deep; do \"$TENFOLD\" roofline --device %s/$f.yaml --dtype fp32 "
             "--m 32 "
             "--n 8 --k 32 || exit 9; done",
             test_folder, test_folder);
    test_run run = test_shell(command);
    if (run.status != 0) print_error("%s", run.err);
    assert_int_equal(run.status, 0);
    test_run_free(&run);
}

static void step_of_a_model(void **state) {
    (void)state;
    json_t *dense = test_program_json(0, "roofline", "step", "atis-2enc", "--device", "h200", "--set",
                                      "format=dense", "--json", NULL),
           *tt = test_program_json(0, "roofline", "step", "atis-2enc", "--device", "h200", "--json", NULL);
    assert_int_equal(json_integer_value(json_object_get(dense, "parameters")), 9179282);
    assert_int_equal(json_integer_value(json_object_get(tt, "parameters")), 300290);
    assert_true(number(dense, "launched_ms") < number(tt, "launched_ms"));
    double sum_us = 0;
    const json_t *kinds = json_object_get(tt, "kinds");
    for (size_t i = 0; i < json_array_size(kinds); i++) {
        const json_t *kind = json_array_get(kinds, i);
        sum_us += number(kind, "count") * number(kind, "us");
    }
    assert_true(fabs(sum_us / 1e3 / number(tt, "graph_ms") - 1) < 1e-9);
    json_decref(dense);
    json_decref(tt);
    test_run run = test_program("roofline", "step", "atis-2enc", "--device", "h200", NULL);
    assert_int_equal(run.status, 0);
    assert_non_null(strstr(run.out, "as launched"));
    test_run_free(&run);
}

static void step_draws_a_figure(void **state) {
    (void)state;
    test_run run = test_program("roofline", "step", "atis-2enc", "--device", "h200", "--plot",
                                test_in_folder("roof.svg"), NULL);
    if (run.status == 3 && strstr(run.err, "gnuplot")) {
        print_message("SKIPPED: gnuplot is absent\n");
        test_run_free(&run);
        skip();
    }
    assert_int_equal(run.status, 0);
    test_run_free(&run);
    static const char *const parts[] = {"roof.svg", "roof.gp", "roof.dat"};
    for (size_t i = 0; i < 3; i++) assert_int_equal(access(test_in_folder(parts[i]), R_OK), 0);
    run = test_program("roofline", "step", "atis-2enc", "--device", "h200", "--plot",
                       test_in_folder("roof.gif"), NULL);
    assert_int_equal(run.status, 2);
    test_run_free(&run);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_product),
        cmocka_unit_test(batch_prints_its_rows_with_answers),
        cmocka_unit_test(batch_with_measured_times),
        cmocka_unit_test(bad_usage),
        cmocka_unit_test(fit_writes_a_device),
        cmocka_unit_test(fitted_device_of_a_path),
        cmocka_unit_test(step_of_a_model),
        cmocka_unit_test(step_draws_a_figure),
    };
    return cmocka_run_group_tests(tests, test_folder_make, test_folder_remove);
}
