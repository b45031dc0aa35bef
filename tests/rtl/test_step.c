/* Circuits of vector kernels against the price's passes; whole training steps in the hardware's arithmetic against
 * training, and, where TENFOLD_RTL_CASES asks for it (a minute each), in simulation. */
#include "base/file.h"
#include "base/memory.h"
#include "model/layer_kind.h"
#include "model/model.h"
#include "rtl/circuit.h"
#include "rtl/generate.h"
#include "support/arrays.h"
#include "support/program.h"
#include "support/shared.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* FP32 at 5 ns: multiply, add, compare, divide, exponential, logarithm, square root. */
static const tn_circuit_latencies latencies = {{4, 7, 2, 16, 13, 16, 16}};

/* A pass is as deep, and has as many operators, as its row of model/operation.c says. */
static void test_circuits_are_as_priced(void **state) {
    (void)state;
    for (int kind = 0; kind < TN_OPERATION_KINDS; kind++) {
        if (kind == TN_OP_SCATTER) continue; /* made of passes of its own */
        for (uint32_t pass = 0; pass < tn_circuit_passes((tn_operation_kind)kind); pass++) {
            const tn_pass *row = &tn_operation_passes((tn_operation_kind)kind)[pass];
            tn_circuit circuit;
            uint64_t depth = 1, operators[TN_OPERATORS + 1] = {0};
            assert_int_equal(tn_circuit_make((tn_operation_kind)kind, pass, &latencies, &circuit, NULL),
                             TN_OK);
            for (uint32_t i = 0; i < circuit.nodes; i++) operators[tn_node_operator(circuit.node[i].kind)]++;
            for (int k = 0; k < TN_OPERATORS; k++) {
                if (operators[k] != row->operators[k])
                    fail_msg("%s, pass %u: operators of kind %d: %u circuit, %u priced",
                             tn_operation_rows[kind].kernel, pass, k, (unsigned)operators[k],
                             row->operators[k]);
            }
            for (int path = 0; path < row->paths; path++) {
                uint64_t cycles = 0;
                for (int k = 0; k < TN_OPERATORS; k++) cycles += row->series[path][k] * latencies.cycles[k];
                if (cycles > depth) depth = cycles;
            }
            if (circuit.depth != depth)
                fail_msg("%s, pass %u: depth %u, priced %u", tn_operation_rows[kind].kernel, pass,
                         (unsigned)circuit.depth, (unsigned)depth);
        }
    }
}

/* A kernel computes what its formula says. */
static void test_circuits_compute(void **state) {
    (void)state;
    tn_circuit gelu, gradient;
    double out[TN_CIRCUIT_OUTPUTS], next[TN_CIRCUIT_OUTPUTS];
    assert_int_equal(tn_circuit_make(TN_OP_GELU, 0, &latencies, &gelu, NULL), TN_OK);
    assert_int_equal(tn_circuit_make(TN_OP_GELU_GRADIENT, 0, &latencies, &gradient, NULL), TN_OK);
    for (double x = -6; x <= 6; x += 0.37) {
        const double step = 1e-5,
                     formula = 0.5 * x * (1 + tanh(sqrt(2 / acos(-1)) * (x + 0.044715 * x * x * x)));
        tn_formula_inputs inputs = {.a = x}, ahead = {.a = x + step}, formula_inputs = {.a = 1, .b = x};
        tn_formula_run(&gelu.formula, &tn_float64_arithmetic, &inputs, out);
        tn_formula_run(&gelu.formula, &tn_float64_arithmetic, &ahead, next);
        assert_true(fabs(out[TN_CIRCUIT_Y] - formula) < 1e-6);
        double slope = (next[TN_CIRCUIT_Y] - out[TN_CIRCUIT_Y]) / step;
        tn_formula_run(&gradient.formula, &tn_float64_arithmetic, &formula_inputs, out);
        assert_true(fabs(out[TN_CIRCUIT_Y] - slope) < 1e-4);
        tn_formula_run(&gelu.formula, &tn_hardware_arithmetic, &(tn_formula_inputs){.a = (double)(float)x},
                       out);
        assert_true(fabs(out[TN_CIRCUIT_Y] - formula) < 2e-6);
    }
}

static double number_behind(const char *text, const char *key) {
    const char *cursor = strstr(text, key);
    if (!cursor) fail_msg("no %s in %s", key, text);
    return strtod(cursor + strlen(key), NULL);
}

/* Three steps: the loss of each in the hardware's arithmetic is that of training. */
static void check_steps(const char *model, const char *options, bool simulate) {
    char folder[] = "step-XXXXXX", command[1024];
    assert_non_null(mkdtemp(folder));
    snprintf(command, sizeof command, "'%s' rtl '%s' -o '%s' --update --steps 3 --json %s %s", TEST_PROGRAM,
             model, folder, options, simulate ? "--simulate" : "");
    test_run run = test_shell(command);
    if (run.status != 0) fail_msg("%s: %s%s", command, run.out, run.err);
    const char *cursor = strstr(run.out, "\"losses\"");
    assert_non_null(cursor);
    for (int step = 0; step < 3; step++) {
        double hardware = number_behind(cursor, "\"hardware\":"),
               exact = number_behind(cursor, "\"float64\":");
        if (fabs(hardware - exact) > 1e-5 * exact)
            fail_msg("%s: step %d: loss %.9g, of training %.9g", model, step, hardware, exact);
        cursor = strstr(cursor, "\"float64\":") + 1;
    }
    if (simulate) {
        assert_true(number_behind(run.out, "\"wrong_words\":") == 0);
        assert_true(number_behind(run.out, "\"relative_error\":") < 1e-5);
    }
    test_run_free(&run);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    run = test_shell(command);
    test_run_free(&run);
}

static bool simulates(void) {
    return getenv("TENFOLD_RTL_CASES") != NULL;
}

static void test_steps_train(void **state) {
    (void)state;
    const char *ttm = test_shared_or_skip("oracles/training/tiny-ttm/model.yaml");
    check_steps(ttm, "", false);
    check_steps(ttm,
                "--set build.split=banks --set build.skew=features --set build.rows=2 --set build.columns=2 "
                "--set build.reduction=2",
                simulates());
    check_steps(test_shared_or_skip("oracles/training/tiny-tt/model.yaml"),
                "--set build.rows=2 --set build.columns=2 --set build.reduction=2 --set build.vector=2",
                false);
    check_steps(test_shared_or_skip("oracles/training/tiny-dense/model.yaml"),
                "--set build.columns=2 --set build.vector=16", simulates());
}

/* Every kind of vector kernel, rows and columns that no word divides. */
static void test_kernels_train(void **state) {
    (void)state;
    const char *model = test_source("tests/rtl/data/kernels.yaml");
    check_steps(model, "", simulates());
    check_steps(model, "--set build.rows=4 --set build.vector=8", false);
    /* Kernels of eight lanes, of four, of two and of one. */
    check_steps(model, "--set build.vector=8 --set build.lane_dsp=5", simulates());
    check_steps(model, "--set build.vector=8 --set build.lane_lut=1000", simulates());
    check_steps(test_source("tests/rtl/data/gated.yaml"), "", simulates());
}

/* What a command answers of a model. */
static json_t *answered_of(const char *model, const char *command_of, const char *options) {
    char command[1024];
    json_error_t where;
    snprintf(command, sizeof command, "'%s' %s '%s' --json %s", TEST_PROGRAM, command_of, test_source(model),
             options);
    test_run run = test_shell(command);
    if (run.status != 0) fail_msg("%s: %s%s", command, run.out, run.err);
    json_t *root = json_loads(run.out, 0, &where);
    assert_non_null(root);
    test_run_free(&run);
    return root;
}

/* Rows of the model's sums on some lanes, simulated: no word wrong, each operation's cycles as predicted. */
static void check_rows(uint64_t rows, uint64_t lanes) {
    char folder[] = "rows-XXXXXX", options[256], command[64];
    assert_non_null(mkdtemp(folder));
    snprintf(options, sizeof options,
             "-o '%s' --update --simulate --set sequence=%" PRIu64 " --set build.vector=%" PRIu64, folder,
             rows, lanes);
    json_t *root = answered_of("tests/rtl/data/questions.yaml", "rtl", options), *operation;
    size_t i;
    json_array_foreach(json_object_get(root, "operations"), i, operation) {
        json_int_t predicted = json_integer_value(json_object_get(operation, "cycles_predicted"));
        json_int_t simulated = json_integer_value(json_object_get(operation, "cycles_simulated"));
        if (predicted == 0 || predicted != simulated)
            fail_msg("%" PRIu64 " rows on %" PRIu64 " lanes: %s takes %lld cycles, predicted %lld", rows,
                     lanes, json_string_value(json_object_get(operation, "name")), (long long)simulated,
                     (long long)predicted);
    }
    assert_true(i > 0);
    const json_t *wrong = json_object_get(root, "wrong_words");
    assert_true(json_is_integer(wrong));
    if (json_integer_value(wrong) != 0)
        fail_msg("%" PRIu64 " rows on %" PRIu64 " lanes: %lld words are wrong", rows, lanes,
                 (long long)json_integer_value(wrong));
    json_decref(root);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    test_run run = test_shell(command);
    test_run_free(&run);
}

/* A trip that the row's end cuts fetches in fewer cycles than the whole one before it is written in, and follows it at
 * once where rows fill all open sums: softmax over 10 columns, cross-entropy over 30. Where simulations are asked for, every number of rows. */
static void test_rows(void **state) {
    (void)state;
    check_rows(10, 4);
    if (!simulates()) return;
    for (uint64_t lanes = 1; lanes <= 8; lanes *= 2)
        for (uint64_t rows = 2; rows <= 12; rows++) check_rows(rows, lanes);
}

/* The model of fused products. */
static json_t *answered(const char *command_of, const char *options) {
    return answered_of("tests/rtl/data/fused.yaml", command_of, options);
}

static double cycles_of(json_t *root) {
    double cycles = json_number_value(json_object_get(json_object_get(root, "latency"), "cycles_per_step"));
    json_decref(root);
    return cycles;
}

static double priced_cycles(const char *options) {
    return cycles_of(answered("cost", options));
}

/* Functions of each element: cycles are those of the price, losses those of training, words those of the row's text. */
static void test_functions(void **state) {
    (void)state;
    const char *model = "tests/rtl/data/functions.yaml";
    for (size_t i = 0; i < tn_layer_kind_count; i++) { /* none is left out */
        char *text, wanted[64];
        size_t length;
        snprintf(wanted, sizeof wanted, "kind: %s}", tn_layer_kinds[i].name);
        assert_int_equal(tn_file_read(test_source(model), 1 << 16, &text, &length, NULL), TN_OK);
        if (tn_layer_kinds[i].operation && !strstr(text, wanted)) fail_msg("%s is not in %s", wanted, model);
        tn_free(text);
    }
    json_t *root = answered_of(model, "rtl", "-o functions --update");
    assert_true(json_number_value(json_object_get(root, "cycles_predicted")) ==
                cycles_of(answered_of(model, "cost", "")));
    json_decref(root);
    check_steps(test_source(model), "", true);
}

/* Whatever products do before they write, cycles are those of the price and losses the same, bit by bit. */
static void test_fused_steps(void **state) {
    (void)state;
    static const char *const fusions[] = {"none", "additions", "write-back"};
    char options[128];
    double loss = 0, before = 0;
    for (size_t i = 0; i < 3; i++) {
        snprintf(options, sizeof options, "--set build.fusion=%s", fusions[i]);
        double cycles = priced_cycles(options);
        snprintf(options, sizeof options, "-o fused --update --set build.fusion=%s", fusions[i]);
        json_t *root = answered("rtl", options),
               *hardware = json_object_get(json_array_get(json_object_get(root, "losses"), 0), "hardware");
        assert_true(json_number_value(json_object_get(root, "cycles_predicted")) == cycles);
        assert_true(i == 0 || (json_number_value(hardware) == loss && cycles < before));
        loss = json_number_value(hardware);
        before = cycles;
        json_decref(root);
    }
    check_steps(test_source("tests/rtl/data/fused.yaml"), "", simulates());
}

/* An inference is its forward phase, as priced, without losses. */
static void test_inference(void **state) {
    (void)state;
    char options[128];
    snprintf(options, sizeof options, "-o fused --set phase=inference %s", simulates() ? "--simulate" : "");
    json_t *root = answered("rtl", options);
    assert_true(json_number_value(json_object_get(root, "cycles_predicted")) ==
                priced_cycles("--set phase=inference"));
    assert_int_equal(json_array_size(json_object_get(root, "losses")), 0);
    if (simulates()) {
        assert_int_equal(json_integer_value(json_object_get(root, "wrong_words")), 0);
        assert_true(json_number_value(json_object_get(root, "relative_error")) < 1e-6);
    }
    json_decref(root);
}

/* GELU takes an exponential a lane: no template does it behind the sums. */
static void test_fused_gelu_is_refused(void **state) {
    (void)state;
    char command[1024];
    snprintf(
        command, sizeof command,
        "sed s/relu/gelu/ '%s' >gelu.yaml; '%s' rtl gelu.yaml -o fused; status=$?; rm -rf gelu.yaml fused; "
        "exit $status",
        test_source("tests/rtl/data/fused.yaml"), TEST_PROGRAM);
    test_run run = test_shell(command);
    assert_int_equal(run.status, 2);
    assert_non_null(strstr(run.err, "build.fusion has no template for a product that does \"add widen.bias, "
                                    "gelu\" as it writes; set it to additions, or none"));
    test_run_free(&run);
}

/* ---- a reference run: its weights, its tokens ---- */

enum { ORACLE_STEPS = 3 };

typedef struct {
    tn_arrays *weights;
    json_t *root;
    tn_example example[ORACLE_STEPS];
    uint32_t token[ORACLE_STEPS][8];
    int32_t slot[ORACLE_STEPS][8];
} oracle;

static void take_weights(void *user, const char *name, uint64_t elements, double *values) {
    const tn_array_info *info;
    double *source = test_arrays_values(((oracle *)user)->weights, name, &info);
    assert_int_equal(info->elements, elements);
    memcpy(values, source, elements * sizeof *values);
    free(source);
}

static void read_samples(oracle *reference) {
    json_t *samples = json_object_get(reference->root, "samples");
    for (size_t s = 0; s < ORACLE_STEPS; s++) {
        json_t *sample = json_array_get(samples, s), *tokens = json_object_get(sample, "tokens"),
               *slots = json_object_get(sample, "slots");
        size_t length = 0;
        assert_true(json_array_size(tokens) <= 8);
        for (; length < json_array_size(tokens) && json_integer_value(json_array_get(tokens, length)) >= 0;
             length++) {
            reference->token[s][length] = (uint32_t)json_integer_value(json_array_get(tokens, length));
            reference->slot[s][length] = (int32_t)json_integer_value(json_array_get(slots, length));
        }
        reference->example[s] = (tn_example){(uint32_t)length, reference->token[s], reference->slot[s],
                                             (int32_t)json_integer_value(json_object_get(sample, "intent"))};
    }
}

/* Losses of three steps of the whole model: those of the reference (float64, by another program) and those of training
 * in float32. */
static void test_oracle(void **state) {
    (void)state;
    static const char *const names[] = {"tiny-tt", "tiny-ttm", "tiny-dense"};
    tn_arena arena = {0};
    for (size_t c = 0; c < sizeof names / sizeof *names; c++) {
        char path[128], folder[] = "oracle-XXXXXX", command[64];
        oracle reference = {0};
        tn_model *model;
        tn_program_cache *cache;
        tn_device *device;
        tn_step step;
        tn_build build;
        tn_train_settings settings;
        tn_rtl_answer answer;
        tn_error error;
        json_error_t where;
        snprintf(path, sizeof path, "oracles/training/%s/oracle.json", names[c]);
        reference.root = json_load_file(test_shared_or_skip(path), 0, &where);
        assert_non_null(reference.root);
        read_samples(&reference);
        snprintf(path, sizeof path, "oracles/training/%s/initial.npz", names[c]);
        reference.weights = test_arrays_open(test_shared_or_skip(path));
        snprintf(path, sizeof path, "oracles/training/%s/model.yaml", names[c]);
        assert_int_equal(tn_model_load(test_shared_or_skip(path), NULL, 0, &arena, &model, NULL), TN_OK);
        assert_int_equal(tn_program_cache_new(&cache, NULL), TN_OK);
        assert_int_equal(tn_step_build(model, cache, &arena, &step, NULL), TN_OK);
        assert_int_equal(tn_device_load("u50@user-area", NULL, 0, &arena, &device, NULL), TN_OK);
        assert_int_equal(tn_build_decode(NULL, &arena, &build, NULL), TN_OK);
        assert_int_equal(tn_train_settings_decode(NULL, &arena, &settings, NULL), TN_OK);
        settings.layer_norm_epsilon = json_number_value(json_object_get(reference.root, "layer_norm_eps"));
        assert_non_null(mkdtemp(folder));
        const tn_rtl_request request = {.step = &step,
                                        .device = device,
                                        .build = &build,
                                        .folder = folder,
                                        .seed = 1,
                                        .update = true,
                                        .simulate = c == 0 && simulates(),
                                        .rate = json_number_value(json_object_get(reference.root, "lr")),
                                        .model = model,
                                        .settings = &settings,
                                        .steps = ORACLE_STEPS,
                                        .example = reference.example,
                                        .initial = take_weights,
                                        .user = &reference};
        if (tn_rtl_generate(&request, &arena, &answer, &error) != TN_OK) fail_msg("%s", error.message);
        for (size_t s = 0; s < ORACLE_STEPS; s++) {
            double expected = json_number_value(
                json_object_get(json_array_get(json_object_get(reference.root, "curve"), s), "loss"));
            if (fabs(answer.loss[s].hardware - expected) > 1e-5 * expected ||
                fabs(answer.loss[s].hardware - answer.loss[s].float32) > 1e-6 * expected)
                fail_msg("%s, step %zu: loss %.9g, of the reference %.9g, of training %.9g", names[c], s,
                         answer.loss[s].hardware, expected, answer.loss[s].float32);
            print_message("%s, step %zu: loss %.9f, of the reference %.9f, of training in float32 %.9f\n",
                          names[c], s, answer.loss[s].hardware, expected, answer.loss[s].float32);
        }
        if (request.simulate) {
            assert_int_equal(answer.wrong_words, 0);
            assert_int_equal(answer.cycles_simulated, answer.cycles_predicted);
        }
        snprintf(command, sizeof command, "rm -rf '%s'", folder);
        test_run run = test_shell(command);
        test_run_free(&run);
        tn_arrays_close(reference.weights);
        json_decref(reference.root);
        tn_program_cache_free(cache);
    }
    tn_arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_circuits_are_as_priced),
                                       cmocka_unit_test(test_circuits_compute),
                                       cmocka_unit_test(test_steps_train),
                                       cmocka_unit_test(test_kernels_train),
                                       cmocka_unit_test(test_rows),
                                       cmocka_unit_test(test_functions),
                                       cmocka_unit_test(test_fused_steps),
                                       cmocka_unit_test(test_inference),
                                       cmocka_unit_test(test_fused_gelu_is_refused),
                                       cmocka_unit_test(test_oracle)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
