#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "support/shared.h"
#include "tensor/network_file.h"

static tn_status decode(const char *text, tn_arena *arena, tn_network *network, tn_error *error) {
    tn_yaml *root = NULL;
    const char *name;
    TN_TRY(tn_yaml_parse("here", text, strlen(text), arena, &root, error));
    return tn_network_decode(root, arena, network, &name, error);
}

static void tensors_and_output(void **state) {
    (void)state;
    tn_arena arena = {0};
    tn_network network;
    tn_error error;
    const char *text = "kind: network\n"
                       "sizes: {rows: 32, inner: 64, columns: 8}\n"
                       "tensors:\n"
                       "  - {name: A, indices: [rows, inner]}\n"
                       "  - {name: B, indices: [inner, columns]}\n"
                       "  - {name: s, indices: []}\n"
                       "output: [rows, columns]\n";
    assert_int_equal(decode(text, &arena, &network, &error), TN_OK);
    assert_int_equal(network.tensors, 3);
    assert_int_equal(network.indices, 3);
    assert_string_equal(network.tensor_name[1], "B");
    assert_int_equal(network.tensor[2].count, 0);
    assert_true(network.tensor[1].count == 2 && network.tensor[1].index[0] == 1 &&
                network.tensor[1].index[1] == 2);
    assert_true(network.output.index[0] == 0 && network.output.index[1] == 2);
    assert_int_equal(network.index_size[1], 64);
    tn_arena_free(&arena);
}

static void einsum(void **state) {
    (void)state;
    tn_arena arena = {0};
    tn_network network;
    tn_error error;
    assert_int_equal(
        decode("kind: network\neinsum: ab,bc->ac\nsizes: {a: 2, b: 3, c: 1e3}\n", &arena, &network, &error),
        TN_OK);
    assert_int_equal(network.tensors, 2);
    assert_int_equal(network.index_size[2], 1000);
    tn_arena_free(&arena);
}

static void refusals(void **state) {
    (void)state;
#define HEAD "kind: network\nsizes: {a: 2, b: 3}\n"
    static const struct {
        const char *text;
        unsigned line, column;
        const char *word;
    } rows[] = {
        {HEAD "tensors:\n  - {name: A, indices: [a, c]}\noutput: [a]\n", 4, 28, "index c has no size"},
        {HEAD "tensors:\n  - {name: A, indices: [a, a]}\noutput: [a]\n", 4, 28, "twice"},
        {HEAD "tensors:\n  - {name: A, indices: [a]}\noutput: [a]\n", 2, 15, "on no tensor"},
        {HEAD "tensors:\n  - {name: A, indices: a}\noutput: [a]\n", 4, 24, "list"},
        {HEAD "tensors:\n  - {name: A, indices: [[a]]}\noutput: [a]\n", 4, 25, "no name"},
        {HEAD "tensors:\n  - {name: A, indices: [a]}\n  - {name: A, indices: [b]}\noutput: []\n", 5, 12,
         "called A"},
        {HEAD "tensors:\n  - {name: A, indices: [a, b]}\n", 1, 1, "output"},
        {HEAD "output: [a]\n", 1, 1, "tensors"},
        {HEAD "tensors: []\noutput: []\n", 3, 10, "empty"},
        {HEAD "einsum: ab->a\noutput: [a]\n", 3, 9, "in place of"},
        {HEAD "einsum: ac->a\n", 2, 15, "'b'"},
        {HEAD "einsum: a1->a\n", 3, 10, "'1'"},
        {"kind: network\nsizes: [2]\neinsum: ab->a\n", 2, 8, "mapping"},
        {"kind: network\nsizes: {a: 0}\neinsum: a->a\n", 2, 12, "size of index a"},
        {"kind: network\nsizes: {a: two}\ntensors: [{name: A, indices: [a]}]\noutput: [a]\n", 2, 12,
         "size of index a"},
        {"kind: model\n", 1, 7, "kind"},
        {"kind: network\nsizes: {a: 1}\neinsum: a->a\ntensor: 3\n", 4, 1, "tensors"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tn_arena arena = {0};
        tn_network network;
        tn_error error = {0};
        tn_status status = decode(rows[i].text, &arena, &network, &error);
        if (status != TN_INPUT || error.line != rows[i].line || error.column != rows[i].column ||
            !strstr(error.message, rows[i].word))
            print_error("%s%u:%u: %s\n", rows[i].text, error.line, error.column, error.message);
        assert_int_equal(status, TN_INPUT);
        assert_int_equal(error.line, rows[i].line);
        assert_int_equal(error.column, rows[i].column);
        assert_non_null(strstr(error.message, rows[i].word));
        tn_arena_free(&arena);
    }
}

/* docs/network-file.md holds the tables that the schema writes. */
static void the_page_is_true(void **state) {
    (void)state;
    tn_buffer table = {0};
    char *page;
    size_t length;
    tn_network_file_document(&table);
    assert_int_equal(table.status, TN_OK);
    assert_int_equal(tn_file_read(test_source("docs/network-file.md"), 1 << 20, &page, &length, NULL), TN_OK);
    if (!strstr(page, table.data)) print_error("docs/network-file.md must hold:\n%s", table.data);
    assert_non_null(strstr(page, table.data));
    free(page);
    tn_buffer_free(&table);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tensors_and_output),
        cmocka_unit_test(einsum),
        cmocka_unit_test(refusals),
        cmocka_unit_test(the_page_is_true),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
