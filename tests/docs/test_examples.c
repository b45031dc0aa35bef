/* The README's examples run as they are printed, one after the other, with the program on PATH, in a folder of their
 * own that has the source tree's docs. Those on the results of a whole sweep take minutes: with TORTURE=all in the
 * environment they run too. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "support/folder.h"
#include "support/program.h"
#include "support/shared.h"

enum { EXAMPLES_LEAST = 10 };

static void examples_run_as_printed(void **state) {
    (void)state;
    char *text;
    size_t length;
    unsigned run_now = 0, seen = 0;
    const char *torture = getenv("TORTURE");
    assert_int_equal(tn_file_read(test_source("README.md"), 1 << 20, &text, &length, NULL), TN_OK);
    char *at = strstr(text, "## What it answers"), *end = at ? strstr(at + 3, "\n## ") : NULL;
    assert_non_null(end);
    *end = '\0';
    for (char *line = strtok(at, "\n"); line; line = strtok(NULL, "\n")) {
        char command[2048];
        if (strncmp(line, "    tenfold ", 12) != 0) continue;
        seen++;
        if (strstr(line, "results/mine") && !(torture && strcmp(torture, "all") == 0)) continue;
        line[strcspn(line, "#")] = '\0';
        snprintf(command, sizeof command, "cd \"$FOLDER\" && PATH=\"$(dirname \"$TENFOLD\"):$PATH\" && %s",
                 line + 4);
        test_run run = test_shell(command);
        if (run.status != 0) print_error("%s\nstatus %d: %s\n", line, run.status, run.err);
        assert_int_equal(run.status, 0);
        assert_true(strlen(run.out) > 0);
        test_run_free(&run);
        run_now++;
    }
    tn_free(text);
    assert_true(seen >= EXAMPLES_LEAST);
    assert_true(run_now >= EXAMPLES_LEAST - 4);
}

static int set_up(void **state) {
    if (test_folder_make(state) != 0) return -1;
    return symlink(test_source("docs"), test_in_folder("docs"));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(examples_run_as_printed)};
    return cmocka_run_group_tests(tests, set_up, test_folder_remove);
}
