#include "text/table.h"

#include "base/memory.h"
#include "text/number.h"
#include "text/utf8.h"

#include <stdarg.h>
#include <string.h>

void tn_table_begin(tn_table *table, size_t columns) {
    *table = (tn_table){.columns = columns};
}

/* Takes the buffer's text as a cell. */
static void add_cell(tn_table *table, tn_buffer *text) {
    if (table->status == TN_OK) table->status = text->status;
    if (table->status == TN_OK)
        table->status = tn_grow(&table->cell, &table->capacity, table->count + 1, sizeof *table->cell, NULL);
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
    if (status == TN_OK) status = tn_arena_alloc(&table->arena, table->columns, sizeof *width, &width, NULL);
    if (status == TN_OK) status = tn_arena_alloc(&table->arena, table->columns, sizeof *left, &left, NULL);
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
