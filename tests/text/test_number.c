#include "text/number.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void counts(void **state) {
    (void)state;
    static const struct {
        const char *text;
        uint64_t value;
    } good[] = {
        {"0", 0},
        {"7", 7},
        {"1_000_000", 1000000},
        {"1e6", 1000000},
        {"2.50e3", 2500},
        {"1E+3", 1000},
        {"0e9999", 0},
        {"1.8446744073709551615e19", UINT64_MAX},
        {"007", 7},
        {"18446744073709551615", UINT64_MAX},
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        uint64_t value = 99;
        assert_int_equal(tn_read_count(good[i].text, &value), TN_NUMBER_OK);
        assert_int_equal(value, good[i].value);
    }
    static const char *const malformed[] = {"",   " 1",   "1 ",   "+1",   "1.0",  "1.5e0", "_1",
                                            "1_", "1__0", "0x10", "1e-3", "1e",   "12k",   "1e1.",
                                            "e3", ".5e1", "-",    "-x",   "1.e3", "12x8"};
    static const char *const range[] = {"18446744073709551616", "-3", "1e20", "1e99999",
                                        "99999999999999999999e0"};
    for (size_t i = 0; i < sizeof malformed / sizeof *malformed; i++) {
        uint64_t value = 99;
        assert_int_equal(tn_read_count(malformed[i], &value), TN_NUMBER_MALFORMED);
        assert_int_equal(value, 99);
    }
    for (size_t i = 0; i < sizeof range / sizeof *range; i++) {
        uint64_t value = 99;
        assert_int_equal(tn_read_count(range[i], &value), TN_NUMBER_RANGE);
        assert_int_equal(value, 99);
    }
}

static void reals(void **state) {
    (void)state;
    static const struct {
        const char *text;
        double value;
    } good[] = {{"0", 0},
                {"-1.5", -1.5},
                {"+.5", 0.5},
                {"5.", 5},
                {"1e-3", 1e-3},
                {"2.5E+2", 250},
                {"0e-999", 0},
                {"4.9406564584124654e-324", 0x1p-1074},
                {"1.7976931348623157e308", DBL_MAX}};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        double value = 99;
        assert_int_equal(tn_read_real(good[i].text, &value), TN_NUMBER_OK);
        assert_true(value == good[i].value);
    }
    static const char *const malformed[] = {"",      ".",     "nan",      "inf", "-inf", "0x1p3",
                                            "1,5",   " 1",    "1 ",       "1e",  "1e+",  "--1",
                                            "1.2.3", "1_000", "infinity", "1d3", "-"};
    for (size_t i = 0; i < sizeof malformed / sizeof *malformed; i++) {
        double value = 99;
        assert_int_equal(tn_read_real(malformed[i], &value), TN_NUMBER_MALFORMED);
    }
    double value = 99;
    assert_int_equal(tn_read_real("1e309", &value), TN_NUMBER_RANGE);
    assert_int_equal(tn_read_real("-1e309", &value), TN_NUMBER_RANGE);
    assert_int_equal(tn_read_real("1e-400", &value), TN_NUMBER_RANGE);
    assert_true(value == 99);
}

static void shortest(void **state) {
    (void)state;
    static const struct {
        double value;
        const char *text;
    } known[] = {{0.1, "0.1"},
                 {1.0 / 3, "0.3333333333333333"},
                 {0.1 + 0.2, "0.30000000000000004"},
                 {2e6, "2000000"},
                 {1e300, "1e+300"},
                 {5e-324, "5e-324"},
                 {-0.0, "-0"},
                 {NAN, "nan"},
                 {-INFINITY, "-inf"},
                 {9007199254740993.0, "9007199254740992"}};
    char text[32];
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        tn_real_text(known[i].value, text, sizeof text);
        assert_string_equal(text, known[i].text);
    }
}

/* Random bit patterns: reads back equal, and one digit fewer would not. */
static void shortest_reads_back(void **state) {
    (void)state;
    uint64_t seed = 88172645463325252u;
    for (int i = 0; i < 20000; i++) {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        double value, back = 0;
        memcpy(&value, &seed, sizeof value);
        if (!isfinite(value)) continue;
        char text[32], shorter[32];
        tn_real_text(value, text, sizeof text);
        assert_int_equal(tn_read_real(text, &back), TN_NUMBER_OK);
        assert_true(back == value);
        int digits = 0;
        for (const char *c = text; *c && *c != 'e'; c++) digits += *c >= '0' && *c <= '9';
        if (digits < 2 || strchr(text, 'e') == NULL) continue;
        snprintf(shorter, sizeof shorter, "%.*e", digits - 2, value);
        assert_true(strtod(shorter, NULL) != value);
    }
}

static void any_locale(void **state) {
    (void)state;
    static const char *const comma[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8"};
    const char *set = NULL;
    for (size_t i = 0; i < 3 && !set; i++) set = setlocale(LC_ALL, comma[i]);
    if (!set) print_message("no locale with a decimal comma here; only the default one is checked\n");
    double value = 0;
    char text[32];
    assert_int_equal(tn_read_real("1.5", &value), TN_NUMBER_OK);
    assert_true(value == 1.5);
    assert_int_equal(tn_read_real("1,5", &value), TN_NUMBER_MALFORMED);
    tn_real_text(2.25, text, sizeof text);
    setlocale(LC_ALL, "C");
    assert_string_equal(text, "2.25");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(counts), cmocka_unit_test(reals),
                                       cmocka_unit_test(shortest), cmocka_unit_test(shortest_reads_back),
                                       cmocka_unit_test(any_locale)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
