/* tenfold ranks --table: allocation among candidates that the user has. */
#include "base/file.h"
#include "cli/ranks.h"
#include "cli/ranks_solution.h"
#include "plot/rank_figures.h"
#include "ranks/files.h"

static tn_status write(const char *folder, const tn_rank_problem *problem, const tn_rank_goal *goal,
                       const tn_rank_solution *solution, tn_error *error) {
    size_t cost = goal->budgets ? goal->budget[0].cost : goal->minimised;
    tn_tradeoff front;
    TN_TRY(tn_folder_make(folder, error));
    TN_TRY(tn_rank_write_allocation(folder, problem, &solution->best, error));
    TN_TRY(tn_rank_front(problem, cost, &front, error));
    tn_status status = tn_rank_write_front(folder, problem, cost, &front, error);
    if (status == TN_OK) status = tn_front_figure(folder, problem, cost, &front, solution, error);
    tn_tradeoff_free(&front);
    if (status == TN_OK) status = tn_allocation_figure(folder, problem, cost, solution, error);
    return status;
}

tn_status tn_ranks_table(const tn_ranks_asked *asked, int *answer, tn_error *error) {
    tn_arena arena = {0};
    tn_rank_problem problem;
    tn_rank_goal goal;
    tn_rank_solution solution;
    tn_status status = tn_rank_problem_load(asked->table, &arena, &problem, error);
    if (status == TN_OK) status = tn_ranks_goal(asked, &problem, NULL, asked->max_error, &goal, error);
    if (status == TN_OK) status = tn_rank_solve(&problem, &goal, &arena, &solution, error);
    if (status == TN_OK && goal.least_cost && !solution.best.met)
        status = tn_rank_least_error(&problem, &goal, &arena, &solution.least_error, error);
    if (status == TN_OK && asked->output) status = write(asked->output, &problem, &goal, &solution, error);
    if (status == TN_OK)
        status = tn_ranks_print_solution(asked->common.json, &problem, &goal, &solution, error);
    if (status == TN_OK) *answer = solution.best.met ? 0 : 1;
    tn_arena_free(&arena);
    return status;
}
