#include "base/error.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

static void text_names_what_is_known(void **state) {
    (void)state;
    tn_error error;
    char text[2000];
    assert_int_equal(tn_fail_at(&error, TN_LIMIT, (tn_position){"m.yaml", 3, 7}, "%d is too large", 9),
                     TN_LIMIT);
    assert_int_equal(error.status, TN_LIMIT);
    tn_error_text(&error, text, sizeof text);
    assert_string_equal(text, "m.yaml:3:7: 9 is too large");
    tn_fail_at(&error, TN_INPUT, (tn_position){.file = "m.yaml"}, "is empty");
    tn_error_text(&error, text, sizeof text);
    assert_string_equal(text, "m.yaml: is empty");
    tn_fail(&error, TN_INPUT, "no command");
    tn_error_text(&error, text, sizeof text);
    assert_string_equal(text, "no command");
    assert_int_equal(tn_fail(NULL, TN_IO, "nobody listens"), TN_IO);
}

static void text_is_one_line(void **state) {
    (void)state;
    tn_error error;
    char text[64];
    tn_fail_at(&error, TN_INPUT, (tn_position){.file = "a\nb"}, "unknown key \"x\x1b[31m\r\ny\x7f\xc3\xa9\"");
    tn_error_text(&error, text, sizeof text);
    assert_string_equal(text, "a?b: unknown key \"x?[31m??y?\xc3\xa9\"");
}

static void long_texts_are_cut(void **state) {
    (void)state;
    tn_error error;
    char long_text[3000], text[100];
    memset(long_text, 'x', sizeof long_text - 1);
    long_text[sizeof long_text - 1] = '\0';
    tn_fail_at(&error, TN_INPUT, (tn_position){long_text, 1, 1}, "%s", long_text);
    assert_int_equal(strlen(error.file), sizeof error.file - 1);
    assert_int_equal(strlen(error.message), sizeof error.message - 1);
    tn_error_text(&error, text, sizeof text);
    assert_int_equal(strlen(text), sizeof text - 1);
}

static void system_errors(void **state) {
    (void)state;
    tn_error error;
    assert_int_equal(tn_fail_system(&error, "out.csv", ENOSPC, "can't be written"), TN_IO);
    assert_non_null(strstr(error.message, strerror(ENOSPC)));
    assert_int_equal(tn_fail_system(&error, "out.csv", ENOMEM, "can't be written"), TN_MEMORY);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(text_names_what_is_known),
                                       cmocka_unit_test(text_is_one_line),
                                       cmocka_unit_test(long_texts_are_cut), cmocka_unit_test(system_errors)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
