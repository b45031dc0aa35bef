/* A sum of costs that share variables, bounded from below.
 *
 * Variable v takes one of values[v] values; term j costs what a table says of the classes that the values of up to three variables fall
 * into. The least of the sum over all choices is hard to find; a bound is the sum over terms of the least of each. It becomes
 * better by prices: let each term j that has variable v pay p_jv(x), of either sign, where v takes x, such that over the terms of v
 * they sum to nothing for every x. Then every choice costs what it did, and the sum of the least of each term with its prices is
 * a bound, too. Prices are found by turns: at a variable's turn each of its terms is made to lose as much by every value as
 * the mean of them does, which never makes the bound worse (max-sum diffusion: T. Werner, A linear programming approach to max-sum
 * problem: a review, IEEE Transactions on Pattern Analysis and Machine Intelligence 29(7), 2007). */
#ifndef TN_PRICE_SHARED_COSTS_H
#define TN_PRICE_SHARED_COSTS_H

#include "base/memory.h"

#include <stdint.h>

enum { TN_TERM_VARIABLES = 3 };

typedef struct tn_cost_term {
    uint32_t variable[TN_TERM_VARIABLES];        /* different ones; UINT32_MAX: none */
    uint32_t classes[TN_TERM_VARIABLES];         /* 1 where there is no variable */
    const uint32_t *class_of[TN_TERM_VARIABLES]; /* [values of the variable] */
    const double *cost;                          /* [classes 0][classes 1][classes 2] */
} tn_cost_term;

typedef struct tn_shared_costs {
    uint32_t variables, terms;
    const uint32_t *values; /* [variables] */
    const tn_cost_term *term;
} tn_shared_costs;

/* *bound: no choice costs less, up to rounding. Scratch lives in `arena`. */
tn_status tn_shared_costs_bound(const tn_shared_costs *costs, tn_arena *arena, double *bound,
                                tn_error *error);

#endif
