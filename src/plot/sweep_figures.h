/* The figures of a sweep's folder, drawn into FOLDER/figures:
 *   front       latency against on-chip memory, coloured by rank, with the budget and the recommended design
 *   macs        MACs of a training step by flow, for every distinct weight of the recommended design
 *   resources   what the recommended design takes of each resource
 *   execution   predicted against executed time, where FOLDER/validation.csv is there (`tenfold validate
 * FOLDER`)
 */
#ifndef TN_PLOT_SWEEP_FIGURES_H
#define TN_PLOT_SWEEP_FIGURES_H

#include "base/arena.h"
#include "base/error.h"
#include "base/public.h"
#include "explore/result.h"
#include "plot/gnuplot.h"

#include <stddef.h>

TN_PUBLIC_BEGIN

enum { TN_SWEEP_FIGURES = 4 };

/* Draws what can be drawn; path[0..*count-1] are the pictures' paths, in `arena`. An empty front is TN_INPUT.
 */
tn_status tn_sweep_figures(const tn_result *result, tn_figure_format format, tn_arena *arena,
                           const char *path[TN_SWEEP_FIGURES], size_t *count, tn_error *error);

TN_PUBLIC_END

#endif
