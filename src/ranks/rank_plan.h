/* From a model and its trained weights to the ranks and foldings that fit: candidates (ranks/layer_options.h),
 * their costs (ranks/costs.h), the exact choice (ranks/problem.h), and the design priced as a whole.
 *
 * Cycles and blocks of a whole design are not the sum of what its candidates add (ranks/costs.h). Where
 * such a cost is bounded or minimised the choice is a search: from a design that fits as a whole, exact
 * choices for costs counted around it, with fewer and fewer layers allowed to change until the choice fits as
 * a whole and is better. It ends where no change of one layer is. Otherwise one exact choice is the optimum.
 */
#ifndef TN_RANKS_RANK_PLAN_H
#define TN_RANKS_RANK_PLAN_H

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/public.h"
#include "device/device.h"
#include "model/model.h"
#include "ranks/accuracy.h"
#include "ranks/costs.h"
#include "ranks/layer_options.h"
#include "ranks/problem.h"

#include <stdbool.h>
#include <stddef.h>

TN_PUBLIC_BEGIN

typedef struct tn_rank_plan {
    const tn_model *model;
    tn_model *own; /* with a weight for each layer; after solving, the chosen ones */
    tn_rank_costs *costs;
    const tn_device *device;     /* NULL: none; else its blocks bound every design */
    const tn_accuracy *accuracy; /* NULL: truncation error counts */
    tn_layer_options *candidates;
    double *cost;            /* of all candidates, usable or not */
    size_t layers, measured; /* measured: layers that accuracies were measured of; all without accuracies */
    double squared_norm;     /* of all layers' matrices, in their measure */
    tn_rank_problem problem;
    const tn_layer_option **candidate; /* of the problem's candidates */
} tn_rank_plan;

/* "tt", "dense" ..; "low-rank" of a train of one factor a side, which is two plain factors. */
const char *tn_rank_format_name(const tn_weight *weight);

/* Everything lives in `arena` but what tn_rank_plan_free frees. accuracy and device may be NULL. A layer of
 * which the accuracies have no curve keeps the model's folding and ranks, with which the others were measured. With
 * `in_range` the candidates whose rank the measured accuracies do not cover are left out instead of refused.
 */
tn_status tn_rank_plan_make(const tn_model *model, const tn_trained *trained,
                            const tn_layer_option_rule *rule, const tn_device *device,
                            const tn_accuracy *accuracy, bool in_range, const tn_progress *progress,
                            tn_arena *arena, tn_rank_plan *plan, tn_error *error);
void tn_rank_plan_free(tn_rank_plan *plan);

typedef struct tn_rank_outcome {
    tn_rank_solution solution;   /* of a search: exact = false, gap NaN; costs as of whole designs */
    double total[TN_COSTS_MOST]; /* of the whole design, as chosen */
    bool fits;         /* something was found that keeps the budgets as a whole, and the device holds it */
    tn_resources used; /* with a device and a choice: by the whole design */
    size_t rounds;     /* choices made; 1 where costs add up */
} tn_rank_outcome;

/* Blocks that the device has become budgets of `goal` where the choice without them would take more. LUTs,
 * flip-flops and DSP blocks follow from the build, not from ranks: a design that takes more of them than there are
 * is chosen all the same, and does not fit. Where
 * the allowed error can't be reached, solution.least_error says what can. */
tn_status tn_rank_plan_solve(tn_rank_plan *plan, tn_rank_goal *goal, tn_arena *arena,
                             tn_rank_outcome *outcome, tn_error *error);

/* The candidate that a choice of the problem takes for a layer. */
const tn_layer_option *tn_rank_plan_chosen(const tn_rank_plan *plan, const tn_rank_way *choice, size_t layer);

/* Relative error of what is summed: sqrt(sum / squared_norm), or the sum itself where accuracy counts. */
double tn_rank_plan_relative(const tn_rank_plan *plan, double sum);

TN_PUBLIC_END

#endif
