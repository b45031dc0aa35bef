#include "base/name_index.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

static const char *const NAMES[] = {"width", "depth", "style", "clock_MHz"};

static void nearest(void **state) {
    (void)state;
    static const struct {
        const char *given, *nearest;
    } cases[] = {{"widht", "width"},       {"widt", "width"},
                 {"Style", "style"},       {"dept", "depth"},
                 {"deth", "depth"},        {"clock_mhz", "clock_MHz"},
                 {"clokMHz", "clock_MHz"}, {"zzz", NULL},
                 {"wxyzh", NULL},          {"", NULL}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *name = tn_suggest(cases[i].given, NAMES, 4);
        if (cases[i].nearest) {
            assert_non_null(name);
            assert_string_equal(name, cases[i].nearest);
        } else {
            assert_null(name);
        }
    }
    assert_null(tn_suggest("width", NULL, 0));
}

static void long_names(void **state) {
    (void)state;
    char name[500];
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    assert_null(tn_suggest(name, NAMES, 4));
    const char *const names[] = {name, "width"};
    assert_string_equal(tn_suggest("widht", names, 2), "width");
}

static void what_to_say(void **state) {
    (void)state;
    char text[128];
    static const char *const names[] = {"log", "step", "best"};
    assert_string_equal(tn_suggestion("stpe", names, 3, text, sizeof text), "did you mean step?");
    assert_string_equal(tn_suggestion("linear", names, 3, text, sizeof text), "it is one of log, step, best");
    const char *many[40];
    for (size_t i = 0; i < 40; i++) many[i] = "somewhat-long";
    tn_suggestion("linear", many, 40, text, sizeof text);
    assert_true(strlen(text) < sizeof text);
    assert_non_null(strstr(text, ".. (40 in all)"));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(nearest), cmocka_unit_test(long_names),
                                       cmocka_unit_test(what_to_say)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
