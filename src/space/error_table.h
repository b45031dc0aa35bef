/* Errors of weights by folding and rank, from a CSV file (columns weight,rows,columns,rank,relative_error,norm;
 * foldings as 12x8x8), such as `tenfold ranks -o DIR` writes: the truncation error that a design's ranks
 * leave in trained weights. Both numbers are over all layers of the weight together. */
#ifndef TN_SPACE_ERROR_TABLE_H
#define TN_SPACE_ERROR_TABLE_H

#include "base/error.h"
#include "base/memory.h"
#include "base/public.h"
#include "tensor/weight.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

TN_PUBLIC_BEGIN

typedef struct tn_error_row {
    const char *weight, *rows, *columns;
    uint64_t rank;
    double relative_error, norm; /* norm: Frobenius, of the trained matrices; 1 where the table has no column
                                    for it, as it may where it speaks of one weight only */
} tn_error_row;

typedef struct tn_error_table {
    size_t count;      /* 0: no table */
    tn_error_row *row; /* sorted by weight, rows, columns, rank */
    const char *path, *text;
    size_t length; /* the file as it was read */
} tn_error_table;

tn_status tn_error_table_load(const char *path, tn_arena *arena, tn_error_table *table, tn_error *error);

/* The row of the weight `name` as it stands, that was asked for at `rank`: at that rank, or at the greatest that
 * its modes can fill. TN_INPUT where the table has no such row. */
tn_status tn_error_table_find(const tn_error_table *table, const char *name, const tn_weight *weight,
                              uint64_t rank, const tn_error_row **row, tn_error *error);
/* True if the table has rows for that weight at all. */
bool tn_error_table_covers(const tn_error_table *table, const char *name);

TN_PUBLIC_END

#endif
