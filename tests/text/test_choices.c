/* Lists of names as people read them. */
#include "text/schema.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdbool.h>

static void reads(const char *const *names, const char *quote, const char *last, const char *wanted) {
    tn_buffer out = {0};
    tn_choices_write(&out, names, quote, last);
    assert_int_equal(out.status, TN_OK);
    assert_string_equal(out.data, wanted);
    tn_buffer_free(&out);
}

static void names_are_listed(void **state) {
    (void)state;
    const char *one[] = {"a", NULL}, *three[] = {"a", "b", "c", NULL};
    reads(one, "", " or ", "a");
    reads(three, "", " or ", "a, b or c");
    reads(three, "`", ", ", "`a`, `b`, `c`");
}

static void numbers_that_count_up_are_one(void **state) {
    (void)state;
    const char *run[] = {"a", "p-9", "p-10", "p-11", "b", NULL}, *last[] = {"a", "p8", "p9", "p10", NULL};
    const char *gap[] = {"p-1", "p-2", "p-4", "q-5", NULL}, *bits[] = {"fp16", "fp32", "bf16", "int8", NULL};
    reads(run, "`", " or ", "`a`, `p-9` to `p-11` or `b`");
    reads(last, "", " or ", "a or p8 to p10");
    reads(gap, "", " or ", "p-1, p-2, p-4 or q-5");
    reads(bits, "", " or ", "fp16, fp32, bf16 or int8");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(names_are_listed),
                                       cmocka_unit_test(numbers_that_count_up_are_one)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
