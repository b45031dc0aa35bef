/* The roofline of a device with the products of a training step on it: for each size a point at its
 * arithmetic intensity (flops a byte) and predicted rate, as large as its share of the step's time. */
#ifndef TN_PLOT_ROOFLINE_H
#define TN_PLOT_ROOFLINE_H

#include "roofline/step.h"

/* `path` ends in .png, .svg or .pdf; the script and the numbers lie beside it. */
tn_status tn_roofline_draw(const char *path, const tn_roofline *roofline, const tn_step *step,
                           const tn_roofline_step *predicted, tn_error *error);

#endif
