#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "tensor/folding.h"

static const tn_position AT = {.file = "here", .line = 1, .column = 1};

static tn_weight parsed(const char *text, uint64_t *tokens) {
    tn_weight weight;
    tn_error error;
    tn_status status = tn_spec_parse(text, AT, &weight, tokens, &error);
    if (status != TN_OK) print_error("%s: %s\n", text, error.message);
    assert_int_equal(status, TN_OK);
    return weight;
}

static void formats(void **state) {
    (void)state;
    uint64_t tokens;
    tn_weight weight = parsed("tt:m=12x8x8,n=8x8x12,rank=12,tokens=32", &tokens);
    assert_true(weight.format == TN_TT && weight.d == 3 && tokens == 32);
    assert_true(weight.m[0] == 12 && weight.n[2] == 12 && weight.rank_count == 7);
    assert_true(weight.rank[0] == 1 && weight.rank[3] == 12 && weight.rank[6] == 1);
}

static void lists(void **state) {
    (void)state;
    uint64_t tokens;
    tn_weight weight = parsed("ttm:tokens=1,rank=1x5x1,n=2x3,m=4x5", &tokens);
    assert_true(weight.format == TN_TTM && weight.rank[1] == 5 && weight.m[1] == 5 && weight.n[1] == 3);
    weight = parsed("tr:m=2x2,n=2x2,rank=3x4x5x6x3,tokens=1", &tokens);
    assert_true(weight.format == TN_RING && weight.rank[0] == 3 && weight.rank[3] == 6);
    weight = parsed("ht:m=2x2,n=2x2,rank=4,tokens=1", &tokens);
    assert_true(weight.format == TN_HT && weight.rank_count == 6);
    weight = parsed("tucker:m=2x2,n=2x2,rank=1x2x3x4,tokens=1", &tokens);
    assert_true(weight.format == TN_TUCKER && weight.rank[2] == 3);
    weight = parsed("bt:m=2x2,n=2x2,rank=3,terms=7,tokens=1", &tokens);
    assert_true(weight.format == TN_BLOCK_TERM && weight.rank[3] == 3 && weight.rank[4] == 7);
    weight = parsed("bt:m=2x2,n=2x2,rank=3,tokens=1", &tokens);
    assert_true(weight.rank[4] == 1);
    weight = parsed("cp:m=2x2,n=2x2,rank=3,tokens=1", &tokens);
    assert_true(weight.format == TN_CP && weight.rank_count == 1);
    weight = parsed("dense:m=768,n=26,tokens=1", &tokens);
    assert_true(weight.format == TN_DENSE && weight.d == 1 && weight.m[0] == 768 && weight.n[0] == 26);
}

static void refusals(void **state) {
    (void)state;
    static const struct {
        const char *text;
        unsigned column;
        const char *word;
    } rows[] = {
        {"", 1, "format"},
        {"tt", 3, "':'"},
        {"tte:m=2,n=2,rank=1,tokens=1", 1, "did you mean tt"},
        {"tt:", 4, "key"},
        {"tt:m=2x2,n=2x2,rank=2", 22, "tokens"},
        {"tt:m=2x2,n=2x2,tokens=2", 24, "rank"},
        {"tt:n=2x2,rank=2,tokens=2", 25, "'m'"},
        {"tt:m=2x2,rank=2,tokens=2", 25, "'n'"},
        {"tt:m=2x2,n=2x2x2,rank=2,tokens=2", 12, "3 factors"},
        {"tt:m=2x2,n=2x2,rank=2,tokens=2,", 32, "key"},
        {"tt:m=2x2,n=2x2,rank=2,tokens=2,rank=3", 32, "twice"},
        {"tt:m=2x0,n=2x2,rank=2,tokens=2", 8, "'0'"},
        {"tt:m=2xx2,n=2x2,rank=2,tokens=2", 8, "''"},
        {"tt:m=2y2,n=2x2,rank=2,tokens=2", 6, "'2y2'"},
        {"tt:m,n=2x2,rank=2,tokens=2", 5, "'='"},
        {"tt:m=2x2,n=2x2,rank=1x2x1,tokens=2", 21, "3 ranks"},
        {"tt:m=2x2,n=2x2,rank=2x2x2x2x2,tokens=2", 21, "must be 1"},
        {"tr:m=2x2,n=2x2,rank=2x2x2x2x3,tokens=2", 21, "equal"},
        {"tt:m=2x2,n=2x2,rank=2,tokens=2x2", 30, "one number"},
        {"tt:m=2x2,n=2x2,rank=2,terms=2,tokens=2", 29, "terms"},
        {"bt:m=2x2,n=2x2,rank=2x2x2x2x2,terms=2,tokens=2", 37, "last"},
        {"dense:m=2,n=2,rank=2,tokens=2", 20, "no rank"},
        {"tt:m=2x2,n=2x2,rank=99999999999999999999,tokens=2", 21, "2^64"},
        {"tt:m=2,n=2,rank=00000000000000000000000000000000000001,tokens=2", 17, "number"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tn_weight weight;
        tn_error error = {0};
        uint64_t tokens;
        tn_status status = tn_spec_parse(rows[i].text, AT, &weight, &tokens, &error);
        if (status != TN_INPUT || error.column != rows[i].column || !strstr(error.message, rows[i].word))
            print_error("%s: column %u, %s\n", rows[i].text, error.column, error.message);
        assert_int_equal(status, TN_INPUT);
        assert_int_equal(error.column, rows[i].column);
        assert_non_null(strstr(error.message, rows[i].word));
    }
}

static void limits(void **state) {
    (void)state;
    char text[512] = "tt:rank=2,tokens=1,n=2,m=2";
    tn_weight weight;
    uint64_t tokens;
    for (int k = 1; k < TN_RANKS_MOST + 1; k++) strcat(text, "x2");
    assert_int_equal(tn_spec_parse(text, AT, &weight, &tokens, NULL), TN_LIMIT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formats),
        cmocka_unit_test(lists),
        cmocka_unit_test(refusals),
        cmocka_unit_test(limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
