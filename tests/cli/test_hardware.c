/* tenfold hardware: every question answered one by one and in batches, and its refusals. */
#include "base/file.h"
#include "support/program.h"
#include "support/shared.h"
#include "text/arrays.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char path[] = "/tmp/tenfold-hardware-XXXXXX";

static int set_up(void **state) {
    (void)state;
    int descriptor = mkstemp(path);
    return descriptor < 0 ? -1 : close(descriptor);
}

static int tear_down(void **state) {
    (void)state;
    return unlink(path);
}

static json_int_t count(const json_t *object, const char *key) {
    const json_t *value = json_object_get(object, key);
    if (!json_is_integer(value)) fail_msg("no whole number under %s", key);
    return json_integer_value(value);
}

/* Numbers of the reference data and of hand calculation, through the program. */
static void one_question_each(void **state) {
    (void)state;
    json_t *j = test_program_json(0, "hardware", "memory", "--width", "72", "--depth", "5000", "--style",
                                  "ultra", "--json", NULL);
    assert_int_equal(count(j, "uram"), 2);
    assert_int_equal(count(j, "bram18") + count(j, "bram36") + count(j, "lutram"), 0);
    json_decref(j);
    j = test_program_json(0, "hardware", "memory", "--width=36", "--depth=1000", "--style=block", "--json",
                          NULL);
    assert_int_equal(count(j, "bram18"), 2);
    json_decref(j);
    j = test_program_json(0, "hardware", "memory", "--width", "36", "--depth", "1000", "--style", "block",
                          "--geometry", "yosys", "--json", NULL);
    assert_int_equal(count(j, "bram36"), 1);
    json_decref(j);
    j = test_program_json(0, "hardware", "multiply", "--a", "24", "--b", "24", "--signedness", "unsigned",
                          "--json", NULL);
    assert_int_equal(count(j, "dsp"), 2);
    json_decref(j);
    j = test_program_json(0, "hardware", "multiply", "--a", "26", "--b", "18", "--block", "dsp48e1", "--json",
                          NULL);
    assert_int_equal(count(j, "dsp"), 2); /* a 25-bit port */
    json_decref(j);
    j = test_program_json(0, "hardware", "array", "--dataflow", "os_overlapped", "--rows", "16", "--cols",
                          "4", "--m", "20", "--k", "33", "--n", "10", "--json", NULL);
    assert_int_equal(count(j, "cycles"), 206);
    json_decref(j);
    j = test_program_json(0, "hardware", "training", "--rows", "16", "--cols", "16", "--m", "32", "--k", "16",
                          "--n", "16", "--json", NULL);
    assert_int_equal(count(j, "forward"), 78);
    assert_int_equal(count(j, "input_gradient"), 62);
    assert_int_equal(count(j, "weight_gradient"), 78);
    json_decref(j);
    j = test_program_json(0, "hardware", "loop", "--trips", "100", "--iteration-latency", "14", "--ii", "4",
                          "--json", NULL);
    assert_int_equal(count(j, "cycles"), 409);
    json_decref(j);
}

/* The product of two files of the examples, as whole numbers. */
static void check_played(const char *pass, const char *a, const char *b, json_int_t cycles, json_int_t saved,
                         const int64_t *expected) {
    char left[1024], right[1024];
    snprintf(left, sizeof left, "%s", test_source(a));
    snprintf(right, sizeof right, "%s", test_source(b));
    json_t *j = test_program_json(0, "hardware", "array", "--dataflow", "ws_serial", "--rows", "2", "--cols",
                                  "2", "--execute", left, right, "-o", path, "--pass", pass, "--json", NULL);
    assert_int_equal(count(j, "cycles"), cycles);
    assert_int_equal(count(j, "saved_accesses"), saved);
    json_decref(j);
    tn_arrays *arrays;
    int64_t values[4];
    assert_int_equal(tn_arrays_open(path, &arrays, NULL), TN_INPUT); /* whole numbers stay whole numbers */
    assert_int_equal(tn_arrays_open_numbers(path, &arrays, NULL), TN_OK);
    assert_int_equal(tn_arrays_info(arrays, 0)->elements, 4);
    assert_int_equal(tn_arrays_read_integers(arrays, 0, values, NULL), TN_OK);
    assert_memory_equal(values, expected, sizeof values);
    tn_arrays_close(arrays);
}

static void played_arrays(void **state) {
    (void)state;
    static const char x[] = "docs/examples/x.npy", w[] = "docs/examples/weights.npy",
                      dy[] = "docs/examples/dy.npy";
    check_played("forward", x, w, 6, 0, (const int64_t[]){2, 7, 10, 17});
    check_played("input-gradient", dy, w, 4, 8, (const int64_t[]){18, 4, 8, 2});
    check_played("weight-gradient", x, dy, 6, 8, (const int64_t[]){8, 14, 14, 20});
}

/* What is wrong with a question to play, and what would be right. */
static void refused_plays(void **state) {
    (void)state;
    static const struct {
        const char *options, *said;
    } bad[] = {
        {"--dataflow os_serial --execute $W $W", "-o C.npy"},
        {"--dataflow os_serial --execute $W -o $C", "give the second"},
        {"--dataflow os_serial --execute $W $W -o $C --m 2", "leave them out"},
        {"--dataflow os_serial --execute $W $W -o $C --batch b.csv", "leave out --execute"},
        {"--dataflow os_serial --execute $W $W -o $C --pass backward", "weight-gradient"},
        {"--dataflow os_seril --execute $W $W -o $C", "did you mean os_serial"},
        {"--dataflow scalesim_ws --execute $W $W -o $C", "ws_double_buffered"},
        {"--execute $W $W -o $C", "--dataflow"},
        {"--dataflow os_serial --execute $W $SMOOTH -o $C", "as many rows here as"},
        {"--dataflow os_serial --execute $W $C -o $C", "can't be opened"},
        {"--dataflow os_serial --execute $W $REAL -o $C", "both as integers or both in floating point"},
        {"--dataflow os_serial --m 2 --k 2 --n 2 -o $C", "-o belongs to --execute"},
        {"--dataflow os_serial --m 2 --k 2 --n 2 --pass forward", "--pass belongs to --execute"},
        {"--dataflow os_serial --m 2 --k 2 --n 2 $W", "belongs to --execute"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char command[4096], examples[1024];
        snprintf(examples, sizeof examples, "%s", test_source("docs/examples"));
        snprintf(command, sizeof command,
                 "W=%s/weights.npy SMOOTH=%s/w.npy C=%s-none REAL=%s; LC_ALL=C sed 's/<i8/<f8/' $W >$REAL; "
                 "\"$TENFOLD\" hardware array --rows 2 --cols 2 %s",
                 examples, examples, path, path, bad[i].options);
        test_run run = test_shell(command);
        if (run.status != 2 || !strstr(run.err, bad[i].said))
            fail_msg("%s: status %d, %s", bad[i].options, run.status, run.err);
        test_run_free(&run);
    }
}

/* Rows of banks, squares of banks with a form each, and one wide word without a skew. */
static void layouts(void **state) {
    (void)state;
    json_t *j = test_program_json(0, "hardware", "layout", "--dims", "12x14x48", "--word", "1x1x4", "--banks",
                                  "4", "--skew", "0x1x1", "--block", "1x4x4", "--json", NULL);
    assert_int_equal(count(j, "words"), 2016);
    assert_int_equal(count(j, "padded_elements"), 8064);
    assert_int_equal(count(j, "depth"), 504);
    assert_int_equal(count(j, "issues"), 576);
    json_decref(j);
    static const char rows[] = "dims,word,banks,skew,block\n"
                               "12x14x48,1x1x4,1,0x0x0,1x4x4\n"
                               "12x14x48,1x1x1,4x4,\"1x0x1,0x1x0\",1x4x4\n";
    assert_int_equal(tn_file_write(path, rows, strlen(rows), NULL), TN_OK);
    test_run run = test_program("hardware", "layout", "--batch", path, NULL);
    assert_int_equal(run.status, 0);
    assert_string_equal(run.out, "dims,word,banks,skew,block,words,padded_elements,depth,issues\n"
                                 "12x14x48,1x1x4,1,0x0x0,1x4x4,2016,8064,2016,2016\n"
                                 "12x14x48,1x1x1,4x4,\"1x0x1,0x1x0\",1x4x4,8064,8064,576,576\n");
    test_run_free(&run);
}

/* The ATIS layer on 4 x 4 x 4: every issue finds its blocks in one wide word. */
static void layers(void **state) {
    (void)state;
    json_t *j = test_program_json(0, "hardware", "layer", "--layer", "tt:m=12x8x8,n=8x8x12,rank=12,tokens=32",
                                  "--flow", "bidirectional", "--json", NULL);
    assert_int_equal(count(j, "products"), 18);
    assert_int_equal(count(j, "ideal_issues"), 39312);
    assert_int_equal(count(j, "issues"), 39312);
    json_decref(j);
    j = test_program_json(0, "hardware", "layer", "--layer", "tt:m=4x4,n=4x4,rank=4,tokens=4", "--banking",
                          "skew", "--json", NULL);
    assert_true(json_is_true(json_object_get(j, "exact")));
    assert_int_equal(count(j, "cycles"), count(j, "bound_cycles"));
    json_decref(j);
}

/* An illegal interval is an answer. */
static void dot_says_what_is_legal(void **state) {
    (void)state;
    json_t *j =
        test_program_json(0, "hardware", "dot", "--parallel", "4", "--mul-latency", "3", "--add-latency", "6",
                          "--ii", "1", "--m", "3", "--k", "16", "--n", "5", "--json", NULL);
    assert_int_equal(count(j, "cycles"), 80);
    assert_true(json_is_false(json_object_get(j, "legal")));
    assert_int_equal(count(j, "least_ii"), 2);
    json_decref(j);
    j = test_program_json(0, "hardware", "dot", "--parallel", "4", "--mul-latency", "3", "--add-latency", "6",
                          "--ii", "2", "--m", "3", "--k", "16", "--n", "5", "--json", NULL);
    assert_true(json_is_true(json_object_get(j, "legal")));
    json_decref(j);
    j = test_program_json(0, "hardware", "dot", "--parallel", "4", "--mul-latency", "3", "--add-latency", "6",
                          "--ii", "2", "--m", "3", "--k", "16", "--n", "5", "--order", "ijk", "--json", NULL);
    assert_true(json_is_false(json_object_get(j, "legal")));
    json_decref(j);
}

/* A kernel twice as parallel has twice the multipliers and takes about half the cycles. */
static void kernels(void **state) {
    (void)state;
    json_t *j = test_program_json(0, "hardware", "kernel", "--kind", "matmul", "--m", "32", "--k", "96",
                                  "--n", "96", "--columns", "4", "--json", NULL);
    json_int_t cycles = count(j, "cycles"), dsp = count(j, "dsp");
    json_decref(j);
    j = test_program_json(0, "hardware", "kernel", "--kind", "matmul", "--m", "32", "--k", "96", "--n", "96",
                          "--columns", "8", "--json", NULL);
    assert_int_equal(count(j, "dsp"), 2 * dsp);
    assert_non_null(strstr(json_string_value(json_object_get(j, "unverified")), "fp32-add-5ns"));
    assert_true(fabs((double)cycles / (double)count(j, "cycles") - 2) < 0.05);
    json_decref(j);
    static const char *const kinds[] = {"softmax",   "layernorm", "gelu",       "tanh",
                                        "embedding", "update",    "update-adam"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        j = test_program_json(0, "hardware", "kernel", "--kind", kinds[i], "--m", "32", "--n", "768",
                              "--lanes", "4", "--json", NULL);
        /* At least one pass over the elements, four a cycle; both operands' memories. */
        assert_true(count(j, "cycles") >= 32 * 768 / 4);
        assert_true(count(j, "bram18") >= 2 * 32 * 768 * 32 / 18432);
        json_decref(j);
    }
}

static void expect_refusal(const char *arguments, const char *message) {
    char command[512];
    snprintf(command, sizeof command, "\"$TENFOLD\" hardware %s", arguments);
    test_run run = test_shell(command);
    if (run.status != 2 || !strstr(run.err, message))
        print_error("%s: %d %s\n", arguments, run.status, run.err);
    assert_int_equal(run.status, 2);
    assert_string_equal(run.out, "");
    assert_non_null(strstr(run.err, message));
    test_run_free(&run);
}

static void bad_usage(void **state) {
    (void)state;
    expect_refusal("", "which question");
    expect_refusal("memry --width 3", "memory");
    expect_refusal("memory --width 3", "--depth");
    expect_refusal("memory --width 3 --depth 0", "depth 0");
    expect_refusal("memory --width 3 --depth -1", "depth");
    expect_refusal("memory --width 3 --depth 99999999999999999999", "64 bits");
    expect_refusal("memory --width 3 --depth 4 --style blok", "block");
    expect_refusal("memory --width 18446744073709551615 --depth 18446744073709551615 --style block",
                   "64 bits");
    expect_refusal("array --dataflow ws_seral --rows 1 --cols 1 --m 1 --k 1 --n 1", "ws_serial");
    expect_refusal("array --dataflow ws_serial --rows 0 --cols 1 --m 1 --k 1 --n 1", "rows = 0");
    expect_refusal("layer --layer tt:m=4x4,n=4x4,rank=4,tokens=4 --rows 0", "1 to 1024");
    expect_refusal("layer --layer tt:m=4x4,n=4x4,rnk=4,tokens=4", "rank");
    expect_refusal("layout --dims 4x4 --word 1x1", "--block");
    expect_refusal("layout --dims 4x4 --word 1x1 --banks 2 --block 1x1", "skew");
    expect_refusal("layout --dims 4x4 --word 1 --block 1x1", "word has 1 sizes and dims 2");
    expect_refusal("multiply --a 0 --b 3", "1 to");
    expect_refusal("multiply --a 3 --b 3 --set clock_MHz=3", "--device");
    expect_refusal("multiply --a 3 --b 3 --device h200", "roofline");
    expect_refusal("kernel --kind tanh --m 3 --n 3 --k 5", "no k");
    expect_refusal("kernel --kind matmul --m 3 --n 3 --rows 5000", "1 to 1024");
    expect_refusal("memory --batch /nonexistent.csv", "nonexistent");
}

static void write_text(const char *text) {
    assert_int_equal(tn_file_write(path, text, strlen(text), NULL), TN_OK);
}

static void batch_prints_its_rows_with_answers(void **state) {
    (void)state;
    char command[256];
    write_text("name,width,depth,style\nfirst,32,512,block\n\"a, b\",72,4097,ultra\n");
    snprintf(command, sizeof command, "\"$TENFOLD\" hardware memory --batch %s", path);
    test_run run = test_shell(command);
    assert_int_equal(run.status, 0);
    assert_string_equal(run.out, "name,width,depth,style,bram18,bram36,uram,lutram\n"
                                 "first,32,512,block,1,0,0,0\n"
                                 "\"a, b\",72,4097,ultra,0,0,2,0\n");
    test_run_free(&run);
    json_t *j = test_program_json(0, "hardware", "memory", "--json", "--batch", path, NULL);
    const json_t *rows = json_object_get(j, "rows"), *second = json_array_get(rows, 1);
    assert_int_equal(json_array_size(rows), 2);
    assert_string_equal(json_string_value(json_object_get(second, "name")), "a, b");
    assert_int_equal(count(second, "uram"), 2);
    json_decref(j);
    /* What no column says is taken from the options; underscores may stand for dashes. */
    write_text("parallel,mul_latency,ii,m,k,n\n4,3,6,3,16,5\n16,3,6,3,16,5\n");
    snprintf(command, sizeof command, "\"$TENFOLD\" hardware dot --add-latency 6 --batch %s", path);
    run = test_shell(command);
    assert_string_equal(run.out, "parallel,mul_latency,ii,m,k,n,cycles,legal,least_ii\n"
                                 "4,3,6,3,16,5,375,true,2\n16,3,6,3,16,5,117,true,1\n");
    test_run_free(&run);
}

static void bad_batches(void **state) {
    (void)state;
    static const struct {
        const char *text, *place, *message;
    } cases[] = {
        {"width,dept\n32,512\n", ":1:7:", "depth"},
        {"width\n32\n", ":1:", "depth"},
        {"width,depth\n32,x\n", ":2:4:", "whole number"},
        {"width,depth\n32,5\n32,0\n", ":3:", "depth 0"},
        {"width,depth,bram18\n32,5,1\n", ":1:13:", "rename"},
        {"width,depth,style\n32,5,blok\n", ":2:6:", "block"},
        {"width,depth\n32,5,7\n", ":2:", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_text(cases[i].text);
        test_run run = test_program("hardware", "memory", "--batch", path, NULL);
        if (run.status != 2 || !strstr(run.err, cases[i].place) || !strstr(run.err, cases[i].message))
            fail_msg("case %zu: %d %s", i, run.status, run.err);
        assert_string_equal(run.out, "");
        test_run_free(&run);
    }
    write_text("width,depth\n32,5\n");
    test_run run = test_program("hardware", "memory", "--width", "3", "--batch", path, NULL);
    assert_int_equal(run.status, 2);
    assert_non_null(strstr(run.err, "twice"));
    test_run_free(&run);
}

static void every_question_has_help(void **state) {
    (void)state;
    static const char *const questions[] = {"memory",   "layout", "multiply", "array",
                                            "training", "dot",    "loop",     "kernel"};
    test_run run = test_program("help", "hardware", NULL);
    assert_int_equal(run.status, 0);
    for (size_t i = 0; i < sizeof questions / sizeof *questions; i++) {
        assert_non_null(strstr(run.out, questions[i]));
        test_run own = test_program("hardware", questions[i], "--help", NULL);
        assert_int_equal(own.status, 0);
        assert_non_null(strstr(own.out, "--batch FILE.csv"));
        test_run_free(&own);
    }
    test_run_free(&run);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_question_each),
        cmocka_unit_test(played_arrays),
        cmocka_unit_test(refused_plays),
        cmocka_unit_test(layouts),
        cmocka_unit_test(layers),
        cmocka_unit_test(dot_says_what_is_legal),
        cmocka_unit_test(kernels),
        cmocka_unit_test(bad_usage),
        cmocka_unit_test(batch_prints_its_rows_with_answers),
        cmocka_unit_test(bad_batches),
        cmocka_unit_test(every_question_has_help),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
