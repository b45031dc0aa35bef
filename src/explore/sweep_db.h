/* FOLDER/sweep.db (SQLite): what a sweep has finished, so that an interrupted one goes on, and the results
 * for queries.
 *
 * Tables: meta (key, value): what the sweep is; done (chunk): finished chunks; cause (name, designs): counts;
 * archive (id, o0, o1, ...): the front of the finished chunks, minimised values; designs: every feasible
 * design with --keep-all; front: the rows of front.csv once the sweep has ended. A checkpoint is one
 * transaction: a killed sweep loses what it did since the last one and nothing else.
 */
#ifndef TN_EXPLORE_SWEEP_DB_H
#define TN_EXPLORE_SWEEP_DB_H

#include "base/error.h"
#include "explore/sweep.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tn_sweep_db tn_sweep_db;

/* Opens or makes FOLDER/sweep.db. `identity` says what is swept: a store of another identity is TN_INPUT, as
 * is any existing store unless `resume`. */
tn_status tn_sweep_db_open(const char *folder, const tn_space *space, const char *identity, bool resume,
                           tn_sweep_db **store, tn_error *error);
/* Opens an existing store to read from, whatever its identity, which is copied into `identity`. */
tn_status tn_sweep_db_open_existing(const char *folder, const tn_space *space, tn_sweep_db **store,
                                    char *identity, size_t capacity, tn_error *error);
void tn_sweep_db_close(tn_sweep_db *store);

/* Adds what the store knows to the outcome and sets done[chunk] for finished chunks (of `chunks`). */
tn_status tn_sweep_db_load(tn_sweep_db *store, tn_outcome *outcome, bool *done, uint64_t chunks,
                           tn_error *error);

/* Records newly finished chunks and the outcome that includes them. */
tn_status tn_sweep_db_checkpoint(tn_sweep_db *store, const tn_outcome *outcome, const uint64_t *chunk,
                                 size_t chunks, tn_error *error);

/* One feasible design (--keep-all); becomes durable with the next checkpoint. */
tn_status tn_sweep_db_design(tn_sweep_db *store, uint64_t id, const tn_evaluation *evaluation,
                             tn_error *error);

/* Copies the designs that FOLDER/sweep.db keeps (--keep-all) into this store. */
tn_status tn_sweep_db_copy_designs(tn_sweep_db *store, const char *folder, tn_error *error);

/* The rows of the finished front: ids and evaluations. */
tn_status tn_sweep_db_front(tn_sweep_db *store, const uint64_t *id, const tn_evaluation *evaluation,
                            size_t count, tn_error *error);

#endif
