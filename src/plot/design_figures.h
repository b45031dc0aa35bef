/* Numbers and definitions of the figures of one design, without their headings:
 *   memory   what its largest memories hold, take, and how they are laid out    (plots/memory.gp)
 *   energy   energy of a step by part, with its range                           (plots/energy.gp)
 *   phases   time by layer and phase; equal layers of repeated blocks together  (plots/phases.gp)
 *   floor    from the device's floor to the step, part by part                  (plots/floor.gp)
 * Its timeline is plot/design_figures.h. */
#ifndef TN_PLOT_DESIGN_FIGURES_H
#define TN_PLOT_DESIGN_FIGURES_H

#include "base/buffer.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/public.h"
#include "design/explain.h"
#include "model/step.h"
#include "plot/gnuplot.h"

/* The timeline of a training step as a Gantt chart: a row per kernel, a bar per operation, coloured by phase;
 * the critical path is marked. */

/* Draws FOLDER/timeline.FORMAT with its script and data beside it; makes the folder where it is missing.
 * *path lives in the arena. */
tn_status tn_timeline_figure(const tn_step *step, const tn_explanation *why, const char *folder,
                             tn_figure_format format, tn_figure_style style, tn_arena *arena,
                             const char **path, tn_error *error);

/* Layers of a repeated block together: "encoder12.query" is "encoder.query". */
typedef struct tn_phase_line {
    char name[96];
    uint32_t layers;
    double ms[TN_PHASES], all; /* that kernels are busy for it */
} tn_phase_line;
/* Those that take time, the longest first. */
tn_status tn_phase_lines(const tn_step *step, const tn_explanation *why, tn_arena *arena,
                         tn_phase_line **line, uint32_t *count, tn_error *error);
/* The memories, the largest first. */
tn_status tn_memories_by_capacity(const tn_explanation *why, tn_arena *arena, const tn_memory_line ***order,
                                  tn_error *error);

TN_PUBLIC_BEGIN

tn_status tn_memory_figure(const tn_explanation *why, tn_arena *arena, tn_buffer *data, tn_buffer *definition,
                           tn_error *error);
void tn_energy_figure(const tn_explanation *why, tn_buffer *data, tn_buffer *definition);
void tn_floor_figure(const tn_explanation *why, tn_buffer *data, tn_buffer *definition);
tn_status tn_phases_figure(const tn_step *step, const tn_explanation *why, tn_arena *arena, tn_buffer *data,
                           tn_buffer *definition, tn_error *error);

TN_PUBLIC_END

#endif
