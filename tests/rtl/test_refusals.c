/* What has no template is refused with the reason, exit 2; a program that is missing is named with its package, exit 3. */
#include "support/program.h"
#include "support/shared.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void check_model(const char *model, const char *before, const char *arguments, int status,
                        const char *said) {
    char command[1024];
    snprintf(command, sizeof command, "%s '%s' rtl '%s' -o refused %s", before, TEST_PROGRAM,
             test_source(model), arguments);
    test_run run = test_shell(command);
    if (run.status != status || !strstr(run.err, said))
        fail_msg("%s: exit %d for %d, '%s' for '%s'", arguments, run.status, status, run.err, said);
    test_run_free(&run);
}

static void check(const char *before, const char *arguments, int status, const char *said) {
    check_model("tests/rtl/data/kernels.yaml", before, arguments, status, said);
}

static void test_refused(void **state) {
    (void)state;
    static const struct {
        char arguments[80], said[56];
    } cases[] = {
        {"--set precision=bf16", "sums in bf16; the templates compute in fp32"},
        {"--set precision.products=bfp16,8,4", "weights in bfp16,8,4"},
        {"--layer query --set precision.products=bfp16,8,4", "weights in bfp16,8,4"},
        {"--layer query --set precision.weights=int8", "weights in int8"},
        {"--set build.array=systolic --set build.fusion=additions", "build.array: systolic has no template"},
        {"--set build.schedule=gradients-together", "build.schedule is gradients-together"},
        {"--layer query --set build.schedule=parallel", "build.schedule is parallel"},
        {"--update --set build.schedule=pipelined", "set it to sequential"},
        {"--set build.kernels=2", "build.kernels is 2"},
        {"--layer query --set build.kernels=3", "build.kernels is 3"},
        {"--set build.read_ports=2", "build.read_ports is 2"},
        {"--set build.sharing=per-phase", "build.sharing is per-phase"},
        {"--set build.vector_units=own", "build.vector_units is own"},
        {"--layer query --set build.off_chip_over_bytes=9", "for a layer alone; set it to 0"},
        {"--set phase=inference --set flat_gemm.rows=64 --set flat_gemm.block=2", "columns in blocks"},
        {"--set sparsity.weights=0.5", "multiplies a sparse parameter"},
        {"--set predicted_gradients.per=1 --layer query", "no template does"},
        {"--set phase=inference --set dvfs.deadline_us=100", "a clock that follows the work"},
        {"--layer query --set build.rows=3", "takes powers of two"},
        {"--set build.vector=3", "takes powers of two"},

        {"--set build.off_chip_over_bytes=50", "arrays off chip have no template"},
        {"--set batch=2", "generated for one example"},
        {"--update --set optimizer=adam", "train with optimizer: sgd"},
        {"--layer nothing", "the model has no such layer"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) check("", cases[i].arguments, 2, cases[i].said);
}

/* Layers that are priced and executed, and not generated, are named. */
static void test_layers(void **state) {
    (void)state;
    static const char *const models[] = {"rotary", "causal", "grouped"},
                             *const said[] = {"turned: rotary has no template",
                                              "attention with a causal mask",
                                              "attention with fewer kv_heads than heads"};
    char model[64];
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        snprintf(model, sizeof model, "tests/rtl/data/%s.yaml", models[i]);
        check_model(model, "", "", 2, said[i]);
    }
}

static void test_missing(void **state) {
    (void)state;
    check("env PATH=/nowhere", "--layer query --simulate", 3, "install the package verilator");
    check("env PATH=/nowhere", "--layer query --synthesise", 3, "install the package yosys");
}

static int tear_down(void **state) {
    (void)state;
    test_run run = test_shell("rm -rf refused");
    test_run_free(&run);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_refused), cmocka_unit_test(test_layers),
                                       cmocka_unit_test(test_missing)};
    return cmocka_run_group_tests(tests, NULL, tear_down);
}
