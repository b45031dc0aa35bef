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

static void write_cell(tn_buffer *out, const char *text, size_t width, bool right, bool last) {
    int pad = (int)(width - width_of(text));
    if (right)
        tn_buffer_format(out, "%*s%s", pad, "", text);
    else
        tn_buffer_format(out, "%s%*s", text, last ? 0 : pad, "");
    tn_buffer_text(out, last ? "\n" : "  ");
}

static void write_rows(const tn_table *table, size_t *width, bool *left, bool bold, tn_buffer *out) {
    size_t columns = table->columns;
    for (size_t i = 0; i < table->count; i++) {
        const char *text = table->cell[i];
        if (width_of(text) > width[i % columns]) width[i % columns] = width_of(text);
        if (i >= columns && text[0] && !is_number(text)) left[i % columns] = true;
    }
    for (size_t i = 0; i < table->count; i++) {
        size_t column = i % columns;
        if (bold && i == 0) tn_buffer_text(out, "\033[1m");
        write_cell(out, table->cell[i], width[column], !left[column], column + 1 == columns);
        if (bold && i + 1 == columns) tn_buffer_text(out, "\033[0m");
    }
}

void tn_table_write(tn_table *table, bool bold, tn_buffer *out) {
    size_t *width = NULL;
    bool *left = NULL;
    tn_status status = table->status;
    if (status == TN_OK) status = TN_NEW(&table->arena, table->columns, &width, NULL);
    if (status == TN_OK) status = TN_NEW(&table->arena, table->columns, &left, NULL);
    if (status == TN_OK)
        write_rows(table, width, left, bold, out);
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

static void show_value(const tn_column *column, const void *row, tn_buffer *cell) {
    value v = load(column, row);
    char text[32];
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

static void show(const tn_column *column, const void *row, tn_buffer *cell) {
    if (!exists(column, row)) {
        tn_buffer_text(cell, "-");
    } else if (column->cell) {
        column->cell(row, cell);
    } else if (column->list) {
        const char *items = items_of(column, row);
        size_t size = size_of(column);
        for (size_t i = 0; i < length_of(column, row); i++) {
            if (i) tn_buffer_text(cell, " ");
            show_value(column, items + i * size, cell);
        }
    } else if (!column->put) {
        show_value(column, member(column, row), cell);
    }
}

static bool wanted(const tn_record *record, const bool *shown, size_t i) {
    return record->column[i].title && (!shown || shown[i]);
}

void tn_record_head(const tn_record *record, const bool *shown, tn_table *table) {
    size_t columns = 0;
    for (size_t i = 0; i < record->columns; i++) columns += wanted(record, shown, i);
    tn_table_begin(table, columns);
    for (size_t i = 0; i < record->columns; i++) {
        const tn_column *column = &record->column[i];
        if (!wanted(record, shown, i)) continue;
        if (column->unit)
            tn_table_format(table, "%s, %s", column->title, column->unit);
        else
            tn_table_text(table, column->title);
    }
}

void tn_record_cells(const tn_record *record, const void *row, const bool *shown, tn_table *table) {
    for (size_t i = 0; i < record->columns; i++) {
        tn_buffer cell = {0};
        if (!wanted(record, shown, i)) continue;
        show(&record->column[i], row, &cell);
        tn_table_text(table, cell.data);
        if (cell.status != TN_OK && table->status == TN_OK) table->status = cell.status;
        tn_buffer_free(&cell);
    }
}

static bool any_has(const tn_column *column, const void *rows, size_t count, size_t size) {
    for (size_t i = 0; i < count; i++)
        if (has_value(column, (const char *)rows + i * size)) return true;
    return false;
}

void tn_record_table(const tn_record *record, const void *rows, size_t count, bool bold, tn_buffer *out) {
    tn_table table;
    bool *shown;
    tn_status status = TN_ALLOC(record->columns, &shown, NULL);
    if (status != TN_OK) {
        if (out->status == TN_OK) out->status = status;
        return;
    }
    for (size_t i = 0; i < record->columns; i++) {
        const tn_column *column = &record->column[i];
        shown[i] = !column->optional || any_has(column, rows, count, record->size);
    }
    tn_record_head(record, shown, &table);
    for (size_t i = 0; i < count; i++)
        tn_record_cells(record, (const char *)rows + i * record->size, shown, &table);
    tn_table_write(&table, bold, out);
    tn_table_free(&table);
    tn_free(shown);
}

void tn_record_lines(const tn_record *record, const void *row, bool bold, tn_buffer *out) {
    static const char *const head[] = {"quantity", "value", "unit"};
    tn_table table;
    tn_table_head(&table, head, 3);
    for (size_t i = 0; i < record->columns; i++) {
        const tn_column *column = &record->column[i];
        tn_buffer cell = {0};
        if (!column->title || (column->optional && !has_value(column, row))) continue;
        show(column, row, &cell);
        tn_table_text(&table, column->title);
        tn_table_text(&table, cell.data);
        tn_table_text(&table, column->unit);
        if (cell.status != TN_OK && table.status == TN_OK) table.status = cell.status;
        tn_buffer_free(&cell);
    }
    tn_table_write(&table, bold, out);
    tn_table_free(&table);
}
