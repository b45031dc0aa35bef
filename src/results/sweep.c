#include "results/sweep.h"

#include "base/clock.h"
#include "base/interrupt.h"
#include "base/memory.h"
#include "base/threads.h"
#include "search/chunk_search.h"

#include <math.h>
#include <string.h>

static const double commit_seconds = 0.5;

typedef struct {
    uint64_t id;
    tn_evaluation evaluation;
} kept_design;

/* What one thread works with. */
typedef struct {
    tn_chunk_search search;
    size_t heard;     /* of the points that were told to all */
    tn_outcome found; /* of the running chunk */
    kept_design *kept;
    size_t kept_count, kept_capacity;
} worker;

static tn_status keep(void *target, uint64_t id, const tn_evaluation *evaluation, tn_error *error) {
    worker *thread = target;
    TN_TRY(TN_GROW(&thread->kept, &thread->kept_capacity, thread->kept_count + 1, error));
    thread->kept[thread->kept_count++] = (kept_design){.id = id, .evaluation = *evaluation};
    return TN_OK;
}

static tn_status run_chunk(const tn_space *space, const tn_sweep_options *options, uint64_t number,
                           worker *thread, tn_error *error) {
    const tn_chunk chunk = tn_chunk_at(space, number);
    tn_outcome_clear(&thread->found);
    thread->kept_count = 0;
    return tn_chunk_search_run(&thread->search, &chunk, options->keep_all ? keep : NULL, thread,
                               &thread->found, error);
}

/* ---- the run */

/* Shared by all threads; everything below `next` is touched one thread at a time. */
typedef struct {
    const tn_space *space;
    const tn_sweep_options *options;
    const tn_progress *progress;
    tn_sweep_db *store;
    tn_sweep_plan plan;
    bool *done; /* [plan.chunks] finished before */
    uint64_t next, finished_designs, total_designs;
    tn_outcome *outcome;
    tn_point *told; /* that entered the front, of finished chunks: threads hear them before their next one */
    size_t told_count, told_capacity;
    double commit_at, deadline; /* tn_clock_seconds: but for the first no chunk is begun after it */
    tn_status status;
    tn_error error;
    bool torn; /* a chunk is written in part: what is not committed must not be */
} run;

static tn_status tell(run *all, const tn_archive *entered, tn_error *error) {
    if (entered->count == 0) return TN_OK;
    TN_TRY(TN_GROW(&all->told, &all->told_capacity, all->told_count + entered->count, error));
    tn_archive_points(entered, all->told + all->told_count);
    all->told_count += entered->count;
    return TN_OK;
}

static tn_status hear(const run *all, worker *thread, tn_error *error) {
    const size_t begin = thread->heard;
    thread->heard = all->told_count;
    if (begin == all->told_count) return TN_OK; /* there may be no array yet */
    return tn_archive_offer_all(&thread->search.known, all->told + begin, all->told_count - begin, error);
}

static tn_status finish_chunk(run *all, worker *thread, uint64_t chunk, tn_error *error) {
    uint64_t kept[2] = {0, 0}, designs = thread->found.evaluated;
    all->torn = true;
    TN_TRY(tn_outcome_absorb(all->outcome, &thread->found, error));
    TN_TRY(tell(all, &thread->found.front, error));
    for (size_t i = 0; i < thread->kept_count; i++)
        TN_TRY(tn_sweep_db_design(all->store, thread->kept[i].id, &thread->kept[i].evaluation, kept, error));
    TN_TRY(tn_sweep_db_chunk(all->store, chunk, &thread->found, kept, error));
    all->torn = false;
    all->finished_designs += designs;
    tn_progress_report(all->progress, all->finished_designs, all->total_designs);
    if (tn_clock_seconds() < all->commit_at) return TN_OK;
    all->commit_at = tn_clock_seconds() + commit_seconds;
    return tn_sweep_db_commit(all->store, error);
}

/* The next chunk for a thread; *taken is false when there is none or the run is to end. */
static tn_status take_chunk(run *all, worker *thread, uint64_t *chunk, bool *taken, tn_error *error) {
    tn_status status = TN_OK;
    *taken = false;
#pragma omp critical(tenfold_sweep)
    {
        const double deadline = all->next == 0 ? INFINITY : all->deadline;
        if (all->status == TN_OK && tn_check_time(deadline, NULL) == TN_OK && all->next < all->plan.chosen) {
            if (all->next >= all->plan.renewal)
                status = tn_sweep_plan_renew(&all->plan, all->space, &all->outcome->front, all->next, error);
            *chunk = all->plan.chunk[all->next++];
            *taken = true;
            if (status == TN_OK) status = hear(all, thread, error);
        }
    }
    return status;
}

static void work_through(run *all) {
    worker thread = {0};
    tn_error error = {0};
    tn_status status = tn_chunk_search_begin(all->space, all->options->counts, &thread.search, &error);
    tn_outcome_begin(all->space, &thread.found);
    while (status == TN_OK) {
        uint64_t chunk;
        bool taken;
        status = take_chunk(all, &thread, &chunk, &taken, &error);
        if (status != TN_OK || !taken) break;
        status = run_chunk(all->space, all->options, chunk, &thread, &error);
        /* An interrupted search of flows ends with what it has, so what was evaluated meanwhile does not count. */
        if (status != TN_OK || tn_interrupted()) break;
#pragma omp critical(tenfold_sweep)
        status = all->torn ? TN_OK : finish_chunk(all, &thread, chunk, &error);
    }
#pragma omp critical(tenfold_sweep)
    if (status != TN_OK && all->status == TN_OK) {
        all->status = status;
        all->error = error;
    }
    tn_chunk_search_free(&thread.search);
    tn_outcome_free(&thread.found);
    tn_free(thread.kept);
}

static void count_work(run *all) {
    for (uint64_t i = 0; i < all->plan.chosen; i++) {
        uint64_t chunk = all->plan.chunk[i], designs = tn_chunk_at(all->space, chunk).designs;
        all->total_designs += designs;
        if (all->done[chunk]) all->finished_designs += designs;
    }
}

static tn_status run_all(run *all, tn_error *error) {
    TN_TRY(tn_sweep_plan_make(all->space, all->options, &all->plan, error));
    TN_TRY(TN_ALLOC(all->plan.chunks, &all->done, error));
    TN_TRY(tn_sweep_db_load(all->store, all->outcome, all->done, all->plan.chunks, error));
    TN_TRY(tell(all, &all->outcome->front, error));
    TN_TRY(tn_sweep_plan_skip(&all->plan, all->done, &all->next, error));
    count_work(all);
    double started = tn_clock_seconds();
    all->commit_at = started + commit_seconds;
    all->deadline = all->options->seconds > 0 ? started + all->options->seconds : INFINITY;
    int threads = tn_thread_count(all->options->threads);
#pragma omp parallel num_threads(threads)
    work_through(all);
    tn_status status = all->torn ? TN_OK : tn_sweep_db_commit(all->store, error);
    if (all->status != TN_OK) {
        if (error) *error = all->error;
        return all->status;
    }
    all->outcome->seconds = tn_clock_seconds() - started;
    bool whole = all->finished_designs == all->total_designs;
    all->outcome->completion = whole && !all->plan.sampled  ? TN_EXHAUSTED
                               : !whole && tn_interrupted() ? TN_STOPPED
                                                            : TN_BUDGET;
    return status;
}

tn_status tn_sweep_run(tn_sweep_db *store, const tn_space *space, const tn_sweep_options *options,
                       const tn_progress *progress, tn_outcome *outcome, tn_error *error) {
    tn_outcome_begin(space, outcome);
    run all = {.space = space, .options = options, .progress = progress, .store = store, .outcome = outcome};
    tn_status status = run_all(&all, error);
    tn_free(all.done);
    tn_free(all.told);
    tn_sweep_plan_free(&all.plan);
    if (status != TN_OK) tn_outcome_free(outcome);
    return status;
}
