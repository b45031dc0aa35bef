/* A sweep: every design of a space (or of a shard, or of a seeded sample of it) evaluated on all threads.
 *
 * Work is cut into chunks (search/chunk.h). Each chunk yields its own little front and counts; these merge into
 * the outcome in any order to the same result, so the outcome depends on the set of chunks alone: not on threads,
 * shards or interruptions.
 */
#ifndef TN_RESULTS_SWEEP_H
#define TN_RESULTS_SWEEP_H

#include "base/clock.h"
#include "base/error.h"
#include "base/public.h"
#include "results/sweep_db.h"
#include "results/sweep_plan.h"
#include "search/chunk.h"
#include "space/space.h"

TN_PUBLIC_BEGIN

/* Sweeps, keeping what is finished in the store, which was opened with the same space and options. An interruption
 * (base/interrupt.h) ends the sweep early with completion TN_STOPPED and TN_OK, the end of options->seconds with TN_BUDGET.
 * After a failure what was finished before it stays in the store. */
tn_status tn_sweep_run(tn_sweep_db *store, const tn_space *space, const tn_sweep_options *options,
                       const tn_progress *progress, tn_outcome *outcome, tn_error *error);

TN_PUBLIC_END

#endif
