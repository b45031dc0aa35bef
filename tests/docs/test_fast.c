/* The page on techniques says what the sweeps of spaces/fast.yaml say: for each number format the fastest design of so many DSP
 * blocks at most, and of so many LUTs, all by the same law; and how long training takes on the former. */
#include "base/buffer.h"
#include "base/file.h"
#include "base/memory.h"
#include "support/folder.h"
#include "support/pages.h"
#include "support/program.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <math.h>
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
    uint64_t id;
} best;

static best fastest(int f, const char *where) {
    char command[1024];
    best found;
    snprintf(
        command, sizeof command,
        "\"$TENFOLD\" query %s/fast-%d '%s' --sort seconds_per_step --limit 1 --columns "
        "build.rows,build.columns,build.reduction,build.vector,seconds_per_step,joules_per_step,dsp,lut,id "
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
    found.id = strtoull(text, NULL, 10);
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

/* Of a step of the sweep's design with other keys, seconds and joules. */
static void price_of(int f, uint64_t design, const char *schedule, double price[2]) {
    char command[1024];
    snprintf(command, sizeof command, "\"$TENFOLD\" cost %s/fast-%d --point %" PRIu64 " %s%s%s --json",
             test_folder, f, design, schedule ? "--set \"precision_schedule=" : "", schedule ? schedule : "",
             schedule ? "\"" : "");
    test_run run = test_shell(command);
    json_t *said = json_loads(run.out, 0, NULL);
    if (!said) fail_msg("%s\n%s", command, run.err);
    price[0] = json_number_value(json_object_get(json_object_get(said, "latency"), "seconds_per_step"));
    price[1] = json_number_value(json_object_get(json_object_get(said, "energy"), "joules_per_step"));
    assert_true(price[0] > 0 && price[1] > 0);
    json_decref(said);
    test_run_free(&run);
}

/* The first step at which a seed's F1 is that much; 0: none. And its last F1. */
static double step_of(const char *runs, const char *name, int seed, double f1, double *last) {
    char start[64];
    double step = 0, first = 0;
    snprintf(start, sizeof start, "%s,%d,", name, seed);
    *last = NAN;
    for (const char *line = runs; line && *line; line = strchr(line, '\n'), line += line != NULL) {
        if (strncmp(line, start, strlen(start)) != 0) continue;
        char *end;
        step = strtod(line + strlen(start), &end);
        *last = strtod(end + 1, NULL);
        if (first == 0 && *last >= f1) first = step;
    }
    return first;
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

/* Each format on its fastest design of at most 500 DSP blocks: what the steps took until dev is answered so well, mean over the
 * seeds, by runs that scripts/time-to-accuracy made. */
static void until_accuracy(void **state) {
    (void)state;
    static const struct {
        const char *name;
        int format;
        const char *begin, *end; /* schedules of a step before the change and of one behind it */
        double share;
    } row[] = {{"fp32", 0, NULL, NULL, 0},
               {"bfp4", 3, NULL, NULL, 0},
               {"fast-2-to-4", 6, "{begin: 'bfp16,8,2', steps: 1}", "{begin: 'bfp16,8,2', steps: 0}", 0.5},
               {"fp32-first", 7, "{begin: fp32, steps: 1}", "{begin: fp32, steps: 0}", 0.25}};
    enum { SEEDS = 3, STEPS = 8956 };
    static const double f1[] = {0.6, 0.7};
    tn_buffer text = {0};
    char *runs;
    size_t length;
    assert_int_equal(
        tn_file_read(TEST_SOURCE_DIR "/docs/figures/accuracy-by-step.csv", 1 << 20, &runs, &length, NULL),
        TN_OK);
    tn_buffer_text(&text,
                   "| products | run | a step before: ms | mJ | a step behind: ms | mJ | F1 60 %: s | J | "
                   "seeds | F1 70 %: s "
                   "| J | seeds | last F1, % |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        const best found = fastest(row[i].format, budget[0]);
        double before[2], behind[2], last;
        price_of(row[i].format, found.id, row[i].begin, before);
        price_of(row[i].format, found.id, row[i].end, behind);
        tn_buffer_format(&text, "| %s | %s | %.3f | %.2f | %.3f | %.2f |", format[row[i].format].name,
                         row[i].name, 1e3 * before[0], 1e3 * before[1], 1e3 * behind[0], 1e3 * behind[1]);
        for (int k = 0; k < 2; k++) {
            double sum[2] = {0};
            int seeds = 0;
            for (int seed = 1; seed <= SEEDS; seed++) {
                const double step = step_of(runs, row[i].name, seed, f1[k], &last);
                const double early = fmin(step, row[i].share * STEPS);
                seeds += step > 0;
                for (int p = 0; p < 2; p++) sum[p] += early * before[p] + (step - early) * behind[p];
            }
            if (seeds > 0)
                tn_buffer_format(&text, " %.1f | %.0f | %d |", sum[0] / seeds, sum[1] / seeds, seeds);
            else
                tn_buffer_text(&text, " | | 0 |");
        }
        int runs_found = 0;
        for (int seed = 1; seed <= SEEDS; seed++) {
            step_of(runs, row[i].name, seed, 2, &last);
            tn_buffer_text(&text, seed == 1 ? " " : ", ");
            if (isnan(last)) /* no such run was made */
                tn_buffer_text(&text, "-");
            else
                tn_buffer_format(&text, "%.1f", 100 * last);
            runs_found += !isnan(last);
        }
        assert_true(runs_found >= 2);
        tn_buffer_text(&text, " |\n");
    }
    test_page("techniques.md", "time to accuracy", &text);
    tn_buffer_free(&text);
    tn_free(runs);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(at_equal_area), cmocka_unit_test(until_accuracy)};
    return cmocka_run_group_tests(tests, test_folder_make, test_folder_remove);
}
