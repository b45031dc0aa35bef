/* Names with wild cards. */
#include "text/utf8.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fnmatch.h>
#include <stdio.h>

static void examples(void **state) {
    (void)state;
    assert_true(tn_pattern_matches("encoder*.query", "encoder12.query"));
    assert_true(tn_pattern_matches("*", "") && tn_pattern_matches("", ""));
    assert_false(tn_pattern_matches("", "a"));
    assert_false(tn_pattern_matches("encoder1", "encoder12"));
}

/* All patterns and texts of up to 4 characters, as the system's shell matches them. */
static void as_fnmatch(void **state) {
    (void)state;
    enum { PATTERNS = 4 * 4 * 4 * 4, TEXTS = 3 * 3 * 3 * 3 };
    for (int p = 0; p < PATTERNS; p++)
        for (int t = 0; t < TEXTS; t++)
            for (int cut = 0; cut < 4; cut++) {
                char pattern[5], text[5];
                snprintf(pattern, sizeof pattern, "%c%c%c%c", "ab*?"[p % 4], "ab*?"[p / 4 % 4],
                         "ab*?"[p / 16 % 4], "ab*?"[p / 64]);
                snprintf(text, sizeof text, "%c%c%c%c", "ab."[t % 3], "ab."[t / 3 % 3], "ab."[t / 9 % 3],
                         "ab."[t / 27]);
                text[cut + 1] = '\0';
                assert_int_equal(tn_pattern_matches(pattern, text), fnmatch(pattern, text, 0) == 0);
            }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(examples),
        cmocka_unit_test(as_fnmatch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
