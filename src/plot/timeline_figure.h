/* The timeline of a training step as a Gantt chart: a row per kernel, a bar per operation, coloured by phase;
 * the critical path is marked. */
#ifndef TN_PLOT_TIMELINE_FIGURE_H
#define TN_PLOT_TIMELINE_FIGURE_H

#include "base/arena.h"
#include "hardware/explain.h"
#include "model/step.h"
#include "plot/gnuplot.h"

/* Draws FOLDER/timeline.FORMAT with its script and data beside it; makes the folder where it is missing.
 * *path lives in the arena. */
tn_status tn_timeline_figure(const tn_step *step, const tn_explanation *why, const char *folder,
                             tn_figure_format format, tn_figure_style style, tn_arena *arena,
                             const char **path, tn_error *error);

#endif
