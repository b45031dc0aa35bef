/* The table of docs/what-pays.md that compares every technique is what scripts/what-pays finds: each row's sweeps are run anew. Each
 * group begins with what the others are compared with, which is as fast as itself. */
#include "base/buffer.h"
#include "support/folder.h"
#include "support/pages.h"
#include "support/program.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

static void the_table_is_what_sweeps_find(void **state) {
    (void)state;
    static const char *const group[] = {"training", "inference", "decode"};
    char line[1024], build[512];
    tn_buffer text = {0};
    snprintf(build, sizeof build, "%s", TEST_PROGRAM);
    *strrchr(build, '/') = '\0';
    snprintf(line, sizeof line, "\"%s/scripts/what-pays\" \"%s\" \"%s\"", TEST_SOURCE_DIR, build,
             test_in_folder("pays"));
    test_run run = test_shell(line);
    if (run.status != 0) fail_msg("%s\nstatus %d: %s", line, run.status, run.err);
    tn_buffer_text(&text, run.out);
    for (size_t i = 0; i < sizeof group / sizeof *group; i++) {
        snprintf(line, sizeof line, "| %s | none | - | 1.00 | 1.00 | 1.00 |", group[i]);
        assert_non_null(strstr(run.out, line));
    }
    test_page("what-pays.md", "what pays", &text);
    test_run_free(&run);
    tn_buffer_free(&text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_is_what_sweeps_find),
    };
    return cmocka_run_group_tests(tests, test_folder_make, test_folder_remove);
}
