/* Whole numbers beyond 64 bits, against products known by hand and against 64-bit arithmetic. */
#include "base/big.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void small_ones_are_counts(void **state) {
    (void)state;
    const uint64_t values[] = {0, 1, 9, 999999999, 1000000000, UINT64_C(123456789012345678), UINT64_MAX};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        tn_big number = tn_big_of(values[i]);
        char text[TN_BIG_TEXT], wanted[32];
        uint64_t back;
        snprintf(wanted, sizeof wanted, "%" PRIu64, values[i]);
        assert_string_equal(tn_big_text(&number, text), wanted);
        assert_true(tn_big_count(&number, &back));
        assert_int_equal(back, values[i]);
    }
}

static void factorials(void **state) {
    (void)state;
    tn_big number = tn_big_of(1);
    char text[TN_BIG_TEXT];
    uint64_t count;
    for (uint32_t i = 2; i <= 30; i++) assert_true(tn_big_multiply(&number, i));
    assert_string_equal(tn_big_text(&number, text), "265252859812191058636308480000000");
    assert_string_equal(tn_big_brief(&number, text), "2.7e32");
    assert_false(tn_big_count(&number, &count));
    assert_true(tn_big_multiply(&number, 0));
    assert_string_equal(tn_big_text(&number, text), "0");
}

static void rounding_carries(void **state) {
    (void)state;
    char text[TN_BIG_TEXT];
    tn_big number = tn_big_of(9960);
    assert_string_equal(tn_big_brief(&number, text), "1.0e4");
    number = tn_big_of(987);
    assert_string_equal(tn_big_brief(&number, text), "987");
}

static void what_does_not_fit_changes_nothing(void **state) {
    (void)state;
    tn_big number = tn_big_of(1);
    char before[TN_BIG_TEXT], after[TN_BIG_TEXT];
    int factors = 0;
    tn_big_text(&number, before);
    while (tn_big_multiply(&number, 1000000000)) {
        tn_big_text(&number, before);
        factors++;
    }
    assert_int_equal(factors, TN_BIG_LIMBS - 1);
    assert_string_equal(tn_big_text(&number, after), before);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_ones_are_counts),
        cmocka_unit_test(factorials),
        cmocka_unit_test(rounding_carries),
        cmocka_unit_test(what_does_not_fit_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
