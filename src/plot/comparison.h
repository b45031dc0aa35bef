/* What systems take of time and energy for an epoch (results/comparison.h), and how a claimed ratio of energies hangs on host and
 * power at rest (results/verdict.h), as figures. */
#ifndef TN_PLOT_COMPARISON_H
#define TN_PLOT_COMPARISON_H

#include "results/verdict.h"

/* Draws `path` (.png, .svg, .pdf) of the rows, each with its ranges, and, where there are ratios, the same name with "-claim"
 * before its ending. */
tn_status tn_comparison_draw(const char *path, const tn_comparison_row *row, size_t rows,
                             const tn_energy_ratio *ratio, size_t ratios, tn_error *error);

#endif
