/* The page on techniques says what the sweeps of spaces/fast.yaml say: for each number format the fastest design of so many DSP
 * blocks at most, and of so many LUTs, all by the same law. */
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
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name, *set;
} format[] = {
    {"fp32", "precision.products=fp32"},
    {"bf16", "precision.products=bf16"},
    {"int8", "precision.products=int8"},
    {"bfp16,8,4", "\"precision.products=bfp16,8,4\""},
    {"bfp16,8,2", "\"precision.products=bfp16,8,2\""},
    {"bfp16,8,4 in chunks",
     "\"precision.products=bfp16,8,4\", \"precision_schedule={begin: 'bfp16,8,2', steps: 0}\""},
    {"FAST: bfp16,8,2, then bfp16,8,4",
     "\"precision.products=bfp16,8,4\", \"precision_schedule={begin: 'bfp16,8,2', steps: 0.5}\""},
    {"fp32, then bfp16,8,4",
     "\"precision.products=bfp16,8,4\", \"precision_schedule={begin: fp32, steps: 0.25}\""},
};
static const char *const budget[] = {"dsp <= 500", "lut <= 200000"};
enum { FORMATS = sizeof format / sizeof *format, BUDGETS = sizeof budget / sizeof *budget };

/* rows, columns, reduction, lanes, seconds, joules, dsp, lut of the fastest */
enum { SECONDS = 4, JOULES, DSP, LUT, FIGURES };
typedef struct {
    double figure[FIGURES];
} best;

static best fastest(int f, const char *where) {
    char command[1024];
    best found;
    snprintf(command, sizeof command,
             "\"$TENFOLD\" query %s/fast-%d '%s' --sort seconds_per_step --limit 1 --columns "
             "build.rows,build.columns,build.reduction,build.vector,seconds_per_step,joules_per_step,dsp,lut "
             "--csv | tail -n 1",
             test_folder, f, where);
    test_run run = test_shell(command);
    char *text = run.out;
    if (run.status != 0) fail_msg("%s", run.err);
    for (int i = 0; i < FIGURES; i++) {
        char *end;
        found.figure[i] = strtod(text, &end);
        if (end == text) fail_msg("%s\nprints %s", command, run.out);
        text = end + (*end == ',');
    }
    test_run_free(&run);
    return found;
}

/* The keys hold quotes, so they go by way of the environment. */
static void sweep(int f) {
    char command[1024], set[512];
    snprintf(set, sizeof set, "set=[%s]", format[f].set);
    assert_int_equal(setenv("FORMAT_SET", set, 1), 0);
    snprintf(command, sizeof command,
             "\"$TENFOLD\" sweep %s/spaces/fast.yaml --set \"$FORMAT_SET\" -o %s/fast-%d --quiet",
             TEST_SOURCE_DIR, test_folder, f);
    test_run run = test_shell(command);
    if (run.status != 0) fail_msg("%s\n%s", command, run.err);
    test_run_free(&run);
}

static void put_best(tn_buffer *text, const best *b, const best *plain) {
    const double *f = b->figure;
    tn_buffer_format(text, " %.0f x %.0f x %.0f, %.0f | %.0f | %.0f | %.2f | %.1f | %.2f |", f[0], f[1], f[2],
                     f[3], f[DSP], f[LUT], 1e3 * f[SECONDS], 1e3 * f[JOULES],
                     plain->figure[SECONDS] / f[SECONDS]);
}

static void at_equal_area(void **state) {
    (void)state;
    tn_buffer text = {0};
    best plain[BUDGETS];
    tn_buffer_text(
        &text,
        "| products | 500 DSP: kernel | DSP | LUT | ms | mJ | times fp32 | 200,000 LUT: kernel | DSP | LUT "
        "| ms | mJ | times fp32 |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|\n");
    for (int f = 0; f < FORMATS; f++) {
        sweep(f);
        tn_buffer_format(&text, "| %s |", format[f].name);
        for (int b = 0; b < BUDGETS; b++) {
            const best found = fastest(f, budget[b]);
            assert_true(b ? found.figure[LUT] <= 200000 : found.figure[DSP] <= 500);
            if (f == 0) plain[b] = found;
            put_best(&text, &found, &plain[b]);
        }
        tn_buffer_text(&text, "\n");
    }
    test_page("techniques.md", "fast", &text);
    tn_buffer_free(&text);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(at_equal_area)};
    return cmocka_run_group_tests(tests, test_folder_make, test_folder_remove);
}
