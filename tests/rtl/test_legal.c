/* What is generated is read by other tools without a warning that nobody looked at, and works from any state that it may
 * wake up in: with random values in all that no reset sets, and after a reset in mid-run. */
#include "support/program.h"
#include "support/shared.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* Runs a command in the folder; its status. */
static int status_of(const char *folder, const char *command, const char *wanted) {
    char line[1024];
    snprintf(line, sizeof line, "cd '%s' && { %s; } 2>&1", folder, command);
    test_run run = test_shell(line);
    int status = run.status;
    if (wanted && !strstr(run.out, wanted)) fail_msg("%s: no %s in %s", line, wanted, run.out);
    test_run_free(&run);
    return status;
}

static void remove_folder(const char *folder) {
    char command[256];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    test_run run = test_shell(command);
    test_run_free(&run);
}

/* Every kind of vector kernel and of function, write-backs, two forms of banks, a layer alone. */
static void test_lint(void **state) {
    (void)state;
    static const struct {
        const char *model, *options;
    } designs[] = {
        {"tests/rtl/data/kernels.yaml", "--steps 2"},
        {"tests/rtl/data/fused.yaml", ""},
        {"tests/rtl/data/functions.yaml", "--set build.vector=2"},
        {"tests/cli/data/small-layer.yaml", "--set build.split=auto --set build.rows=4"},
        {"tests/cli/data/small-layer.yaml", "--layer head"},
    };
    test_need("verilator");
    test_need("iverilog");
    char folder[] = "legal-XXXXXX";
    assert_non_null(mkdtemp(folder));
    for (size_t i = 0; i < sizeof designs / sizeof *designs; i++) {
        test_generate(designs[i].model, designs[i].options, folder);
        if (status_of(folder, "make -s lint >lint.log 2>&1", NULL) != 0) {
            status_of(folder, "cat lint.log", "no warning");
            fail_msg("%s %s", designs[i].model, designs[i].options);
        }
        /* Icarus warns and goes on: it says nothing but the command. */
        assert_int_equal(status_of(folder, "grep -E 'warning:|sorry:|error:' lint.log", NULL), 1);
    }
    /* A width too many: it does look. */
    status_of(folder, "sed -i 's/MEMORY.(m)/m/' read_port.sv", NULL);
    assert_int_not_equal(status_of(folder, "make lint", "WIDTH"), 0);
    remove_folder(folder);
}

/* Words of more elements than Verilator unrolls loops by itself (64): what `make simulate` says of such a design. */
static void test_wide_words(void **state) {
    (void)state;
    test_need("verilator");
    char folder[] = "legal-XXXXXX", command[512];
    assert_non_null(mkdtemp(folder));
    test_generate("tests/cli/data/small-layer.yaml", "--layer head", folder);
    snprintf(command, sizeof command, "cp '%s' testbench.sv", test_source("tests/rtl/wide_bank.sv"));
    assert_int_equal(status_of(folder, command, NULL), 0);
    assert_int_equal(
        status_of(folder, "make simulate SOURCES=bank.sv FLOATS=c OPTIMISE=-O0", "elements 512 wrong 0"), 0);
    assert_int_not_equal(
        status_of(folder, "rm -rf object-*; make simulate SOURCES=bank.sv FLOATS=c OPTIMISE=-O0 UNROLL=",
                  "BLKLOOPINIT"),
        0);
    remove_folder(folder);
}

/* Three steps on samples that the host writes to two buffers in turn, the next while one runs. */
static void test_power_up(void **state) {
    (void)state;
    test_need("verilator");
    static const char steps[] = "--steps 3 --set build.vector=1 --set build.rows=1 --set build.columns=1";
    char folder[] = "legal-XXXXXX", faster[] = "legal-XXXXXX", command[256];
    assert_non_null(mkdtemp(folder));
    test_generate("tests/rtl/data/fused.yaml", steps, folder);
    assert_int_equal(status_of(folder, "make simulate FLOATS=c OPTIMISE=-O0 INITIAL=unique", "wrong 0"), 0);
    for (int seed = 1; seed <= 8; seed++) {
        snprintf(command, sizeof command, "make simulate FLOATS=c INITIAL=unique SEED=%d BREAK=%d", seed,
                 seed % 2 ? 0 : 600 * seed);
        assert_int_equal(status_of(folder, command, "wrong 0"), 0);
    }
    /* Another rate is the same hardware and program, told by the host. */
    assert_non_null(mkdtemp(faster));
    snprintf(command, sizeof command, "--set training.learning_rate=0.25 %s", steps);
    test_generate("tests/rtl/data/fused.yaml", command, faster);
    snprintf(command, sizeof command, "'../%s/object-c-unique/Vtestbench' +rate=3e800000", folder);
    assert_int_equal(status_of(faster, command, "wrong 0"), 0);
    snprintf(command, sizeof command, "'../%s/object-c-unique/Vtestbench'", folder);
    assert_int_not_equal(status_of(faster, command, "elements "), 0);
    remove_folder(faster);
    /* A sample that is another changes words: it is the host's that is taken. */
    assert_int_equal(
        status_of(folder, "sed -i '$s/^......../00000000/' labels.hex && tail -1 labels.hex", NULL), 0);
    assert_int_not_equal(status_of(folder, "make simulate FLOATS=c INITIAL=unique", "elements "), 0);
    /* The cycles of each operation are compared, too. */
    assert_int_equal(status_of(folder, "sed -i '3s/.$/f/' cycles.hex", NULL), 0);
    assert_int_not_equal(status_of(folder, "make simulate FLOATS=c INITIAL=unique", "operation 2 took"), 0);
    remove_folder(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_lint), cmocka_unit_test(test_wide_words),
                                       cmocka_unit_test(test_power_up)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
