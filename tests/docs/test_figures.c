/* The tables of the pages that say where their figures come from hold what the program prints. Such a table stands behind
 *
 *     <!-- figures: cost MODEL --device DEVICE --set KEY=VALUE
 *     latency.cycles_per_step
 *     change latency.cycles_per_step
 *     memory.peak_bytes / 1000000
 *     phases.forward.macs + phases.update.macs
 *     -
 *     -->
 *
 * with a line for every column but the first: the path of a number in the command's JSON, a sum of such, over a number, or its
 * change against the table's first row in per cent; "-" is text. Every `KEY=VALUE` in backticks in a row's first cell is set.
 * A figure is compared to the decimals that the page prints. And an indented command behind `<!-- prints -->` prints each of the
 * indented lines behind it. With TENFOLD_WRITE_PAGES=1 in the environment the pages are written
 * anew. */
#include "base/buffer.h"
#include "base/file.h"
#include "base/memory.h"
#include "support/program.h"
#include "support/shared.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS_MOST = 16, ANSWERS_MOST = 256, TEXT_MOST = 1024, TABLES_LEAST = 5 };

static struct {
    char command[2 * TEXT_MOST];
    json_t *said;
} answer[ANSWERS_MOST];
static int answers, tables, figures, listings, wrong;

typedef struct table {
    const char *page;
    char command[TEXT_MOST], column[COLUMNS_MOST][TEXT_MOST];
    int columns;
    const json_t *first; /* row's answer */
} table;

static void copy(char *target, size_t size, const char *source, size_t length) {
    assert_true(length < size);
    memcpy(target, source, length);
    target[length] = '\0';
}

static const json_t *ask(const char *command) {
    for (int i = 0; i < answers; i++)
        if (strcmp(answer[i].command, command) == 0) return answer[i].said;
    assert_true(answers < ANSWERS_MOST);
    char line[3 * TEXT_MOST];
    snprintf(line, sizeof line, "cd '%s' && \"$TENFOLD\" %s --json", test_source(""), command);
    test_run run = test_shell(line);
    if (run.status > 1) fail_msg("%s\nstatus %d: %s", line, run.status, run.err);
    json_t *said = json_loads(run.out, 0, NULL);
    if (!said) fail_msg("%s\nprints no JSON", line);
    test_run_free(&run);
    copy(answer[answers].command, sizeof answer->command, command, strlen(command));
    answer[answers].said = said;
    return answer[answers++].said;
}

static double number_at(const json_t *said, const char *path, size_t length) {
    char name[TEXT_MOST];
    const json_t *object = said;
    for (size_t start = 0, size; start < length; start += size + 1) {
        size = strcspn(path + start, ". ");
        if (start + size > length) size = length - start;
        copy(name, sizeof name, path + start, size);
        object = json_object_get(object, name);
    }
    if (!json_is_number(object)) fail_msg("no number %.*s", (int)length, path);
    return json_number_value(object);
}

/* PATH [+ PATH].. [/ NUMBER] */
static double evaluate(const json_t *said, const char *text) {
    double sum = 0;
    while (true) {
        size_t length = strcspn(text, " ");
        sum += number_at(said, text, length);
        text += length;
        if (strncmp(text, " + ", 3) != 0) break;
        text += 3;
    }
    if (strncmp(text, " / ", 3) == 0) return sum / strtod(text + 3, NULL);
    if (*text) fail_msg("what is \"%s\"?", text);
    return sum;
}

static void put_number(tn_buffer *out, double value, int decimals) {
    char digits[64];
    int length = snprintf(digits, sizeof digits, "%.*f", decimals, fabs(value));
    int whole = (int)strcspn(digits, ".");
    bool is_zero = strspn(digits, "0.") == (size_t)length;
    if (value < 0 && !is_zero) tn_buffer_text(out, "-");
    for (int i = 0; i < length; i++) {
        if (i > 0 && i < whole && (whole - i) % 3 == 0) tn_buffer_text(out, ",");
        tn_buffer_format(out, "%c", digits[i]);
    }
}

static int decimals_of(const char *cell) {
    const char *point = strchr(cell, '.');
    return point ? (int)strspn(point + 1, "0123456789") : 0;
}

static void put_figure(tn_buffer *out, const table *t, const json_t *said, const char *expression,
                       const char *printed) {
    static const char change[] = "change ";
    int decimals = decimals_of(printed);
    if (strncmp(expression, change, sizeof change - 1) != 0) {
        put_number(out, evaluate(said, expression), decimals);
        return;
    }
    expression += sizeof change - 1;
    double percent = 100 * (evaluate(said, expression) / evaluate(t->first, expression) - 1);
    double unit = pow(10, -decimals);
    if (percent >= unit / 2) tn_buffer_text(out, "+");
    put_number(out, percent, decimals);
    tn_buffer_text(out, " %");
}

/* The row's first cell says what is set. */
static const json_t *ask_row(table *t, const char *cell) {
    char command[2 * TEXT_MOST], one[TEXT_MOST];
    size_t length = (size_t)snprintf(command, sizeof command, "%s", t->command);
    for (const char *cursor = strchr(cell, '`'); cursor; cursor = strchr(cursor, '`')) {
        size_t size = strcspn(++cursor, "`");
        copy(one, sizeof one, cursor, size);
        cursor += size + (cursor[size] == '`');
        if (!strchr(one, '=')) continue;
        length += (size_t)snprintf(command + length, sizeof command - length, " --set '%s'", one);
        assert_true(length < sizeof command);
    }
    const json_t *said = ask(command);
    if (!t->first) t->first = said;
    return said;
}

static void check_row(table *t, const char *line, tn_buffer *out) {
    char cell[COLUMNS_MOST + 1][TEXT_MOST];
    int cells = 0;
    for (const char *cursor = line + 1; *cursor; cursor += *cursor == '|') {
        size_t size = strcspn(cursor, "|");
        assert_true(cells <= COLUMNS_MOST);
        copy(cell[cells++], TEXT_MOST, cursor, size);
        cursor += size;
    }
    if (cells != t->columns + 1)
        fail_msg("%s: %d cells, %d were announced: %s", t->page, cells, t->columns + 1, line);
    const json_t *said = ask_row(t, cell[0]);
    tn_buffer_format(out, "|%s|", cell[0]);
    for (int i = 0; i < t->columns; i++) {
        tn_buffer figure = {0};
        if (strcmp(t->column[i], "-") == 0) {
            tn_buffer_format(out, "%s|", cell[i + 1]);
            continue;
        }
        tn_buffer_text(&figure, " ");
        put_figure(&figure, t, said, t->column[i], cell[i + 1]);
        tn_buffer_text(&figure, " ");
        assert_int_equal(figure.status, TN_OK);
        if (strcmp(figure.data, cell[i + 1]) != 0) {
            print_error("%s: %s:%s where the program says%s\n", t->page, cell[0], cell[i + 1], figure.data);
            wrong++;
        }
        tn_buffer_format(out, "%s|", figure.data);
        tn_buffer_free(&figure);
        figures++;
    }
    tn_buffer_text(out, "\n");
}

/* Reads one line of the page and goes behind it; false at the end. */
static bool next_line(const char **cursor, char *line, size_t size) {
    if (!**cursor) return false;
    size_t length = strcspn(*cursor, "\n");
    copy(line, size, *cursor, length);
    *cursor += length + ((*cursor)[length] == '\n');
    return true;
}

static void check_table(table *t, const char **cursor, tn_buffer *out) {
    char line[2 * TEXT_MOST];
    int head = 2; /* its titles and the rule below them */
    tables++;
    while (next_line(cursor, line, sizeof line) && strcmp(line, "-->") != 0) {
        assert_true(t->columns < COLUMNS_MOST);
        copy(t->column[t->columns++], TEXT_MOST, line, strlen(line));
        tn_buffer_format(out, "%s\n", line);
    }
    tn_buffer_format(out, "%s\n", line);
    while (**cursor == '|') {
        next_line(cursor, line, sizeof line);
        if (head-- > 0)
            tn_buffer_format(out, "%s\n", line);
        else
            check_row(t, line, out);
    }
}

/* The line of a text that begins with the same word, without its end. */
static const char *line_like(const char *text, const char *line, size_t *length) {
    size_t word = strcspn(line, " ");
    for (const char *cursor = text; *cursor; cursor += *length + (cursor[*length] == '\n')) {
        *length = strcspn(cursor, "\n");
        if (strncmp(cursor, line, word) == 0 && strcspn(cursor, " \n") == word) return cursor;
    }
    return NULL;
}

/* A command and, behind an empty line, some of the lines that it prints. */
static void check_listing(const char *page, const char **cursor, tn_buffer *out) {
    static const char program[] = "    tenfold ";
    char line[2 * TEXT_MOST], command[3 * TEXT_MOST];
    next_line(cursor, line, sizeof line);
    if (strncmp(line, program, sizeof program - 1) != 0) fail_msg("%s: no command: %s", page, line);
    tn_buffer_format(out, "%s\n\n", line);
    snprintf(command, sizeof command, "\"$TENFOLD\" %s", line + sizeof program - 1);
    test_run run = test_shell(command);
    assert_int_equal(run.status, 0);
    assert_int_equal(**cursor, '\n');
    ++*cursor;
    listings++;
    while (strncmp(*cursor, "    ", 4) == 0) {
        size_t length = 0;
        next_line(cursor, line, sizeof line);
        const char *said = line_like(run.out, line + 4, &length);
        if (!said) {
            fail_msg("%s: %s\nprints nothing like %s", page, command, line);
            return; /* which the compiler does not know of fail_msg */
        }
        tn_buffer_format(out, "    %.*s\n", (int)length, said);
        if (strlen(line + 4) == length && strncmp(said, line + 4, length) == 0) continue;
        print_error("%s: %s\nwhere the program prints\n    %.*s\n", page, line, (int)length, said);
        wrong++;
    }
    test_run_free(&run);
}

static void check_page(const char *path, const char *name) {
    static const char mark[] = "<!-- figures: ";
    char *text, line[4 * TEXT_MOST];
    size_t length;
    tn_buffer out = {0};
    assert_int_equal(tn_file_read(path, 1 << 20, &text, &length, NULL), TN_OK);
    const char *cursor = text;
    int before = wrong;
    while (next_line(&cursor, line, sizeof line)) {
        tn_buffer_format(&out, "%s\n", line);
        if (strcmp(line, "<!-- prints -->") == 0) check_listing(name, &cursor, &out);
        if (strncmp(line, mark, sizeof mark - 1) != 0) continue;
        table t = {.page = name};
        copy(t.command, sizeof t.command, line + sizeof mark - 1, strlen(line) - (sizeof mark - 1));
        check_table(&t, &cursor, &out);
    }
    assert_int_equal(out.status, TN_OK);
    if (wrong > before && getenv("TENFOLD_WRITE_PAGES"))
        assert_int_equal(tn_file_write_buffer(path, &out, NULL), TN_OK);
    tn_buffer_free(&out);
    tn_free(text);
}

static void tables_hold_what_the_program_prints(void **state) {
    (void)state;
    DIR *pages = opendir(test_source("docs"));
    assert_non_null(pages);
    for (const struct dirent *page; (page = readdir(pages));) {
        char path[TEXT_MOST];
        size_t length = strlen(page->d_name);
        if (length < 4 || strcmp(page->d_name + length - 3, ".md") != 0) continue;
        snprintf(path, sizeof path, "%s/%s", test_source("docs"), page->d_name);
        check_page(path, page->d_name);
    }
    closedir(pages);
    for (int i = 0; i < answers; i++) json_decref(answer[i].said);
    print_message("%d figures of %d tables, by %d commands, and %d listings\n", figures, tables, answers,
                  listings);
    assert_true(tables >= TABLES_LEAST);
    if (wrong > 0 && !getenv("TENFOLD_WRITE_PAGES"))
        fail_msg("%d figures are not the program's; run this test with TENFOLD_WRITE_PAGES=1", wrong);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(tables_hold_what_the_program_prints)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
