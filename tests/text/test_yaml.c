#include "text/yaml.h"

#include "base/buffer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static tn_arena arena;
static tn_error error;

static tn_yaml *parsed(const char *text) {
    tn_yaml *root = NULL;
    tn_status status = tn_yaml_parse("t.yaml", text, strlen(text), &arena, &root, &error);
    if (status != TN_OK) print_error("%u:%u: %s\n", error.line, error.column, error.message);
    assert_int_equal(status, TN_OK);
    return root;
}

static void refused(const char *text, tn_status status, unsigned line, unsigned column, const char *message) {
    tn_yaml *root = NULL;
    assert_int_equal(tn_yaml_parse("t.yaml", text, strlen(text), &arena, &root, &error), status);
    if (!strstr(error.message, message)) print_error("%s\ngave %s\n", text, error.message);
    assert_non_null(strstr(error.message, message));
    assert_int_equal(error.line, line);
    assert_int_equal(error.column, column);
    assert_string_equal(error.file, "t.yaml");
    assert_null(root);
}

static void trees(void **state) {
    (void)state;
    const tn_yaml *root =
        parsed("# a model\nname: \xc3\xa9tude\nlist: [1, \"2\", {x: y}]\nblock:\n  - a\n  - b: |\n"
               "      text\n    c:\n");
    assert_int_equal(root->kind, TN_YAML_MAPPING);
    assert_int_equal(root->count, 3);
    assert_string_equal(root->key[1]->text, "list");
    assert_int_equal(root->key[1]->position.line, 3);
    assert_string_equal(tn_yaml_get(root, "name")->text, "\xc3\xa9tude");
    const tn_yaml *list = tn_yaml_get(root, "list"), *block = tn_yaml_get(root, "block");
    assert_int_equal(list->count, 3);
    assert_false(list->item[0]->quoted);
    assert_true(list->item[1]->quoted);
    assert_int_equal(list->item[2]->position.line, 3);
    assert_int_equal(list->item[2]->position.column, 16);
    assert_string_equal(list->item[2]->position.file, "t.yaml");
    assert_string_equal(tn_yaml_get(block->item[1], "b")->text, "text\n");
    assert_true(tn_yaml_get(block->item[1], "b")->quoted);
    assert_string_equal(tn_yaml_get(block->item[1], "c")->text, "");
    assert_null(tn_yaml_get(root, "absent"));
    assert_null(tn_yaml_get(list, "absent"));
}

static void faults(void **state) {
    (void)state;
    refused("", TN_INPUT, 1, 1, "is empty");
    refused("# nothing\n", TN_INPUT, 1, 1, "is empty");
    refused("a: 1\nb: 2\na: 3\n", TN_INPUT, 3, 1, "key \"a\" stands twice, first in line 1");
    refused("x: {a: 1, \"a\": 2}\n", TN_INPUT, 1, 11, "key \"a\" stands twice");
    refused("a: &x 1\n", TN_INPUT, 1, 4, "anchors and aliases (&x)");
    refused("a: &x [1]\n", TN_INPUT, 1, 4, "anchors and aliases (&x)");
    refused("a: *x\n", TN_INPUT, 1, 4, "anchors and aliases (*x)");
    refused("a: !!int 1\n", TN_INPUT, 1, 4, "tags (tag:yaml.org,2002:int)");
    refused("a: !mine {}\n", TN_INPUT, 1, 4, "tags (!mine)");
    refused("%TAG ! tag:x,2000:\n---\na: 1\n", TN_INPUT, 1, 1, "tags (%TAG)");
    refused("a: 1\n---\nb: 2\n", TN_INPUT, 2, 1, "second document");
    refused("[a, b]: 1\n", TN_INPUT, 1, 1, "key that is a list");
    refused("\"\": 1\n", TN_INPUT, 1, 1, "without a key");
    refused("a: \"x\\0y\"\n", TN_INPUT, 1, 4, "NUL");
    refused("a: 'x\n", TN_INPUT, 2, 1, "not YAML: found unexpected end of stream");
    refused("a: 1\n b: 2\n", TN_INPUT, 2, 3, "not YAML: mapping values are not allowed");
    refused("a: 1\nb: x\xff\n", TN_INPUT, 2, 5, "UTF-8");
    refused("a: x\x01\n", TN_INPUT, 1, 5, "control characters");
    refused("a:\n\t- b\n", TN_INPUT, 2, 1, "not YAML");
}

static void depth(void **state) {
    (void)state;
    char text[256] = "";
    for (int i = 0; i < 64; i++) strcat(text, "[");
    for (int i = 0; i < 64; i++) strcat(text, "]");
    parsed(text);
    memset(text, '[', 65);
    memset(text + 65, ']', 65);
    refused(text, TN_LIMIT, 1, 65, "deeper than 64");
}

static void size(void **state) {
    (void)state;
    size_t length = ((size_t)16 << 20) + 1;
    char *text = malloc(length);
    assert_non_null(text);
    memset(text, ' ', length);
    tn_yaml *root = NULL;
    assert_int_equal(tn_yaml_parse("t.yaml", text, length, &arena, &root, &error), TN_LIMIT);
    assert_non_null(strstr(error.message, "bytes; at most 16777216 are read"));
    length = 3 << 20;
    for (size_t i = 0; i < length; i++) text[i] = "- \n"[i % 3];
    assert_int_equal(tn_yaml_parse("t.yaml", text, length, &arena, &root, &error), TN_LIMIT);
    assert_non_null(strstr(error.message, "more than 1048576 values"));
    assert_int_equal(error.line, 1 << 20);
    assert_null(root);
    free(text);
    assert_int_equal(tn_yaml_load("no/such.yaml", &arena, &root, &error), TN_INPUT);
    assert_string_equal(error.file, "no/such.yaml");
    assert_int_equal(tn_yaml_load("/", &arena, &root, &error), TN_INPUT);
}

static bool equal(const tn_yaml *a, const tn_yaml *b) {
    if (a->kind != b->kind || a->quoted != b->quoted || a->count != b->count) return false;
    if (a->kind == TN_YAML_SCALAR) return strcmp(a->text, b->text) == 0;
    for (size_t i = 0; i < a->count; i++) {
        if (!equal(a->item[i], b->item[i])) return false;
        if (a->kind == TN_YAML_MAPPING && !equal(a->key[i], b->key[i])) return false;
    }
    return true;
}

static void assert_writes(const tn_yaml *root, const char *expected) {
    tn_buffer out = {0};
    tn_yaml_write(root, &out);
    assert_int_equal(out.status, TN_OK);
    if (expected) assert_string_equal(out.data, expected);
    if (!equal(parsed(out.data), root)) print_error("%s", out.data);
    assert_true(equal(parsed(out.data), root));
    tn_buffer_free(&out);
}

static void written_reads_back(void **state) {
    (void)state;
    assert_writes(parsed("{name: x, list: [1, 2], sub: {a: [{b: 1, c: 2}, {b: 3}]}}"),
                  "name: x\nlist: [1, 2]\nsub:\n  a:\n  - b: 1\n    c: 2\n  - b: 3\n");
    static const char *const text[] = {
        "plain",
        "'quoted'",
        "\"a: b # c\\n\\ttab \\x01 \\u00e9 \\u2028\"",
        "|\n  two\n  lines\n",
        ">\n  folded\n  text\n",
        "[]",
        "{}",
        "{a: [], b: {}, c: , d: ''}",
        "[[], [[1], {x: }], '']",
        "- \n- a\n-\n",
        "~",
        "a\n b\n\n c",
        "- - - 1\n    - 2\n  - {a: b}\n",
        "{\"a: b\": 1, '#': 2, ' ': 3, \"\\n\": 4, '-': 5, '?': '?'}",
        "['*', '&', '!', '%', '@', '`', 'a ', ' a', '- b', '---', '...', \"\\\\\", '']",
        "\xc3\xa9\xe2\x82\xac",
        "\"\xf0\x9f\x98\x80\\e\"",
        "---\n- x\n...\n",
        "a: -- x\nb: -5\nc: 1e-3\nd: .5\n"};
    for (size_t i = 0; i < sizeof text / sizeof *text; i++) assert_writes(parsed(text[i]), NULL);
}

static const char MODEL[] =
    "size: 4\nlayers:\n  - name: fc1\n    rank: 12\n  - name: fc2\n    rank: 8\nsub: {a: {b: 1}}\n";

static void set(void **state) {
    (void)state;
    tn_yaml *root = parsed(MODEL);
    assert_int_equal(tn_yaml_set(root, "size=5", &arena, &error), TN_OK);
    assert_string_equal(tn_yaml_get(root, "size")->text, "5");
    assert_string_equal(tn_yaml_get(root, "size")->position.file, "--set");
    assert_int_equal(tn_yaml_get(root, "size")->position.column, 6);
    assert_int_equal(tn_yaml_set(root, "layers.fc2.rank=[1, 2]", &arena, &error), TN_OK);
    assert_int_equal(tn_yaml_set(root, "layers.0.fold=12x8=x", &arena, &error), TN_OK);
    assert_int_equal(tn_yaml_set(root, "sub.a.c={d: \"=\"}", &arena, &error), TN_OK);
    assert_int_equal(tn_yaml_set(root, "layers.0.name=renamed", &arena, &error), TN_OK);
    const tn_yaml *layers = tn_yaml_get(root, "layers");
    assert_int_equal(tn_yaml_get(layers->item[1], "rank")->count, 2);
    assert_string_equal(tn_yaml_get(layers->item[0], "fold")->text, "12x8=x");
    assert_string_equal(tn_yaml_get(tn_yaml_get(tn_yaml_get(tn_yaml_get(root, "sub"), "a"), "c"), "d")->text,
                        "=");
    assert_string_equal(tn_yaml_get(layers->item[0], "name")->text, "renamed");
    assert_int_equal(tn_yaml_set(root, "size=", &arena, &error), TN_INPUT);
}

static void set_faults(void **state) {
    (void)state;
    static const struct {
        const char *assignment, *message;
        unsigned column;
    } bad[] = {
        {"size", "sets nothing; write KEY=VALUE", 1},
        {"=5", "empty name", 1},
        {"sub..b=1", "empty name", 5},
        {"size.x=1", "no key \"x\" here: what stands before it is a value", 6},
        {"subb.x=1", "no key \"subb\" here; did you mean \"sub\"?", 1},
        {"layers.fc3.rank=1", "no item \"fc3\" here; did you mean \"fc1\"?", 8},
        {"layers.2.rank=1", "item 2 of a list of 2", 8},
        {"layers.zzzzzz=1", "no item \"zzzzzz\" here", 8},
        {"size=[1", "not YAML", 8},
        {"size=*x", "aliases", 6},
    };
    tn_yaml *root = parsed(MODEL), *before = parsed(MODEL);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(tn_yaml_set(root, bad[i].assignment, &arena, &error), TN_INPUT);
        if (!strstr(error.message, bad[i].message)) print_error("%s\n", error.message);
        assert_non_null(strstr(error.message, bad[i].message));
        assert_string_equal(error.file, "--set");
        assert_int_equal(error.column, bad[i].column);
        assert_true(equal(root, before));
    }
}

static void merge(void **state) {
    (void)state;
    const tn_yaml *base = parsed("{a: 1, sub: {x: 1, y: [1, 2]}, list: [1]}");
    const tn_yaml *override = parsed("{sub: {y: [3], z: 4}, list: {now: mapping}, b: 2}");
    tn_yaml *merged = NULL;
    assert_int_equal(tn_yaml_merge(base, override, &arena, &merged, &error), TN_OK);
    assert_true(equal(merged, parsed("{a: 1, sub: {x: 1, y: [3], z: 4}, list: {now: mapping}, b: 2}")));
    assert_int_equal(tn_yaml_set(merged, "sub.x=9", &arena, &error), TN_OK);
    assert_int_equal(tn_yaml_set(merged, "sub.y.0=9", &arena, &error), TN_OK);
    assert_true(equal(base, parsed("{a: 1, sub: {x: 1, y: [1, 2]}, list: [1]}")));
    assert_true(equal(override, parsed("{sub: {y: [3], z: 4}, list: {now: mapping}, b: 2}")));
}

/* What tn_yaml_put writes is read back as that text, whatever it looks like. */
static void lines_read_back(void **state) {
    (void)state;
    static const char *const texts[] = {
        "",        "plain", "h200@eager", "../a/b.yaml", "a b",       "yes",   "NULL", "~",
        "0x10",    "1e3",   "-1",         ".5",          "'t Hooft",  "\"q\"", "a: b", "# c",
        "{a: 1}",  "[a",    "*x",         "&x",          "!x",        "|",     "%x",   "a\\b",
        "\x1b[2J", "a\nb",  "a\tb",       "größer",      "a\xc2\x9b", "@x",    "`x`",  " a "};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        tn_buffer out = {0};
        tn_buffer_text(&out, "sub:\n");
        tn_yaml_put(&out, 2, "key", texts[i]);
        tn_yaml_put(&out, 2, "next", "here");
        assert_int_equal(out.status, TN_OK);
        const tn_yaml *sub = tn_yaml_get(parsed(out.data), "sub"), *key = tn_yaml_get(sub, "key");
        assert_int_equal(key->kind, TN_YAML_SCALAR);
        assert_string_equal(key->text, texts[i]);
        assert_string_equal(tn_yaml_get(sub, "next")->text, "here");
        for (const char *c = out.data; *c; c++) assert_true(*c == '\n' || (unsigned char)*c >= ' ');
        tn_buffer_free(&out);
    }
}

static int clear(void **state) {
    (void)state;
    tn_arena_free(&arena);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test_teardown(trees, clear),
                                       cmocka_unit_test_teardown(faults, clear),
                                       cmocka_unit_test_teardown(depth, clear),
                                       cmocka_unit_test_teardown(size, clear),
                                       cmocka_unit_test_teardown(written_reads_back, clear),
                                       cmocka_unit_test_teardown(set, clear),
                                       cmocka_unit_test_teardown(set_faults, clear),
                                       cmocka_unit_test_teardown(merge, clear),
                                       cmocka_unit_test_teardown(lines_read_back, clear)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
