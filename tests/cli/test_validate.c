/* `tenfold validate` as a user runs it. */
#include "support/folder.h"
#include "support/program.h"
#include "support/shared.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/arrays.h"

static void put(const char *file, size_t axes, const uint64_t *shape, double shift) {
    double values[64];
    for (int i = 0; i < 64; i++) values[i] = (double)((i * 29 + 5) % 13) / 6 - 1 + shift;
    tn_array_out array = {.name = "values", .axes = axes, .shape = shape, .values = values};
    assert_int_equal(tn_npy_write(test_in_folder(file), &array, NULL), TN_OK);
}

/* A TTM layer of two cores: 4 x 6, three tokens. */
static int set_up(void **state) {
    assert_int_equal(test_folder_make(state), 0);
    put("core1.npy", 4, (const uint64_t[]){1, 2, 2, 2}, 0);
    put("core2.npy", 4, (const uint64_t[]){2, 2, 3, 1}, 0.25);
    put("x.npy", 2, (const uint64_t[]){3, 6}, 0.5);
    put("dy.npy", 2, (const uint64_t[]){3, 4}, 0.125);
    return 0;
}

static bool is_count(const json_t *object, const char *key) {
    return json_is_integer(json_object_get(object, key));
}

/* Each row has the contract's keys, and executed equals predicted. */
static size_t check_rows(const json_t *answer, bool ok) {
    const json_t *checks = json_object_get(answer, "checks"), *check;
    size_t i, held = 0;
    assert_true(json_is_array(checks));
    assert_int_equal(json_is_true(json_object_get(answer, "ok")), ok);
    json_array_foreach(checks, i, check) {
        assert_true(json_is_string(json_object_get(check, "name")));
        assert_true(json_is_string(json_object_get(check, "phase")));
        assert_true(is_count(check, "macs_predicted") && is_count(check, "peak_elements_predicted"));
        assert_true(
            json_equal(json_object_get(check, "macs_predicted"), json_object_get(check, "macs_executed")));
        assert_true(json_equal(json_object_get(check, "peak_elements_predicted"),
                               json_object_get(check, "peak_elements_executed")));
        assert_true(json_is_number(json_object_get(check, "relative_error")));
        assert_true(json_real_value(json_object_get(check, "seconds_predicted")) > 0);
        assert_true(json_real_value(json_object_get(check, "seconds_executed")) > 0);
        held += json_is_true(json_object_get(check, "ok"));
    }
    assert_int_equal(held == json_array_size(checks), ok);
    return json_array_size(checks);
}

static void a_case(void **state) {
    (void)state;
    json_t *answer = test_program_json(0, "validate", "--case", test_folder, "--json", NULL);
    assert_int_equal(check_rows(answer, true), 3 * 6); /* dense, right-to-left, optimal */
    json_decref(answer);
    answer = test_program_json(0, "validate", "--case", test_folder, "--flow", "optimal", "--json", NULL);
    assert_int_equal(check_rows(answer, true), 6);
    json_decref(answer);
    answer = test_program_json(0, "validate", "--case", test_folder, "--flow", "optimal", "--training",
                               "--micro-batches", "3", "--json", NULL);
    assert_true(check_rows(answer, true) > 6);
    json_decref(answer);
    test_run run = test_program("validate", "--case", test_folder, NULL);
    assert_int_equal(run.status, 0);
    assert_non_null(strstr(run.out, "18 of 18 checks hold"));
    assert_non_null(strstr(run.out, "right-to-left"));
    test_run_free(&run);
}

static void a_wrong_result_is_status_1(void **state) {
    (void)state;
    put("y.npy", 2, (const uint64_t[]){3, 4}, 0);
    json_t *answer = test_program_json(1, "validate", "--case", test_folder, "--json", NULL);
    check_rows(answer, false);
    json_decref(answer);
    test_run run = test_program("validate", "--case", test_folder, NULL);
    assert_int_equal(run.status, 1);
    assert_non_null(strstr(run.out, "NO"));
    test_run_free(&run);
}

static void one_file(void **state) {
    (void)state;
    json_t *answer = test_program_json(0, "validate", "--case", test_in_folder("core2.npy"), "--json", NULL);
    const json_t *array = json_array_get(json_object_get(answer, "arrays"), 0);
    assert_string_equal(json_string_value(json_object_get(array, "name")), "core2");
    assert_string_equal(json_string_value(json_object_get(array, "type")), "f8");
    assert_int_equal(json_integer_value(json_array_get(json_object_get(array, "shape"), 2)), 3);
    assert_int_equal(json_integer_value(json_object_get(array, "elements")), 12);
    check_rows(answer, true);
    json_decref(answer);
}

static void a_model(void **state) {
    (void)state;
    json_t *answer =
        test_program_json(0, "validate", "atis-2enc", "--set", "flow=optimal", "--quiet", "--json", NULL);
    assert_int_equal(json_integer_value(json_object_get(answer, "seed")), 1);
    assert_true(check_rows(answer, true) >= 20);
    json_decref(answer);
}

/* What is run and not trained has no gradients to check, and keeps nothing for them. */
static void a_model_that_is_run(void **state) {
    (void)state;
    static const char *const flows[] = {"flow=bidirectional", "flow=training-least-peak"};
    for (int i = 0; i < 2; i++) {
        json_t *answer = test_program_json(0, "validate", "atis-2enc", "--set", "phase=inference", "--set",
                                           flows[i], "--set", "sequence=4", "--quiet", "--json", NULL),
               *row;
        size_t index;
        assert_true(check_rows(answer, true) >= 8);
        json_array_foreach(json_object_get(answer, "checks"), index, row)
            assert_string_equal(json_string_value(json_object_get(row, "phase")), "forward");
        json_decref(answer);
    }
}

/* A sweep's folder: its recommended designs, or one design by its id. */
static void a_sweep(void **state) {
    (void)state;
    const char *space = test_source("tests/space/data/small.yaml"), *result = test_in_folder("result");
    test_run run = test_program("sweep", space, "-o", result, "--quiet", NULL);
    assert_int_equal(run.status, 0);
    test_run_free(&run);
    json_t *answer = test_program_json(0, "validate", result, "--point", "all", "--quiet", "--json", NULL);
    assert_true(check_rows(answer, true) >= 4);
    json_decref(answer);
    answer = test_program_json(0, "validate", result, "--point", "0", "--quiet", "--json", NULL);
    assert_true(check_rows(answer, true) >= 4);
    json_decref(answer);
    run = test_program("validate", result, "--point", "99999999", "--quiet", NULL);
    assert_int_equal(run.status, 2);
    test_run_free(&run);
}

static void bad_usage(void **state) {
    (void)state;
    static const char *const row[][6] = {
        {"validate", NULL},
        {"validate", "atis-2enc", "--case", "x", NULL},
        {"validate", "atis-2enc", "--flow", "optimal", NULL},
        {"validate", "atis-2enc", "--training", NULL},
        {"validate", "atis-2enc", "--point", "all", NULL},
        {"validate", "--case", test_folder, "--flow", "optimum", NULL},
        {"validate", "--case", test_folder, "--flow", "bidirectional", NULL},
        {"validate", "--case", test_folder, "--micro-batches", "2", NULL},
        {"validate", "--case", "/nowhere/at/all", NULL},
        {"validate", "no-such-model", NULL},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        test_run run = test_program(row[i][0], row[i][1], row[i][1] ? row[i][2] : NULL,
                                    row[i][1] && row[i][2] ? row[i][3] : NULL,
                                    row[i][1] && row[i][2] && row[i][3] ? row[i][4] : NULL, NULL);
        if (run.status != 2) print_error("row %zu: status %d, %s\n", i, run.status, run.err);
        assert_int_equal(run.status, 2);
        assert_int_equal(strncmp(run.err, "tenfold: ", 9), 0);
        test_run_free(&run);
    }
    test_run run =
        test_program("validate", "--case", test_folder, "--training", "--micro-batches", "2", NULL);
    assert_int_equal(run.status, 2);
    assert_non_null(strstr(run.err, "must divide evenly"));
    test_run_free(&run);
    run = test_program("validate", "--case", test_folder, "--flow", "optimum", NULL);
    assert_non_null(strstr(run.err, "did you mean optimal?"));
    test_run_free(&run);
}

/* Every file of the reference formats is read, every reject_* refused. */
static void reference_formats(void **state) {
    (void)state;
    static const char *const good[] = {"cores_stored.npz",    "cores_deflated.npz", "cores.safetensors",
                                       "core2_fortran.npy",   "core2_f32.npy",      "core2_f16.npy",
                                       "core2_bigendian.npy", "core2_v2.npy",       "scalar_0d.npy"};
    static const char *const bad[] = {"reject_badmagic.npy", "reject_int64.npy", "reject_truncated.npy",
                                      "reject_hugeheader.safetensors", "reject_truncated.safetensors"};
    const char *root = test_shared_or_skip("oracles/gradients/formats");
    char path[1024];
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        snprintf(path, sizeof path, "%s/%s", root, good[i]);
        json_t *answer = test_program_json(0, "validate", "--case", path, "--json", NULL);
        size_t rows = check_rows(answer, true);
        assert_int_equal(rows > 0, strncmp(good[i], "cores", 5) == 0);
        json_decref(answer);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        snprintf(path, sizeof path, "%s/%s", root, bad[i]);
        test_run run = test_program("validate", "--case", path, NULL);
        assert_int_equal(run.status, 2);
        assert_string_equal(run.out, "");
        test_run_free(&run);
    }
}

/* 8e12 bytes of matrix under 4 GB of address space: refused with what it takes, before anything is drawn. */
static void what_no_memory_holds_is_refused(void **state) {
    (void)state;
    FILE *file = fopen(test_in_folder("vast.yaml"), "w");
    assert_non_null(file);
    fputs("kind: model\nname: vast\nsequence: 2\nlayers:\n"
          "  - {name: words, kind: embedding, vocabulary: 9, width: 1000000}\n"
          "  - {name: head, kind: linear, outputs: 1000000}\n  - {name: loss, kind: cross-entropy}\n",
          file);
    assert_int_equal(fclose(file), 0);
    char command[512];
    test_run got;
#ifdef __SANITIZE_ADDRESS__
    print_message("SKIPPED: a sanitized program does not start under a bound on its addresses\n");
#else
    snprintf(command, sizeof command,
             "cd %s && export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 && ulimit -v 4000000 && $TENFOLD "
             "validate vast.yaml --quiet",
             test_folder);
    got = test_shell(command);
    if (got.status != 2 || !strstr(got.err, "executing layer head takes 240") ||
        !strstr(got.err, "4.1 GB are there"))
        fail_msg("exit %d: %s", got.status, got.err);
    test_run_free(&got);
#endif
    /* The price of it names the bound that it breaks. */
    snprintf(command, sizeof command, "cd %s && $TENFOLD cost vast.yaml", test_folder);
    got = test_shell(command);
    if (got.status != 2 || !strstr(got.err, "bytes together; at most 2^40 - 1 are priced"))
        fail_msg("exit %d: %s", got.status, got.err);
    test_run_free(&got);
}

int main(void) {
#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, test_folder_remove)
    const struct CMUnitTest tests[] = {
        CASE(a_case),
        CASE(a_wrong_result_is_status_1),
        CASE(one_file),
        CASE(a_model),
        CASE(a_model_that_is_run),
        CASE(a_sweep),
        CASE(bad_usage),
        CASE(what_no_memory_holds_is_refused),
        cmocka_unit_test(reference_formats),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
