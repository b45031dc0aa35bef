#include "cli/table.h"

#include "base/memory.h"

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void tn_table_begin(tn_table *table, size_t columns) {
    *table = (tn_table){.columns = columns};
}

void tn_table_text(tn_table *table, const char *text) {
    if (table->status == TN_OK)
        table->status = tn_grow(&table->cell, &table->capacity, table->count + 1, sizeof *table->cell, NULL);
    if (table->status == TN_OK)
        table->status =
            tn_arena_copy_text(&table->arena, text, strlen(text), &table->cell[table->count], NULL);
    if (table->status == TN_OK) table->count++;
}

void tn_table_head(tn_table *table, const char *const *head, size_t columns) {
    tn_table_begin(table, columns);
    for (size_t i = 0; i < columns; i++) tn_table_text(table, head[i]);
}

void tn_table_format(tn_table *table, const char *format, ...) {
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    tn_table_text(table, text);
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

static void print_cell(FILE *stream, const char *text, size_t width, bool right, bool last) {
    int pad = (int)(width - width_of(text));
    if (right)
        fprintf(stream, "%*s%s", pad, "", text);
    else
        fprintf(stream, "%s%*s", text, last ? 0 : pad, "");
    fputs(last ? "\n" : "  ", stream);
}

static void print(const tn_table *table, size_t *width, bool *left, FILE *stream) {
    size_t columns = table->columns;
    for (size_t i = 0; i < table->count; i++) {
        const char *text = table->cell[i];
        if (width_of(text) > width[i % columns]) width[i % columns] = width_of(text);
        if (i >= columns && text[0] && !is_number(text)) left[i % columns] = true;
    }
    bool bold = isatty(fileno(stream)) && !getenv("NO_COLOR");
    for (size_t i = 0; i < table->count; i++) {
        size_t column = i % columns;
        if (bold && i == 0) fputs("\033[1m", stream);
        print_cell(stream, table->cell[i], width[column], !left[column], column + 1 == columns);
        if (bold && i + 1 == columns) fputs("\033[0m", stream);
    }
}

tn_status tn_table_end(tn_table *table, FILE *stream, tn_error *error) {
    tn_status status = table->status;
    size_t *width = NULL;
    bool *left = NULL;
    if (status == TN_OK) status = tn_arena_alloc(&table->arena, table->columns, sizeof *width, &width, NULL);
    if (status == TN_OK) status = tn_arena_alloc(&table->arena, table->columns, sizeof *left, &left, NULL);
    if (status == TN_OK)
        print(table, width, left, stream);
    else
        tn_fail(error, status, "no memory for a table");
    tn_free(table->cell);
    tn_arena_free(&table->arena);
    return status;
}

const char *tn_count_text(uint64_t value, char *text) {
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%llu", (unsigned long long)value), to = 0;
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0) text[to++] = ',';
        text[to++] = digits[i];
    }
    text[to] = '\0';
    return text;
}

/* Three significant digits of value / step^power with the power's prefix. */
static const char *scaled(double value, double step, const char *const *prefix, int lowest, int highest,
                          const char *unit, char *text) {
    int power = 0;
    double size = fabs(value);
    for (; size >= step * 0.9995 && power < highest; power++) size /= step;
    for (; size > 0 && size < 0.9995 && power > lowest; power--) size *= step;
    int digits = size < 9.995 ? 2 : size < 99.95 ? 1 : 0;
    snprintf(text, 32, "%s%.*f %s%s", value < 0 ? "-" : "", digits, size, prefix[power - lowest], unit);
    return text;
}

const char *tn_si_text(double value, const char *unit, char *text) {
    static const char *const prefix[] = {"p", "n", "u", "m", "", "k", "M", "G", "T", "P", "E"};
    return scaled(value, 1000, prefix, -4, 6, unit, text);
}

const char *tn_bytes_text(double bytes, char *text) {
    static const char *const prefix[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    return scaled(bytes, 1024, prefix, 0, 6, "", text);
}
