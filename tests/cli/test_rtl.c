/* tenfold rtl: what it refuses, what it writes, and that simulated cycles and words are the predicted ones. */
#include "support/program.h"
#include "support/shared.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void refuses(int status, const char *because, const char *arguments) {
    char command[512];
    snprintf(command, sizeof command, "\"$TENFOLD\" rtl '%s' %s", test_source("models/atis-2enc.yaml"),
             arguments);
    test_run run = test_shell(command);
    if (run.status != status || !strstr(run.err, because))
        fail_msg("%s: status %d, '%s' instead of '%s'", arguments, run.status, run.err, because);
    test_run_free(&run);
}

static void refusals(void **state) {
    (void)state;
    refuses(2, "-o OUT is missing", "--layer encoder1.query");
    refuses(2, "generated for one example", "-o nowhere --set batch=2");
    refuses(2, "mean of 2 sorts", "-o nowhere --set predicted_gradients.per=1");
    refuses(2, "mean of 2 sorts", "-o nowhere --set phase=inference --set exit=[0.5,0.5]");
    refuses(2, "train with optimizer: sgd", "-o nowhere --update --set optimizer=adam");
    refuses(2, "its first linear one is encoder1.query", "-o nowhere --layer encoder9.query");
    refuses(2, "powers of two", "-o nowhere --layer encoder1.query --set build.rows=3");
    refuses(2, "compute in fp32", "-o nowhere --layer encoder1.query --set precision=bf16");
    refuses(2, "--point goes with the folder", "-o nowhere --layer encoder1.query --point 3");
    refuses(2, "the templates take at most",
            "-o nowhere --layer encoder1.query --set build.rows=64 --set build.columns=64 --set "
            "build.reduction=1");
    assert_int_equal(access("nowhere", F_OK), -1);
}

/* An array that addresses do not reach is refused before anything is drawn or written. */
static void beyond_addresses(void **state) {
    (void)state;
    static const char model[] = "kind: model\nname: huge\nbatch: 1\nsequence: 1\nlayers:\n"
                                "  - {name: embedding, kind: embedding, vocabulary: 2, width: 32768}\n"
                                "  - {name: head, kind: linear, outputs: 32768}\n"
                                "  - {name: loss, kind: cross-entropy}\n"
                                "build: {rows: 1, columns: 1, reduction: 1}\n";
    FILE *file = fopen("huge.yaml", "w");
    assert_non_null(file);
    assert_int_equal(fwrite(model, 1, sizeof model - 1, file), sizeof model - 1);
    assert_int_equal(fclose(file), 0);
    test_run run = test_program("rtl", "huge.yaml", "--layer", "head", "-o", "nowhere", NULL);
    if (run.status != 2 || !strstr(run.err, "addresses have at most 24 bits"))
        fail_msg("status %d: %s", run.status, run.err);
    assert_int_equal(access("nowhere", F_OK), -1);
    test_run_free(&run);
    remove("huge.yaml");
}

/* Without the simulator, or the synthesis, the answer is what to install. */
static void missing_programs(void **state) {
    (void)state;
    static const struct {
        const char *option, *package;
    } programs[] = {{"--simulate", "install the package verilator"},
                    {"--synthesise", "install the package yosys"}};
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        char command[512];
        snprintf(command, sizeof command,
                 "PATH=/nonexistent \"$TENFOLD\" rtl '%s' --layer head -o written %s",
                 test_source("tests/cli/data/small-layer.yaml"), programs[i].option);
        test_run run = test_shell(command);
        if (run.status != 3 || !strstr(run.err, programs[i].package))
            fail_msg("%s: status %d, '%s'", programs[i].option, run.status, run.err);
        test_run_free(&run);
    }
    test_run run = test_shell("rm -rf written");
    test_run_free(&run);
}

static uint64_t number(const json_t *object, const char *key) {
    json_t *value = json_object_get(object, key);
    if (!json_is_integer(value)) fail_msg("%s is no whole number", key);
    return (uint64_t)json_integer_value(value);
}

/* A small layer, simulated: the sum of what its operations were predicted to take. */
static void simulation(void **state) {
    (void)state;
    test_need("verilator");
    char folder[] = "rtl-XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    json_t *answer = test_program_json(0, "rtl", test_source("tests/cli/data/small-layer.yaml"), "--layer",
                                       "head", "-o", folder, "--update", "--simulate", "--json", NULL);
    uint64_t predicted = 0, simulated = 0;
    size_t index;
    json_t *operation;
    json_array_foreach(json_object_get(answer, "operations"), index, operation) {
        assert_int_equal(number(operation, "cycles_predicted"), number(operation, "cycles_simulated"));
        predicted += number(operation, "cycles_predicted");
        simulated += number(operation, "cycles_simulated");
    }
    assert_int_equal(predicted, number(answer, "cycles_predicted"));
    assert_int_equal(simulated, number(answer, "cycles_simulated"));
    assert_int_equal(number(answer, "wrong_words"), 0);
    assert_true(number(answer, "words") > 0);
    assert_true(json_real_value(json_object_get(answer, "relative_error")) < 1e-5);
    static const char *const files[] = {
        "operands/x.npy", "operands/core1.npy", "results/y.npy", "results/dcore1.npy",
        "program.hex",    "engine.svh",         "Makefile"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, files[i]);
        if (access(path, R_OK) != 0) fail_msg("%s is missing", path);
    }
    static const char *const resources[] = {"lut", "ff", "dsp", "bram18", "uram", "lutram"};
    for (size_t i = 0; i < sizeof resources / sizeof *resources; i++) {
        json_t *object = json_object_get(json_object_get(answer, "resources"), resources[i]);
        (void)number(object, "predicted");
        assert_null(json_object_get(object, "synthesised")); /* nothing was synthesised */
    }
    snprintf(path, sizeof path, "%s/report.json", folder);
    json_t *report = json_load_file(path, 0, NULL);
    if (!json_equal(report, answer)) fail_msg("%s differs from what --json printed", path);
    json_decref(report);
    json_decref(answer);
    snprintf(path, sizeof path, "rm -rf '%s'", folder);
    test_run run = test_shell(path);
    test_run_free(&run);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(refusals), cmocka_unit_test(beyond_addresses),
                                       cmocka_unit_test(missing_programs), cmocka_unit_test(simulation)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
