/* How firmly a knee stands: whether the design stays the knee (front/knee.h) of the same designs when the question
 * is put a little differently.
 *
 * Changes are small ones, that leave the question what it is: a further objective, one that measures the same
 * by another unit, the unverified figures of operators and control at half and at twice, those of energy at
 * their least and most with energy as a further objective, accuracies a deviation lower and higher. Leaving an objective out is a different question;
 * it says where each objective pulls, and is told apart.
 *
 * The designs are those of the front: a design that only the changed question would bring into a front is not
 * found. Designs that the changed figures make too large for the device drop out.
 */
#ifndef TN_RESULTS_RECOMMENDATION_H
#define TN_RESULTS_RECOMMENDATION_H

#include "base/memory.h"
#include "front/archive.h"
#include "space/space.h"

#include <stdbool.h>

/* Which designs of a front to recommend besides its knee (front/knee.h): the best at each value of a choice.
 *
 * All are members of the front. "Best" is least in the first objective; ties are broken by the second, the
 * third and so on, then by the lowest id.
 */

/* The choice whose values are told apart unless the user names another: the first that sets ranks, or
 * TN_AXES_MOST where none does. */
size_t tn_default_by(const tn_space *space);
/* The choice called `key`; TN_INPUT that suggests the nearest one. */
tn_status tn_axis_find(const tn_space *space, const char *key, size_t *choice, tn_error *error);

/* Position of the best of the points that have value `digit` in `choice`; `count` where none has. */
size_t tn_best_at(const tn_space *space, size_t choice, size_t digit, const tn_point *point, size_t count);

enum { TN_PERTURBATIONS_MOST = 10 };

typedef struct tn_perturbation {
    const char *change; /* "dynamic_joules_per_step as a further objective" */
    uint64_t design;    /* the knee then */
    bool kept;          /* it is the same */
} tn_perturbation;

typedef struct tn_robustness {
    size_t changes,
        kept; /* 8, with accuracy among the objectives 10; fewer where a space has no room for further ones */
    tn_perturbation change[TN_PERTURBATIONS_MOST];
    size_t objectives; /* of a space of several: each left out in turn */
    tn_perturbation reduced[TN_OBJECTIVES_MOST];
} tn_robustness;

/* Of the front's designs `id`, of which `knee` is one; evaluates each of them five times. Texts live in
 * `arena`. */
tn_status tn_robustness_of(const tn_space *space, const uint64_t *id, size_t count, uint64_t knee,
                           tn_arena *arena, tn_robustness *robustness, tn_error *error);

#endif
