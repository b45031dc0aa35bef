/* Which programs are checked on which values (run/check.h says how): all flows of one layer, or every
 * distinct program of a model's training step. */
#ifndef TN_RUN_VALIDATE_H
#define TN_RUN_VALIDATE_H

#include "base/clock.h"
#include "base/error.h"
#include "base/public.h"
#include "flow/named.h"
#include "model/model.h"
#include "results/result.h"
#include "run/check.h"

#include <stdint.h>

TN_PUBLIC_BEGIN

/* Forward and all gradients of the trial, by each tree that its format has a name for, or by `flow` alone unless that is
 * TN_FLOW_NAMES (TN_INPUT where the format has no such flow). */
tn_status tn_validate_trial(tn_checks *checks, const tn_trial *trial, tn_flow_name flow,
                            const tn_cpu_rates *rates, tn_error *error);

/* Every flow of the trial's training front (program/training.h), its rows in so many micro-batches; their number
 * must divide the rows. */
tn_status tn_validate_training(tn_checks *checks, const tn_trial *trial, uint64_t micro_batches,
                               const tn_cpu_rates *rates, tn_error *error);

/* What was executed already, so that models that share programs check each once. Zero-initialise;
 * tn_executed_free. */
typedef struct tn_executed {
    struct tn_executed_program *item;
    size_t count, capacity;
} tn_executed;
void tn_executed_free(tn_executed *executed);

/* Every distinct program of the model's step (linear layers and look-ups in cores; one per weight, rows of
 * input and flow) that is not among the executed ones, as the model would run it, on values drawn with
 * `seed`. A row's name is `prefix`, the first layer with that program, and how many have it. TN_INTERRUPTED
 * keeps the rows that are finished. */
tn_status tn_validate_model(tn_checks *checks, tn_executed *executed, const tn_model *model,
                            const char *prefix, uint64_t seed, const tn_cpu_rates *rates,
                            const tn_progress *progress, tn_error *error);

/* The model of one design of a sweep's result, or of every recommended one (`all`), as above. Fails with
 * TN_INPUT for an id that is not in the space, or whose flow does not exist. */
tn_status tn_validate_result(tn_checks *checks, const tn_result *result, bool all, uint64_t id, uint64_t seed,
                             const tn_cpu_rates *rates, const tn_progress *progress, tn_error *error);

TN_PUBLIC_END

#endif
