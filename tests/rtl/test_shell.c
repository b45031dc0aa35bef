/* Generated hardware behind its bus, trained by its host program: losses and parameters are those of training in the
 * hardware's arithmetic, bit for bit, however the bus stalls, and after a reset in mid-run; the bus and the registers are
 * held to by host/device_simulator.cpp. The vendor's scripts are read as Tcl and XML. */
#include "base/file.h"
#include "base/memory.h"
#include "support/program.h"
#include "support/shared.h"

#include <jansson.h>
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

/* Runs a command in the folder, which ends with `status` and prints `wanted`; what it printed to `out`. */
static void in_folder(const char *folder, int status, const char *command, const char *wanted, char **out) {
    char line[1024];
    snprintf(line, sizeof line, "cd '%s' && { %s; } 2>&1", folder, command);
    test_run run = test_shell(line);
    if (run.status != status || (wanted && !strstr(run.out, wanted)))
        fail_msg("%s: status %d: %s", line, run.status, run.out);
    if (out) *out = strdup(run.out);
    test_run_free(&run);
}

static json_t *json_of(const char *folder, const char *name) {
    char path[256];
    json_error_t where;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    json_t *found = json_load_file(path, 0, &where);
    if (!found) fail_msg("%s:%d: %s", path, where.line, where.text);
    return found;
}

/* The elements of an array of single precision, as bits. */
static uint32_t *values_of(const char *folder, const char *part, const char *name, size_t *elements) {
    char path[512], *text;
    size_t length;
    snprintf(path, sizeof path, "%s/%s/%s.npy", folder, part, name);
    assert_int_equal(tn_file_read(path, 1 << 26, &text, &length, NULL), TN_OK);
    const unsigned char *bytes = (const unsigned char *)text;
    const size_t header = 10 + (bytes[8] | (size_t)bytes[9] << 8);
    uint32_t *values = malloc(length);
    assert_non_null(values);
    *elements = (length - header) / sizeof *values;
    memcpy(values, text + header, *elements * sizeof *values);
    tn_free(text);
    return values;
}

/* Elements of all parameters that differ between two folders of arrays; all of them to *count. */
static size_t differences(const char *folder, const char *part, const char *other_folder,
                          const char *other_part, size_t *count) {
    json_t *map = json_of(folder, "map.json");
    const json_t *parameters = json_object_get(map, "parameters");
    size_t wrong = 0;
    *count = 0;
    for (size_t p = 0; p < json_array_size(parameters); p++) {
        const char *name = json_string_value(json_object_get(json_array_get(parameters, p), "name"));
        size_t elements, others;
        uint32_t *found = values_of(folder, part, name, &elements),
                 *wanted = values_of(other_folder, other_part, name, &others);
        assert_int_equal(elements, others);
        for (size_t i = 0; i < elements; i++) wrong += found[i] != wanted[i];
        *count += elements;
        free(found);
        free(wanted);
    }
    json_decref(map);
    return wrong;
}

/* The host's program, run in `folder`, prints the losses of other/report.json, leaves other/expected, and takes the cycles
 * of the price. */
static void check_training(const char *folder, const char *other, const char *options) {
    char command[256], *printed;
    size_t elements;
    snprintf(command, sizeof command, "rm -rf trained && ./host/simulated %s", options);
    in_folder(folder, 0, command, NULL, &printed);
    json_t *report = json_of(other, "report.json");
    const json_t *losses = json_object_get(report, "losses");
    const size_t steps = json_array_size(losses);
    const char *line = printed;
    for (size_t step = 0; step < steps; step++, line = strchr(line, '\n') + 1) {
        const json_t *loss = json_array_get(losses, step);
        const double wanted = json_real_value(json_object_get(loss, "hardware")),
                     trained = json_real_value(json_object_get(loss, "float32"));
        unsigned number;
        double found;
        assert_int_equal(sscanf(line, "step %u loss %lf", &number, &found), 2);
        assert_int_equal(number, step);
        if (found != wanted) fail_msg("%s: step %u: loss %.17g, not %.17g", options, number, found, wanted);
        assert_true(found - trained < 1e-4 * trained && trained - found < 1e-4 * trained);
    }
    unsigned told, jobs;
    unsigned long long cycles;
    assert_int_equal(sscanf(line, "%u steps in %u jobs, %llu cycles", &told, &jobs, &cycles), 3);
    assert_int_equal(told, steps);
    assert_int_equal(
        cycles, steps * (unsigned long long)json_integer_value(json_object_get(report, "cycles_predicted")));
    assert_true(strstr(options, "-j") ? jobs > 5 : jobs == 1);
    assert_int_equal(differences(folder, "trained", other, "expected", &elements), 0);
    assert_true(elements > 100);
    assert_true(differences(folder, "trained", folder, "operands", &elements) > elements / 2);
    json_decref(report);
    free(printed);
}

static void remove_folder(const char *folder) {
    char command[256];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    test_run run = test_shell(command);
    test_run_free(&run);
}

static void test_training(void **state) {
    (void)state;
    test_need("verilator");
    char folder[] = "shell-XXXXXX", faster[] = "shell-XXXXXX", options[128];
    assert_non_null(mkdtemp(folder));
    test_generate("tests/rtl/data/fused.yaml", "--shell --steps 30", folder);
    /* Memories and registers begin with bits drawn by the seed. */
    in_folder(folder, 0, "make host FLOATS=c OPTIMISE=-O1 INITIAL=unique", NULL, NULL);
    check_training(folder, folder, "");
    for (int seed = 1; seed <= 4; seed++) {
        snprintf(options, sizeof options, "-d seed=%d,stall=%d", seed, 20 * seed);
        check_training(folder, folder, options);
        snprintf(options, sizeof options, "-d seed=%d,stall=%d,break=%d", seed, 20 * seed, 14011 * seed);
        check_training(folder, folder, options);
    }
    check_training(folder, folder, "-j 75 -d seed=9,stall=30");
    /* What goes wrong on the bus is told, not waited for. */
    in_folder(folder, 1, "./host/simulated -d fail=place", "error 1", NULL);
    in_folder(folder, 1, "./host/simulated -d fail=read,stall=30", "error 2", NULL);
    in_folder(folder, 1, "./host/simulated -d fail=write", "error 3", NULL);
    in_folder(folder, 1, "./host/simulated -d fail=record", "error 4", NULL);
    in_folder(folder, 1, "./host/simulated -d colour=red", "is none of", NULL);
    /* Another rate is a register of the same hardware; another sentence gives other losses. */
    assert_non_null(mkdtemp(faster));
    test_generate("tests/rtl/data/fused.yaml", "--shell --steps 20 --set training.learning_rate=0.25",
                  faster);
    check_training(folder, faster, "-r 0.25 -n 20");
    in_folder(
        folder, 0,
        "sed -i '2s/:[0-9]*$/:4/' examples.txt && ./host/simulated -n 2 >other && ./host/simulated -n 2 "
        "-d stall=50 | diff - other && sed -i '2s/:4$/:3/' examples.txt && ! ./host/simulated -n 2 | diff -q "
        "- other",
        NULL, NULL);
    remove_folder(faster);
    remove_folder(folder);
}

/* Sentences of a data folder, by their own numbers. */
static void test_questions(void **state) {
    (void)state;
    test_need("verilator");
    char folder[] = "shell-XXXXXX", command[512];
    assert_non_null(mkdtemp(folder));
    snprintf(command, sizeof command, "'%s' train --generate questions --sentences 60", TEST_PROGRAM);
    in_folder(folder, 0, command, NULL, NULL);
    snprintf(command, sizeof command, "--shell --steps 60 --set build.vector=1 --data '%s/questions'",
             folder);
    test_generate("tests/rtl/data/questions.yaml", command, folder);
    in_folder(folder, 0, "make host FLOATS=c OPTIMISE=-O1 INITIAL=unique", NULL, NULL);
    check_training(folder, folder, "-d seed=3,stall=10");
    remove_folder(folder);
}

static void test_lint(void **state) {
    (void)state;
    test_need("verilator");
    test_need("iverilog");
    char folder[] = "shell-XXXXXX";
    assert_non_null(mkdtemp(folder));
    test_generate("tests/rtl/data/kernels.yaml", "--shell", folder);
    in_folder(folder, 0, "make -s lint-shell >lint.log 2>&1 || { cat lint.log; exit 1; }", NULL, NULL);
    in_folder(folder, 1, "grep -E 'warning:|sorry:|error:|Warning' lint.log", NULL, NULL);
    in_folder(folder, 2, "sed -i 's/COUNT.(ROOM - BURST)/ROOM - BURST/' shell.sv && make lint-shell", "WIDTH",
              NULL);
    remove_folder(folder);
}

/* Whole Tcl, each file; then the scripts, where a command of the tools writes itself down and answers two words. */
static const char read_scripts[] =
    "foreach path [glob vitis/*.tcl vitis/*.xdc] {\n"
    "  if {![info complete [read [open $path]]]} { puts \"$path is not whole\"; exit 1 }\n"
    "}\n"
    "proc unknown {args} { puts $args; return {first second} }\n"
    "foreach script {package synthesise} { puts \"script $script\"; source vitis/$script.tcl }\n";

static void test_scripts(void **state) {
    (void)state;
    char folder[] = "shell-XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    test_generate("tests/rtl/data/kernels.yaml", "--shell --device u50", folder);
    test_need("tclsh");
    test_need("xmllint");
    snprintf(path, sizeof path, "%s/read.tcl", folder);
    assert_int_equal(tn_file_write(path, read_scripts, strlen(read_scripts), NULL), TN_OK);
    in_folder(folder, 0, "tclsh read.tcl >calls && cat calls", "package_xo -force -xo_path", NULL);
    in_folder(folder, 0, "cat calls", "synth_design -top shell -part xcu50-fsvh2104-2-e", NULL);
    in_folder(folder, 0, "cat calls", "/engine.sv", NULL);
    in_folder(folder, 0, "cat calls", "resize_pblock {first second} -add SLR0", NULL);
    in_folder(folder, 1, "grep testbench calls", NULL, NULL);
    /* kernel.xml says of the registers what shell.sv and device.h have. */
    in_folder(folder, 0, "xmllint --xpath 'count(//arg)' vitis/kernel.xml", "3", NULL);
    in_folder(folder, 0, "xmllint --xpath 'string(//arg[@name=\"records\"]/@offset)' vitis/kernel.xml",
              "0x10", NULL);
    in_folder(folder, 0, "xmllint --xpath 'string(//arg[@name=\"answers\"]/@offset)' vitis/kernel.xml",
              "0x18", NULL);
    in_folder(folder, 0, "xmllint --xpath 'string(//arg[@name=\"number\"]/@offset)' vitis/kernel.xml", "0x20",
              NULL);
    in_folder(folder, 0, "xmllint --xpath 'string(//kernel/@hwControlProtocol)' vitis/kernel.xml",
              "ap_ctrl_hs", NULL);
    in_folder(folder, 0, "grep -c -E 'TENFOLD_(RECORDS = 0x10|ANSWERS = 0x18|NUMBER = 0x20)' host/device.h",
              "3", NULL);
    in_folder(folder, 0, "cat vitis/link.cfg", "sp=shell_1.m_axi_gmem:HBM[0]", NULL);
    in_folder(folder, 0, "cat vitis/link.cfg", "freqHz=200000000:shell_1", NULL);
    /* Each says that it was never run. */
    in_folder(folder, 1, "grep -L -i never vitis/* | grep .", NULL, NULL);
    remove_folder(folder);
}

/* The card's side is C, by the runtime's declarations as this project knows them. */
static void test_card(void **state) {
    (void)state;
    char folder[] = "shell-XXXXXX", command[512];
    assert_non_null(mkdtemp(folder));
    test_generate("tests/rtl/data/fused.yaml", "--shell", folder);
    snprintf(
        command, sizeof command,
        "cc -std=c99 -Wall -Wextra -Werror -fsyntax-only -Ihost -I. -I'%s' host/host.c host/device_xrt.c",
        test_source("tests/rtl/data"));
    in_folder(folder, 0, command, NULL, NULL);
    remove_folder(folder);
}

static void test_refused(void **state) {
    (void)state;
    char command[512];
    snprintf(command, sizeof command, "'%s' rtl '%s' -o refused --shell --layer head", TEST_PROGRAM,
             test_source("tests/cli/data/small-layer.yaml"));
    in_folder(".", 2, command, "--shell trains a whole step", NULL);
    snprintf(command, sizeof command, "'%s' rtl '%s' -o refused --shell --set phase=inference", TEST_PROGRAM,
             test_source("tests/rtl/data/fused.yaml"));
    in_folder(".", 2, command, "--shell trains; phase: inference", NULL);
    snprintf(command, sizeof command, "'%s' rtl '%s' -o refused --layer head --data nowhere", TEST_PROGRAM,
             test_source("tests/cli/data/small-layer.yaml"));
    in_folder(".", 2, command, "--data: a layer alone", NULL);
    remove_folder("refused");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_training), cmocka_unit_test(test_questions),
                                       cmocka_unit_test(test_lint),     cmocka_unit_test(test_scripts),
                                       cmocka_unit_test(test_card),     cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
