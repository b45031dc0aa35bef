/* What the kernels of every design of a space take at least, whatever its weights: where that is too much, no step has to be
 * made to know it.
 *
 * Theorem: designs of equal model keys (device and model among them) take no less of any resource than the least that one matmul
 * kernel takes over all builds and arithmetics of the step of any of them. Proof: which arithmetics the products of a step have
 * follows from the model's keys, since each of its layers multiplies in each format, folding, rank and flow, if perhaps other
 * sizes; a design has a kernel for one of these at least, and its price is that of all kernels and more. Inside the room. */
#ifndef TN_SEARCH_KERNEL_FLOOR_H
#define TN_SEARCH_KERNEL_FLOOR_H

#include "search/outer_step.h"

enum { TN_KERNEL_FLOORS = 64 };

/* Those that were found, by model keys. */
typedef struct tn_kernel_floors {
    size_t count;
    uint64_t keys[TN_KERNEL_FLOORS];
    uint32_t cause[TN_KERNEL_FLOORS]; /* the resource that refuses all designs; TN_CAUSE_NONE: none does */
} tn_kernel_floors;

/* The cause of the designs of an outer combination; TN_CAUSE_NONE where nothing is known of its model keys yet. */
uint32_t tn_kernel_floor_recall(const tn_kernel_floors *floors, const tn_evaluator *evaluator,
                                uint64_t outer);

/* The same; finds it of the step that stands, which must have a price, where it is not known yet. */
uint32_t tn_kernel_floor_find(tn_kernel_floors *floors, tn_evaluator *evaluator);

#endif
