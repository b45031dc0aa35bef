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
    assert_non_null(sum);
    for (const char *line = sum; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        char cell[64];
        unsigned long long count;
        if (sscanf(line, " %63s %llu", cell, &count) == 2 && strcmp(cell, name) == 0) return count;
    }
    return 0;
}

static void test_blocks(void **state) {
    (void)state;
    test_run found = test_shell("command -v yosys");
    bool absent = found.status != 0;
    test_run_free(&found);
    if (absent) {
        print_message("SKIPPED: yosys is absent\n");
        skip();
    }
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

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_blocks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
