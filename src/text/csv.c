#include "text/csv.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/name_index.h"
#include "text/number.h"
#include "text/utf8.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char BYTE_ORDER_MARK[] = "\xef\xbb\xbf";
static const size_t LIMIT_BYTES = (size_t)256 << 20, LIMIT_CELLS = (size_t)1 << 24;

/* The text being read, and where unescaped cells go. Cells never take more bytes than they have in the text:
 * the separator behind a cell leaves room for its NUL. */
typedef struct reader {
    const char *text, *end;
    tn_position position;
    char *store;
    tn_error *error;
} reader;

static void advance(reader *input) {
    char c = *input->text++;
    if (c == '\n') {
        input->position.line++;
        input->position.column = 1;
    } else if (((unsigned char)c & 0xc0) != 0x80) {
        input->position.column++;
    }
}

static bool at_line_end(const reader *input) {
    return input->text == input->end || *input->text == '\n' ||
           (*input->text == '\r' && input->text + 1 < input->end && input->text[1] == '\n');
}

static void skip_line_end(reader *input) {
    if (input->text < input->end && *input->text == '\r') advance(input);
    if (input->text < input->end) advance(input);
}

static tn_status take_character(reader *input) {
    size_t bytes = tn_utf8_length(input->text, (size_t)(input->end - input->text));
    if (bytes == 0)
        return tn_fail_at(input->error, TN_INPUT, input->position,
                          "byte 0x%02x is not UTF-8; save the file as UTF-8 text",
                          (unsigned)(unsigned char)*input->text);
    if (*input->text == '\0')
        return tn_fail_at(input->error, TN_INPUT, input->position, "NUL byte; a CSV file is text");
    memcpy(input->store, input->text, bytes);
    input->store += bytes;
    while (bytes-- > 0) advance(input);
    return TN_OK;
}

static tn_status read_quoted(reader *input) {
    const tn_position opening = input->position;
    advance(input);
    for (;;) {
        if (input->text == input->end)
            return tn_fail_at(input->error, TN_INPUT, opening, "quote is never closed; end the cell with \"");
        if (*input->text == '"') {
            advance(input);
            if (input->text == input->end || *input->text != '"') break;
        }
        TN_TRY(take_character(input));
    }
    if (!at_line_end(input) && *input->text != ',')
        return tn_fail_at(input->error, TN_INPUT, input->position,
                          "text behind a closing quote; a comma or the line's end belongs here, and a quote "
                          "inside a cell is written \"\"");
    return TN_OK;
}

static tn_status read_plain(reader *input) {
    while (!at_line_end(input) && *input->text != ',') {
        if (*input->text == '"')
            return tn_fail_at(input->error, TN_INPUT, input->position,
                              "quote inside an unquoted cell; quote the whole cell and write \"\" for it");
        if (*input->text == '\r')
            return tn_fail_at(input->error, TN_INPUT, input->position,
                              "carriage return inside a line; lines end with LF or CR LF");
        TN_TRY(take_character(input));
    }
    return TN_OK;
}

static tn_status read_cell(reader *input, tn_csv_cell *cell) {
    *cell = (tn_csv_cell){.text = input->store, .position = input->position};
    bool quoted = input->text < input->end && *input->text == '"';
    TN_TRY(quoted ? read_quoted(input) : read_plain(input));
    *input->store++ = '\0';
    return TN_OK;
}

/* The *count cells of one line. */
static tn_status read_line(reader *input, tn_csv_cell *cell, size_t *count) {
    *count = 0;
    for (;;) {
        TN_TRY(read_cell(input, &cell[(*count)++]));
        if (at_line_end(input)) break;
        advance(input); /* the comma */
    }
    skip_line_end(input);
    return TN_OK;
}

static int by_text(const void *a, const void *b) {
    const tn_csv_cell *x = *(const tn_csv_cell *const *)a, *y = *(const tn_csv_cell *const *)b;
    int order = strcmp(x->text, y->text);
    return order ? order : (x > y) - (x < y);
}

static tn_status check_head(const tn_csv *csv, tn_error *error) {
    const tn_csv_cell **sorted;
    TN_TRY(TN_ALLOC(csv->columns, &sorted, error));
    for (size_t i = 0; i < csv->columns; i++) sorted[i] = &csv->head[i];
    qsort(sorted, csv->columns, sizeof *sorted, by_text);
    tn_status status = TN_OK;
    for (size_t i = 0; i < csv->columns && status == TN_OK; i++) {
        if (sorted[i]->text[0] == '\0')
            status =
                tn_fail_at(error, TN_INPUT, sorted[i]->position, "column without a name in the head row");
        else if (i > 0 && strcmp(sorted[i]->text, sorted[i - 1]->text) == 0)
            status = tn_fail_at(error, TN_INPUT, sorted[i]->position,
                                "column \"%.100s\" is named twice; names in the head row are distinct",
                                sorted[i]->text);
    }
    tn_free(sorted);
    return status;
}

static tn_status check_row(const tn_csv *csv, const tn_csv_cell *first, size_t count, tn_error *error) {
    if (count == csv->columns) return TN_OK;
    const tn_csv_cell *cell = count > csv->columns ? &first[csv->columns] : first;
    return tn_fail_at(error, TN_INPUT, cell->position, "row of %zu cells; the head row has %zu", count,
                      csv->columns);
}

/* A bound: every cell but the first begins behind a comma or a line end. */
static size_t most_cells(const char *text, size_t length) {
    size_t cells = 1;
    for (size_t i = 0; i < length; i++) cells += text[i] == ',' || text[i] == '\n';
    return cells;
}

static size_t without_trailing_blank_lines(const char *text, size_t length) {
    while (length > 0 && (text[length - 1] == '\n' || text[length - 1] == '\r')) length--;
    return length;
}

tn_status tn_csv_parse(const char *name, const char *text, size_t length, tn_arena *arena, tn_csv *csv,
                       tn_error *error) {
    const char *file;
    tn_csv_cell *cell;
    reader input = {.error = error};
    TN_TRY(tn_arena_copy_text(arena, name, strlen(name), &file, error));
    input.position = (tn_position){.file = file, .line = 1, .column = 1};
    if (length > LIMIT_BYTES)
        return tn_fail_at(error, TN_LIMIT, input.position, "CSV of %zu bytes; at most %zu are read", length,
                          LIMIT_BYTES);
    if (length >= 3 && memcmp(text, BYTE_ORDER_MARK, 3) == 0) {
        text += 3;
        length -= 3;
    }
    length = without_trailing_blank_lines(text, length);
    if (length == 0)
        return tn_fail_at(error, TN_INPUT, input.position, "is empty; a CSV file begins with a head row");
    size_t cells = most_cells(text, length);
    if (cells > LIMIT_CELLS)
        return tn_fail_at(error, TN_LIMIT, input.position, "%zu commas and line ends; at most %zu are read",
                          cells, LIMIT_CELLS);
    TN_TRY(TN_NEW(arena, cells, &cell, error));
    TN_TRY(tn_arena_alloc(arena, length + 1, 1, &input.store, error));
    input.text = text;
    input.end = text + length;

    tn_csv read = {.file = file, .head = cell};
    TN_TRY(read_line(&input, read.head, &read.columns));
    TN_TRY(check_head(&read, error));
    read.cell = read.head + read.columns;
    for (tn_csv_cell *row = read.cell; input.text < input.end; row += read.columns, read.rows++) {
        size_t count;
        if (at_line_end(&input))
            return tn_fail_at(error, TN_INPUT, input.position, "blank line between rows; remove it");
        TN_TRY(read_line(&input, row, &count));
        TN_TRY(check_row(&read, row, count, error));
    }
    *csv = read;
    return TN_OK;
}

tn_status tn_csv_load(const char *path, tn_arena *arena, tn_csv *csv, tn_error *error) {
    char *text;
    size_t length;
    TN_TRY(tn_file_read(path, LIMIT_BYTES, &text, &length, error));
    tn_status status = tn_csv_parse(path, text, length, arena, csv, error);
    tn_free(text);
    return status;
}

size_t tn_csv_column(const tn_csv *csv, const char *name) {
    size_t column = 0;
    while (column < csv->columns && strcmp(csv->head[column].text, name) != 0) column++;
    return column;
}

static tn_status unknown_column(const tn_csv_cell *cell, const char *const *names, size_t count,
                                tn_error *error) {
    const char *nearest = tn_suggest(cell->text, names, count);
    if (nearest)
        return tn_fail_at(error, TN_INPUT, cell->position, "unknown column \"%.100s\"; did you mean \"%s\"?",
                          cell->text, nearest);
    return tn_fail_at(error, TN_INPUT, cell->position, "unknown column \"%.100s\"; remove it", cell->text);
}

tn_status tn_csv_columns(const tn_csv *csv, const char *const *names, size_t count, bool exact,
                         size_t *column, tn_error *error) {
    for (size_t i = 0; exact && i < csv->columns; i++) {
        size_t known = 0;
        while (known < count && strcmp(csv->head[i].text, names[known]) != 0) known++;
        if (known == count) return unknown_column(&csv->head[i], names, count, error);
    }
    for (size_t i = 0; i < count; i++) {
        column[i] = tn_csv_column(csv, names[i]);
        if (column[i] == csv->columns)
            return tn_fail_at(error, TN_INPUT, csv->head[0].position,
                              "column \"%s\" is missing; add it to the head row and to every row", names[i]);
    }
    return TN_OK;
}

const tn_csv_cell *tn_csv_at(const tn_csv *csv, size_t row, size_t column) {
    return &csv->cell[row * csv->columns + column];
}

static tn_status malformed(const tn_csv *csv, size_t row, size_t column, const char *wanted,
                           tn_error *error) {
    const tn_csv_cell *cell = tn_csv_at(csv, row, column);
    if (cell->text[0] == '\0')
        return tn_fail_at(error, TN_INPUT, cell->position, "cell of column \"%.100s\" is empty; %s is needed",
                          csv->head[column].text, wanted);
    return tn_fail_at(error, TN_INPUT, cell->position, "\"%.100s\" in column \"%.100s\" is not %s",
                      cell->text, csv->head[column].text, wanted);
}

tn_status tn_csv_count(const tn_csv *csv, size_t row, size_t column, uint64_t minimum, uint64_t maximum,
                       uint64_t *value, tn_error *error) {
    const tn_csv_cell *cell = tn_csv_at(csv, row, column);
    uint64_t read = 0;
    tn_number_status status = tn_read_count(cell->text, &read);
    if (status == TN_NUMBER_MALFORMED) return malformed(csv, row, column, "a whole number", error);
    if (status == TN_NUMBER_RANGE || read < minimum || read > maximum)
        return tn_fail_at(error, TN_INPUT, cell->position,
                          "%.100s in column \"%.100s\" is out of range; it must be %" PRIu64 " to %" PRIu64,
                          cell->text, csv->head[column].text, minimum, maximum);
    *value = read;
    return TN_OK;
}

tn_status tn_csv_real(const tn_csv *csv, size_t row, size_t column, double minimum, double maximum,
                      double *value, tn_error *error) {
    const tn_csv_cell *cell = tn_csv_at(csv, row, column);
    double read = 0;
    tn_number_status status = tn_read_real(cell->text, &read);
    if (status == TN_NUMBER_MALFORMED) return malformed(csv, row, column, "a finite number", error);
    if (status == TN_NUMBER_RANGE || !(read >= minimum && read <= maximum)) {
        char low[32], high[32] = "";
        tn_real_text(minimum, low, sizeof low);
        if (isfinite(maximum)) tn_real_text(maximum, high, sizeof high);
        return tn_fail_at(error, TN_INPUT, cell->position,
                          "%.100s in column \"%.100s\" is out of range; it must be %s%s%s%s", cell->text,
                          csv->head[column].text, high[0] ? "" : "at least ", low, high[0] ? " to " : "",
                          high);
    }
    *value = read;
    return TN_OK;
}

static void put_comma(tn_buffer *out) {
    if (out->length > 0 && out->data[out->length - 1] != '\n') tn_buffer_text(out, ",");
}

void tn_csv_put(tn_buffer *out, const char *text) {
    put_comma(out);
    bool bare = text[0] != '\0' && strpbrk(text, ",\"\r\n") == NULL &&
                strncmp(text, BYTE_ORDER_MARK, 3) != 0; /* which a reader would take away */
    if (bare) {
        tn_buffer_text(out, text);
        return;
    }
    tn_buffer_text(out, "\"");
    for (const char *quote; (quote = strchr(text, '"')); text = quote + 1) {
        tn_buffer_bytes(out, text, (size_t)(quote + 1 - text));
        tn_buffer_text(out, "\"");
    }
    tn_buffer_text(out, text);
    tn_buffer_text(out, "\"");
}

void tn_csv_put_count(tn_buffer *out, uint64_t value) {
    put_comma(out);
    tn_buffer_format(out, "%" PRIu64, value);
}

void tn_csv_put_real(tn_buffer *out, double value) {
    char text[32];
    put_comma(out);
    tn_real_text(value, text, sizeof text);
    tn_buffer_text(out, text);
}

void tn_csv_line(tn_buffer *out) {
    tn_buffer_text(out, "\n");
}
