/* The state of an evaluator, and the step of an outer combination: what every design with the same model keys and weights
 * shares. Inside the room; search/evaluator.h is what others ask. */
#ifndef TN_SEARCH_OUTER_STEP_H
#define TN_SEARCH_OUTER_STEP_H

#include "memory/laid.h"
#include "search/evaluator.h"

/* What the layers do with a weight that is kept in cores, and the rank that was asked for. */
typedef struct {
    bool multiplied, looked_up;
    uint64_t rank;
    uint64_t layers; /* that use it */
    double
        share; /* of what an error table says of the weight that a layer's own one is a copy of: each of that
                        one's layers has as much; 1 for others */
} tn_layer_use;

/* A model with the model keys among the choices, and what of it no design changes. */
typedef struct {
    bool filled;
    uint64_t keys; /* digits of the variant and the model keys that it was loaded with */
    tn_arena arena;
    tn_model *model;
    tn_build base_build;
    tn_layer_use *use;      /* [weights] */
    tn_model_weight *given; /* [weights]: as the model file has them, before choices */
} tn_loaded_model;

/* Designs that differ in settled keys of the model alone come one after the other, so some of these models stay. */
enum { TN_MODELS_KEPT = 12 };

struct tn_evaluator {
    const tn_space *space; /* the variant of the step that stands, */
    const tn_space *whole; /* of what was asked for */
    tn_arena step_arena, laid_arena;
    tn_laid_programs laid; /* of the cache's programs */
    tn_loaded_model loaded[TN_MODELS_KEPT];
    uint32_t next_loaded; /* slots are taken in turn */
    tn_model *model;      /* of the slot that stands, with its: */
    tn_build base_build, build;
    tn_layer_use *use;
    tn_model_weight *given;
    tn_program_cache *cache;
    uint64_t cached_outers;

    uint64_t outer;             /* the combination that stands, */
    uint64_t inner;             /* that was evaluated last */
    bool has_outer;             /* if there is one */
    size_t digit[TN_AXES_MOST]; /* of the outer choices of the step that stands, */
    bool has_digits;            /* if there is one */
    tn_cause outer_cause;       /* TN_CAUSE_NONE, UNDEFINED, OVERFLOW or LIMIT */
    tn_undefined_flow undefined;
    tn_error why; /* where keys can't be combined */
    tn_step step;
    tn_workload *workload;
    double error;
    tn_accuracy_estimate accuracy;
    tn_accuracy_basis accuracy_basis;
    bool has_perplexity; /* it is one, by the space's table */
    uint64_t degrees_of_freedom;
    bool is_bounded; /* a large space whose objectives all are, where prices are */
};

/* Digits of an outer combination, in the order of the outer choices; and those of model keys and variants among them as a
 * number. */
void tn_outer_digits(const tn_space *space, uint64_t outer, size_t *digit);
uint64_t tn_outer_keys(const tn_space *space, const size_t *digit);

/* Makes the step of an outer combination, from its number or from its digits in the order of the outer choices.
 * outer_cause says whether it has a price. */
tn_status tn_evaluator_load_outer(tn_evaluator *evaluator, uint64_t outer, tn_error *error);
tn_status tn_evaluator_load_digits(tn_evaluator *evaluator, const size_t *digit, tn_error *error);

/* The first constraint that leaves less than the budget of some resource; TN_CAUSE_NONE: none does. */
uint32_t tn_evaluator_narrowing(const tn_evaluator *evaluator);

/* Turns a failure whose error is evaluator->why into a cause: a count that leaves 64 bits, a limit of this program, keys that can't
 * be combined. Others (memory, interruptions) stay failures. */
tn_status tn_evaluator_as_cause(tn_evaluator *evaluator, tn_status status, tn_cause *cause, tn_error *error);

#endif
