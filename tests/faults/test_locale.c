/* Commands in a process whose locale has a decimal comma read and write what they do in any other: answers, results of
 * sweeps, weights, fitted laws, figures' data. */
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

#include "support/program.h"

/* Each writes into $OUT; times that a command tells are blanked. */
static const char *const lines[] = {
    "sweep $SOURCE/tests/space/data/mini.yaml -o $OUT/sweep --quiet --json | sed "
    "'s/seconds.*//;s/designs_per.*//'",
    "recommend $OUT/sweep",
    "cost atis-2enc --device u50 --json",
    "cost atis-2enc --device u50 --set clock_MHz=187.5",
    "order --layer tt:m=4x4,n=4x4,rank=3,tokens=4 --json | sed 's/\"seconds.*//'",
    "ranks --matrix $SOURCE/docs/examples/w.npy --fold m=4x4x4,n=4x4x4 --format tt --tolerance 0.5,0.25 -o "
    "$OUT/ranks",
    "ranks --table $OUT/table.csv --budget params=60.5",
    "roofline fit --device h200 $OUT/products.csv --splits 1 --starts 1 -o $OUT/law.yaml",
    "roofline --device $OUT/law.yaml --dtype fp32 --m 64 --n 64 --k 64",
    "finetune fit $SOURCE/docs/examples/measured.csv --law best --json",
    "plot $OUT/sweep --format svg >/dev/null; cat $OUT/sweep/figures/*.dat",
};

static const char made[] =
    "set -e; mkdir -p $OUT; "
    "printf 'layer,cap,params,sqerr\\na,1,10.5,2.25\\na,2,20,1.125\\nb,1,30,0.5\\n' >$OUT/table.csv; "
    "{ echo dtype,M,N,K,graph_us; for m in 16 64 256 1024; do for n in 32 128 512; do for k in 48 96 768 "
    "3072; do "
    "echo fp32,$m,$n,$k,$(awk -v x=$((m * n * k)) 'BEGIN { printf \"%.3f\", 2.5 + x / 2e7 }'); done; done; "
    "done; } "
    ">$OUT/products.csv; ";

static test_run run(const char *environment, const char *line, const char *out) {
    char command[4096];
    snprintf(command, sizeof command,
             "export SOURCE='%s' OUT='%s' OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1; %s"
             "tenfold() { %s \"$TENFOLD\" \"$@\"; }; cd /; tenfold %s",
             TEST_SOURCE_DIR, out, made, environment, line);
    return test_shell(command);
}

static void a_decimal_comma_changes_nothing(void **state) {
    (void)state;
    char folder[] = "/tmp/tenfold-comma-XXXXXX", command[512], comma[256], plain[64], other[64];
    assert_non_null(mkdtemp(folder));
    snprintf(command, sizeof command, "localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8 >/dev/null 2>&1", folder);
    bool can = COMMA_LIBRARY[0] && system(command) == 0;
    snprintf(comma, sizeof comma, "LOCPATH=%s LC_ALL=de_DE.UTF-8 LD_PRELOAD=%s", folder, COMMA_LIBRARY);
    snprintf(plain, sizeof plain, "%s/plain", folder);
    snprintf(other, sizeof other, "%s/other", folder);
    if (can) { /* the locale is truly in force */
        snprintf(command, sizeof command, "test \"$(%s /usr/bin/printf %%.1f 1,5)\" = 1,5", comma);
        assert_int_equal(system(command), 0);
    }
    for (size_t i = 0; can && i < sizeof lines / sizeof *lines; i++) {
        test_run a = run("LC_ALL=C", lines[i], plain), b = run(comma, lines[i], other);
        if (a.status != 0 || b.status != 0) print_error("%s: %s%s\n", lines[i], a.err, b.err);
        assert_int_equal(a.status, 0);
        assert_int_equal(b.status, 0);
        for (char *cursor = b.out; (cursor = strstr(cursor, other)); cursor += strlen(plain))
            memcpy(cursor, plain, strlen(plain));
        assert_string_equal(a.out, b.out);
        test_run_free(&a);
        test_run_free(&b);
    }
    snprintf(command, sizeof command,
             "cd %s && diff -r -x sweep.db -x sweep.lock -x '*.json' plain other && "
             "test \"$(find plain -type f | wc -l)\" -gt 20",
             folder);
    if (can) assert_int_equal(system(command), 0);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    assert_int_equal(system(command), 0);
    if (can) return;
    print_message("SKIPPED: localedef makes no locale with a decimal comma, or the program is sanitized\n");
    skip();
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_decimal_comma_changes_nothing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
