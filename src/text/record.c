#include "text/record.h"

#include "base/memory.h"
#include "text/csv.h"
#include "text/number.h"
#include "text/utf8.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

void tn_table_begin(tn_table *table, size_t columns) {
    *table = (tn_table){.columns = columns};
}

/* Takes the buffer's text as a cell. */
static void add_cell(tn_table *table, tn_buffer *text) {
    if (table->status == TN_OK) table->status = text->status;
    if (table->status == TN_OK)
        table->status = TN_GROW(&table->cell, &table->capacity, table->count + 1, NULL);
    if (table->status == TN_OK)
        table->status =
            tn_arena_copy_text(&table->arena, text->data, text->length, &table->cell[table->count], NULL);
    if (table->status == TN_OK) table->count++;
    tn_buffer_free(text);
}

void tn_table_text(tn_table *table, const char *text) {
    tn_buffer shown = {0};
    tn_buffer_text(&shown, "");
    if (text) tn_utf8_printable(text, strlen(text), false, &shown);
    add_cell(table, &shown);
}

void tn_table_head(tn_table *table, const char *const *head, size_t columns) {
    tn_table_begin(table, columns);
    for (size_t i = 0; i < columns; i++) tn_table_text(table, head[i]);
}

void tn_table_format(tn_table *table, const char *format, ...) {
    tn_buffer text = {0};
    va_list arguments;
    va_start(arguments, format);
    tn_buffer_format_list(&text, format, arguments);
    va_end(arguments);
    if (text.status != TN_OK && table->status == TN_OK) table->status = text.status;
    tn_table_text(table, text.data);
    tn_buffer_free(&text);
}

void tn_table_count(tn_table *table, uint64_t value) {
    char text[32];
    tn_table_text(table, tn_count_text(value, text));
}

/* Columns on a terminal: bytes that do not continue a UTF-8 character. */
static size_t width_of(const char *text) {
    size_t width = 0;
    for (; *text; text++) width += ((unsigned char)*text & 0xC0) != 0x80;
    return width;
}

static bool is_number(const char *text) {
    return strchr("0123456789-+.", text[0]) && text[strspn(text, "0123456789+-.,eEx %")] == '\0';
}

/* ---- layout: what each column needs, and which stand beside each other ---- */

enum { GAP = 2 }; /* blanks between columns */

typedef struct {
    size_t cells, head, word; /* width of the widest cell, of the head, of its longest word */
    size_t width;
    bool left, constant;
} column_layout;

static size_t longest_word(const char *text) {
    size_t most = 0, width = 0;
    for (; *text; text++) {
        width = *text == ' ' ? 0 : width + (((unsigned char)*text & 0xC0) != 0x80);
        if (width > most) most = width;
    }
    return most;
}

static void measure(const tn_table *table, column_layout *layout) {
    size_t columns = table->columns, rows = table->count / columns;
    for (size_t c = 0; c < columns; c++) {
        column_layout *column = &layout[c];
        column->head = width_of(table->cell[c]);
        column->word = longest_word(table->cell[c]);
        column->constant = rows > 3 && c > 0;
        for (size_t r = 1; r < rows; r++) {
            const char *text = table->cell[r * columns + c];
            if (width_of(text) > column->cells) column->cells = width_of(text);
            column->left |= text[0] && !is_number(text);
            column->constant &= strcmp(text, table->cell[columns + c]) == 0;
        }
        column->width = column->head > column->cells ? column->head : column->cells;
    }
}

static size_t whole_width(const tn_table *table, const column_layout *layout) {
    size_t width = 0;
    for (size_t c = 0; c < table->columns; c++)
        if (!layout[c].constant) width += layout[c].width + (width ? GAP : 0);
    return width;
}

/* Heads of several lines, where that is narrower. */
static void fold_heads(const tn_table *table, column_layout *layout) {
    for (size_t c = 0; c < table->columns; c++) {
        layout[c].width = layout[c].word > layout[c].cells ? layout[c].word : layout[c].cells;
        /* two short lines rather than four */
        if (layout[c].width < layout[c].head && layout[c].width < 8)
            layout[c].width = layout[c].head < 8 ? layout[c].head : 8;
    }
}

static void name_constants(const tn_table *table, column_layout *layout, tn_buffer *out) {
    size_t said = 0, used = 0;
    for (size_t c = 0; c < table->columns; c++) {
        const char *head = table->cell[c], *text = table->cell[table->columns + c];
        if (!layout[c].constant || !*text || !*head) continue;
        size_t width = width_of(head) + 2 + width_of(text);
        if (said++) tn_buffer_text(out, used + 2 + width + 1 > table->width && table->width ? ";\n" : "; ");
        if (said == 1) tn_buffer_text(out, "in every row: ");
        used = said == 1 ? 14 + width : used + 2 + width + 1 > table->width ? width : used + 2 + width;
        tn_buffer_format(out, "%s %s", head, text);
    }
    if (said) tn_buffer_text(out, "\n");
}

/* The part of `text` from *begin that fits `width`; at least a word. */
static size_t line_of_head(const char *text, size_t *begin, size_t width) {
    size_t end = *begin, fits = *begin;
    while (text[end]) {
        size_t next = end + strcspn(text + end, " ");
        size_t shown = 0;
        for (size_t i = *begin; i < next; i++) shown += ((unsigned char)text[i] & 0xC0) != 0x80;
        if (fits > *begin && shown > width) break;
        fits = next;
        end = next + (text[next] == ' ');
        if (!text[next]) break;
    }
    return fits;
}

static void write_cell(tn_buffer *out, const char *text, size_t length, const column_layout *layout,
                       bool last) {
    size_t shown = 0;
    for (size_t i = 0; i < length; i++) shown += ((unsigned char)text[i] & 0xC0) != 0x80;
    int pad = layout->width > shown ? (int)(layout->width - shown) : 0;
    if (!layout->left)
        tn_buffer_format(out, "%*s%.*s", pad, "", (int)length, text);
    else
        tn_buffer_format(out, "%.*s%*s", (int)length, text, last ? 0 : pad, "");
    tn_buffer_text(out, last ? "\n" : "  ");
}

/* Heads end on one line. */
static void write_head(const tn_table *table, const column_layout *layout, const size_t *column, size_t count,
                       bool bold, tn_buffer *out) {
    size_t lines = 1;
    for (size_t i = 0; i < count; i++) {
        const char *text = table->cell[column[i]];
        size_t begin = 0, needed = 0;
        do {
            begin = line_of_head(text, &begin, layout[column[i]].width);
            needed++;
            begin += text[begin] == ' ';
        } while (text[begin]);
        if (needed > lines) lines = needed;
    }
    if (bold) tn_buffer_text(out, "\033[1m");
    for (size_t line = 0; line < lines; line++)
        for (size_t i = 0; i < count; i++) {
            const char *text = table->cell[column[i]];
            size_t begin = 0, end = 0, needed = 0;
            for (size_t scan = 0;; needed++) {
                scan = line_of_head(text, &scan, layout[column[i]].width);
                scan += text[scan] == ' ';
                if (!text[scan]) break;
            }
            needed++;
            bool empty = line + needed < lines;
            for (size_t k = 0; !empty && k <= line - (lines - needed); k++) {
                begin = end + (k && text[end] == ' ');
                end = begin;
                end = line_of_head(text, &end, layout[column[i]].width);
            }
            write_cell(out, text + begin, empty ? 0 : end - begin, &layout[column[i]], i + 1 == count);
        }
    if (bold) tn_buffer_text(out, "\033[0m");
}

static void write_part(const tn_table *table, const column_layout *layout, const size_t *column, size_t count,
                       bool bold, tn_buffer *out) {
    write_head(table, layout, column, count, bold, out);
    for (size_t r = 1; r < table->count / table->columns; r++)
        for (size_t i = 0; i < count; i++) {
            const char *text = table->cell[r * table->columns + column[i]];
            write_cell(out, text, strlen(text), &layout[column[i]], i + 1 == count);
        }
}

/* How many columns from the first tell all rows apart; 1 where those would be too wide to stand before each part. */
static size_t naming_columns(const tn_table *table, const column_layout *layout) {
    size_t columns = table->columns, rows = table->count / columns, width = layout[0].width;
    for (size_t named = 1; named <= columns; named++) {
        bool alike = false;
        for (size_t a = 1; !alike && a < rows; a++)
            for (size_t b = a + 1; !alike && b < rows && b < a + 64; b++) {
                size_t c = 0;
                while (c < named && strcmp(table->cell[a * columns + c], table->cell[b * columns + c]) == 0)
                    c++;
                alike = c == named;
            }
        if (!alike) return named;
        if (named == columns) break;
        width += GAP + layout[named].width;
        if (2 * width > table->width) break;
    }
    return 1;
}

/* Columns side by side as far as they fit, those that name the rows before each part. */
static void write_parts(const tn_table *table, const column_layout *layout, size_t *column, bool bold,
                        tn_buffer *out) {
    size_t count = 0, width = 0, parts = 0, named = table->width ? naming_columns(table, layout) : 1;
    for (size_t c = 0; c <= table->columns; c++) {
        if (c < table->columns && layout[c].constant) continue;
        bool full = c == table->columns ||
                    (table->width && count > named && width + GAP + layout[c].width > table->width);
        if (full) {
            if (count == named && parts) break;
            if (parts++) tn_buffer_text(out, "\n");
            write_part(table, layout, column, count, bold, out);
            if (c == table->columns) break;
            count = width = 0;
            for (size_t k = 0; k < named; k++) {
                if (layout[k].constant) continue;
                width += (count ? GAP : 0) + layout[k].width;
                column[count++] = k;
            }
        }
        width += (count ? GAP : 0) + layout[c].width;
        column[count++] = c;
    }
}

static void write_rows(const tn_table *table, column_layout *layout, size_t *column, bool bold,
                       tn_buffer *out) {
    size_t width = 0;
    measure(table, layout);
    for (size_t c = 0; c < table->columns; c++) width += layout[c].width + (c ? GAP : 0);
    bool wide = table->width && width > table->width;
    for (size_t c = 0; c < table->columns; c++) layout[c].constant &= wide || table->constants;
    name_constants(table, layout, out);
    /* a bar, which has no head, is the first to go */
    for (size_t c = 1; c < table->columns && table->width && whole_width(table, layout) > table->width; c++)
        layout[c].constant |= layout[c].head == 0;
    if (table->width && whole_width(table, layout) > table->width) fold_heads(table, layout);
    write_parts(table, layout, column, bold, out);
}

void tn_table_write(tn_table *table, bool bold, tn_buffer *out) {
    column_layout *layout = NULL;
    size_t *column = NULL;
    tn_status status = table->status;
    if (status == TN_OK) status = TN_NEW(&table->arena, table->columns, &layout, NULL);
    if (status == TN_OK) status = TN_NEW(&table->arena, table->columns, &column, NULL);
    if (status == TN_OK)
        write_rows(table, layout, column, bold, out);
    else if (out->status == TN_OK)
        out->status = status;
}

void tn_table_free(tn_table *table) {
    tn_free(table->cell);
    tn_arena_free(&table->arena);
    *table = (tn_table){0};
}

static const void *member(const tn_column *column, const void *row) {
    return (const char *)row + column->offset;
}

static bool is_written(const tn_column *column) {
    return column->put || column->cell;
}

static size_t length_of(const tn_column *column, const void *row) {
    const char *cursor = (const char *)row + column->count_offset;
    if (column->count_size == 0) return column->count_offset;
    if (column->count_size == sizeof(uint32_t)) {
        uint32_t count;
        memcpy(&count, cursor, sizeof count);
        return count;
    }
    size_t count;
    memcpy(&count, cursor, sizeof count);
    return count;
}

static const void *items_of(const tn_column *column, const void *row) {
    const void *items;
    if (column->in_place) return member(column, row);
    memcpy(&items, member(column, row), sizeof items);
    return items;
}

static size_t size_of(const tn_column *column) {
    switch (column->kind) {
    case TN_COLUMN_TEXT:
        return sizeof(const char *);
    case TN_COLUMN_COUNT:
        return sizeof(uint64_t);
    case TN_COLUMN_COUNT32:
    case TN_COLUMN_NAME:
        return sizeof(uint32_t);
    case TN_COLUMN_AMOUNT:
    case TN_COLUMN_REAL:
        return sizeof(double);
    case TN_COLUMN_BOOL:
        return sizeof(bool);
    case TN_COLUMN_RANGE:
        return 2 * sizeof(double);
    case TN_COLUMN_RECORD:
        break;
    }
    return column->nested->size;
}

/* One value, by its kind. */
typedef struct value {
    const char *text;
    uint64_t count;
    double real, most; /* most: of a range */
    bool truth;
} value;

static value load(const tn_column *column, const void *row) {
    value v = {0};
    uint32_t small;
    switch (column->kind) {
    case TN_COLUMN_TEXT:
        memcpy(&v.text, row, sizeof v.text);
        break;
    case TN_COLUMN_COUNT:
        memcpy(&v.count, row, sizeof v.count);
        break;
    case TN_COLUMN_COUNT32:
        memcpy(&small, row, sizeof small);
        v.count = small;
        break;
    case TN_COLUMN_NAME:
        memcpy(&small, row, sizeof small);
        v.text = column->names[small];
        break;
    case TN_COLUMN_AMOUNT:
    case TN_COLUMN_REAL:
        memcpy(&v.real, row, sizeof v.real);
        break;
    case TN_COLUMN_BOOL:
        memcpy(&v.truth, row, sizeof v.truth);
        break;
    case TN_COLUMN_RANGE:
        memcpy(&v.real, row, sizeof v.real);
        memcpy(&v.most, (const char *)row + sizeof v.real, sizeof v.most);
        break;
    case TN_COLUMN_RECORD:
        break;
    }
    return v;
}

/* False where `when` says so: there is no value, whatever the member holds. */
static bool exists(const tn_column *column, const void *row) {
    bool given = true;
    if (column->when > 0) memcpy(&given, (const char *)row + column->when, sizeof given);
    return given;
}

/* Whether an optional column has something to show. */
static bool has_value(const tn_column *column, const void *row) {
    if (!exists(column, row)) return false;
    if (is_written(column) || column->kind == TN_COLUMN_RECORD) return true;
    if (column->list) return length_of(column, row) > 0;
    value v = load(column, member(column, row));
    if (column->kind == TN_COLUMN_TEXT || column->kind == TN_COLUMN_NAME) return v.text != NULL;
    return column->kind != TN_COLUMN_REAL || !isnan(v.real);
}

static bool is_count(double amount) {
    return amount >= 0 && amount < 9007199254740992.0 && amount == floor(amount);
}

/* ---- JSON ---- */

static void put_range(double least, double most, tn_json *json) {
    if (!isfinite(least) && !isfinite(most)) {
        tn_json_null(json);
        return;
    }
    tn_json_row(json);
    tn_json_real(json, least);
    tn_json_real(json, most);
    tn_json_end(json);
}

static void put_value(const tn_column *column, const void *row, tn_json *json) {
    value v = load(column, row);
    switch (column->kind) {
    case TN_COLUMN_TEXT:
    case TN_COLUMN_NAME:
        tn_json_text(json, v.text);
        break;
    case TN_COLUMN_COUNT:
    case TN_COLUMN_COUNT32:
        tn_json_count(json, v.count);
        break;
    case TN_COLUMN_AMOUNT:
        if (is_count(v.real))
            tn_json_count(json, (uint64_t)v.real);
        else
            tn_json_real(json, v.real);
        break;
    case TN_COLUMN_REAL:
        tn_json_real(json, v.real);
        break;
    case TN_COLUMN_BOOL:
        tn_json_bool(json, v.truth);
        break;
    case TN_COLUMN_RANGE:
        put_range(v.real, v.most, json);
        break;
    case TN_COLUMN_RECORD:
        tn_record_json(column->nested, row, json);
        break;
    }
}

static void put_member(const tn_column *column, const void *row, tn_json *json);

static bool in_json(const tn_column *column) {
    return column->key && (column->put || !column->cell);
}

/* By the first column: the one that is left, or all that are. */
static void put_keyed(const tn_record *record, const void *row, tn_json *json) {
    const tn_record rest = {
        .size = record->size, .column = record->column + 1, .columns = record->columns - 1};
    const tn_column *only = NULL;
    size_t left = 0;
    for (size_t i = 0; i < rest.columns; i++)
        if (in_json(&rest.column[i])) {
            only = &rest.column[i];
            left++;
        }
    tn_json_key(json, load(record->column, member(record->column, row)).text);
    if (left == 1)
        put_member(only, row, json);
    else
        tn_record_json(&rest, row, json);
}

static void put_list(const tn_column *column, const void *row, tn_json *json) {
    const char *items = items_of(column, row);
    size_t count = length_of(column, row), size = size_of(column);
    if (column->keyed)
        tn_json_object(json);
    else if (column->kind == TN_COLUMN_RECORD)
        tn_json_array(json);
    else
        tn_json_row(json);
    for (size_t i = 0; i < count; i++)
        if (column->keyed)
            put_keyed(column->nested, items + i * size, json);
        else
            put_value(column, items + i * size, json);
    tn_json_end(json);
}

static void put_member(const tn_column *column, const void *row, tn_json *json) {
    if (!exists(column, row))
        tn_json_null(json);
    else if (column->put)
        column->put(row, json);
    else if (column->list)
        put_list(column, row, json);
    else
        put_value(column, member(column, row), json);
}

static void put_column(const tn_column *column, const void *row, tn_json *json) {
    if (!in_json(column) || (column->optional && !has_value(column, row))) return;
    tn_json_key(json, column->key);
    put_member(column, row, json);
}

void tn_record_keys(const tn_record *record, const void *row, tn_json *json) {
    for (size_t i = 0; i < record->columns; i++) put_column(&record->column[i], row, json);
}

void tn_record_json(const tn_record *record, const void *row, tn_json *json) {
    tn_json_object(json);
    tn_record_keys(record, row, json);
    tn_json_end(json);
}

void tn_record_rows(const tn_record *record, const void *rows, size_t count, tn_json *json) {
    tn_json_array(json);
    for (size_t i = 0; i < count; i++) tn_record_json(record, (const char *)rows + i * record->size, json);
    tn_json_end(json);
}

/* ---- CSV ---- */

static bool in_csv(const tn_column *column) {
    return column->key && !column->list && !is_written(column) && column->kind != TN_COLUMN_RECORD &&
           column->kind != TN_COLUMN_RANGE;
}

void tn_record_csv_head(const tn_record *record, tn_buffer *out) {
    for (size_t i = 0; i < record->columns; i++)
        if (in_csv(&record->column[i])) tn_csv_put(out, record->column[i].key);
}

static void put_csv(const tn_column *column, const void *row, tn_buffer *out) {
    if (!exists(column, row)) {
        tn_csv_put(out, "");
        return;
    }
    value v = load(column, member(column, row));
    switch (column->kind) {
    case TN_COLUMN_COUNT:
    case TN_COLUMN_COUNT32:
        tn_csv_put_count(out, v.count);
        break;
    case TN_COLUMN_AMOUNT:
    case TN_COLUMN_REAL:
        tn_csv_put_real(out, v.real);
        break;
    case TN_COLUMN_BOOL:
        tn_csv_put(out, column->names ? column->names[v.truth] : v.truth ? "true" : "false");
        break;
    default:
        tn_csv_put(out, v.text ? v.text : "");
    }
}

void tn_record_csv(const tn_record *record, const void *row, tn_buffer *out) {
    for (size_t i = 0; i < record->columns; i++)
        if (in_csv(&record->column[i])) put_csv(&record->column[i], row, out);
}

/* ---- people ---- */

/* With the column's prefix, or, without one, the value's own behind it. */
static void show_fitting(const tn_column *column, const tn_prefix *prefix, double real, tn_buffer *cell) {
    char text[48];
    const char *unit = column->said ? tn_word_unit(column->said) : column->unit;
    if (isnan(real))
        tn_buffer_text(cell, "-");
    else
        tn_buffer_text(cell, prefix ? tn_plain_text(real * prefix->scale, text)
                                    : tn_quantity_text(real, unit, text));
}

static void show_real(const tn_column *column, double real, tn_buffer *cell) {
    char text[400]; /* the largest double has 309 digits before its point */
    int digits = column->digits ? column->digits : column->style == TN_NUMBER_SIGNIFICANT ? 4 : 0;
    if (column->scale != 0) real *= column->scale;
    tn_rounded_text(real, column->style, digits, text, sizeof text);
    tn_buffer_text(cell, isfinite(real) ? text : "-");
}

static void show_bar(double share, tn_buffer *cell) {
    enum { SIGNS = 24 };
    int full = !(share < 1) ? SIGNS : share > 0 ? (int)(share * SIGNS + 0.5) : 0;
    for (int i = 0; i < SIGNS; i++) tn_buffer_text(cell, i < full ? "#" : ".");
    if (!(share <= 1)) tn_buffer_text(cell, ">>");
}

/* What a fitting column shows; NAN: nothing that a prefix follows from. */
static double fitted(const tn_column *column, const void *row) {
    value v = load(column, row);
    return column->kind == TN_COLUMN_COUNT || column->kind == TN_COLUMN_COUNT32 ? (double)v.count : v.real;
}

static void show_value(const tn_column *column, const tn_prefix *prefix, const void *row, tn_buffer *cell) {
    value v = load(column, row);
    char text[32];
    if (column->fitting && column->kind != TN_COLUMN_RANGE) {
        show_fitting(column, prefix, fitted(column, row), cell);
        return;
    }
    switch (column->kind) {
    case TN_COLUMN_COUNT:
    case TN_COLUMN_COUNT32:
        if (column->scale != 0)
            show_real(column, (double)v.count, cell);
        else
            tn_buffer_text(cell, tn_count_text(v.count, text));
        break;
    case TN_COLUMN_AMOUNT:
        if (is_count(v.real))
            tn_buffer_text(cell, tn_count_text((uint64_t)v.real, text));
        else
            show_real(column, v.real, cell);
        break;
    case TN_COLUMN_REAL:
        if (column->bar)
            show_bar(v.real, cell);
        else
            show_real(column, v.real, cell);
        break;
    case TN_COLUMN_BOOL:
        tn_buffer_text(cell, column->names ? column->names[v.truth] : v.truth ? "yes" : "no");
        break;
    case TN_COLUMN_TEXT:
    case TN_COLUMN_NAME:
        tn_buffer_text(cell, v.text ? v.text : "");
        break;
    case TN_COLUMN_RANGE:
        show_real(column, v.real, cell);
        if (!isfinite(v.real) && !isfinite(v.most)) break;
        tn_buffer_text(cell, " to ");
        show_real(column, v.most, cell);
        break;
    case TN_COLUMN_RECORD:
        break; /* a table of its own */
    }
}

static void show(const tn_column *column, const tn_prefix *prefix, const void *row, tn_buffer *cell) {
    if (!exists(column, row)) {
        tn_buffer_text(cell, "-");
    } else if (column->cell) {
        column->cell(row, cell);
    } else if (column->list) {
        const char *items = items_of(column, row);
        size_t size = size_of(column);
        for (size_t i = 0; i < length_of(column, row); i++) {
            if (i) tn_buffer_text(cell, " ");
            show_value(column, prefix, items + i * size, cell);
        }
    } else if (!column->put) {
        show_value(column, prefix, member(column, row), cell);
    }
}

static bool wanted(const tn_record *record, const bool *shown, size_t i) {
    return (record->column[i].title || record->column[i].said) && (!shown || shown[i]);
}

static void put_head(const tn_column *column, const tn_prefix *prefix, tn_table *table) {
    tn_buffer head = {0};
    const char *unit = column->fitting ? (prefix ? prefix->unit : NULL) : column->unit;
    if (column->title)
        tn_buffer_format(&head, "%s%s%s", column->title, unit && *unit ? ", " : "", unit ? unit : "");
    else
        tn_word_put_head(column->said, unit, &head);
    tn_table_text(table, head.data);
    if (head.status != TN_OK && table->status == TN_OK) table->status = head.status;
    tn_buffer_free(&head);
}

/* prefix[columns], of those that are fitting; NULL: each value has its own. */
static void begin_table(const tn_record *record, const bool *shown, const tn_prefix *prefix,
                        tn_table *table) {
    size_t columns = 0;
    for (size_t i = 0; i < record->columns; i++) columns += wanted(record, shown, i);
    tn_table_begin(table, columns);
    for (size_t i = 0; i < record->columns; i++)
        if (wanted(record, shown, i)) put_head(&record->column[i], prefix ? &prefix[i] : NULL, table);
}

static void add_row(const tn_record *record, const void *row, const bool *shown, const tn_prefix *prefix,
                    tn_table *table) {
    for (size_t i = 0; i < record->columns; i++) {
        tn_buffer cell = {0};
        if (!wanted(record, shown, i)) continue;
        show(&record->column[i], prefix ? &prefix[i] : NULL, row, &cell);
        tn_table_text(table, cell.data);
        if (cell.status != TN_OK && table->status == TN_OK) table->status = cell.status;
        tn_buffer_free(&cell);
    }
}

void tn_record_head(const tn_record *record, const bool *shown, tn_table *table) {
    begin_table(record, shown, NULL, table);
}

void tn_record_cells(const tn_record *record, const void *row, const bool *shown, tn_table *table) {
    add_row(record, row, shown, NULL, table);
}

/* Of a fitting column: by its least and greatest value. */
static tn_prefix prefix_of(const tn_column *column, const void *rows, size_t count, size_t size) {
    double least = INFINITY, most = 0;
    for (size_t i = 0; i < count; i++) {
        const char *row = (const char *)rows + i * size;
        double each = fabs(fitted(column, row + column->offset));
        if (!exists(column, row) || !isfinite(each) || each == 0) continue;
        least = fmin(least, each);
        most = fmax(most, each);
    }
    return tn_prefix_between(column->said ? tn_word_unit(column->said) : column->unit, fmin(least, most),
                             most);
}

static bool any_has(const tn_column *column, const void *rows, size_t count, size_t size) {
    for (size_t i = 0; i < count; i++)
        if (has_value(column, (const char *)rows + i * size)) return true;
    return false;
}

void tn_record_fill(const tn_record *record, const void *rows, size_t count, tn_table *table) {
    bool *shown = NULL;
    tn_prefix *prefix = NULL;
    tn_status status = TN_ALLOC(record->columns, &shown, NULL);
    if (status == TN_OK) status = TN_ALLOC(record->columns, &prefix, NULL);
    for (size_t i = 0; status == TN_OK && i < record->columns; i++) {
        const tn_column *column = &record->column[i];
        shown[i] = !column->optional || any_has(column, rows, count, record->size);
        if (column->fitting) prefix[i] = prefix_of(column, rows, count, record->size);
    }
    if (status == TN_OK) {
        begin_table(record, shown, prefix, table);
        for (size_t i = 0; i < count; i++)
            add_row(record, (const char *)rows + i * record->size, shown, prefix, table);
    } else {
        tn_table_begin(table, 1);
        table->status = status;
    }
    tn_free(shown);
    tn_free(prefix);
}

void tn_record_table(const tn_record *record, const void *rows, size_t count, bool bold, tn_buffer *out) {
    tn_table table;
    tn_record_fill(record, rows, count, &table);
    tn_table_write(&table, bold, out);
    tn_table_free(&table);
}

void tn_record_lines(const tn_record *record, const void *row, bool bold, tn_buffer *out) {
    static const char *const head[] = {"quantity", "value", "unit"};
    tn_table table;
    tn_table_head(&table, head, 3);
    for (size_t i = 0; i < record->columns; i++) {
        const tn_column *column = &record->column[i];
        tn_buffer cell = {0};
        tn_prefix prefix = {column->unit, 1};
        if (!column->title || (column->optional && !has_value(column, row))) continue;
        if (column->fitting) prefix = prefix_of(column, row, 1, record->size);
        show(column, &prefix, row, &cell);
        tn_table_text(&table, column->title);
        tn_table_text(&table, cell.data);
        tn_table_text(&table, prefix.unit);
        if (cell.status != TN_OK && table.status == TN_OK) table.status = cell.status;
        tn_buffer_free(&cell);
    }
    tn_table_write(&table, bold, out);
    tn_table_free(&table);
}
