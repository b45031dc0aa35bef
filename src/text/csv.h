/* CSV with a head row (RFC 4180 quoting). Every row has as many cells as the head; names in the head are
 * distinct; errors carry line and column. Blank lines at the end are passed over, and a byte order mark
 * before the head. A file is limited to 256 MiB and 2^24 cells, and must be UTF-8 text. */
#ifndef TN_TEXT_CSV_H
#define TN_TEXT_CSV_H

#include "base/buffer.h"
#include "base/error.h"
#include "base/memory.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tn_csv_cell {
    const char *text;
    tn_position position;
} tn_csv_cell;

typedef struct tn_csv {
    const char *file;
    size_t columns, rows;
    tn_csv_cell *head; /* [columns] */
    tn_csv_cell *cell; /* [rows * columns] */
} tn_csv;

tn_status tn_csv_load(const char *path, tn_arena *arena, tn_csv *csv, tn_error *error);
tn_status tn_csv_parse(const char *name, const char *text, size_t length, tn_arena *arena, tn_csv *csv,
                       tn_error *error);

/* Finds columns by name: column[i] = place of names[i]. A missing one is an error that names it; with
 * `exact`, so is a column that is not among the names (with the nearest one suggested). */
tn_status tn_csv_columns(const tn_csv *csv, const char *const *names, size_t count, bool exact,
                         size_t *column, tn_error *error);
/* Place of one optional column, or csv->columns where it is absent. */
size_t tn_csv_column(const tn_csv *csv, const char *name);

const tn_csv_cell *tn_csv_at(const tn_csv *csv, size_t row, size_t column);
/* Typed cells: an empty, malformed or non-finite one, or one outside [minimum, maximum], is an error with its
 * place. */
tn_status tn_csv_count(const tn_csv *csv, size_t row, size_t column, uint64_t minimum, uint64_t maximum,
                       uint64_t *value, tn_error *error);
tn_status tn_csv_real(const tn_csv *csv, size_t row, size_t column, double minimum, double maximum,
                      double *value, tn_error *error);

/* Writing: one cell (quoted where needed, a comma before all but a line's first), the end of a line. */
void tn_csv_put(tn_buffer *out, const char *text);
void tn_csv_put_count(tn_buffer *out, uint64_t value);
void tn_csv_put_real(tn_buffer *out, double value);
void tn_csv_line(tn_buffer *out);

#endif
