/* Reading a store: nothing of it counts before it was checked. */
#include "base/interrupt.h"
#include "base/memory.h"
#include "results/database.h"
#include "results/sweep_db_parts.h"
#include "search/chunk.h"

#include <math.h>
#include <string.h>

/* A pass over the chunks of a store. */
typedef struct {
    tn_sweep_db *store;
    tn_database *from;
    uint64_t chunks; /* of the space */
    uint64_t *sum;   /* [2 * chunks] of the kept designs as they are; NULL: none are kept */
    uint64_t rows;   /* chunks read */
    tn_outcome found;
} reading;

/* What to do with a chunk that was checked. */
typedef tn_status chunk_taker(reading *with, uint64_t chunk, const uint64_t kept[2], void *user,
                              tn_error *error);

static tn_status check_record(reading *with, sqlite3_stmt *row, uint64_t *chunk, uint64_t kept[2],
                              tn_error *error) {
    unsigned char digest[TN_DIGEST_BYTES];
    int64_t number = sqlite3_column_int64(row, 0);
    const void *record = sqlite3_column_blob(row, 1), *said = sqlite3_column_blob(row, 2);
    size_t length = (size_t)sqlite3_column_bytes(row, 1), said_length = (size_t)sqlite3_column_bytes(row, 2);
    if (number < 0 || (uint64_t)number >= with->chunks)
        return tn_fail(error, TN_INPUT, "holds part %lld, which this space does not have", (long long)number);
    *chunk = (uint64_t)number;
    tn_chunk_record_digest(with->store->identity, *chunk, record, length, digest);
    if (said_length != sizeof digest || memcmp(said, digest, sizeof digest) != 0)
        return tn_fail(error, TN_INPUT, "the record of part %lld is not as it was written",
                       (long long)number);
    tn_outcome_clear(&with->found);
    TN_TRY(tn_chunk_record_read(with->store->space, *chunk, record, length, &with->found, kept, error));
    const uint64_t none[2] = {0, 0}, *sum = with->sum ? with->sum + 2 * *chunk : none;
    if (memcmp(sum, kept, sizeof none) != 0)
        return tn_fail(error, TN_INPUT, "the designs kept of part %lld are not as they were written",
                       (long long)number);
    return TN_OK;
}

/* Every chunk through `take`, by ascending number. `tolerant`: what fails its checks is passed over. */
static tn_status each_chunk(reading *with, bool tolerant, chunk_taker *take, void *user, tn_error *error) {
    sqlite3_stmt *query;
    uint64_t next = 0;
    TN_TRY(tn_database_prepare(with->from, "SELECT chunk, record, sha256 FROM chunk ORDER BY chunk", &query,
                               error));
    tn_status status = TN_OK;
    while (status == TN_OK) {
        bool found;
        uint64_t chunk, kept[2];
        status = tn_database_step(with->from, query, &found, error);
        if (status != TN_OK || !found) break;
        tn_status good = check_record(with, query, &chunk, kept, error);
        if (good == TN_OK && chunk < next)
            good = tn_fail(error, TN_INPUT, "holds part %llu twice", (unsigned long long)chunk);
        if (good != TN_OK && !(tolerant && good == TN_INPUT)) status = good;
        if (good != TN_OK) {
            if (++with->rows > with->chunks) break; /* rows without end */
            continue;
        }
        next = chunk + 1;
        with->rows++;
        status = take(with, chunk, kept, user, error);
    }
    sqlite3_finalize(query);
    return tolerant && status == TN_INPUT ? TN_OK : status;
}

/* ---- kept designs */

typedef tn_status design_taker(reading *with, sqlite3_stmt *row, uint64_t chunk, void *user, tn_error *error);

static tn_status each_design(reading *with, design_taker *take, void *user, tn_error *error) {
    sqlite3_stmt *query;
    const tn_space *space = with->store->space;
    TN_TRY(tn_database_prepare(with->from, "SELECT * FROM designs ORDER BY id", &query, error));
    tn_status status = TN_OK;
    for (int64_t next = 0; status == TN_OK;) {
        bool found;
        status = tn_database_step(with->from, query, &found, error);
        if (status != TN_OK || !found) break;
        int64_t id = sqlite3_column_int64(query, 0);
        if (id < next || (uint64_t)id >= space->choices.designs)
            status = tn_fail(error, TN_INPUT, "keeps a design that this space does not have");
        else if (!with->sum)
            status = tn_fail(error, TN_INPUT, "keeps designs, though the sweep was not asked to");
        else
            status = take(with, query, tn_chunk_of(space, (uint64_t)id), user, error);
        next = id + 1;
    }
    sqlite3_finalize(query);
    return status;
}

static tn_status sum_design(reading *with, sqlite3_stmt *row, uint64_t chunk, void *user, tn_error *error) {
    (void)user;
    return tn_design_table_digest(row, with->sum + 2 * chunk, error);
}

/* ---- the outcome */

typedef struct {
    tn_outcome *outcome;
    bool *done;
} loading;

static tn_status take_chunk(reading *with, uint64_t chunk, const uint64_t kept[2], void *user,
                            tn_error *error) {
    loading *into = user;
    (void)kept;
    into->done[chunk] = true;
    /* What every chunk checked, all together stay below the designs of the space. */
    return tn_outcome_absorb(into->outcome, &with->found, error);
}

static tn_status begin_reading(reading *with, tn_sweep_db *store, tn_database *from, uint64_t chunks,
                               tn_error *error) {
    *with = (reading){.store = store, .from = from, .chunks = chunks};
    tn_outcome_begin(store->space, &with->found);
    return store->keep_all ? TN_ALLOC(2 * chunks, &with->sum, error) : TN_OK;
}

static void end_reading(reading *with) {
    tn_outcome_free(&with->found);
    tn_free(with->sum);
}

/* Every kept design must lie in a finished chunk: an unfinished one has sums of 0. */
static tn_status check_kept(const reading *with, const bool *done, tn_error *error) {
    for (uint64_t i = 0; with->sum && i < with->chunks; i++)
        if (!done[i] && (with->sum[2 * i] || with->sum[2 * i + 1]))
            return tn_fail(error, TN_INPUT, "keeps designs of part %llu, which is not finished",
                           (unsigned long long)i);
    return TN_OK;
}

static tn_status load(reading *with, loading *into, tn_error *error) {
    uint64_t count;
    TN_TRY(tn_sweep_db_count(with->from, &count, error));
    TN_TRY(each_design(with, sum_design, NULL, error));
    TN_TRY(each_chunk(with, false, take_chunk, into, error));
    TN_TRY(check_kept(with, into->done, error));
    if (count != with->rows)
        return tn_fail(error, TN_INPUT, "holds %llu finished parts of the %llu that were written",
                       (unsigned long long)with->rows, (unsigned long long)count);
    with->store->chunks = count;
    return TN_OK;
}

/* ---- repair */

typedef struct {
    loading into;
    tn_evaluator *evaluator;
    bool invented; /* some record has values that its designs do not have */
} repair;

/* True if the designs of the record have the values that it says. */
static tn_status points_hold(reading *with, tn_evaluator *evaluator, bool *hold, tn_error *error) {
    const tn_archive *front = &with->found.front;
    tn_point *point;
    TN_TRY(TN_ALLOC(front->count, &point, error));
    tn_archive_points(front, point);
    tn_status status = TN_OK;
    *hold = true;
    for (size_t i = 0; status == TN_OK && *hold && i < front->count; i++) {
        tn_evaluation evaluation;
        status = tn_evaluator_confirm(evaluator, &point[i], &evaluation, hold, error);
    }
    tn_free(point);
    return status;
}

static tn_status test_chunk(reading *with, uint64_t chunk, const uint64_t kept[2], void *user,
                            tn_error *error) {
    repair *all = user;
    bool hold;
    (void)chunk;
    (void)kept;
    TN_TRY(points_hold(with, all->evaluator, &hold, error));
    if (tn_interrupted()) return tn_fail(error, TN_INTERRUPTED, "stopped");
    all->invented |= !hold;
    return TN_OK;
}

static tn_status rescue_chunk(reading *with, uint64_t chunk, const uint64_t kept[2], void *user,
                              tn_error *error) {
    repair *all = user;
    TN_TRY(tn_sweep_db_chunk(with->store, chunk, &with->found, kept, error));
    return take_chunk(with, chunk, kept, &all->into, error);
}

/* Copies the row into the store that is written. */
static tn_status copy_row(tn_sweep_db *store, sqlite3_stmt *row, tn_error *error) {
    TN_TRY(tn_database_begin(&store->database, error));
    for (int i = 0; i < sqlite3_column_count(row); i++)
        sqlite3_bind_value(store->design, i + 1, sqlite3_column_value(row, i));
    return tn_database_run(&store->database, store->design, error);
}

static tn_status rescue_design(reading *with, sqlite3_stmt *row, uint64_t chunk, void *user,
                               tn_error *error) {
    const repair *all = user;
    return all->into.done[chunk] ? copy_row(with->store, row, error) : TN_OK;
}

static tn_status rescue(reading *with, repair *all, tn_error *error) {
    tn_status status = each_design(with, sum_design, NULL, error);
    if (status != TN_OK && status != TN_INPUT) return status;
    TN_TRY(each_chunk(with, true, test_chunk, all, error));
    /* Invented values may have kept true points out of every other record. */
    if (all->invented) return TN_OK;
    with->rows = 0;
    TN_TRY(each_chunk(with, true, rescue_chunk, all, error));
    status = each_design(with, rescue_design, all, error);
    if (status != TN_OK && status != TN_INPUT) return status;
    return tn_sweep_db_commit(with->store, error);
}

tn_status tn_sweep_db_load(tn_sweep_db *store, tn_outcome *outcome, bool *done, uint64_t chunks,
                           tn_error *error) {
    reading with;
    repair all = {.into = {outcome, done}};
    tn_error why = {0};
    tn_database *from = store->repairing ? &store->damaged : &store->database;
    tn_status status = begin_reading(&with, store, from, chunks, &why);
    if (status == TN_OK && store->repairing) {
        status = tn_evaluator_new(store->space, &all.evaluator, &why);
        if (status == TN_OK) status = rescue(&with, &all, &why);
        tn_evaluator_free(all.evaluator);
        tn_database_close(&store->damaged);
        store->repairing = false;
    } else if (status == TN_OK) {
        status = load(&with, &all.into, &why);
    }
    end_reading(&with);
    if (status == TN_INPUT) return tn_sweep_db_distrust(store, why.message, error);
    if (status != TN_OK && error) *error = why;
    return status;
}

/* ---- copies of parts */

static tn_status copy_chunk(reading *with, uint64_t chunk, const uint64_t kept[2], void *user,
                            tn_error *error) {
    return tn_sweep_db_chunk(user, chunk, &with->found, kept, error);
}

static tn_status copy_design(reading *with, sqlite3_stmt *row, uint64_t chunk, void *user, tn_error *error) {
    TN_TRY(sum_design(with, row, chunk, NULL, error));
    return copy_row(user, row, error);
}

tn_status tn_sweep_db_copy(tn_sweep_db *store, tn_sweep_db *part, tn_error *error) {
    reading with;
    uint64_t chunks;
    TN_TRY(tn_chunk_count(part->space, &chunks, error));
    tn_status status = begin_reading(&with, part, &part->database, chunks, error);
    if (status == TN_OK) status = each_design(&with, copy_design, store, error);
    if (status == TN_OK) status = each_chunk(&with, false, copy_chunk, store, error);
    end_reading(&with);
    return status;
}

/* ---- kept designs for a reader */

typedef struct {
    tn_kept_design *take;
    void *user;
    double *value; /* [quantities] */
} handing;

static tn_status hand_design(reading *with, sqlite3_stmt *row, uint64_t chunk, void *user, tn_error *error) {
    const handing *to = user;
    (void)chunk;
    int first = 1 + (int)with->store->space->choices.count;
    for (int i = 0; i < (int)tn_quantities_count; i++)
        to->value[i] =
            sqlite3_column_type(row, first + i) == SQLITE_NULL ? NAN : sqlite3_column_double(row, first + i);
    return to->take(to->user, (uint64_t)sqlite3_column_int64(row, 0), to->value, error);
}

static tn_status pass_chunk(reading *with, uint64_t chunk, const uint64_t kept[2], void *user,
                            tn_error *error) {
    (void)with;
    (void)chunk;
    (void)kept;
    (void)user;
    (void)error;
    return TN_OK;
}

tn_status tn_sweep_db_each(tn_sweep_db *store, tn_kept_design *take, void *user, tn_error *error) {
    reading with;
    handing to = {.take = take, .user = user};
    uint64_t chunks;
    TN_TRY(tn_chunk_count(store->space, &chunks, error));
    TN_TRY(TN_ALLOC(tn_quantities_count, &to.value, error));
    tn_error why = {0};
    tn_status status = begin_reading(&with, store, &store->database, chunks, &why);
    if (status == TN_OK) status = each_design(&with, sum_design, NULL, &why);
    if (status == TN_OK) status = each_chunk(&with, false, pass_chunk, NULL, &why);
    if (status == TN_INPUT)
        status = tn_sweep_db_distrust(store, why.message, error);
    else if (status != TN_OK && error)
        *error = why;
    if (status == TN_OK) status = each_design(&with, hand_design, &to, error);
    end_reading(&with);
    tn_free(to.value);
    return status;
}
