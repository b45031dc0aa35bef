#include "results/limits.h"

#include "base/interrupt.h"
#include "front/knee.h"

#include <math.h>
#include <stdlib.h>

/* ---- what a design falls short by ---- */

double tn_budget_ratio(const tn_resources *used, const tn_resources *budget) {
    double most = 0;
    for (int i = 0; i < TN_RESOURCES; i++) {
        uint64_t need = tn_resource_amount(used, (tn_resource)i),
                 have = tn_resource_amount(budget, (tn_resource)i);
        if (need > 0) most = fmax(most, have ? (double)need / (double)have : INFINITY);
    }
    return most;
}

/* By which factor a value lies beyond a constraint's bounds; 1 where it is within. A bound of 0 or of another sign,
 * and a condition of several parts, have no factor: then it is infinite. */
static double constraint_factor(const tn_constraint *constraint, const tn_evaluation *evaluation) {
    if (constraint->expression) return INFINITY;
    double value = constraint->quantity->get(evaluation), factor = 1;
    if (value > constraint->most) factor = value / constraint->most;
    if (value < constraint->least) factor = constraint->least / value;
    return factor >= 1 && isfinite(factor) ? factor : INFINITY;
}

/* Whether every quantity that the constraint asks for is known (no NaN). */
static bool is_known(const tn_constraint *constraint, const tn_evaluation *evaluation) {
    if (!constraint->expression) return !isnan(constraint->quantity->get(evaluation));
    for (size_t i = 0; i < tn_quantities_count; i++)
        if (isnan(tn_quantities[i].get(evaluation)) &&
            tn_expression_mentions(constraint->expression, tn_quantities[i].name))
            return false;
    return true;
}

/* Whether a design with such quantities holds the condition, whatever its choices. */
static bool may_hold(const tn_space *space, const tn_constraint *constraint,
                     const tn_evaluation *evaluation) {
    const uint32_t digit[TN_AXES_MOST] = {0};
    bool open[TN_AXES_MOST];
    for (size_t i = 0; i < TN_AXES_MOST; i++) open[i] = true;
    const tn_candidate design = {.known = TN_KNOWN_WHOLE,
                                 .evaluation = evaluation,
                                 .most = &space->most,
                                 .digit = digit,
                                 .open = open};
    return tn_constraint_holds(constraint, &space->choices, &design);
}

/* The greatest of both: at most 1 where the design fits. Of a constraint nothing is said where a quantity is not known. */
static double shortfall(const tn_limits *limits, const tn_evaluation *evaluation) {
    double most = tn_budget_ratio(&evaluation->price.used, limits->budget);
    for (size_t i = 0; limits->space && i < limits->space->constraints; i++) {
        const tn_constraint *constraint = &limits->space->constraint[i];
        if (is_known(constraint, evaluation) && !may_hold(limits->space, constraint, evaluation))
            most = fmax(most, constraint_factor(constraint, evaluation));
    }
    return most;
}

tn_status tn_limits_evaluate(const tn_limits *limits, const tn_priced *priced, tn_evaluation *evaluation,
                             double *ratio, tn_error *error) {
    const tn_space *space = limits->space;
    const tn_step *step = priced->step;
    *evaluation = (tn_evaluation){.price = priced->price,
                                  .parameters = step->parameters,
                                  .macs_per_step = tn_step_macs(step->macs),
                                  .peak_elements = step->peak_elements,
                                  .steps_per_epoch = step->steps_per_epoch,
                                  .error = NAN,
                                  .accuracy = NAN,
                                  .perplexity = NAN,
                                  .accuracy_deviation = NAN,
                                  .accuracy_interpolated = NAN};
    if (space) TN_TRY(tn_varied_degrees_of_freedom(space, step, &evaluation->degrees_of_freedom, error));
    *ratio = shortfall(limits, evaluation);
    return TN_OK;
}

/* ---- the nearest designs ---- */

/* `space`: the variant of the design. */
static double factor_of(const tn_space *space, const tn_evaluation *evaluation, uint32_t cause) {
    if (cause >= TN_CAUSE_CONSTRAINT)
        return constraint_factor(&space->constraint[cause - TN_CAUSE_CONSTRAINT], evaluation);
    return tn_budget_ratio(&evaluation->price.used, &space->budget);
}

/* By what the design lacks most that was evaluated last: a constraint counts where it is broken by more than a resource is short.
 * exact: its price is known, else a bound. */
static tn_miss miss_of(const tn_evaluator *evaluator, const tn_space *space, uint64_t id,
                       const tn_evaluation *evaluation, uint32_t cause, bool exact) {
    tn_miss miss = {id, cause, factor_of(space, evaluation, cause)};
    for (uint32_t i = 0; i < space->constraints && cause < TN_CAUSE_CONSTRAINT; i++) {
        const tn_constraint *constraint = &space->constraint[i];
        const bool asks = constraint->expression || is_known(constraint, evaluation);
        if (!asks || !tn_evaluator_breaks(evaluator, i, exact, evaluation)) continue;
        const double factor = constraint_factor(constraint, evaluation);
        if (factor > miss.factor) miss = (tn_miss){id, TN_CAUSE_CONSTRAINT + i, factor};
    }
    return miss;
}

static void offer(tn_misses *misses, tn_miss next) {
    size_t index = 0;
    while (index < misses->count && misses->miss[index].cause != next.cause) index++;
    if (index == misses->count) misses->miss[misses->count++] = next;
    if (next.factor < misses->miss[index].factor) misses->miss[index] = next;
}

static int by_factor(const void *a, const void *b) {
    const tn_miss *x = a, *y = b;
    return tn_value_order(x->factor, x->id, y->factor, y->id);
}

/* Combinations of the model's choices that are looked at, where there are so many: however many builds there are. */
enum { STEPS_LEAST = 64 };

/* Evenly over the builds, where there are more than are to be looked at. */
static tn_status look_at(const tn_space *space, tn_evaluator *evaluator, uint64_t outer, uint64_t most,
                         tn_misses *misses, tn_error *error) {
    const uint64_t stride = (space->inner_count - 1) / most + 1;
    for (uint64_t inner = 0; inner < space->inner_count; inner += stride) {
        tn_evaluation evaluation;
        uint32_t cause;
        bool exact;
        TN_TRY(tn_evaluate_bound(evaluator, outer, inner, &evaluation, &cause, &exact, error));
        misses->evaluated++;
        if (cause < TN_CAUSE_RESOURCE) continue; /* feasible, or without a price */
        const uint64_t id = tn_space_id(space, outer, inner);
        offer(misses, miss_of(evaluator, tn_space_of(space, id), id, &evaluation, cause, exact));
    }
    return TN_OK;
}

/* Until the nearest lacks as laid what its bound said: places that are sought within what a constraint leaves may be none, where what is
 * built elsewhere fits. */
static tn_status lay_nearest(const tn_space *space, tn_evaluator *evaluator, tn_misses *misses,
                             tn_error *error) {
    bool same = false;
    for (size_t i = 0; i < misses->count && !same; i++) {
        tn_miss *nearest = &misses->miss[0];
        tn_evaluation evaluation;
        uint64_t outer, inner;
        uint32_t cause;
        tn_space_split(space, nearest->id, &outer, &inner);
        TN_TRY(tn_evaluate(evaluator, outer, inner, &evaluation, &cause, error));
        if (cause < TN_CAUSE_RESOURCE) return TN_OK;
        const tn_miss laid =
            miss_of(evaluator, tn_space_of(space, nearest->id), nearest->id, &evaluation, cause, true);
        same = laid.cause == nearest->cause;
        *nearest = misses->miss[--misses->count];
        offer(misses, laid);
        qsort(misses->miss, misses->count, sizeof *misses->miss, by_factor);
    }
    return TN_OK;
}

tn_status tn_misses_find(const tn_space *space, uint64_t most, tn_misses *misses, tn_error *error) {
    tn_evaluator *evaluator;
    *misses = (tn_misses){0};
    if (space->choices.is_vast) return TN_OK; /* no design has a number to begin with */
    uint64_t outers = most / space->inner_count;
    if (outers < STEPS_LEAST) outers = STEPS_LEAST;
    if (outers > space->outer_count) outers = space->outer_count;
    const uint64_t builds = (most - 1) / outers + 1; /* of each */
    TN_TRY(tn_evaluator_new(space, &evaluator, error));
    tn_status status = TN_OK;
    for (uint64_t i = 0; status == TN_OK && i < outers && !tn_interrupted(); i++) {
        /* Evenly over all; the product fits, as outers <= most. */
        uint64_t outer = (uint64_t)((double)i * ((double)space->outer_count / (double)outers));
        status = look_at(space, evaluator, outer, builds, misses, error);
    }
    qsort(misses->miss, misses->count, sizeof *misses->miss, by_factor);
    if (status == TN_OK) status = lay_nearest(space, evaluator, misses, error);
    tn_evaluator_free(evaluator);
    return status;
}
