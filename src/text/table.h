/* Aligned tables for people. Cells are collected, widths follow; the first row is the head. Columns whose
 * cells (head aside) are all numbers align right. What would steer a terminal is replaced (text/utf8.h). */
#ifndef TN_TEXT_TABLE_H
#define TN_TEXT_TABLE_H

#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct tn_table {
    tn_arena arena;
    const char **cell;
    size_t columns, count, capacity;
    tn_status status;
} tn_table;

void tn_table_begin(tn_table *table, size_t columns);
/* Begins with the head row. */
void tn_table_head(tn_table *table, const char *const *head, size_t columns);
void tn_table_text(tn_table *table, const char *text); /* NULL: an empty cell */
void tn_table_format(tn_table *table, const char *format, ...) TN_PRINTF(2, 3);
void tn_table_count(tn_table *table, uint64_t value); /* with thousands separators: 1,253,376 */
/* Appends the table's lines, the head in bold if asked; a table that ran out of memory fails the buffer. */
void tn_table_write(tn_table *table, bool bold, tn_buffer *out);
void tn_table_free(tn_table *table);

#endif
