#include "support/program.h"

#include "support/folder.h"
#include "support/shared.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_ARGUMENTS = 64 };

static char *slurp(FILE *stream) {
    size_t length = 0, capacity = 1 << 16;
    char *text = malloc(capacity);
    assert_non_null(text);
    rewind(stream);
    for (size_t got; (got = fread(text + length, 1, capacity - length - 1, stream)) > 0;) {
        length += got;
        if (capacity - length < 2) {
            capacity *= 2;
            text = realloc(text, capacity);
            assert_non_null(text);
        }
    }
    text[length] = '\0';
    fclose(stream);
    return text;
}

static test_run run(char *const *arguments) {
    FILE *out = tmpfile(), *err = tmpfile();
    assert_true(out && err);
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (!freopen("/dev/null", "r", stdin)) _exit(127);
        dup2(fileno(out), STDOUT_FILENO);
        dup2(fileno(err), STDERR_FILENO);
        execv(arguments[0], arguments);
        _exit(127);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return (test_run){
        .status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
        .out = slurp(out),
        .err = slurp(err),
    };
}

static void collect(char **arguments, const char *first, va_list rest) {
    size_t count = 0;
    arguments[count++] = (char *)TEST_PROGRAM;
    for (const char *argument = first; argument; argument = va_arg(rest, const char *)) {
        assert_true(count + 1 < MOST_ARGUMENTS);
        arguments[count++] = (char *)argument;
    }
    arguments[count] = NULL;
}

test_run test_program(const char *first, ...) {
    char *arguments[MOST_ARGUMENTS];
    va_list rest;
    va_start(rest, first);
    collect(arguments, first, rest);
    va_end(rest);
    return run(arguments);
}

json_t *test_program_json(int status, const char *first, ...) {
    char *arguments[MOST_ARGUMENTS];
    va_list rest;
    va_start(rest, first);
    collect(arguments, first, rest);
    va_end(rest);
    test_run result = run(arguments);
    if (result.status != status) print_error("exit status %d\n%s%s", result.status, result.out, result.err);
    assert_int_equal(result.status, status);
    json_error_t problem;
    json_t *json = json_loads(result.out, 0, &problem);
    if (!json) print_error("not JSON: %s\n%s", problem.text, result.out);
    assert_non_null(json);
    test_run_free(&result);
    return json;
}

test_run test_shell(const char *command) {
    setenv("TENFOLD", TEST_PROGRAM, 1);
    char *const arguments[] = {(char *)"/bin/sh", (char *)"-c", (char *)command, NULL};
    return run(arguments);
}

static test_run shell_in_folder(const char *command) {
    char text[4096];
    int length = snprintf(text, sizeof text, "cd %s && { %s; }", test_in_folder(""), command);
    assert_true(length > 0 && (size_t)length < sizeof text);
    return test_shell(text);
}

void test_expect(int status, const char *command, const char *in_out, const char *in_err) {
    test_run result = shell_in_folder(command);
    if (result.status != status) fail_msg("%s: %d: %s", command, result.status, result.err);
    if (*in_out && !strstr(result.out, in_out)) fail_msg("%s: %s is not in %s", command, in_out, result.out);
    if (*in_err && !strstr(result.err, in_err)) fail_msg("%s: %s is not in %s", command, in_err, result.err);
    test_run_free(&result);
}

json_t *test_shell_json(const char *command) {
    json_error_t where;
    test_run result = shell_in_folder(command);
    if (result.status != 0) fail_msg("%s: %d: %s", command, result.status, result.err);
    json_t *json = json_loads(result.out, 0, &where);
    if (!json) fail_msg("%s: %s", command, where.text);
    test_run_free(&result);
    return json;
}

void test_generate(const char *model, const char *options, const char *folder) {
    char command[1024];
    snprintf(command, sizeof command, "'%s' rtl '%s' -o '%s' --update %s", TEST_PROGRAM, test_source(model),
             folder, options);
    test_run run = test_shell(command);
    if (run.status != 0) fail_msg("%s: %s%s", command, run.out, run.err);
    test_run_free(&run);
}

void test_need(const char *tool) {
    char command[64];
    snprintf(command, sizeof command, "command -v %s", tool);
    test_run found = test_shell(command);
    bool absent = found.status != 0;
    test_run_free(&found);
    if (!absent) return;
    print_message("SKIPPED: %s is absent\n", tool);
    skip();
}

void test_run_free(test_run *result) {
    free(result->out);
    free(result->err);
    *result = (test_run){0};
}
