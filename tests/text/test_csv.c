#include "text/csv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

static tn_arena arena;
static tn_csv csv;
static tn_error error;

static tn_status parse(const char *text) {
    csv = (tn_csv){0};
    return tn_csv_parse("t.csv", text, strlen(text), &arena, &csv, &error);
}

static void accepted(const char *text) {
    tn_status status = parse(text);
    if (status != TN_OK) print_error("%s\ngave %u:%u: %s\n", text, error.line, error.column, error.message);
    assert_int_equal(status, TN_OK);
}

static void refused(const char *text, unsigned line, unsigned column, const char *message) {
    assert_int_equal(parse(text), TN_INPUT);
    assert_non_null(strstr(error.message, message));
    assert_int_equal(error.line, line);
    assert_int_equal(error.column, column);
    assert_string_equal(error.file, "t.csv");
}

static void cells(void **state) {
    (void)state;
    accepted("\xef\xbb\xbfname,b,c\r\nx,\"a, \"\"b\"\"\n2\",\r\n\"\",3,\xc3\xa9!\n\n\r\n");
    assert_int_equal(csv.columns, 3);
    assert_int_equal(csv.rows, 2);
    assert_string_equal(csv.head[0].text, "name");
    assert_string_equal(tn_csv_at(&csv, 0, 0)->text, "x");
    assert_string_equal(tn_csv_at(&csv, 0, 1)->text, "a, \"b\"\n2");
    assert_string_equal(tn_csv_at(&csv, 0, 2)->text, "");
    assert_string_equal(tn_csv_at(&csv, 1, 0)->text, "");
    assert_string_equal(tn_csv_at(&csv, 1, 2)->text, "\xc3\xa9!");
    assert_int_equal(tn_csv_at(&csv, 0, 1)->position.line, 2);
    assert_int_equal(tn_csv_at(&csv, 0, 1)->position.column, 3);
    assert_int_equal(tn_csv_at(&csv, 1, 1)->position.line, 4);
    assert_int_equal(tn_csv_at(&csv, 1, 1)->position.column, 4);
    assert_int_equal(parse("only"), TN_OK);
    assert_int_equal(csv.rows, 0);
    assert_int_equal(parse("only\n\"\"\n"), TN_OK);
    assert_int_equal(csv.rows, 1);
}

static void faults(void **state) {
    (void)state;
    refused("", 1, 1, "is empty");
    refused("\n\n", 1, 1, "is empty");
    refused("a,b\n1\n", 2, 1, "row of 1 cells; the head row has 2");
    refused("a,b\n1,2,3\n", 2, 5, "row of 3 cells; the head row has 2");
    refused("a,b,a\n", 1, 5, "column \"a\" is named twice");
    refused("a,,b\n", 1, 3, "column without a name");
    refused("a\n1\n\n2\n", 3, 1, "blank line");
    refused("a,b\n1,\"x", 2, 3, "quote is never closed");
    refused("a,b\n1,\"x\"y\n", 2, 6, "text behind a closing quote");
    refused("a,b\n1,x\"y\n", 2, 4, "quote inside an unquoted cell");
    refused("a,b\n1,x\ry\n", 2, 4, "carriage return");
    refused("a,b\n1,x\xff\n", 2, 4, "byte 0xff is not UTF-8");
    static const char nul[] = "a,b\n1,\0\n";
    assert_int_equal(tn_csv_parse("t.csv", nul, sizeof nul - 1, &arena, &csv, &error), TN_INPUT);
    assert_non_null(strstr(error.message, "NUL byte"));
    assert_int_equal(tn_csv_load("no/such/file.csv", &arena, &csv, &error), TN_INPUT);
}

static void columns(void **state) {
    (void)state;
    static const char *const names[] = {"width", "depth"};
    size_t column[2];
    assert_int_equal(parse("depth,width\n1,2\n"), TN_OK);
    assert_int_equal(tn_csv_columns(&csv, names, 2, true, column, &error), TN_OK);
    assert_int_equal(column[0], 1);
    assert_int_equal(column[1], 0);
    assert_int_equal(tn_csv_column(&csv, "style"), 2);
    assert_int_equal(parse("depth,widht\n"), TN_OK);
    assert_int_equal(tn_csv_columns(&csv, names, 2, true, column, &error), TN_INPUT);
    assert_non_null(strstr(error.message, "did you mean \"width\"?"));
    assert_int_equal(error.column, 7);
    assert_int_equal(tn_csv_columns(&csv, names, 2, false, column, &error), TN_INPUT);
    assert_non_null(strstr(error.message, "column \"width\" is missing"));
}

static void typed(void **state) {
    (void)state;
    uint64_t count = 0;
    double real = 0;
    assert_int_equal(parse("n,x\n12,-0.5\nx,\n-1,nan\n99,1e400\n"), TN_OK);
    assert_int_equal(tn_csv_count(&csv, 0, 0, 1, 12, &count, &error), TN_OK);
    assert_int_equal(count, 12);
    assert_int_equal(tn_csv_real(&csv, 0, 1, -1, 1, &real, &error), TN_OK);
    assert_true(real == -0.5);
    assert_int_equal(tn_csv_count(&csv, 0, 0, 1, 11, &count, &error), TN_INPUT);
    assert_non_null(strstr(error.message, "12 in column \"n\" is out of range; it must be 1 to 11"));
    assert_int_equal(tn_csv_count(&csv, 1, 0, 0, 9, &count, &error), TN_INPUT);
    assert_non_null(strstr(error.message, "\"x\" in column \"n\" is not a whole number"));
    assert_int_equal(error.line, 3);
    assert_int_equal(tn_csv_real(&csv, 1, 1, -1, 1, &real, &error), TN_INPUT);
    assert_non_null(strstr(error.message, "is empty"));
    assert_int_equal(error.column, 3);
    assert_int_equal(tn_csv_count(&csv, 2, 0, 0, 9, &count, &error), TN_INPUT);
    assert_int_equal(tn_csv_real(&csv, 2, 1, -1, 1, &real, &error), TN_INPUT);
    assert_int_equal(tn_csv_real(&csv, 3, 1, -1, 1, &real, &error), TN_INPUT);
    assert_non_null(strstr(error.message, "out of range; it must be -1 to 1"));
    assert_int_equal(tn_csv_real(&csv, 0, 1, 0, INFINITY, &real, &error), TN_INPUT);
    assert_non_null(strstr(error.message, "out of range; it must be at least 0"));
}

static void written_reads_back(void **state) {
    (void)state;
    static const char *const text[] = {"plain",   "a,b", "say \"x\"", "two\nlines", "", "\xef\xbb\xbfmark",
                                       "\xc3\xa9"};
    enum { COUNT = sizeof text / sizeof *text };
    tn_buffer out = {0};
    for (int i = 0; i < COUNT; i++)
        tn_csv_put(&out, (const char *[]){"\xef\xbb\xbf", "b", "c", "d", "e", "f", "g"}[i]);
    tn_csv_line(&out);
    for (int i = 0; i < COUNT; i++) tn_csv_put(&out, text[i]);
    tn_csv_line(&out);
    for (int i = 0; i < COUNT - 1; i++) tn_csv_put_count(&out, UINT64_MAX);
    tn_csv_put_real(&out, 1.0 / 3);
    tn_csv_line(&out);
    accepted(out.data);
    assert_int_equal(csv.rows, 2);
    for (size_t i = 0; i < COUNT; i++) assert_string_equal(tn_csv_at(&csv, 0, i)->text, text[i]);
    assert_string_equal(tn_csv_at(&csv, 1, 0)->text, "18446744073709551615");
    double real;
    assert_int_equal(tn_csv_real(&csv, 1, COUNT - 1, 0, 1, &real, &error), TN_OK);
    assert_true(real == 1.0 / 3);
    tn_buffer_free(&out);
}

static int clear(void **state) {
    (void)state;
    tn_arena_free(&arena);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(cells, clear), cmocka_unit_test_teardown(faults, clear),
        cmocka_unit_test_teardown(columns, clear), cmocka_unit_test_teardown(typed, clear),
        cmocka_unit_test_teardown(written_reads_back, clear)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
