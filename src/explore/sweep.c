#include "explore/sweep.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/interrupt.h"
#include "base/memory.h"
#include "base/random.h"
#include "explore/identity.h"
#include "explore/sweep_db.h"

#include <omp.h>
#include <stdio.h>
#include <string.h>

enum { CHUNK_DESIGNS = 65536 };
static const uint64_t chunks_most = 100000000;
static const double checkpoint_seconds = 2.0;

const char *const tn_completion_names[] = {"exhausted", "budget", "interrupted", NULL};

/* ---- outcome
 * -------------------------------------------------------------------------------------------------- */

void tn_outcome_begin(const tn_space *space, tn_outcome *outcome) {
    *outcome = (tn_outcome){0};
    tn_archive_begin(&outcome->front, space->objectives);
}

void tn_outcome_free(tn_outcome *outcome) {
    tn_archive_free(&outcome->front);
    *outcome = (tn_outcome){0};
}

tn_status tn_outcome_merge(tn_outcome *outcome, const tn_outcome *from, tn_error *error) {
    TN_TRY(tn_archive_merge(&outcome->front, &from->front, error));
    outcome->evaluated += from->evaluated;
    outcome->evaluated_now += from->evaluated_now;
    for (uint32_t i = 0; i < TN_CAUSES; i++) outcome->count[i] += from->count[i];
    return TN_OK;
}

/* ---- chunks
 * --------------------------------------------------------------------------------------------------- */

typedef struct {
    uint64_t slices, chunks; /* slices of one outer combination; all chunks of the space */
    uint64_t *order, chosen; /* chunks to evaluate, in the order of evaluation */
    bool *done;              /* [chunks] finished before */
    bool sampled;            /* the budget leaves some out */
} plan;

static uint64_t chunk_designs(const tn_space *space, const plan *work, uint64_t chunk) {
    uint64_t first = chunk % work->slices * CHUNK_DESIGNS, left = space->inner_count - first;
    return left < CHUNK_DESIGNS ? left : CHUNK_DESIGNS;
}

/* Draws chunks by the seed until the budget is reached; all of them, in order, without one. */
static tn_status choose_chunks(const tn_space *space, const tn_sweep_options *options, plan *work,
                               tn_error *error) {
    for (uint64_t chunk = 0; chunk < work->chunks; chunk++)
        if (options->shards == 0 || chunk % options->shards == options->shard - 1)
            work->order[work->chosen++] = chunk;
    if (options->budget == 0 || options->budget >= space->designs) return TN_OK;
    tn_random *random;
    TN_TRY(tn_random_open(options->seed, &random, error));
    tn_random_shuffle(random, work->order, work->chosen, sizeof *work->order);
    tn_random_close(random);
    uint64_t designs = 0, kept = 0;
    while (kept < work->chosen && designs < options->budget)
        designs += chunk_designs(space, work, work->order[kept++]);
    work->sampled = kept < work->chosen;
    work->chosen = kept;
    return TN_OK;
}

static uint64_t slices_of(const tn_space *space) {
    return (space->inner_count + CHUNK_DESIGNS - 1) / CHUNK_DESIGNS;
}

tn_status tn_sweep_chunks(const tn_space *space, uint64_t *chunks, tn_error *error) {
    if (space->outer_count > chunks_most / slices_of(space))
        return tn_fail_at(
            error, TN_LIMIT, (tn_position){.file = space->path},
            "the space has too many combinations to sweep (over 10^8 parts); narrow its choices");
    *chunks = space->outer_count * slices_of(space);
    return TN_OK;
}

static tn_status make_plan(const tn_space *space, const tn_sweep_options *options, plan *work,
                           tn_error *error) {
    *work = (plan){.slices = slices_of(space)};
    TN_TRY(tn_sweep_chunks(space, &work->chunks, error));
    tn_status status = tn_alloc(work->chunks, sizeof *work->order, &work->order, error);
    if (status == TN_OK) status = tn_alloc(work->chunks, sizeof *work->done, &work->done, error);
    if (status == TN_OK) status = choose_chunks(space, options, work, error);
    return status;
}

static void free_plan(plan *work) {
    tn_free(work->order);
    tn_free(work->done);
}

/* ---- evaluation
 * ----------------------------------------------------------------------------------------------- */

typedef struct {
    uint64_t id;
    tn_evaluation evaluation;
} kept_design;

/* What one thread works with. */
typedef struct {
    tn_evaluator *evaluator;
    tn_outcome found; /* of the running chunk */
    kept_design *kept;
    size_t kept_count, kept_capacity;
} worker;

static void clear_found(tn_outcome *found) {
    found->front.count = found->front.blocks = 0;
    found->evaluated = found->evaluated_now = 0;
    memset(found->count, 0, sizeof found->count);
}

static tn_status take_feasible(const tn_space *space, const tn_sweep_options *options, worker *with,
                               uint64_t id, const tn_evaluation *evaluation, tn_error *error) {
    tn_point point;
    tn_space_point(space, evaluation, id, &point);
    TN_TRY(tn_archive_offer(&with->found.front, &point, error));
    if (!options->keep_all) return TN_OK;
    TN_TRY(tn_grow(&with->kept, &with->kept_capacity, with->kept_count + 1, sizeof *with->kept, error));
    with->kept[with->kept_count++] = (kept_design){.id = id, .evaluation = *evaluation};
    return TN_OK;
}

static tn_status run_chunk(const tn_space *space, const tn_sweep_options *options, const plan *work,
                           uint64_t chunk, worker *with, tn_error *error) {
    uint64_t outer = chunk / work->slices, first = chunk % work->slices * CHUNK_DESIGNS;
    uint64_t designs = chunk_designs(space, work, chunk), base = tn_space_id(space, outer, 0);
    clear_found(&with->found);
    with->kept_count = 0;
    for (uint64_t i = 0; i < designs; i++) {
        tn_evaluation evaluation;
        uint32_t cause;
        TN_TRY(tn_evaluate(with->evaluator, outer, first + i, &evaluation, &cause, error));
        with->found.count[cause]++;
        if (cause != TN_CAUSE_NONE) continue;
        uint64_t id = base + tn_space_id(space, 0, first + i);
        TN_TRY(take_feasible(space, options, with, id, &evaluation, error));
    }
    with->found.evaluated = with->found.evaluated_now = designs;
    return TN_OK;
}

/* ---- the run
 * -------------------------------------------------------------------------------------------------- */

/* Shared by all threads; everything below `next` is touched one thread at a time. */
typedef struct {
    const tn_space *space;
    const tn_sweep_options *options;
    const tn_progress *progress;
    plan work;
    tn_sweep_db *store;
    uint64_t next, finished_designs, total_designs;
    tn_outcome *outcome;
    uint64_t *fresh; /* chunks finished since the last checkpoint */
    size_t fresh_count, fresh_capacity;
    double checkpoint_at;
    tn_status status;
    tn_error error;
} run;

static tn_status checkpoint(run *all, tn_error *error) {
    TN_TRY(tn_sweep_db_checkpoint(all->store, all->outcome, all->fresh, all->fresh_count, error));
    all->fresh_count = 0;
    all->checkpoint_at = tn_clock_seconds() + checkpoint_seconds;
    return TN_OK;
}

static tn_status finish_chunk(run *all, worker *with, uint64_t chunk, tn_error *error) {
    TN_TRY(tn_outcome_merge(all->outcome, &with->found, error));
    for (size_t i = 0; i < with->kept_count; i++)
        TN_TRY(tn_sweep_db_design(all->store, with->kept[i].id, &with->kept[i].evaluation, error));
    TN_TRY(tn_grow(&all->fresh, &all->fresh_capacity, all->fresh_count + 1, sizeof *all->fresh, error));
    all->fresh[all->fresh_count++] = chunk;
    all->finished_designs += with->found.evaluated;
    tn_progress_report(all->progress, all->finished_designs, all->total_designs);
    return tn_clock_seconds() >= all->checkpoint_at ? checkpoint(all, error) : TN_OK;
}

/* The next chunk for a thread; false when there is none or the run is to end. */
static bool take_chunk(run *all, uint64_t *chunk) {
    bool taken = false;
#pragma omp critical(tenfold_sweep)
    {
        while (all->next < all->work.chosen && all->work.done[all->work.order[all->next]]) all->next++;
        if (all->status == TN_OK && !tn_interrupted() && all->next < all->work.chosen) {
            *chunk = all->work.order[all->next++];
            taken = true;
        }
    }
    return taken;
}

static void work_through(run *all) {
    worker with = {0};
    tn_error error = {0};
    tn_status status = tn_evaluator_new(all->space, &with.evaluator, &error);
    tn_outcome_begin(all->space, &with.found);
    for (uint64_t chunk; status == TN_OK && take_chunk(all, &chunk);) {
        status = run_chunk(all->space, all->options, &all->work, chunk, &with, &error);
        if (status != TN_OK) break;
#pragma omp critical(tenfold_sweep)
        status = finish_chunk(all, &with, chunk, &error);
    }
#pragma omp critical(tenfold_sweep)
    if (status != TN_OK && all->status == TN_OK) {
        all->status = status;
        all->error = error;
    }
    tn_evaluator_free(with.evaluator);
    tn_outcome_free(&with.found);
    tn_free(with.kept);
}

static void count_work(run *all) {
    for (uint64_t i = 0; i < all->work.chosen; i++) {
        uint64_t designs = chunk_designs(all->space, &all->work, all->work.order[i]);
        all->total_designs += designs;
        if (all->work.done[all->work.order[i]]) all->finished_designs += designs;
    }
}

static tn_status run_all(run *all, const char *folder, tn_error *error) {
    const tn_sweep_options *options = all->options;
    char identity[1024];
    TN_TRY(make_plan(all->space, options, &all->work, error));
    TN_TRY(tn_sweep_identity(all->space, options, identity, sizeof identity, error));
    TN_TRY(tn_folder_make(folder, error));
    TN_TRY(tn_sweep_db_open(folder, all->space, identity, options->resume, &all->store, error));
    TN_TRY(tn_sweep_db_load(all->store, all->outcome, all->work.done, all->work.chunks, error));
    count_work(all);
    double started = tn_clock_seconds();
    all->checkpoint_at = started + checkpoint_seconds;
    int threads = options->threads ? (int)options->threads : omp_get_max_threads();
#pragma omp parallel num_threads(threads)
    work_through(all);
    if (all->status != TN_OK) {
        if (error) *error = all->error;
        return all->status;
    }
    TN_TRY(checkpoint(all, error));
    all->outcome->seconds = tn_clock_seconds() - started;
    bool whole = all->finished_designs == all->total_designs;
    all->outcome->completion = !whole ? TN_STOPPED : all->work.sampled ? TN_BUDGET : TN_EXHAUSTED;
    return TN_OK;
}

tn_status tn_sweep_run(const tn_space *space, const tn_sweep_options *options, const char *folder,
                       const tn_progress *progress, tn_outcome *outcome, tn_error *error) {
    if (options->shards && (options->shard == 0 || options->shard > options->shards))
        return tn_fail(error, TN_INPUT, "no such shard; shards are numbered from 1 to their number");
    tn_outcome_begin(space, outcome);
    run all = {.space = space, .options = options, .progress = progress, .outcome = outcome};
    tn_status status = run_all(&all, folder, error);
    tn_sweep_db_close(all.store);
    tn_free(all.fresh);
    free_plan(&all.work);
    if (status != TN_OK) tn_outcome_free(outcome);
    return status;
}
