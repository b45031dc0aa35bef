/* Merging the folders of shards into the folder that one sweep of all of them would have given. */
#ifndef TN_RESULTS_MERGE_H
#define TN_RESULTS_MERGE_H

#include "base/error.h"
#include "base/memory.h"
#include "base/public.h"
#include "results/result.h"

#include <stddef.h>

TN_PUBLIC_BEGIN

/* Reads the finished chunks of every folder, which nobody may write in meanwhile, and writes `folder` as a result.
 * Its completion is TN_EXHAUSTED where together they are the whole space, TN_BUDGET where they are all that the
 * shards' budgets allow, else TN_STOPPED: then *missing says which shards are absent or unfinished, else it is NULL.
 * Folders of different spaces, models, devices, versions, budgets or seeds, or that share a chunk, are TN_INPUT, as
 * is a damaged store. Texts of *summary and *missing live in `arena`. */
tn_status tn_merge_folders(const char *const *part, size_t parts, const char *folder, tn_arena *arena,
                           tn_summary *summary, const char **missing, tn_error *error);

TN_PUBLIC_END

#endif
