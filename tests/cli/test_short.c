/* The first page of `cost` and `recommend` is a page: at most 24 lines of at most 80 columns, for every shipped model on every
 * shipped FPGA, and for every shipped space. What else there is to say is asked for. */
#include "base/file.h"
#include "base/memory.h"
#include "support/folder.h"
#include "support/program.h"
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

enum { LINES_MOST = 24, COLUMNS_MOST = 80 };

static void check_page(const char *out, const char *what) {
    size_t lines = 0;
    for (const char *line = out; *line; lines++) {
        size_t length = strcspn(line, "\n"), columns = 0;
        for (size_t i = 0; i < length; i++) columns += ((unsigned char)line[i] & 0xC0) != 0x80;
        if (columns > COLUMNS_MOST) fail_msg("%s: %zu columns: %.*s", what, columns, (int)length, line);
        line += length + (line[length] == '\n');
    }
    if (lines > LINES_MOST) fail_msg("%s: %zu lines:\n%s", what, lines, out);
    assert_true(lines > 5);
}

static bool every_case(void) {
    const char *torture = getenv("TORTURE");
    return torture && strcmp(torture, "all") == 0;
}

static void cost_of_every_model_on_every_fpga(void **state) {
    json_t *models = test_program_json(0, "list", "models", "--json", NULL),
           *devices = test_program_json(0, "list", "devices", "--json", NULL);
    size_t pages = 0, refused = 0;
    const bool all = every_case();
    (void)state;
    const json_t *model = json_object_get(models, "models"), *device = json_object_get(devices, "devices");
    for (size_t m = 0; m < json_array_size(model); m++)
        for (size_t d = 0; d < json_array_size(device); d++) {
            const char *name = json_string_value(json_array_get(model, m)),
                       *on = json_string_value(json_array_get(device, d));
            char what[200];
            if (!all && (m + d) % 8 != 0) continue; /* every model on some, every FPGA with some */
            test_run run = test_program("cost", name, "--device", on, NULL);
            snprintf(what, sizeof what, "cost %s --device %s", name, on);
            if (run.status == 0) {
                check_page(run.out, what);
                assert_non_null(strstr(run.out, strstr(run.out, "DOES NOT FIT") ? "to fit" : ": fits"));
                pages++;
            } else {
                assert_int_equal(run.status, 2);
                refused++;
            }
            test_run_free(&run);
        }
    assert_true(pages > 20 && refused > 0); /* GPUs, and models that have no training step of layers */
    json_decref(models);
    json_decref(devices);
}

/* The folder of a sweep of few designs, or, where none of them fits, of more. */
static const char *swept(const char *space) {
    static const char *const budget[] = {"20", "300"};
    static char folder[200];
    int status = 1;
    for (size_t i = 0; status == 1 && i < sizeof budget / sizeof *budget; i++) {
        char name[100];
        snprintf(name, sizeof name, "%s-%s", space, budget[i]);
        snprintf(folder, sizeof folder, "%s", test_in_folder(name));
        test_run run = test_program("sweep", space, "--method", "evolve", "--budget", budget[i], "--quiet",
                                    "-o", folder, NULL);
        status = run.status;
        if (status > 1) fail_msg("sweep %s: %s", space, run.err);
        test_run_free(&run);
    }
    return folder;
}

static void recommendation_of_every_space(void **state) {
    static const char *const goals[] = {"fastest", "knee"};
    json_t *spaces = test_program_json(0, "list", "spaces", "--json", NULL);
    const json_t *space = json_object_get(spaces, "spaces");
    const bool all = every_case();
    size_t pages = 0;
    (void)state;
    for (size_t s = 0; s < json_array_size(space); s++) {
        const char *name = json_string_value(json_array_get(space, s)), *folder = swept(name);
        test_run run = test_program("recommend", folder, NULL);
        assert_int_equal(run.status, 0);
        check_page(run.out, name);
        test_run_free(&run);
        pages++;
        for (size_t g = 0; g < sizeof goals / sizeof *goals; g++) {
            if (!all && (s + g) % 2 != 0) continue; /* a goal for each space, a space in two for each goal */
            run = test_program("recommend", folder, "--goal", goals[g], NULL);
            assert_int_equal(run.status, 0);
            check_page(run.out, name);
            test_run_free(&run);
            pages++;
        }
    }
    assert_true(pages > 20);
    json_decref(spaces);
}

/* The first page that a newcomer reads ends its first part with a design that fits. */
static void first_hour_ends_in_a_fit(void **state) {
    char *text, *command = NULL;
    size_t length;
    (void)state;
    assert_int_equal(tn_file_read(test_source("docs/first-hour.md"), 1 << 20, &text, &length, NULL), TN_OK);
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
        if (strncmp(line, "    tenfold cost encoder-512", 28) == 0) command = line + 11;
    assert_non_null(command);
    char asked[400];
    snprintf(asked, sizeof asked, "\"$TENFOLD\"%s", command);
    test_run run = test_shell(asked);
    assert_int_equal(run.status, 0);
    if (!strstr(run.out, "zcu104: fits\n")) fail_msg("%s\n%s", asked, run.out);
    test_run_free(&run);
    tn_free(text);
}

/* What is proposed is applied, and fits; nothing of it is rank 1 or cuts the sequence. */
static void proposals_fit(void **state) {
    static const char *const boards[] = {"zcu104", "pynq-z2", "kv260"};
    (void)state;
    for (size_t b = 0; b < sizeof boards / sizeof *boards; b++)
        for (int m = 0; m < 2; m++) {
            const char *model = m ? "bert-base" : "encoder-512";
            json_t *cost = test_program_json(0, "cost", model, "--device", boards[b], "--json", NULL);
            const json_t *first = json_array_get(json_object_get(cost, "remedies"), 0);
            const char *change = json_string_value(json_object_get(first, "change"));
            if (json_is_true(json_object_get(cost, "fits")) || !change) {
                json_decref(cost);
                continue;
            }
            assert_null(strstr(change, "sequence"));
            assert_null(strstr(change, "rank"));
            char asked[600];
            snprintf(asked, sizeof asked, "\"$TENFOLD\" cost %s --device %s --set %s", model, boards[b],
                     change);
            test_run run = test_shell(asked);
            assert_int_equal(run.status, 0);
            if (!strstr(run.out, ": fits\n")) fail_msg("%s\n%s", asked, run.out);
            test_run_free(&run);
            json_decref(cost);
        }
}

static void sections_are_asked_for(void **state) {
    (void)state;
    test_run brief = test_program("cost", "atis-2enc", NULL),
             full = test_program("cost", "atis-2enc", "--full", NULL),
             flows = test_program("cost", "atis-2enc", "--show", "flows,clocks", NULL),
             wrong = test_program("cost", "atis-2enc", "--show", "flow", NULL);
    assert_null(strstr(brief.out, "Flows of"));
    assert_non_null(strstr(full.out, "Flows of"));
    assert_non_null(strstr(full.out, brief.out));
    assert_non_null(strstr(flows.out, "Flows of"));
    assert_non_null(strstr(flows.out, "Clocks that"));
    assert_null(strstr(flows.out, "Layers"));
    assert_int_equal(wrong.status, 2);
    assert_non_null(strstr(wrong.err, "flows"));
    test_run_free(&brief);
    test_run_free(&full);
    test_run_free(&flows);
    test_run_free(&wrong);
}

int main(void) {
    const struct CMUnitTest test[] = {
        cmocka_unit_test(sections_are_asked_for),
        cmocka_unit_test(first_hour_ends_in_a_fit),
        cmocka_unit_test(proposals_fit),
        cmocka_unit_test(recommendation_of_every_space),
        cmocka_unit_test(cost_of_every_model_on_every_fpga),
    };
    return cmocka_run_group_tests_name("short", test, test_folder_make, test_folder_remove);
}
