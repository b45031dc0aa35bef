/* The FP32 operators of the hardware, simulated at every latency from 1 to 9, against sums and products that this
 * test rounds itself: of two binary32 numbers a product is exact in binary64, and a sum rounded to binary64 first
 * rounds to the same binary32 (Figueroa 1995: 53 >= 2 * 24 + 2). */
#include "device/device_data.h"
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

enum { VECTORS = 120000, LATENCY_MOST = 9 };

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

/* A subnormal operand counts as zero. */
static double operand(uint32_t bits) {
    return (double)of_bits(bits & 0x7f800000 ? bits : bits & 0x80000000);
}

/* Rounded to 24 bits as if exponents had no end; then too small is zero and too large infinite. */
static uint32_t rounded(double value) {
    if (isnan(value)) return 0x7fc00000;
    if (value == 0 || isinf(value) || fabs(value) >= 0x1p-120) return to_bits((float)value);
    double scaled = (double)(float)(value * 0x1p100);
    if (fabs(scaled) < 0x1p-26) return signbit(value) ? 0x80000000 : 0;
    return to_bits((float)(scaled * 0x1p-100));
}

static uint64_t next(uint64_t *state) {
    uint64_t z = *state += 0x9E3779B97F4A7C15;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
}

static uint32_t with_exponent(uint32_t bits, uint64_t exponent) {
    return (bits & 0x807fffff) | ((uint32_t)(exponent & 255) << 23);
}

/* Any bits; near in magnitude, so that sums cancel; products near the smallest numbers; ordinary numbers, half of
 * them with short mantissas, so that ties occur. */
static void draw(uint64_t *state, uint32_t *a, uint32_t *b) {
    uint64_t bits = next(state), choice = next(state);
    *a = (uint32_t)(bits >> 32);
    *b = (uint32_t)bits;
    uint64_t exponent = (*a >> 23) & 255;
    switch (choice % 4) {
    case 1:
        *b = with_exponent(*b, exponent + choice / 4 % 5 - 2);
        break;
    case 2:
        *b = with_exponent(*b, 126 - exponent + choice / 4 % 5);
        break;
    case 3:
        *a = with_exponent(*a, 100 + choice / 4 % 40);
        *b = with_exponent(*b, 100 + choice / 160 % 40);
        if (choice >> 63) {
            *a &= 0xfffff000;
            *b &= 0xfffff000;
        }
        break;
    default:
        break;
    }
}

static void put(FILE *file, uint32_t a, uint32_t b) {
    double x = operand(a), y = operand(b);
    fprintf(file, "%08x%08x%08x%08x\n", a, b, rounded(x * y), rounded(x + y));
}

static void write_vectors(const char *folder) {
    static const uint32_t special[] = {0,          0x80000000, 1,          0x80000001, 0x007fffff, 0x00800000,
                                       0x80800000, 0x00800001, 0x3f800000, 0xbf800000, 0x3f7fffff, 0x3f800001,
                                       0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000, 0x7fc00000, 0x7f800001,
                                       0xffffffff, 0x00ffffff, 0x01000000, 0x34000000, 0x33800000, 0x4b800000,
                                       0x4b7fffff, 0x1fffffff, 0x20000000};
    enum { SPECIAL = sizeof special / sizeof *special };
    char path[256];
    uint64_t state = 1;
    snprintf(path, sizeof path, "%s/vectors.hex", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (int i = 0; i < SPECIAL; i++)
        for (int j = 0; j < SPECIAL; j++) put(file, special[i], special[j]);
    for (int i = SPECIAL * SPECIAL; i < VECTORS; i++) {
        uint32_t a, b;
        draw(&state, &a, &b);
        put(file, a, b);
    }
    assert_int_equal(fclose(file), 0);
}

static test_run simulate(const char *folder, const char *edit) {
    char command[2048];
    snprintf(
        command, sizeof command,
        "cd '%s' && cp '%s'/*.sv . && %s && rm -rf obj && "
        "verilator --binary --top-module operators -GCOUNT=%d -GMOST=%d -O3 " TEST_VERILATED
        " -Wno-fatal -Wno-lint --Mdir obj "
        "'%s' pipe.sv delay.sv fp32_pack.sv fp32_multiply.sv fp32_add.sv >log 2>&1 || { cat log; exit 1; }; "
        "obj/Voperators",
        folder, test_source("src/rtl/templates"), edit, VECTORS, LATENCY_MOST,
        test_source("tests/rtl/operators.sv"));
    return test_shell(command);
}

static void test_operators_are_exact(void **state) {
    (void)state;
    test_need("verilator");
    char folder[] = "operators-XXXXXX";
    assert_non_null(mkdtemp(folder));
    write_vectors(folder);
    test_run run = simulate(folder, "true");
    char line[96];
    for (int latency = 1; latency <= LATENCY_MOST; latency++) {
        snprintf(line, sizeof line, "latency %d: multiply 0 add 0 wrong", latency);
        if (!strstr(run.out, line)) fail_msg("no line '%s' in:\n%s", line, run.out);
    }
    test_run_free(&run);
    /* The comparison can fail: an adder that rounds ties away is found. */
    run = simulate(folder, "sed -i 's/sum5\\[3\\] && (sum5\\[4\\] || |sum5\\[2:0\\])/sum5[3]/' fp32_add.sv");
    assert_non_null(strstr(run.out, "latency 7: multiply 0 add "));
    assert_null(strstr(run.out, "add 0 wrong"));
    test_run_free(&run);
    char command[64];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    run = test_shell(command);
    test_run_free(&run);
}

/* Every latency that a device file has for fp32 products and sums is one of those simulated. */
static void test_latencies_of_devices(void **state) {
    (void)state;
    static const char *const devices[] = {"u50", "u280", "kv260", "zcu102", "pynq-z2", "vck190"};
    uint64_t rows = 0;
    for (size_t d = 0; d < sizeof devices / sizeof *devices; d++) {
        tn_arena arena = {0};
        tn_device *device;
        tn_error error;
        if (tn_device_load(devices[d], NULL, 0, &arena, &device, &error) != TN_OK)
            fail_msg("%s: %s", devices[d], error.message);
        const tn_operator_row *row = device->operators.item;
        for (size_t i = 0; i < device->operators.count; i++) {
            bool simulated = row[i].operator_kind == TN_MULTIPLY || row[i].operator_kind == TN_ADDER;
            if (strcmp(row[i].precision, "fp32") != 0 || !simulated) continue;
            assert_in_range(row[i].stages, 1, LATENCY_MOST);
            rows++;
        }
        tn_arena_free(&arena);
    }
    assert_true(rows >= 2 * sizeof devices / sizeof *devices);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_operators_are_exact),
                                       cmocka_unit_test(test_latencies_of_devices)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
