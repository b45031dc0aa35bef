/* Runs the tenfold program as a user would and keeps what it printed. */
#ifndef TEST_SUPPORT_PROGRAM_H
#define TEST_SUPPORT_PROGRAM_H

#include <jansson.h>

typedef struct test_run {
    int status; /* exit status; 128 + signal if it was killed */
    char *out, *err;
} test_run;

/* Arguments after the program's name, ended by NULL; standard input is empty. Free with test_run_free. */
test_run test_program(const char *first, ...) __attribute__((sentinel));
/* As test_program; asserts exit status `status` and returns standard output parsed as JSON (decref it). */
json_t *test_program_json(int status, const char *first, ...) __attribute__((sentinel));
/* For shapes that need a shell (pipes, ulimit): "$TENFOLD" in `command` is the program. */
test_run test_shell(const char *command);
/* The same in the test's folder (support/folder.h): fails unless it ends with `status`, and what it prints has both texts; */
void test_expect(int status, const char *command, const char *in_out, const char *in_err);
/* unless it ends well and prints JSON (decref it). */
json_t *test_shell_json(const char *command);
/* Generates the whole step of a model of the source tree into a folder, with more options of `rtl`; fails unless it ends well. */
void test_generate(const char *model, const char *options, const char *folder);
/* How Verilator's models of single templates are compiled: all in one way, so that ccache keeps Verilator's own part. */
#define TEST_VERILATED "-MAKEFLAGS 'OPT_FAST=-O1 OPT_GLOBAL=-O1 OPT_SLOW=-O0'"
/* Skips the test, aloud, where a tool is absent. */
void test_need(const char *tool);
void test_run_free(test_run *run);

#endif
