/* How firmly measured accuracies settle which design of a front is chosen: the choice made again with accuracies drawn from
 * their model (space/accuracy_model.h), and the training that would make it surer.
 *
 * A draw takes one set of the model's parameters and one deviation for each combination of choices that accuracy depends on,
 * the same for all designs that share it. The value of a training is the share of what is open, the entropy of the choice
 * over the draws, that its result would tell on average: the draws are parted into groups by the result that they give that training,
 * noise of its seed included, and the entropy within the groups is what stays open.
 */
#ifndef TN_RESULTS_SETTLED_H
#define TN_RESULTS_SETTLED_H

#include "base/memory.h"
#include "front/archive.h"
#include "space/space.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TN_SETTLED_DRAWS = 300 };

/* Which of the points is chosen: its position. The knee, unless another question is asked. */
typedef size_t (*tn_chooser)(const tn_point *point, size_t count, size_t objectives, void *user);
size_t tn_choose_knee(const tn_point *point, size_t count, size_t objectives, void *user);

/* Place of accuracy, or of perplexity, among the objectives; their number: it is none. */
size_t tn_accuracy_objective(const tn_space *space);

/* drawn[combinations][TN_SETTLED_DRAWS]: accuracies after the protocol's passes, from value[combinations][columns]. */
tn_status tn_draw_accuracies(const tn_accuracy_table *table, const tn_accuracy_value *value,
                             size_t combinations, double *drawn, tn_arena *arena, tn_error *error);

typedef struct tn_settled {
    bool asked;           /* accuracy is an objective, and known; else all that follows is 0 */
    uint64_t draws, kept; /* kept: those in which the design is chosen again */
    uint64_t alike;       /* those in which the choice has the same values of all that accuracy depends on */
    uint64_t rival;       /* the design chosen most often besides */
    uint64_t rival_draws; /* 0: none */
    uint64_t train;       /* a design whose training tells most */
    double gain;          /* the share of what is open that it would tell; 0: none does */
    double *value;        /* [combinations]: the same of each, of the first design below */
    uint64_t *design;     /* [combinations] */
    size_t combinations;
} tn_settled;

/* Of the points, which are the front of the space with its objectives in order, `chosen` the id of one. */
tn_status tn_settled_of(const tn_space *space, const tn_point *point, size_t count, uint64_t chosen,
                        tn_chooser choose, void *user, tn_arena *arena, tn_settled *settled, tn_error *error);

#endif
