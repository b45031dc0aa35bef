/* An SQLite file in a folder that anybody may have prepared: opened so that nothing outside the folder is
 * touched and nothing in the file is executed.
 *
 *   The file and its journal are regular files of the folder, reached through its descriptor; links are not
 *   followed, and no path is too long.
 *   A journal that names a super-journal is refused: SQLite would delete the file of that name.
 *   A write-ahead log is refused: no store has one.
 *   The schema is compared as text (tn_database_check_schema) before a table is read: no views, triggers,
 *   generated columns.
 *   Signals interrupt statements; those before the schema is known end after some seconds as well.
 */
#ifndef TN_RESULTS_DATABASE_H
#define TN_RESULTS_DATABASE_H

#include "base/buffer.h"
#include "base/error.h"
#include "search/evaluator.h"
#include "space/space.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum tn_database_mode {
    TN_DATABASE_WRITE, /* made where it is missing; what a killed writer left half done is undone */
    TN_DATABASE_READ,  /* as it lies: TN_INPUT where it is missing, or half done by a killed writer */
} tn_database_mode;

typedef struct tn_database {
    sqlite3 *handle;
    const char *path; /* for errors; the caller's */
    bool writing;     /* a transaction is open */
    double deadline;  /* of the monotonic clock, when statements end by themselves; 0: never */
} tn_database;

/* Opens `name` in the folder open as `folder`. *database must stay where it is; tn_database_close it after a
 * failure too. A damaged or foreign file is TN_INPUT here or wherever it is noticed. */
tn_status tn_database_open(tn_database *database, int folder, const char *name, const char *path,
                           tn_database_mode mode, tn_error *error);
/* What is not committed is undone. Zero-initialised or closed ones are fine. */
void tn_database_close(tn_database *database);

/* Compares the schema with the CREATE TABLE statements given, in that order. *empty: there is none at all. */
tn_status tn_database_check_schema(tn_database *database, const char *const *table, size_t tables,
                                   bool *empty, tn_error *error);

tn_status tn_database_execute(tn_database *database, const char *sql, tn_error *error);
tn_status tn_database_prepare(tn_database *database, const char *sql, sqlite3_stmt **statement,
                              tn_error *error);
/* Runs a statement without rows whose parameters are bound, and makes it ready for the next. */
tn_status tn_database_run(tn_database *database, sqlite3_stmt *statement, tn_error *error);
/* *found = there is one more row. */
tn_status tn_database_step(tn_database *database, sqlite3_stmt *statement, bool *found, tn_error *error);
tn_status tn_database_begin(tn_database *database, tn_error *error); /* nothing where one is open */
tn_status tn_database_commit(tn_database *database, tn_error *error);

/* A table of designs in a store: id, the choices, the quantities; numbers as numbers. */

/* "CREATE TABLE ..." as SQLite keeps it in its schema, and "INSERT OR REPLACE INTO ...". */
void tn_design_table_create(const tn_space *space, const char *name, tn_buffer *sql);
void tn_design_table_insert(const tn_space *space, const char *name, tn_buffer *sql);

/* Binds a row to the prepared insert and adds its digest to kept[2] (NULL: does not). */
tn_status tn_design_table_bind(const tn_space *space, sqlite3_stmt *insert, uint64_t id,
                               const tn_evaluation *evaluation, uint64_t *kept, tn_error *error);
/* Adds the digest of a row as it was read; equal to that of the row as it was bound. */
tn_status tn_design_table_digest(sqlite3_stmt *row, uint64_t *kept, tn_error *error);

#endif
