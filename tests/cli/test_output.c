/* What every answer has in common: JSON and YAML that hold any name, terminals that no name steers, writes
 * that fail, readers that leave. */
#include "support/folder.h"
#include "support/program.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static test_run shell(int status, const char *command) {
    test_run run = test_shell(command);
    if (run.status != status) fail_msg("%s: status %d\n%s%s", command, run.status, run.out, run.err);
    return run;
}

static void quiet(int status, const char *command) {
    test_run run = shell(status, command);
    test_run_free(&run);
}

static void write_file(const char *name, const char *text) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", test_folder, name);
    FILE *stream = fopen(path, "w");
    assert_non_null(stream);
    assert_true(fputs(text, stream) >= 0);
    assert_int_equal(fclose(stream), 0);
}

static json_t *parsed(const test_run *run) {
    json_error_t error;
    json_t *json = json_loads(run->out, JSON_REJECT_DUPLICATES, &error);
    if (!json) fail_msg("%s at %d:%d in\n%s", error.text, error.line, error.column, run->out);
    return json;
}

/* A matrix whose path has quotes, a backslash, an escape sequence. */
static const char odd[] = "a \"b\" \\ \x1b[31mred";

static void json_holds_any_name(void **state) {
    (void)state;
    write_file(odd, "name,width,depth\n\"x \"\"y\"\" \\ \x1b[31m\",8,16\n");
    test_run run = shell(0, "\"$TENFOLD\" hardware memory --batch \"$FOLDER\"/a* --style block --json");
    json_t *json = parsed(&run), *rows = json_object_get(json, "rows");
    assert_string_equal(json_string_value(json_object_get(json_array_get(rows, 0), "name")),
                        "x \"y\" \\ \x1b[31m");
    assert_null(strchr(run.out, '\x1b'));
    json_decref(json);
    test_run_free(&run);
}

/* The name of a device is free text; what the fit writes must read back as that name. */
static void yaml_holds_any_name(void **state) {
    (void)state;
    static const char *const names[] = {"mine: \\\"fast\\\" # not", "null", "0x10", "'t Hooft", "[a"};
    write_file("steps.csv", "kernels,step_ms\n100,2\n200,4\n");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char text[256];
        snprintf(text, sizeof text, "kind: roofline\nname: \"%s\"\ninherit: h200\n", names[i]);
        write_file("odd.yaml", text);
        quiet(0, "cd \"$FOLDER\" && \"$TENFOLD\" roofline fit --device ./odd.yaml --steps steps.csv -o "
                 "fitted.yaml");
        test_run before =
            shell(0, "\"$TENFOLD\" roofline --device \"$FOLDER\"/odd.yaml --dtype fp32 --m 8 --n 8 "
                     "--k 8 --json");
        test_run after =
            shell(0, "\"$TENFOLD\" roofline --device \"$FOLDER\"/fitted.yaml --dtype fp32 --m 8 --n 8 "
                     "--k 8 --json");
        assert_string_equal(before.out, after.out);
        test_run_free(&before);
        test_run_free(&after);
    }
}

static void names_do_not_steer_a_terminal(void **state) {
    (void)state;
    write_file("esc.csv", "name,width,depth\n\x1b]0;owned\x07,8,16\n");
    quiet(0, "mkdir -p \"$FOLDER\"/models && printf 'kind: roofline\\nname: "
             "\"\\\\e]0;owned\\\\a\"\\ninherit: h200\\n' "
             "> \"$FOLDER\"/esc.yaml");
    if (access("/usr/bin/script", X_OK) != 0) {
        print_message("no script(1): skipped\n");
        skip();
    }
    static const char *const commands[] = {
        "script -qec '\"$TENFOLD\" hardware memory --batch \"$FOLDER\"/esc.csv --style block' /dev/null",
        "script -qec '\"$TENFOLD\" roofline step atis-2enc --device \"$FOLDER\"/esc.yaml' /dev/null",
        "script -qec '\"$TENFOLD\" roofline --device \"$FOLDER\"/esc.yaml --dtype fp32 --m 8 --n 8 --k 8 "
        "--json' "
        "/dev/null",
    };
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        test_run run = shell(0, commands[i]);
        assert_non_null(strstr(run.out, "owned"));
        assert_null(strstr(run.out, "\x1b]"));
        assert_null(strchr(run.out, '\x07'));
        test_run_free(&run);
    }
}

/* One of every kind of output: tables, JSON, CSV, help, lists. */
static const char *const answers[] = {
    "cost atis-2enc",
    "cost atis-2enc --json",
    "hardware memory --width 8 --depth 16 --style block",
    "list models",
    "list models --json",
    "help",
    "help cost",
    "--version",
    "order --layer tt:m=4x4,n=4x4,rank=3,tokens=8 --all --objective front",
    "roofline --device h200 --dtype fp32 --m 8 --n 8 --k 8",
    "finetune count mixtral-8x7b --sequence 79",
};

static void a_failed_write_is_told(void **state) {
    (void)state;
    if (access("/dev/full", W_OK) != 0) skip();
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        char command[256];
        snprintf(command, sizeof command, "\"$TENFOLD\" %s >/dev/full", answers[i]);
        test_run run = shell(3, command);
        assert_non_null(strstr(run.err, "tenfold: standard output can't be written"));
        test_run_free(&run);
    }
}

static void a_closed_pipe_ends_silently(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        char command[256];
        /* The reader has gone before the first byte; 141 is death by SIGPIPE, as of `yes | head -0`. */
        snprintf(command, sizeof command,
                 "{ sleep 0.05; \"$TENFOLD\" %s; echo $? >\"$FOLDER\"/status; } | :; "
                 "grep -qx 141 \"$FOLDER\"/status",
                 answers[i]);
        test_run run = shell(0, command);
        assert_string_equal(run.err, "");
        test_run_free(&run);
    }
}

/* A quick command line of every command; those that need data of people's own are asked for their help alone. */
static const char *const lines_of_all[] = {
    "sweep \"$SOURCE/tests/space/data/mini.yaml\" -o \"$FOLDER/alike\"",
    "cost atis-2enc",
    "order --layer tt:m=4x4,n=4x4,rank=4,tokens=8",
    "list models",
    "doctor",
    "completion zsh",
    "schema cost",
    "hardware memory --width 32 --depth 512 --style block",
    "roofline step atis-2enc --device h200",
    "technique checkpointing --layers 12 --segments 3",
    "query \"$FOLDER/alike\" 'dsp > 0'",
    "recommend \"$FOLDER/alike\"",
    "export \"$FOLDER/alike\" --point 3 -o \"$FOLDER/alike-3\"",
    "report \"$FOLDER/alike\" -o \"$FOLDER/alike.html\"",
    "compare \"$FOLDER/alike\" \"$FOLDER/alike\"",
    "plot \"$FOLDER/alike\" --x dsp --y seconds_per_step --format csv",
    "validate \"$FOLDER/alike\" --point 3",
    "merge \"$FOLDER/alike\" -o \"$FOLDER/alike-merged\"",
    "slurm \"$SOURCE/tests/space/data/mini.yaml\" -o \"$FOLDER/alike-tasks\" --tasks 2",
    "finetune cost llama3-8b --gpu a100 --method lora --tokens 512 --queries 50000 --epochs 1",
    "ranks --table \"$SOURCE/docs/examples/candidates.csv\" --budget params=4000",
    "train \"$SOURCE/tests/space/data/small-transformer.yaml\" --steps 1 --data none",
    "rtl \"$SOURCE/tests/space/data/small-transformer.yaml\" --layer query -o \"$FOLDER/alike-rtl\"",
};
enum { LINES_OF_ALL = sizeof lines_of_all / sizeof *lines_of_all };

static void answer_alike(const char *line) {
    char command[1024];
    snprintf(command, sizeof command, "SOURCE='%s'; \"$TENFOLD\" %s --json --quiet", TEST_SOURCE_DIR, line);
    test_run run = shell(0, command);
    json_t *json = parsed(&run);
    assert_true(json_is_object(json));
    char schema[64];
    snprintf(schema, sizeof schema, "tenfold.%.*s", (int)strcspn(line, " "), line);
    const char *named = json_string_value(json_object_get(json, "schema"));
    if (!named || strncmp(named, schema, strlen(schema)) != 0) fail_msg("%s does not say %s", line, schema);
    if (run.err[0]) fail_msg("%s is not quiet: %s", line, run.err);
    json_decref(json);
    test_run_free(&run);
}

/* With --json one object on standard output, with --quiet nothing on standard error, whatever the command. */
static void commands_answer_alike(void **state) {
    static const char *const helped[] = {"help", "accuracy", "model"};
    (void)state;
    for (int i = 0; i < LINES_OF_ALL; i++) answer_alike(lines_of_all[i]);
    test_run run =
        shell(0, "\"$TENFOLD\" completion bash | sed -n \"s/.*commands='\\(.*\\)'/\\1/p\" | head -1");
    size_t seen = 0;
    for (char *rest = run.out, *name; (name = strtok_r(rest, " \n", &rest)) != NULL; seen++) {
        bool known = false;
        char command[128];
        for (int i = 0; i < LINES_OF_ALL; i++)
            known |=
                strncmp(lines_of_all[i], name, strlen(name)) == 0 && lines_of_all[i][strlen(name)] == ' ';
        known |= strcmp(name, "doctor") == 0;
        for (size_t i = 0; i < sizeof helped / sizeof *helped; i++) known |= strcmp(helped[i], name) == 0;
        if (!known) fail_msg("no command line of %s is tried", name);
        if (strcmp(name, "help") == 0) continue;
        snprintf(command, sizeof command,
                 "\"$TENFOLD\" help %s >\"$FOLDER/help\"; grep -q -e '--json' \"$FOLDER/help\" && "
                 "grep -q -e '--quiet' \"$FOLDER/help\"",
                 name);
        quiet(0, command);
    }
    assert_true(seen > 20);
    test_run_free(&run);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(json_holds_any_name),           cmocka_unit_test(yaml_holds_any_name),
        cmocka_unit_test(names_do_not_steer_a_terminal), cmocka_unit_test(a_failed_write_is_told),
        cmocka_unit_test(a_closed_pipe_ends_silently),   cmocka_unit_test(commands_answer_alike),
    };
    return cmocka_run_group_tests(tests, test_folder_make, test_folder_remove);
}
