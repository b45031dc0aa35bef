#include "results/database.h"

#include "base/clock.h"
#include "base/digest.h"
#include "base/interrupt.h"
#include "text/number.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

enum { INSTRUCTIONS_PER_LOOK = 1000, LOCK_WAIT_ms = 5000 };
static const double schema_seconds = 10;

/* ---- the file system as SQLite sees it */

/* SQLite resolves links and refuses paths over 512 bytes. Ours are /proc/self/fd/N/NAME, which is short, and
 * must not be resolved: the descriptor is the folder, whatever its path. */
static int keep_path(sqlite3_vfs *vfs, const char *path, int capacity, char *out) {
    (void)vfs;
    int length = snprintf(out, (size_t)capacity, "%s", path);
    return length < capacity ? SQLITE_OK : SQLITE_CANTOPEN;
}

static const char vfs_name[] = "tenfold-folder";

static tn_status prepare_vfs(tn_error *error) {
    static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
    static sqlite3_vfs ours;
    pthread_mutex_lock(&guard);
    int code = SQLITE_OK;
    if (!sqlite3_vfs_find(vfs_name)) {
        const sqlite3_vfs *usual = sqlite3_vfs_find(NULL);
        if (usual) {
            ours = *usual;
            ours.zName = vfs_name;
            ours.pNext = NULL;
            ours.xFullPathname = keep_path;
        }
        code = usual ? sqlite3_vfs_register(&ours, 0) : SQLITE_NOMEM;
    }
    pthread_mutex_unlock(&guard);
    return code == SQLITE_OK ? TN_OK : tn_fail(error, TN_MEMORY, "no memory to start SQLite");
}

/* ---- what lies in the folder */

static tn_status refuse(const tn_database *database, const char *what, tn_error *error) {
    return tn_fail_at(error, TN_INPUT, (tn_position){.file = database->path}, "%s", what);
}

/* Opens a regular file of the folder to look at; -1 where there is none. */
static tn_status look_at(const tn_database *database, int folder, const char *name, int *file,
                         struct stat *about, tn_error *error) {
    *file = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (*file < 0 && errno == ENOENT) return TN_OK;
    if (*file < 0 && errno == ELOOP)
        return tn_fail_at(error, TN_INPUT, (tn_position){.file = database->path},
                          "%s is a link; a store is a file of its folder", name);
    if (*file < 0) return tn_fail_system(error, database->path, errno, "can't be opened");
    if (fstat(*file, about) == 0 && S_ISREG(about->st_mode)) return TN_OK;
    close(*file);
    *file = -1;
    return tn_fail_at(error, TN_INPUT, (tn_position){.file = database->path}, "%s is no regular file", name);
}

/* Offset 18 and 19 of the head: 1 for a rollback journal, 2 for a write-ahead log. */
static tn_status check_head(const tn_database *database, int file, tn_error *error) {
    unsigned char head[20];
    ssize_t length = pread(file, head, sizeof head, 0);
    if (length == (ssize_t)sizeof head && (head[18] != 1 || head[19] != 1))
        return refuse(database, "is damaged, or no store of a sweep", error);
    return TN_OK;
}

/* The last 8 bytes of a journal that names a super-journal (sqlite.org/fileformat2.html). */
static const unsigned char journal_magic[8] = {0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7};

static tn_status check_journal(const tn_database *database, int folder, const char *name,
                               tn_database_mode mode, tn_error *error) {
    char journal[64];
    int file;
    struct stat about;
    unsigned char end[8];
    snprintf(journal, sizeof journal, "%s-journal", name);
    TN_TRY(look_at(database, folder, journal, &file, &about, error));
    if (file < 0) return TN_OK;
    bool named = about.st_size > (off_t)sizeof end &&
                 pread(file, end, sizeof end, about.st_size - (off_t)sizeof end) == (ssize_t)sizeof end &&
                 memcmp(end, journal_magic, sizeof end) == 0;
    close(file);
    if (named)
        return tn_fail_at(error, TN_INPUT, (tn_position){.file = database->path},
                          "its journal names a file outside; no sweep writes one like that. Remove %s",
                          journal);
    if (mode == TN_DATABASE_READ && about.st_size > 0)
        return refuse(database,
                      "was left half written by a killed sweep; `tenfold sweep ... --resume` ends it", error);
    return TN_OK;
}

static tn_status check_files(const tn_database *database, int folder, const char *name, tn_database_mode mode,
                             tn_error *error) {
    static const char *const logs[] = {"-wal", "-shm"};
    char log[64];
    int file;
    struct stat about;
    TN_TRY(look_at(database, folder, name, &file, &about, error));
    if (file < 0 && mode == TN_DATABASE_READ)
        return refuse(database, "is missing; a folder of `tenfold sweep` holds one", error);
    if (file >= 0) {
        tn_status status = check_head(database, file, error);
        close(file);
        TN_TRY(status);
    }
    for (int i = 0; i < 2; i++) {
        snprintf(log, sizeof log, "%s%s", name, logs[i]);
        if (faccessat(folder, log, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
            return tn_fail_at(error, TN_INPUT, (tn_position){.file = database->path},
                              "has a write-ahead log, which no sweep writes; remove %s", log);
    }
    return check_journal(database, folder, name, mode, error);
}

/* ---- statements */

static tn_status failed(const tn_database *database, tn_error *error) {
    const tn_position position = {.file = database->path};
    int code = sqlite3_errcode(database->handle) & 0xff;
    switch (code) {
    case SQLITE_NOMEM:
        return tn_fail(error, TN_MEMORY, "no memory for SQLite");
    case SQLITE_INTERRUPT:
        if (tn_interrupted()) return tn_fail(error, TN_INTERRUPTED, "stopped");
        return tn_fail_at(error, TN_INPUT, position, "takes too long to open; it is no store of a sweep");
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_MISMATCH:
    case SQLITE_CONSTRAINT:
    case SQLITE_ERROR:
    case SQLITE_SCHEMA:
    case SQLITE_TOOBIG:
    case SQLITE_AUTH:
        return tn_fail_at(error, TN_INPUT, position, "is damaged: %s", sqlite3_errmsg(database->handle));
    default:
        return tn_fail_at(error, TN_IO, position, "%s", sqlite3_errmsg(database->handle));
    }
}

tn_status tn_database_execute(tn_database *database, const char *sql, tn_error *error) {
    bool good = sqlite3_exec(database->handle, sql, NULL, NULL, NULL) == SQLITE_OK;
    return good ? TN_OK : failed(database, error);
}

tn_status tn_database_prepare(tn_database *database, const char *sql, sqlite3_stmt **statement,
                              tn_error *error) {
    bool good = sqlite3_prepare_v2(database->handle, sql, -1, statement, NULL) == SQLITE_OK;
    return good ? TN_OK : failed(database, error);
}

tn_status tn_database_run(tn_database *database, sqlite3_stmt *statement, tn_error *error) {
    tn_status status = sqlite3_step(statement) == SQLITE_DONE ? TN_OK : failed(database, error);
    sqlite3_reset(statement);
    return status;
}

tn_status tn_database_step(tn_database *database, sqlite3_stmt *statement, bool *found, tn_error *error) {
    int code = sqlite3_step(statement);
    *found = code == SQLITE_ROW;
    return *found || code == SQLITE_DONE ? TN_OK : failed(database, error);
}

tn_status tn_database_begin(tn_database *database, tn_error *error) {
    if (database->writing) return TN_OK;
    TN_TRY(tn_database_execute(database, "BEGIN IMMEDIATE", error));
    database->writing = true;
    return TN_OK;
}

tn_status tn_database_commit(tn_database *database, tn_error *error) {
    if (!database->writing) return TN_OK;
    TN_TRY(tn_database_execute(database, "COMMIT", error));
    database->writing = false;
    return TN_OK;
}

/* ---- opening */

/* What is being written is what was finished: a signal does not stop that. */
static int is_to_stop(void *user) {
    const tn_database *database = user;
    return (tn_interrupted() && !database->writing) ||
           (database->deadline > 0 && tn_clock_seconds() > database->deadline);
}

static tn_status set_up(tn_database *database, tn_error *error) {
    static const struct {
        int option, value;
    } options[] = {{SQLITE_DBCONFIG_DEFENSIVE, 1},
                   {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
                   {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
                   {SQLITE_DBCONFIG_ENABLE_VIEW, 0}};
    sqlite3 *handle = database->handle;
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        sqlite3_db_config(handle, options[i].option, options[i].value, NULL);
    sqlite3_limit(handle, SQLITE_LIMIT_ATTACHED, 0);
    sqlite3_busy_timeout(handle, LOCK_WAIT_ms);
    sqlite3_progress_handler(handle, INSTRUCTIONS_PER_LOOK, is_to_stop, database);
    database->deadline = tn_clock_seconds() + schema_seconds;
    return tn_database_execute(
        database, "PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0; PRAGMA temp_store = MEMORY", error);
}

tn_status tn_database_open(tn_database *database, int folder, const char *name, const char *path,
                           tn_database_mode mode, tn_error *error) {
    char uri[128];
    *database = (tn_database){.path = path};
    TN_TRY(prepare_vfs(error));
    TN_TRY(check_files(database, folder, name, mode, error));
    bool writes = mode == TN_DATABASE_WRITE;
    snprintf(uri, sizeof uri, "file:/proc/self/fd/%d/%s%s", folder, name, writes ? "" : "?immutable=1");
    int flags = writes ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY;
    if (sqlite3_open_v2(uri, &database->handle, flags | SQLITE_OPEN_URI, vfs_name) != SQLITE_OK)
        return database->handle ? failed(database, error) : tn_fail(error, TN_MEMORY, "no memory for SQLite");
    return set_up(database, error);
}

void tn_database_close(tn_database *database) {
    if (database->writing) sqlite3_exec(database->handle, "ROLLBACK", NULL, NULL, NULL);
    sqlite3_close(database->handle);
    database->handle = NULL;
    database->writing = false;
}

/* ---- the schema */

static bool is_table(sqlite3_stmt *row, const char *sql) {
    const char *text = (const char *)sqlite3_column_text(row, 1);
    const char *type = (const char *)sqlite3_column_text(row, 0);
    return text && type && strcmp(type, "table") == 0 && strcmp(text, sql) == 0;
}

static tn_status compare_tables(tn_database *database, sqlite3_stmt *query, const char *const *table,
                                size_t tables, size_t *count, tn_error *error) {
    int64_t root[16] = {0};
    for (*count = 0;; ++*count) {
        bool found;
        TN_TRY(tn_database_step(database, query, &found, error));
        if (!found) return TN_OK;
        if (*count == tables || *count == 16 || !is_table(query, table[*count]))
            return refuse(
                database,
                "has other tables than this sweep's: it holds another space, or is no store of this "
                "program; give another folder",
                error);
        root[*count] = sqlite3_column_int64(query, 2);
        for (size_t i = 0; i < *count; i++)
            if (root[i] == root[*count]) return refuse(database, "has two tables in one place", error);
    }
}

tn_status tn_database_check_schema(tn_database *database, const char *const *table, size_t tables,
                                   bool *empty, tn_error *error) {
    sqlite3_stmt *query;
    size_t count;
    const char *sql = "SELECT type, sql, rootpage FROM sqlite_schema ORDER BY rowid";
    TN_TRY(tn_database_prepare(database, sql, &query, error));
    tn_status status = compare_tables(database, query, table, tables, &count, error);
    sqlite3_finalize(query);
    TN_TRY(status);
    *empty = count == 0;
    if (count && count < tables) return refuse(database, "lacks tables of a store", error);
    database->deadline = 0;
    return TN_OK;
}

static const char *const stored_names[] = {"TEXT", "INTEGER", "REAL"};

/* ---- columns */

/* How many names before that of choice `place` are the same to SQLite. */
static unsigned namesakes(const tn_space *space, size_t place) {
    const char *key = space->choices.axis[place].key;
    unsigned count = strcasecmp(key, "id") == 0;
    for (size_t i = 0; i < tn_quantities_count; i++) count += strcasecmp(key, tn_quantities[i].name) == 0;
    for (size_t i = 0; i < place; i++) count += strcasecmp(key, space->choices.axis[i].key) == 0;
    return count;
}

static void put_name(const tn_space *space, size_t place, tn_buffer *sql) {
    unsigned same = namesakes(space, place);
    tn_buffer_text(sql, ", \"");
    for (const char *c = space->choices.axis[place].key; *c; c++) {
        if (*c == '"') tn_buffer_text(sql, "\"");
        tn_buffer_bytes(sql, c, 1);
    }
    if (same) tn_buffer_format(sql, "~%u", same + 1);
    tn_buffer_text(sql, "\" ");
}

void tn_design_table_create(const tn_space *space, const char *name, tn_buffer *sql) {
    tn_buffer_format(sql, "CREATE TABLE %s (id INTEGER PRIMARY KEY", name);
    for (size_t i = 0; i < space->choices.count; i++) {
        put_name(space, i, sql);
        tn_buffer_format(sql, "%s NOT NULL", stored_names[space->choices.axis[i].stored]);
    }
    for (size_t i = 0; i < tn_quantities_count; i++)
        tn_buffer_format(sql, ", \"%s\" REAL", tn_quantities[i].name);
    tn_buffer_text(sql, ") STRICT");
}

void tn_design_table_insert(const tn_space *space, const char *name, tn_buffer *sql) {
    tn_buffer_format(sql, "INSERT OR REPLACE INTO %s VALUES (?", name);
    for (size_t i = 0; i < space->choices.count + tn_quantities_count; i++) tn_buffer_text(sql, ", ?");
    tn_buffer_text(sql, ")");
}

/* ---- digests
 *
 * A row's bytes are, per column, a letter for its type and the value. The digests of a chunk's rows are summed
 * modulo 2^128, so that rows may be read in any order. */

static void put_word(tn_buffer *out, char type, uint64_t word) {
    tn_buffer_bytes(out, &type, 1);
    tn_buffer_bytes(out, &word, sizeof word);
}

static void put_real(tn_buffer *out, double value) {
    uint64_t word;
    value += 0.0; /* SQLite keeps no -0 */
    memcpy(&word, &value, sizeof word);
    put_word(out, isnan(value) ? 'n' : 'r', isnan(value) ? 0 : word);
}

static void put_text(tn_buffer *out, const void *text, size_t length) {
    put_word(out, 't', length);
    tn_buffer_bytes(out, text, length);
}

static tn_status add_digest(const tn_buffer *row, uint64_t kept[2], tn_error *error) {
    unsigned char digest[TN_DIGEST_BYTES];
    uint64_t sum[2];
    if (row->status != TN_OK) return tn_fail(error, row->status, "no memory for a row of the store");
    tn_digest_parts(&(tn_digest_part){row->data, row->length}, 1, digest);
    memcpy(sum, digest, sizeof sum);
    uint64_t low = kept[0] + sum[0];
    kept[1] += sum[1] + (low < sum[0]);
    kept[0] = low;
    return TN_OK;
}

tn_status tn_design_table_digest(sqlite3_stmt *row, uint64_t *kept, tn_error *error) {
    tn_buffer bytes = {0};
    for (int i = 0; i < sqlite3_column_count(row); i++) {
        switch (sqlite3_column_type(row, i)) {
        case SQLITE_INTEGER:
            put_word(&bytes, 'i', (uint64_t)sqlite3_column_int64(row, i));
            break;
        case SQLITE_FLOAT:
            put_real(&bytes, sqlite3_column_double(row, i));
            break;
        case SQLITE_TEXT:
            put_text(&bytes, sqlite3_column_text(row, i), (size_t)sqlite3_column_bytes(row, i));
            break;
        default:
            put_real(&bytes, NAN);
        }
    }
    tn_status status = add_digest(&bytes, kept, error);
    tn_buffer_free(&bytes);
    return status;
}

/* ---- rows */

/* Binds a value to the column and appends it to the row's bytes. */
static void bind_choice(const tn_axis *choice, size_t digit, sqlite3_stmt *insert, int column,
                        tn_buffer *value, tn_buffer *bytes) {
    uint64_t count;
    double real;
    value->length = 0;
    tn_axis_value(choice, digit, value);
    if (value->status != TN_OK) return;
    switch (choice->stored) {
    case TN_STORED_INTEGER:
        count = choice->number[digit];
        if (choice->text && choice->text[digit]) tn_read_count(value->data, &count);
        sqlite3_bind_int64(insert, column, (int64_t)count);
        put_word(bytes, 'i', count);
        return;
    case TN_STORED_REAL:
        tn_read_real(value->data, &real);
        sqlite3_bind_double(insert, column, real);
        put_real(bytes, real);
        return;
    case TN_STORED_TEXT:
        sqlite3_bind_text(insert, column, value->data, (int)value->length, SQLITE_TRANSIENT);
        put_text(bytes, value->data, value->length);
    }
}

tn_status tn_design_table_bind(const tn_space *space, sqlite3_stmt *insert, uint64_t id,
                               const tn_evaluation *evaluation, uint64_t *kept, tn_error *error) {
    tn_buffer value = {0}, bytes = {0};
    int column = 1;
    sqlite3_bind_int64(insert, column++, (int64_t)id);
    put_word(&bytes, 'i', id);
    for (size_t i = 0; i < space->choices.count; i++)
        bind_choice(&space->choices.axis[i], tn_choices_digit(&space->choices, id, i), insert, column++,
                    &value, &bytes);
    for (size_t i = 0; i < tn_quantities_count; i++) {
        double quantity = tn_quantities[i].get(evaluation);
        sqlite3_bind_double(insert, column++, quantity);
        put_real(&bytes, quantity);
    }
    if (value.status != TN_OK) bytes.status = value.status;
    tn_status status =
        bytes.status == TN_OK ? TN_OK : tn_fail(error, bytes.status, "no memory for a row of the store");
    if (status == TN_OK && kept) status = add_digest(&bytes, kept, error);
    tn_buffer_free(&value);
    tn_buffer_free(&bytes);
    return status;
}
