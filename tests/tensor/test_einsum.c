#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "tensor/einsum.h"

static const tn_position AT = {.file = "here", .line = 3, .column = 10};

static tn_network parsed(const char *expression, const char *sizes, tn_arena *arena) {
    tn_network network;
    tn_error error;
    tn_status status = tn_einsum_parse(expression, AT, arena, &network, &error);
    if (status == TN_OK) status = tn_einsum_sizes(sizes, AT, &network, &error);
    if (status != TN_OK) print_error("%s\n", error.message);
    assert_int_equal(status, TN_OK);
    assert_int_equal(tn_network_check(&network, NULL), TN_OK);
    return network;
}

/* The network written back, every index by name, tensors between commas. */
static const char *text_of(const tn_network *network) {
    static char text[512];
    size_t length = 0;
    for (uint32_t t = 0; t <= network->tensors; t++) {
        tn_indices list = t < network->tensors ? network->tensor[t] : network->output;
        if (t) length += (size_t)sprintf(text + length, "%s", t < network->tensors ? "," : "->");
        for (uint32_t i = 0; i < list.count; i++)
            length += (size_t)sprintf(text + length, "%s", network->index_name[list.index[i]]);
    }
    return text;
}

static void expressions(void **state) {
    (void)state;
    static const char *const same[] = {"ab,bc->ac", "a->",         "->",      ",->", "abc,bd,dce,efg,gh->afh",
                                       "aB,Ba->",   "ä日,日z->zä", "a,,b->ba"};
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        tn_arena arena = {0};
        tn_network network;
        assert_int_equal(tn_einsum_parse(same[i], AT, &arena, &network, NULL), TN_OK);
        assert_string_equal(text_of(&network), same[i]);
        tn_arena_free(&arena);
    }
}

static void blanks_and_implied_outputs(void **state) {
    (void)state;
    static const char *const pairs[][2] = {
        {" a b , b c -> a c ", "ab,bc->ac"}, {"ba", "ba->ab"},       {"ab,bc", "ab,bc->ac"},
        {"cb,ba,b", "cb,ba,b->ac"},          {"bA,bc", "bA,bc->Ac"}, {"ab,ab", "ab,ab->"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        tn_arena arena = {0};
        tn_network network;
        assert_int_equal(tn_einsum_parse(pairs[i][0], AT, &arena, &network, NULL), TN_OK);
        assert_string_equal(text_of(&network), pairs[i][1]);
        tn_arena_free(&arena);
    }
}

static void sizes(void **state) {
    (void)state;
    tn_arena arena = {0};
    tn_network network = parsed("ab,bc->ac", " a = 3, c=1_000 ,b=1e6", &arena);
    assert_true(network.index_size[0] == 3 && network.index_size[1] == 1000000 &&
                network.index_size[2] == 1000);
    assert_string_equal(network.tensor_name[1], "bc");
    network = parsed(",a->a", "a=18446744073709551615", &arena);
    assert_true(network.index_size[0] == UINT64_MAX);
    assert_string_equal(network.tensor_name[0], "1");
    network = parsed("->", "", &arena);
    assert_int_equal(network.indices, 0);
    assert_int_equal(tn_einsum_parse("ab->b", AT, &arena, &network, NULL), TN_OK);
    assert_int_equal(tn_einsum_json_sizes("{\"b\": 7, \"a\": 9223372036854775807}", AT, &network, NULL),
                     TN_OK);
    assert_true(network.index_size[1] == 7 && network.index_size[0] == INT64_MAX);
    tn_arena_free(&arena);
}

/* Each wrong text, the column of its error, and a word that the error must hold. */
typedef struct refusal {
    const char *text;
    unsigned column;
    const char *word;
} refusal;

static void refused(tn_status status, const tn_error *error, const refusal *row) {
    if (status != TN_INPUT || error->column != row->column || !strstr(error->message, row->word))
        print_error("%s: column %u, %s\n", row->text, error->column, error->message);
    assert_int_equal(status, TN_INPUT);
    assert_int_equal(error->line, 3);
    assert_int_equal(error->column, row->column);
    assert_string_equal(error->file, "here");
    assert_non_null(strstr(error->message, row->word));
}

static void bad_expressions(void **state) {
    (void)state;
    static const refusal rows[] = {
        {"", 10, "ab,bc->ac"},    {"  ", 12, "ends here"},    {"aab->b", 11, "twice"},
        {"ab->aa", 15, "twice"},  {"ab->c", 14, "no tensor"}, {"a...b->ab", 11, "ellipsis"},
        {"ab,b1->a", 14, "'1'"},  {"ab-a", 12, "'-'"},        {"ab>a", 12, "'>'"},
        {"ab->a->b", 15, "'-'"},  {"ab->a,b", 15, "','"},     {"äb,ä1", 14, "'1'"},
        {"a\x01", 11, "control"}, {"a\xff", 11, "UTF-8"},     {"ab->...", 14, "ellipsis"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tn_arena arena = {0};
        tn_network network;
        tn_error error = {0};
        refused(tn_einsum_parse(rows[i].text, AT, &arena, &network, &error), &error, &rows[i]);
        tn_arena_free(&arena);
    }
}

static void bad_sizes(void **state) {
    (void)state;
    static const refusal rows[] = {
        {"a=2", 10, "index 'b' has no size"},
        {"a=2,b=0", 14, "0"},
        {"a=2,b=-1", 16, "-1"},
        {"a=2,b=x", 16, "whole number"},
        {"a=2,b", 15, "'='"},
        {"a=2,c=3", 14, "no index"},
        {"a=2,b=3,a=2", 18, "twice"},
        {"a=2,,b=3", 14, "','"},
        {"a=2,b=3,", 18, "comma"},
        {"ab=2", 11, "one character"},
        {"a=2 b=3", 12, "whole"},
        {"a=99999999999999999999,b=1", 12, "2^64"},
        {"=2", 10, "'='"},
        {"a=0000000000000000000000000000000000000012,b=1", 12, "39 digits"},
        {"a=2ä,b=1", 12, "whole number"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tn_arena arena = {0};
        tn_network network;
        tn_error error = {0};
        assert_int_equal(tn_einsum_parse("ab->a", AT, &arena, &network, NULL), TN_OK);
        refused(tn_einsum_sizes(rows[i].text, AT, &network, &error), &error, &rows[i]);
        tn_arena_free(&arena);
    }
}

static void bad_json_sizes(void **state) {
    (void)state;
    static const refusal rows[] = {
        {"", 10, "JSON"},
        {"[2, 3]", 10, "object"},
        {"{\"a\": 2}", 10, "index 'b' has no size"},
        {"{\"a\": 2, \"b\": 0}", 10, "0"},
        {"{\"a\": 2, \"b\": -3}", 10, "whole number"},
        {"{\"a\": 2, \"b\": 2.5}", 10, "whole number"},
        {"{\"a\": 2, \"b\": \"3\"}", 10, "whole number"},
        {"{\"a\": 2, \"b\": 3, \"c\": 4}", 10, "no index"},
        {"{\"a\": 2, \"a\": 3}", 10, "JSON"},
        {"{\"a\": 2, \"b\": 99999999999999999999}", 10, "JSON"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tn_arena arena = {0};
        tn_network network;
        tn_error error = {0};
        assert_int_equal(tn_einsum_parse("ab->a", AT, &arena, &network, NULL), TN_OK);
        refused(tn_einsum_json_sizes(rows[i].text, AT, &network, &error), &error, &rows[i]);
        tn_arena_free(&arena);
    }
}

static void limits(void **state) {
    (void)state;
    static char text[4 * TN_TENSORS_MOST + 64];
    tn_arena arena = {0};
    tn_network network;
    tn_error error;
    for (int t = 0; t < TN_TENSORS_MOST; t++) memcpy(text + 2 * t, "a,", 2);
    text[2 * TN_TENSORS_MOST - 1] = '\0';
    assert_int_equal(tn_einsum_parse(text, AT, &arena, &network, &error), TN_OK);
    assert_int_equal(network.tensors, TN_TENSORS_MOST);
    strcat(text, ",a");
    assert_int_equal(tn_einsum_parse(text, AT, &arena, &network, &error), TN_LIMIT);

    static char many[3 * TN_INDICES_MOST + 16]; /* U+1000 .. in three bytes each */
    size_t length = 0;
    for (unsigned i = 0; i <= TN_INDICES_MOST; i++) {
        unsigned c = 0x1000 + i;
        many[length++] = (char)(0xe0 | c >> 12);
        many[length++] = (char)(0x80 | (c >> 6 & 0x3f));
        many[length++] = (char)(0x80 | (c & 0x3f));
    }
    assert_int_equal(tn_einsum_parse(many, AT, &arena, &network, &error), TN_LIMIT);
    many[length - 3] = '\0';
    assert_int_equal(tn_einsum_parse(many, AT, &arena, &network, &error), TN_OK);
    assert_int_equal(network.indices, TN_INDICES_MOST);
    tn_arena_free(&arena);
}

static void every_failing_allocation_is_reported(void **state) {
    (void)state;
    tn_status status = TN_MEMORY;
    for (long n = 1; status != TN_OK; n++) {
        tn_arena arena = {0};
        tn_network network;
        tn_memory_fail_at(n);
        status = tn_einsum_parse("ab,bc,cd->ad", AT, &arena, &network, NULL);
        if (status == TN_OK) status = tn_einsum_sizes("a=2,b=3,c=4,d=5", AT, &network, NULL);
        tn_memory_fail_at(0);
        tn_arena_free(&arena);
        assert_true(status == TN_OK || status == TN_MEMORY);
        assert_true(n < 100);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(expressions), cmocka_unit_test(blanks_and_implied_outputs),
        cmocka_unit_test(sizes),       cmocka_unit_test(bad_expressions),
        cmocka_unit_test(bad_sizes),   cmocka_unit_test(bad_json_sizes),
        cmocka_unit_test(limits),      cmocka_unit_test(every_failing_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
