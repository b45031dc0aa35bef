#include "finetune/data.h"

#include "base/buffer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#define HEAD "gpu,model,dataset,sparsity,batch_size,queries_per_s\n"

static tn_arena arena;
static tn_finetune_data data;
static tn_error error;

static tn_status parse(const char *text) {
    data = (tn_finetune_data){0};
    return tn_finetune_parse("m.csv", text, strlen(text), &arena, &data, &error);
}

static void groups_in_order_of_their_first_rows(void **state) {
    (void)state;
    assert_int_equal(parse("queries_per_s,batch_size,sparsity,dataset,model,gpu\n"
                           "1.5,1,1,D,m,A\n"
                           "2.5,2,0.25,D,m,B\n"
                           "2.0,2,1,D,m,A\n"
                           "3.0,3,0.25,E,m,A\n"),
                     TN_OK);
    assert_int_equal(data.count, 3);
    assert_string_equal(data.group[0].gpu, "A");
    assert_string_equal(data.group[0].dataset, "D");
    assert_int_equal(data.group[0].count, 2);
    assert_true(data.group[0].point[1].queries_per_s == 2 && data.group[0].point[1].batch == 2);
    assert_string_equal(data.group[1].gpu, "B");
    assert_true(data.group[1].point[0].sparsity == 0.25);
    assert_string_equal(data.group[2].dataset, "E");
    assert_int_equal(data.group[2].position.line, 5);
    assert_true(data.group[2].point[0].log_peak == 0);
}

static void refused(const char *text, unsigned line, unsigned column, const char *words) {
    tn_status status = parse(text);
    if (status != TN_INPUT || !strstr(error.message, words) || error.line != line || error.column != column)
        print_error("%s\n%d, %u:%u: %s\n", text, status, error.line, error.column, error.message);
    assert_int_equal(status, TN_INPUT);
    assert_non_null(strstr(error.message, words));
    assert_int_equal(error.line, line);
    assert_int_equal(error.column, column);
    assert_string_equal(error.file, "m.csv");
}

static void what_is_refused(void **state) {
    (void)state;
    refused(HEAD, 1, 1, "no measurements");
    refused("gpu,model,dataset,sparsity,batch,queries_per_s\nA,m,D,1,1,1\n", 1, 28, "\"batch\"");
    refused("gpu,model,dataset,sparsity,batch_size\nA,m,D,1,1\n", 1, 1, "\"queries_per_s\" is missing");
    refused("gpu,model,dataset,sparsity,batch_size,queries_per_s,note\nA,m,D,1,1,1,x\n", 1, 53, "note");
    refused("gpu,gpu,dataset,sparsity,batch_size,queries_per_s\nA,m,D,1,1,1\n", 1, 5, "twice");
    refused(HEAD "A,m,D,1,1,\n", 2, 11, "empty");
    refused(HEAD "A,,D,1,1,1\n", 2, 3, "empty");
    refused(HEAD "A,m ,D,1,1,1\n", 2, 3, "blanks");
    refused(HEAD "A,m,D,1,1,-0.5\n", 2, 11, "out of range");
    refused(HEAD "A,m,D,1,1,0\n", 2, 11, "out of range");
    refused(HEAD "A,m,D,1,1,nan\n", 2, 11, "nan");
    refused(HEAD "A,m,D,1,1,inf\n", 2, 11, "inf");
    refused(HEAD "A,m,D,1,1,1e400\n", 2, 11, "1e400");
    refused(HEAD "A,m,D,1,0,1\n", 2, 9, "out of range");
    refused(HEAD "A,m,D,1,1.5,1\n", 2, 9, "whole number");
    refused(HEAD "A,m,D,1,-2,1\n", 2, 9, "-2");
    refused(HEAD "A,m,D,0,1,1\n", 2, 7, "out of range");
    refused(HEAD "A,m,D,1.25,1,1\n", 2, 7, "out of range");
    refused(HEAD "A,m,D,1,1,1\nA,m,D,1,2\n", 3, 1, "row of 5 cells");
    assert_int_equal(tn_finetune_load("no/such/file.csv", &arena, &data, &error), TN_INPUT);
}

static void too_many_groups(void **state) {
    (void)state;
    tn_buffer text = {0};
    tn_buffer_text(&text, HEAD);
    for (int i = 0; i <= TN_FINETUNE_MOST_GROUPS; i++) tn_buffer_format(&text, "gpu%d,m,D,1,1,1\n", i);
    assert_int_equal(parse(text.data), TN_LIMIT);
    assert_int_equal(error.line, TN_FINETUNE_MOST_GROUPS + 2);
    tn_buffer_free(&text);
}

static void choosing_groups(void **state) {
    (void)state;
    static const char text[] = HEAD "A100,m,D,1,1,1\nA40,m,D,1,1,1\nA40,n,E,1,1,1\n";
    assert_int_equal(parse(text), TN_OK);
    assert_int_equal(tn_finetune_keep(&data, "A40", NULL, NULL, &error), TN_OK);
    assert_int_equal(data.count, 2);
    assert_int_equal(tn_finetune_keep(&data, NULL, "n", "E", &error), TN_OK);
    assert_int_equal(data.count, 1);
    assert_string_equal(data.group[0].model, "n");
    assert_int_equal(parse(text), TN_OK);
    assert_int_equal(tn_finetune_keep(&data, "A41", NULL, NULL, &error), TN_INPUT);
    assert_non_null(strstr(error.message, "A40"));
    assert_int_equal(data.count, 3);
    tn_finetune_data rest;
    assert_int_equal(tn_finetune_without(&data, "A40", &arena, &rest, &error), TN_OK);
    assert_int_equal(rest.count, 1);
    assert_string_equal(rest.group[0].gpu, "A100");
    static const char *const gpus[] = {"A40", "H100"};
    assert_int_equal(tn_finetune_keep_gpus(&data, gpus, 2, &error), TN_INPUT);
    assert_int_equal(tn_finetune_keep_gpus(&data, gpus, 1, &error), TN_OK);
    assert_int_equal(data.count, 2);
}

static int clear(void **state) {
    (void)state;
    tn_arena_free(&arena);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(groups_in_order_of_their_first_rows, clear),
        cmocka_unit_test_teardown(what_is_refused, clear),
        cmocka_unit_test_teardown(too_many_groups, clear),
        cmocka_unit_test_teardown(choosing_groups, clear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
