/* Circuits of vector kernels against the price's passes; whole training steps in the hardware's arithmetic against
 * training, and, where TENFOLD_RTL_CASES asks for it (a minute each), in simulation. */
#include "base/arena.h"
#include "rtl/circuit.h"
#include "support/program.h"
#include "support/shared.h"

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
            const tn_pass *row = &tn_operation_rows[kind].pass[pass];
            tn_circuit circuit;
            uint64_t depth = 0, operators[TN_OPERATORS + 1] = {0};
            assert_int_equal(tn_circuit_make((tn_operation_kind)kind, pass, &latencies, &circuit, NULL),
                             TN_OK);
            for (uint32_t i = 0; i < circuit.nodes; i++)
                operators[tn_circuit_operator(circuit.node[i].kind)]++;
            for (int k = 0; k < TN_OPERATORS; k++) {
                depth += row->series[k] * latencies.of[k];
                if (operators[k] != row->operators[k])
                    fail_msg("%s, pass %u: operators of kind %d: %u circuit, %u priced",
                             tn_operation_rows[kind].kernel, pass, k, (unsigned)operators[k],
                             row->operators[k]);
            }
            if (circuit.depth != (depth ? depth : 1))
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
        tn_circuit_inputs in = {.a = x}, ahead = {.a = x + step}, of = {.a = 1, .b = x};
        tn_circuit_run(&gelu, &tn_float64_arithmetic, &in, out);
        tn_circuit_run(&gelu, &tn_float64_arithmetic, &ahead, next);
        assert_true(fabs(out[TN_CIRCUIT_Y] - formula) < 1e-6);
        double slope = (next[TN_CIRCUIT_Y] - out[TN_CIRCUIT_Y]) / step;
        tn_circuit_run(&gradient, &tn_float64_arithmetic, &of, out);
        assert_true(fabs(out[TN_CIRCUIT_Y] - slope) < 1e-4);
        tn_circuit_run(&gelu, &tn_hardware_arithmetic, &(tn_circuit_inputs){.a = (double)(float)x}, out);
        assert_true(fabs(out[TN_CIRCUIT_Y] - formula) < 2e-6);
    }
}

static double number_behind(const char *text, const char *key) {
    const char *at = strstr(text, key);
    if (!at) fail_msg("no %s in %s", key, text);
    return strtod(at + strlen(key), NULL);
}

/* Three steps: the loss of each in the hardware's arithmetic is that of training. */
static void check_steps(const char *model, const char *options, bool simulate) {
    char folder[] = "step-XXXXXX", command[1024];
    assert_non_null(mkdtemp(folder));
    snprintf(command, sizeof command, "'%s' rtl '%s' -o '%s' --update --steps 3 --json %s %s", TEST_PROGRAM,
             model, folder, options, simulate ? "--simulate" : "");
    test_run run = test_shell(command);
    if (run.status != 0) fail_msg("%s: %s%s", command, run.out, run.err);
    const char *at = strstr(run.out, "\"losses\"");
    assert_non_null(at);
    for (int step = 0; step < 3; step++) {
        double hardware = number_behind(at, "\"hardware\":"), exact = number_behind(at, "\"float64\":");
        if (fabs(hardware - exact) > 1e-5 * exact)
            fail_msg("%s: step %d: loss %.9g, of training %.9g", model, step, hardware, exact);
        at = strstr(at, "\"float64\":") + 1;
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

static void test_steps_train(void **state) {
    (void)state;
    char model[1024];
    snprintf(model, sizeof model, "%s/oracles/training/tiny-tt/model.yaml", TEST_SHARED_DIR);
    if (access(model, R_OK) != 0) {
        print_message("SKIPPED: %s is absent\n", model);
        skip();
    }
    check_steps(model, "", getenv("TENFOLD_RTL_CASES") != NULL);
    check_steps(model,
                "--set build.rows=2 --set build.columns=2 --set build.reduction=2 --set build.vector=2",
                false);
    snprintf(model, sizeof model, "%s/oracles/training/tiny-ttm/model.yaml", TEST_SHARED_DIR);
    check_steps(model, "", false);
    snprintf(model, sizeof model, "%s/oracles/training/tiny-dense/model.yaml", TEST_SHARED_DIR);
    check_steps(model, "", false);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_circuits_are_as_priced),
                                       cmocka_unit_test(test_circuits_compute),
                                       cmocka_unit_test(test_steps_train)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
