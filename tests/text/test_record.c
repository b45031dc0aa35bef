/* Records: the same row as JSON (read back with jansson), CSV (read back with our reader) and table. */
#include "text/record.h"

#include "base/memory.h"
#include "text/csv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <jansson.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum grade { LOW, HIGH } grade;
static const char *const grades[] = {"low", "high", NULL};

typedef struct inner {
    uint64_t used, available;
} inner;

typedef struct row {
    const char *name, *note;
    uint64_t macs;
    uint32_t lanes;
    double seconds, share;
    bool fits, measured;
    grade level;
    inner blocks;
    size_t ranks;
    uint64_t rank[4];
    uint32_t parts;
    const inner *part;
    double noise;
} row;

static const tn_column inner_columns[] = {
    TN_COLUMN(inner, used, "used"),
    TN_COLUMN(inner, available, "available"),
};
static const tn_record inner_record = TN_RECORD(inner, inner_columns);

static void put_double(const void *entry, tn_json *json) {
    tn_json_count(json, 2 * ((const row *)entry)->macs);
}

static void show_double(const void *entry, tn_buffer *cell) {
    tn_buffer_format(cell, "twice %llu", (unsigned long long)((const row *)entry)->macs);
}

static const tn_column columns[] = {
    TN_COLUMN(row, name, "flow"),
    TN_COLUMN(row, note, "note", TN_OPTIONAL),
    TN_COLUMN(row, macs, "MACs"),
    TN_COLUMN(row, lanes, NULL),
    TN_COLUMN_AS("seconds_per_step", row, seconds, "time", TN_IN("ms", 1e3), TN_FIXED(2)),
    TN_COLUMN(row, share, "share", TN_PERCENT),
    TN_COLUMN(row, fits, "fits"),
    TN_NAME("level", row, level, grades, "level"),
    TN_OBJECT("blocks", row, blocks, inner_record, NULL),
    TN_ARRAY("ranks", row, rank, ranks, "ranks"),
    TN_ROWS("parts", row, part, parts, inner_record, NULL),
    TN_COLUMN(row, noise, "noise", TN_WHEN(row, measured)),
    TN_WRITTEN("flops", put_double, NULL),
    TN_COLUMN_AS(NULL, row, macs, "in words", .cell = show_double),
};
static const tn_record record = TN_RECORD(row, columns);

static const inner parts[] = {{1, 2}, {3, 4}};
static const row rows[] = {
    {"a \"quoted\" \x1b[31mname\n",
     NULL,
     1253376,
     3,
     0.00125,
     0.5,
     true,
     true,
     HIGH,
     {5, 6},
     2,
     {1, 12},
     2,
     parts,
     0.25},
    {"b,c", NULL, 7, 1, NAN, INFINITY, false, false, LOW, {0, 0}, 0, {0}, 0, NULL, 9},
};

static json_t *as_json(const row *entry) {
    tn_buffer out = {0};
    tn_json json;
    tn_json_begin(&json, &out);
    tn_record_json(&record, entry, &json);
    assert_int_equal(out.status, TN_OK);
    json_error_t error;
    json_t *read = json_loads(out.data, JSON_REJECT_DUPLICATES, &error);
    if (!read) fail_msg("%s in %s", error.text, out.data);
    tn_buffer_free(&out);
    return read;
}

static void test_json(void **state) {
    (void)state;
    json_t *first = as_json(&rows[0]), *second = as_json(&rows[1]);
    assert_string_equal(json_string_value(json_object_get(first, "name")), rows[0].name);
    assert_null(json_object_get(first, "note")); /* optional, and there is none */
    assert_int_equal(json_integer_value(json_object_get(first, "macs")), 1253376);
    assert_int_equal(json_integer_value(json_object_get(first, "lanes")), 3);
    assert_true(json_real_value(json_object_get(first, "seconds_per_step")) == 0.00125); /* not rounded */
    assert_true(json_is_true(json_object_get(first, "fits")));
    assert_string_equal(json_string_value(json_object_get(first, "level")), "high");
    assert_int_equal(json_integer_value(json_object_get(json_object_get(first, "blocks"), "available")), 6);
    json_t *ranks = json_object_get(first, "ranks"), *list = json_object_get(first, "parts");
    assert_int_equal(json_array_size(ranks), 2);
    assert_int_equal(json_integer_value(json_array_get(ranks, 1)), 12);
    assert_int_equal(json_array_size(list), 2);
    assert_int_equal(json_integer_value(json_object_get(json_array_get(list, 1), "used")), 3);
    assert_int_equal(json_integer_value(json_object_get(first, "flops")), 2506752);
    assert_true(json_real_value(json_object_get(first, "noise")) == 0.25);
    /* What is no number is null, and so is what was not measured. */
    assert_true(json_is_null(json_object_get(second, "seconds_per_step")));
    assert_true(json_is_null(json_object_get(second, "share")));
    assert_true(json_is_null(json_object_get(second, "noise")));
    assert_int_equal(json_array_size(json_object_get(second, "parts")), 0);
    json_decref(first);
    json_decref(second);
}

static void test_table(void **state) {
    (void)state;
    tn_buffer out = {0};
    tn_record_table(&record, rows, 2, false, &out);
    assert_int_equal(out.status, TN_OK);
    /* No column "note", which no row has; no escape, no line feed in a cell. */
    assert_string_equal(
        out.data,
        "flow                        MACs  time, ms  share, %  fits  level  ranks  noise  in words\n"
        "a \"quoted\" \xef\xbf\xbd[31mname\xef\xbf\xbd  1,253,376      1.25      50.0  yes   high    1 12   "
        "0.25  "
        "twice 1253376\n"
        "b,c                            7         -         -  no    low               -  twice 7\n");
    tn_buffer_free(&out);
}

static void test_csv(void **state) {
    (void)state;
    tn_buffer out = {0};
    tn_arena arena = {0};
    tn_error error = {0};
    tn_csv csv;
    tn_record_csv_head(&record, &out);
    tn_csv_line(&out);
    for (int i = 0; i < 2; i++) {
        tn_record_csv(&record, &rows[i], &out);
        tn_csv_line(&out);
    }
    if (tn_csv_parse("rows", out.data, out.length, &arena, &csv, &error) != TN_OK)
        fail_msg("%s", error.message);
    static const char *const head[] = {"name",  "note", "macs",  "lanes", "seconds_per_step",
                                       "share", "fits", "level", "noise"};
    assert_int_equal(csv.columns, sizeof head / sizeof *head);
    for (size_t i = 0; i < csv.columns; i++) assert_string_equal(csv.head[i].text, head[i]);
    assert_string_equal(tn_csv_at(&csv, 0, 0)->text, rows[0].name);
    assert_string_equal(tn_csv_at(&csv, 0, 4)->text, "0.00125");
    assert_string_equal(tn_csv_at(&csv, 1, 0)->text, "b,c");
    assert_string_equal(tn_csv_at(&csv, 1, 8)->text, "");
    tn_arena_free(&arena);
    tn_buffer_free(&out);
}

typedef struct estimate {
    double value, low, high;
    size_t points;
} estimate;

static const tn_column estimate_columns[] = {
    TN_COLUMN(estimate, value, "time", .unit = "ms"),
    TN_RANGE("interval", estimate, low, "95 % interval", TN_FIXED(1), .unit = "ms"),
    TN_COLUMN(estimate, points, "points"),
};
static const tn_record estimate_record = TN_RECORD(estimate, estimate_columns);

/* Two numbers in one cell, null where there are none; one record with a line a column. */
static void test_ranges_and_lines(void **state) {
    (void)state;
    static const estimate known = {2.5, 1.25, 4, 12}, unknown = {7, NAN, INFINITY, 0};
    tn_buffer out = {0};
    tn_json json;
    tn_json_begin(&json, &out);
    tn_record_rows(&estimate_record, (const estimate[]){known, unknown}, 2, &json);
    json_t *list = json_loads(out.data, JSON_REJECT_DUPLICATES, NULL);
    json_t *interval = json_object_get(json_array_get(list, 0), "interval");
    assert_true(json_number_value(json_array_get(interval, 0)) == 1.25);
    assert_true(json_number_value(json_array_get(interval, 1)) == 4);
    assert_true(json_is_null(json_object_get(json_array_get(list, 1), "interval")));
    json_decref(list);
    tn_buffer_free(&out);
    tn_record_lines(&estimate_record, &known, false, &out);
    assert_string_equal(out.data, "quantity       value       unit\n"
                                  "time           2.5         ms\n"
                                  "95 % interval  1.2 to 4.0  ms\n"
                                  "points         12          \n");
    tn_buffer_free(&out);
    tn_record_csv_head(&estimate_record, &out); /* a range is no one value */
    assert_string_equal(out.data, "value,points");
    tn_buffer_free(&out);
}

/* Lists of records as objects by name: of the value that is left, or of objects; how many are in the struct. */
typedef struct part {
    const char *name;
    double share;
    uint64_t used;
} part;
typedef struct sums {
    part part[3];
} sums;

static const tn_column share_columns[] = {
    TN_COLUMN_AS(NULL, part, name, "part"),
    TN_COLUMN(part, share, "share", TN_PERCENT),
    TN_COLUMN_AS(NULL, part, share, "", TN_BAR),
};
static const tn_record share_record = TN_RECORD(part, share_columns);
static const tn_column part_columns[] = {
    TN_COLUMN(part, name, "part"),
    TN_COLUMN(part, share, "share"),
    TN_COLUMN(part, used, "used"),
};
static const tn_record part_record = TN_RECORD(part, part_columns);
static const tn_column sums_columns[] = {
    TN_ROWS_HERE("shares", sums, part, 3, share_record, NULL, TN_KEYED),
    TN_ROWS_HERE("parts", sums, part, 2, part_record, NULL, TN_KEYED),
    TN_ROWS_HERE("list", sums, part, 2, part_record, NULL),
};
static const tn_record sums_record = TN_RECORD(sums, sums_columns);

static void test_keyed_rows(void **state) {
    (void)state;
    const sums totals = {{{"first \"one\"", 0.25, 3}, {"second", 1.5, 4}, {"third", NAN, 0}}};
    tn_buffer out = {0};
    tn_json json;
    tn_json_begin(&json, &out);
    tn_record_json(&sums_record, &totals, &json);
    assert_int_equal(out.status, TN_OK);
    json_t *read = json_loads(out.data, JSON_REJECT_DUPLICATES, NULL);
    json_t *expected =
        json_pack("{s:{s:f,s:f,s:n},s:{s:{s:f,s:i},s:{s:f,s:i}},s:[{s:s,s:f,s:i},{s:s,s:f,s:i}]}", "shares",
                  "first \"one\"", 0.25, "second", 1.5, "third", "parts", "first \"one\"", "share", 0.25,
                  "used", 3, "second", "share", 1.5, "used", 4, "list", "name", "first \"one\"", "share",
                  0.25, "used", 3, "name", "second", "share", 1.5, "used", 4);
    assert_non_null(read);
    assert_non_null(expected);
    assert_true(json_equal(read, expected));
    json_decref(read);
    json_decref(expected);
    tn_buffer_free(&out);
    tn_record_table(&share_record, totals.part, 3, false, &out);
    assert_string_equal(out.data, "part         share, %  \n"
                                  "first \"one\"      25.0  ######..................\n"
                                  "second          150.0  ########################>>\n"
                                  "third               -  ########################>>\n");
    tn_buffer_free(&out);
}

/* What is a count is written as one, whatever holds it. */
static void test_amounts(void **state) {
    (void)state;
    static const struct {
        double amount;
        const char *json, *shown;
    } cases[] = {{1234567, "{\n  \"a\": 1234567\n}\n", "1,234,567\n"},
                 {2.5, "{\n  \"a\": 2.5\n}\n", "2.5\n"},
                 {-3, "{\n  \"a\": -3\n}\n", "-3\n"},
                 {9007199254740992.0, "{\n  \"a\": 9007199254740992\n}\n", "9.0072e+15\n"},
                 {NAN, "{\n  \"a\": null\n}\n", "-\n"}};
    const tn_column column[] = {TN_AMOUNT("a", part, share, "a", TN_DIGITS(6))};
    const tn_record this_record = TN_RECORD(part, column);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const part one = {.share = cases[i].amount};
        tn_buffer out = {0};
        tn_json json;
        tn_json_begin(&json, &out);
        tn_record_json(&this_record, &one, &json);
        if (cases[i].amount < 1e15) assert_string_equal(out.data, cases[i].json);
        json_t *read = json_loads(out.data, 0, NULL), *value = json_object_get(read, "a");
        assert_true(isnan(cases[i].amount) ? json_is_null(value)
                                           : json_number_value(value) == cases[i].amount);
        json_decref(read);
        tn_buffer_free(&out);
        tn_record_table(&this_record, &one, 1, false, &out);
        assert_non_null(strstr(out.data, cases[i].shown));
        tn_buffer_free(&out);
    }
}

/* Every memory request that fails gives a failed buffer, never half an answer that looks whole. */
static void test_memory(void **state) {
    (void)state;
    bool whole = false;
    for (long n = 0; n < 500 && !whole; n++) {
        tn_buffer out = {0};
        tn_memory_fail_at(n + 1);
        tn_record_table(&record, rows, 2, false, &out);
        tn_memory_fail_at(0);
        whole = out.status == TN_OK;
        assert_true(whole || out.status == TN_MEMORY);
        if (whole) assert_non_null(strstr(out.data, "twice 7\n"));
        tn_buffer_free(&out);
    }
    assert_true(whole);
}

/* A host program with a decimal comma changes nothing. */
static void test_locale(void **state) {
    (void)state;
    char folder[] = "/tmp/tenfold-locale-XXXXXX", command[256];
    assert_non_null(mkdtemp(folder));
    snprintf(command, sizeof command, "localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8 >/dev/null 2>&1", folder);
    int made = system(command);
    setenv("LOCPATH", folder, 1);
    bool comma =
        made == 0 && setlocale(LC_ALL, "de_DE.UTF-8") && strcmp(localeconv()->decimal_point, ",") == 0;
    if (comma) {
        char text[32];
        test_table(NULL);
        test_csv(NULL);
        test_json(NULL);
        assert_string_equal(tn_si_text(1250, "s", text), "1.25 ks");
        tn_buffer out = {0};
        tn_buffer_format(&out, "%.2f", 6.97);
        assert_string_equal(out.data, "6.97");
        tn_buffer_free(&out);
    }
    setlocale(LC_ALL, "C");
    unsetenv("LOCPATH");
    snprintf(command, sizeof command, "rm -r %s", folder);
    if (system(command) != 0) print_message("%s is left\n", folder);
    if (comma) return;
    print_message("localedef made no locale with a decimal comma: skipped\n");
    skip();
}

typedef struct step {
    double joules_per_step, share, low, high;
    uint64_t before, after;
    const char *why;
    bool known;
    uint32_t cycles;
} step;
static const tn_column change_columns[] = {TN_COLUMN(step, before, "before"),
                                           TN_COLUMN(step, after, "after")};
static const tn_record change_record = TN_RECORD(step, change_columns);
static const tn_column more_keys[] = {TN_ANSWER_KEY("designs", "integer string"),
                                      TN_ANSWER_LIST("names", "string", TN_OPTIONAL)};
static const tn_record more_record = {.column = more_keys, .columns = 2};
static const tn_column step_columns[] = {
    TN_COLUMN(step, joules_per_step, "energy", TN_IN("mJ", 1e3)),
    TN_COLUMN(step, share, "share"),
    TN_RANGE("seconds", step, low, NULL),
    TN_GROUP("macs_per_step", change_record, NULL),
    TN_COLUMN(step, why, NULL, TN_OPTIONAL),
    TN_COLUMN(step, cycles, NULL, TN_WHEN(step, known)),
    TN_WRITTEN(NULL, NULL, "people", .cell = show_double),
    TN_ANSWER_INLINE(more_record),
};
static const tn_record step_record = TN_RECORD(step, step_columns);

static void expect(const json_t *schema, const char *key, const char *type, const char *unit) {
    const json_t *property = json_object_get(json_object_get(schema, "properties"), key);
    char *told = json_dumps(json_object_get(property, "type"), JSON_COMPACT);
    assert_non_null(told);
    assert_string_equal(told, type);
    const char *said = json_string_value(json_object_get(property, "unit"));
    assert_true(unit ? said && strcmp(said, unit) == 0 : !said);
    free(told);
}

/* Types, units by the words of keys, of what stands above them, and what may be absent. */
static void test_schema(void **state) {
    tn_buffer out = {0}, told_rows = {0};
    tn_json json;
    (void)state;
    tn_json_begin(&json, &out);
    tn_json_object(&json);
    tn_record_schema(&step_record, "tenfold.step/1", &json);
    tn_json_end(&json);
    json_t *schema = json_loads(out.data, 0, NULL);
    assert_non_null(schema);
    expect(schema, "joules_per_step", "[\"number\",\"null\"]", "J/step");
    expect(schema, "share", "[\"number\",\"null\"]", "1");
    expect(schema, "seconds", "[\"array\",\"null\"]", "s");
    expect(schema, "macs_per_step", "[\"object\"]", NULL);
    expect(schema, "why", "[\"string\",\"null\"]", NULL);
    expect(schema, "cycles", "[\"integer\",\"null\"]", "cycles");
    expect(schema, "designs", "[\"integer\",\"string\"]", "designs");
    expect(schema, "names", "[\"array\"]", NULL);
    const json_t *inside = json_object_get(json_object_get(schema, "properties"), "macs_per_step");
    expect(inside, "before", "[\"integer\"]", "MACs/step");
    char *required = json_dumps(json_object_get(schema, "required"), JSON_COMPACT);
    assert_string_equal(
        required,
        "[\"schema\",\"joules_per_step\",\"share\",\"seconds\",\"macs_per_step\",\"cycles\",\"designs\"]");
    free(required);
    json_decref(schema);
    tn_buffer_free(&out);

    static const char *const head[] = {"key", "type", "unit", "what"};
    tn_table table;
    tn_table_head(&table, head, 4);
    tn_record_key_rows(&step_record, "", &table);
    tn_table_write(&table, false, &told_rows);
    tn_table_free(&table);
    char key[64], type[32], unit[32], what[32];
    assert_int_equal(
        sscanf(strstr(told_rows.data, "macs_per_step.after"), "%63s %31s %31s %31s", key, type, unit, what),
        4);
    assert_string_equal(type, "integer");
    assert_string_equal(unit, "MACs/step");
    assert_string_equal(what, "after");
    assert_int_equal(sscanf(strstr(told_rows.data, "names[]"), "%63s %31s", key, type), 2);
    assert_string_equal(type, "string");
    assert_null(strstr(told_rows.data, "people"));
    tn_buffer_free(&told_rows);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_schema),     cmocka_unit_test(test_json),
        cmocka_unit_test(test_table),      cmocka_unit_test(test_csv),
        cmocka_unit_test(test_keyed_rows), cmocka_unit_test(test_amounts),
        cmocka_unit_test(test_memory),     cmocka_unit_test(test_ranges_and_lines),
        cmocka_unit_test(test_locale),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
