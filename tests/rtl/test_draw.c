/* The generator of random numbers by their place, simulated, against base/random.h: the initial weights that training draws
 * again, to the bits that a circuit keeps of them. */
#include "base/random.h"
#include "support/program.h"
#include "support/shared.h"

#include <math.h>
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

enum { VECTORS = 10000 };

/* Of draws one behind the other, and of any state. */
static void put_vectors(const char *folder) {
    static const uint64_t special[] = {0, 1, UINT64_MAX, UINT64_C(1) << 63};
    char path[256];
    uint64_t place = 7, order = 3;
    snprintf(path, sizeof path, "%s/vectors.hex", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (uint64_t i = 0; i < VECTORS; i++) {
        const uint64_t any = i < sizeof special / sizeof *special ? special[i] : tn_splitmix_next(&order);
        uint64_t before = i % 2 ? tn_splitmix_after(place, i) : any, state = before, again = before;
        const uint64_t drawn = tn_splitmix_next(&state);
        const float y = ldexpf((float)((int64_t)(drawn >> 40) - (1 << 23)), -23);
        uint32_t bits;
        memcpy(&bits, &y, sizeof bits);
        /* what training draws, but for the bits below */
        assert_true(fabs(2 * tn_splitmix_unit(&again) - 1 - (double)y) < 0x1p-23);
        fprintf(file, "%016llx%08lx\n", (unsigned long long)state, (unsigned long)bits);
    }
    assert_int_equal(fclose(file), 0);
}

/* Any draw is that of the sequence. */
static void draws_by_their_place(void **state) {
    (void)state;
    uint64_t sequence = 42;
    for (uint64_t i = 0; i < 1000; i++) {
        uint64_t placed = tn_splitmix_after(42, i);
        assert_true(tn_splitmix_next(&placed) == tn_splitmix_next(&sequence));
    }
}

static void the_template_draws_the_same(void **state) {
    (void)state;
    test_need("verilator");
    char folder[] = "draw-XXXXXX", command[2048];
    assert_non_null(mkdtemp(folder));
    put_vectors(folder);
    snprintf(command, sizeof command,
             "cd '%s' && verilator --binary --top-module draw -GCOUNT=%d -O1 " TEST_VERILATED
             " -Wno-fatal -Wno-lint "
             "--Mdir obj '%s' '%s/fp32_draw.sv' >log 2>&1 || { cat log; exit 1; }; obj/Vdraw",
             folder, VECTORS, test_source("tests/rtl/draw.sv"), test_source("src/rtl/templates"));
    test_run run = test_shell(command);
    if (!strstr(run.out, "0 of 10000 wrong") || strstr(run.out, "00 of 10000 wrong")) fail_msg("%s", run.out);
    test_run_free(&run);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    run = test_shell(command);
    test_run_free(&run);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(draws_by_their_place),
                                       cmocka_unit_test(the_template_draws_the_same)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
