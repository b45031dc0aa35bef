/* What sweep_db.c (opening, writing) and sweep_db_load.c (reading) share. */
#ifndef TN_RESULTS_SWEEP_DB_PARTS_H
#define TN_RESULTS_SWEEP_DB_PARTS_H

#include "base/file.h"
#include "results/database.h"
#include "results/identity.h"
#include "results/sweep_db.h"
#include "results/sweep_plan.h"

struct tn_sweep_db {
    const tn_space *space;
    int folder; /* descriptor */
    tn_lock lock;
    tn_database database;
    tn_database damaged; /* the store set aside, while what can be trusted of it is taken over */
    bool repairing, keep_all;
    sqlite3_stmt *design, *chunk; /* prepared inserts */
    uint64_t chunks;              /* rows of the table chunk */
    char identity[TN_IDENTITY_TEXT];
    char *folder_path, *path;
};

/* "WHAT; --repair ..." at the store's place. */
tn_status tn_sweep_db_distrust(const tn_sweep_db *store, const char *what, tn_error *error);
/* How many chunks the file says that it holds. */
tn_status tn_sweep_db_count(tn_database *database, uint64_t *chunks, tn_error *error);

#endif
