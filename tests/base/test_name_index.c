/* Names in a list, against looking at each. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/name_index.h"

static void finds_what_was_added_first(void **state) {
    (void)state;
    enum { NAMES = 3000 };
    static char name[NAMES][12];
    tn_arena arena = {0};
    tn_name_index index;
    assert_int_equal(tn_name_index_new(&index, NAMES, &arena, NULL), TN_OK);
    for (uint32_t i = 0; i < NAMES; i++) {
        snprintf(name[i], sizeof name[i], "%x", i * 2654435761u % 2500);
        uint32_t first = 0;
        while (strcmp(name[first], name[i]) != 0) first++;
        assert_int_equal(tn_name_index_add(&index, name[i], i), first == i ? TN_NAME_NONE : first);
        assert_int_equal(tn_name_index_find(&index, name[i]), first);
    }
    assert_int_equal(tn_name_index_find(&index, ""), TN_NAME_NONE);
    assert_int_equal(tn_name_index_find(&index, "zz"), TN_NAME_NONE);
    tn_arena_free(&arena);
    assert_int_equal(tn_name_index_new(&index, 0, &arena, NULL), TN_OK);
    assert_int_equal(tn_name_index_find(&index, "a"), TN_NAME_NONE);
    tn_arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(finds_what_was_added_first)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
