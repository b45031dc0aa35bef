/* The page of a sweep: it needs nothing else, its numbers are those of front.csv, and a browser, where one is there,
 * shows it without an error and filters as front.csv says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "support/folder.h"
#include "support/program.h"
#include "text/csv.h"

static const char space[] = "kind: space\n"
                            "name: </script><b>it's\n"
                            "model: atis-2enc\n"
                            "device: u50@user-area\n"
                            "choices:\n"
                            "  weights.square.rank: {from: 2, to: 24, step: 2}\n"
                            "  weights.square.flow: [right-to-left, optimal]\n"
                            "  build.rows: {from: 1, to: 8, times: 2}\n"
                            "  build.columns: {from: 1, to: 8, times: 2}\n";

static char *read_text(const char *name) {
    FILE *file = fopen(test_in_folder(name), "rb");
    struct stat about;
    assert_non_null(file);
    assert_int_equal(fstat(fileno(file), &about), 0);
    char *text = calloc((size_t)about.st_size + 1, 1);
    assert_int_equal(fread(text, 1, (size_t)about.st_size, file), about.st_size);
    fclose(file);
    return text;
}

static int sweep(void **state) {
    assert_int_equal(test_folder_make(state), 0);
    FILE *file = fopen(test_in_folder("space.yaml"), "w");
    assert_non_null(file);
    assert_true(fputs(space, file) >= 0 && fclose(file) == 0);
    test_run run =
        test_program("sweep", test_in_folder("space.yaml"), "-o", test_in_folder("swept"), "--quiet", NULL);
    assert_int_equal(run.status, 0);
    test_run_free(&run);
    json_t *j = test_program_json(0, "report", test_in_folder("swept"), "-o", test_in_folder("report.html"),
                                  "--json", NULL);
    assert_int_equal(json_array_size(json_object_get(j, "reports")), 1);
    json_decref(j);
    return 0;
}

static void needs_nothing_else(void **state) {
    (void)state;
    char *page = read_text("report.html");
    static const char *const outside[] = {"src=",   "href=\"http",    "@import", "url(",
                                          "fetch(", "XMLHttpRequest", "import("};
    for (size_t i = 0; i < sizeof outside / sizeof *outside; i++) assert_null(strstr(page, outside[i]));
    assert_null(strstr(page, "</script><b>")); /* names from outside stay text */
    assert_non_null(strstr(page, "\\u003c/script>"));
    assert_true(strlen(page) < 2000000);
    free(page);
}

/* Its data are front.csv to the letter. */
static void numbers_are_those_of_the_front(void **state) {
    (void)state;
    char *page = read_text("report.html"), *front = read_text("swept/front.csv");
    const char *at = strstr(page, "\"front\": ");
    assert_non_null(at);
    json_t *text = json_loads(at + strlen("\"front\": "), JSON_DECODE_ANY | JSON_DISABLE_EOF_CHECK, NULL);
    assert_non_null(text);
    assert_string_equal(json_string_value(text), front);
    json_decref(text);
    free(page);
    free(front);
}

static unsigned designs_within(double most_dsp, double least_rank) {
    tn_arena arena = {0};
    tn_csv csv;
    tn_error error;
    static const char *const names[] = {"dsp", "weights.square.rank"};
    size_t column[2];
    unsigned count = 0;
    assert_int_equal(tn_csv_load(test_in_folder("swept/front.csv"), &arena, &csv, &error), TN_OK);
    assert_int_equal(tn_csv_columns(&csv, names, 2, false, column, &error), TN_OK);
    for (size_t i = 0; i < csv.rows; i++)
        count += atof(tn_csv_at(&csv, i, column[0])->text) <= most_dsp &&
                 atof(tn_csv_at(&csv, i, column[1])->text) >= least_rank;
    tn_arena_free(&arena);
    return count;
}

static void a_browser_shows_and_filters_it(void **state) {
    (void)state;
    char command[1024], wanted[64];
    test_run there = test_shell("command -v chromium");
    bool can = there.status == 0;
    test_run_free(&there);
    if (!can) {
        print_message("SKIPPED: chromium is not installed; no browser has looked at the page\n");
        skip();
    }
    static const double bounds[][2] = {{1e9, 0}, {500, 8}, {300, 20}};
    for (size_t i = 0; i < 3; i++) {
        snprintf(command, sizeof command,
                 "HOME=%s timeout 100 chromium --headless=new --no-sandbox --disable-gpu "
                 "--user-data-dir=%s/profile "
                 "--dump-dom 'file://%s/report.html#dsp<=%g&weights.square.rank>=%g' 2>%s/said",
                 test_folder, test_folder, test_folder, bounds[i][0], bounds[i][1], test_folder);
        test_run dom = test_shell(command);
        assert_int_equal(dom.status, 0);
        assert_non_null(strstr(dom.out, "data-errors=\"0\""));
        assert_non_null(strstr(dom.out, "data-ready=\"yes\""));
        snprintf(wanted, sizeof wanted, ">%u of %u designs</output>",
                 designs_within(bounds[i][0], bounds[i][1]), designs_within(1e9, 0));
        if (!strstr(dom.out, wanted)) print_error("no %s\n", wanted);
        assert_non_null(strstr(dom.out, wanted));
        test_run_free(&dom);
    }
}

static void nothing_fits(void **state) {
    (void)state;
    test_run run = test_shell(
        "cd \"$(mktemp -d)\" && printf 'kind: space\\nname: none\\nmodel: atis-2enc\\ndevice: u50\\nchoices: "
        "{weights.square.rank: [4, 8]}\\nconstraints: [dsp <= 1]\\n' >s.yaml; $TENFOLD sweep s.yaml -o o "
        "--quiet >/dev/null; $TENFOLD report o; s=$?; test ! -e o/report.html || s=9; rm -r \"$PWD\"; exit "
        "$s");
    assert_int_equal(run.status, 1);
    assert_non_null(strstr(run.out, "no design that fits"));
    test_run_free(&run);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(needs_nothing_else),
        cmocka_unit_test(numbers_are_those_of_the_front),
        cmocka_unit_test(a_browser_shows_and_filters_it),
        cmocka_unit_test(nothing_fits),
    };
    return cmocka_run_group_tests(tests, sweep, test_folder_remove);
}
