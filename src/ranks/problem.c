#include "ranks/problem.h"

#include "base/memory.h"
#include "base/name_index.h"
#include "knapsack/knapsack.h"
#include "text/csv.h"

#include <math.h>
#include <string.h>

/* --- a problem from a file --- */

typedef struct {
    const tn_csv *csv;
    tn_arena *arena;
    tn_rank_problem *problem;
    tn_error *error;
    size_t layer, cap, squares; /* columns */
    size_t cost[TN_COSTS_MOST]; /* columns */
    size_t label;               /* column, or csv->columns */
} loader;

static bool is_label(const char *name) {
    return strcmp(name, "ranks") == 0 || strcmp(name, "folding") == 0 || strcmp(name, "format") == 0;
}

static tn_status find_columns(loader *l) {
    static const char *const needed[] = {"layer", "cap", "sqerr"};
    size_t column[3];
    tn_rank_problem *p = l->problem;
    TN_TRY(tn_csv_columns(l->csv, needed, 3, false, column, l->error));
    l->layer = column[0];
    l->cap = column[1];
    l->squares = column[2];
    l->label = tn_csv_column(l->csv, "ranks");
    TN_TRY(TN_NEW(l->arena, l->csv->columns, &p->cost_name, l->error));
    for (size_t i = 0; i < l->csv->columns; i++) {
        if (i == l->layer || i == l->cap || i == l->squares || is_label(l->csv->head[i].text)) continue;
        if (p->costs == TN_COSTS_MOST)
            return tn_fail_at(l->error, TN_LIMIT, l->csv->head[i].position,
                              "more than %d costs; use fewer columns", TN_COSTS_MOST);
        l->cost[p->costs] = i;
        p->cost_name[p->costs++] = l->csv->head[i].text;
    }
    if (p->costs == 0)
        return tn_fail_at(l->error, TN_INPUT, l->csv->head[0].position,
                          "no column is a cost; add one, such as \"params\", beside layer, cap and sqerr");
    return TN_OK;
}

static tn_status load_row(loader *l, size_t row) {
    tn_rank_problem *p = l->problem;
    TN_TRY(tn_csv_count(l->csv, row, l->cap, 1, UINT64_MAX - 1, &p->cap[row], l->error));
    TN_TRY(tn_csv_real(l->csv, row, l->squares, 0, INFINITY, &p->error[row], l->error));
    p->group[row] = p->cap[row];
    p->label[row] = l->label < l->csv->columns ? tn_csv_at(l->csv, row, l->label)->text : NULL;
    for (size_t k = 0; k < p->costs; k++)
        TN_TRY(tn_csv_real(l->csv, row, l->cost[k], 0, INFINITY, &p->cost[row * p->costs + k], l->error));
    return TN_OK;
}

/* A row of a new layer opens it; one of a layer that was closed is refused. */
static tn_status note_layer(loader *l, size_t row) {
    tn_rank_problem *p = l->problem;
    const tn_csv_cell *name = tn_csv_at(l->csv, row, l->layer);
    if (p->layers > 0 && strcmp(name->text, p->layer[p->layers - 1]) == 0) return TN_OK;
    for (size_t i = 0; i < p->layers; i++)
        if (strcmp(name->text, p->layer[i]) == 0)
            return tn_fail_at(l->error, TN_INPUT, name->position,
                              "layer \"%.100s\" comes again after another one; keep its rows together",
                              name->text);
    p->layer[p->layers] = name->text;
    p->first[p->layers++] = row;
    return TN_OK;
}

tn_status tn_rank_problem_load(const char *path, tn_arena *arena, tn_rank_problem *problem, tn_error *error) {
    tn_csv csv;
    *problem = (tn_rank_problem){.error_name = "sqerr"};
    TN_TRY(tn_csv_load(path, arena, &csv, error));
    loader l = {.csv = &csv, .arena = arena, .problem = problem, .error = error};
    TN_TRY(find_columns(&l));
    if (csv.rows == 0)
        return tn_fail_at(error, TN_INPUT, csv.head[0].position,
                          "no candidates; add a row for each layer and rank");
    TN_TRY(TN_NEW(arena, csv.rows, &problem->layer, error));
    TN_TRY(TN_NEW(arena, csv.rows + 1, &problem->first, error));
    TN_TRY(TN_NEW(arena, csv.rows, &problem->error, error));
    TN_TRY(TN_NEW(arena, csv.rows, &problem->cap, error));
    TN_TRY(TN_NEW(arena, csv.rows, &problem->group, error));
    TN_TRY(TN_NEW(arena, csv.rows, &problem->label, error));
    TN_TRY(TN_NEW(arena, csv.rows * problem->costs, &problem->cost, error));
    for (size_t row = 0; row < csv.rows; row++) {
        TN_TRY(note_layer(&l, row));
        TN_TRY(load_row(&l, row));
    }
    problem->first[problem->layers] = csv.rows;
    return TN_OK;
}

/* --- solving --- */

/* "params" stands for parameters. */
static bool same_cost(const char *a, const char *b) {
    if (strcmp(a, b) == 0) return true;
    bool first = strcmp(a, "params") == 0 || strcmp(a, "parameters") == 0;
    return first && (strcmp(b, "params") == 0 || strcmp(b, "parameters") == 0);
}

tn_status tn_rank_cost_find(const tn_rank_problem *problem, const char *name, size_t *cost, tn_error *error) {
    for (*cost = 0; *cost < problem->costs; (*cost)++)
        if (same_cost(name, problem->cost_name[*cost])) return TN_OK;
    const char *known[TN_COSTS_MOST + 1] = {"params"};
    memcpy(&known[1], problem->cost_name, problem->costs * sizeof *known);
    const char *near = tn_suggest(name, known, problem->costs + 1);
    char list[400];
    return tn_fail(error, TN_INPUT, "no cost is called \"%.100s\"; %s%.100s%sthere are %s", name,
                   near ? "did you mean " : "", near ? near : "", near ? "? " : "",
                   tn_name_list(problem->cost_name, problem->costs, list, sizeof list));
}

/* The choices as knapsack/knapsack.h wants them: only the costs that have a budget, and the error as one of them
 * where a cost is minimised. */
typedef struct {
    tn_knapsack choices;
    double *cost;
    double budget[TN_COSTS_MOST];
} built_problem;

static tn_status build_problem(const tn_rank_problem *p, const tn_rank_goal *goal, tn_arena *arena,
                               built_problem *q, tn_error *error) {
    size_t candidates = p->first[p->layers], costs = goal->budgets + goal->least_cost;
    double *objective = NULL;
    if (costs > TN_COSTS_MOST)
        return tn_fail(error, TN_LIMIT, "more than %d bounds at once; give fewer", TN_COSTS_MOST);
    TN_TRY(TN_NEW(arena, candidates, &objective, error));
    TN_TRY(TN_NEW(arena, candidates * costs, &q->cost, error));
    for (size_t i = 0; i < candidates; i++) {
        const double *source = p->cost + i * p->costs;
        objective[i] = goal->least_cost ? source[goal->minimised] : p->error[i];
        for (size_t k = 0; k < goal->budgets; k++) q->cost[i * costs + k] = source[goal->budget[k].cost];
        if (goal->least_cost) q->cost[i * costs + goal->budgets] = p->error[i];
    }
    for (size_t k = 0; k < goal->budgets; k++)
        q->budget[k] = goal->budget[k].most - p->fixed[goal->budget[k].cost];
    if (goal->least_cost) q->budget[goal->budgets] = goal->most_error;
    q->choices = (tn_knapsack){p->layers, costs, p->first, objective, q->cost, 0};
    return TN_OK;
}

static void settle(const tn_rank_problem *p, tn_rank_way *c) {
    if (!c->met) return;
    tn_knapsack all = {p->layers, p->costs, p->first, p->error, p->cost, 0};
    c->squared_error = tn_knapsack_objective(&all, c->choice);
    tn_knapsack_cost(&all, c->choice, c->cost);
    for (size_t k = 0; k < p->costs; k++) c->cost[k] += p->fixed[k];
}

tn_status tn_rank_solve(const tn_rank_problem *problem, const tn_rank_goal *goal, tn_arena *arena,
                        tn_rank_solution *solution, tn_error *error) {
    built_problem q = {0};
    *solution = (tn_rank_solution){.least_error = NAN};
    TN_TRY(build_problem(problem, goal, arena, &q, error));
    tn_rank_way *ways[] = {&solution->best, &solution->greedy, &solution->uniform};
    for (size_t i = 0; i < 3; i++) TN_TRY(TN_NEW(arena, problem->layers, &ways[i]->choice, error));
    tn_allocation a;
    TN_TRY(tn_allocate(&q.choices, q.budget, goal->most_states, &a, error));
    solution->best.met = a.found;
    solution->exact = a.exact;
    solution->lower_bound = a.lower_bound;
    solution->gap = a.gap;
    solution->states = a.states;
    if (a.found) memcpy(solution->best.choice, a.choice, problem->layers * sizeof *a.choice);
    tn_allocation_free(&a);
    TN_TRY(tn_allocate_greedy(&q.choices, q.budget, solution->greedy.choice, &solution->greedy.met, error));
    TN_TRY(tn_allocate_uniform(&q.choices, q.budget, problem->group, solution->uniform.choice,
                               &solution->uniform.met, error));
    for (size_t i = 0; i < 3; i++) settle(problem, ways[i]);
    return TN_OK;
}

tn_status tn_rank_least_error(const tn_rank_problem *problem, const tn_rank_goal *goal, tn_arena *arena,
                              double *least, tn_error *error) {
    tn_rank_goal unbounded = *goal;
    tn_rank_solution solution;
    unbounded.least_cost = false;
    TN_TRY(tn_rank_solve(problem, &unbounded, arena, &solution, error));
    *least = solution.best.met ? solution.best.squared_error : NAN;
    return TN_OK;
}

tn_status tn_rank_front(const tn_rank_problem *problem, size_t cost, tn_tradeoff *front, tn_error *error) {
    tn_knapsack all = {problem->layers, problem->costs, problem->first, problem->error, problem->cost, 0};
    TN_TRY(tn_tradeoff_make(&all, cost, 0, front, error));
    for (size_t i = 0; i < front->count; i++) front->point[i].cost += problem->fixed[cost];
    return TN_OK;
}

double tn_rank_least_cost(const tn_rank_problem *problem, size_t cost) {
    double sum = problem->fixed[cost];
    for (size_t l = 0; l < problem->layers; l++) {
        double least = INFINITY;
        for (size_t i = problem->first[l]; i < problem->first[l + 1]; i++)
            least = fmin(least, problem->cost[i * problem->costs + cost]);
        sum += least;
    }
    return sum;
}

double tn_rank_minimised(const tn_rank_goal *goal, const tn_rank_way *way) {
    return goal->least_cost ? way->cost[goal->minimised] : way->squared_error;
}
