/* The number formats of a training step: of what its products read, by what that is, and of everything else. */
#ifndef TN_MODEL_PRECISION_H
#define TN_MODEL_PRECISION_H

#include "base/public.h"
#include "tensor/number_format.h"

#include <stdbool.h>
#include <stdint.h>

TN_PUBLIC_BEGIN

/* What an array holds: parameters, and what is made of nothing else inside a layer; what is made from the input; what is
 * made from a loss. */
typedef enum tn_value { TN_VALUE_WEIGHT, TN_VALUE_ACTIVATION, TN_VALUE_GRADIENT, TN_VALUES } tn_value;

/* `operand`: of the operands of products. `accumulate`: of their sums, and of all other arithmetic. An array that
 * products alone read is kept in its operands' format, any other in `accumulate`. */
typedef struct tn_formats {
    tn_number_format operand[TN_VALUES], accumulate;
} tn_formats;

/* How a product is multiplied. Mantissas of block floating point may be multiplied in chunks of `chunk_bits`, each
 * with a sign, a pair of chunks in a pass (FAST); 0: whole; `begin` is then the widest format that they make up. A kernel that
 * `begins` in another format has multipliers for operands of `begin`, too. */
typedef struct tn_arithmetic {
    tn_number_format left, right, sum, begin;
    uint32_t chunk_bits, begins; /* begins: 0 or 1 */
} tn_arithmetic;

/* Both operands of a format; sums in the same, of block floating point in fp32. */
tn_arithmetic tn_arithmetic_of(const tn_number_format *format);
/* Whether one kernel serves both: the same operands in either order, the same sums; chunks serve all mantissas. */
bool tn_arithmetic_same(const tn_arithmetic *a, const tn_arithmetic *b);

/* Operands whose format changes with the steps and layers of a run: from `begin` to that of `precision`, which may be wider
 * or narrower (step/precision_schedule.c). */
typedef struct tn_precision_schedule {
    tn_number_format begin;
    double steps, layers;    /* shares for which operands stay in it; or, where a > 0, */
    double a, b, wide_share; /* FAST's rule, and the share of operands that it makes wide, as it is priced */
    const char *begin_text, *narrow_text;
    tn_position begin_at, narrow_at, schedule_at; /* line 0: not given */
} tn_precision_schedule;

/* Whether operands are in `begin` by the shares, `progress` of the run done, in layer l of L, layer = l / L. */
bool tn_precision_schedule_begins(const tn_precision_schedule *schedule, double progress, double layer);

TN_PUBLIC_END

#endif
