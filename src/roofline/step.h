/* A training step on a roofline device: the sum over its kernels, one an operation of the step
 * (model/step.h).
 *
 *   as a graph     products by the graph law of the step's precision; every other operation moves its
 *                  elements once for each array that it reads or writes: launch * vector_launch of that law
 *                  + bytes / (bandwidth * cache_gain).
 *   as launched    a host that launches kernels one by one needs host_us_per_kernel for each, whatever it
 *                  computes: max(kernels * host_us_per_kernel, graph). The count of kernels is the caller's,
 *                  or that of the operations: a framework launches more than one for some (copies of
 *                  transposed operands, zeroing, the parts of a loss).
 *
 * Energy is step_power_W over the launched step.
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
    uint64_t operations; /* of the step that compute anything */
    uint64_t launches;   /* kernels that the launched time counts */
    double graph_us;     /* sum over count * us */
    double launched_us;  /* 0 where the device says no host_us_per_kernel */
    double joules;       /* of the launched step; 0 where the device says no step_power_W */
    double product_us, product_flops;
} tn_roofline_step;

/* `launches` 0: one an operation. */
tn_status tn_roofline_step_predict(const tn_roofline *roofline, const tn_step *step, uint64_t launches,
                                   tn_arena *arena, tn_roofline_step *predicted, tn_error *error);

/* Measured steps as launched: columns kernels, step_ms and, optionally, energy_mJ. *host_us = the cost of a
 * kernel whose worst ratio to the measured steps is least (the geometric middle of the extremes);
 * *worst_ratio = that ratio; *power_W = mean of energy over time, 0 without energies. */
tn_status tn_roofline_fit_host(const char *path, tn_arena *arena, double *host_us, double *worst_ratio,
                               double *power_W, tn_error *error);

#endif
