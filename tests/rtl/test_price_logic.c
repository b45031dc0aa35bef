/* What a design is priced to take of the device is what `rtl` counts of the compiled engine: DSP blocks, block RAM and UltraRAM
 * exactly; LUTs and flip-flops, which the price follows by lines where only the compiled program knows them, nearly. That the
 * counts are those of a synthesis is held by test_synthesis and by scripts/torture BUILD synthesis. */
#include "support/folder.h"
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
#include <math.h>

static double amount(const json_t *answer, const char *resource, const char *which) {
    const json_t *value =
        json_object_get(json_object_get(json_object_get(answer, "resources"), resource), which);
    if (!json_is_integer(value)) fail_msg("no %s of %s", which, resource);
    return (double)json_integer_value(value);
}

static void check_nearly(const char *what, const char *resource, double priced, double counted, double most) {
    printf("%s: %s %.0f priced, %.0f counted (%+.1f %%)\n", what, resource, priced, counted,
           100 * (priced / counted - 1));
    if (fabs(priced - counted) > most * counted) fail_msg("%s: %s is off", what, resource);
}

/* A price's LUTs are logic and memories together. */
static void check(const char *model, const char *options, bool update, double lut_most, double ff_most) {
    static const char *const exact[] = {"dsp", "bram18", "uram"};
    char command[1024];
    snprintf(command, sizeof command, "'%s' cost '%s' --json %s", TEST_PROGRAM, model, options);
    json_t *price = test_shell_json(command);
    snprintf(command, sizeof command, "'%s' rtl '%s' -o built --json %s %s", TEST_PROGRAM, model,
             update ? "--update" : "", options);
    json_t *hardware = test_shell_json(command);
    for (size_t i = 0; i < sizeof exact / sizeof *exact; i++)
        if (amount(price, exact[i], "used") != amount(hardware, exact[i], "predicted"))
            fail_msg("%s %s: %s %.0f priced, %.0f counted", model, options, exact[i],
                     amount(price, exact[i], "used"), amount(hardware, exact[i], "predicted"));
    const char *name = strrchr(model, '/') ? strrchr(model, '/') + 1 : model;
    snprintf(command, sizeof command, "%s %s", name, options);
    check_nearly(command, "lut", amount(price, "lut", "used"),
                 amount(hardware, "lut", "predicted") + amount(hardware, "lutram", "predicted"), lut_most);
    check_nearly(command, "ff", amount(price, "ff", "used"), amount(hardware, "ff", "predicted"), ff_most);
    json_decref(price);
    json_decref(hardware);
}

/* The builds that the lines were drawn by, and others: within half of the tolerance that a synthesis is compared by; square banks,
 * whose rotators rtl counts as one multiplexer of all of them, a little more. */
enum { LUT_PERCENT = 11, FF_PERCENT = 3 };

static void test_small_steps(void **state) {
    (void)state;
    static const struct {
        const char *model, *options;
    } cases[] = {
        {"tests/rtl/data/fused.yaml", ""},
        {"tests/cli/data/small-layer.yaml", ""},
        {"tests/rtl/data/gated.yaml", ""},
        {"tests/rtl/data/functions.yaml", ""},
        {"tests/rtl/data/deep.yaml", ""},
        {"tests/rtl/data/deep.yaml", "--set build.core_memory=ultra --set build.split=partition"},
        {"tests/rtl/data/kernels.yaml", ""},
        {"tests/rtl/data/kernels.yaml", "--set build.rows=4 --set build.vector=8"},
        {"tests/rtl/data/kernels.yaml", "--set build.buffers=separate"},
        {"tests/rtl/data/kernels.yaml", "--set build.group=1 --set build.activation_memory=ultra"},
        {"tests/rtl/data/kernels.yaml",
         "--set build.split=banks --set build.columns=8 --set build.vector=16"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check(test_source(cases[i].model), cases[i].options, true, LUT_PERCENT / 100.0, FF_PERCENT / 100.0);
    check(test_source("tests/rtl/data/kernels.yaml"), "--set phase=inference", false, LUT_PERCENT / 100.0,
          FF_PERCENT / 100.0);
}

/* Rows of 16 elements, memories deeper than a block, and a program of hundreds of operations. */
static void test_deep_engine(void **state) {
    (void)state;
    check("atis-2enc", "", true, LUT_PERCENT / 100.0, FF_PERCENT / 100.0);
    check("atis-2enc", "--set build.split=auto", true, LUT_PERCENT / 100.0, FF_PERCENT / 100.0);
    check("atis-2enc", "--set build.rows=2 --set build.columns=8 --set build.vector=16", true,
          LUT_PERCENT / 100.0, FF_PERCENT / 100.0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_small_steps),
                                       cmocka_unit_test(test_deep_engine)};
    return cmocka_run_group_tests(tests, test_folder_make, test_folder_remove);
}
