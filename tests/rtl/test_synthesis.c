/* DSP blocks, block RAM, UltraRAM and LUTRAM of a generated 2 x 2 x 1 engine are those that Yosys maps. Its passes end
 * here where these are settled; LUTs and flip-flops take a minute more and are compared by scripts/torture hardware. */
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

static uint64_t counted(const json_t *answer, const char *resource) {
    json_t *object = json_object_get(json_object_get(answer, "resources"), resource);
    json_t *predicted = json_object_get(object, "predicted");
    if (!json_is_integer(predicted)) fail_msg("no %s in resources", resource);
    return (uint64_t)json_integer_value(predicted);
}

/* Cells of the name in the report's last part, which sums the hierarchy. */
static uint64_t cells(const char *report, const char *name) {
    const char *sum = strstr(report, "design hierarchy");
    if (!sum) sum = report; /* of one module */
    for (const char *line = sum; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        char cell[64];
        unsigned long long count;
        if (sscanf(line, " %63s %llu", cell, &count) == 2 && strcmp(cell, name) == 0) return count;
    }
    return 0;
}

static void test_blocks(void **state) {
    (void)state;
    test_need("yosys");
    char folder[] = "synthesis-XXXXXX", command[1024];
    assert_non_null(mkdtemp(folder));
    json_t *answer = test_program_json(0, "rtl", test_source("tests/cli/data/small-layer.yaml"), "--layer",
                                       "head", "-o", folder, "--set", "build.rows=2", "--set",
                                       "build.columns=2", "--set", "build.reduction=1", "--json", NULL);
    snprintf(command, sizeof command,
             "cd '%s' && yosys -q -p \"read_verilog -sv -DSYNTHESIS $(ls *.sv | grep -v testbench | xargs); "
             "synth_xilinx -family xcup -uram -noiopad -noclkbuf -top engine -run begin:map_ffram; "
             "tee -o blocks.txt stat -top engine\" >log 2>&1 || { cat log; exit 1; }; cat blocks.txt",
             folder);
    test_run run = test_shell(command);
    if (run.status != 0) fail_msg("yosys: %s", run.out);
    assert_int_equal(cells(run.out, "DSP48E2"), counted(answer, "dsp"));
    assert_int_equal(cells(run.out, "RAMB18E2") + 2 * cells(run.out, "RAMB36E2"), counted(answer, "bram18"));
    assert_int_equal(cells(run.out, "URAM288"), counted(answer, "uram"));
    assert_int_equal(8 * cells(run.out, "RAM32M16") + 8 * cells(run.out, "RAM64M8"),
                     counted(answer, "lutram"));
    assert_true(counted(answer, "dsp") > 0 && counted(answer, "bram18") > 0 && counted(answer, "lutram") > 0);
    test_run_free(&run);
    json_decref(answer);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    run = test_shell(command);
    test_run_free(&run);
}

/* Levels of logic between two registers of each template, operators at the device files' latencies of 5 ns: a cut that stands
 * elsewhere than the delay shows here, and nowhere else. A level is a LUT, a carry or a multiplexer of a slice. Beside operators:
 * a bank of thirteen rows of blocks, a memory that is seen in two forms, the choice of one of sixteen memories with the
 * rotators behind it, a stage behind the sums, the counters that say where blocks begin. What only repeats, as lanes do, stands
 * there once. One run of Yosys maps them all: most of a run of its own goes to the library of cells. */
typedef struct {
    const char *module, *sources, *parameters;
    int levels;
} depth;
#define OPERATOR "pipe.sv delay.sv fp32_pack.sv "
static const depth depths[] = {
    {"fp32_exponential", OPERATOR "fp32_exponential.sv", "-set LATENCY 13", 20},
    {"fp32_logarithm", OPERATOR "fp32_logarithm.sv", "-set LATENCY 16", 20},
    {"fp32_add", OPERATOR "fp32_add.sv", "-set LATENCY 7", 13},
    {"fp32_multiply", OPERATOR "fp32_multiply.sv", "-set LATENCY 4", 12},
    {"bank", "bank.sv", "-set ELEMENTS 1 -set DEPTH 6504", 3},
    {"memory", "bank.sv memory.sv", "-set BANKS_HERE 4 -set DEPTH 1024 -set FORMS 2 -set BANKS_SEEN 131076",
     2},
    {"read_port", "pipe.sv delay.sv flags.sv turn.sv addresses.sv read_port.sv",
     "-set MEMORIES 16 -set MEMORY 4 -set WORD 2 -set TOP 32'hffffffff -set MASK 32'hffffffff", 6},
    {"write_back", OPERATOR "flags.sv fp32_add.sv fp32_greater.sv write_back.sv",
     "-set LANES 1 -set LATENCY 7", 13},
    {"odometer", "odometer.sv", "-set LEVELS 4 -set OPERANDS 1", 31}, /* 19 where no rotation goes further */
    {"fp32_add", OPERATOR "fp32_add.sv", "-set LATENCY 4", 20},
    {"fp32_greater", OPERATOR "fp32_greater.sv", "-set LATENCY 2", 10},
    {"fp32_divide", OPERATOR "fp32_divide.sv", "-set LATENCY 16", 22},
    {"fp32_square_root", OPERATOR "fp32_square_root.sv", "-set LATENCY 16", 20},
};

/* Each row's module is read and made one by itself; then all of them are mapped side by side, none into another. */
static void write_script(const char *folder, int rows) {
    char path[256];
    snprintf(path, sizeof path, "%s/depth.ys", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (int i = 0; i < rows; i++)
        fprintf(file,
                "read_verilog -sv -DSYNTHESIS %s\nchparam %s %s\nhierarchy -check -top %s\nproc\nflatten\n"
                "rename -top row%d\nsetattr -mod -unset top\ndesign -stash row%d\n",
                depths[i].sources, depths[i].parameters, depths[i].module, depths[i].module, i, i);
    for (int i = 0; i < rows; i++) fprintf(file, "design -copy-from row%d row%d\n", i, i);
    fprintf(file, "read_verilog -lib -specify +/xilinx/cells_sim.v\nread_verilog -lib +/xilinx/cells_xtra.v\n"
                  "synth_xilinx -family xcup -noiopad -noclkbuf -flatten -run prepare:check\n"
                  "delete t:FD* t:DSP* t:SRL* t:RAM* t:URAM*\ntee -o depth.txt ltp -noff\n");
    assert_int_equal(fclose(file), 0);
}

static void check_depth(const char *told, int i) {
    const depth *row = &depths[i];
    char begin[64];
    int levels;
    snprintf(begin, sizeof begin, "path in row%d (length=", i);
    const char *length = strstr(told, begin);
    if (!length) fail_msg("%s %s: no path in %s", row->module, row->parameters, told);
    levels = atoi(length + strlen(begin));
    print_message("%s %s: %d levels\n", row->module, row->parameters, levels);
    if (levels > row->levels)
        fail_msg("%s %s: %d levels, not %d", row->module, row->parameters, levels, row->levels);
    assert_true(levels > row->levels / 2); /* it did find the paths */
}

static void test_depth(void **state) {
    (void)state;
    enum { QUICK = 9, ALL = sizeof depths / sizeof *depths }; /* the others where TENFOLD_RTL_CASES asks */
    const int rows = getenv("TENFOLD_RTL_CASES") ? ALL : QUICK;
    test_need("yosys");
    char folder[] = "depth-XXXXXX", command[2048];
    assert_non_null(mkdtemp(folder));
    snprintf(command, sizeof command, "'%s' rtl '%s' -o '%s' --update >/dev/null && cp '%s'/*.sv '%s'",
             TEST_PROGRAM, test_source("tests/rtl/data/kernels.yaml"), folder,
             test_source("src/rtl/templates"), folder);
    test_run run = test_shell(command);
    if (run.status != 0) fail_msg("%s%s", run.out, run.err);
    test_run_free(&run);
    write_script(folder, rows);
    snprintf(command, sizeof command,
             "cd '%s' && { yosys -q depth.ys >log 2>&1 || { cat log; exit 1; }; cat depth.txt; }", folder);
    run = test_shell(command);
    if (run.status != 0) fail_msg("yosys: %s", run.out);
    for (int i = 0; i < rows; i++) check_depth(run.out, i);
    test_run_free(&run);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    run = test_shell(command);
    test_run_free(&run);
}

/* ---- the bus ---- */

static uint64_t of_shell(const json_t *answer, const char *key) {
    json_t *value = json_object_get(answer, key);
    if (!json_is_integer(value)) fail_msg("no %s", key);
    return (uint64_t)json_integer_value(value);
}

/* The shell alone, its engine a black box: what the device files say it takes; `cost` and `rtl` take so much more with it. */
static void test_shell_counts(void **state) {
    (void)state;
    static const char box[] = "(* blackbox *) module engine (input logic clk, reset, start, output logic "
                              "load, finished, input logic host_valid, "
                              "host_write, input logic [15:0] host_memory, input logic [7:0] host_bank, "
                              "input logic [31:0] host_word, input logic "
                              "[7:0] host_element, input logic [31:0] host_d, output logic host_answers, "
                              "output logic [31:0] host_q);\nendmodule\n";
    test_need("yosys");
    char folder[] = "shell-counts-XXXXXX", command[2048];
    const char *model = test_source("tests/rtl/data/fused.yaml");
    assert_non_null(mkdtemp(folder));
    json_t *cost = test_program_json(0, "cost", model, "--json", NULL);
    json_t *more = test_program_json(0, "cost", model, "--shell", "--json", NULL);
    json_t *plain = test_program_json(0, "rtl", model, "--update", "-o", folder, "--json", NULL);
    json_t *whole = test_program_json(0, "rtl", model, "--update", "--shell", "-o", folder, "--json", NULL);
    const uint64_t lut = of_shell(more, "shell_lut"), ff = of_shell(more, "shell_ff");
    assert_true(lut > 500 && ff > 500);
    assert_null(json_object_get(cost, "shell_lut"));
    json_t *a = json_object_get(json_object_get(cost, "resources"), "lut"),
           *b = json_object_get(json_object_get(more, "resources"), "lut");
    assert_int_equal(of_shell(b, "used") - of_shell(a, "used"), lut);
    const uint64_t memory = counted(whole, "lutram") - counted(plain, "lutram");
    assert_int_equal(counted(whole, "lut") + memory - counted(plain, "lut"), lut);
    assert_int_equal(counted(whole, "ff") - counted(plain, "ff"), ff);
    assert_int_equal(counted(whole, "bram18"), counted(plain, "bram18"));
    snprintf(command, sizeof command, "%s/box.sv", folder);
    FILE *file = fopen(command, "w");
    assert_non_null(file);
    fputs(box, file);
    fclose(file);
    snprintf(command, sizeof command,
             "cd '%s' && yosys -q -p \"read_verilog -sv -DSYNTHESIS box.sv fifo.sv shell.sv; synth_xilinx "
             "-family xcup -uram "
             "-noiopad -noclkbuf -top shell -flatten; tee -o shell.txt stat -top shell\" >log 2>&1 || { cat "
             "log; exit 1; }; "
             "cat shell.txt",
             folder);
    test_run run = test_shell(command);
    if (run.status != 0) fail_msg("yosys: %s", run.out);
    uint64_t logic = 0;
    static const char *const luts[] = {"LUT1", "LUT2", "LUT3", "LUT4", "LUT5", "LUT6"};
    for (size_t i = 0; i < sizeof luts / sizeof *luts; i++) logic += cells(run.out, luts[i]);
    assert_int_equal(8 * (cells(run.out, "RAM64M8") + cells(run.out, "RAM32M16")), memory);
    assert_int_equal(logic + memory, lut);
    assert_int_equal(cells(run.out, "FDRE") + cells(run.out, "FDSE"), ff);
    test_run_free(&run);
    json_decref(cost);
    json_decref(more);
    json_decref(plain);
    json_decref(whole);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    run = test_shell(command);
    test_run_free(&run);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_blocks), cmocka_unit_test(test_depth),
                                       cmocka_unit_test(test_shell_counts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
