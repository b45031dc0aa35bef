/* The script of docs/results.md reads a folder of results as the page says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "support/program.h"

static void the_script_reads_results(void **state) {
    (void)state;
    test_run there = test_shell("command -v python3");
    int absent = there.status;
    test_run_free(&there);
    if (absent) {
        print_message("SKIPPED: python3 is not installed\n");
        skip();
    }
    /* What it prints, by other means: awk over front.csv. */
    test_run run = test_shell(
        "set -e; S='" TEST_SOURCE_DIR
        "'; d=$(mktemp -d); trap 'rm -rf \"$d\"' EXIT; cd \"$d\"; mkdir results; "
        "\"$TENFOLD\" sweep \"$S/tests/explore/data/mini.yaml\" -o results/mine --quiet >/dev/null; "
        "awk '/^```python/ { on = 1; next } /^```/ { on = 0 } on' \"$S/docs/results.md\" >read.py; "
        "python3 read.py >said; "
        "awk 'END { print NR - 1 }' results/mine/front.csv >count; "
        "python3 - <<'END'\n"
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
        "assert lines[-1] == 'complete: exhausted' and len(lines) == 2 + len(high), lines\n"
        "END");
    if (run.status != 0) print_error("%s%s\n", run.out, run.err);
    assert_int_equal(run.status, 0);
    test_run_free(&run);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_script_reads_results)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
