/* tenfold compare: its rows against the commands that answer for one system alone, its ratios against counts by hand. */
#include "support/folder.h"
#include "support/program.h"
#include "support/shared.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static double number(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    if (!json_is_number(value)) fail_msg("no number under %s", key);
    return json_number_value(value);
}

static const char *text(const json_t *object, const char *key) {
    const char *value = json_string_value(json_object_get(object, key));
    if (!value) fail_msg("no text under %s", key);
    return value;
}

static bool near(double a, double b) {
    return fabs(a - b) <= 1e-9 * fabs(b);
}

static const json_t *row_of(const json_t *answer, const char *model, const char *system,
                            const char *training) {
    const json_t *rows = json_object_get(answer, "rows");
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        if (strcmp(text(row, "model"), model) == 0 && strcmp(text(row, "system"), system) == 0 &&
            strcmp(text(row, "training"), training) == 0)
            return row;
    }
    fail_msg("no row of %s on %s, %s", model, system, training);
    return NULL;
}

/* Null only under `published`. */
static void assert_no_null(const json_t *object) {
    const char *key;
    json_t *value;
    size_t i;
    assert_false(json_is_null(object));
    json_object_foreach((json_t *)object, key, value) if (strcmp(key, "published") != 0)
        assert_no_null(value);
    json_array_foreach(object, i, value) assert_no_null(value);
}

static void assert_around(const json_t *row, const char *key) {
    const json_t *range = json_object_get(json_object_get(row, "range"), key);
    assert_int_equal(json_array_size(range), 2);
    double least = json_number_value(json_array_get(range, 0)),
           most = json_number_value(json_array_get(range, 1));
    assert_true(least <= number(row, key) && number(row, key) <= most && least < most);
}

static const struct {
    const char *name;
    double dense, tensor;
} models[] = {
    {"atis-2enc", 9179282, 300290}, {"atis-4enc", 16272530, 374402}, {"atis-6enc", 23365778, 448514}};

static json_t *answer;

static int set_up(void **state) {
    if (test_folder_make(state) != 0) return -1;
    answer = test_program_json(0, "compare", "atis-2enc", "atis-4enc", "atis-6enc", "--fpga", "u50", "--gpu",
                               "rtx3090", "--gpu", "h200", "--json", NULL);
    return 0;
}

static int tear_down(void **state) {
    json_decref(answer);
    return test_folder_remove(state);
}

static void rows_are_whole(void **state) {
    (void)state;
    const json_t *rows = json_object_get(answer, "rows");
    assert_int_equal(json_array_size(rows), 3 * (2 * 2 + 1));
    assert_no_null(rows);
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        static const char *const ranged[] = {"seconds_per_step", "seconds_per_epoch", "joules_per_step",
                                             "joules_per_epoch"};
        for (size_t k = 0; k < 4; k++) assert_around(row, ranged[k]);
        assert_true(near(number(row, "seconds_per_epoch"), 4478 * number(row, "seconds_per_step")));
        assert_true(near(number(row, "joules_per_epoch"), 4478 * number(row, "joules_per_step")));
        assert_true(number(row, "live_bytes") > number(row, "parameters_bytes"));
    }
    for (size_t m = 0; m < 3; m++) {
        assert_true(number(row_of(answer, models[m].name, "h200", "dense"), "parameters_bytes") ==
                    4 * models[m].dense);
        assert_true(number(row_of(answer, models[m].name, "u50@user-area", "tensor"), "parameters_bytes") ==
                    4 * models[m].tensor);
    }
}

static void gpus_as_roofline_step_says(void **state) {
    (void)state;
    static const char *const gpu[] = {"rtx3090", "h200"};
    for (size_t i = 0; i < 2; i++)
        for (int dense = 0; dense <= 1; dense++) {
            json_t *step = test_program_json(0, "roofline", "step", "atis-4enc", "--device", gpu[i], "--set",
                                             dense ? "format=dense" : "format=as-given", "--json", NULL);
            const json_t *row = row_of(answer, "atis-4enc", gpu[i], dense ? "dense" : "tensor");
            assert_true(near(1e3 * number(row, "seconds_per_step"), number(step, "launched_ms")));
            assert_true(near(1e3 * number(row, "kernels_seconds_per_step"), number(step, "graph_ms")));
            assert_true(near(number(row, "joules_per_step"), number(step, "joules")));
            assert_true(4 * number(step, "parameters") == number(row, "parameters_bytes"));
            json_decref(step);
        }
}

/* The design that was found, given to `cost` as overrides of the model file. */
static void design_as_cost_says(void **state) {
    (void)state;
    const json_t *row = row_of(answer, "atis-2enc", "u50@user-area", "tensor");
    char command[1024] = "\"$TENFOLD\" cost atis-2enc --json", build[512];
    snprintf(build, sizeof build, "%s", text(row, "build"));
    for (char *key = strtok(build, " "); key; key = strtok(NULL, " ")) {
        size_t used = strlen(command);
        snprintf(command + used, sizeof command - used, " --set %s", key);
    }
    test_run run = test_shell(command);
    assert_int_equal(run.status, 0);
    json_t *cost = json_loads(run.out, 0, NULL);
    assert_non_null(cost);
    assert_true(json_is_true(json_object_get(cost, "fits")));
    assert_true(
        near(number(json_object_get(cost, "latency"), "seconds_per_step"), number(row, "seconds_per_step")));
    assert_true(
        near(number(json_object_get(cost, "energy"), "joules_per_step"), number(row, "joules_per_step")));
    assert_true(near(number(json_object_get(cost, "memory"), "peak_bytes"), number(row, "live_bytes")));
    const json_t *resources = json_object_get(cost, "resources");
    assert_true(number(json_object_get(resources, "bram18"), "used") * 18 * 1024 / 8 ==
                number(row, "bram_bytes"));
    assert_true(number(json_object_get(resources, "uram"), "used") * 288 * 1024 / 8 ==
                number(row, "uram_bytes"));
    json_decref(cost);
    test_run_free(&run);
}

static const json_t *verdict_of(const char *model, const char *measure) {
    const json_t *claims = json_object_get(answer, "claims");
    for (size_t i = 0; i < json_array_size(claims); i++) {
        const json_t *claim = json_array_get(claims, i);
        if (strcmp(text(claim, "model"), model) == 0 && strstr(text(claim, "measure"), measure)) return claim;
    }
    fail_msg("no claim of %s about %s", model, measure);
    return NULL;
}

static void claims_are_judged(void **state) {
    (void)state;
    static const char *const expected[] = {"follows", "follows", "nearly"};
    for (size_t m = 0; m < 3; m++) {
        const json_t *ratio = verdict_of(models[m].name, "ratio of parameters");
        assert_true(near(number(ratio, "ours"), models[m].dense / models[m].tensor));
        assert_string_equal(text(ratio, "verdict"), expected[m]);
        const json_t *live = verdict_of(models[m].name, "live training");
        const json_t *dense = row_of(answer, models[m].name, "rtx3090", "dense"),
                     *design = row_of(answer, models[m].name, "u50@user-area", "tensor"),
                     *tensor = row_of(answer, models[m].name, "rtx3090", "tensor");
        assert_true(near(number(live, "ours"), number(dense, "live_bytes") / number(design, "live_bytes")));
        assert_string_equal(text(live, "verdict"), "does not follow");
        const json_t *energy = verdict_of(models[m].name, "tensor training over");
        assert_true(near(number(energy, "ours"),
                         number(tensor, "joules_per_epoch") / number(design, "joules_per_epoch")));
        assert_non_null(strstr(text(energy, "why"), "host"));
        assert_string_equal(text(verdict_of(models[m].name, "block RAM"), "verdict"), "follows");
    }
    assert_string_equal(text(verdict_of("atis-2enc", "parameters, 4 bytes"), "verdict"), "follows");
    assert_string_equal(text(verdict_of("atis-6enc", "parameters, 4 bytes"), "verdict"), "follows");
}

/* Slower operators make other blocks pay here, and the step shorter: the range still holds the figure. */
static void range_holds_the_figure(void **state) {
    (void)state;
    json_t *told = test_program_json(0, "compare", "encoder-512", "--gpu", "a100-40gb", "--json", NULL);
    const json_t *rows = json_object_get(told, "rows");
    assert_int_equal(json_array_size(rows), 3);
    for (size_t i = 0; i < 3; i++) assert_around(json_array_get(rows, i), "seconds_per_step");
    json_decref(told);
}

static void people_and_refusals(void **state) {
    (void)state;
    test_run run = test_program("compare", "atis-2enc", "--gpu", "rtx3090", NULL);
    assert_int_equal(run.status, 0);
    assert_non_null(strstr(run.out, "does not follow"));
    assert_non_null(strstr(run.out, "step_power_W"));
    assert_non_null(strstr(run.out, "step, J"));
    assert_non_null(strstr(run.out, "memory / 30 to 51, BRAM <= 6 MiB, URAM <= 22.5 MiB, energy / 3.6"));
    test_run_free(&run);
    json_t *small =
        test_program_json(1, "compare", "atis-2enc", "--gpu", "rtx3090", "--fpga", "pynq-z2", "--json", NULL);
    assert_int_equal(json_array_size(json_object_get(small, "rows")), 2);
    assert_string_equal(json_string_value(json_array_get(json_object_get(small, "unfit"), 0)), "atis-2enc");
    json_decref(small);
    static const struct {
        const char *first, *option, *value, *says;
    } bad[] = {
        {"atis-2enc", "--fpga", "u50", "--gpu"},
        {"atis-2enc", "--gpu", "u50", "no roofline device"},
        {"atis-2enx", "--gpu", "h200", "atis-2enc"},
        {"/tmp", "--gpu", "h200", "not with folders"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        run = test_program("compare", bad[i].first, bad[i].option, bad[i].value, NULL);
        assert_int_equal(run.status, 2);
        assert_non_null(strstr(run.err, bad[i].says));
        test_run_free(&run);
    }
}

/* A design of a sweep beside a GPU: what cost says of it, and its model on the GPU as roofline step says. */
static void a_design_of_a_sweep(void **state) {
    (void)state;
    char id[32];
    const char *swept = test_in_folder("swept");
    test_run run =
        test_program("sweep", test_source("tests/space/data/mini.yaml"), "--quiet", "-o", swept, NULL);
    assert_int_equal(run.status, 0);
    test_run_free(&run);
    json_t *told = test_program_json(0, "recommend", swept, "--json", NULL);
    snprintf(id, sizeof id, "%lld", (long long)json_integer_value(json_object_get(told, "design")));
    json_t *cost = test_program_json(0, "cost", swept, "--point", id, "--json", NULL),
           *gpu = test_program_json(0, "roofline", "step", swept, "--point", id, "--device", "rtx3090",
                                    "--json", NULL),
           *compared =
               test_program_json(0, "compare", swept, "--point", id, "--gpu", "rtx3090", "--json", NULL);
    const char *model = text(cost, "model");
    const json_t *here = row_of(compared, model, text(cost, "device"), "tensor"),
                 *there = row_of(compared, model, "rtx3090", "tensor");
    assert_true(
        near(number(here, "seconds_per_step"), number(json_object_get(cost, "latency"), "seconds_per_step")));
    assert_true(
        near(number(here, "joules_per_step"), number(json_object_get(cost, "energy"), "joules_per_step")));
    assert_true(near(1e3 * number(there, "seconds_per_step"), number(gpu, "launched_ms")));
    assert_true(number(row_of(compared, model, "rtx3090", "dense"), "parameters_bytes") >
                number(there, "parameters_bytes"));
    json_decref(told), json_decref(cost), json_decref(gpu), json_decref(compared);
    test_run refused = test_program("compare", "atis-2enc", "--point", id, "--gpu", "rtx3090", NULL);
    assert_int_equal(refused.status, 2);
    assert_non_null(strstr(refused.err, "--point goes with the folder of a sweep"));
    test_run_free(&refused);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_whole),      cmocka_unit_test(gpus_as_roofline_step_says),
        cmocka_unit_test(design_as_cost_says), cmocka_unit_test(claims_are_judged),
        cmocka_unit_test(people_and_refusals), cmocka_unit_test(range_holds_the_figure),
        cmocka_unit_test(a_design_of_a_sweep),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
