/* tenfold cost: its keys, bars, arithmetic and refusals. */
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
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static json_t *get(const json_t *object, const char *key) {
    json_t *value = json_object_get(object, key);
    if (!value) fail_msg("no key %s", key);
    return value;
}

static uint64_t count(const json_t *object, const char *key) {
    json_t *value = get(object, key);
    if (!json_is_integer(value)) fail_msg("%s is no whole number", key);
    return (uint64_t)json_integer_value(value);
}

static double number(const json_t *object, const char *key) {
    json_t *value = get(object, key);
    if (!json_is_number(value)) fail_msg("%s is no number", key);
    return json_number_value(value);
}

static void assert_close(double value, double expected) {
    if (fabs(value - expected) > 1e-9 * fabs(expected)) fail_msg("%.17g is not %.17g", value, expected);
}

static const char *model_path(const char *name) {
    char path[128];
    snprintf(path, sizeof path, "models/%s.yaml", name);
    return test_source(path);
}

static void parameters(void **state) {
    (void)state;
    static const struct {
        const char *name;
        uint64_t compressed, dense;
    } models[] = {
        {"atis-2enc", 300290, 9179282}, {"atis-4enc", 374402, 16272530}, {"atis-6enc", 448514, 23365778}};
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        json_t *as_given = test_program_json(0, "cost", model_path(models[i].name), "--json", NULL);
        json_t *dense =
            test_program_json(0, "cost", model_path(models[i].name), "--set", "format=dense", "--json", NULL);
        assert_int_equal(count(as_given, "parameters"), models[i].compressed);
        assert_int_equal(count(as_given, "bytes"), 4 * models[i].compressed);
        assert_int_equal(count(dense, "parameters"), models[i].dense);
        assert_true(json_is_true(get(as_given, "fits")));
        assert_int_equal(json_array_size(get(as_given, "misfits")), 0);
        assert_string_equal(json_string_value(get(as_given, "model")), models[i].name);
        assert_string_equal(json_string_value(get(as_given, "device")), "u50@user-area");
        json_decref(as_given);
        json_decref(dense);
    }
}

static void sums(void **state) {
    (void)state;
    json_t *cost = test_program_json(0, "cost", "atis-2enc", "--json", "--set", "optimizer=adam", NULL);
    static const char *const phases[] = {"forward", "input_gradient", "weight_gradient"};
    uint64_t of_parameters = 0, macs[3] = {0};
    size_t index;
    json_t *layer;
    json_array_foreach(get(cost, "layers"), index, layer) {
        static const char *const keys[] = {"name",          "kind",           "format", "ranks",
                                           "peak_elements", "saved_elements", "flow"};
        for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) get(layer, keys[i]);
        of_parameters += count(layer, "parameters");
        for (int i = 0; i < 3; i++) macs[i] += count(get(layer, "macs"), phases[i]);
        assert_true(json_is_array(get(layer, "ranks")));
    }
    assert_int_equal(index, 35);
    assert_int_equal(of_parameters, count(cost, "parameters"));
    for (int i = 0; i < 3; i++) {
        const json_t *phase = get(get(cost, "phases"), phases[i]);
        assert_int_equal(count(phase, "macs"), macs[i]);
        assert_true(count(phase, "flops") > 2 * macs[i]);
    }
    assert_int_equal(count(get(get(cost, "phases"), "update"), "macs"), 0);
    assert_int_equal(count(get(get(cost, "phases"), "update"), "flops"), 12 * of_parameters);

    const json_t *memory = get(cost, "memory");
    assert_int_equal(count(memory, "parameter_bytes"), 4 * of_parameters);
    assert_int_equal(count(memory, "gradient_bytes"), 4 * of_parameters);
    assert_int_equal(count(memory, "optimizer_bytes"), 8 * of_parameters);
    assert_true(count(memory, "activation_bytes") > 0);
    assert_true(count(memory, "peak_bytes") >= 16 * of_parameters);
    json_decref(cost);
}

static void price(void **state) {
    (void)state;
    json_t *cost = test_program_json(0, "cost", "atis-2enc", "--json", NULL);
    const json_t *latency = get(cost, "latency"), *energy = get(cost, "energy");
    double seconds = number(latency, "seconds_per_step"), joules = 0;
    assert_close(seconds, (double)count(latency, "cycles_per_step") / (1e6 * number(latency, "clock_MHz")));
    assert_int_equal(count(latency, "steps_per_epoch"), 4478);
    assert_close(number(latency, "seconds_per_epoch"), 4478 * seconds);
    assert_close(number(energy, "watts"), number(energy, "joules_per_step") / seconds);
    const char *key;
    json_t *value;
    json_object_foreach(get(energy, "joules"), key, value) joules += json_number_value(value);
    assert_close(joules, number(energy, "joules_per_step"));
    static const char *const resources[] = {"lut", "ff", "dsp", "bram18", "uram"};
    for (size_t i = 0; i < sizeof resources / sizeof *resources; i++) {
        const json_t *resource = get(get(cost, "resources"), resources[i]);
        assert_close(number(resource, "share"),
                     (double)count(resource, "used") / (double)count(resource, "available"));
        assert_true(number(resource, "share") <= 1);
    }
    json_decref(cost);
}

static void flows(void **state) {
    (void)state;
    json_t *cost = test_program_json(0, "cost", "atis-2enc", "--set", "build.layouts=ideal", "--json", NULL),
           *flow;
    size_t index, given = 0;
    uint64_t right_to_left = 0, bidirectional = 0, optimal = 0;
    json_array_foreach(get(cost, "flows"), index, flow) {
        const char *name = json_string_value(get(flow, "name"));
        uint64_t cycles = count(flow, "cycles_per_step");
        if (strcmp(name, "right-to-left") == 0) right_to_left = cycles;
        if (strcmp(name, "bidirectional") == 0) bidirectional = cycles;
        if (strcmp(name, "optimal") == 0) optimal = cycles;
        if (!json_is_true(get(flow, "as_given"))) continue;
        given++;
        assert_int_equal(cycles, count(get(cost, "latency"), "cycles_per_step"));
    }
    assert_int_equal(given, 1);
    assert_true(right_to_left > bidirectional && bidirectional > optimal && optimal > 0);
    json_decref(cost);
}

/* An answer of "does not fit" is an answer: exit status 0. */
static void misfits(void **state) {
    (void)state;
    json_t *cost = test_program_json(0, "cost", "atis-6enc", "--set", "format=dense", "--json", NULL),
           *misfit;
    size_t index;
    assert_true(json_is_false(get(cost, "fits")));
    assert_true(json_array_size(get(cost, "misfits")) > 0);
    json_array_foreach(get(cost, "misfits"), index, misfit) {
        const json_t *resource = get(get(cost, "resources"), json_string_value(get(misfit, "resource")));
        assert_int_equal(count(misfit, "needed"), count(resource, "used"));
        assert_int_equal(count(misfit, "available"), count(resource, "available"));
        assert_true(count(misfit, "needed") > count(misfit, "available"));
        assert_true(json_array_size(get(misfit, "largest")) > 0);
        assert_true(json_is_string(json_array_get(get(misfit, "largest"), 0)));
    }
    json_decref(cost);
    test_run run = test_program("cost", "atis-6enc", "--set", "format=dense", NULL);
    assert_int_equal(run.status, 0);
    assert_non_null(strstr(run.out, "DOES NOT FIT"));
    assert_non_null(strstr(run.out, "to fit"));
    test_run_free(&run);
    /* Far too wide: what is proposed is applied and fits. */
    cost = test_program_json(0, "cost", "atis-2enc", "--set", "build.vector=1024", "--json", NULL);
    assert_true(json_is_false(get(cost, "fits")));
    assert_true(json_array_size(get(cost, "remedies")) > 0);
    const json_t *remedy = json_array_get(get(cost, "remedies"), 0);
    json_t *mended = test_program_json(0, "cost", "atis-2enc", "--set", "build.vector=1024", "--set",
                                       json_string_value(get(remedy, "change")), "--json", NULL);
    assert_true(json_is_true(get(mended, "fits")));
    assert_true(json_array_size(get(mended, "remedies")) == 0);
    json_decref(mended);
    json_decref(cost);
}

static void sets_reach_model_and_device(void **state) {
    (void)state;
    json_t *cost = test_program_json(0, "cost", "atis-2enc", "--json", NULL);
    json_t *slow = test_program_json(0, "cost", "atis-2enc", "--json", "--set", "clock_MHz=100", NULL);
    json_t *wide = test_program_json(0, "cost", "atis-2enc", "--json", "--set", "build.rows=16", "--set",
                                     "weights.square.rank=4", NULL);
    assert_true(number(get(slow, "latency"), "clock_MHz") == 100);
    assert_true(number(get(slow, "latency"), "seconds_per_step") >
                number(get(cost, "latency"), "seconds_per_step"));
    assert_true(count(get(get(wide, "resources"), "dsp"), "used") >
                count(get(get(cost, "resources"), "dsp"), "used"));
    assert_true(count(wide, "parameters") < count(cost, "parameters"));
    json_decref(cost);
    json_decref(slow);
    json_decref(wide);
}

static void refusals(void **state) {
    (void)state;
    static const struct {
        const char *argument[3], *message;
    } cases[] = {
        {{"atis-3enc", "--json", "--quiet"}, "did you mean"},
        {{"atis-2enc", "--set", "clock=100"}, "--set:1:1: neither model nor device has a key \"clock\""},
        {{"atis-2enc", "--set", "optimiser=adam"}, "did you mean optimizer"},
        {{"atis-2enc", "--set", "weights.square.rank=none"}, "--set:1:"},
        {{"atis-2enc", "--set", "weights.square.m=12x8x9"}, "12x8x9 multiplies to 864"},
        {{"atis-2enc", "--set", "weights.table.flow=bidirectional"}, "right-to-left or optimal"},
        {{"atis-2enc", "--set", "build.rows=0"}, "1 to 1024"},
        {{"atis-2enc", "--set", "build.rovs=2"}, "did you mean \"rows\""},
        {{"atis-2enc", "--set", "format"}, "KEY=VALUE"},
        {{"atis-2enc", "--set", "batch=1000000000000"},
         "atis-2enc.yaml:4:1: the forward phase takes more than"},
        {{"atis-2enc", "--set", "batch=10000000000000000"},
         "atis-2enc.yaml:18:5: a tensor of 3 indices has more"},
        {{"atis-2enc", "--set", "inherit=u280"}, "\"inherit\" belongs to the device's file"},
        {{"atis-2enc", "--device=u50@user-area", "--set=variant=half"}, "give one of them"},
        {{"atis-2enc", "--device", "u51"}, "u50"},
        {{"atis-2enc", "--device", "u50@area"}, "no variant called 'area'"},
        {{"atis-2enc", "--device", "h200"}, "tenfold roofline step"},
        {{"atis-2enc", "--format", "png"}, "--plot DIR"},
        {{"atis-2enc", "--plot=/tmp/unused", "--format=gif"}, "unknown figure format"},
        {{"atis-2enc", "atis-4enc", "--json"}, "atis-4enc"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *const *argument = cases[i].argument;
        test_run run = test_program("cost", argument[0], argument[1], argument[2], NULL);
        if (run.status != 2 || !strstr(run.err, cases[i].message) || run.out[0])
            fail_msg("%s %s %s: exit %d, %s", argument[0], argument[1], argument[2], run.status, run.err);
        assert_true(strncmp(run.err, "tenfold: ", 9) == 0);
        assert_ptr_equal(strchr(run.err, '\n'), run.err + strlen(run.err) - 1);
        test_run_free(&run);
    }
}

static void tables(void **state) {
    (void)state;
    test_run run = test_program("cost", "atis-2enc", "--full", NULL),
             again = test_program("cost", "atis-2enc", "--full", NULL);
    static const char *const parts[] = {
        "300,290 parameters", "encoder*.query",    "saved activations", "bram18", "matmul",
        "optimal-cycles",     "Unverified figures"};
    assert_int_equal(run.status, 0);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (!strstr(run.out, parts[i])) fail_msg("no \"%s\" in the tables", parts[i]);
    assert_null(strchr(run.out, '\033'));
    assert_string_equal(run.out, again.out);
    test_run_free(&run);
    test_run_free(&again);
    run = test_program("cost", "atis-2enc", "--set", "weights.square.rank=48", "--show", "layers", NULL);
    assert_non_null(strstr(run.out, "48, useful 1x12x48x48x48x12x1"));
    test_run_free(&run);
}

/* The flow that a device is asked for is told by its name, and priced as if it had been asked for by that. */
static void fastest_flow(void **state) {
    (void)state;
    json_t *asked =
        test_program_json(0, "cost", "atis-2enc", "--set", "weights.square.flow=fastest", "--json", NULL);
    const char *flow = NULL;
    char set[64];
    size_t i;
    json_t *layer;
    json_array_foreach(get(asked, "layers"), i, layer) {
        if (strcmp(json_string_value(get(layer, "kind")), "linear") == 0 &&
            strcmp(json_string_value(get(layer, "format")), "tt") == 0)
            flow = json_string_value(get(layer, "flow"));
    }
    assert_non_null(flow);
    assert_string_not_equal(flow, "fastest");
    snprintf(set, sizeof set, "weights.square.flow=%s", flow);
    json_t *named = test_program_json(0, "cost", "atis-2enc", "--set", set, "--json", NULL);
    assert_true(json_equal(get(asked, "latency"), get(named, "latency")));
    assert_true(json_equal(get(asked, "phases"), get(named, "phases")));
    json_decref(asked);
    json_decref(named);
}

static bool is_file(const char *folder, const char *name) {
    char path[256];
    struct stat about;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return stat(path, &about) == 0 && about.st_size > 0;
}

static void timeline(void **state) {
    (void)state;
    char folder[] = "/tmp/tenfold-cost-XXXXXX", command[512], figures[64];
    if (access("/usr/bin/gnuplot", X_OK) != 0) {
        print_message("SKIPPED: gnuplot is absent\n");
        skip();
    }
    assert_non_null(mkdtemp(folder));
    snprintf(figures, sizeof figures, "%s/figures", folder);
    json_t *cost =
        test_program_json(0, "cost", "atis-2enc", "--json", "--plot", figures, "--format", "svg", NULL);
    assert_non_null(strstr(json_string_value(get(cost, "figure")), "timeline.svg"));
    json_decref(cost);
    assert_true(is_file(figures, "timeline.svg") && is_file(figures, "timeline.gp") &&
                is_file(figures, "timeline.dat"));
    snprintf(command, sizeof command, "\"$TENFOLD\" cost atis-2enc --plot /dev/null/figures");
    test_run run = test_shell(command);
    assert_int_equal(run.status, 3);
    test_run_free(&run);
    snprintf(command, sizeof command, "rm -r %s", folder);
    run = test_shell(command);
    test_run_free(&run);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parameters),
        cmocka_unit_test(sums),
        cmocka_unit_test(price),
        cmocka_unit_test(flows),
        cmocka_unit_test(fastest_flow),
        cmocka_unit_test(misfits),
        cmocka_unit_test(sets_reach_model_and_device),
        cmocka_unit_test(refusals),
        cmocka_unit_test(tables),
        cmocka_unit_test(timeline),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
