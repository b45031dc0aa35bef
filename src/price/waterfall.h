/* Where the cycles of a step go: from what the device's DSP blocks could do, part by part, to what the step takes. The
 * parts sum to cycles_per_step exactly, under every build; docs/model-hardware.md says what each is at least.
 *
 * Each operation has its counts, each of which adds one thing to that before it:
 *   multiply-adds over all DSP blocks, over the engine's lanes; issues of whole tiles; those of rounds of sums that wait;
 *   issues as laid; the whole, filled and drained
 *   of a vector kernel: blocks of lanes; waits for a sum; issues as laid; the whole
 * then what moves between memories takes, and over all operations what runs side by side. A part is the sum over the
 * operations of one count less the one before.
 */
#ifndef TN_PRICE_WATERFALL_H
#define TN_PRICE_WATERFALL_H

#include "base/error.h"
#include "base/memory.h"
#include "base/public.h"
#include "price/workload.h"

#include <stdint.h>

TN_PUBLIC_BEGIN

typedef enum tn_fall {
    TN_FALL_FLOOR,          /* every DSP block of the device multiplies all the time */
    TN_FALL_ENGINE,         /* multipliers that the engine does not have */
    TN_FALL_EDGES,          /* lanes that a product's edges leave empty */
    TN_FALL_SUMS,           /* sums that wait for an adder, and rounds that are padded */
    TN_FALL_LAYOUTS,        /* issues that layouts add */
    TN_FALL_DRAINS,         /* products that start, fill and drain */
    TN_FALL_SLICES,         /* slices of gradients set to zero and added, token by token */
    TN_FALL_VECTOR,         /* the vector unit's elements, each lane busy */
    TN_FALL_VECTOR_SUMS,    /* its sums that wait for an adder */
    TN_FALL_VECTOR_LAYOUTS, /* its issues that layouts add */
    TN_FALL_VECTOR_DRAINS,  /* its passes that start and drain */
    TN_FALL_MOVES,          /* arrays that lie outside */
    TN_FALL_BESIDE,         /* less what runs side by side */
    TN_FALLS
} tn_fall;

enum { TN_FALL_LARGEST = 3 };

/* Operations of one kind and phase, of layers of one kind. */
typedef struct tn_fall_group {
    const char *operations; /* "column-sum of linear, weight_gradient" */
    uint64_t count;
    int64_t cycles;
} tn_fall_group;

typedef struct tn_fall_line {
    const char *part, *keys; /* what changes it */
    int64_t cycles;          /* below 0: it saves */
    int64_t reached;         /* cycles of all parts so far */
    uint32_t groups;         /* the largest */
    tn_fall_group group[TN_FALL_LARGEST];
} tn_fall_line;

struct tn_plan; /* price/plan.h */

/* line[TN_FALLS], of a workload, plan and build just priced (tn_price_work) that took cycles_per_step. */
tn_status tn_waterfall(tn_workload *workload, const struct tn_plan *plan, const tn_build *build,
                       uint64_t cycles_per_step, tn_arena *arena, tn_fall_line *line, tn_error *error);

TN_PUBLIC_END

#endif
