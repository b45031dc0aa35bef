/* Figures of a choice of ranks, drawn as PNG into FOLDER/figures, the scripts and numbers beside them:
 *   errors      error against parameters, a line for each layer and folding, with the choice
 *   formats     error against parameters, a line for each format, all layers together at one cap of ranks; its numbers
 *               are FOLDER/formats.csv, too
 *   spectra     singular values of every bond of the chosen foldings
 *   front       least error at every amount of a cost, its lower bound, and what the methods reach
 *   allocation  the cost of every layer as bars, by method
 */
#ifndef TN_RANKS_RANK_FIGURES_H
#define TN_RANKS_RANK_FIGURES_H

#include "base/error.h"
#include "knapsack/tradeoff.h"
#include "plot/gnuplot.h"
#include "ranks/problem.h"
#include "ranks/rank_plan.h"

#include <stddef.h>

tn_status tn_front_figure(const char *folder, const tn_rank_problem *problem, size_t cost,
                          const tn_tradeoff *front, const tn_rank_solution *solution, tn_error *error);
tn_status tn_allocation_figure(const char *folder, const tn_rank_problem *problem, size_t cost,
                               const tn_rank_solution *solution, tn_error *error);
/* `solution` where something fits; else NULL. */
tn_status tn_errors_figure(const char *folder, const tn_rank_plan *plan, const tn_rank_solution *solution,
                           tn_error *error);

/* Over the layers that every format of the candidates has; tables have no plain low rank. */
tn_status tn_formats_figure(const char *folder, const tn_rank_plan *plan, tn_error *error);

/* From FOLDER/singular_values.csv, columns bond, index, sigma and, for several, layer. */
tn_status tn_spectra_figure(const char *folder, tn_error *error);

#endif
