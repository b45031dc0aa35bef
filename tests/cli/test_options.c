/* Options: what a command line becomes, what is refused and how, parts, help, memory that runs out. */
#include "cli/options.h"

#include "base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

typedef struct {
    tn_common common;
    bool fast;
    const char *name;
    uint64_t count;
    double share;
    tn_option_list set;
} request;

static const request defaults = {.name = "nobody", .count = 7};
static const tn_option options[] = {
    {"--fast", TN_INTO(request, fast), NULL, "do less"},
    {"--name", TN_INTO(request, name), "NAME", "whose"},
    {"--count", TN_INTO(request, count), "N", "how many; default 7"},
    {"--share", TN_INTO(request, share), "S", "how much"},
    {"--set", TN_INTO(request, set), "KEY=VALUE", "repeatable"},
    {"-o", TN_INTO(request, name), "DIR", "of one dash"},
};

static request seen; /* what the last run asked; its texts are those of argv */
static char first[64], second[64];
static int runs, explained;

static tn_status answer(void *asked, int *exit_status, tn_error *error) {
    request *r = asked;
    (void)error;
    seen = *r;
    first[0] = second[0] = '\0';
    if (r->common.arguments > 0) strncpy(first, r->common.argument[0], sizeof first - 1);
    if (r->common.arguments > 1) strncpy(second, r->common.argument[1], sizeof second - 1);
    assert_null(r->common.argument[r->common.arguments]);
    *exit_status = 1;
    runs++;
    return TN_OK;
}

static void explain(const void *asked) {
    assert_string_equal(((const request *)asked)->name, "nobody");
    explained++;
}

static const tn_command command = {
    .name = "try",
    .summary = "tries",
    .usage = "THIS [THAT]",
    .arguments = {1, 2},
    TN_OPTIONS(options),
    TN_REQUEST(request, &defaults),
    .answer = answer,
    .explain = explain,
};
static const tn_command plain_part = {.name = "whole plain",
                                      .summary = "takes nothing",
                                      .usage = "",
                                      TN_REQUEST(request, &defaults),
                                      .answer = answer};
static const tn_command other_part = {.name = "whole other",
                                      .summary = "takes one",
                                      .usage = "X",
                                      .arguments = {1, 1},
                                      TN_REQUEST(request, &defaults),
                                      .answer = answer};
static const tn_command *const parts[] = {&plain_part, &other_part};
static const tn_command whole = {.name = "whole", .summary = "has parts", .usage = "PART", TN_PARTS(parts)};

enum { ARGUMENTS = 16 };
static tn_error error;
static int exit_status;

/* Runs with the arguments behind the command, ended by NULL. */
static tn_status run_list(const tn_command *this_command, const char *text, va_list list) {
    char *argv[ARGUMENTS] = {(char *)this_command->name};
    int argc = 1;
    for (; text; text = va_arg(list, const char *)) argv[argc++] = (char *)text;
    error = (tn_error){0};
    exit_status = 0;
    return tn_command_run(this_command, argc, argv, &exit_status, &error);
}

static tn_status run(const tn_command *this_command, const char *text, ...) {
    va_list list;
    va_start(list, text);
    tn_status status = run_list(this_command, text, list);
    va_end(list);
    return status;
}

static void refused(tn_status status, const char *why) {
    assert_int_equal(status, TN_INPUT);
    if (!strstr(error.message, why)) fail_msg("'%s' is not in '%s'", why, error.message);
}

static void values(void **state) {
    (void)state;
    assert_int_equal(run(&command, "here", NULL), TN_OK);
    assert_int_equal(exit_status, 1);
    assert_string_equal(first, "here");
    assert_string_equal(seen.name, "nobody"); /* defaults stay */
    assert_int_equal(seen.count, 7);
    assert_false(seen.fast || seen.common.json || seen.common.quiet);
    assert_int_equal(seen.set.count, 0);
    assert_int_equal(run(&command, "--count=1e3", "here", "--set", "a=1", "--fast", "there", "--set=b=2",
                         "--json", "--share", "-0.5", "--quiet", NULL),
                     TN_OK);
    assert_string_equal(first, "here"); /* options and arguments mix */
    assert_string_equal(second, "there");
    assert_int_equal(seen.count, 1000);
    assert_true(seen.fast && seen.common.json && seen.common.quiet);
    assert_true(seen.share == -0.5); /* a value may begin with a dash */
    assert_int_equal(seen.set.count, 2);
    assert_string_equal(seen.set.item[1], "b=2");
    assert_int_equal(run(&command, "-o", "x", "-", "--", "--fast", NULL), TN_OK);
    assert_string_equal(seen.name, "x");
    assert_string_equal(first, "-"); /* one dash, and what follows two, are arguments */
    assert_string_equal(second, "--fast");
    assert_false(seen.fast);
}

/* Which options were given is known, even where the value is the default's. */
static tn_status note_given(void *asked, int *answered, tn_error *failure) {
    const tn_common *common = asked;
    (void)failure;
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) *answered |= common->given[i] << i;
    return TN_OK;
}

static void given(void **state) {
    (void)state;
    tn_command noting = command;
    noting.answer = note_given;
    assert_int_equal(run(&noting, "here", "--count", "7", "--set", "a=1", NULL), TN_OK);
    assert_int_equal(exit_status, 1 << 2 | 1 << 4);
}

static void refusals(void **state) {
    (void)state;
    int before = runs;
    refused(run(&command, NULL), "too few arguments; it is tenfold try ");
    refused(run(&command, "a", "b", "c", NULL), "unexpected argument 'c'");
    refused(run(&command, "a", "--nam", "x", NULL), "unknown option --nam; did you mean --name?");
    refused(run(&command, "a", "--jso", NULL), "did you mean --json?");
    refused(run(&command, "a", "--zzzzzzzz=1", NULL), "unknown option --zzzzzzzz; see tenfold help try");
    refused(run(&command, "a", "--fast=yes", NULL), "--fast takes no value");
    refused(run(&command, "a", "--name", NULL), "--name needs its NAME");
    refused(run(&command, "a", "--name", "x", "--name=y", NULL), "--name is given twice");
    refused(run(&command, "a", "--fast", "--fast", NULL), "--fast is given twice");
    refused(run(&command, "a", "--count", "-1", NULL), "--count takes a whole number from 0, not '-1'");
    refused(run(&command, "a", "--count", "18446744073709551616", NULL), "--count takes a whole number");
    refused(run(&command, "a", "--share", "nan", NULL), "--share takes a number, not 'nan'");
    assert_int_equal(runs, before);
}

static void too_many(void **state) {
    (void)state;
    static char name[] = "try", set[] = "--set=k=v";
    static char *argv[TN_OPTION_MOST + 4] = {name, name};
    int argc = 2, answered = 0;
    for (int i = 0; i < TN_OPTION_MOST; i++) argv[argc++] = set;
    assert_int_equal(tn_command_run(&command, argc, argv, &answered, &error), TN_OK);
    assert_int_equal(seen.set.count, TN_OPTION_MOST);
    argv[argc++] = set;
    assert_int_equal(tn_command_run(&command, argc, argv, &answered, &error), TN_LIMIT);
}

/* Help needs no arguments and answers nothing. */
static void help(void **state) {
    (void)state;
    int before = runs;
    assert_int_equal(run(&command, "--help", NULL), TN_OK);
    assert_int_equal(run(&command, "a", "-h", "--count", "3", NULL), TN_OK);
    assert_int_equal(explained, 2);
    assert_int_equal(runs, before);
}

static void of_parts(void **state) {
    (void)state;
    assert_int_equal(run(&whole, "other", "x", NULL), TN_OK);
    assert_string_equal(first, "x");
    assert_int_equal(run(&whole, "plain", NULL), TN_OK);
    refused(run(&whole, "other", NULL), "it is tenfold whole other");
    refused(run(&whole, NULL), "whole needs a subcommand first: plain or other");
    refused(run(&whole, "--json", NULL), "whole needs a subcommand first");
    refused(run(&whole, "--jso", NULL), "did you mean --json?");
    refused(run(&whole, "othr", NULL), "whole has no subcommand 'othr'; did you mean other?");
    refused(run(&whole, "zzzz", NULL), "it has plain or other");
    assert_int_equal(run(&whole, "-h", NULL), TN_OK);
    /* A command with parts and an answer of its own is asked where no part is named. */
    tn_command both = command;
    both.part = parts;
    both.parts = 2;
    assert_int_equal(run(&both, "others", NULL), TN_OK);
    assert_string_equal(first, "others");
}

static void failing_memory(void **state) {
    (void)state;
    tn_status status = TN_MEMORY;
    int before = runs;
    for (long n = 1; status == TN_MEMORY; n++) {
        tn_memory_fail_at(n);
        status = run(&command, "here", "--name", "x", NULL);
        if (status == TN_MEMORY) assert_int_equal(runs, before);
        assert_true(n < 64);
    }
    tn_memory_fail_at(0);
    assert_int_equal(status, TN_OK);
    assert_int_equal(runs, before + 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values),         cmocka_unit_test(given), cmocka_unit_test(refusals),
        cmocka_unit_test(too_many),       cmocka_unit_test(help),  cmocka_unit_test(of_parts),
        cmocka_unit_test(failing_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
