/* The operators beyond product and sum: their arithmetic in C against the C library, and the templates in simulation
 * against that arithmetic, bit for bit at several latencies. */
#include "rtl/circuit.h"
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

enum { VECTORS = 10000, ALL_LATENCIES = 5 };

static float of_bits(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint32_t to_bits(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static uint64_t next(uint64_t *state) {
    uint64_t z = *state += 0x9E3779B97F4A7C15;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
}

/* Units in the last place of `exact` in binary32. */
static double ulps(float found, double exact) {
    int exponent;
    frexp(exact, &exponent);
    return fabs((double)found - exact) / ldexp(1, exponent - 24);
}

static void test_exponential(void **state) {
    (void)state;
    uint64_t drawn = 1;
    double worst = 0;
    for (int i = 0; i < 200000; i++) {
        double x = (double)(next(&drawn) >> 40) / (1 << 24) * 174 - 87;
        if (i % 2) x = ldexp(x, -(int)(next(&drawn) % 30));
        double off = ulps(tn_special_exponential((float)x), exp((double)(float)x));
        if (off > worst) worst = off;
    }
    print_message("exponential: at most %.3f units in the last place\n", worst);
    assert_true(worst < 1);
    assert_true(tn_special_exponential(0) == 1);
    assert_true(isinf(tn_special_exponential(89)) && tn_special_exponential(-88) == 0);
    assert_true(isinf(tn_special_exponential(INFINITY)) && tn_special_exponential(-INFINITY) == 0);
    assert_int_equal(to_bits(tn_special_exponential(NAN)), 0x7fc00000);
}

static void test_logarithm(void **state) {
    (void)state;
    uint64_t drawn = 2;
    double worst = 0;
    for (int i = 0; i < 200000; i++) {
        float x = of_bits((uint32_t)(next(&drawn) % 0x7f000000 + 0x00800000));
        if (i % 2) x = 1 + (float)ldexp((double)(next(&drawn) >> 40) / (1 << 24), -(int)(next(&drawn) % 20));
        double exact = log((double)x), error = fabs((double)tn_special_logarithm(x) - exact);
        if (error < 0x1p-33) continue;
        double off = ulps(tn_special_logarithm(x), exact);
        if (off > worst) worst = off;
    }
    print_message("logarithm: at most %.3f units in the last place, or 2^-33\n", worst);
    assert_true(worst < 1);
    assert_true(tn_special_logarithm(1) == 0);
    assert_true(isinf(tn_special_logarithm(0)) && isinf(tn_special_logarithm(INFINITY)));
    assert_int_equal(to_bits(tn_special_logarithm(-1)), 0x7fc00000);
}

/* The compiler's own division and root of binary32, away from subnormal results. */
static void test_exact(void **state) {
    (void)state;
    uint64_t drawn = 3;
    for (int i = 0; i < 200000; i++) {
        float a = of_bits((uint32_t)(next(&drawn) % 0x30000000 + 0x28000000)),
              b = of_bits((uint32_t)(next(&drawn) % 0x18000000 + 0x32000000));
        assert_int_equal(to_bits(tn_ieee_divide(a, b)), to_bits(a / b));
        assert_int_equal(to_bits(tn_ieee_square_root(a)), to_bits(sqrtf(a)));
    }
    assert_true(tn_ieee_divide(0x1p-100f, 0x1p100f) == 0);
    assert_int_equal(to_bits(tn_ieee_divide(0, 0)), 0x7fc00000);
    assert_int_equal(to_bits(tn_ieee_square_root(-1)), 0x7fc00000);
    assert_true(tn_ieee_greater(0, -0.0f, 1, 2) == 2 && tn_ieee_greater(1, -1, 1, 2) == 1);
}

static uint32_t drawn_operand(uint64_t *state) {
    uint64_t bits = next(state);
    switch (bits % 4) {
    case 0:
        return (uint32_t)(bits >> 32);
    case 1: /* ordinary numbers of either sign */
        return ((uint32_t)(bits >> 32) & 0x807fffff) | (uint32_t)(100 + bits / 4 % 40) << 23;
    case 2: /* ordinary with few bits */
        return ((uint32_t)(bits >> 32) & 0x007ff000) | (uint32_t)(110 + bits / 4 % 30) << 23;
    default: /* near 1 */
        return 0x3f800000 + (uint32_t)(bits / 4 % 0x2000) - 0x1000;
    }
}

static void write_text(const char *folder, const char *name, void (*make)(tn_buffer *)) {
    tn_buffer text = {0};
    char path[256];
    make(&text);
    assert_int_equal(text.status, TN_OK);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text.data, 1, text.length, file), text.length);
    assert_int_equal(fclose(file), 0);
    tn_buffer_free(&text);
}

static void put_vectors(tn_buffer *out) {
    static const uint32_t special[] = {
        0,          0x80000000, 1,          0x80000001, 0x007fffff, 0x00800000, 0x80800000, 0x3f800000,
        0xbf800000, 0x3f7fffff, 0x3f800001, 0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000, 0x7fc00000,
        0x7f800001, 0xffffffff, 0x42b17218, 0x42b17217, 0xc2aeac50, 0xc2aeac4f, 0x3eb17218, 0x43000000};
    enum { SPECIAL = sizeof special / sizeof *special };
    uint64_t state = 4;
    for (int i = 0; i < VECTORS; i++) {
        bool listed = i < SPECIAL * SPECIAL;
        uint32_t a = listed ? special[i / SPECIAL] : drawn_operand(&state),
                 b = listed ? special[i % SPECIAL] : drawn_operand(&state);
        float x = of_bits(a), y = of_bits(b);
        tn_buffer_format(out, "%08x%08x%08x%08x%08x%08x%08x\n", a, b, to_bits(tn_ieee_greater(x, y, x, y)),
                         to_bits(tn_ieee_divide(x, y)), to_bits(tn_ieee_square_root(x)),
                         to_bits(tn_special_exponential(x)), to_bits(tn_special_logarithm(x)));
    }
}

static void test_templates(void **state) {
    (void)state;
    test_need("verilator");
    int cases =
        getenv("TENFOLD_RTL_CASES") ? ALL_LATENCIES : 1; /* the device files' latency; or all of special.sv */
    char folder[] = "special-XXXXXX", command[2048];
    assert_non_null(mkdtemp(folder));
    write_text(folder, "vectors.hex", put_vectors);
    write_text(folder, "exponential.hex", tn_special_exponential_table);
    write_text(folder, "logarithm.hex", tn_special_logarithm_table);
    snprintf(
        command, sizeof command,
        "cd '%s' && cp '%s'/*.sv . && verilator --binary --top-module special -GCOUNT=%d -GCASES=%d "
        "-O1 " TEST_VERILATED
        " -Wno-fatal -Wno-lint --Mdir obj '%s' pipe.sv delay.sv fp32_*.sv >log 2>&1 || { cat log; exit 1; }; "
        "obj/Vspecial",
        folder, test_source("src/rtl/templates"), VECTORS, cases, test_source("tests/rtl/special.sv"));
    test_run run = test_shell(command);
    int latencies = 0;
    for (const char *cursor = run.out;
         (cursor = strstr(cursor, "greater 0 divide 0 root 0 exponential 0 logarithm 0 wrong")); cursor++)
        latencies++;
    if (latencies != cases) fail_msg("%s", run.out);
    test_run_free(&run);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    run = test_shell(command);
    test_run_free(&run);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_exponential), cmocka_unit_test(test_logarithm),
                                       cmocka_unit_test(test_exact), cmocka_unit_test(test_templates)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
