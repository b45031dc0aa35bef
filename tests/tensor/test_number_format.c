/* Number formats against reference arrays, against the compiler's float, against lists of every number that a
 * small format has, and, stochastic, against the mean. */
#include "tensor/number_format.h"

#include "support/arrays.h"
#include "support/outlier_pairs.h"
#include "support/shared.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES = 4000, HALVES = 0x7c00 };

static tn_number_format read(const char *text) {
    tn_number_format format = {0};
    tn_error error;
    if (tn_number_format_read(text, &format, &error) != TN_OK) fail_msg("%s: %s", text, error.message);
    return format;
}

static double rounded(const char *text, double value) {
    const tn_number_format format = read(text);
    tn_number_format_round(&format, &value, 1, 1, NULL);
    return value;
}

static double *values_of(const char *file, const tn_array_info **info, tn_arrays **arrays) {
    char name[64];
    snprintf(name, sizeof name, "oracles/training/bfp/%s.npy", file);
    *arrays = test_arrays_open(test_shared_or_skip(name));
    return test_arrays_values(*arrays, file, info);
}

static void blocks_are_those_of_the_reference(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"bfp16,8,2", "m2"}, {"bfp16,8,4", "m4"}, {"bfp16,8,6", "m6"}, {"bfp16,8,8", "m8"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const tn_number_format format = read(cases[i][0]);
        const tn_array_info *info, *same;
        tn_arrays *source, *target;
        double *values = values_of("input", &info, &source),
               *expected = values_of(cases[i][1], &same, &target);
        size_t columns = info->shape[info->axes - 1];
        assert_int_equal(columns % 16, 8); /* the last group of a row is short */
        tn_number_format_round(&format, values, info->elements / columns, columns, NULL);
        assert_memory_equal(values, expected, info->elements * sizeof *values);
        free(values);
        free(expected);
        tn_arrays_close(source);
        tn_arrays_close(target);
    }
}

/* A value of any size, sign and bits. */
static double sample(int power) {
    return (2.0 * rand() / RAND_MAX - 1) * exp2(power + 40.0 * rand() / RAND_MAX - 20);
}

static void single_precision_is_that_of_the_machine(void **state) {
    (void)state;
    srand(1);
    for (int i = 0; i < SAMPLES; i++) {
        double value = sample(i % 2 == 0 ? 0 : -140);
        assert_true(rounded("fp32", value) == (double)(float)value);
    }
    assert_true(isinf(rounded("fp32", 3.5e38)));
    assert_true(rounded("fp32", 3.4028235e38) == (double)3.4028235e38f);
}

static double half(unsigned bits) {
    unsigned exponent = bits >> 10, fraction = bits & 0x3ff;
    return exponent == 0 ? ldexp(fraction, -24) : ldexp(1024 + fraction, (int)exponent - 25);
}

/* Every positive number of fp16 stays, and what lies between two goes to the nearer, ties to the even one. */
static void half_precision_number_by_number(void **state) {
    (void)state;
    for (unsigned bits = 0; bits + 1 < HALVES; bits++) {
        double low = half(bits), high = half(bits + 1), middle = (low + high) / 2;
        assert_true(rounded("fp16", low) == low);
        assert_true(rounded("fp16", -high) == -high);
        assert_true(rounded("fp16", middle) == (bits % 2 == 0 ? low : high));
        assert_true(rounded("fp16", nextafter(middle, 0)) == low);
        assert_true(rounded("fp16", -nextafter(middle, 1e9)) == -high);
    }
    assert_true(isinf(rounded("fp16", 65520)));
    assert_true(rounded("fp16", 65519.99) == 65504);
}

/* bfloat16 from a float's bits: half of the last place added, ties to even. */
static void bfloat_is_the_upper_half(void **state) {
    (void)state;
    srand(2);
    for (int i = 0; i < SAMPLES; i++) {
        float value = (float)sample(0), expected;
        uint32_t bits;
        memcpy(&bits, &value, sizeof bits);
        bits += 0x7fff + (bits >> 16 & 1);
        bits &= 0xffff0000;
        memcpy(&expected, &bits, sizeof bits);
        assert_true(rounded("bf16", value) == expected);
    }
}

/* The nearest of all numbers of the format, by trying all. */
static void fixed_point_is_the_nearest_of_all(void **state) {
    (void)state;
    srand(3);
    for (int i = 0; i < SAMPLES; i++) {
        double value = 40.0 * rand() / RAND_MAX - 20, best = 0;
        for (int whole = -128; whole <= 127; whole++)
            if (fabs(whole / 16. - value) < fabs(best - value)) best = whole / 16.;
        assert_true(rounded("fixed8,4", value) == best);
    }
    assert_true(rounded("fixed16,8", 0.5 / 256) == 0); /* ties to even */
    assert_true(rounded("fixed16,8", 1.5 / 256) == 2. / 256);
    assert_true(rounded("fixed16,8", 1e9) == 32767. / 256);
    assert_true(rounded("fixed16,8", -1e9) == -128);
}

static void integers_are_scaled_by_the_greatest(void **state) {
    (void)state;
    const tn_number_format format = read("int8");
    double values[] = {-12.7, 0.1, 0.04, 6.26, 12.7, 0};
    static const double expected[] = {-127, 1, 0, 63, 127, 0};
    tn_number_format_round(&format, values, 2, 3, NULL);
    for (size_t i = 0; i < 6; i++) assert_true(fabs(values[i] - expected[i] * 0.1) < 1e-12);
    double zeros[] = {0, 0};
    tn_number_format_round(&format, zeros, 1, 2, NULL);
    assert_true(zeros[0] == 0 && zeros[1] == 0);
    assert_true(rounded("int16", -3.25) == -3.25);
}

/* Heavy tails, rows of an odd number, and values that do not differ. */
static void outlier_pairs_are_the_nearest_codes(void **state) {
    (void)state;
    enum { ROWS = 7, COLUMNS = 33 };
    static const char *const names[] = {"olive2", "olive3", "olive4", "olive5", "olive6", "olive7", "olive8"};
    srand(4);
    for (int bits = 2; bits <= 8; bits++)
        for (int trial = 0; trial < 20; trial++) {
            const tn_number_format format = read(names[bits - 2]);
            double values[ROWS * COLUMNS], expected[ROWS * COLUMNS];
            for (int i = 0; i < ROWS * COLUMNS; i++)
                values[i] = expected[i] = trial == 0 ? -2.5 : sample(0) * (rand() % 9 ? 1e-6 : 1);
            size_t outliers = test_outlier_pairs(bits, expected, ROWS, COLUMNS);
            tn_number_format_round(&format, values, ROWS, COLUMNS, NULL);
            for (int i = 0; i < ROWS * COLUMNS; i++)
                assert_true(fabs(values[i] - expected[i]) <= 1e-13 * fabs(expected[i]));
            assert_true(trial == 0 ? outliers == 0 : outliers > 0);
        }
    /* Of 4 bits 12, 16, 24, .. 96 scales; a scale of 1 by values whose mean and deviation give it. */
    assert_true(rounded("olive4", 3) == 3 && rounded("olive4", 0) == 0);
}

static double squared_error(const double *a, const double *b, int count) {
    double sum = 0;
    for (int i = 0; i < count; i++) sum += (a[i] - b[i]) * (a[i] - b[i]);
    return sum;
}

/* Of 0.75, 0.77 .. 2.49 times the scale by mean and deviation the one whose nearest codes differ least. */
static void searched_scale_has_the_least_error(void **state) {
    (void)state;
    enum { ROWS = 5, COLUMNS = 31, COUNT = ROWS * COLUMNS };
    int elsewhere = 0;
    srand(5);
    for (int bits = 2; bits <= 8; bits++) {
        char name[] = "olive?,mse";
        double values[COUNT], got[COUNT], plain[COUNT], least = INFINITY;
        *strchr(name, '?') = (char)('0' + bits);
        const tn_number_format format = read(name);
        for (int i = 0; i < COUNT; i++) values[i] = got[i] = plain[i] = sample(0) * (rand() % 9 ? 1e-6 : 1);
        tn_number_format_round(&format, got, ROWS, COLUMNS, NULL);
        for (int share = 75; share < 250; share += 2) {
            double tried[COUNT];
            memcpy(tried, values, sizeof tried);
            (void)test_outlier_pairs_by(share / 100.0, bits, tried, ROWS, COLUMNS);
            least = fmin(least, squared_error(tried, values, COUNT));
        }
        assert_true(fabs(squared_error(got, values, COUNT) - least) <= 1e-12 * least);
        (void)test_outlier_pairs(bits, plain, ROWS, COLUMNS);
        elsewhere += least < squared_error(plain, values, COUNT);
    }
    assert_true(elsewhere > 3);
}

/* Nothing finite becomes anything else in a format that scales, however large or small it is. */
static void far_values_stay_finite(void **state) {
    (void)state;
    static const char *const names[] = {"olive4", "olive4,mse", "olive8", "int8", "int16", "bfp4,8,4"};
    static const double far[] = {1, 0x1p-1074, 0x1p-900, 0x1p500, 0x1.fffffffffffffp1023};
    for (size_t n = 0; n < sizeof names / sizeof *names; n++)
        for (size_t k = 0; k < sizeof far / sizeof *far; k++) {
            const tn_number_format format = read(names[n]);
            double near[] = {0.25, -1, 0.5, 1}, values[4];
            for (int i = 0; i < 4; i++) values[i] = near[i] * far[k];
            tn_number_format_round(&format, values, 1, 4, NULL);
            tn_number_format_round(&format, near, 1, 4, NULL);
            for (int i = 0; i < 4; i++) {
                assert_true(isfinite(values[i]));
                if (format.kind == TN_OUTLIER_PAIRS && (k == 2 || k == 3))
                    assert_true(fabs(values[i] / far[k] - near[i]) < 1e-12);
            }
        }
}

/* Exponents that a group has no bits for: clipped above, coarse below. */
static void exponents_have_an_end(void **state) {
    (void)state;
    assert_true(rounded("bfp16,3,4", 100) == 7.5); /* e = 3 at most: 15 of 2^-1 */
    assert_true(rounded("bfp16,3,4", 7.2) == 7);
    assert_true(rounded("bfp16,3,4", 0.001) == 0); /* e = -4 at least: multiples of 2^-8 */
    assert_true(rounded("bfp16,3,4", 0.0031) == ldexp(1, -8));
}

/* Stochastic rounding gives one of the two neighbours and on average the value; nothing where it is exact. */
static void stochastic_rounding_keeps_the_mean(void **state) {
    (void)state;
    static const char *const formats[] = {"bfp16,8,2", "fixed8,4", "int8", "fp16", "bf16"};
    for (size_t f = 0; f < sizeof formats / sizeof *formats; f++) {
        const tn_number_format format = read(formats[f]);
        const double original[4] = {1, 0.3137, -0.7021, 0};
        double sum[4] = {0}, low[4], high[4];
        uint64_t noise = 7;
        for (int trial = 0; trial < SAMPLES; trial++) {
            double values[4];
            memcpy(values, original, sizeof values);
            tn_number_format_round(&format, values, 1, 4, &noise);
            for (int i = 0; i < 4; i++) {
                if (trial == 0 || values[i] < low[i]) low[i] = values[i];
                if (trial == 0 || values[i] > high[i]) high[i] = values[i];
                sum[i] += values[i];
            }
        }
        for (int i = 0; i < 4; i++) {
            double step = high[i] - low[i];
            assert_true(low[i] <= original[i] && high[i] >= original[i]);
            assert_true(fabs(sum[i] / SAMPLES - original[i]) <= 4 * 0.5 * step / sqrt(SAMPLES) + 1e-15);
        }
        assert_true(high[0] == 1 && low[0] == 1 && high[3] == 0 && low[3] == 0);
        assert_true(high[1] > low[1] && high[2] > low[2]);
    }
}

static void names(void **state) {
    (void)state;
    static const char *const bad[] = {"",           "fp8",       "bfp",        "bfp16,8",    "bfp16,8,4,1",
                                      "bfp0,8,4",   "bfp16,0,4", "bfp16,12,4", "bfp16,8,25", "bfp16,8,x",
                                      "bfp16,8,-4", "fixed",     "fixed1,0",   "fixed53,0",  "fixed16",
                                      "olive",      "olive1",    "olive9",     "olive4,1",   "olive12",
                                      "olive4,",    "olive4,ms", "olive4,mse,"};
    tn_number_format format;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (tn_number_format_read(bad[i], &format, NULL) != TN_INPUT) fail_msg("%s was read", bad[i]);
    static const struct {
        const char *name;
        double bits;
    } good[] = {{"fp32", 32},      {"fp16", 16},       {"bf16", 16},     {"int16", 16}, {"int8", 8},
                {"fixed16,8", 16}, {"bfp16,8,4", 5.5}, {"bfp1,8,2", 11}, {"olive4", 4}};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        format = read(good[i].name);
        assert_true(tn_number_format_bits(&format) == good[i].bits);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_are_those_of_the_reference),
        cmocka_unit_test(single_precision_is_that_of_the_machine),
        cmocka_unit_test(half_precision_number_by_number),
        cmocka_unit_test(bfloat_is_the_upper_half),
        cmocka_unit_test(fixed_point_is_the_nearest_of_all),
        cmocka_unit_test(integers_are_scaled_by_the_greatest),
        cmocka_unit_test(outlier_pairs_are_the_nearest_codes),
        cmocka_unit_test(searched_scale_has_the_least_error),
        cmocka_unit_test(far_values_stay_finite),
        cmocka_unit_test(exponents_have_an_end),
        cmocka_unit_test(stochastic_rounding_keeps_the_mean),
        cmocka_unit_test(names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
