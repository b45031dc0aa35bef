/* The page of a sweep: it needs nothing else, its numbers are those of front.csv, and a browser, where one is there,
 * shows it without an error on the console, filters as front.csv says, shows in every panel the design that is clicked, keeps its
 * state in its address, goes by keyboard without losing the focus, and fits a phone and four pages of paper.
 *
 * TENFOLD_REPORT_OF names a folder of a sweep to look at instead of the one that this makes (scripts/torture browser). */
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
#include <time.h>

#include "space/quantity.h"
#include "support/browser.h"
#include "support/folder.h"
#include "support/program.h"
#include "support/wording.h"
#include "text/csv.h"
#include "text/words.h"

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

/* The folder of the sweep. */
static const char *swept_folder(void) {
    const char *given = getenv("TENFOLD_REPORT_OF");
    return given ? given : test_in_folder("swept");
}

static char *read_text_of(const char *folder, const char *name) {
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    struct stat about;
    assert_non_null(file);
    assert_int_equal(fstat(fileno(file), &about), 0);
    char *text = calloc((size_t)about.st_size + 1, 1);
    assert_int_equal(fread(text, 1, (size_t)about.st_size, file), about.st_size);
    fclose(file);
    return text;
}

static char *read_text(const char *name) {
    return read_text_of(test_folder, name);
}

static int sweep(void **state) {
    assert_int_equal(test_folder_make(state), 0);
    if (!getenv("TENFOLD_REPORT_OF")) {
        FILE *file = fopen(test_in_folder("space.yaml"), "w");
        assert_non_null(file);
        assert_true(fputs(space, file) >= 0 && fclose(file) == 0);
        test_run run =
            test_program("sweep", test_in_folder("space.yaml"), "-o", swept_folder(), "--quiet", NULL);
        assert_int_equal(run.status, 0);
        test_run_free(&run);
    }
    json_t *j =
        test_program_json(0, "report", swept_folder(), "-o", test_in_folder("report.html"), "--json", NULL);
    assert_int_equal(json_array_size(json_object_get(j, "reports")), 1);
    json_decref(j);
    char path[1024];
    snprintf(path, sizeof path, "%s/front.csv", swept_folder());
    assert_int_equal(tn_csv_load(path, &arena, &front, NULL), TN_OK);
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
    char *page = read_text("report.html"), *file = read_text_of(swept_folder(), "front.csv");
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
    assert_int_equal(test_browser_errors(browser), 0);
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

/* Every cell of the table that it shows has the text of that column in the design's row, and shows it in its unit. */
static void its_table_is_the_front(void **state) {
    (void)state;
    visit("");
    json_t *keys = test_browser_value(
        browser, "while (!document.getElementById('more').hidden) document.getElementById('more').click();"
                 "[...document.querySelectorAll('#designs th')].map(h => h.dataset.key)");
    json_t *table =
        test_browser_value(browser, "[...document.querySelectorAll('#designs tr')].slice(1).map(r "
                                    "=> [...r.cells].map(c => [c.title, c.textContent]))");
    assert_int_equal(json_array_size(table), front.rows);
    assert_true(json_array_size(keys) >= 5);
    for (size_t i = 0; i < front.rows; i++) {
        json_t *row = json_array_get(table, i);
        size_t index = 0;
        while (index < front.rows &&
               strcmp(text_at(index, 0), json_string_value(json_array_get(json_array_get(row, 0), 0))) != 0)
            index++;
        assert_true(index < front.rows);
        for (size_t k = 0; k < json_array_size(keys); k++) {
            const char *key = json_string_value(json_array_get(keys, k)),
                       *exact = json_string_value(json_array_get(json_array_get(row, k), 0)),
                       *told = json_string_value(json_array_get(json_array_get(row, k), 1));
            char wanted[48];
            assert_string_equal(exact, text_at(index, column_of(key)));
            const tn_quantity *quantity;
            if (tn_quantity_find(key, (tn_position){0}, &quantity, NULL) == TN_OK)
                assert_string_equal(told, tn_quantity_text(atof(exact), tn_word_unit(key), wanted));
            else if (k > 0 && strspn(exact, "0123456789") == strlen(exact) && strlen(exact) > 4)
                assert_string_equal(told, tn_plain_text(atof(exact), wanted));
            else
                assert_string_equal(told, exact);
        }
    }
    json_decref(keys);
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
        char *selected = words("document.querySelector('#selected b').textContent");
        snprintf(wanted, sizeof wanted, "Design %s", id_at_end(x, y, last));
        assert_string_equal(selected, wanted);
        free(selected);
    }
    test_browser_press(browser, "ArrowLeft");
    test_browser_press(browser, "Enter");
    char *selected = words("document.querySelector('#selected b').textContent");
    assert_string_not_equal(selected, wanted);
    free(selected), free(x), free(y);
}

static bool holds(const char *expression) {
    json_t *value = test_browser_value(browser, expression);
    bool yes = json_is_true(value);
    json_decref(value);
    return yes;
}

/* Value of a character of base 64, 64: none. */
static unsigned six_bits(char c) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *found = c ? strchr(digits, c) : NULL;
    return found ? (unsigned)(found - digits) : 64;
}

static unsigned pages_of(const char *base64) {
    size_t length = 0;
    unsigned pages = 0, bits = 0, held = 0;
    char *pdf = calloc(strlen(base64) + 1, 1);
    assert_non_null(pdf);
    for (; *base64; base64++) {
        if (six_bits(*base64) == 64) continue;
        bits = (bits << 6 | six_bits(*base64)) & 0xFFFFFF;
        held += 6;
        if (held < 8) continue;
        held -= 8;
        pdf[length++] = (char)(bits >> held & 0xFF);
    }
    static const char mark[] = "/Type /Page";
    for (size_t i = 0; i + sizeof mark <= length; i++)
        pages += memcmp(pdf + i, mark, sizeof mark - 1) == 0 && pdf[i + sizeof mark - 1] != 's';
    free(pdf);
    return pages;
}

/* What a person sees on the screen in the element, commands, ids and tables that are typed apart. */
static void check_words(const char *where) {
    char expression[700];
    snprintf(expression, sizeof expression,
             "[...document.querySelectorAll('%s')].flatMap(e => (e.innerText ?? e.textContent).split('\\n'))"
             ".filter(t => t.trim() && !t.includes('--set') && !t.includes('tenfold '))",
             where);
    json_t *texts = test_browser_value(browser, expression);
    assert_true(json_array_size(texts) > 0);
    for (size_t i = 0; i < json_array_size(texts); i++)
        test_wording(json_string_value(json_array_get(texts, i)), where);
    json_decref(texts);
}

static void phone_and_paper(void **state) {
    (void)state;
    if (!browser) skip();
    for (int width = 360; width <= 400; width += 40) {
        json_decref(test_browser_ask(browser, "Emulation.setDeviceMetricsOverride",
                                     json_pack("{s:i, s:i, s:i, s:b}", "width", width, "height", 740,
                                               "deviceScaleFactor", 2, "mobile", 1)));
        visit("");
        char fits[200];
        snprintf(fits, sizeof fits,
                 "innerWidth === %d && document.documentElement.scrollWidth <= %d && "
                 "[...document.querySelectorAll('svg')].every(s => "
                 "s.getBoundingClientRect().right <= %d)",
                 width, width, width);
        assert_true(holds(fits));
    }
    json_decref(test_browser_ask(browser, "Emulation.clearDeviceMetricsOverride", NULL));
    visit("");
    json_t *paper = test_browser_ask(browser, "Page.printToPDF",
                                     json_pack("{s:f, s:f}", "paperWidth", 8.27, "paperHeight", 11.69));
    const char *pdf = json_string_value(json_object_get(paper, "data"));
    assert_non_null(pdf);
    unsigned pages = pages_of(pdf);
    print_message("%u pages\n", pages);
    assert_in_range(pages, 2, 4);
    json_decref(paper);
    json_decref(
        test_browser_ask(browser, "Emulation.setEmulatedMedia", json_pack("{s:s}", "media", "print")));
    assert_true(holds("['nav', '#axes', '#bounds', '#tip'].every(s => "
                      "getComputedStyle(document.querySelector(s)).display === 'none')"));
    assert_true(
        holds("['#advice', '#scatter svg', '#designs', '#resources', '#memory .bars', '#timeline svg', "
              "'#layers .bars', '#validation p', '#provenance table'].every(s => "
              "document.querySelector(s).getBoundingClientRect().height > 10)"));
    json_decref(test_browser_ask(browser, "Emulation.setEmulatedMedia", json_pack("{s:s}", "media", "")));
}

/* The words on top are those of `tenfold recommend`, and the page opens with its design. */
static void says_what_recommend_says(void **state) {
    (void)state;
    visit("");
    test_run run = test_program("recommend", swept_folder(), NULL);
    char *said = words("bare = document.getElementById('advice').cloneNode(true), "
                       "bare.querySelectorAll('.copy').forEach(b => b.remove()), "
                       "[...bare.children].map(e => e.textContent).join(' ')");
    const char *a = said, *b = strstr(run.out, "build "); /* behind what it says of an unfinished sweep */
    assert_non_null(b);
    while (*a || *b) { /* the same but for blanks and ends of lines */
        while (*a == ' ' || *a == '\n') a++;
        while (*b == ' ' || *b == '\n') b++;
        if (*a != *b) fail_msg("the page: %.60s\nrecommend: %.60s", a, b);
        a += *a != '\0', b += *b != '\0';
    }
    char *shown = words("document.querySelector('#shown h2').textContent"), design[64] = "D", id[32];
    assert_int_equal(sscanf(strstr(run.out, "build "), "build design %31[0-9]", id), 1);
    snprintf(design, sizeof design, "Design %s", id);
    assert_string_equal(shown, design);
    free(said), free(shown);
    test_run_free(&run);
}

static void no_raw_words(void **state) {
    (void)state;
    visit("");
    check_words("header, #recommended, #axes option, #legend, #selected, #bounds legend, #bounds option");
    check_words("svg text, #bound, #headline div, #choices th, #quantities tr, .bars > div, .note");
    check_words(
        "#designs th, #designs td:nth-child(2), #designs td:nth-child(3), #validation p, #provenance th");
}

/* Quantities are said as everywhere else. */
static void says_quantities_as_the_program(void **state) {
    static const char *const units[] = {"s", "B", "J", "W", "", "%"};
    (void)state;
    visit("");
    for (size_t u = 0; u < sizeof units / sizeof *units; u++)
        for (double value = 3.7e-8; value < 1e13; value *= 7.3) {
            char expression[96], wanted[48];
            snprintf(expression, sizeof expression, "quantity(%.17g, '%s')", value, units[u]);
            char *told = words(expression);
            /* below a thousandth of a unit without smaller ones digits are enough */
            if (value * tn_prefix_of(units[u], value).scale >= 1e-3)
                assert_string_equal(told, tn_quantity_text(value, units[u], wanted));
            free(told);
        }
}

static double number(const char *expression) {
    json_t *value = test_browser_value(browser, expression);
    if (!json_is_number(value)) fail_msg("%s is no number", expression);
    double found = json_number_value(value);
    json_decref(value);
    return found;
}

static const char panels[] =
    "JSON.stringify(['shown', 'memory', 'timeline', 'layers', 'resources', 'headline', 'choices', "
    "'quantities', "
    "'selected', 'bound', 'commands'].map(id => document.getElementById(id).innerHTML))";

/* A click at a design's point: each panel is of it, and what it says is what the program says of it. */
static void a_click_changes_every_panel(void **state) {
    (void)state;
    visit("");
    char *before = words(panels);
    for (int k = 0; k < 3; k++) {
        char expression[200], wanted[64];
        assert_true(holds("document.getElementById('scatter').scrollIntoView(), true"));
        snprintf(expression, sizeof expression,
                 "target = scatter.points[Math.floor((scatter.points.length - 1) * %d / 2)], "
                 "frame = document.querySelector('#scatter svg').getBoundingClientRect(), target[0]",
                 k);
        number(expression);
        test_browser_click(browser, number("frame.left + target[0] * frame.width / scatter.width"),
                           number("frame.top + target[1] * frame.width / scatter.width"));
        char *id = words("idOf(selected)"), *after = words(panels);
        snprintf(wanted, sizeof wanted, "design %s", id);
        for (int place = 0; place < 4; place++) {
            static const char *const headed[] = {"shown", "memory", "timeline", "layers"};
            snprintf(expression, sizeof expression,
                     "document.querySelector('#%s h2').textContent.toLowerCase()", headed[place]);
            char *heading = words(expression);
            assert_non_null(strstr(heading, wanted));
            free(heading);
        }
        assert_true(
            holds("['#memory .bars > div', '#timeline path', '#layers .bars > div', '#resources > div']"
                  ".every(s => document.querySelectorAll(s).length > 0)"));
        json_t *cost = test_program_json(0, "cost", swept_folder(), "--point", id, "--json", NULL);
        char *cycles = words("String(panelsOf(selected)[0])");
        assert_int_equal(atoll(cycles), json_integer_value(json_object_get(json_object_get(cost, "latency"),
                                                                           "cycles_per_step")));
        /* each memory and layer is there, one by one or among the rest */
        double capacity_bits = number("panelsOf(selected)[4].filter((_, k) => k % 8 === 6)"
                                      ".reduce((a, b) => a + b, panelsOf(selected)[5][1])");
        double wanted_bits = 0;
        size_t index;
        json_t *memory;
        json_array_foreach(json_object_get(cost, "memories"), index, memory) wanted_bits +=
            json_number_value(json_object_get(memory, "capacity_bits"));
        assert_true(wanted_bits > 0 && capacity_bits == wanted_bits);
        json_decref(cost);
        if (k > 0) assert_string_not_equal(before, after);
        free(before), free(id), free(cycles);
        before = after;
    }
    free(before);
    assert_int_equal(test_browser_errors(browser), 0);
}

/* Another window with the same address shows the same. */
static void the_address_keeps_the_state(void **state) {
    static const char all[] =
        "['x', 'y', 'colour', 'logx', 'logy'].map(id => document.getElementById(id).value + "
        "document.getElementById(id).checked).join() + "
        "[...document.querySelectorAll('#bounds input, #bounds select')].map(e => "
        "e.value).join() + document.querySelector('main').innerHTML";
    (void)state;
    visit("");
    json_decref(test_browser_value(
        browser, "at('x').selectedIndex = (at('x').selectedIndex + 3) % at('x').length;"
                 "at('logx').checked = !at('logx').checked; at('x').dispatchEvent(new Event('change'));"
                 "document.querySelectorAll('#designs th button')[1].click();"
                 "entry = fields.get(shown[0].key)[0]; entry.value = entry.tagName === 'SELECT' ? "
                 "entry.options[2].value : shown[0].values[1]; entry.dispatchEvent(new Event('change'));"
                 "select(within[within.length - 1]); 1"));
    char *address = words("location.href"), *before = words(all), *fragment = strchr(address, '#');
    assert_non_null(fragment);
    visit(fragment + 1);
    char *after = words(all);
    assert_string_equal(before, after);
    json_decref(test_browser_ask(browser, "Page.reload", NULL));
    for (int i = 0; i < 500 && !holds(ready); i++) nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    free(after);
    after = words(all);
    assert_string_equal(before, after);
    free(after), free(before), free(address);
}

/* Through the bounds by Tab, one is changed on the way: the focus goes on to the next. */
static void the_focus_stays(void **state) {
    (void)state;
    visit("");
    assert_true(holds("fields.get(shown[shown.length - 1].key)[0].focus() === undefined"));
    assert_true(holds("document.activeElement.value = document.activeElement.placeholder, true"));
    assert_true(holds("document.activeElement.dispatchEvent(new Event('change')) === true"));
    assert_true(holds("document.activeElement === fields.get(shown[shown.length - 1].key)[0]"));
    test_browser_press(browser, "Tab");
    assert_true(holds("document.activeElement === fields.get(shown[shown.length - 1].key)[1]"));
    assert_true(holds("document.querySelectorAll('#designs th button')[2].focus() === undefined"));
    test_browser_press(browser, "Enter");
    assert_true(holds("document.activeElement === document.querySelectorAll('#designs th button')[2]"));
}

static size_t designs_of_dsp(double most) {
    size_t count = 0;
    for (size_t i = 0; i < front.rows; i++) count += atof(text_at(i, column_of("dsp"))) <= most;
    return count;
}

/* What is saved are rows of front.csv, those within the bounds. */
static void saves_what_is_filtered(void **state) {
    char hash[64];
    (void)state;
    snprintf(hash, sizeof hash, "dsp<=%s", text_at(0, column_of("dsp")));
    visit(hash);
    char *saved = words("csvText()"), *file = read_text_of(swept_folder(), "front.csv");
    size_t lines = 0;
    for (char *line = strtok(saved, "\n"); line; line = strtok(NULL, "\n"), lines++)
        if (!strstr(file, line)) fail_msg("no line of front.csv: %s", line);
    assert_int_equal(lines, 1 + designs_of_dsp(atof(text_at(0, column_of("dsp")))));
    free(saved), free(file);
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
    json_t *j = test_program_json(0, "report", swept_folder(), "--point", id, "-o", test_in_folder(file),
                                  "--json", NULL);
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
    json_t *j = test_program_json(0, "plot", swept_folder(), "--point", text_at(row, 0), "--format", "csv",
                                  "--json", NULL);
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
    json_t *cost = test_program_json(0, "cost", swept_folder(), "--point", id, "--json", NULL);
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
    char *heading = words("document.querySelector('#shown h2').textContent"),
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
    test_run run = test_program("report", swept_folder(), "--point", "first", NULL);
    assert_int_equal(run.status, 2);
    assert_non_null(strstr(run.err, "--point takes the id of a design, a whole number, not 'first'"));
    test_run_free(&run);
    run = test_program("report", swept_folder(), "--point", "999999", NULL);
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
    const struct CMUnitTest of_any[] = {
        cmocka_unit_test(numbers_are_those_of_the_front),
        cmocka_unit_test(its_table_is_the_front),
        cmocka_unit_test(phone_and_paper),
        cmocka_unit_test(says_what_recommend_says),
        cmocka_unit_test(no_raw_words),
        cmocka_unit_test(a_click_changes_every_panel),
        cmocka_unit_test(the_address_keeps_the_state),
        cmocka_unit_test(the_focus_stays),
        cmocka_unit_test(saves_what_is_filtered),
    };
    const struct CMUnitTest of_its_own[] = {
        cmocka_unit_test(needs_nothing_else),
        cmocka_unit_test(a_browser_filters_it),
        cmocka_unit_test(the_keyboard_reaches_a_design),
        cmocka_unit_test(says_quantities_as_the_program),
        cmocka_unit_test(about_a_design_of_the_front),
        cmocka_unit_test(about_a_design_beside_the_front),
        cmocka_unit_test(a_point_is_an_id),
        cmocka_unit_test(nothing_fits),
    };
    int failed = cmocka_run_group_tests_name("any sweep", of_any, sweep, tear_down);
    if (!getenv("TENFOLD_REPORT_OF"))
        failed += cmocka_run_group_tests_name("its own sweep", of_its_own, sweep, tear_down);
    return failed;
}
