/* Aligned tables for people. Cells are collected, widths follow; the first row is the head. Columns whose
 * cells (head aside) are all numbers align right. */
#ifndef TN_CLI_TABLE_H
#define TN_CLI_TABLE_H

#include "base/arena.h"
#include "base/error.h"

#include <stdint.h>
#include <stdio.h>

typedef struct tn_table {
    tn_arena arena;
    const char **cell;
    size_t columns, count, capacity;
    tn_status status;
} tn_table;

void tn_table_begin(tn_table *table, size_t columns);
/* Begins with the head row. */
void tn_table_head(tn_table *table, const char *const *head, size_t columns);
void tn_table_text(tn_table *table, const char *text);
void tn_table_format(tn_table *table, const char *format, ...) TN_PRINTF(2, 3);
void tn_table_count(tn_table *table, uint64_t value); /* with thousands separators: 1,253,376 */
/* Prints and frees. The head is bold on a terminal unless NO_COLOR is set. */
tn_status tn_table_end(tn_table *table, FILE *stream, tn_error *error);

/* "1,253,376"; text holds at least 32 bytes, as in all of these. */
const char *tn_count_text(uint64_t value, char *text);
/* With an SI prefix and three digits: "1.25 M". */
const char *tn_si_text(double value, const char *unit, char *text);
/* Binary: "5.91 MiB". */
const char *tn_bytes_text(double bytes, char *text);

#endif
