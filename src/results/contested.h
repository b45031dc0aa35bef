/* Designs that may be on a front, each with the draws in which nothing that is known dominates it: its place there is contested
 * by every design that may be no dearer.
 */
#ifndef TN_RESULTS_CONTESTED_H
#define TN_RESULTS_CONTESTED_H

#include "results/rivals.h"

typedef struct tn_contested_design {
    tn_learned_rival design;
    tn_draw_set held; /* draws in which it is on the front */
    size_t number;    /* the caller's */
} tn_contested_design;

typedef struct tn_contested {
    const tn_learned *learned;
    size_t objectives;
    tn_contested_design *design; /* by combination, then by costs */
    size_t lists;
    struct tn_contested_list *list; /* a combination each */
} tn_contested;

/* Orders the designs, which stay the caller's. In the arena. */
tn_status tn_contested_make(const tn_learned *learned, tn_contested_design *design, size_t count,
                            size_t objectives, tn_arena *arena, tn_contested *contested, tn_error *error);
/* What is held of each list, after designs' draws have changed. */
void tn_contested_renew(tn_contested *contested);

/* What a combination is to those of the contested designs, found as it is asked for. One thread's; begin with zeros. */
typedef struct tn_contest {
    size_t combination, capacity; /* from 1; 0: none yet */
    struct tn_contest_lead *lead;
} tn_contest;
void tn_contest_free(tn_contest *contest);

/* *is = whether a design of the combination and at least these costs, on the front in none but these draws, may dominate one of the
 * contested designs in a draw that this one holds. */
tn_status tn_contests(tn_contest *contest, const tn_contested *contested, size_t combination,
                      const double *cost, const tn_draw_set *draws, bool *is, tn_error *error);

#endif
