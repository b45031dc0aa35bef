/* Tables: widths in characters, alignment by content, what steers a terminal, memory that runs out. */
#include "text/record.h"

#include "base/memory.h"
#include "text/number.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

static void fill(tn_table *table) {
    static const char *const head[] = {"name", "count", "share, %"};
    tn_table_head(table, head, 3);
    tn_table_text(table, "größer");
    tn_table_count(table, 1234567);
    tn_table_format(table, "%.1f", 97.25);
    tn_table_text(table, NULL);
    tn_table_text(table, "7");
    tn_table_text(table, "-");
}

static void layout(void **state) {
    (void)state;
    tn_table table;
    tn_buffer out = {0};
    fill(&table);
    tn_table_write(&table, false, &out);
    assert_int_equal(out.status, TN_OK);
    assert_string_equal(out.data, "name        count  share, %\n"
                                  "größer  1,234,567      97.2\n"
                                  "                7         -\n");
    tn_buffer_free(&out);
    tn_table_write(&table, true, &out); /* the head alone is bold */
    assert_int_equal(strncmp(out.data, "\033[1mname", 8), 0);
    assert_int_equal(strncmp(strchr(out.data, '\n'), "\n\033[0mgr", 7), 0);
    tn_buffer_free(&out);
    tn_table_free(&table);
}

/* C0, DEL, C1 and bytes that are no UTF-8 are shown as U+FFFD, one for each; other characters stay. */
static void control_characters(void **state) {
    (void)state;
    static const char *const head[] = {"name"};
    tn_table table;
    tn_buffer out = {0};
    tn_table_head(&table, head, 1);
    tn_table_text(&table, "a\x1b[2J\tb\x7f"
                          "c\xc2\x9b"
                          "d\xff"
                          "e\xe2\x82\xac");
    tn_table_write(&table, false, &out);
    assert_string_equal(out.data, "name\na\xef\xbf\xbd[2J\xef\xbf\xbd"
                                  "b\xef\xbf\xbd"
                                  "c\xef\xbf\xbd"
                                  "d\xef\xbf\xbd"
                                  "e\xe2\x82\xac\n");
    tn_buffer_free(&out);
    tn_table_free(&table);
}

static void failing_memory(void **state) {
    (void)state;
    tn_status status = TN_MEMORY;
    for (long n = 1; n < 200 && status != TN_OK; n++) {
        tn_table table;
        tn_buffer out = {0};
        tn_memory_fail_at(n);
        fill(&table);
        tn_table_write(&table, false, &out);
        tn_memory_fail_at(0);
        status = out.status;
        assert_true(status == TN_OK || status == TN_MEMORY);
        tn_buffer_free(&out);
        tn_table_free(&table);
    }
    assert_int_equal(status, TN_OK);
}

static void numbers_for_people(void **state) {
    (void)state;
    char text[32];
    assert_string_equal(tn_count_text(0, text), "0");
    assert_string_equal(tn_count_text(999, text), "999");
    assert_string_equal(tn_count_text(1000, text), "1,000");
    assert_string_equal(tn_count_text(UINT64_MAX, text), "18,446,744,073,709,551,615");
    assert_string_equal(tn_si_text(0.0012345, "s", text), "1.23 ms");
    assert_string_equal(tn_si_text(999.9, "s", text), "1.00 ks");
    assert_string_equal(tn_si_text(-2e9, "B", text), "-2.00 GB");
    assert_string_equal(tn_bytes_text(1024, text), "1.00 KiB");
    tn_rounded_text(0.25, TN_NUMBER_POWER, 1, text, sizeof text);
    assert_string_equal(text, "2.5e-01");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layout),
        cmocka_unit_test(control_characters),
        cmocka_unit_test(failing_memory),
        cmocka_unit_test(numbers_for_people),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
