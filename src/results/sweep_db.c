#include "results/sweep_db.h"

#include "base/file.h"
#include "base/memory.h"
#include "results/database.h"
#include "results/sweep_db_parts.h"
#include "search/chunk.h"
#include "text/number.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { TABLES = 4 };
static const char file_name[] = "sweep.db", lock_name[] = "sweep.lock", damaged_name[] = "sweep.db.damaged";
static const char meta_table[] =
    "CREATE TABLE meta (number INTEGER PRIMARY KEY, key TEXT NOT NULL, value TEXT NOT NULL) STRICT";
static const char chunk_table[] = "CREATE TABLE chunk (chunk INTEGER PRIMARY KEY, record BLOB NOT NULL, "
                                  "sha256 BLOB NOT NULL) STRICT";

const char *tn_sweep_db_path(const tn_sweep_db *store) {
    return store->path;
}

tn_status tn_sweep_db_distrust(const tn_sweep_db *store, const char *what, tn_error *error) {
    return tn_fail_at(error, TN_INPUT, (tn_position){.file = store->path},
                      "%.700s; `tenfold sweep ... --resume --repair` evaluates anew what can't be trusted",
                      what);
}

/* ---- schema */

/* *sql = the statements that make the tables, in their order; freed with free_tables. */
static tn_status table_sql(const tn_space *space, char *sql[TABLES], tn_error *error) {
    static const char *const names[] = {"designs", "front"};
    memset(sql, 0, TABLES * sizeof *sql);
    tn_status status = tn_copy_text(meta_table, &sql[0], error);
    if (status == TN_OK) status = tn_copy_text(chunk_table, &sql[1], error);
    for (int i = 0; status == TN_OK && i < 2; i++) {
        tn_buffer text = {0};
        tn_design_table_create(space, names[i], &text);
        status = text.status == TN_OK ? tn_copy_text(text.data, &sql[2 + i], error)
                                      : tn_fail(error, text.status, "no memory for the tables of the sweep");
        tn_buffer_free(&text);
    }
    return status;
}

static void free_tables(char *sql[TABLES]) {
    for (int i = 0; i < TABLES; i++) tn_free(sql[i]);
}

static tn_status check_schema(const tn_sweep_db *store, tn_database *database, bool *empty, tn_error *error) {
    char *sql[TABLES];
    tn_status status = table_sql(store->space, sql, error);
    if (status == TN_OK)
        status = tn_database_check_schema(database, (const char *const *)sql, TABLES, empty, error);
    free_tables(sql);
    return status;
}

static tn_status make_tables(tn_sweep_db *store, tn_error *error) {
    char *sql[TABLES];
    tn_status status = table_sql(store->space, sql, error);
    for (int i = 0; status == TN_OK && i < TABLES; i++)
        status = tn_database_execute(&store->database, sql[i], error);
    free_tables(sql);
    return status;
}

/* ---- meta: 1 identity, 2 its digest, 3 the number of finished chunks */

static tn_status put_meta(tn_sweep_db *store, int number, const char *key, const char *value,
                          tn_error *error) {
    sqlite3_stmt *insert;
    TN_TRY(tn_database_prepare(&store->database, "INSERT OR REPLACE INTO meta VALUES (?, ?, ?)", &insert,
                               error));
    sqlite3_bind_int(insert, 1, number);
    sqlite3_bind_text(insert, 2, key, -1, SQLITE_STATIC);
    sqlite3_bind_text(insert, 3, value, -1, SQLITE_STATIC);
    tn_status status = tn_database_run(&store->database, insert, error);
    sqlite3_finalize(insert);
    return status;
}

static tn_status put_chunk_count(tn_sweep_db *store, tn_error *error) {
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, store->chunks);
    return put_meta(store, 3, "chunks", text, error);
}

static tn_status put_all_meta(tn_sweep_db *store, tn_error *error) {
    char digest[TN_DIGEST_TEXT];
    tn_digest(store->identity, strlen(store->identity), digest);
    TN_TRY(put_meta(store, 1, "identity", store->identity, error));
    TN_TRY(put_meta(store, 2, "identity_sha256", digest, error));
    return put_chunk_count(store, error);
}

/* The value of a key; "" where it is missing or too long. */
static tn_status get_meta(tn_database *database, int number, char *value, size_t capacity, tn_error *error) {
    sqlite3_stmt *query;
    bool found;
    *value = '\0';
    TN_TRY(tn_database_prepare(database, "SELECT value FROM meta WHERE number = ?", &query, error));
    sqlite3_bind_int(query, 1, number);
    tn_status status = tn_database_step(database, query, &found, error);
    const char *text = status == TN_OK && found ? (const char *)sqlite3_column_text(query, 0) : NULL;
    if (text && strlen(text) < capacity) strcpy(value, text);
    sqlite3_finalize(query);
    return status;
}

tn_status tn_sweep_db_count(tn_database *database, uint64_t *chunks, tn_error *error) {
    char text[24];
    TN_TRY(get_meta(database, 3, text, sizeof text, error));
    return tn_read_count(text, chunks) == TN_NUMBER_OK
               ? TN_OK
               : tn_fail(error, TN_INPUT, "does not say how many parts it holds");
}

/* The identity that the file says; damaged where it does not agree with its digest. */
static tn_status get_identity(const tn_sweep_db *store, tn_database *database,
                              char identity[TN_IDENTITY_TEXT], tn_error *error) {
    char said[TN_DIGEST_TEXT], digest[TN_DIGEST_TEXT];
    TN_TRY(get_meta(database, 1, identity, TN_IDENTITY_TEXT, error));
    TN_TRY(get_meta(database, 2, said, sizeof said, error));
    tn_digest(identity, strlen(identity), digest);
    return strcmp(digest, said) == 0
               ? TN_OK
               : tn_sweep_db_distrust(store, "is damaged: it does not say what was swept", error);
}

/* is_same: what the file holds is what is asked for; resuming: what --resume does. */
static tn_status check_same(const tn_sweep_db *store, bool is_same, bool resume, const char *resuming,
                            tn_error *error) {
    const tn_position position = {.file = store->path};
    if (!is_same)
        return tn_fail_at(error, TN_INPUT, position,
                          "holds another sweep (its space, model, device, shard, budget or seed differ); "
                          "give another folder");
    if (!resume)
        return tn_fail_at(error, TN_INPUT, position,
                          "holds this sweep already; --resume %s, or give another folder", resuming);
    return TN_OK;
}

static tn_status check_identity(const tn_sweep_db *store, tn_database *database, bool resume,
                                tn_error *error) {
    char found[TN_IDENTITY_TEXT];
    TN_TRY(get_identity(store, database, found, error));
    return check_same(store, strcmp(found, store->identity) == 0, resume, "goes on with it", error);
}

/* ---- opening */

static tn_status start_empty(tn_sweep_db *store, tn_error *error) {
    TN_TRY(tn_database_begin(&store->database, error));
    TN_TRY(make_tables(store, error));
    TN_TRY(put_all_meta(store, error));
    return tn_database_commit(&store->database, error);
}

static tn_status open_database(tn_sweep_db *store, tn_database_mode mode, bool *empty, tn_error *error) {
    TN_TRY(tn_database_open(&store->database, store->folder, file_name, store->path, mode, error));
    return check_schema(store, &store->database, empty, error);
}

/* Puts the file out of the way and starts an empty one. A journal that still lies there could not be played
 * back. */
static tn_status set_aside(tn_sweep_db *store, bool readable, tn_error *error) {
    tn_database_close(&store->database);
    if (renameat(store->folder, file_name, store->folder, damaged_name) != 0 && errno != ENOENT)
        return tn_fail_system(error, store->path, errno, "can't be set aside");
    static const char *const companion[] = {"sweep.db-journal", "sweep.db-wal", "sweep.db-shm"};
    for (int i = 0; i < 3; i++) unlinkat(store->folder, companion[i], 0);
    bool empty;
    tn_status status = readable ? tn_database_open(&store->damaged, store->folder, damaged_name, store->path,
                                                   TN_DATABASE_READ, error)
                                : TN_INPUT;
    if (status == TN_OK) status = check_schema(store, &store->damaged, &empty, error);
    store->repairing = status == TN_OK && !empty;
    if (status != TN_OK && status != TN_INPUT) return status;
    TN_TRY(open_database(store, TN_DATABASE_WRITE, &empty, error));
    return start_empty(store, error);
}

static tn_status open_to_write(tn_sweep_db *store, const tn_sweep_options *options, tn_error *error) {
    bool empty = false, repair = options->resume && options->repair;
    tn_error why = {0};
    tn_status status = open_database(store, TN_DATABASE_WRITE, &empty, &why);
    if (status == TN_OK && !empty) status = check_identity(store, &store->database, options->resume, &why);
    if (status == TN_OK && empty) return start_empty(store, error);
    if (status == TN_OK && !repair) return TN_OK;
    char identity[TN_IDENTITY_TEXT];
    bool foreign = store->database.handle && get_identity(store, &store->database, identity, NULL) == TN_OK &&
                   strcmp(identity, store->identity) != 0;
    if (repair && (status == TN_OK || status == TN_INPUT) && !foreign)
        return set_aside(store, status == TN_OK, error);
    if (error) *error = why;
    return status;
}

static tn_status prepare_inserts(tn_sweep_db *store, tn_error *error) {
    tn_buffer sql = {0};
    tn_design_table_insert(store->space, "designs", &sql);
    tn_status status = sql.status == TN_OK
                           ? tn_database_prepare(&store->database, sql.data, &store->design, error)
                           : tn_fail(error, sql.status, "no memory for the store of the sweep");
    tn_buffer_free(&sql);
    TN_TRY(status);
    return tn_database_prepare(&store->database, "INSERT OR REPLACE INTO chunk VALUES (?, ?, ?)",
                               &store->chunk, error);
}

static tn_status open_folder(tn_sweep_db *store, const char *folder, tn_error *error) {
    tn_buffer path = {0};
    tn_buffer_format(&path, "%s/%s", folder, file_name);
    tn_status status = path.status == TN_OK ? tn_copy_text(path.data, &store->path, error)
                                            : tn_fail(error, path.status, "no memory for a path");
    tn_buffer_free(&path);
    TN_TRY(status);
    TN_TRY(tn_copy_text(folder, &store->folder_path, error));
    store->folder = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (store->folder >= 0) return TN_OK;
    if (errno == ENOENT || errno == ENOTDIR)
        return tn_fail_at(error, TN_INPUT, (tn_position){.file = folder}, "is no folder of results");
    return tn_fail_system(error, folder, errno, "can't be opened");
}

static tn_status new_store(const tn_space *space, tn_sweep_db **store, tn_error *error) {
    TN_TRY(TN_ALLOC(1, store, error));
    (*store)->space = space;
    (*store)->folder = -1;
    (*store)->lock.descriptor = -1;
    return TN_OK;
}

static tn_status open_all(tn_sweep_db *store, const char *folder, const tn_sweep_options *options,
                          tn_error *error) {
    TN_TRY(tn_sweep_identity(store->space, options, store->identity, error));
    TN_TRY(tn_folder_make(folder, error));
    TN_TRY(open_folder(store, folder, error));
    TN_TRY(tn_lock_take(store->folder, lock_name, folder, &store->lock, error));
    TN_TRY(open_to_write(store, options, error));
    return prepare_inserts(store, error);
}

tn_status tn_sweep_db_open(const char *folder, const tn_space *space, const tn_sweep_options *options,
                           tn_sweep_db **store, tn_error *error) {
    tn_sweep_db *made;
    TN_TRY(new_store(space, &made, error));
    made->keep_all = options->keep_all;
    tn_status status = open_all(made, folder, options, error);
    if (status == TN_OK)
        *store = made;
    else
        tn_sweep_db_close(made);
    return status;
}

static tn_status check_folder(tn_sweep_db *store, const char *folder, const tn_sweep_options *options,
                              size_t count, size_t *held, tn_error *error) {
    char found[TN_IDENTITY_TEXT];
    bool is_empty;
    TN_TRY(open_folder(store, folder, error));
    if (faccessat(store->folder, file_name, F_OK, 0) != 0) return TN_OK;
    TN_TRY(open_database(store, TN_DATABASE_READ, &is_empty, error));
    if (is_empty) return TN_OK;
    TN_TRY(get_identity(store, &store->database, found, error));
    for (size_t i = 0; i < count && *held == count; i++) {
        TN_TRY(tn_sweep_identity(store->space, &options[i], store->identity, error));
        if (strcmp(found, store->identity) == 0) *held = i;
    }
    const tn_method method = *held < count ? options[*held].method : TN_METHOD_AUTO;
    const bool anew = method == TN_DECOMPOSE || method == TN_EVOLVE;
    return check_same(store, *held < count, options->resume,
                      anew ? "looks for its front anew" : "goes on with it", error);
}

tn_status tn_sweep_db_check(const char *folder, const tn_space *space, const tn_sweep_options *options,
                            size_t count, size_t *held, tn_error *error) {
    tn_sweep_db *store;
    *held = count;
    if (access(folder, F_OK) != 0 || options->repair) return TN_OK;
    TN_TRY(new_store(space, &store, error));
    const tn_status status = check_folder(store, folder, options, count, held, error);
    tn_sweep_db_close(store);
    return status;
}

static tn_status open_part(tn_sweep_db *store, const char *folder, tn_sweep_options *options,
                           tn_error *error) {
    bool empty;
    TN_TRY(open_folder(store, folder, error));
    TN_TRY(tn_lock_share(store->folder, lock_name, folder, &store->lock, error));
    TN_TRY(open_database(store, TN_DATABASE_READ, &empty, error));
    if (empty) return tn_sweep_db_distrust(store, "holds nothing", error);
    TN_TRY(get_identity(store, &store->database, store->identity, error));
    return tn_sweep_identity_read(store->space, store->identity, store->path, options, error);
}

tn_status tn_sweep_db_open_part(const char *folder, const tn_space *space, tn_sweep_db **store,
                                tn_sweep_options *options, tn_error *error) {
    tn_sweep_db *made;
    TN_TRY(new_store(space, &made, error));
    tn_status status = open_part(made, folder, options, error);
    if (status != TN_OK) {
        tn_sweep_db_close(made);
        return status;
    }
    made->keep_all = options->keep_all;
    *store = made;
    return TN_OK;
}

void tn_sweep_db_close(tn_sweep_db *store) {
    if (!store) return;
    sqlite3_finalize(store->design);
    sqlite3_finalize(store->chunk);
    tn_database_close(&store->database);
    tn_database_close(&store->damaged);
    tn_lock_release(&store->lock);
    if (store->folder >= 0) close(store->folder);
    tn_free(store->folder_path);
    tn_free(store->path);
    tn_free(store);
}

/* ---- writing */

tn_status tn_sweep_db_design(tn_sweep_db *store, uint64_t id, const tn_evaluation *evaluation,
                             uint64_t kept[2], tn_error *error) {
    TN_TRY(tn_database_begin(&store->database, error));
    TN_TRY(tn_design_table_bind(store->space, store->design, id, evaluation, kept, error));
    return tn_database_run(&store->database, store->design, error);
}

static tn_status insert_chunk(tn_sweep_db *store, uint64_t chunk, const tn_buffer *record, tn_error *error) {
    unsigned char digest[TN_DIGEST_BYTES];
    tn_chunk_record_digest(store->identity, chunk, record->data, record->length, digest);
    sqlite3_bind_int64(store->chunk, 1, (int64_t)chunk);
    sqlite3_bind_blob64(store->chunk, 2, record->data, record->length, SQLITE_STATIC);
    sqlite3_bind_blob(store->chunk, 3, digest, sizeof digest, SQLITE_STATIC);
    return tn_database_run(&store->database, store->chunk, error);
}

tn_status tn_sweep_db_chunk(tn_sweep_db *store, uint64_t chunk, const tn_outcome *found,
                            const uint64_t kept[2], tn_error *error) {
    tn_buffer record = {0};
    tn_status status = tn_database_begin(&store->database, error);
    if (status == TN_OK) status = tn_chunk_record_write(store->space, found, kept, &record, error);
    if (status == TN_OK) status = insert_chunk(store, chunk, &record, error);
    store->chunks += status == TN_OK;
    tn_buffer_free(&record);
    return status;
}

tn_status tn_sweep_db_commit(tn_sweep_db *store, tn_error *error) {
    if (!store->database.writing) return TN_OK;
    TN_TRY(put_chunk_count(store, error));
    return tn_database_commit(&store->database, error);
}

tn_status tn_sweep_db_front(tn_sweep_db *store, const uint64_t *id, const tn_evaluation *evaluation,
                            size_t count, tn_error *error) {
    tn_buffer sql = {0};
    sqlite3_stmt *insert = NULL;
    tn_design_table_insert(store->space, "front", &sql);
    tn_status status = sql.status == TN_OK
                           ? tn_database_begin(&store->database, error)
                           : tn_fail(error, sql.status, "no memory for the store of the sweep");
    if (status == TN_OK) status = tn_database_execute(&store->database, "DELETE FROM front", error);
    if (status == TN_OK) status = tn_database_prepare(&store->database, sql.data, &insert, error);
    for (size_t i = 0; status == TN_OK && i < count; i++) {
        status = tn_design_table_bind(store->space, insert, id[i], &evaluation[i], NULL, error);
        if (status == TN_OK) status = tn_database_run(&store->database, insert, error);
    }
    sqlite3_finalize(insert);
    tn_buffer_free(&sql);
    return status == TN_OK ? tn_sweep_db_commit(store, error) : status;
}
