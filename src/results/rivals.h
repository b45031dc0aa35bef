/* Designs whose prices are known, against which others are held draw by draw: in a draw a rival dominates a design that is nowhere
 * cheaper and learns no more in it. What is said of a design by a bound of its costs holds for its costs, too.
 */
#ifndef TN_RESULTS_RIVALS_H
#define TN_RESULTS_RIVALS_H

#include "base/error.h"
#include "base/memory.h"
#include "results/learned.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tn_learned_rival {
    uint64_t id;
    size_t combination;
    double cost[TN_OBJECTIVES_MOST]; /* objectives to minimise; accuracy's is 0 */
} tn_learned_rival;

/* Costs of a point without its accuracy. */
void tn_rival_costs(const tn_point *point, size_t objectives, size_t accuracy, double *cost);

/* Whether a is nowhere dearer than b. */
static inline bool tn_no_dearer(const double *a, const double *b, size_t objectives) {
    for (size_t k = 0; k < objectives; k++)
        if (a[k] > b[k]) return false;
    return true;
}

/* Of each combination those that none of its like dominates. */
typedef struct tn_rivals {
    const tn_learned *learned;
    size_t objectives;
    size_t lists;
    struct tn_rival_list *list;    /* [lists]: a combination each, the most accurate first */
    const tn_learned_rival *rival; /* of all lists */
} tn_rivals;

/* In the arena. */
tn_status tn_rivals_make(const tn_learned *learned, const tn_learned_rival *rival, size_t count,
                         size_t objectives, tn_arena *arena, tn_rivals *rivals, tn_error *error);

/* What rivals are to designs of one combination, found as it is asked for. One thread's. */
typedef struct tn_rival_view {
    const tn_rivals *rivals;
    bool ties; /* rivals that learn just as much dominate, too */
    size_t combination, capacity;
    struct tn_rival_lead *lead; /* [rivals->lists] */
} tn_rival_view;

/* A view of other rivals, which has none of them yet; begin with zeros. */
tn_status tn_rival_view_take(tn_rival_view *view, const tn_rivals *rivals, bool ties, tn_error *error);
void tn_rival_view_free(tn_rival_view *view);

/* Leaves of the set the draws in which no rival dominates a design of that combination, id and costs: none, where one of its
 * like is nowhere dearer, and somewhere cheaper or of a lower id. */
void tn_rivals_narrow(tn_rival_view *view, size_t combination, uint64_t id, const double *cost,
                      tn_draw_set *draws);

/* The same of any id; true where nothing is left, or a rival that is nowhere dearer is of the same combination, or dominates the
 * design in more than so many draws. */
bool tn_rivals_refuse(tn_rival_view *view, size_t combination, const double *cost, double most,
                      tn_draw_set *draws);

#endif
