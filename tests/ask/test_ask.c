/* One call for every command: answers are what the program prints with --json, refusals are the program's, and what is
 * printed elsewhere is heard. */
#include "ask/ask.h"
#include "base/interrupt.h"
#include "base/memory.h"
#include "cli/commands.h"
#include "support/folder.h"
#include "support/program.h"
#include "support/shared.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <jansson.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static json_t *ask(const char *request) {
    char *answer;
    tn_error error = {0};
    if (tn_ask(request, &answer, &error) != TN_OK) fail_msg("%s: %s", request, error.message);
    json_t *json = json_loads(answer, 0, NULL);
    assert_non_null(json);
    tn_answer_free(answer);
    return json;
}

/* Times differ from run to run. */
static void drop_times(json_t *json) {
    static const char *const times[] = {"seconds", "designs_per_second"};
    size_t i;
    json_t *item;
    const char *key;
    for (size_t t = 0; json_is_object(json) && t < 2; t++)
        if (json_object_get(json, times[t])) json_object_set_new(json, times[t], json_null());
    if (json_is_object(json)) json_object_foreach(json, key, item) drop_times(item);
    if (json_is_array(json)) json_array_foreach(json, i, item) drop_times(item);
}

static void answers_are_the_programs(void **state) {
    static const struct {
        const char *request, *line, *schema;
    } cases[] = {
        {"{\"command\": \"cost\", \"arguments\": [\"atis-2enc\"], \"options\": {\"device\": \"u50\", "
         "\"set\": "
         "{\"build.rows\": 8, \"layers.encoder1.query.rank\": 6}}}",
         "cost atis-2enc --device u50 --set build.rows=8 --set layers.encoder1.query.rank=6",
         "tenfold.cost/1"},
        {"{\"command\": \"order\", \"options\": {\"layer\": \"tt:m=12x8,n=8x12,rank=12,tokens=32\", "
         "\"training\": true, \"micro-batches\": 2}}",
         "order --layer tt:m=12x8,n=8x12,rank=12,tokens=32 --training --micro-batches 2", "tenfold.order/1"},
        {"{\"command\": \"order\", \"options\": {\"einsum\": \"ab,bc,cd->ad\", \"training\": false, "
         "\"max-live\": null,"
         " \"sizes\": {\"a\": 4, \"b\": 8, \"c\": 2, \"d\": 16}}}",
         "order --einsum ab,bc,cd-\\>ad --sizes a=4,b=8,c=2,d=16", "tenfold.order/1"},
        {"{\"command\": \"hardware\", \"arguments\": [\"memory\"], \"options\": {\"width\": 32, \"depth\": "
         "1152}}",
         "hardware memory --width 32 --depth 1152", "tenfold.hardware/1"},
        {"{\"command\": \"technique\", \"arguments\": [\"procrustes\"], \"options\": {\"tiles\": [10, 2, 8, "
         "4]}}",
         "technique procrustes --tiles 10,2,8,4", "tenfold.technique/1"},
        {"{\"command\": \"list\", \"arguments\": [\"models\"]}", "list models", "tenfold.list/1"},
        {"{\"command\": \"sweep\", \"arguments\": [\"atis-2enc-u50\"], \"options\": "
         "{\"dry-run\": true}}",
         "sweep atis-2enc-u50 --dry-run", "tenfold.sweep/1"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char line[512];
        snprintf(line, sizeof line, "\"$TENFOLD\" %s --json", cases[i].line);
        test_run run = test_shell(line);
        assert_int_equal(run.status, 0);
        json_t *printed = json_loads(run.out, 0, NULL), *answer = ask(cases[i].request);
        drop_times(printed);
        drop_times(answer);
        assert_string_equal(json_string_value(json_object_get(answer, "schema")), cases[i].schema);
        if (!json_equal(printed, answer))
            fail_msg("%s answers otherwise than %s", cases[i].request, cases[i].line);
        json_decref(printed);
        json_decref(answer);
        test_run_free(&run);
    }
}

static void refused(const char *request, const char *message, const char *file, unsigned line,
                    unsigned column) {
    char *answer = (char *)"untouched";
    tn_error error = {0};
    assert_int_equal(tn_ask(request, &answer, &error), TN_INPUT);
    assert_null(answer);
    if (!strstr(error.message, message)) fail_msg("%s: '%s' is not in '%s'", request, message, error.message);
    if (file && !strstr(error.file, file)) fail_msg("%s: '%s' is not in '%s'", request, file, error.file);
    if (!file) assert_string_equal(error.file, "");
    assert_int_equal(error.line, line);
    assert_int_equal(error.column, column);
}

static void wrong_requests_are_refused(void **state) {
    (void)state;
    refused("{\"command\": \"cost\",\n \"arguments\": [}", "no JSON", NULL, 2, 16);
    refused("[]", "a request is an object", NULL, 0, 0);
    refused("{\"comand\": \"cost\"}", "did you mean command?", NULL, 0, 0);
    refused("{\"arguments\": []}", "needs \"command\"", NULL, 0, 0);
    refused("{\"command\": \"cots\"}", "did you mean 'cost'?", NULL, 0, 0);
    refused("{\"command\": \"cost\", \"arguments\": \"atis-2enc\"}", "takes a list", NULL, 0, 0);
    refused("{\"command\": \"cost\", \"arguments\": [null]}", "not null", NULL, 0, 0);
    refused("{\"command\": \"cost\", \"arguments\": [\"a\\u0000b\"]}", "JSON", NULL, 1, 44);
    refused("{\"command\": \"cost\", \"arguments\": []}", "too few arguments", NULL, 0, 0);
    refused("{\"command\": \"cost\", \"arguments\": [1, 2]}", "unexpected argument '2'", NULL, 0, 0);
    refused("{\"command\": \"cost\", \"options\": []}", "takes an object", NULL, 0, 0);
    refused("{\"command\": \"cost\", \"options\": {\"devise\": \"u50\"}}", "did you mean --device?", NULL, 0,
            0);
    refused("{\"command\": \"cost\", \"options\": {\"device\": true}}", "--device needs its DEVICE", NULL, 0,
            0);
    refused("{\"command\": \"cost\", \"options\": {\"set\": {\"a\": {}}}}", "not an object", NULL, 0, 0);
    refused("{\"command\": \"cost\", \"options\": {\"help\": true}}", "for people", NULL, 0, 0);
    refused("{\"command\": \"order\", \"options\": {\"training\": \"yes\"}}", "takes true or false", NULL, 0,
            0);
    refused("{\"command\": \"order\", \"options\": {\"max-live\": -3}}", "whole number", NULL, 0, 0);
    refused("{\"command\": \"order\", \"options\": {\"max-live\": 2.5}}", "whole number", NULL, 0, 0);
    refused("{\"command\": \"finetune\"}", "needs a subcommand", NULL, 0, 0);
    refused("{\"command\": \"finetune\", \"arguments\": [\"fitt\"]}", "did you mean fit?", NULL, 0, 0);
    refused("{\"command\": \"hardware\", \"arguments\": [\"memry\"]}", "did you mean memory?", NULL, 0, 0);
    /* Of a file: where in it. */
    char path[600], request[800];
    FILE *file;
    snprintf(path, sizeof path, "%s", test_in_folder("wrong.yaml"));
    file = fopen(path, "w");
    assert_non_null(file);
    fputs("kind: encoder\nname: wrong\n  hiden: 3\n", file);
    fclose(file);
    snprintf(request, sizeof request, "{\"command\": \"cost\", \"arguments\": [\"%s\"]}", path);
    char *answer;
    tn_error error = {0};
    assert_int_equal(tn_ask(request, &answer, &error), TN_INPUT);
    assert_string_equal(error.file, path);
    assert_int_equal(error.line, 3);
    assert_true(error.column > 0);
}

static unsigned progressed;
static char noted[512];

static void hear_progress(void *user, const char *what, uint64_t done, uint64_t total) {
    assert_string_equal(user, "me");
    assert_string_equal(what, "designs");
    assert_true(done <= total);
    progressed++;
}

static void hear_note(void *user, const char *text) {
    assert_string_equal(user, "me");
    snprintf(noted, sizeof noted, "%s", text);
}

static void long_work_is_heard(void **state) {
    const tn_listener listener = {.progress = hear_progress, .note = hear_note, .user = (char *)"me"};
    char request[1500], *answer, folder[600];
    tn_error error = {0};
    (void)state;
    snprintf(folder, sizeof folder, "%s", test_in_folder("swept"));
    snprintf(
        request, sizeof request,
        "{\"command\": \"sweep\", \"arguments\": [\"%s\"], \"options\": {\"o\": \"%s\", \"threads\": 1}}",
        test_source("tests/space/data/small.yaml"), folder);
    assert_int_equal(tn_ask_heard(request, &listener, &answer, &error), TN_OK);
    assert_true(progressed > 0);
    assert_non_null(strstr(answer, "\"complete\": \"exhausted\""));
    tn_answer_free(answer);

    /* Nothing fulfils it: an empty answer, which is no failure. */
    snprintf(request, sizeof request,
             "{\"command\": \"query\", \"arguments\": [\"%s\", \"seconds_per_step < 0\"]}", folder);
    assert_int_equal(tn_ask(request, &answer, &error), TN_OK);
    assert_non_null(strstr(answer, "\"matched\": 0"));
    tn_answer_free(answer);

    snprintf(
        request, sizeof request,
        "{\"command\": \"plot\", \"arguments\": [\"%s\"], \"options\": {\"x\": \"seconds_per_step\", \"y\": "
        "\"dsp\", \"where\": \"dsp < 0\"}}",
        folder);
    assert_int_equal(tn_ask_heard(request, &listener, &answer, &error), TN_OK);
    assert_non_null(strstr(noted, "is left to draw"));
    tn_answer_free(answer);

    tn_interrupt();
    snprintf(request, sizeof request,
             "{\"command\": \"sweep\", \"arguments\": [\"atis-2enc-u50\"], \"options\": {\"o\": \"%s2\"}}",
             folder);
    assert_int_equal(tn_ask(request, &answer, &error), TN_INTERRUPTED);
    assert_null(answer);
    tn_interrupt_clear();
}

/* The steps of one work, in their order; a step may come again. */
static void hear_step(void *user, const char *what, uint64_t done, uint64_t total) {
    static const char *const steps[] = {"steps surveyed", "builds surveyed", "steps tabled", "builds merged",
                                        "designs priced"};
    enum { STEPS = sizeof steps / sizeof *steps };
    bool *heard = user, known = false;
    assert_true(done <= total);
    for (size_t i = 0; i < STEPS; i++) {
        if (strcmp(what, steps[i]) != 0) continue;
        known = heard[i] = true;
        for (size_t before = 0; before < i && i < 3; before++) assert_true(heard[before]);
    }
    assert_true(known);
}

static void a_decomposition_says_its_steps(void **state) {
    bool heard[5] = {false};
    const tn_listener listener = {.progress = hear_step, .user = heard};
    char request[1500], *answer;
    tn_error error = {0};
    (void)state;
    snprintf(request, sizeof request,
             "{\"command\": \"sweep\", \"arguments\": [\"%s\"], \"options\": {\"o\": \"%s\", \"threads\": 1, "
             "\"method\": \"decompose\"}}",
             test_source("tests/space/data/layers.yaml"), test_in_folder("decomposed"));
    if (tn_ask_heard(request, &listener, &answer, &error) != TN_OK) fail_msg("%s", error.message);
    tn_answer_free(answer);
    for (int i = 0; i < 5; i++) assert_true(heard[i]);
}

enum { THREADS = 4, ROUNDS = 8 };

static void *ask_often(void *asked) {
    char *answer = NULL, *first = NULL;
    for (int i = 0; i < ROUNDS; i++) {
        if (tn_ask(asked, &answer, NULL) != TN_OK || (first && strcmp(first, answer) != 0)) return NULL;
        if (!first)
            first = answer;
        else
            tn_answer_free(answer);
    }
    return first;
}

/* Each gets its own answer. */
static void threads_ask_at_once(void **state) {
    static const char *const requests[THREADS] = {
        "{\"command\": \"hardware\", \"arguments\": [\"memory\"], \"options\": {\"width\": 32, \"depth\": "
        "1152}}",
        "{\"command\": \"hardware\", \"arguments\": [\"memory\"], \"options\": {\"width\": 16, \"depth\": "
        "64}}",
        "{\"command\": \"list\", \"arguments\": [\"formats\"]}",
        "{\"command\": \"cost\", \"arguments\": [\"atis-2enc\"]}",
    };
    pthread_t thread[THREADS];
    (void)state;
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, ask_often, (char *)requests[i]), 0);
    for (int i = 0; i < THREADS; i++) {
        void *answer;
        char *alone;
        assert_int_equal(pthread_join(thread[i], &answer), 0);
        assert_non_null(answer);
        assert_int_equal(tn_ask(requests[i], &alone, NULL), TN_OK);
        assert_string_equal(answer, alone);
        tn_answer_free(alone);
        tn_answer_free(answer);
    }
}

/* "--name" is "name": no command has two options that differ in their dashes alone. */
static void names_are_unambiguous(void **state) {
    (void)state;
    for (size_t c = 0; c < tn_commands_count; c++)
        for (size_t i = 0; i < tn_commands[c]->options; i++) {
            const char *name = tn_commands[c]->option[i].name;
            for (size_t k = 0; k < i; k++) {
                const char *other = tn_commands[c]->option[k].name;
                assert_string_not_equal(name + strspn(name, "-"), other + strspn(other, "-"));
            }
        }
    assert_string_equal(tn_version(), "0.1.0");
}

/* Whatever request for memory fails, that is told, nothing is leaked, and the next request is answered. */
static void memory_runs_out(void **state) {
    static const char request[] =
        "{\"command\": \"order\", \"arguments\": [], \"options\": {\"einsum\": \"ab,bc,cd->ad\", "
        "\"alone\": true, \"sizes\": {\"a\": 4, \"b\": 8, \"c\": 2, \"d\": 16}}}";
    char *answer;
    long failures = 0;
    (void)state;
    for (;; failures++) {
        tn_error told = {0};
        tn_memory_fail_at(failures + 1);
        tn_status status = tn_ask(request, &answer, &told);
        tn_memory_fail_at(0);
        if (status == TN_OK) break;
        assert_int_equal(status, TN_MEMORY);
        assert_null(answer);
        assert_true(told.message[0] != '\0');
    }
    assert_true(failures > 10);
    assert_non_null(strstr(answer, "tenfold.order/1"));
    tn_answer_free(answer);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_are_the_programs), cmocka_unit_test(wrong_requests_are_refused),
        cmocka_unit_test(long_work_is_heard),       cmocka_unit_test(a_decomposition_says_its_steps),
        cmocka_unit_test(threads_ask_at_once),      cmocka_unit_test(names_are_unambiguous),
        cmocka_unit_test(memory_runs_out),
    };
    return cmocka_run_group_tests(tests, test_folder_make, test_folder_remove);
}
