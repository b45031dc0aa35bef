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
    tn_database *database;
    uint64_t chunks; /* of the space */
    uint64_t *sum;   /* [2 * chunks] of the kept designs as they are; NULL: none are kept */
    uint64_t rows;   /* chunks read */
    tn_outcome found;
} reading;

/* What to do with a chunk that was checked. */
typedef tn_status chunk_taker(reading *load, uint64_t chunk, const uint64_t kept[2], void *user,
                              tn_error *error);

static tn_status check_record(reading *load, sqlite3_stmt *row, uint64_t *chunk, uint64_t kept[2],
                              tn_error *error) {
    unsigned char digest[TN_DIGEST_BYTES];
    int64_t number = sqlite3_column_int64(row, 0);
    const void *record = sqlite3_column_blob(row, 1), *said = sqlite3_column_blob(row, 2);
    size_t length = (size_t)sqlite3_column_bytes(row, 1), said_length = (size_t)sqlite3_column_bytes(row, 2);
    if (number < 0 || (uint64_t)number >= load->chunks)
        return tn_fail(error, TN_INPUT, "holds part %lld, which this space does not have", (long long)number);
    *chunk = (uint64_t)number;
    tn_chunk_record_digest(load->store->identity, *chunk, record, length, digest);
    if (said_length != sizeof digest || memcmp(said, digest, sizeof digest) != 0)
        return tn_fail(error, TN_INPUT, "the record of part %lld is not as it was written",
                       (long long)number);
    tn_outcome_clear(&load->found);
    TN_TRY(tn_chunk_record_read(load->store->space, *chunk, record, length, &load->found, kept, error));
    const uint64_t none[2] = {0, 0}, *sum = load->sum ? load->sum + 2 * *chunk : none;
    if (memcmp(sum, kept, sizeof none) != 0)
        return tn_fail(error, TN_INPUT, "the designs kept of part %lld are not as they were written",
                       (long long)number);
    return TN_OK;
}

/* Every chunk through `take`, by ascending number. `tolerant`: what fails its checks is passed over. */
static tn_status each_chunk(reading *load, bool tolerant, chunk_taker *take, void *user, tn_error *error) {
    sqlite3_stmt *query;
    uint64_t next = 0;
    TN_TRY(tn_database_prepare(load->database, "SELECT chunk, record, sha256 FROM chunk ORDER BY chunk",
                               &query, error));
    tn_status status = TN_OK;
    while (status == TN_OK) {
        bool found;
        uint64_t chunk, kept[2];
        status = tn_database_step(load->database, query, &found, error);
        if (status != TN_OK || !found) break;
        tn_status good = check_record(load, query, &chunk, kept, error);
        if (good == TN_OK && chunk < next)
            good = tn_fail(error, TN_INPUT, "holds part %llu twice", (unsigned long long)chunk);
        if (good != TN_OK && !(tolerant && good == TN_INPUT)) status = good;
        if (good != TN_OK) {
            if (++load->rows > load->chunks) break; /* rows without end */
            continue;
        }
        next = chunk + 1;
        load->rows++;
        status = take(load, chunk, kept, user, error);
    }
    sqlite3_finalize(query);
    return tolerant && status == TN_INPUT ? TN_OK : status;
}

/* ---- kept designs */

typedef tn_status design_taker(reading *load, sqlite3_stmt *row, uint64_t chunk, void *user, tn_error *error);

static tn_status each_design(reading *load, design_taker *take, void *user, tn_error *error) {
    sqlite3_stmt *query;
    const tn_space *space = load->store->space;
    TN_TRY(tn_database_prepare(load->database, "SELECT * FROM designs ORDER BY id", &query, error));
    tn_status status = TN_OK;
    for (int64_t next = 0; status == TN_OK;) {
        bool found;
        status = tn_database_step(load->database, query, &found, error);
        if (status != TN_OK || !found) break;
        int64_t id = sqlite3_column_int64(query, 0);
        if (id < next || (uint64_t)id >= space->choices.designs)
            status = tn_fail(error, TN_INPUT, "keeps a design that this space does not have");
        else if (!load->sum)
            status = tn_fail(error, TN_INPUT, "keeps designs, though the sweep was not asked to");
        else
            status = take(load, query, tn_chunk_of(space, (uint64_t)id), user, error);
        next = id + 1;
    }
    sqlite3_finalize(query);
    return status;
}

static tn_status sum_design(reading *load, sqlite3_stmt *row, uint64_t chunk, void *user, tn_error *error) {
    (void)user;
    return tn_design_table_digest(row, load->sum + 2 * chunk, error);
}

/* ---- the outcome */

typedef struct {
    tn_outcome *outcome;
    bool *done;
} loading;

static tn_status take_chunk(reading *load, uint64_t chunk, const uint64_t kept[2], void *user,
                            tn_error *error) {
    loading *loaded = user;
    (void)kept;
    loaded->done[chunk] = true;
    /* What every chunk checked, all together stay below the designs of the space. */
    return tn_outcome_absorb(loaded->outcome, &load->found, error);
}

static tn_status begin_reading(reading *load, tn_sweep_db *store, tn_database *source, uint64_t chunks,
                               tn_error *error) {
    *load = (reading){.store = store, .database = source, .chunks = chunks};
    tn_outcome_begin(store->space, &load->found);
    return store->keep_all ? TN_ALLOC(2 * chunks, &load->sum, error) : TN_OK;
}

static void end_reading(reading *load) {
    tn_outcome_free(&load->found);
    tn_free(load->sum);
}

/* Every kept design must lie in a finished chunk: an unfinished one has sums of 0. */
static tn_status check_kept(const reading *load, const bool *done, tn_error *error) {
    for (uint64_t i = 0; load->sum && i < load->chunks; i++)
        if (!done[i] && (load->sum[2 * i] || load->sum[2 * i + 1]))
            return tn_fail(error, TN_INPUT, "keeps designs of part %llu, which is not finished",
                           (unsigned long long)i);
    return TN_OK;
}

static tn_status load(reading *source, loading *loaded, tn_error *error) {
    uint64_t count;
    TN_TRY(tn_sweep_db_count(source->database, &count, error));
    TN_TRY(each_design(source, sum_design, NULL, error));
    TN_TRY(each_chunk(source, false, take_chunk, loaded, error));
    TN_TRY(check_kept(source, loaded->done, error));
    if (count != source->rows)
        return tn_fail(error, TN_INPUT, "holds %llu finished parts of the %llu that were written",
                       (unsigned long long)source->rows, (unsigned long long)count);
    source->store->chunks = count;
    return TN_OK;
}

/* ---- repair */

typedef struct {
    loading loading;
    tn_evaluator *evaluator;
    bool invented; /* some record has values that its designs do not have */
} repair;

/* True if the designs of the record have the values that it says. */
static tn_status points_hold(reading *load, tn_evaluator *evaluator, bool *hold, tn_error *error) {
    const tn_archive *front = &load->found.front;
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

static tn_status test_chunk(reading *load, uint64_t chunk, const uint64_t kept[2], void *user,
                            tn_error *error) {
    repair *all = user;
    bool hold;
    (void)chunk;
    (void)kept;
    TN_TRY(points_hold(load, all->evaluator, &hold, error));
    if (tn_interrupted()) return tn_fail(error, TN_INTERRUPTED, "stopped");
    all->invented |= !hold;
    return TN_OK;
}

static tn_status rescue_chunk(reading *load, uint64_t chunk, const uint64_t kept[2], void *user,
                              tn_error *error) {
    repair *all = user;
    TN_TRY(tn_sweep_db_chunk(load->store, chunk, &load->found, kept, error));
    return take_chunk(load, chunk, kept, &all->loading, error);
}

/* Copies the row into the store that is written. */
static tn_status copy_row(tn_sweep_db *store, sqlite3_stmt *row, tn_error *error) {
    TN_TRY(tn_database_begin(&store->database, error));
    for (int i = 0; i < sqlite3_column_count(row); i++)
        sqlite3_bind_value(store->design, i + 1, sqlite3_column_value(row, i));
    return tn_database_run(&store->database, store->design, error);
}

static tn_status rescue_design(reading *load, sqlite3_stmt *row, uint64_t chunk, void *user,
                               tn_error *error) {
    const repair *all = user;
    return all->loading.done[chunk] ? copy_row(load->store, row, error) : TN_OK;
}

static tn_status rescue(reading *load, repair *all, tn_error *error) {
    tn_status status = each_design(load, sum_design, NULL, error);
    if (status != TN_OK && status != TN_INPUT) return status;
    TN_TRY(each_chunk(load, true, test_chunk, all, error));
    /* Invented values may have kept true points out of every other record. */
    if (all->invented) return TN_OK;
    load->rows = 0;
    TN_TRY(each_chunk(load, true, rescue_chunk, all, error));
    status = each_design(load, rescue_design, all, error);
    if (status != TN_OK && status != TN_INPUT) return status;
    return tn_sweep_db_commit(load->store, error);
}

tn_status tn_sweep_db_load(tn_sweep_db *store, tn_outcome *outcome, bool *done, uint64_t chunks,
                           tn_error *error) {
    reading source;
    repair all = {.loading = {outcome, done}};
    tn_error why = {0};
    tn_database *origin = store->repairing ? &store->damaged : &store->database;
    tn_status status = begin_reading(&source, store, origin, chunks, &why);
    if (status == TN_OK && store->repairing) {
        status = tn_evaluator_new(store->space, &all.evaluator, &why);
        if (status == TN_OK) status = rescue(&source, &all, &why);
        tn_evaluator_free(all.evaluator);
        tn_database_close(&store->damaged);
        store->repairing = false;
    } else if (status == TN_OK) {
        status = load(&source, &all.loading, &why);
    }
    end_reading(&source);
    if (status == TN_INPUT) return tn_sweep_db_distrust(store, why.message, error);
    if (status != TN_OK && error) *error = why;
    return status;
}

/* ---- copies of parts */

static tn_status copy_chunk(reading *load, uint64_t chunk, const uint64_t kept[2], void *user,
                            tn_error *error) {
    return tn_sweep_db_chunk(user, chunk, &load->found, kept, error);
}

static tn_status copy_design(reading *load, sqlite3_stmt *row, uint64_t chunk, void *user, tn_error *error) {
    TN_TRY(sum_design(load, row, chunk, NULL, error));
    return copy_row(user, row, error);
}

tn_status tn_sweep_db_copy(tn_sweep_db *store, tn_sweep_db *part, tn_error *error) {
    reading load;
    uint64_t chunks;
    TN_TRY(tn_chunk_count(part->space, &chunks, error));
    tn_status status = begin_reading(&load, part, &part->database, chunks, error);
    if (status == TN_OK) status = each_design(&load, copy_design, store, error);
    if (status == TN_OK) status = each_chunk(&load, false, copy_chunk, store, error);
    end_reading(&load);
    return status;
}

/* ---- kept designs for a reader */

typedef struct {
    tn_kept_design *take;
    void *user;
    double *value; /* [quantities] */
} handing;

static tn_status hand_design(reading *load, sqlite3_stmt *row, uint64_t chunk, void *user, tn_error *error) {
    const handing *receiver = user;
    (void)chunk;
    int first = 1 + (int)load->store->space->choices.count;
    for (int i = 0; i < (int)tn_quantities_count; i++)
        receiver->value[i] =
            sqlite3_column_type(row, first + i) == SQLITE_NULL ? NAN : sqlite3_column_double(row, first + i);
    return receiver->take(receiver->user, (uint64_t)sqlite3_column_int64(row, 0), receiver->value, error);
}

static tn_status pass_chunk(reading *load, uint64_t chunk, const uint64_t kept[2], void *user,
                            tn_error *error) {
    (void)load;
    (void)chunk;
    (void)kept;
    (void)user;
    (void)error;
    return TN_OK;
}

tn_status tn_sweep_db_each(tn_sweep_db *store, tn_kept_design *take, void *user, tn_error *error) {
    reading load;
    handing receiver = {.take = take, .user = user};
    uint64_t chunks;
    TN_TRY(tn_chunk_count(store->space, &chunks, error));
    TN_TRY(TN_ALLOC(tn_quantities_count, &receiver.value, error));
    tn_error why = {0};
    tn_status status = begin_reading(&load, store, &store->database, chunks, &why);
    if (status == TN_OK) status = each_design(&load, sum_design, NULL, &why);
    if (status == TN_OK) status = each_chunk(&load, false, pass_chunk, NULL, &why);
    if (status == TN_INPUT)
        status = tn_sweep_db_distrust(store, why.message, error);
    else if (status != TN_OK && error)
        *error = why;
    if (status == TN_OK) status = each_design(&load, hand_design, &receiver, error);
    end_reading(&load);
    tn_free(receiver.value);
    return status;
}
