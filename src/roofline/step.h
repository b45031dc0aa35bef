/* A training step on a roofline device: the sum over its kernels, one an operation of the step
 * (model/step.h).
 *
 *   as a graph     products by the graph law of the step's precision; every other operation moves its
 *                  elements once for each array that it reads or writes: launch * vector_launch of that law
 *                  + bytes / (bandwidth * cache_gain).
 *   as launched    a host that launches kernels one by one needs its time for each, whatever it computes, so
 *                  the step takes the longer of the two: max(host, graph). Estimated from the operations,
 *                      host    = plain * host_us_per_operation + contractions * host_us_per_contraction
 *                      kernels = plain * kernels_per_operation + contractions * kernels_per_contraction
 *                  where contractions are the products of layers whose weight is in a tensor format and plain
 *                  operations are all others. A contraction costs more: the framework permutes, reshapes and
 *                  copies operands around each product, forward and in its derivatives. Where the count of
 *                  kernels is given, or the device knows no time of an operation, the host needs
 *                  host_us_per_kernel for each (by default one an operation).
 *
 * Energy is power over time. A graph draws what lies between step_power_W, that of a board that mostly waits, and
 * load_power_W, in the share of the peak or of the bandwidth, whichever is greater, that its kernels reach; at least what
 * waiting draws, at most load_power_W. A launched step draws step_power_W, and takes no less energy than
 * its kernels do as a graph. Both come with what the device's ranges leave open.
 */
#ifndef TN_ROOFLINE_STEP_H
#define TN_ROOFLINE_STEP_H

#include "model/step.h"
#include "roofline/roofline.h"

/* Kernels of one kind and, for products, one size. */
typedef struct tn_roofline_kernel {
    tn_operation_kind kind;
    tn_roofline_product product; /* products */
    uint64_t count;
    double us;           /* of one, as a graph */
    double flops, bytes; /* of one */
} tn_roofline_kernel;

typedef struct tn_roofline_step {
    size_t kernels; /* distinct ones */
    tn_roofline_kernel *kernel;
    uint64_t operations;   /* of the step that compute anything */
    uint64_t contractions; /* of them: products of layers in tensor formats */
    uint64_t launches;     /* kernels, given or estimated */
    double graph_us;       /* sum over count * us */
    double launched_us;    /* 0 where the device knows nothing of its host */
    double joules;         /* of the launched step; 0 where the device says no step_power_W */
    double least_us, most_us, least_joules, most_joules; /* over host_factor and step_power_range_W */
    double graph_joules, graph_W;                        /* 0 where the device says no step_power_W */
    double least_graph_us, most_graph_us;                /* over graph_factor */
    double least_graph_joules, most_graph_joules;
    double product_us, product_flops;
} tn_roofline_step;

/* `launches` 0: estimated. */
tn_status tn_roofline_step_predict(const tn_roofline *roofline, const tn_step *step, uint64_t launches,
                                   tn_arena *arena, tn_roofline_step *predicted, tn_error *error);

/* Measured steps as launched: columns kernels, step_ms and, optionally, energy_mJ. *host_us = the cost of a
 * kernel whose worst ratio to the measured steps is least (the geometric middle of the extremes);
 * *worst_ratio = that ratio; *power_W = mean of energy over time, 0 without energies. */
tn_status tn_roofline_fit_host(const char *path, tn_arena *arena, double *host_us, double *worst_ratio,
                               double *power_W, tn_error *error);

#endif
