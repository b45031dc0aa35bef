/* A product of two arrays, planned once and executed many times: which axes are batch, rows, reduction and
 * columns, where each matrix of the batch begins, and which arrays must be copied into scratch because BLAS
 * can't read them where they lie.
 *
 * An array is a view: axes with strides. Of the eight orders of rows, columns and reduction that the operands
 * and the result suggest, the plan takes the one that copies the fewest elements. One axis of a view may be
 * `cut`: there the array is read (or, a result, added to) at one slice per token, chosen when the plan runs:
 * the digit of the token's word (step/program_cache.h). Internal to the room.
 */
#ifndef TN_TRAIN_CONTRACTION_H
#define TN_TRAIN_CONTRACTION_H

#include "base/error.h"
#include "base/memory.h"
#include "train/kernels.h"
#include "train/rounding.h"
#include "train/team.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tn_view_axis {
    uint32_t index;
    uint64_t size;
    size_t stride; /* elements */
} tn_view_axis;

typedef struct tn_view {
    uint32_t axes;
    tn_view_axis axis[TN_BLOCK_AXES];
    bool cut; /* axis `token` has no stride of its own: */
    uint32_t token, digit;
    size_t cut_stride; /* slice digit * cut_stride is taken */
} tn_view;

/* An array in C order. */
tn_status tn_view_add(tn_view *view, uint32_t index, uint64_t size, tn_error *error);
/* Fills the strides; `cut_size`: how many slices the cut axis really has. */
void tn_view_lay(tn_view *view, uint64_t cut_size);

/* One array of a product: read in place, or through scratch. */
typedef struct tn_contraction_side {
    size_t *offset; /* [batch] of each matrix, in the array or in scratch */
    bool cut;       /* in place: add digit * cut_stride */
    bool gathered;  /* slices are collected into scratch (a result: spread from it) */
    bool copied;    /* laid anew in scratch */
    uint32_t digit;
    size_t cut_stride;
    tn_block slice; /* of one token, where gathered */
    size_t slice_elements;
    tn_block block; /* where copied */
    size_t elements;
} tn_contraction_side;

typedef struct tn_contraction {
    uint64_t batch, tokens,
        batch_of_token; /* where an array is cut, the batch has so many matrices a token */
    tn_gemm gemm;
    bool swapped; /* a and b are the caller's b and a */
    tn_contraction_side a, b, out;
    size_t scratch_elements; /* of one of the six parts of scratch */
} tn_contraction;

tn_status tn_contraction_plan(const tn_view *a, const tn_view *b, const tn_view *out, tn_arena *arena,
                              tn_contraction *plan, tn_error *error);

/* What laying the operands costs, in elements copied; to choose an order of an array's axes. */
uint64_t tn_contraction_cost(const tn_view *a, const tn_view *b, const tn_view *out);

/* How the operands of a product are rounded (train/rounding.h): the caller's a, b. */
typedef struct tn_contraction_rounding {
    tn_rounding_room *room;         /* of as many elements as tn_contraction_operand_elements says */
    const tn_operand_rounding *how; /* [2]; NULL: they stay */
} tn_contraction_rounding;

/* Of the larger operand of one gemm. */
size_t tn_contraction_operand_elements(const tn_contraction *plan);

/* One execution, by one member of a team. */
typedef struct tn_contraction_call {
    const tn_kernels *kernels;
    const uint32_t *const *digit;            /* [d][token], where an array is cut */
    const tn_contraction_rounding *rounding; /* NULL: none; then the team is one */
    const void *a, *b;
    void *out;
    void *scratch; /* the team's, of 6 x scratch_elements */
    size_t scratch_elements;
    uint64_t column_block; /* the result's columns are computed in blocks of so many; 0: as is quickest */
    uint64_t *macs;        /* this member's multiply-adds are added */
    tn_team team;
} tn_contraction_call;

/* All members of the team call this; what they wrote is there when all have returned. A result with a cut axis is
 * added to, others are overwritten. */
void tn_contraction_run(const tn_contraction *plan, const tn_contraction_call *call);

#endif
