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
    refuses(2, "--layer NAME is missing", "-o nowhere");
    refuses(2, "its first linear one is encoder1.query", "-o nowhere --layer encoder9.query");
    refuses(2, "is of kind", "-o nowhere --layer encoder1.attention");
    refuses(2, "powers of two", "-o nowhere --layer encoder1.query --set build.rows=3");
    refuses(2, "compute in fp32", "-o nowhere --layer encoder1.query --set precision=bf16");
    refuses(2, "--point goes with the folder", "-o nowhere --layer encoder1.query --point 3");
    assert_int_equal(access("nowhere", F_OK), -1);
}

static uint64_t number(const json_t *object, const char *key) {
    json_t *value = json_object_get(object, key);
    if (!json_is_integer(value)) fail_msg("%s is no whole number", key);
    return (uint64_t)json_integer_value(value);
}

/* A small layer, simulated: the sum of what its operations were predicted to take. */
static void simulation(void **state) {
    (void)state;
    test_run found = test_shell("command -v verilator");
    bool absent = found.status != 0;
    test_run_free(&found);
    if (absent) {
        print_message("SKIPPED: verilator is absent\n");
        skip();
    }
    char folder[] = "rtl-XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    json_t *answer = test_program_json(0, "rtl", test_source("tests/cli/data/small-layer.yaml"), "--layer",
                                       "head", "-o", folder, "--update", "--simulate", "--json", NULL);
    uint64_t predicted = 0, simulated = 0;
    size_t at;
    json_t *operation;
    json_array_foreach(json_object_get(answer, "operations"), at, operation) {
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
    json_decref(answer);
    snprintf(path, sizeof path, "rm -rf '%s'", folder);
    test_run run = test_shell(path);
    test_run_free(&run);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(refusals), cmocka_unit_test(simulation)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
