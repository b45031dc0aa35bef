/* What is known before anybody believes a price: on the first page of cost, recommend and report whether hardware is generated
 * of the design and whose operators are priced; and, where a clock is too fast, all rows that are missing. */
#include "support/program.h"
#include "support/shared.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const char model[] = "tests/rtl/data/fused.yaml";

static const char *text_of(const json_t *object, const char *key) {
    const char *text = json_string_value(json_object_get(object, key));
    if (!text) fail_msg("no %s", key);
    return text;
}

/* The text behind the label of the page, its folded lines joined. */
static void find_line(const char *page, const char *label, char *out, size_t room) {
    const char *line = strstr(page, label);
    if (!line) fail_msg("no line %s in %s", label, page);
    size_t length = 0;
    line += strlen(label);
    line += strspn(line, " ");
    for (; *line && length + 1 < room; line++) {
        if (*line == '\n' && line[1] != ' ') break;
        if (*line == '\n') line += strspn(line + 1, " ");
        out[length++] = *line == '\n' ? ' ' : *line;
    }
    out[length] = '\0';
}

/* A design, the key that prevents its hardware (NULL: it is built), the set that its price rests on. */
static const struct {
    const char *sets, *key, *operators;
} designs[] = {
    {"", NULL, "generated"},
    {"--set operator_set=hls", NULL, "hls"},
    {"--set build.sharing=per-phase", "build.sharing", "generated"},
    {"--set build.rows=3", "build.rows", "generated"},
    {"--set precision=fp16 --set operator_set=hls", "precision", "hls"},
    {"--set precision=int8", "precision",
     "mixed"}, /* products of high-level synthesis, special functions generated */
};

static void test_cost(void **state) {
    (void)state;
    char command[1024], line[256], wanted[96];
    for (size_t i = 0; i < sizeof designs / sizeof *designs; i++) {
        const char *key = designs[i].key;
        snprintf(command, sizeof command, "\"$TENFOLD\" cost '%s' --json %s", test_source(model),
                 designs[i].sets);
        json_t *answer = test_shell_json(command);
        assert_string_equal(text_of(answer, "rtl"), key ? key : "yes");
        assert_string_equal(text_of(answer, "operator_set"), designs[i].operators);
        json_decref(answer);
        snprintf(command, sizeof command, "'%s' cost '%s' %s", TEST_PROGRAM, test_source(model),
                 designs[i].sets);
        test_run page = test_shell(command);
        find_line(page.out, "hardware ", line, sizeof line);
        snprintf(wanted, sizeof wanted, key ? "rtl no, for key %s;" : "rtl yes;", key);
        const bool mixed = strcmp(designs[i].operators, "mixed") == 0;
        if (!strstr(line, wanted) || !strstr(line, mixed ? "some generated, some hls" : designs[i].operators))
            fail_msg("%s: '%s'", designs[i].sets, line);
        /* Before the figures that it is about. */
        assert_true(strstr(page.out, "hardware ") < strstr(page.out, "latency "));
        test_run_free(&page);
    }
}

/* Spaces of one edge each, one of which is built: the advice of recommend and the page of report say it of the design that they
 * are about. */
static void test_recommend(void **state) {
    (void)state;
    static const struct {
        const char *rows, *says;
    } spaces[] = {{"[2, 4]", "rtl yes; operators: generated"},
                  {"[3, 5]", "rtl no, for key build.rows; operators: generated"}};
    char command[2048], line[256];
    for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++) {
        FILE *file = fopen("first-page.yaml", "w");
        assert_non_null(file);
        fprintf(file,
                "kind: space\nname: first\nmodel: %s\ndevice: u50@user-area\nchoices:\n  build.rows: %s\n"
                "objectives: [seconds_per_step, dsp]\n",
                test_source(model), spaces[i].rows);
        fclose(file);
        snprintf(command, sizeof command,
                 "rm -rf first-page; '%s' sweep first-page.yaml -o first-page --quiet", TEST_PROGRAM);
        test_run run = test_shell(command);
        if (run.status != 0) fail_msg("%s", run.err);
        test_run_free(&run);
        run = test_program("recommend", "first-page", NULL);
        find_line(run.out, "hardware ", line, sizeof line);
        if (!strstr(line, spaces[i].says)) fail_msg("recommend: '%s'", line);
        assert_true(strstr(run.out, "hardware ") < strstr(run.out, "latency "));
        test_run_free(&run);
        run = test_program("recommend", "first-page", "--full", NULL);
        find_line(run.out, "  hardware ", line, sizeof line);
        if (!strstr(line, spaces[i].says)) fail_msg("recommend --full: '%s'", line);
        test_run_free(&run);
        json_t *answer = test_program_json(0, "recommend", "first-page", "--json", NULL);
        assert_string_equal(text_of(answer, "operator_set"), "generated");
        json_decref(answer);
        /* The page's advice, first of all; what it says of each design is front.csv's column. */
        run = test_program("report", "first-page", "-o", "first-page/page.html", NULL);
        assert_int_equal(run.status, 0);
        test_run_free(&run);
        snprintf(command, sizeof command,
                 "grep -q '\"advice\":.*nhardware.*%s.*nlatency' first-page/page.html", spaces[i].says);
        run = test_shell(command);
        if (run.status != 0) fail_msg("report: no '%s'", spaces[i].says);
        test_run_free(&run);
    }
}

/* Rows that a clock is too fast for are told at once: a device that has rows for all that are named but one wants that one. */
static void test_missing_rows(void **state) {
    (void)state;
    static const char *const rows[] = {"multiply",    "add",       "compare",    "divide",
                                       "exponential", "logarithm", "square-root"};
    static const char *const precisions[] = {"fp32", "fp16", "int8"};
    enum { ROWS = sizeof rows / sizeof *rows, KNOWN = 2 /* of int8: its products and sums */ };
    for (size_t p = 0; p < sizeof precisions / sizeof *precisions; p++) {
        for (int clock_MHz = 250; clock_MHz <= 300; clock_MHz += 50) {
            char command[2048], sets[1536] = "", name[64];
            const bool integer = strcmp(precisions[p], "int8") == 0;
            snprintf(command, sizeof command, "'%s' cost '%s' --set precision=%s --set clock_MHz=%d",
                     TEST_PROGRAM, test_source(model), precisions[p], clock_MHz);
            test_run run = test_shell(command);
            assert_int_equal(run.status, 2);
            for (size_t i = 0; i < ROWS; i++) {
                const char *of = integer && i >= KNOWN ? "fp32" : precisions[p];
                snprintf(name, sizeof name, "%s %s (", of, rows[i]);
                if (!strstr(run.err, name)) fail_msg("%d MHz: no %s in '%s'", clock_MHz, name, run.err);
                if (i + 1 < ROWS)
                    snprintf(sets + strlen(sets), sizeof sets - strlen(sets),
                             " --set operators.%s-%s-5ns.period_ns=3.3", of, rows[i]);
            }
            assert_non_null(strstr(run.err, "for 7 operators;"));
            test_run_free(&run);
            char longer[4096];
            snprintf(longer, sizeof longer, "%s%s", command, sets);
            run = test_shell(longer);
            assert_int_equal(run.status, 2);
            if (!strstr(run.err, "for 1 operator;") || !strstr(run.err, name))
                fail_msg("%d MHz: not %s alone in '%s'", clock_MHz, name, run.err);
            test_run_free(&run);
        }
    }
    /* Hardware of a layer alone asks for the same rows. */
    test_run run = test_program("rtl", test_source("tests/cli/data/small-layer.yaml"), "--layer", "head",
                                "-o", "first-page", "--set", "clock_MHz=250", NULL);
    assert_int_equal(run.status, 2);
    assert_non_null(strstr(run.err, "fp32 multiply ("));
    assert_non_null(strstr(run.err, "fp32 add ("));
    test_run_free(&run);
}

static int tear_down(void **state) {
    (void)state;
    test_run run = test_shell("rm -rf first-page first-page.yaml");
    test_run_free(&run);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_cost), cmocka_unit_test(test_recommend),
                                       cmocka_unit_test(test_missing_rows)};
    return cmocka_run_group_tests(tests, NULL, tear_down);
}
