/* The page of a sweep: it needs nothing else, its numbers are those of front.csv, and a browser, where one is there,
 * shows it without an error, filters as front.csv says, goes by keyboard, and fits a phone and paper. */
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

#include "support/browser.h"
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

static tn_arena arena;
static tn_csv front;
static test_browser *browser;
static const char ready[] = "document.body && document.body.dataset.ready === 'yes'";

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
    assert_int_equal(tn_csv_load(test_in_folder("swept/front.csv"), &arena, &front, NULL), TN_OK);
    if (!test_browser_there()) {
        print_message("SKIPPED: chromium is not installed; no browser has looked at the page\n");
        return 0;
    }
    browser = test_browser_open(test_in_folder("profile"));
    assert_non_null(browser);
    return 0;
}

static int tear_down(void **state) {
    if (browser) test_browser_close(browser);
    tn_arena_free(&arena);
    return test_folder_remove(state);
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
    char *page = read_text("report.html"), *file = read_text("swept/front.csv");
    const char *cursor = strstr(page, "\"front\": ");
    assert_non_null(cursor);
    json_t *text = json_loads(cursor + strlen("\"front\": "), JSON_DECODE_ANY | JSON_DISABLE_EOF_CHECK, NULL);
    assert_non_null(text);
    assert_string_equal(json_string_value(text), file);
    json_decref(text);
    free(page);
    free(file);
}

static size_t column_of(const char *name) {
    tn_error error;
    size_t column;
    assert_int_equal(tn_csv_columns(&front, &name, 1, false, &column, &error), TN_OK);
    return column;
}

static const char *text_at(size_t row, size_t column) {
    return tn_csv_at(&front, row, column)->text;
}

static unsigned designs_within(double most_dsp, double least_rank) {
    size_t dsp = column_of("dsp"), rank = column_of("weights.square.rank");
    unsigned count = 0;
    for (size_t i = 0; i < front.rows; i++)
        count += atof(text_at(i, dsp)) <= most_dsp && atof(text_at(i, rank)) >= least_rank;
    return count;
}

/* Opens the page with bounds, without an error. */
static void visit(const char *bounds) {
    char url[512];
    if (!browser) skip();
    snprintf(url, sizeof url, "file://%s/report.html#%s", test_folder, bounds);
    assert_true(test_browser_visit(browser, url, ready));
    json_t *errors = test_browser_value(browser, "document.body.dataset.errors");
    assert_string_equal(json_string_value(errors), "0");
    json_decref(errors);
}

static char *words(const char *expression) {
    json_t *value = test_browser_value(browser, expression);
    if (!json_is_string(value)) fail_msg("%s is no text", expression);
    char *copy = strdup(json_string_value(value));
    json_decref(value);
    return copy;
}

static void a_browser_filters_it(void **state) {
    static const double bounds[][2] = {{1e9, 0}, {500, 8}, {300, 20}};
    char hash[128], wanted[64];
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        snprintf(hash, sizeof hash, "dsp<=%g&weights.square.rank>=%g", bounds[i][0], bounds[i][1]);
        visit(hash);
        snprintf(wanted, sizeof wanted, "%u of %u designs", designs_within(bounds[i][0], bounds[i][1]),
                 designs_within(1e9, 0));
        char *count = words("document.getElementById('count').textContent");
        assert_string_equal(count, wanted);
        free(count);
    }
}

/* Every cell of the table that it shows is the text of that column in the design's row. */
static void its_table_is_the_front(void **state) {
    (void)state;
    visit("");
    json_t *table = test_browser_value(browser, "while (!document.getElementById('more').hidden) "
                                                "document.getElementById('more').click();"
                                                "[...document.querySelectorAll('#designs tr')].map(r => "
                                                "[...r.cells].map(c => c.textContent.split(' ')[0]))");
    json_t *head = json_array_get(table, 0);
    assert_int_equal(json_array_size(table), front.rows + 1);
    assert_true(json_array_size(head) >= 5);
    for (size_t i = 1; i <= front.rows; i++) {
        json_t *row = json_array_get(table, i);
        size_t index = 0;
        while (index < front.rows &&
               strcmp(text_at(index, 0), json_string_value(json_array_get(row, 0))) != 0)
            index++;
        assert_true(index < front.rows);
        for (size_t k = 0; k < json_array_size(head); k++)
            assert_string_equal(json_string_value(json_array_get(row, k)),
                                text_at(index, column_of(json_string_value(json_array_get(head, k)))));
    }
    json_decref(table);
}

/* The design at the end of the axis `across`, by the file. */
static const char *id_at_end(const char *across, const char *up, bool last) {
    size_t x = column_of(across), y = column_of(up), best = 0;
    for (size_t i = 1; i < front.rows; i++) {
        double dx = atof(text_at(i, x)) - atof(text_at(best, x)),
               dy = atof(text_at(best, y)) - atof(text_at(i, y)); /* pixels go down */
        if (last ? dx > 0 || (dx == 0 && dy > 0) : dx < 0 || (dx == 0 && dy < 0)) best = i;
    }
    return text_at(best, 0);
}

static void the_keyboard_reaches_a_design(void **state) {
    char wanted[64];
    (void)state;
    visit("");
    bool there = false;
    for (int i = 0; i < 40 && !there; i++) {
        test_browser_press(browser, "Tab");
        json_t *object = test_browser_value(browser, "document.activeElement.parentElement.id === 'scatter'");
        there = json_is_true(object);
        json_decref(object);
    }
    assert_true(there);
    char *x = words("document.getElementById('x').value"), *y = words("document.getElementById('y').value");
    for (int last = 0; last < 2; last++) {
        test_browser_press(browser, last ? "End" : "Home");
        test_browser_press(browser, last ? "ArrowRight" : "ArrowLeft"); /* stays at the end */
        test_browser_press(browser, "Enter");
        char *selected = words("document.querySelector('#selected h3').textContent");
        snprintf(wanted, sizeof wanted, "Selected: design %s", id_at_end(x, y, last));
        assert_string_equal(selected, wanted);
        free(selected);
    }
    test_browser_press(browser, "ArrowLeft");
    test_browser_press(browser, "Enter");
    char *selected = words("document.querySelector('#selected h3').textContent");
    assert_string_not_equal(selected, wanted);
    free(selected), free(x), free(y);
}

static bool holds(const char *expression) {
    json_t *value = test_browser_value(browser, expression);
    bool yes = json_is_true(value);
    json_decref(value);
    return yes;
}

static void phone_and_paper(void **state) {
    (void)state;
    if (!browser) skip();
    json_decref(test_browser_ask(
        browser, "Emulation.setDeviceMetricsOverride",
        json_pack("{s:i, s:i, s:i, s:b}", "width", 360, "height", 740, "deviceScaleFactor", 2, "mobile", 1)));
    visit("");
    assert_true(holds("innerWidth === 360 && document.documentElement.scrollWidth <= 360"));
    assert_true(
        holds("[...document.querySelectorAll('svg')].every(s => s.getBoundingClientRect().right <= 360)"));
    json_decref(test_browser_ask(browser, "Emulation.clearDeviceMetricsOverride", NULL));
    visit("");
    json_t *paper = test_browser_ask(browser, "Page.printToPDF", NULL);
    const char *pdf = json_string_value(json_object_get(paper, "data"));
    assert_non_null(pdf);
    assert_int_equal(strncmp(pdf, "JVBERi", 6), 0); /* %PDF */
    assert_true(strlen(pdf) > 10000);
    json_decref(paper);
    json_decref(
        test_browser_ask(browser, "Emulation.setEmulatedMedia", json_pack("{s:s}", "media", "print")));
    assert_true(holds("['nav', '#axes', '#bounds', '#tip'].every(s => "
                      "getComputedStyle(document.querySelector(s)).display === 'none')"));
    assert_true(holds(
        "['#headline', '#scatter svg', '#parallel svg', '#memory .bars', '#timeline svg', '#layers .bars', "
        "'#provenance table'].every(s => document.querySelector(s).getBoundingClientRect().height > 20)"));
}

/* The text of a column in the data of a page about one design. */
static char *own_text(const char *file, const char *name) {
    char *page = read_text(file);
    const char *cursor = strstr(page, "\"texts\": ");
    assert_non_null(cursor);
    json_t *texts = json_loads(cursor + strlen("\"texts\": "), JSON_DISABLE_EOF_CHECK, NULL);
    assert_int_equal(json_array_size(texts), front.columns);
    char *text = strdup(json_string_value(json_array_get(texts, column_of(name))));
    json_decref(texts);
    free(page);
    return text;
}

static void write_about(const char *id, const char *file) {
    json_t *j = test_program_json(0, "report", test_in_folder("swept"), "--point", id, "-o",
                                  test_in_folder(file), "--json", NULL);
    json_decref(j);
}

/* Of one of the front all texts are those of its row. */
static void about_a_design_of_the_front(void **state) {
    char *recommended = own_text("report.html", "id"), wanted[64];
    size_t row = strcmp(text_at(0, 0), recommended) == 0;
    (void)state;
    free(recommended);
    write_about(text_at(row, 0), "one.html");
    for (size_t c = 0; c < front.columns; c++) {
        char *text = own_text("one.html", front.head[c].text);
        assert_string_equal(text, text_at(row, c));
        free(text);
    }
    json_t *j = test_program_json(0, "plot", test_in_folder("swept"), "--point", text_at(row, 0), "--format",
                                  "csv", "--json", NULL);
    snprintf(wanted, sizeof wanted, "figures/design-%s/front.csv", text_at(row, 0));
    assert_non_null(strstr(json_string_value(json_array_get(json_object_get(j, "figures"), 0)), wanted));
    json_decref(j);
}

/* Of another its figures are those of `tenfold cost`, and the page says where it stands. */
static void about_a_design_beside_the_front(void **state) {
    char id[32];
    (void)state;
    size_t least = 0;
    while (least < front.rows && (size_t)atol(text_at(least, 0)) == least) least++;
    snprintf(id, sizeof id, "%zu", least); /* front.csv goes by id: the first that it leaves out */
    write_about(id, "beside.html");
    json_t *cost = test_program_json(0, "cost", test_in_folder("swept"), "--point", id, "--json", NULL);
    char *seconds = own_text("beside.html", "seconds_per_step"), *dsp = own_text("beside.html", "dsp");
    assert_true(atof(seconds) ==
                json_number_value(json_object_get(json_object_get(cost, "latency"), "seconds_per_step")));
    assert_int_equal(atol(dsp), json_integer_value(json_object_get(
                                    json_object_get(json_object_get(cost, "resources"), "dsp"), "used")));
    free(seconds), free(dsp);
    json_decref(cost);
    if (!browser) skip();
    char url[512], wanted[64];
    snprintf(url, sizeof url, "file://%s/beside.html", test_folder);
    assert_true(test_browser_visit(browser, url, ready));
    char *heading = words("document.querySelector('#recommended h2').textContent"),
         *bound = words("document.getElementById('bound').textContent"),
         *errors = words("document.body.dataset.errors");
    snprintf(wanted, sizeof wanted, "Design %s", id);
    assert_string_equal(heading, wanted);
    assert_true(strstr(bound, "not on the front") || strstr(bound, "does not fit"));
    assert_string_equal(errors, "0");
    free(heading), free(bound), free(errors);
}

static void a_point_is_an_id(void **state) {
    (void)state;
    test_run run = test_program("report", test_in_folder("swept"), "--point", "first", NULL);
    assert_int_equal(run.status, 2);
    assert_non_null(strstr(run.err, "--point takes the id of a design, a whole number, not 'first'"));
    test_run_free(&run);
    run = test_program("report", test_in_folder("swept"), "--point", "999999", NULL);
    assert_int_equal(run.status, 2);
    assert_non_null(strstr(run.err, "no design 999999; the space has designs 0 to "));
    test_run_free(&run);
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
        cmocka_unit_test(a_browser_filters_it),
        cmocka_unit_test(its_table_is_the_front),
        cmocka_unit_test(the_keyboard_reaches_a_design),
        cmocka_unit_test(phone_and_paper),
        cmocka_unit_test(about_a_design_of_the_front),
        cmocka_unit_test(about_a_design_beside_the_front),
        cmocka_unit_test(a_point_is_an_id),
        cmocka_unit_test(nothing_fits),
    };
    return cmocka_run_group_tests(tests, sweep, tear_down);
}
