#include "results/merge.h"

#include "base/memory.h"
#include "search/chunk.h"

#include <inttypes.h>
#include <string.h>

typedef struct {
    const tn_space *space;
    uint64_t chunks;
    bool *done, *done_here;
    tn_outcome outcome;
    tn_sweep_options first; /* those of the first part */
} merging;

/* The folder's own inputs are those of the first one, byte by byte: both have the hashes of one identity. */
static tn_status check_inputs(const char *folder, tn_error *error) {
    tn_arena arena = {0};
    tn_space *own;
    tn_status status = tn_result_space(folder, &arena, &own, NULL, error);
    tn_arena_free(&arena);
    return status;
}

static tn_status check_options(const merging *all, const char *folder, const tn_sweep_options *options,
                               tn_error *error) {
    const tn_sweep_options *first = &all->first;
    const char *differs = options->shards != first->shards       ? "number of shards"
                          : options->budget != first->budget     ? "budget"
                          : options->seed != first->seed         ? "seed"
                          : options->keep_all != first->keep_all ? "choice of what to keep (--keep-all)"
                          : options->counts != first->counts     ? "way to count (--count)"
                                                                 : NULL;
    if (!differs) return TN_OK;
    return tn_fail_at(
        error, TN_INPUT, (tn_position){.file = folder},
        "is a sweep with another %s than the first folder; only parts of one sweep belong together", differs);
}

static tn_status take_chunks(merging *all, const char *folder, tn_error *error) {
    for (uint64_t i = 0; i < all->chunks; i++) {
        if (all->done_here[i] && all->done[i])
            return tn_fail_at(error, TN_INPUT, (tn_position){.file = folder},
                              "holds designs that an earlier folder holds too; give each shard once");
        all->done[i] |= all->done_here[i];
    }
    return TN_OK;
}

static tn_status add_store(merging *all, tn_sweep_db *store, const char *folder,
                           const tn_sweep_options *options, bool is_first, tn_error *error) {
    if (is_first) all->first = *options;
    TN_TRY(check_options(all, folder, options, error));
    memset(all->done_here, 0, all->chunks * sizeof *all->done_here);
    tn_outcome part;
    tn_outcome_begin(all->space, &part);
    tn_status status = tn_sweep_db_load(store, &part, all->done_here, all->chunks, error);
    if (status == TN_OK) status = take_chunks(all, folder, error);
    if (status == TN_OK) status = tn_outcome_absorb(&all->outcome, &part, error);
    tn_outcome_free(&part);
    return status;
}

static tn_status add_part(merging *all, const char *folder, bool is_first, tn_error *error) {
    tn_sweep_db *store;
    tn_sweep_options options;
    if (!is_first) TN_TRY(check_inputs(folder, error));
    TN_TRY(tn_sweep_db_open_part(folder, all->space, &store, &options, error));
    tn_status status = add_store(all, store, folder, &options, is_first, error);
    tn_sweep_db_close(store);
    return status;
}

/* ---- what is missing */

/* Whether all chunks that the shard was to evaluate are finished. */
static tn_status shard_is_whole(const merging *all, uint64_t shard, bool *whole, tn_error *error) {
    tn_sweep_options options = all->first;
    tn_sweep_plan plan;
    options.shard = shard;
    TN_TRY(tn_sweep_plan_make(all->space, &options, &plan, error));
    *whole = true;
    for (uint64_t i = 0; *whole && i < plan.chosen; i++) *whole = all->done[plan.chunk[i]];
    tn_sweep_plan_free(&plan);
    return TN_OK;
}

static tn_status find_missing(merging *all, tn_arena *arena, const char **missing, tn_error *error) {
    uint64_t finished = 0, shards = all->first.shards, absent = 0;
    tn_buffer text = {0};
    *missing = NULL;
    for (uint64_t i = 0; i < all->chunks; i++) finished += all->done[i];
    all->outcome.completion = finished == all->chunks ? TN_EXHAUSTED : TN_BUDGET;
    all->outcome.exact = all->outcome.certified = finished == all->chunks;
    for (size_t i = 0; i < all->space->objectives; i++) all->outcome.factor[i] = 1;
    if (finished == all->chunks) return TN_OK;
    tn_status status = TN_OK;
    for (uint64_t shard = shards ? 1 : 0; status == TN_OK && shard <= shards; shard++) {
        bool whole;
        status = shard_is_whole(all, shard, &whole, error);
        if (status == TN_OK && !whole) tn_buffer_format(&text, absent++ ? ", %" PRIu64 : "%" PRIu64, shard);
    }
    if (status == TN_OK && text.status != TN_OK)
        status = tn_fail(error, text.status, "no memory to say what is missing");
    if (status == TN_OK && absent) {
        all->outcome.completion = TN_STOPPED;
        status = shards ? tn_arena_format(arena, missing, error, "shard%s %s of %" PRIu64,
                                          absent > 1 ? "s" : "", text.data, shards)
                        : tn_arena_format(arena, missing, error, "a part of the sweep");
    }
    tn_buffer_free(&text);
    return status;
}

/* ---- writing */

static tn_status copy_part(merging *all, tn_sweep_db *store, const char *folder, tn_error *error) {
    tn_sweep_db *part;
    tn_sweep_options options;
    TN_TRY(tn_sweep_db_open_part(folder, all->space, &part, &options, error));
    tn_status status = tn_sweep_db_copy(store, part, error);
    tn_sweep_db_close(part);
    return status;
}

static tn_status write_folder(merging *all, const char *const *part, size_t parts, const char *folder,
                              tn_summary *summary, tn_error *error) {
    tn_sweep_options options = {.keep_all = all->first.keep_all,
                                .counts = all->first.counts,
                                .budget = all->first.budget,
                                .seed = all->first.seed};
    tn_sweep_db *store;
    TN_TRY(tn_sweep_db_open(folder, all->space, &options, &store, error));
    tn_status status = TN_OK;
    for (size_t i = 0; status == TN_OK && i < parts; i++) status = copy_part(all, store, part[i], error);
    if (status == TN_OK) status = tn_sweep_db_commit(store, error);
    if (status == TN_OK)
        status = tn_result_write(store, folder, all->space, &options, &all->outcome, summary, error);
    tn_sweep_db_close(store);
    return status;
}

static tn_status merge_all(merging *all, const char *const *part, size_t parts, const char *folder,
                           tn_arena *arena, tn_summary *summary, const char **missing, tn_error *error) {
    TN_TRY(tn_chunk_count(all->space, &all->chunks, error));
    TN_TRY(TN_ALLOC(all->chunks, &all->done, error));
    TN_TRY(TN_ALLOC(all->chunks, &all->done_here, error));
    for (size_t i = 0; i < parts; i++) TN_TRY(add_part(all, part[i], i == 0, error));
    TN_TRY(find_missing(all, arena, missing, error));
    return write_folder(all, part, parts, folder, summary, error);
}

tn_status tn_merge_folders(const char *const *part, size_t parts, const char *folder, tn_arena *arena,
                           tn_summary *summary, const char **missing, tn_error *error) {
    tn_space *space;
    merging all = {0};
    TN_TRY(tn_result_space(part[0], arena, &space, NULL, error));
    if (!tn_can_enumerate(space))
        return tn_fail_at(error, TN_INPUT, (tn_position){.file = part[0]},
                          "was found in one piece; parts to merge are those of sweeps with --shard");
    tn_outcome_begin(space, &all.outcome);
    all.space = space;
    tn_status status = merge_all(&all, part, parts, folder, arena, summary, missing, error);
    tn_free(all.done);
    tn_free(all.done_here);
    tn_outcome_free(&all.outcome);
    return status;
}
