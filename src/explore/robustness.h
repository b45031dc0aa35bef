/* How firmly a knee stands: whether the design stays the knee (explore/knee.h) of the same designs when the question
 * is put a little differently.
 *
 * Changes are small ones, that leave the question what it is: a further objective, one that measures the same
 * by another unit, the unverified figures of operators and control at half and at twice, those of energy at
 * their least and most with energy as a further objective. Leaving an objective out is a different question;
 * it says where each objective pulls, and is told apart.
 *
 * The designs are those of the front: a design that only the changed question would bring into a front is not
 * found. Designs that the changed figures make too large for the device drop out.
 */
#ifndef TN_EXPLORE_ROBUSTNESS_H
#define TN_EXPLORE_ROBUSTNESS_H

#include "base/arena.h"
#include "explore/space.h"

#include <stdbool.h>

enum { TN_PERTURBATIONS_MOST = 8 };

typedef struct tn_perturbation {
    const char *change; /* "dynamic_joules_per_step as a further objective" */
    uint64_t design;    /* the knee then */
    bool kept;          /* it is the same */
} tn_perturbation;

typedef struct tn_robustness {
    size_t changes, kept; /* fewer than 8 changes only where a space has no room for further objectives */
    tn_perturbation change[TN_PERTURBATIONS_MOST];
    size_t objectives; /* of a space of several: each left out in turn */
    tn_perturbation without[TN_OBJECTIVES_MOST];
} tn_robustness;

/* Of the front's designs `id`, of which `knee` is one; evaluates each of them five times. Texts live in
 * `arena`. */
tn_status tn_robustness_of(const tn_space *space, const uint64_t *id, size_t count, uint64_t knee,
                           tn_arena *arena, tn_robustness *robustness, tn_error *error);

#endif
