/* What the figures of a device may be, and devices with their unverified figures at one end of that.
 *
 * Figures of energy say their own least and most. Any other unverified figure may be wrong by a factor of 2 either
 * way: half to twice. Prices grow with every one of these figures, so the two extreme devices bound what the
 * figures leave open of a design's price.
 */
#ifndef TN_HARDWARE_FIGURE_RANGE_H
#define TN_HARDWARE_FIGURE_RANGE_H

#include "hardware/device_data.h"

#include <stdbool.h>

/* What a figure may be: from its own least to its most, the figure itself included; without them, half to
 * twice an unverified one, and a verified one is what it is. */
void tn_figure_range(const tn_sourced *figure, double *least, double *most);

/* The device with every figure of energy at its least, or at its most. The external memory is copied into
 * *external, where there is one, and *device must outlive both. */
tn_device tn_energy_extreme(const tn_device *device, bool most, tn_external_memory *external);

/* The device with stages, LUTs and flip-flops of its unverified operators, and what control takes, at half or at
 * twice. Lives in `arena`. */
tn_status tn_operators_extreme(const tn_device *device, bool most, tn_arena *arena, tn_device **extreme,
                               tn_error *error);

#endif
