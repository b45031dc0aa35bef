/* How fast a report opens: `tenfold report` of some 3,000 designs that no other beats, in a headless Chromium. Prints the page's bytes and, of
 * a first opening and the median of nine more, milliseconds from the start of navigation to the first paint, to the end of the document's own
 * scripts and to the load event. BENCH_REPORT=DIR opens the report of that sweep instead. */
#include "support/browser.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { OPENINGS = 10, TIMES = 3 };
static const char *const names[TIMES] = {"first paint", "document and scripts", "load"};
static const char times[] =
    "(() => { const n = performance.getEntriesByType('navigation')[0], p = "
    "performance.getEntriesByName('first-paint')[0];"
    " return p && n.loadEventEnd ? [p.startTime, n.domContentLoadedEventEnd, n.loadEventEnd] : null; })()";
static const char space[] =
    "kind: space\nname: report\nmodel: atis-2enc\ndevice: u50@user-area\naccuracy_table: " BENCH_SOURCE_DIR
    "/spaces/atis-accuracy.csv\nset: "
    "[build.layouts=ideal]\nchoices:\n"
    "  weights.square.folding: {factors: [3], smallest: 8, largest: 48, pairs: mirrored}\n"
    "  weights.square.rank: {from: 2, to: 48, step: 2}\n"
    "  weights.square.flow: [right-to-left, bidirectional, optimal]\n"
    "  build.rows: {from: 1, to: 16, times: 2}\n  build.columns: {from: 1, to: 8, times: 2}\n"
    "  build.reduction: {from: 1, to: 16, times: 2}\n  build.sharing: [shared, per-phase]\n  build.vector: "
    "[4, 16]\n"
    "objectives: [seconds_per_step, bram18, uram, dsp, lut, ff, accuracy]\n";

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void shell(const char *command) {
    if (system(command) == 0) return;
    fprintf(stderr, "bench_report: failed: %s\n", command);
    exit(1);
}

static void open_page(const char *folder) {
    double taken[TIMES][OPENINGS];
    char url[1024];
    snprintf(url, sizeof url, "file://%s/report.html", folder);
    test_browser *browser = test_browser_open(folder);
    if (!browser) exit(1);
    for (int i = 0; i < OPENINGS; i++) {
        char there[1024];
        snprintf(there, sizeof there, "%s !== null", times);
        if (!test_browser_visit(browser, url, there)) exit(1);
        json_t *told = test_browser_value(browser, times);
        for (size_t k = 0; k < TIMES; k++) taken[k][i] = json_number_value(json_array_get(told, k));
        json_decref(told);
    }
    json_t *designs = test_browser_value(browser, "front.rows.length");
    printf("%lld designs; milliseconds, first opening and median of %d more:\n",
           (long long)json_integer_value(designs), OPENINGS - 1);
    json_decref(designs);
    for (size_t k = 0; k < TIMES; k++) {
        double first = taken[k][0];
        qsort(&taken[k][1], OPENINGS - 1, sizeof(double), compare);
        printf("  %-22s %6.0f %6.0f\n", names[k], first, taken[k][OPENINGS / 2]);
    }
    test_browser_close(browser);
}

int main(void) {
    char folder[] = "/tmp/bench-report-XXXXXX", path[64], command[2048];
    const char *swept = getenv("BENCH_REPORT");
    struct stat about;
    if (!test_browser_there()) {
        puts("SKIPPED: chromium is not installed");
        return 0;
    }
    if (!mkdtemp(folder)) return 1;
    snprintf(path, sizeof path, "%s/space.yaml", folder);
    FILE *file = fopen(path, "w");
    if (!file || fputs(space, file) < 0 || fclose(file) != 0) return 1;
    snprintf(command, sizeof command, BENCH_PROGRAM " sweep %s -o %s/swept --quiet >/dev/null", path, folder);
    if (!swept) shell(command);
    snprintf(path, sizeof path, "%s/report.html", folder);
    snprintf(command, sizeof command, BENCH_PROGRAM " report %s%s -o %s >/dev/null", swept ? swept : folder,
             swept ? "" : "/swept", path);
    shell(command);
    if (stat(path, &about) != 0) return 1;
    printf("report: %lld bytes, ", (long long)about.st_size);
    open_page(folder);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    shell(command);
    return 0;
}
