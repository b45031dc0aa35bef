/* Products whose operands are rounded as hardware of another arithmetic holds them: `precision.products` of the
 * model, which the step's operations carry, executed rather than priced.
 *
 * Every product reads its two matrices anew: each is rounded to the format as it is read, block floating point in
 * groups along the reduction, ints by the greatest of the matrix. The sum stays in the arithmetic of the run. An
 * operand is a gradient if it comes from a loss: a cross-entropy of the backward pass writes the first ones, and
 * what an operation makes of a gradient is one.
 */
#ifndef TN_TRAIN_ROUNDING_H
#define TN_TRAIN_ROUNDING_H

#include "base/error.h"
#include "base/memory.h"
#include "model/step.h"
#include "tensor/number_format.h"
#include "train/kernels.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* How one operand is rounded. */
typedef struct tn_operand_rounding {
    const tn_number_format *format; /* NULL: it stays */
    bool gradient;
    const tn_precision_schedule *schedule; /* NULL: the format stays */
    double layer;                          /* l / L of the operation's layer */
} tn_operand_rounding;

/* Of every product of the step: rounding[operation][operand]; *rounding = NULL where no product has an arithmetic of
 * its own. */
tn_status tn_rounding_plan(const tn_step *step, tn_arena *arena, tn_operand_rounding (**rounding)[2],
                           tn_error *error);

/* Room for operands of so many elements, and the random numbers of gradients. */
typedef struct tn_rounding_room {
    size_t elements;
    double *values, *narrow; /* narrow: where a schedule compares */
    double progress;         /* share of the run's steps that are done */
    uint64_t wide, operands; /* of a schedule: roundings to the wider format, and all */
    void *operand[2];
    bool stochastic; /* gradients */
    uint64_t noise;
} tn_rounding_room;
tn_status tn_rounding_grow(tn_rounding_room *room, size_t elements, size_t bytes, tn_error *error);
void tn_rounding_free(tn_rounding_room *room);

/* Rounds an array of rows x columns in place, to the nearest: what is kept in a format narrower than the run's. */
void tn_round_array(tn_rounding_room *room, const tn_number_format *format, const tn_kernels *kernels,
                    size_t rows, size_t columns, void *values);

/* As kernels->gemm, of rounded operands, first a's. */
void tn_rounded_gemm(tn_rounding_room *room, const tn_operand_rounding how[2], const tn_kernels *kernels,
                     const tn_gemm *gemm, const void *a, const void *b, void *out);

#endif
