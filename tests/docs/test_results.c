/* The scripts of docs/results.md, of the standard library and of pandas, read a folder of results as the page says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/folder.h"
#include "support/program.h"

static int sweep(void **state) {
    if (test_folder_make(state) != 0) return -1;
    test_run run = test_program("sweep", TEST_SOURCE_DIR "/tests/space/data/mini.yaml", "-o",
                                test_in_folder("results/mine"), "--quiet", NULL);
    int status = run.status;
    test_run_free(&run);
    return status;
}

/* A python3 that imports the modules, PATH's or the system's, or skips, saying so. */
static const char *python_with(const char *modules) {
    static const char *const python[] = {"python3", "/usr/bin/python3"};
    for (size_t i = 0; i < 2; i++) {
        char command[256];
        snprintf(command, sizeof command, "%s -c 'import %s'", python[i], modules);
        test_run run = test_shell(command);
        int status = run.status;
        test_run_free(&run);
        if (status == 0) return python[i];
    }
    print_message("SKIPPED: no python3 that has %s\n", modules);
    skip();
    return NULL;
}

/* Runs the page's `nth` block of Python and holds its lines to front.csv, read by other means: the number of designs, the fastest, and
 * the three fastest of rank 8 or more. */
static void run_block(const char *python, int nth) {
    char command[4096];
    snprintf(
        command, sizeof command,
        "set -e; cd '%s'; "
        "awk '/^```python/ { n++; on = n == %d; next } /^```/ { on = 0 } on' "
        "'" TEST_SOURCE_DIR "/docs/results.md' >read.py; %s read.py >said; "
        "awk 'END { print NR - 1 }' results/mine/front.csv >count; "
        "%s - <<'END'\n"
        "import csv\n"
        "lines = open('said').read().splitlines()\n"
        "rows = list(csv.reader(open('results/mine/front.csv', newline='')))\n"
        "head, rows = rows[0], rows[1:]\n"
        "at, rank = head.index('seconds_per_step'), head.index('weights.square.rank')\n"
        "rows.sort(key=lambda row: float(row[at]))\n"
        "assert lines[0] == f'{len(rows)} designs; the fastest is {rows[0][0]}', lines\n"
        "assert str(len(rows)) == open('count').read().strip()\n"
        "high = [row for row in rows if int(row[rank]) >= 8][:3]\n"
        "assert len(high) > 0\n"
        "for line, row in zip(lines[1:], high):\n"
        "    assert line.split()[0] == row[0] and float(line.split()[1]) == float(row[at]), (line, row)\n"
        "assert len(lines) > 1 + len(high), lines\n"
        "END",
        test_folder, nth, python, python);
    test_run run = test_shell(command);
    if (run.status != 0) print_error("%s%s\n", run.out, run.err);
    assert_int_equal(run.status, 0);
    test_run_free(&run);
}

static char *last_line(void) {
    test_run run = test_shell("tail -n 1 \"$FOLDER/said\"");
    char *line = strdup(run.out);
    test_run_free(&run);
    return line;
}

static void the_script_reads_results(void **state) {
    (void)state;
    run_block(python_with("sqlite3"), 1);
    char *last = last_line();
    assert_string_equal(last, "complete: exhausted\n");
    free(last);
}

/* Its last table has the least of each rank; the greatest rank stands last. */
static void pandas_reads_results(void **state) {
    (void)state;
    const char *python = python_with("pandas, sqlite3");
    run_block(python, 2);
    test_run run = test_shell(
        "cd \"$FOLDER\" && python3 - <<'END'\n"
        "import csv\n"
        "rows = list(csv.DictReader(open('results/mine/front.csv', newline='')))\n"
        "most = max(int(row['weights.square.rank']) for row in rows)\n"
        "least = min(int(row['on_chip_bytes']) for row in rows if int(row['weights.square.rank']) == most)\n"
        "words = open('said').read().splitlines()[-1].split()\n"
        "assert [int(words[0]), int(words[2])] == [most, least], words\n"
        "END");
    if (run.status != 0) print_error("%s\n", run.err);
    assert_int_equal(run.status, 0);
    test_run_free(&run);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_script_reads_results),
        cmocka_unit_test(pandas_reads_results),
    };
    return cmocka_run_group_tests(tests, sweep, test_folder_remove);
}
