#include "explore/sweep_db.h"

#include "base/buffer.h"
#include "base/memory.h"

#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

enum { IDENTITY_TEXT = 1024 };

struct tn_sweep_db {
    sqlite3 *database;
    const tn_space *space;
    sqlite3_stmt *design; /* prepared insert of --keep-all */
    bool writing;         /* a transaction is open */
    char path[1100];
};

static tn_status failed(const tn_sweep_db *store, tn_error *error) {
    int code = sqlite3_errcode(store->database);
    tn_status status = code == SQLITE_NOMEM ? TN_MEMORY : TN_IO;
    return tn_fail_at(error, status, (tn_position){.file = store->path}, "%s",
                      sqlite3_errmsg(store->database));
}

static tn_status execute(tn_sweep_db *store, const char *sql, tn_error *error) {
    return sqlite3_exec(store->database, sql, NULL, NULL, NULL) == SQLITE_OK ? TN_OK : failed(store, error);
}

static tn_status prepare(tn_sweep_db *store, const char *sql, sqlite3_stmt **statement, tn_error *error) {
    return sqlite3_prepare_v2(store->database, sql, -1, statement, NULL) == SQLITE_OK ? TN_OK
                                                                                      : failed(store, error);
}

/* Runs a statement whose parameters are bound and makes it ready for the next row. */
static tn_status run_row(tn_sweep_db *store, sqlite3_stmt *statement, tn_error *error) {
    int code = sqlite3_step(statement);
    sqlite3_reset(statement);
    return code == SQLITE_DONE ? TN_OK : failed(store, error);
}

static tn_status begin(tn_sweep_db *store, tn_error *error) {
    if (store->writing) return TN_OK;
    TN_TRY(execute(store, "BEGIN IMMEDIATE", error));
    store->writing = true;
    return TN_OK;
}

static tn_status commit(tn_sweep_db *store, tn_error *error) {
    TN_TRY(execute(store, "COMMIT", error));
    store->writing = false;
    return TN_OK;
}

/* "CREATE TABLE ... (id INTEGER PRIMARY KEY, \"choice\" TEXT..., \"quantity\" REAL...)" or the INSERT for it.
 */
static void row_sql(const tn_space *space, const char *table, bool create, tn_buffer *sql) {
    tn_buffer_format(sql,
                     create ? "CREATE TABLE IF NOT EXISTS %s (id INTEGER PRIMARY KEY"
                            : "INSERT OR REPLACE INTO %s VALUES (?",
                     table);
    for (size_t i = 0; i < space->choices; i++)
        tn_buffer_format(sql, create ? ", \"%s\" TEXT" : ", ?", space->choice[i].key);
    for (size_t i = 0; i < tn_quantities_count; i++)
        tn_buffer_format(sql, create ? ", \"%s\" REAL" : ", ?", tn_quantities[i].name);
    tn_buffer_text(sql, ")");
}

static tn_status make_tables(tn_sweep_db *store, tn_error *error) {
    TN_TRY(
        execute(store,
                "CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT);"
                "CREATE TABLE done (chunk INTEGER PRIMARY KEY);"
                "CREATE TABLE cause (code INTEGER PRIMARY KEY, name TEXT, designs INTEGER);"
                "CREATE TABLE archive (id INTEGER PRIMARY KEY, o0 REAL, o1 REAL, o2 REAL, o3 REAL, o4 REAL,"
                " o5 REAL, o6 REAL, o7 REAL)",
                error));
    tn_buffer sql = {0};
    row_sql(store->space, "designs", true, &sql);
    tn_buffer_text(&sql, ";");
    row_sql(store->space, "front", true, &sql);
    tn_status status = sql.status == TN_OK
                           ? execute(store, sql.data, error)
                           : tn_fail(error, sql.status, "no memory for the tables of the sweep");
    tn_buffer_free(&sql);
    return status;
}

static tn_status put_identity(tn_sweep_db *store, const char *identity, tn_error *error) {
    sqlite3_stmt *insert;
    TN_TRY(prepare(store, "INSERT INTO meta VALUES ('identity', ?)", &insert, error));
    sqlite3_bind_text(insert, 1, identity, -1, SQLITE_STATIC);
    tn_status status = run_row(store, insert, error);
    sqlite3_finalize(insert);
    return status;
}

/* The identity of an existing file, or TN_INPUT where it is no store. */
static tn_status read_identity(tn_sweep_db *store, char *identity, size_t capacity, tn_error *error) {
    sqlite3_stmt *query = NULL;
    const char *sql = "SELECT value FROM meta WHERE key = 'identity'";
    bool found = sqlite3_prepare_v2(store->database, sql, -1, &query, NULL) == SQLITE_OK &&
                 sqlite3_step(query) == SQLITE_ROW;
    if (found) snprintf(identity, capacity, "%s", (const char *)sqlite3_column_text(query, 0));
    sqlite3_finalize(query);
    if (found) return TN_OK;
    return tn_fail_at(error, TN_INPUT, (tn_position){.file = store->path},
                      "is no store of a sweep; give another folder");
}

static tn_status check_identity(tn_sweep_db *store, const char *identity, bool resume, tn_error *error) {
    const tn_position at = {.file = store->path};
    char found[IDENTITY_TEXT];
    TN_TRY(read_identity(store, found, sizeof found, error));
    if (strcmp(found, identity) != 0)
        return tn_fail_at(error, TN_INPUT, at,
                          "holds another sweep (its space, model, device, shard, budget or seed differ); "
                          "give another folder");
    if (!resume)
        return tn_fail_at(error, TN_INPUT, at,
                          "holds this sweep already; --resume goes on with it, or give another folder");
    return TN_OK;
}

static bool has_tables(tn_sweep_db *store) {
    sqlite3_stmt *query = NULL;
    bool found = sqlite3_prepare_v2(store->database, "SELECT 1 FROM sqlite_master LIMIT 1", -1, &query,
                                    NULL) != SQLITE_OK ||
                 sqlite3_step(query) == SQLITE_ROW;
    sqlite3_finalize(query);
    return found;
}

static tn_status set_up(tn_sweep_db *store, const char *identity, bool resume, tn_error *error) {
    if (sqlite3_open(store->path, &store->database) != SQLITE_OK) return failed(store, error);
    sqlite3_busy_timeout(store->database, 5000);
    if (has_tables(store)) {
        TN_TRY(check_identity(store, identity, resume, error));
    } else {
        TN_TRY(begin(store, error));
        TN_TRY(make_tables(store, error));
        TN_TRY(put_identity(store, identity, error));
        TN_TRY(commit(store, error));
    }
    tn_buffer sql = {0};
    row_sql(store->space, "designs", false, &sql);
    tn_status status = sql.status == TN_OK
                           ? prepare(store, sql.data, &store->design, error)
                           : tn_fail(error, sql.status, "no memory for the store of the sweep");
    tn_buffer_free(&sql);
    return status;
}

tn_status tn_sweep_db_open(const char *folder, const tn_space *space, const char *identity, bool resume,
                           tn_sweep_db **store, tn_error *error) {
    tn_sweep_db *made;
    TN_TRY(tn_alloc(1, sizeof *made, &made, error));
    made->space = space;
    snprintf(made->path, sizeof made->path, "%s/sweep.db", folder);
    tn_status status = set_up(made, identity, resume, error);
    if (status == TN_OK)
        *store = made;
    else
        tn_sweep_db_close(made);
    return status;
}

tn_status tn_sweep_db_open_existing(const char *folder, const tn_space *space, tn_sweep_db **store,
                                    char *identity, size_t capacity, tn_error *error) {
    tn_sweep_db *made;
    TN_TRY(tn_alloc(1, sizeof *made, &made, error));
    made->space = space;
    snprintf(made->path, sizeof made->path, "%s/sweep.db", folder);
    tn_status status = TN_OK;
    if (sqlite3_open_v2(made->path, &made->database, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK)
        status = tn_fail_at(error, TN_INPUT, (tn_position){.file = made->path},
                            "can't be opened; a folder of `tenfold sweep` holds one");
    if (status == TN_OK) status = read_identity(made, identity, capacity, error);
    if (status == TN_OK)
        *store = made;
    else
        tn_sweep_db_close(made);
    return status;
}

void tn_sweep_db_close(tn_sweep_db *store) {
    if (!store) return;
    sqlite3_finalize(store->design);
    if (store->writing) sqlite3_exec(store->database, "ROLLBACK", NULL, NULL, NULL);
    sqlite3_close(store->database);
    tn_free(store);
}

/* Calls `take` with every row of a query. */
typedef tn_status row_taker(sqlite3_stmt *row, void *user, tn_error *error);

static tn_status each_row(tn_sweep_db *store, const char *sql, row_taker *take, void *user, tn_error *error) {
    sqlite3_stmt *query;
    TN_TRY(prepare(store, sql, &query, error));
    tn_status status = TN_OK;
    int code = SQLITE_ROW;
    while (status == TN_OK && (code = sqlite3_step(query)) == SQLITE_ROW) status = take(query, user, error);
    if (status == TN_OK && code != SQLITE_DONE) status = failed(store, error);
    sqlite3_finalize(query);
    return status;
}

typedef struct {
    tn_outcome *outcome;
    bool *done;
    uint64_t chunks;
} loading;

static tn_status take_done(sqlite3_stmt *row, void *user, tn_error *error) {
    loading *into = user;
    uint64_t chunk = (uint64_t)sqlite3_column_int64(row, 0);
    if (chunk >= into->chunks)
        return tn_fail(error, TN_INPUT, "sweep.db speaks of chunk %" PRIu64 ", which is not in this space",
                       chunk);
    into->done[chunk] = true;
    return TN_OK;
}

static tn_status take_cause(sqlite3_stmt *row, void *user, tn_error *error) {
    loading *into = user;
    int64_t code = sqlite3_column_int64(row, 0);
    if (code < 0 || code >= TN_CAUSES)
        return tn_fail(error, TN_INPUT, "sweep.db holds an unknown cause %" PRId64, code);
    uint64_t designs = (uint64_t)sqlite3_column_int64(row, 1);
    into->outcome->count[code] += designs;
    into->outcome->evaluated += designs;
    return TN_OK;
}

static tn_status take_point(sqlite3_stmt *row, void *user, tn_error *error) {
    loading *into = user;
    tn_point point = {.id = (uint64_t)sqlite3_column_int64(row, 0)};
    for (int i = 0; i < TN_OBJECTIVES_MOST; i++) point.value[i] = sqlite3_column_double(row, i + 1);
    return tn_archive_offer(&into->outcome->front, &point, error);
}

tn_status tn_sweep_db_load(tn_sweep_db *store, tn_outcome *outcome, bool *done, uint64_t chunks,
                           tn_error *error) {
    loading into = {.outcome = outcome, .done = done, .chunks = chunks};
    TN_TRY(each_row(store, "SELECT chunk FROM done", take_done, &into, error));
    TN_TRY(each_row(store, "SELECT code, designs FROM cause", take_cause, &into, error));
    return each_row(store, "SELECT id, o0, o1, o2, o3, o4, o5, o6, o7 FROM archive", take_point, &into,
                    error);
}

static tn_status put_chunks(tn_sweep_db *store, const uint64_t *chunk, size_t chunks, tn_error *error) {
    sqlite3_stmt *insert;
    TN_TRY(prepare(store, "INSERT OR IGNORE INTO done VALUES (?)", &insert, error));
    tn_status status = TN_OK;
    for (size_t i = 0; status == TN_OK && i < chunks; i++) {
        sqlite3_bind_int64(insert, 1, (int64_t)chunk[i]);
        status = run_row(store, insert, error);
    }
    sqlite3_finalize(insert);
    return status;
}

static tn_status put_causes(tn_sweep_db *store, const tn_outcome *outcome, tn_error *error) {
    sqlite3_stmt *insert;
    TN_TRY(prepare(store, "INSERT OR REPLACE INTO cause VALUES (?, ?, ?)", &insert, error));
    tn_status status = TN_OK;
    for (uint32_t i = 0; status == TN_OK && i < TN_CAUSES; i++) {
        if (!outcome->count[i]) continue;
        sqlite3_bind_int64(insert, 1, i);
        sqlite3_bind_text(insert, 2, tn_cause_name(store->space, i), -1, SQLITE_STATIC);
        sqlite3_bind_int64(insert, 3, (int64_t)outcome->count[i]);
        status = run_row(store, insert, error);
    }
    sqlite3_finalize(insert);
    return status;
}

static tn_status put_points(tn_sweep_db *store, const tn_archive *front, tn_error *error) {
    tn_point *point;
    TN_TRY(tn_alloc(front->count, sizeof *point, &point, error));
    tn_archive_points(front, point);
    sqlite3_stmt *insert = NULL;
    tn_status status = execute(store, "DELETE FROM archive", error);
    if (status == TN_OK)
        status = prepare(store, "INSERT INTO archive VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", &insert, error);
    for (size_t i = 0; status == TN_OK && i < front->count; i++) {
        sqlite3_bind_int64(insert, 1, (int64_t)point[i].id);
        for (int o = 0; o < TN_OBJECTIVES_MOST; o++) sqlite3_bind_double(insert, o + 2, point[i].value[o]);
        status = run_row(store, insert, error);
    }
    sqlite3_finalize(insert);
    tn_free(point);
    return status;
}

tn_status tn_sweep_db_checkpoint(tn_sweep_db *store, const tn_outcome *outcome, const uint64_t *chunk,
                                 size_t chunks, tn_error *error) {
    TN_TRY(begin(store, error));
    TN_TRY(put_chunks(store, chunk, chunks, error));
    TN_TRY(put_causes(store, outcome, error));
    TN_TRY(put_points(store, &outcome->front, error));
    return commit(store, error);
}

/* Binds a whole row: id, the choices' values, the quantities. */
static tn_status bind_row(tn_sweep_db *store, sqlite3_stmt *insert, uint64_t id,
                          const tn_evaluation *evaluation, tn_error *error) {
    const tn_space *space = store->space;
    int column = 1;
    sqlite3_bind_int64(insert, column++, (int64_t)id);
    tn_buffer text = {0};
    for (size_t i = 0; i < space->choices; i++) {
        text.length = 0;
        tn_axis_value(&space->choice[i], tn_space_digit(space, id, i), &text);
        sqlite3_bind_text(insert, column++, text.data, (int)text.length, SQLITE_TRANSIENT);
    }
    tn_status status = text.status;
    tn_buffer_free(&text);
    if (status != TN_OK) return tn_fail(error, status, "no memory for a row of the store");
    for (size_t i = 0; i < tn_quantities_count; i++)
        sqlite3_bind_double(insert, column++, tn_quantities[i].get(evaluation));
    return run_row(store, insert, error);
}

tn_status tn_sweep_db_design(tn_sweep_db *store, uint64_t id, const tn_evaluation *evaluation,
                             tn_error *error) {
    TN_TRY(begin(store, error));
    return bind_row(store, store->design, id, evaluation, error);
}

tn_status tn_sweep_db_copy_designs(tn_sweep_db *store, const char *folder, tn_error *error) {
    char path[1100];
    sqlite3_stmt *attach;
    snprintf(path, sizeof path, "%s/sweep.db", folder);
    TN_TRY(prepare(store, "ATTACH ? AS part", &attach, error));
    sqlite3_bind_text(attach, 1, path, -1, SQLITE_STATIC);
    tn_status status = run_row(store, attach, error);
    sqlite3_finalize(attach);
    if (status != TN_OK) return status;
    status = execute(store, "INSERT OR REPLACE INTO designs SELECT * FROM part.designs", error);
    tn_status detached = execute(store, "DETACH part", status == TN_OK ? error : NULL);
    return status == TN_OK ? detached : status;
}

tn_status tn_sweep_db_front(tn_sweep_db *store, const uint64_t *id, const tn_evaluation *evaluation,
                            size_t count, tn_error *error) {
    tn_buffer sql = {0};
    sqlite3_stmt *insert = NULL;
    row_sql(store->space, "front", false, &sql);
    tn_status status = sql.status == TN_OK
                           ? begin(store, error)
                           : tn_fail(error, sql.status, "no memory for the store of the sweep");
    if (status == TN_OK) status = execute(store, "DELETE FROM front", error);
    if (status == TN_OK) status = prepare(store, sql.data, &insert, error);
    for (size_t i = 0; status == TN_OK && i < count; i++)
        status = bind_row(store, insert, id[i], &evaluation[i], error);
    sqlite3_finalize(insert);
    tn_buffer_free(&sql);
    return status == TN_OK ? commit(store, error) : status;
}
