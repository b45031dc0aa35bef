/* Any bytes as CSV: refused with an error, or a table that can be written and read back equal. */
#include "text/csv.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

static void put_row(tn_buffer *out, const tn_csv_cell *row, size_t columns) {
    for (size_t i = 0; i < columns; i++) tn_csv_put(out, row[i].text);
    tn_csv_line(out);
}

static void check_equal(const tn_csv *a, const tn_csv *b) {
    if (a->columns != b->columns || a->rows != b->rows) abort();
    for (size_t i = 0; i < a->columns; i++)
        if (strcmp(a->head[i].text, b->head[i].text) != 0) abort();
    for (size_t i = 0; i < a->rows * a->columns; i++)
        if (strcmp(a->cell[i].text, b->cell[i].text) != 0) abort();
}

static void check_writing(const tn_csv *csv, tn_arena *arena) {
    tn_buffer out = {0};
    tn_csv again;
    tn_error error;
    put_row(&out, csv->head, csv->columns);
    for (size_t row = 0; row < csv->rows; row++) put_row(&out, tn_csv_at(csv, row, 0), csv->columns);
    if (out.status != TN_OK) abort();
    if (tn_csv_parse("again", out.data, out.length, arena, &again, &error) != TN_OK) abort();
    check_equal(csv, &again);
    tn_buffer_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    tn_arena arena = {0};
    tn_csv csv;
    tn_error error;
    uint64_t count;
    double real;
    if (tn_csv_parse("fuzz", (const char *)data, size, &arena, &csv, &error) == TN_OK) {
        check_writing(&csv, &arena);
        for (size_t row = 0; row < csv.rows; row++)
            for (size_t column = 0; column < csv.columns; column++) {
                tn_csv_count(&csv, row, column, 1, 1000, &count, &error);
                tn_csv_real(&csv, row, column, -DBL_MAX, DBL_MAX, &real, &error);
            }
    }
    tn_arena_free(&arena);
    return 0;
}
