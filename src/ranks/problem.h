/* Which rank for which layer: candidates with their squared errors and costs, budgets, and what comes out.
 *
 * Layers have names, candidates a rank (`cap`, the requested one) and a label, costs names. A problem comes
 * from a CSV file (tn_rank_problem_load) or from trained weights (ranks/layer_options.h). It is solved exactly
 * (knapsack/allocation.h) in one of two ways:
 *   least error     the sum of the squared errors is made least; every named budget is kept
 *   least cost      one cost is made least; the sum of the squared errors stays within `most_error`, and the
 *                   budgets are kept
 * and compared with uniform rank and greedy, which are given the same budgets.
 */
#ifndef TN_RANKS_PROBLEM_H
#define TN_RANKS_PROBLEM_H

#include "base/error.h"
#include "base/memory.h"
#include "base/public.h"
#include "knapsack/allocation.h"
#include "knapsack/knapsack.h"
#include "knapsack/tradeoff.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

TN_PUBLIC_BEGIN

typedef struct tn_rank_problem {
    size_t layers, costs;
    const char **layer;          /* [layers] */
    const char **cost_name;      /* [costs] */
    size_t *first;               /* [layers + 1] candidates of layer l are first[l] .. first[l+1]-1 */
    double *error;               /* squared, per candidate */
    double *cost;                /* [candidate * costs + k] */
    double fixed[TN_COSTS_MOST]; /* taken whatever is chosen; budgets and totals include it */
    const char *error_name;      /* of what is made least: "sqerr" */
    uint64_t *cap;               /* requested rank; 0 where it has none */
    uint64_t *group;             /* what uniform rank chooses by; UINT64_MAX: not by it */
    const char **label;          /* for people: "12x8x8 by 8x8x12, rank 12"; may be NULL */
    double squared_norm;         /* what `error` is a part of, where it is shown as a relative one; else 0 */
} tn_rank_problem;

/* Columns `layer`, `cap` and `sqerr`, then any others: `ranks`, `folding` and `format` are labels, all more
 * are costs, at least one, at most TN_COSTS_MOST. The rows of a layer stand together. Lives in `arena`. */
tn_status tn_rank_problem_load(const char *path, tn_arena *arena, tn_rank_problem *problem, tn_error *error);

typedef struct tn_rank_budget {
    size_t cost; /* position in cost_name */
    double most;
} tn_rank_budget;

typedef struct tn_rank_goal {
    size_t budgets;
    tn_rank_budget budget[TN_COSTS_MOST];
    bool least_cost;    /* minimise a cost instead of the error */
    size_t minimised;   /* which */
    double most_error;  /* sum of `error`; with least_cost */
    size_t most_states; /* of knapsack/allocation.h; 0: its default */
} tn_rank_goal;

/* One way to choose; choice counts within each layer. */
typedef struct tn_rank_way {
    bool met; /* keeps the budgets */
    size_t *choice;
    double squared_error;
    double cost[TN_COSTS_MOST]; /* of every cost of the problem */
} tn_rank_way;

typedef struct tn_rank_solution {
    tn_rank_way best, greedy, uniform;
    bool exact;
    double lower_bound, gap; /* of what was minimised; see knapsack/allocation.h */
    uint64_t states;
    double least_error; /* sum of `error`, where the allowed one can't be reached: the least that was found to
                           keep the budgets; NaN: not sought, or nothing keeps them */
} tn_rank_solution;

/* The position of a cost by name ("parameters" and "params" are the same), or an error that lists or
 * suggests. */
tn_status tn_rank_cost_find(const tn_rank_problem *problem, const char *name, size_t *cost, tn_error *error);

/* What the goal makes least: the way's cost of that name, or its squared error. */
double tn_rank_minimised(const tn_rank_goal *goal, const tn_rank_way *way);

/* Lives in `arena`. best.met = false and exact = true: nothing keeps the budgets. */
tn_status tn_rank_solve(const tn_rank_problem *problem, const tn_rank_goal *goal, tn_arena *arena,
                        tn_rank_solution *solution, tn_error *error);

/* *least = the least sum of `error` that keeps the goal's budgets; NaN: nothing keeps them. */
tn_status tn_rank_least_error(const tn_rank_problem *problem, const tn_rank_goal *goal, tn_arena *arena,
                              double *least, tn_error *error);

/* The whole front of squared error against one cost, without budgets. */
tn_status tn_rank_front(const tn_rank_problem *problem, size_t cost, tn_tradeoff *front, tn_error *error);

/* Least amount of a cost that any choice has: what to say where nothing fits. */
double tn_rank_least_cost(const tn_rank_problem *problem, size_t cost);

TN_PUBLIC_END

#endif
