/* The commands printed in the README and in every page run as they are printed: those that stand indented and begin with
 * `tenfold`, one after the other, with the program on PATH, in a folder of each page's own that has the source tree's docs. What is
 * a synopsis stands in a fence. A sweep that another page has printed, into whatever folder, runs once: its folder is copied. Those
 * marked (minutes), or (behind the sweep) that takes minutes, run with TORTURE=all in the environment only (scripts/torture). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "support/folder.h"
#include "support/program.h"
#include "support/shared.h"

enum { PAGES_LEAST = 25, COMMANDS_LEAST = 60, TEXT_MOST = 2048, SWEEPS_MOST = 32 };
static unsigned run_now, seen;

/* Sweeps that have run: their options but -o, and the folder that they made, from that of all pages. */
static struct { char options[TEXT_MOST], folder[TEXT_MOST]; } swept[SWEEPS_MOST];
static size_t sweeps;

/* Of a command that sweeps into a folder: to *options what it says else, to *folder where that lies. */
static bool is_sweep(const char *page, const char *line, char *options, char *folder) {
    static const char begin[] = "tenfold sweep ", out[] = " -o ";
    const char *place = strstr(line, out);
    if (strncmp(line, begin, strlen(begin)) != 0 || !place) return false;
    const char *name = place + strlen(out);
    snprintf(options, TEXT_MOST, "%.*s%s", (int)(place - line), line, name + strcspn(name, " "));
    snprintf(folder, TEXT_MOST, "%s/%.*s", page, (int)strcspn(name, " "), name);
    return true;
}

/* Whether the folder was made by copying that of the same sweep. */
static bool is_copied(const char *options, const char *folder) {
    char command[5 * TEXT_MOST];
    for (size_t i = 0; i < sweeps; i++) {
        if (strcmp(swept[i].options, options) != 0) continue;
        snprintf(command, sizeof command,
                 "cd \"$FOLDER\" && test ! -e '%s' && mkdir -p \"$(dirname '%s')\" && cp -R '%s' '%s'",
                 folder, folder, swept[i].folder, folder);
        test_run run = test_shell(command);
        if (run.status != 0) fail_msg("%s: %s", command, run.err);
        test_run_free(&run);
        return true;
    }
    assert_true(sweeps < SWEEPS_MOST);
    snprintf(swept[sweeps].options, TEXT_MOST, "%s", options);
    snprintf(swept[sweeps++].folder, TEXT_MOST, "%s", folder);
    return false;
}

static void run_command(const char *page, const char *printed) {
    char command[2 * TEXT_MOST], line[TEXT_MOST], options[TEXT_MOST], folder[TEXT_MOST];
    const char *comment = strstr(printed, " #");
    size_t length = comment ? (size_t)(comment - printed) : strlen(printed);
    while (length > 0 && printed[length - 1] == ' ') length--;
    snprintf(line, sizeof line, "%.*s", (int)length, printed);
    run_now++;
    if (is_sweep(page, line, options, folder) && is_copied(options, folder)) return;
    snprintf(command, sizeof command, "cd \"$FOLDER/%s\" && PATH=\"$(dirname \"$TENFOLD\"):$PATH\" && %s",
             page, line);
    test_run run = test_shell(command);
    if (run.status != 0) fail_msg("%s: %s\nstatus %d: %s", page, line, run.status, run.err);
    if (strlen(run.out) == 0) fail_msg("%s: %s\nprints nothing", page, line);
    test_run_free(&run);
}

/* Its first line of text says what the reader has at the end. */
static void check_head(const char *page, const char *text) {
    const char *line = strchr(text, '\n');
    if (!line || strncmp(line, "\n\nAt the end you ", 17) != 0)
        fail_msg("%s has commands, and does not say at its head what one has at the end", page);
}

static const char *const folders[] = {"docs", "tests"}; /* that commands may name */

static void run_page(const char *page, const char *path) {
    static const char mark[] = "    tenfold ";
    const char *torture = getenv("TORTURE");
    bool all = torture && strcmp(torture, "all") == 0, fenced = false, headed = strcmp(page, "README") == 0;
    char *text, link[TEXT_MOST];
    size_t length;
    assert_int_equal(tn_file_read(path, 1 << 20, &text, &length, NULL), TN_OK);
    assert_int_equal(tn_folder_make(test_in_folder(page), NULL), TN_OK);
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        snprintf(link, sizeof link, "%s/%s", test_in_folder(page), folders[i]);
        assert_int_equal(symlink(test_source(folders[i]), link), 0);
    }
    for (char *line = text; line; line = strchr(line, '\n')) {
        char one[TEXT_MOST];
        line += *line == '\n';
        snprintf(one, sizeof one, "%.*s", (int)strcspn(line, "\n"), line);
        if (strncmp(one, "```", 3) == 0) fenced = !fenced;
        if (fenced || strncmp(one, mark, sizeof mark - 1) != 0) continue;
        seen++;
        if (!headed) check_head(page, text);
        headed = true;
        if (all || !(strstr(one, "(minutes)") || strstr(one, "(behind the sweep)")))
            run_command(page, one + 4);
    }
    tn_free(text);
}

static void commands_run_as_printed(void **state) {
    unsigned pages = 1;
    (void)state;
    run_page("README", test_source("README.md"));
    DIR *folder = opendir(test_source("docs"));
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        char name[TEXT_MOST], path[2 * TEXT_MOST];
        size_t length = strlen(entry->d_name);
        if (length < 4 || strcmp(entry->d_name + length - 3, ".md") != 0 ||
            strcmp(entry->d_name, "README.md") == 0)
            continue;
        snprintf(name, sizeof name, "%.*s", (int)(length - 3), entry->d_name);
        snprintf(path, sizeof path, "%s/%s", test_source("docs"), entry->d_name);
        run_page(name, path);
        pages++;
    }
    closedir(folder);
    print_message("%u commands of %u pages ran, %u wait for TORTURE=all\n", run_now, pages, seen - run_now);
    assert_true(pages >= PAGES_LEAST);
    assert_true(seen >= COMMANDS_LEAST);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(commands_run_as_printed)};
    return cmocka_run_group_tests(tests, test_folder_make, test_folder_remove);
}
