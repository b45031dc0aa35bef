/* What the kernels of every design of a space take at least, whatever its weights: where that is too much, no step has to be
 * made to know it, or no build of it has to be looked at.
 *
 * Theorem: designs of equal model keys (device and model among them) take no less of any resource than the least that one matmul
 * kernel takes over all builds and arithmetics of the step of any of them; and those of them whose steps have the same kinds of
 * vector kernels no less than that and the least that vector kernels take over all builds, of those kinds that are never fused into
 * products. Proof: which arithmetics the products of a step have follows from the model's keys, since each of its layers
 * multiplies in each format, folding, rank and flow, if perhaps other sizes, and so does what vector kernels compute with; a
 * design has a kernel for one of these arithmetics at least, and vector kernels of those kinds, one for each or one unit for all,
 * and its price is that of all kernels and more. Inside the room. */
#ifndef TN_SEARCH_KERNEL_FLOOR_H
#define TN_SEARCH_KERNEL_FLOOR_H

#include "search/outer_step.h"

enum { TN_KERNEL_FLOORS = 64 };

/* Causes are what refuses all designs; TN_CAUSE_NONE: nothing does. */
typedef struct tn_kernel_floor {
    uint64_t keys;                        /* of the model */
    bool vector_used[TN_OPERATION_KINDS]; /* of the step, before anything is fused */
    uint32_t matmul_cause;                /* of the matmul kernel alone: of all designs of the keys */
    uint32_t cause;
    tn_resources least; /* of all kernels; zeros: nothing is known of them */
} tn_kernel_floor;

/* Those that were found. */
typedef struct tn_kernel_floors {
    size_t count;
    tn_kernel_floor floor[TN_KERNEL_FLOORS];
} tn_kernel_floors;

/* The cause of the designs of an outer combination, of which no step is made yet; TN_CAUSE_NONE where nothing is known of
 * its model keys. */
uint32_t tn_kernel_floor_recall(const tn_kernel_floors *floors, const tn_evaluator *evaluator,
                                uint64_t outer);

/* Of the designs of the step that stands, which must have a price: found now where it is not known yet. NULL: there are too many. */
const tn_kernel_floor *tn_kernel_floor_find(tn_kernel_floors *floors, tn_evaluator *evaluator);

#endif
