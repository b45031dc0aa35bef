/* Which design of a front to build, by what its user wants.
 *
 * A goal is the least (or greatest) of one quantity. What the device has costs nothing up to its budget: of the designs of the
 * front, all of which fit, `fastest` takes the fastest however much of the device it fills. Where accuracy is known, designs
 * that learn less are no answer: `fastest`, `smallest` and `least-energy` choose among those whose accuracy is within one point
 * of the best one's, or within the interval in which the best one's mean is known, whichever is wider. Where nothing is known of
 * it, the fastest of all would be the one that learns least: then they choose among those that have the knee's values of all choices
 * that change what is learned. Equals are settled by
 * time, then memory, then the lowest id.
 */
#ifndef TN_RESULTS_GOAL_H
#define TN_RESULTS_GOAL_H

#include "results/result.h"
#include "space/condition.h"

typedef enum tn_goal {
    TN_GOAL_FASTEST,
    TN_GOAL_SMALLEST,
    TN_GOAL_LEAST_ENERGY,
    TN_GOAL_MOST_ACCURATE,
    TN_GOAL_KNEE,
    TN_GOALS
} tn_goal;
extern const char *const tn_goal_names[TN_GOALS + 1]; /* ended by NULL */

/* NULL: fastest. TN_INPUT that suggests the nearest name. */
tn_status tn_goal_find(const char *name, tn_goal *goal, tn_error *error);
/* Key of a choice that changes what is learned where nobody knows how much; NULL: none, or accuracy is known. */
const char *tn_goal_unlearned(const tn_result *result);

typedef struct tn_goal_choice {
    tn_goal goal;
    size_t index;           /* of result->front; front_count: no design fulfils the condition */
    size_t asked, accurate; /* designs that fulfil the condition; of them accurate enough, or alike */
    double floor, best;     /* of accuracy; NAN: not known */
    size_t next;            /* the next best by the goal; front_count: none */
    const bool *fulfils;    /* [front_count] the condition */
} tn_goal_choice;

/* `where`: NULL, or what a design has to fulfil. TN_INPUT where the most accurate is asked for and no accuracy is known. */
tn_status tn_goal_choose(const tn_result *result, tn_goal goal, const tn_condition *where, tn_arena *arena,
                         tn_goal_choice *choice, tn_error *error);

/* The design that is recommended where nothing is asked for. */
tn_status tn_goal_design(const tn_result *result, tn_arena *arena, uint64_t *id, tn_error *error);

/* The same choice of points of the front, in its order, whose accuracies were drawn (results/settled.h, a tn_chooser): `user` is
 * a tn_goal_question. */
typedef struct tn_goal_question {
    const tn_result *result;
    tn_goal goal;
    const bool *asked; /* by position: fulfils the condition */
} tn_goal_question;
size_t tn_goal_chooser(const tn_point *point, size_t count, size_t objectives, void *user);

#endif
