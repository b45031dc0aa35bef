/* What every command has in common: help, man page, refusal of what it does not know, NO_COLOR, exit
 * statuses. */
#include "support/program.h"
#include "support/shared.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MOST_COMMANDS = 32 };
static char commands[MOST_COMMANDS][32];
static size_t count;

/* The names behind "commands:" in `tenfold help`, but help itself. */
static int list_commands(void **state) {
    (void)state;
    test_run help = test_program("help", NULL);
    char *line = strstr(help.out, "commands:\n");
    assert_non_null(line);
    for (line = strtok(line, "\n"); (line = strtok(NULL, "\n")) && line[0] == ' ' && count < MOST_COMMANDS;)
        if (sscanf(line, "%31s", commands[count]) == 1 && strcmp(commands[count], "help") != 0) count++;
    test_run_free(&help);
    assert_true(count >= 6);
    return 0;
}

static void each_command_explains_itself(void **state) {
    (void)state;
    test_run all = test_program("help", NULL);
    assert_non_null(strstr(all.out, "TENFOLD_PATH"));
    if (access(test_source("docs/man/tenfold.1"), R_OK) != 0) fail_msg("docs/man/tenfold.1 is missing");
    test_run_free(&all);
    for (size_t i = 0; i < count; i++) {
        const char *name = commands[i];
        char page[1100];
        test_run help = test_program("help", name, NULL), option = test_program(name, "--help", NULL);
        assert_int_equal(help.status, 0);
        assert_int_equal(option.status, 0);
        assert_string_equal(help.out, option.out);
        assert_non_null(strstr(help.out, "usage: tenfold"));
        assert_string_equal(help.err, "");
        snprintf(page, sizeof page, "docs/man/tenfold-%s.1", name);
        if (access(test_source(page), R_OK) != 0) fail_msg("%s is missing", page);
        test_run_free(&help);
        test_run_free(&option);
    }
}

/* One line on standard error that holds `words`, nothing on standard output, exit status 2. */
static void refused(test_run run, const char *words) {
    if (run.status != 2 || !strstr(run.err, words)) print_error("exit %d: %s", run.status, run.err);
    assert_int_equal(run.status, 2);
    assert_non_null(strstr(run.err, words));
    assert_int_equal(strncmp(run.err, "tenfold: ", 9), 0);
    assert_ptr_equal(strchr(run.err, '\n'), run.err + strlen(run.err) - 1);
    assert_string_equal(run.out, "");
    test_run_free(&run);
}

static void each_command_refuses_unknown_options(void **state) {
    (void)state;
    for (size_t i = 0; i < count; i++) refused(test_program(commands[i], "--jsn", NULL), "--jsn");
}

static void names_are_suggested(void **state) {
    (void)state;
    refused(test_program("swep", NULL), "sweep");
    refused(test_program("list", "flow", NULL), "flows");
    refused(test_program("sweep", "atis-2enc-u5", "--dry-run", NULL), "atis-2enc-u50");
    refused(test_program("list", NULL), "too few arguments");
    refused(test_program("list", "flows", "formats", NULL), "unexpected argument 'formats'");
    refused(test_program("sweep", "atis-2enc-u50", "--threads", NULL), "needs its");
    refused(test_program("sweep", "atis-2enc-u50", "--threads", "two", NULL), "whole number");
    refused(test_program("sweep", "atis-2enc-u50", "--seed", "1", "--seed", "2", NULL), "twice");
    refused(test_program("sweep", "atis-2enc-u50", "--resume=yes", NULL), "takes no value");
}

static void version_and_usage(void **state) {
    (void)state;
    test_run version = test_program("--version", NULL), nothing = test_shell("exec $TENFOLD");
    assert_int_equal(version.status, 0);
    assert_int_equal(strncmp(version.out, "tenfold ", 8), 0);
    assert_int_equal(nothing.status, 2);
    assert_string_equal(nothing.out, "");
    test_run_free(&version);
    test_run_free(&nothing);
}

static void lists(void **state) {
    static const char *const what[][2] = {{"models", "atis-2enc"},
                                          {"devices", "u50"},
                                          {"spaces", "atis-2enc-u50"},
                                          {"flows", "optimal"},
                                          {"formats", "tt"}};
    (void)state;
    for (size_t i = 0; i < sizeof what / sizeof *what; i++) {
        json_t *json = test_program_json(0, "list", what[i][0], "--json", NULL), *name;
        bool found = false;
        size_t at;
        json_array_foreach(json_object_get(json, what[i][0]), at, name) {
            found |= strcmp(json_string_value(name), what[i][1]) == 0;
        }
        assert_true(found);
        json_decref(json);
    }
}

static void names_come_from_tenfold_path_first(void **state) {
    (void)state;
    test_run run =
        test_shell("d=$(mktemp -d); mkdir -p $d/spaces; echo 'kind: nothing' >$d/spaces/mine.yaml; "
                   "TENFOLD_PATH=$d $TENFOLD list spaces | grep -qx mine && "
                   "TENFOLD_PATH=/nowhere:$d $TENFOLD sweep mine --dry-run; s=$?; rm -r $d; exit $s");
    assert_int_equal(run.status, 2);
    assert_non_null(strstr(run.err, "mine.yaml:1:7: "));
    test_run_free(&run);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_command_explains_itself),
        cmocka_unit_test(each_command_refuses_unknown_options),
        cmocka_unit_test(names_are_suggested),
        cmocka_unit_test(version_and_usage),
        cmocka_unit_test(lists),
        cmocka_unit_test(names_come_from_tenfold_path_first),
    };
    return cmocka_run_group_tests(tests, list_commands, NULL);
}
