#include "explore/merge.h"

#include "base/file.h"
#include "base/memory.h"
#include "explore/identity.h"
#include "explore/sweep_db.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { IDENTITY_TEXT = 1024 };

typedef struct {
    const tn_space *space;
    uint64_t chunks;
    bool *done, *done_here;
    tn_outcome outcome;
    char identity[IDENTITY_TEXT]; /* of the first part, up to its shard */
} merging;

/* Identities agree up to " shard". */
static bool same_sweep(const char *a, const char *b) {
    const char *end = strstr(a, " shard ");
    size_t length = end ? (size_t)(end - a) : strlen(a);
    return strncmp(a, b, length) == 0;
}

static tn_status add_part(merging *all, const char *folder, tn_error *error) {
    tn_sweep_db *store;
    char identity[IDENTITY_TEXT];
    TN_TRY(tn_sweep_db_open_existing(folder, all->space, &store, identity, sizeof identity, error));
    tn_outcome part;
    tn_outcome_begin(all->space, &part);
    memset(all->done_here, 0, all->chunks * sizeof *all->done_here);
    if (!all->identity[0]) memcpy(all->identity, identity, sizeof identity);
    tn_status status = TN_OK;
    if (!same_sweep(all->identity, identity))
        status = tn_fail_at(error, TN_INPUT, (tn_position){.file = folder},
                            "is a sweep of another space, model, device or version than the first folder");
    if (status == TN_OK) status = tn_sweep_db_load(store, &part, all->done_here, all->chunks, error);
    for (uint64_t i = 0; status == TN_OK && i < all->chunks; i++) {
        if (all->done_here[i] && all->done[i])
            status = tn_fail_at(error, TN_INPUT, (tn_position){.file = folder},
                                "holds designs that an earlier folder holds too; give each shard once");
        all->done[i] |= all->done_here[i];
    }
    if (status == TN_OK) status = tn_outcome_merge(&all->outcome, &part, error);
    tn_outcome_free(&part);
    tn_sweep_db_close(store);
    return status;
}

/* Records all finished chunks and kept designs in the new folder's store. */
static tn_status write_store(merging *all, const char *const *part, size_t parts, const char *folder,
                             const tn_sweep_options *options, tn_error *error) {
    char identity[IDENTITY_TEXT];
    uint64_t *chunk, count = 0;
    tn_sweep_db *store;
    TN_TRY(tn_sweep_identity(all->space, options, identity, sizeof identity, error));
    TN_TRY(tn_sweep_db_open(folder, all->space, identity, false, &store, error));
    tn_status status = tn_alloc(all->chunks, sizeof *chunk, &chunk, error);
    if (status == TN_OK) {
        for (uint64_t i = 0; i < all->chunks; i++)
            if (all->done[i]) chunk[count++] = i;
        for (size_t i = 0; status == TN_OK && i < parts; i++)
            status = tn_sweep_db_copy_designs(store, part[i], error);
        if (status == TN_OK) status = tn_sweep_db_checkpoint(store, &all->outcome, chunk, count, error);
        all->outcome.completion = count == all->chunks ? TN_EXHAUSTED : TN_STOPPED;
        tn_free(chunk);
    }
    tn_sweep_db_close(store);
    return status;
}

static tn_status merge_all(merging *all, const char *const *part, size_t parts, const char *folder,
                           tn_summary *summary, tn_error *error) {
    TN_TRY(tn_sweep_chunks(all->space, &all->chunks, error));
    TN_TRY(tn_alloc(all->chunks, sizeof *all->done, &all->done, error));
    TN_TRY(tn_alloc(all->chunks, sizeof *all->done_here, &all->done_here, error));
    for (size_t i = 0; i < parts; i++) TN_TRY(add_part(all, part[i], error));
    const char *kept = strstr(all->identity, "keep-all ");
    const tn_sweep_options options = {.keep_all = kept && strcmp(kept, "keep-all 1") == 0};
    TN_TRY(tn_folder_make(folder, error));
    TN_TRY(write_store(all, part, parts, folder, &options, error));
    return tn_result_write(folder, all->space, &options, &all->outcome, summary, error);
}

tn_status tn_merge_folders(const char *const *part, size_t parts, const char *folder, tn_arena *arena,
                           tn_summary *summary, tn_error *error) {
    tn_space *space;
    merging all = {0};
    TN_TRY(tn_result_space(part[0], arena, &space, error));
    tn_outcome_begin(space, &all.outcome);
    all.space = space;
    tn_status status = merge_all(&all, part, parts, folder, summary, error);
    tn_free(all.done);
    tn_free(all.done_here);
    tn_outcome_free(&all.outcome);
    return status;
}
