/* FOLDER/sweep.db (SQLite): what a sweep has finished, so that an interrupted one goes on, and the results
 * for queries.
 *
 * Tables: meta (key, value): what the sweep is, and how many chunks it holds; chunk (chunk, record, sha256): what
 * each finished chunk found (search/chunk.h); designs: every feasible design with --keep-all; front: the
 * rows of front.csv once the sweep has ended. Rows of the last two are (id, the choices, the quantities), columns
 * named after the keys; numbers are stored as numbers. SQLite does not tell upper case from lower in names: of
 * keys that differ in nothing else the second is called KEY~2.
 *
 * Whoever writes holds the folder's lock. Chunks become durable with the next commit, whole: a killed sweep loses
 * what it did since the last one and nothing else. A store is believed in nothing: the schema, what identifies the
 * sweep, every record and every kept design are checked before anything of it counts.
 */
#ifndef TN_RESULTS_SWEEP_DB_H
#define TN_RESULTS_SWEEP_DB_H

#include "base/error.h"
#include "base/public.h"
#include "results/sweep_plan.h"
#include "search/chunk.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

TN_PUBLIC_BEGIN

typedef struct tn_sweep_db tn_sweep_db;

/* Makes the folder where it is missing, locks it, and opens or makes its store. TN_IO where another process writes
 * in it; TN_INPUT where it holds another sweep, or this one and options->resume is not set, or the store is
 * damaged: with options->repair it is set aside as sweep.db.damaged, and what of it can be trusted is taken over. */
tn_status tn_sweep_db_open(const char *folder, const tn_space *space, const tn_sweep_options *options,
                           tn_sweep_db **store, tn_error *error);
/* Before work whose results are written at its end: TN_INPUT where the folder's store would be refused then, whichever of
 * the `count` options it ends with. *held: those of what the folder holds; `count` where it holds nothing. Nothing is made, and
 * with options->repair nothing is asked. */
tn_status tn_sweep_db_check(const char *folder, const tn_space *space, const tn_sweep_options *options,
                            size_t count, size_t *held, tn_error *error);
/* The store of a shard, to read, together with the options it was made with. The inputs are the space's. */
tn_status tn_sweep_db_open_part(const char *folder, const tn_space *space, tn_sweep_db **store,
                                tn_sweep_options *options, tn_error *error);
void tn_sweep_db_close(tn_sweep_db *store);

/* Adds what the store knows to the outcome and sets done[chunk] for finished chunks (of `chunks`). */
tn_status tn_sweep_db_load(tn_sweep_db *store, tn_outcome *outcome, bool *done, uint64_t chunks,
                           tn_error *error);

/* One feasible design (--keep-all); `kept` are the sums of its chunk, which start at 0. */
tn_status tn_sweep_db_design(tn_sweep_db *store, uint64_t id, const tn_evaluation *evaluation,
                             uint64_t kept[2], tn_error *error);
/* A finished chunk, after its designs. */
tn_status tn_sweep_db_chunk(tn_sweep_db *store, uint64_t chunk, const tn_outcome *found,
                            const uint64_t kept[2], tn_error *error);
/* Every kept design of a store that was opened to read, by ascending id: its quantities, after all were checked. */
typedef tn_status tn_kept_design(void *user, uint64_t id, const double *value, tn_error *error);
tn_status tn_sweep_db_each(tn_sweep_db *store, tn_kept_design *take, void *user, tn_error *error);
/* All chunks and designs of a part's store. */
tn_status tn_sweep_db_copy(tn_sweep_db *store, tn_sweep_db *part, tn_error *error);
/* The rows of the finished front: ids and evaluations. Commits. */
tn_status tn_sweep_db_front(tn_sweep_db *store, const uint64_t *id, const tn_evaluation *evaluation,
                            size_t count, tn_error *error);
tn_status tn_sweep_db_commit(tn_sweep_db *store, tn_error *error);

/* Path of the store, for errors. */
const char *tn_sweep_db_path(const tn_sweep_db *store);

TN_PUBLIC_END

#endif
