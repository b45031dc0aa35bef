/* A sweep: every design of a space (or of a shard, or of a seeded sample of it) evaluated on all threads.
 *
 * Work is cut into chunks: one outer combination and up to CHUNK_DESIGNS inner ones. Each chunk yields its
 * own little front and counts; these merge into the outcome in any order to the same result, so the outcome
 * depends on the set of chunks alone: not on threads, shards or interruptions.
 */
#ifndef TN_EXPLORE_SWEEP_H
#define TN_EXPLORE_SWEEP_H

#include "base/error.h"
#include "base/progress.h"
#include "base/public.h"
#include "explore/archive.h"
#include "explore/evaluator.h"
#include "explore/space.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

TN_PUBLIC_BEGIN

typedef struct tn_sweep_options {
    unsigned threads;       /* 0: all */
    uint64_t shard, shards; /* this is shard 1..shards; 0 of 0: the whole */
    uint64_t budget;        /* evaluate at most about so many designs, of chunks drawn by `seed`; 0: all */
    uint64_t seed;
    bool resume, keep_all;
} tn_sweep_options;

typedef enum tn_completion { TN_EXHAUSTED, TN_BUDGET, TN_STOPPED } tn_completion;
extern const char *const tn_completion_names[]; /* "exhausted", "budget", "interrupted" */

/* What the finished chunks found. */
typedef struct tn_outcome {
    tn_archive front;
    uint64_t evaluated, count[TN_CAUSES]; /* count[TN_CAUSE_NONE]: feasible */
    tn_completion completion;
    double seconds;
    uint64_t evaluated_now; /* in this run, for the rate: without what a resumed run found done */
} tn_outcome;

void tn_outcome_begin(const tn_space *space, tn_outcome *outcome);
void tn_outcome_free(tn_outcome *outcome);
/* Adds what disjoint chunks of the same space found. */
tn_status tn_outcome_merge(tn_outcome *outcome, const tn_outcome *from, tn_error *error);
/* Number of chunks that the space is cut into; TN_LIMIT past 10^8. */
tn_status tn_sweep_chunks(const tn_space *space, uint64_t *chunks, tn_error *error);

/* Sweeps, keeping what is finished in FOLDER/sweep.db. An interruption (base/interrupt.h) ends the sweep
 * early with completion TN_STOPPED and TN_OK. A folder that holds another sweep is TN_INPUT, as is one with
 * this sweep unless options->resume. */
tn_status tn_sweep_run(const tn_space *space, const tn_sweep_options *options, const char *folder,
                       const tn_progress *progress, tn_outcome *outcome, tn_error *error);

TN_PUBLIC_END

#endif
