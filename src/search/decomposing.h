/* What a decomposition knows while it works (search/decomposition.h). Inside the room. */
#ifndef TN_SEARCH_DECOMPOSING_H
#define TN_SEARCH_DECOMPOSING_H

#include "search/build_front.h"
#include "search/decomposition.h"

/* What is known of the design behind a bound. */
typedef struct tn_known_design {
    bool evaluated;
    bool
        is_far; /* its bound has nothing of an objective of which it takes something: no factor is between them */
    uint32_t cause;
    tn_evaluation evaluation;
} tn_known_design;

/* A combination of model keys and a build. */
typedef struct tn_build_task {
    size_t keys, build; /* place of the table, and in it */
    uint64_t inner;
    bool skipped;
    bool is_finest;       /* there was no time or no room for a finer front */
    tn_build_front front; /* of bounds; or, */
    bool listed; /* where its designs are few and some do not fit, all of them: no bounds but their prices */
    tn_known_design *design; /* [front.count] */
    tn_status status;
    tn_error error;
} tn_build_task;

typedef struct tn_decomposing {
    const tn_space *space;
    const tn_decompose_options *options;
    tn_arena arena;
    tn_units units;
    uint64_t keys;                           /* combinations of model keys */
    size_t key_axes, key_axis[TN_AXES_MOST]; /* choices that are model keys: their places */
    uint32_t (*key_digit)[TN_AXES_MOST];     /* [keys]: digits of all choices, those of other choices 0 */
    tn_layer_table *table;                   /* [keys] */
    const char *stage;                       /* of making it, */
    double share;                            /* and how much of that is done */
    double table_deadline;                   /* tn_clock_seconds */
    size_t tasks;
    tn_build_task *task; /* [keys * builds] */
    bool bounded;        /* tables hold bounds of prices, which do not split */
    tn_front_options front;
    double width; /* of boxes over all builds */
    const char *refused;
    /* Points of all builds that are left: objectives, left = task, right = point. */
    tn_sums chosen;
    uint64_t evaluated, cause[TN_CAUSES]; /* designs, in all, and of them those that end so */
    uint64_t misfits, listed; /* of this pass: those that turned out not to fit; of builds that are listed */
    bool hides;               /* nothing fits of what was evaluated, but others may */
} tn_decomposing;

/* The error of the first task that failed. */
tn_status tn_decomposing_status(const tn_decomposing *state, tn_error *error);

/* digit[choices] of the design behind a point of the task's front. */
void tn_decomposing_digits(const tn_decomposing *state, const tn_build_task *job, size_t point,
                           uint32_t *digit);

/* As tn_evaluate_digits, and no interruption is heard meanwhile: a search of flows that is cut short makes another design. */
tn_status tn_decomposing_price(tn_evaluator *evaluator, const uint32_t *digit, tn_evaluation *evaluation,
                               uint32_t *cause, tn_error *error);

/* What the costs of a point of a front say of quantities; the rest stays 0. */
tn_evaluation tn_decomposing_bound(const tn_decomposing *state, const tn_build_task *job, size_t point);

/* Whether the bound alone shows that no design behind it holds the constraints. */
bool tn_decomposing_breaks(const tn_space *space, const tn_evaluation *bound);

/* The front of a space whose prices split: search/summed_front.c. */
tn_status tn_summed_front(tn_decomposing *state, tn_decomposed *found, tn_error *error);
/* That of one whose prices do not: search/bounded_front.c. */
tn_status tn_bounded_front(tn_decomposing *state, tn_decomposed *found, tn_error *error);

#endif
