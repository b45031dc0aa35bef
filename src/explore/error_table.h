/* Errors of weights by folding and rank, from a CSV file (columns weight,rows,columns,rank,relative_error;
 * foldings as 12x8x8), such as `tenfold ranks -o DIR` writes: the truncation error that a design's ranks
 * leave in trained weights. */
#ifndef TN_EXPLORE_ERROR_TABLE_H
#define TN_EXPLORE_ERROR_TABLE_H

#include "base/arena.h"
#include "base/error.h"
#include "base/public.h"
#include "tensor/weight.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

TN_PUBLIC_BEGIN

typedef struct tn_error_row {
    const char *weight, *rows, *columns;
    uint64_t rank;
    double relative_error;
} tn_error_row;

typedef struct tn_error_table {
    size_t count;      /* 0: no table */
    tn_error_row *row; /* sorted by weight, rows, columns, rank */
} tn_error_table;

tn_status tn_error_table_load(const char *path, tn_arena *arena, tn_error_table *table, tn_error *error);

/* The error of the weight `name` as it stands (its greatest rank). False where the table has no such row. */
bool tn_error_table_find(const tn_error_table *table, const char *name, const tn_weight *weight,
                         double *relative_error);
/* True if the table has rows for that weight at all. */
bool tn_error_table_covers(const tn_error_table *table, const char *name);

TN_PUBLIC_END

#endif
