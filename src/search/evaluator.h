/* Evaluates designs of a space: makes the training step of an outer combination once, prices it for inner
 * ones. One evaluator serves one thread. The same design gives the same evaluation from any evaluator. */
#ifndef TN_SEARCH_EVALUATOR_H
#define TN_SEARCH_EVALUATOR_H

#include "base/error.h"
#include "base/public.h"
#include "design/design.h"
#include "design/explain.h"
#include "price/bound.h"
#include "space/quantity.h"
#include "space/space.h"

#include <stdint.h>

TN_PUBLIC_BEGIN

/* Why a design is not feasible. Resource i is TN_CAUSE_RESOURCE + i: where several are short, the one that is
 * over its budget by the greatest factor. Constraint i is TN_CAUSE_CONSTRAINT + i: the first that does not
 * hold. */
typedef enum tn_cause {
    TN_CAUSE_NONE,       /* feasible */
    TN_CAUSE_UNDEFINED,  /* a format does not have the flow, or keys exclude each other */
    TN_CAUSE_OVERFLOW,   /* a count leaves 64 bits */
    TN_CAUSE_LIMIT,      /* beyond a documented limit of this program */
    TN_CAUSE_UNMEASURED, /* fits, but an objective is not known of it */
    TN_CAUSE_RESOURCE,
    TN_CAUSE_CONSTRAINT = TN_CAUSE_RESOURCE + TN_RESOURCES,
    TN_CAUSES = TN_CAUSE_CONSTRAINT + TN_CONSTRAINTS_MOST,
} tn_cause;

/* A flow that the format of a weight does not have; or, where the weight is TN_UNDEFINED_KEYS and the rest 0, keys of the
 * model, of the build or of the device that can't be combined (tn_evaluator_why). */
#define TN_UNDEFINED_KEYS UINT32_MAX
typedef struct tn_undefined_flow {
    uint32_t weight; /* its number (tn_space_weight_name) */
    tn_format format;
    uint32_t factors; /* per side */
    tn_flow_name flow;
} tn_undefined_flow;

/* "undefined", "overflow", "limit", "unmeasured", a resource's name or a constraint's. */
const char *tn_cause_name(const tn_space *space, uint32_t cause);

/* The resource that is over its budget by the greatest factor; TN_CAUSE_NONE: none is. */
tn_cause tn_worst_resource(const tn_resources *used, const tn_resources *budget);

typedef struct tn_evaluator tn_evaluator;
tn_status tn_evaluator_new(const tn_space *space, tn_evaluator **evaluator, tn_error *error);
void tn_evaluator_free(tn_evaluator *evaluator);

/* Whether tn_evaluate_bound gives a bound of some design instead of its price: not in spaces of few designs, nor where no build
 * has one (tn_price_has_bound). */
tn_status tn_space_has_bounds(const tn_space *space, bool *has, tn_error *error);

/* Evaluates the design of an outer and an inner combination. *evaluation is filled but for TN_CAUSE_UNDEFINED,
 * TN_CAUSE_OVERFLOW and TN_CAUSE_LIMIT. Cheap where `outer` is that of the call before. What `tenfold cost` would refuse
 * of the design's keys is TN_CAUSE_UNDEFINED; a row that the error table lacks is an error. */
tn_status tn_evaluate(tn_evaluator *evaluator, uint64_t outer, uint64_t inner, tn_evaluation *evaluation,
                      uint32_t *cause, tn_error *error);

/* The same of the design that has value digit[i] of choice i of the space. */
tn_status tn_evaluate_digits(tn_evaluator *evaluator, const uint32_t *digit, tn_evaluation *evaluation,
                             uint32_t *cause, tn_error *error);

/* The step alone: *cause is TN_CAUSE_NONE, UNDEFINED, OVERFLOW or LIMIT. After TN_CAUSE_NONE
 * tn_evaluator_workload is what prices it; tn_evaluator_take_build makes tn_evaluator_build that of an inner
 * combination. */
tn_status tn_evaluator_load(tn_evaluator *evaluator, const uint32_t *digit, uint32_t *cause, tn_error *error);
tn_workload *tn_evaluator_workload(tn_evaluator *evaluator);
void tn_evaluator_take_build(tn_evaluator *evaluator, uint64_t inner);
/* The same from what the design costs at least whatever its layouts (price/bound.h), without a search for them:
 * what is rejected here is rejected by tn_evaluate, and no objective is better there. *exact: it is what tn_evaluate says,
 * as in spaces of few designs (space->laid_most), and of builds without bounds. The close bound is the better one, and some hundred times slower. */
tn_status tn_evaluate_bound(tn_evaluator *evaluator, uint64_t outer, uint64_t inner,
                            tn_evaluation *evaluation, uint32_t *cause, bool *exact, tn_error *error);
tn_status tn_evaluate_close_bound(tn_evaluator *evaluator, uint64_t outer, uint64_t inner,
                                  tn_evaluation *evaluation, uint32_t *cause, bool *exact, tn_error *error);

/* The same of all designs of the step that stands whose builds are of the set (price/bound.h): what refuses it refuses all of them.
 * Its axes are the inner choices, `inner` the combination of its first build. *has: there is a bound; else nothing is said.
 * enough_cycles: of tn_price_set_bound. */
tn_status tn_evaluate_set(tn_evaluator *evaluator, const tn_build_set *set, uint64_t inner,
                          tn_closeness closeness, uint64_t enough_cycles, tn_evaluation *evaluation,
                          uint32_t *cause, bool *has, tn_error *error);
/* The closest of these without memories; and the same with those of a place of the list, whose combination is `inner`. */
tn_status tn_evaluate_set_work(tn_evaluator *evaluator, const tn_build_set *set, uint64_t inner,
                               tn_evaluation *evaluation, uint32_t *cause, bool *has, tn_error *error);
void tn_evaluate_place(const tn_evaluator *evaluator, uint64_t inner, const tn_evaluation *work,
                       const tn_place_list *places, size_t place, tn_evaluation *evaluation, uint32_t *cause);
/* What refuses every design that takes so much or more, and so many cycles a step, whatever else it costs: a cap or a constraint;
 * TN_CAUSE_NONE: nothing. */
uint32_t tn_evaluator_refuses(const tn_evaluator *evaluator, const tn_resources *least, uint64_t cycles);
/* What refuses every design of the step that stands whose builds are of the set, as tn_evaluate_set takes it, before any of them is
 * bounded: that an objective is not known of the step, or a constraint on what builds do not change, on choices, or on time, with
 * every multiplier busy in every cycle. TN_CAUSE_NONE: nothing. */
uint32_t tn_evaluator_refuses_set(const tn_evaluator *evaluator, const tn_build_set *set, uint64_t inner);
/* Whether bounds are asked for at all: of large spaces. */
bool tn_evaluator_is_bounded(const tn_evaluator *evaluator);

/* The design that was evaluated last, on another device: step and layouts are the same. */
tn_status tn_evaluate_on(tn_evaluator *evaluator, const tn_device *device, tn_evaluation *evaluation,
                         uint32_t *cause, tn_error *error);

/* Evaluates design `id`, feasible or not. One that does not exist or has no price (undefined, overflow, limit) is
 * TN_INPUT. */
tn_status tn_evaluate_design(tn_evaluator *evaluator, uint64_t id, tn_evaluation *evaluation,
                             tn_error *error);

/* Degrees of freedom of the step's weights that the choices vary (space/quantity.h). */
tn_status tn_varied_degrees_of_freedom(const tn_space *space, const tn_step *step,
                                       uint64_t *degrees_of_freedom, tn_error *error);

/* Evaluates design `id` and says where its numbers come from. *explanation lives in `arena` and the
 * evaluator. A design without a price (undefined, overflow, limit) is TN_INPUT. */
tn_status tn_evaluate_explain(tn_evaluator *evaluator, uint64_t id, tn_arena *arena,
                              tn_explanation *explanation, tn_error *error);

/* Whether the design that was evaluated last breaks that constraint of its space: by its price, or for sure by a bound. */
bool tn_evaluator_breaks(const tn_evaluator *evaluator, size_t constraint, bool exact,
                         const tn_evaluation *evaluation);

/* Evaluates a point's design: *same = it is feasible and has exactly the point's objectives. */
tn_status tn_evaluator_confirm(tn_evaluator *evaluator, const tn_point *point, tn_evaluation *evaluation,
                               bool *same, tn_error *error);

/* After tn_evaluate with TN_CAUSE_UNDEFINED: the flow; of keys that can't be combined why, as `tenfold cost` says it. */
const tn_undefined_flow *tn_evaluator_undefined(const tn_evaluator *evaluator);
const tn_error *tn_evaluator_why(const tn_evaluator *evaluator);

/* After a design with a price: the model with the design's choices (its weights as evaluated) and the design's build.
 */
tn_model *tn_evaluator_model(tn_evaluator *evaluator);
/* The same as a design that may be changed (design/design.h): its model's tree has all the choices. Lives in `arena` and the
 * space. */
tn_status tn_evaluator_design(const tn_evaluator *evaluator, tn_arena *arena, tn_design *design,
                              tn_error *error);
const tn_build *tn_evaluator_build(const tn_evaluator *evaluator);
const tn_step *tn_evaluator_step(const tn_evaluator *evaluator);

TN_PUBLIC_END

#endif
