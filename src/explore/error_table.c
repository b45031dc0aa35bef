#include "explore/error_table.h"

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

tn_status tn_error_table_load(const char *path, tn_arena *arena, tn_error_table *table, tn_error *error) {
    static const char *const names[] = {"weight", "rows", "columns", "rank", "relative_error"};
    tn_csv csv;
    size_t column[5];
    TN_TRY(tn_csv_load(path, arena, &csv, error));
    TN_TRY(tn_csv_columns(&csv, names, 5, false, column, error));
    tn_error_row *row;
    TN_TRY(tn_arena_alloc(arena, csv.rows, sizeof *row, &row, error));
    for (size_t i = 0; i < csv.rows; i++) {
        row[i].weight = tn_csv_at(&csv, i, column[0])->text;
        row[i].rows = tn_csv_at(&csv, i, column[1])->text;
        row[i].columns = tn_csv_at(&csv, i, column[2])->text;
        TN_TRY(tn_csv_count(&csv, i, column[3], 1, UINT64_MAX, &row[i].rank, error));
        TN_TRY(tn_csv_real(&csv, i, column[4], 0, INFINITY, &row[i].relative_error, error));
    }
    qsort(row, csv.rows, sizeof *row, by_key);
    for (size_t i = 1; i < csv.rows; i++)
        if (compare(&row[i - 1], &row[i]) == 0)
            return tn_fail_at(error, TN_INPUT, (tn_position){.file = path},
                              "weight %s, folding %s by %s, rank %" PRIu64 " is given twice; give it once",
                              row[i].weight, row[i].rows, row[i].columns, row[i].rank);
    *table = (tn_error_table){.count = csv.rows, .row = row};
    return TN_OK;
}

static void folding_text(const uint64_t *factor, uint32_t d, char *text) {
    for (uint32_t i = 0; i < d; i++) text += sprintf(text, i ? "x%" PRIu64 : "%" PRIu64, factor[i]);
}

bool tn_error_table_find(const tn_error_table *table, const char *name, const tn_weight *weight,
                         double *relative_error) {
    char rows[FOLDING_TEXT], columns[FOLDING_TEXT];
    folding_text(weight->m, weight->d, rows);
    folding_text(weight->n, weight->d, columns);
    tn_error_row key = {.weight = name, .rows = rows, .columns = columns};
    for (uint32_t i = 0; i < weight->rank_count; i++)
        if (weight->rank[i] > key.rank) key.rank = weight->rank[i];
    const tn_error_row *row =
        table->count ? bsearch(&key, table->row, table->count, sizeof *table->row, by_key) : NULL;
    if (row) *relative_error = row->relative_error;
    return row != NULL;
}

bool tn_error_table_covers(const tn_error_table *table, const char *name) {
    for (size_t i = 0; i < table->count; i++)
        if (strcmp(table->row[i].weight, name) == 0) return true;
    return false;
}
