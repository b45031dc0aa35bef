#include "base/suggest.h"

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

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(nearest), cmocka_unit_test(long_names)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
