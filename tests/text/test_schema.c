#include "text/schema.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct port {
    const char *name;
    uint64_t width;
} port;

static const tn_field port_fields[] = {
    {.key = "width",
     .type = TN_FIELD_COUNT,
     .offset = offsetof(port, width),
     .required = true,
     .minimum = 1,
     .maximum = 4096,
     .help = "word width, bits"},
};
static const tn_schema port_schema = TN_SCHEMA("thing.port", port, port_fields);

typedef struct timing {
    double clock_MHz;
    uint64_t latency;
} timing;

static const tn_field timing_fields[] = {
    {.key = "clock_MHz",
     .type = TN_FIELD_REAL,
     .offset = offsetof(timing, clock_MHz),
     .fallback = "200",
     .minimum = 1,
     .maximum = 1000,
     .help = "clock, MHz"},
    {.key = "latency",
     .type = TN_FIELD_COUNT,
     .offset = offsetof(timing, latency),
     .required = true,
     .minimum = 1,
     .help = "latency, cycles"},
};
static const tn_schema timing_schema = TN_SCHEMA("thing.timing", timing, timing_fields);

typedef struct thing {
    const char *title;
    uint64_t size;
    double share, offset;
    bool shared;
    uint32_t style;
    tn_count_list fold;
    tn_real_list weights;
    tn_text_list labels;
    timing timing;
    tn_item_list layers, ports;
    const tn_yaml *extra;
    tn_position size_at;
} thing;

static const char *const styles[] = {"block", "ultra", "distributed", NULL};
static const tn_field thing_fields[] = {
    {.key = "title",
     .type = TN_FIELD_TEXT,
     .offset = offsetof(thing, title),
     .required = true,
     .help = "its name"},
    {.key = "size",
     .type = TN_FIELD_COUNT,
     .offset = offsetof(thing, size),
     .fallback = "1_000",
     .seen_offset = offsetof(thing, size_at),
     .help = "size, a|b"},
    {.key = "share",
     .type = TN_FIELD_REAL,
     .offset = offsetof(thing, share),
     .fallback = "0.5",
     .maximum = 1},
    {.key = "offset",
     .type = TN_FIELD_REAL,
     .offset = offsetof(thing, offset),
     .minimum = -2,
     .maximum = INFINITY},
    {.key = "shared", .type = TN_FIELD_BOOL, .offset = offsetof(thing, shared), .fallback = "true"},
    {.key = "style",
     .type = TN_FIELD_CHOICE,
     .offset = offsetof(thing, style),
     .choices = styles,
     .fallback = "ultra"},
    {.key = "fold",
     .type = TN_FIELD_COUNT_LIST,
     .offset = offsetof(thing, fold),
     .minimum = 1,
     .maximum = 64},
    {.key = "weights",
     .type = TN_FIELD_REAL_LIST,
     .offset = offsetof(thing, weights),
     .fallback = "[1, 0.5]"},
    {.key = "labels", .type = TN_FIELD_TEXT_LIST, .offset = offsetof(thing, labels)},
    {.key = "timing", .type = TN_FIELD_MAPPING, .offset = offsetof(thing, timing), .sub = &timing_schema},
    {.key = "layers", .type = TN_FIELD_LIST, .offset = offsetof(thing, layers), .sub = &port_schema},
    {.key = "ports", .type = TN_FIELD_TABLE, .offset = offsetof(thing, ports), .sub = &port_schema},
    {.key = "extra", .type = TN_FIELD_NODE, .offset = offsetof(thing, extra)},
};
static const tn_schema thing_schema = TN_SCHEMA("thing", thing, thing_fields);

static tn_arena arena;
static tn_error error;
static thing out;

static tn_status decode(const char *text) {
    tn_yaml *root;
    assert_int_equal(tn_yaml_parse("t.yaml", text, strlen(text), &arena, &root, &error), TN_OK);
    memset(&out, 0xa5, sizeof out);
    return tn_schema_decode(&thing_schema, root, &arena, &out, &error);
}

static void everything(void **state) {
    (void)state;
    tn_status status =
        decode("title: 12\nsize: 1e6\nshare: 1\noffset: 7.5\nshared: false\nstyle: distributed\n"
               "fold: 12x8x8\nweights: [-1, 2e-3]\nlabels: [a, \"b c\"]\ntiming: {latency: 3}\n"
               "layers:\n  - width: 8\n  - {width: 4096}\nports:\n  left: {width: 1}\n"
               "extra: [any, {thing: 1}]\n");
    if (status != TN_OK) print_error("%s\n", error.message);
    assert_int_equal(status, TN_OK);
    assert_string_equal(out.title, "12");
    assert_int_equal(out.size, 1000000);
    assert_int_equal(out.size_at.line, 2);
    assert_int_equal(out.size_at.column, 7);
    assert_true(out.share == 1 && out.offset == 7.5 && !out.shared);
    assert_int_equal(out.style, 2);
    assert_int_equal(out.fold.count, 3);
    assert_int_equal(out.fold.item[0], 12);
    assert_int_equal(out.fold.item[2], 8);
    assert_int_equal(out.weights.count, 2);
    assert_true(out.weights.item[0] == -1 && out.weights.item[1] == 2e-3);
    assert_string_equal(out.labels.item[1], "b c");
    assert_true(out.timing.clock_MHz == 200);
    assert_int_equal(out.timing.latency, 3);
    assert_int_equal(out.layers.count, 2);
    assert_int_equal(((port *)out.layers.item)[1].width, 4096);
    assert_int_equal(out.ports.count, 1);
    assert_string_equal(((port *)out.ports.item)[0].name, "left");
    assert_int_equal(out.extra->count, 2);
}

static void defaults(void **state) {
    (void)state;
    assert_int_equal(decode("title: \"\"\nfold: [4, 2]\nlabels: one\n"), TN_OK);
    assert_int_equal(out.size, 1000);
    assert_int_equal(out.size_at.line, 0);
    assert_true(out.share == 0.5 && out.offset == 0 && out.shared);
    assert_int_equal(out.style, 1);
    assert_int_equal(out.fold.count, 2);
    assert_int_equal(out.weights.count, 2);
    assert_int_equal(out.labels.count, 1);
    assert_true(out.timing.clock_MHz == 200); /* the mapping is absent, its default is not */
    assert_int_equal(out.timing.latency, 0);
    assert_int_equal(out.layers.count + out.ports.count, 0);
    assert_null(out.extra);
}

static void faults(void **state) {
    (void)state;
    static const struct {
        const char *text, *message;
        unsigned line, column;
    } bad[] = {
        {"size: 1\n", "key \"title\" of thing is missing; add title: its name", 1, 1},
        {"[1]\n", "thing is a list; it must be a mapping", 1, 1},
        {"title: a\nsiez: 1\n", "unknown key \"siez\" of thing; did you mean \"size\"?", 2, 1},
        {"title: a\nzzzzzzzzz: 1\n", "unknown key \"zzzzzzzzz\" of thing; it knows title, size", 2, 1},
        {"title: [a]\n", "\"title\" of thing is a list; it must be a text", 1, 8},
        {"title:\n", "\"title\" of thing has no value", 1, 7},
        {"title: ~\n", "\"title\" of thing has no value", 1, 8},
        {"title: a\nsize: 1.5\n", "\"size\" of thing is 1.5; it must be a whole number", 2, 7},
        {"title: a\nsize: \"15\"\n", "is the quoted text 15; it must be a whole number", 2, 7},
        {"title: a\nsize: -1\n", "\"size\" of thing is -1; it must be 0 to 2^63", 2, 7},
        {"title: a\nsize: 9223372036854775809\n", "it must be 0 to 2^63", 2, 7},
        {"title: a\nsize: {}\n", "is a mapping; it must be a whole number", 2, 7},
        {"title: a\nshare: 1.01\n", "\"share\" of thing is 1.01; it must be 0 to 1", 2, 8},
        {"title: a\nshare: -1\n", "it must be 0 to 1", 2, 8},
        {"title: a\nshare: nan\n", "is nan; it must be a number", 2, 8},
        {"title: a\nshare: 1e999\n", "is 1e999; it must be 0 to 1", 2, 8},
        {"title: a\noffset: 1e999\n", "it must be at least -2", 2, 9},
        {"title: a\nshared: yes\n", "\"shared\" of thing is yes; it must be true or false", 2, 9},
        {"title: a\nstyle: blok\n", "did you mean block? It must be block, ultra or distributed", 2, 8},
        {"title: a\nstyle: 7777777\n", "is 7777777; it must be block, ultra or distributed", 2, 8},
        {"title: a\nfold: 12xx8\n", "it must be a list of whole numbers such as", 2, 7},
        {"title: a\nfold: [8, 0]\n", "\"fold\" of thing is 0; it must be 1 to 64", 2, 11},
        {"title: a\nfold: 8x65\n", "\"fold\" of thing is 65; it must be 1 to 64", 2, 7},
        {"title: a\nfold: [[8]]\n", "is a list; it must be a list of whole", 2, 8},
        {"title: a\nweights: {}\n", "is a mapping; it must be a list of numbers", 2, 10},
        {"title: a\nlabels: [[]]\n", "it must be a list of texts", 2, 10},
        {"title: a\ntiming: 3\n", "thing.timing is 3; it must be a mapping", 2, 9},
        {"title: a\ntiming: {}\n", "key \"latency\" of thing.timing is missing; add latency", 2, 9},
        {"title: a\ntiming: {latency: 0}\n", "is 0; it must be at least 1 and at most 2^63", 2, 19},
        {"title: a\nlayers: {width: 1}\n", "it must be a list of mappings", 2, 9},
        {"title: a\nlayers:\n  - width: 1\n  - {}\n", "key \"width\" of thing.port is missing", 4, 5},
        {"title: a\nports: [1]\n", "it must be a mapping from names to mappings", 2, 8},
        {"title: a\nports: {left: {widht: 1}}\n", "did you mean \"width\"?", 2, 16},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        tn_status status = decode(bad[i].text);
        bool good = status == TN_INPUT && strstr(error.message, bad[i].message) &&
                    error.line == bad[i].line && error.column == bad[i].column &&
                    strcmp(error.file, "t.yaml") == 0;
        if (!good) print_error("%s\ngave %u:%u: %s\n", bad[i].text, error.line, error.column, error.message);
        assert_true(good);
        thing zero;
        memset(&zero, 0, sizeof zero);
        assert_memory_equal(&out, &zero, sizeof zero);
    }
}

static void documented(void **state) {
    (void)state;
    tn_buffer page = {0};
    tn_schema_document(&thing_schema, &page);
    assert_int_equal(page.status, TN_OK);
    static const char *const lines[] = {
        "### thing\n\n| key | type | range or choices | default | meaning |\n|---|---|---|---|---|\n",
        "| `title` | text |  | required | its name |\n",
        "| `size` | whole number |  | `1_000` | size, a\\|b |\n",
        "| `share` | number | 0 to 1 | `0.5` |  |\n",
        "| `style` | choice | `block`, `ultra`, `distributed` | `ultra` |  |\n",
        "| `fold` | list of whole numbers | 1 to 64 | |  |\n",
        "| `timing` | mapping | see thing.timing | |  |\n",
        "\n### thing.timing\n",
        "| `latency` | whole number | 1 or more | required | latency, cycles |\n",
        "\n### thing.port\n",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        if (!strstr(page.data, lines[i])) print_error("no %s in\n%s", lines[i], page.data);
        assert_non_null(strstr(page.data, lines[i]));
    }
    const char *first = strstr(page.data, "### thing.port");
    assert_null(strstr(first + 1, "### thing.port"));
    tn_buffer_free(&page);
}

static int clear(void **state) {
    (void)state;
    tn_arena_free(&arena);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(everything, clear), cmocka_unit_test_teardown(defaults, clear),
        cmocka_unit_test_teardown(faults, clear), cmocka_unit_test(documented)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
