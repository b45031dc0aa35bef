#include "space/error_table.h"

#include "base/file.h"
#include "base/memory.h"
#include "text/csv.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FOLDING_TEXT = 21 * TN_FACTORS_MOST };

static int compare(const tn_error_row *a, const tn_error_row *b) {
    int order = strcmp(a->weight, b->weight);
    if (order == 0) order = strcmp(a->rows, b->rows);
    if (order == 0) order = strcmp(a->columns, b->columns);
    return order ? order : (a->rank > b->rank) - (a->rank < b->rank);
}

static int by_key(const void *a, const void *b) {
    return compare(a, b);
}

enum { WEIGHT, ROWS, COLUMNS, RANK, ERROR, NEEDED, LIMIT_BYTES = 256 << 20 };

static tn_status read_row(const tn_csv *csv, size_t i, const size_t *column, size_t norm, tn_error_row *row,
                          tn_error *error) {
    *row = (tn_error_row){.weight = tn_csv_at(csv, i, column[WEIGHT])->text,
                          .rows = tn_csv_at(csv, i, column[ROWS])->text,
                          .columns = tn_csv_at(csv, i, column[COLUMNS])->text,
                          .norm = 1};
    TN_TRY(tn_csv_count(csv, i, column[RANK], 1, UINT64_MAX, &row->rank, error));
    TN_TRY(tn_csv_real(csv, i, column[ERROR], 0, INFINITY, &row->relative_error, error));
    return norm < csv->columns ? tn_csv_real(csv, i, norm, 0, 1e150, &row->norm, error) : TN_OK;
}

/* Without norms the errors of several weights can't be put together. */
static tn_status check_rows(const tn_csv *csv, size_t norm, const tn_error_row *row, tn_error *error) {
    for (size_t i = 1; i < csv->rows; i++) {
        if (compare(&row[i - 1], &row[i]) == 0)
            return tn_fail_at(error, TN_INPUT, (tn_position){.file = csv->file},
                              "weight %s, folding %s by %s, rank %" PRIu64 " is given twice; give it once",
                              row[i].weight, row[i].rows, row[i].columns, row[i].rank);
        if (norm == csv->columns && strcmp(row[i - 1].weight, row[i].weight) != 0)
            return tn_fail_at(error, TN_INPUT, csv->head[0].position,
                              "errors of several weights need a column `norm`, the Frobenius norm of each "
                              "weight over its layers; `tenfold ranks -o DIR` writes it");
    }
    return TN_OK;
}

tn_status tn_error_table_load(const char *path, tn_arena *arena, tn_error_table *table, tn_error *error) {
    static const char *const names[] = {"weight", "rows", "columns", "rank", "relative_error"};
    tn_csv csv;
    tn_error_row *row;
    size_t column[NEEDED];
    char *data;
    *table = (tn_error_table){.path = path};
    TN_TRY(tn_file_read(path, LIMIT_BYTES, &data, &table->length, error));
    tn_status status = tn_arena_copy_text(arena, data, table->length, &table->text, error);
    tn_free(data);
    TN_TRY(status);
    TN_TRY(tn_csv_parse(path, table->text, table->length, arena, &csv, error));
    TN_TRY(tn_csv_columns(&csv, names, NEEDED, false, column, error));
    size_t norm = tn_csv_column(&csv, "norm");
    TN_TRY(TN_NEW(arena, csv.rows, &row, error));
    for (size_t i = 0; i < csv.rows; i++) TN_TRY(read_row(&csv, i, column, norm, &row[i], error));
    qsort(row, csv.rows, sizeof *row, by_key);
    TN_TRY(check_rows(&csv, norm, row, error));
    table->count = csv.rows;
    table->row = row;
    return TN_OK;
}

static void folding_text(const uint64_t *factor, uint32_t d, char *text) {
    for (uint32_t i = 0; i < d; i++) text += sprintf(text, i ? "x%" PRIu64 : "%" PRIu64, factor[i]);
}

tn_status tn_error_table_find(const tn_error_table *table, const char *name, const tn_weight *weight,
                              uint64_t rank, const tn_error_row **row, tn_error *error) {
    char rows[FOLDING_TEXT], columns[FOLDING_TEXT];
    uint64_t greatest = 0;
    folding_text(weight->m, weight->d, rows);
    folding_text(weight->n, weight->d, columns);
    for (uint32_t i = 0; i < weight->rank_count; i++)
        if (weight->rank[i] > greatest) greatest = weight->rank[i];
    const uint64_t ranks[] = {rank, greatest};
    for (int i = 0; i < 2; i++) {
        const tn_error_row key = {.weight = name, .rows = rows, .columns = columns, .rank = ranks[i]};
        *row = bsearch(&key, table->row, table->count, sizeof *table->row, by_key);
        if (*row) return TN_OK;
    }
    return tn_fail_at(error, TN_INPUT, (tn_position){.file = table->path},
                      "has no row for weight %s, rows %s, columns %s, rank %" PRIu64
                      "; add it, or leave it out of the choices",
                      name, rows, columns, rank);
}

bool tn_error_table_covers(const tn_error_table *table, const char *name) {
    for (size_t i = 0; i < table->count; i++)
        if (strcmp(table->row[i].weight, name) == 0) return true;
    return false;
}
