/* The program on every file of tests/malformed: exit status 2, nothing on standard output, one line on
 * standard error that says what the file's expectation says. */
#include "support/malformed.h"
#include "support/program.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MOST_ARGUMENTS = 10 };

/* FILE stands for the file. */
typedef struct command {
    const char *kind, *argument[MOST_ARGUMENTS];
} command;

#define OUTPUT "/tmp/tenfold-malformed-must-not-exist"

static const command COMMANDS[] = {
    {"yaml", {"sweep", "FILE", "-o", OUTPUT}},
    {"yaml", {"cost", "FILE"}},
    {"yaml", {"order", "FILE"}},
    {"space", {"sweep", "FILE", "-o", OUTPUT}},
    {"model", {"cost", "FILE"}},
    {"model", {"validate", "FILE"}},
    {"device", {"cost", "atis-2enc", "--device", "FILE"}},
    {"device", {"hardware", "memory", "--device", "FILE", "--width", "8", "--depth", "100"}},
    {"csv", {"order", "--batch", "FILE"}},
    {"csv", {"finetune", "fit", "FILE"}},
    {"csv", {"ranks", "--table", "FILE", "--budget", "params=10"}},
    {"finetune", {"finetune", "fit", "FILE", "--json"}},
    {"language-model", {"finetune", "count", "FILE", "--sequence", "79"}},
    {"hls-report", {"list", "operators", "FILE"}},
    {"gpu-table", {"finetune", "max-batch", "dense-7b", "--sequence", "79", "--gpus", "FILE"}},
    {"network", {"order", "FILE"}},
    {"table", {"ranks", "--table", "FILE", "--budget", "params=1000"}},
    {"accuracy",
     {"ranks", "atis-2enc", "--weights", "absent.npz", "--budget", "params=1", "--accuracy", "FILE"}},
    {"csv", {"hardware", "memory", "--batch", "FILE"}},
    {"csv", {"roofline", "--device", "h200", "--batch", "FILE"}},
    {"npy", {"validate", "--case", "FILE"}},
    {"npy", {"ranks", "--matrix", "FILE", "--fold", "m=2,n=3", "--cap", "2"}},
    {"npz", {"validate", "--case", "FILE"}},
    {"npz", {"ranks", "--matrix", "FILE", "--fold", "m=2,n=3", "--cap", "2"}},
    {"safetensors", {"validate", "--case", "FILE"}},
    {"safetensors", {"ranks", "--matrix", "FILE", "--fold", "m=2,n=3", "--cap", "2"}},
};

typedef struct run {
    const command *command;
    int failed;
} run;

static bool is_one_line(const char *text) {
    const char *end = strchr(text, '\n');
    return end && end[1] == '\0' && strncmp(text, "tenfold: ", 9) == 0;
}

static void try_file(const test_malformed *file, void *user) {
    run *now = user;
    const char *a[MOST_ARGUMENTS];
    for (size_t i = 0; i < MOST_ARGUMENTS; i++) {
        a[i] = now->command->argument[i];
        if (a[i] && strcmp(a[i], "FILE") == 0) a[i] = file->path;
    }
    test_run got = test_program(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], NULL);
    bool good = got.status == 2 && got.out[0] == '\0' && is_one_line(got.err) &&
                strstr(got.err, file->path) && test_malformed_says(file, got.err);
    if (!good) {
        print_error("%s %s: exit status %d\n%s%s\n", a[0], file->path, got.status, got.out, got.err);
        now->failed++;
    }
    test_run_free(&got);
}

static void every_file(void **state) {
    (void)state;
    int failed = 0;
    for (size_t i = 0; i < sizeof COMMANDS / sizeof *COMMANDS; i++) {
        run now = {.command = &COMMANDS[i]};
        int files = test_malformed_each(COMMANDS[i].kind, try_file, &now);
        print_message("%-10s %-12s %3d files\n", COMMANDS[i].argument[0], COMMANDS[i].kind, files);
        failed += now.failed;
    }
    assert_int_equal(failed, 0);
    assert_int_not_equal(access(OUTPUT, F_OK), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_file)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
