/* A table of designs in a store: id, the choices, the quantities; numbers as numbers. */
#ifndef TN_EXPLORE_DESIGN_TABLE_H
#define TN_EXPLORE_DESIGN_TABLE_H

#include "base/buffer.h"
#include "base/error.h"
#include "explore/database.h"
#include "explore/evaluator.h"
#include "explore/space.h"

#include <stdint.h>

/* "CREATE TABLE ..." as SQLite keeps it in its schema, and "INSERT OR REPLACE INTO ...". */
void tn_design_table_create(const tn_space *space, const char *name, tn_buffer *sql);
void tn_design_table_insert(const tn_space *space, const char *name, tn_buffer *sql);

/* Binds a row to the prepared insert and adds its digest to kept[2] (NULL: does not). */
tn_status tn_design_table_bind(const tn_space *space, sqlite3_stmt *insert, uint64_t id,
                               const tn_evaluation *evaluation, uint64_t *kept, tn_error *error);
/* Adds the digest of a row as it was read; equal to that of the row as it was bound. */
tn_status tn_design_table_digest(sqlite3_stmt *row, uint64_t *kept, tn_error *error);

#endif
