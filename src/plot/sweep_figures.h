/* The figures of a sweep's folder, drawn into FOLDER/figures, those of another design than the recommended one into
 * FOLDER/figures/design-ID:
 *   front       latency against on-chip memory, DSP blocks and what the model can learn, coloured by rank, with
 *               the design, the recommended ones, published ones, and a GPU
 *   macs        MACs of a training step by flow, for every distinct weight of the design
 *   resources   what the design takes of each resource
 *   memory, energy, phases, floor, timeline   of the design (plot/design_figures.h, plot/design_figures.h)
 *   execution   predicted against executed time of the flows on this CPU, where FOLDER/validation.csv is there
 *               (`tenfold validate FOLDER`): says how far counts and memory were checked, not how fast the FPGA is
 */
#ifndef TN_PLOT_SWEEP_FIGURES_H
#define TN_PLOT_SWEEP_FIGURES_H

#include "base/buffer.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/public.h"
#include "plot/gnuplot.h"
#include "results/claims.h"
#include "results/result.h"
#include "roofline/roofline.h"

#include <stddef.h>

/* The front of a sweep as a figure (plots/front.gp): latency against on-chip memory, DSP blocks and what the model can
 * learn, the front thinned (front/knee.h), with the recommended designs, those that a publication describes, and a
 * GPU's step of each model. */

TN_PUBLIC_BEGIN

/* Appends the figure's numbers and definitions (without its heading). gpu NULL: none is marked. claims NULL, or
 * without a design of the space: the model as its file has it is marked instead. `design`: the one that is marked, by its number unless it is the advised one. *shown = designs that the thinned
 * front has; epsilon 0 leaves out only what another equals. */
tn_status tn_sweep_front(const tn_result *result, const tn_roofline *gpu, const tn_claims *claims,
                         double epsilon, const tn_result_row *design, bool advised, tn_arena *arena,
                         tn_buffer *data, tn_buffer *definition, size_t *shown, tn_error *error);

enum { TN_SWEEP_FIGURES = 8 };

typedef struct tn_sweep_figure_options {
    tn_figure_format format;
    tn_figure_style style;
    double epsilon;          /* by which the drawn front is thinned (front/knee.h); 0: not */
    const tn_roofline *gpu;  /* marked in the front; NULL: none */
    const tn_claims *claims; /* whose designs are marked in the front; NULL: none */
    const uint64_t *design;  /* the one that the figures show; NULL: the recommended one */
} tn_sweep_figure_options;

/* Draws what can be drawn; path[0..*count-1] are the pictures' paths, in `arena`. An empty front is TN_INPUT.
 */
tn_status tn_sweep_figures(const tn_result *result, const tn_sweep_figure_options *options, tn_arena *arena,
                           const char *path[TN_SWEEP_FIGURES], size_t *count, tn_error *error);

TN_PUBLIC_END

#endif
