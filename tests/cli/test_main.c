/* What every command has in common: help, man page, refusal of what it does not know, NO_COLOR, exit
 * statuses. */
#include "base/file.h"
#include "base/memory.h"
#include "support/program.h"
#include "support/shared.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
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
        if (strncmp(line, "    ", 4) == 0 && sscanf(line, "%31s", commands[count]) == 1 &&
            strcmp(commands[count], "help") != 0)
            count++;
    test_run_free(&help);
    assert_true(count >= 6);
    return 0;
}

static void each_command_explains_itself(void **state) {
    (void)state;
    test_run all = test_program("help", NULL);
    assert_non_null(strstr(all.out, "TENFOLD_PATH"));
    if (access(test_source("docs/man/man1/tenfold.1"), R_OK) != 0)
        fail_msg("docs/man/man1/tenfold.1 is missing");
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
        snprintf(page, sizeof page, "docs/man/man1/tenfold-%s.1", name);
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

/* Every key that --set takes, every quantity, flow and format is explained; what is not known is suggested. */
static void help_explains_words(void **state) {
    static const char *const lists[] = {"keys", "quantities", "flows", "formats"};
    (void)state;
    for (size_t l = 0; l < sizeof lists / sizeof *lists; l++) {
        json_t *told = test_program_json(0, "list", lists[l], "--json", NULL);
        const json_t *names = json_object_get(told, lists[l]);
        assert_true(json_array_size(names) > 5);
        size_t step = json_array_size(names) > 60 ? 7 : 1; /* some of each kind; each is a run */
        for (size_t i = 0; i < json_array_size(names); i += step) {
            const char *name = json_string_value(json_array_get(names, i));
            test_run run = test_program("help", name, NULL);
            if (run.status != 0 || strlen(run.out) < strlen(name) + 10)
                fail_msg("help %s: %s", name, run.out);
            test_run_free(&run);
        }
        json_decref(told);
    }
    test_run rows = test_program("help", "build.rows", NULL), knee = test_program("help", "knee", NULL);
    assert_non_null(strstr(rows.out, "from 1 to 1024"));
    assert_non_null(strstr(knee.out, "nearest to the best"));
    test_run_free(&rows);
    test_run_free(&knee);
    refused(test_program("help", "build.rovs", NULL), "build.rows");
}

static void version_and_usage(void **state) {
    (void)state;
    test_run version = test_program("--version", NULL), nothing = test_shell("exec $TENFOLD");
    assert_int_equal(version.status, 0);
    assert_int_equal(strncmp(version.out, "tenfold ", 8), 0);
    assert_int_equal(nothing.status, 2);
    assert_string_equal(nothing.out, "");
    assert_non_null(strstr(nothing.err, "many designs:"));
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
        size_t index;
        json_array_foreach(json_object_get(json, what[i][0]), index, name) {
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

enum { OPTIONS = 128 };

/* Options that a help text names: "  --name" at the beginning of a line. */
static size_t options_of(const char *text, char option[][40], size_t known) {
    for (const char *cursor = text; cursor && *cursor;
         cursor = strchr(cursor, '\n') ? strchr(cursor, '\n') + 1 : NULL) {
        if (strncmp(cursor, "  -", 3) != 0) continue;
        const char *name = cursor + 2;
        size_t length = 0;
        for (; (isalnum((unsigned char)*name) || *name == '-') && length < 39; name++)
            option[known][length++] = *name;
        option[known][length] = '\0';
        if (length > 1 && known < OPTIONS - 1) known++;
    }
    return known;
}

/* The options of a command and its parts, as help has them. */
static size_t options_told(const char *name, char option[][40]) {
    test_run help = test_program("help", name, NULL);
    size_t known = options_of(help.out, option, 0);
    const char *part = strstr(help.out, "SUBCOMMAND --help");
    for (part = part ? strchr(part, '\n') : NULL; part && part[1]; part = strchr(part + 1, '\n')) {
        char word[32] = "";
        if (sscanf(part + 1, " %31s", word) != 1) break;
        test_run own = test_program(name, word, "--help", NULL);
        known = options_of(own.out, option, known);
        test_run_free(&own);
    }
    test_run_free(&help);
    return known;
}

/* The page that the build made; tests run in its folder. */
static char *built_page(const char *name) {
    char path[64], *text;
    size_t length;
    snprintf(path, sizeof path, "man/tenfold-%.31s.1", name);
    assert_int_equal(tn_file_read(path, 1 << 20, &text, &length, NULL), TN_OK);
    return text;
}

/* Pages are made from the help: every option of a command and its parts is there, once for each of them, with what help
 * says of it, and what is written by hand can't speak of others. */
static void pages_have_the_options(void **state) {
    (void)state;
    static char told[OPTIONS][40];
    for (size_t i = 0; i < count; i++) {
        if (strcmp(commands[i], "merge") == 0) continue; /* the page of sweep */
        char *page = built_page(commands[i]);
        size_t tolds = options_told(commands[i], told);
        for (size_t k = 0; k < tolds; k++) {
            bool found = false;
            for (const char *cursor = page; !found && (cursor = strstr(cursor, "\n.B")); cursor += 3) {
                const char *name = told[k], *input = cursor + 3 + strspn(cursor + 3, "I \"");
                while (*name && (*input == *name || *input == '\\')) name += *input++ == *name;
                found = !*name && strchr("\"\n", *input);
            }
            if (!found) fail_msg("the page of tenfold %s lacks %s", commands[i], told[k]);
        }
        tn_free(page);
    }
    char *page = built_page("sweep");
    assert_non_null(strstr(page, "\n.TP\n.B \\-\\-keep\\-all\nkeep every feasible design in sweep.db"));
    tn_free(page);
}

/* docs/man/man1, which `man -M docs/man` reads, has the pages as the program makes them. */
static void pages_are_what_man_reads(void **state) {
    (void)state;
    const char *write = getenv("TENFOLD_WRITE_PAGES");
    size_t compared = 0;
    for (size_t i = 0; i < count; i++) {
        char command[4096], written[1100], path[1100], name[64];
        snprintf(name, sizeof name, "docs/man/written/tenfold-%.31s.1", commands[i]);
        snprintf(written, sizeof written, "%s", test_source(name));
        if (access(written, R_OK) != 0) continue; /* it sends to another's */
        snprintf(name, sizeof name, "docs/man/man1/tenfold-%.31s.1", commands[i]);
        snprintf(path, sizeof path, "%s", test_source(name));
        snprintf(command, sizeof command, "%s \"$TENFOLD\" %s %s", test_source("scripts/man-page"),
                 commands[i], written);
        test_run run = test_shell(command);
        assert_int_equal(run.status, 0);
        if (write) assert_int_equal(tn_file_write(path, run.out, strlen(run.out), NULL), TN_OK);
        char *page;
        size_t length;
        if (tn_file_read(path, 1 << 20, &page, &length, NULL) != TN_OK) fail_msg("%s is missing", path);
        if (strcmp(page, run.out) != 0)
            fail_msg("%s is not what the program says; TENFOLD_WRITE_PAGES=1 writes it anew", path);
        compared++;
        tn_free(page);
        test_run_free(&run);
    }
    assert_true(compared > 5);
}

static void pages_say_more_of_options_only(void **state) {
    (void)state;
    char command[512], path[] = "/tmp/tenfold-page-XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0);
    assert_true(dprintf(file, ".SH OPTIONS\n.\\\" of --nothing\nmore\n") > 0);
    close(file);
    snprintf(command, sizeof command, "%s \"$TENFOLD\" sweep %s", test_source("scripts/man-page"), path);
    test_run run = test_shell(command);
    unlink(path);
    assert_int_equal(run.status, 1);
    assert_non_null(strstr(run.err, "\"--nothing\", which tenfold sweep does not have"));
    test_run_free(&run);
}

/* Every option of every command is completed, and commands are. */
static void completions_have_the_options(void **state) {
    (void)state;
    static char told[OPTIONS][40];
    test_run zsh = test_program("completion", "zsh", NULL);
    assert_int_equal(zsh.status, 0);
    assert_int_equal(strncmp(zsh.out, "#compdef tenfold\n", 17), 0);
    test_run_free(&zsh);
    refused(test_program("completion", "fish", NULL), "bash");
    test_run first = test_shell("tenfold() { \"$TENFOLD\" \"$@\"; }; export TENFOLD; bash -c 'eval "
                                "\"$(\"$TENFOLD\" completion bash)\"; "
                                "COMP_WORDS=(tenfold sw) COMP_CWORD=1; _tenfold; echo \"${COMPREPLY[@]}\"'");
    assert_string_equal(first.out, "sweep\n");
    test_run_free(&first);
    for (size_t i = 0; i < count; i++) {
        char command[512];
        snprintf(
            command, sizeof command,
            "export TENFOLD; bash -c 'eval \"$(\"$TENFOLD\" completion bash)\"; COMP_WORDS=(tenfold %.31s "
            "-) COMP_CWORD=2; "
            "_tenfold; printf \"  %%s\\n\" \"${COMPREPLY[@]}\"'",
            commands[i]);
        test_run completed = test_shell(command), help = test_program("help", commands[i], NULL);
        size_t tolds = options_of(help.out, told, 0);
        for (size_t k = 0; k < tolds; k++) {
            char line[64];
            snprintf(line, sizeof line, "  %.39s\n", told[k]);
            if (!strstr(completed.out, line)) fail_msg("%s: %s is not completed", commands[i], told[k]);
        }
        test_run_free(&completed);
        test_run_free(&help);
    }
}

/* Where `there` says so it is found with a version; else it says how to get it. What it is for and what to do without always. */
static void check_finding(const json_t *finding, bool there, const char *version) {
    assert_int_equal(json_is_true(json_object_get(finding, "found")), there);
    if (there) assert_string_equal(json_string_value(json_object_get(finding, "version")), version);
    if (!there) assert_non_null(strstr(json_string_value(json_object_get(finding, "install")), " install "));
    assert_true(json_string_length(json_object_get(finding, "purpose")) > 0);
    assert_true(json_string_length(json_object_get(finding, "without")) > 0);
}

static void doctor_finds_what_is_there(void **state) {
    (void)state;
    test_run run = test_shell(
        "d=$(mktemp -d); printf '#!/bin/sh\\necho gnuplot 9.8 patch 7\\n' >$d/gnuplot; "
        "printf '#!/bin/sh\\ntest $1 = -c && echo numpy && echo pandas 7.6.5 && echo torch\\n' >$d/python3; "
        "chmod +x $d/gnuplot $d/python3; PATH=$d \"$TENFOLD\" doctor --json; s=$?; /bin/rm -r $d; exit $s");
    json_t *j = json_loads(run.out, 0, NULL), *finding;
    size_t index, found = 0;
    assert_int_equal(run.status, 0);
    assert_non_null(j);
    json_array_foreach(json_object_get(j, "programs"), index, finding) {
        const char *name = json_string_value(json_object_get(finding, "program"));
        if (strcmp(name, "python3") == 0) continue; /* there, and says no version */
        check_finding(finding, strcmp(name, "gnuplot") == 0, "9.8");
        found += json_is_true(json_object_get(finding, "found"));
    }
    assert_int_equal(found, 1);
    assert_true(index >= 6 && json_is_false(json_object_get(j, "ok")));
    json_array_foreach(json_object_get(j, "libraries"), index, finding) {
        const char *name = json_string_value(json_object_get(finding, "library"));
        if (strcmp(name, "protobuf-c") == 0) continue; /* as this was built */
        check_finding(finding, strcmp(name, "pandas") == 0, "7.6.5");
    }
    assert_int_equal(index, 4);
    json_decref(j);
    test_run_free(&run);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_command_explains_itself),
        cmocka_unit_test(pages_have_the_options),
        cmocka_unit_test(pages_are_what_man_reads),
        cmocka_unit_test(pages_say_more_of_options_only),
        cmocka_unit_test(completions_have_the_options),
        cmocka_unit_test(doctor_finds_what_is_there),
        cmocka_unit_test(each_command_refuses_unknown_options),
        cmocka_unit_test(names_are_suggested),
        cmocka_unit_test(version_and_usage),
        cmocka_unit_test(help_explains_words),
        cmocka_unit_test(lists),
        cmocka_unit_test(names_come_from_tenfold_path_first),
    };
    return cmocka_run_group_tests(tests, list_commands, NULL);
}
