/* tenfold ranks --table: allocation among candidates that the user has. */
#include "base/file.h"
#include "cli/ranks.h"
#include "cli/ranks_solution.h"
#include "text/csv.h"

#include <math.h>
#include <stdio.h>

tn_status tn_ranks_table(const tn_ranks_asked *asked, int *answer, tn_error *error) {
    tn_arena arena = {0};
    tn_rank_problem problem;
    tn_rank_goal goal;
    tn_rank_solution solution;
    tn_status status = tn_rank_problem_load(asked->table, &arena, &problem, error);
    if (status == TN_OK) status = tn_ranks_goal(asked, &problem, asked->max_error, &goal, error);
    if (status == TN_OK) status = tn_rank_solve(&problem, &goal, &arena, &solution, error);
    if (status == TN_OK && asked->output)
        status = tn_ranks_write_solution(asked->output, &problem, &goal, &solution, error);
    if (status == TN_OK)
        status = tn_ranks_print_solution(asked->common.json, &problem, &goal, &solution, error);
    if (status == TN_OK) *answer = solution.best.met ? 0 : 1;
    tn_arena_free(&arena);
    return status;
}
