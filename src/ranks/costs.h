/* What candidates cost in their model: parameters, bytes, MACs of a training step and, with a device, cycles,
 * BRAM18 and URAM, as `tenfold cost` counts them.
 *
 * Parameters, bytes and MACs are those of the layer. Cycles and blocks belong to the whole design: a
 * candidate's are what the design takes more than with the layer's cheapest candidate, all other layers at
 * the first one of theirs. They need not add up exactly (blocks are shared, work overlaps), so a choice is to
 * be priced as a whole afterwards: tn_rank_costs_total.
 */
#ifndef TN_RANKS_COSTS_H
#define TN_RANKS_COSTS_H

#include "base/error.h"
#include "base/memory.h"
#include "base/public.h"
#include "device/device.h"
#include "knapsack/knapsack.h"
#include "model/model.h"
#include "ranks/layer_options.h"

#include <stdbool.h>
#include <stddef.h>

TN_PUBLIC_BEGIN

typedef enum tn_rank_cost {
    TN_RANK_PARAMETERS,
    TN_RANK_BYTES,
    TN_RANK_MACS,
    TN_RANK_CYCLES, /* from here on with a device */
    TN_RANK_BRAM18,
    TN_RANK_URAM,
    TN_RANK_COSTS
} tn_rank_cost;
extern const char *const tn_rank_cost_names[]; /* "parameters", "bytes", "macs", "cycles", "bram18", "uram" */

typedef struct tn_rank_costs tn_rank_costs;

/* `own` is a model with a weight for each layer (ranks/own_weights.h); it is changed while costs are found, and
 * must outlive *costs. `shared` is the model it was made of. device NULL: only the first three costs. */
tn_status tn_rank_costs_new(const tn_model *shared, tn_model *own, const tn_device *device,
                            tn_rank_costs **costs, tn_error *error);
void tn_rank_costs_free(tn_rank_costs *costs);

size_t tn_rank_costs_count(const tn_rank_costs *costs);

/* cost[candidate * count + k] of every candidate of every layer, layer after layer; fixed[k] of all the rest.
 * base[layer]: the other layers' candidates; NULL: the first of each. A candidate whose folding has no such
 * flow, or that the device can't hold in 64 bits, becomes unusable. */
tn_status tn_rank_costs_find(tn_rank_costs *costs, tn_layer_options *candidates, size_t layers,
                             const tn_layer_option *const *base, double *cost, double *fixed,
                             tn_error *error);

/* total[k] of the whole design with choice[layer], a candidate of each layer. The weights of `own` are left
 * so. */
tn_status tn_rank_costs_total(tn_rank_costs *costs, const tn_layer_options *candidates, size_t layers,
                              const tn_layer_option *const *choice, double *total, tn_error *error);

/* What the design that was priced last takes of every resource; with a device. */
tn_resources tn_rank_costs_used(const tn_rank_costs *costs);

TN_PUBLIC_END

#endif
