/* Merging the folders of shards into the folder that one sweep of all of them would have given. */
#ifndef TN_EXPLORE_MERGE_H
#define TN_EXPLORE_MERGE_H

#include "base/arena.h"
#include "base/error.h"
#include "base/public.h"
#include "explore/result.h"

#include <stddef.h>

TN_PUBLIC_BEGIN

/* Reads the finished chunks of every folder and writes `folder` as a result, with completion TN_EXHAUSTED
 * where together they are the whole space. Folders of different spaces, models, devices or versions, or that
 * share a chunk, are TN_INPUT. Texts of *summary live in `arena`. */
tn_status tn_merge_folders(const char *const *part, size_t parts, const char *folder, tn_arena *arena,
                           tn_summary *summary, tn_error *error);

TN_PUBLIC_END

#endif
