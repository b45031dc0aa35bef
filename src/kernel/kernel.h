/* The matmul kernel: computes batch x (rows x reduction)(reduction x columns) with R x C output sums at a
 * time, each a dot product of P terms an issue: R*C*P multipliers, an adder tree of P-1 and one accumulating
 * adder for each of the R*C sums (kernel/kernel.h says which adders).
 *
 * An issue is a tile of R x C outputs and P terms. The tiles of the output follow each other while the terms
 * of a tile accumulate: `interleaved` tiles are open at once, so that an accumulation finds its sum ready
 * (kernel/pipeline.h: interleaved * II >= add latency). The kernel interleaves at least as many tiles as an
 * addition has cycles where the output has that many, and then takes an issue every cycle; with fewer tiles
 * II grows; with one group of terms nothing accumulates. Rounds of open tiles are padded by fewer tiles than
 * an addition has cycles.
 *
 * Ports: an issue reads R*P words of the left operand and P*C of the right one, a finished tile writes R*C
 * words; min(R, rows) etc. where the product is smaller than the kernel.
 */
#ifndef TN_KERNEL_KERNEL_H
#define TN_KERNEL_KERNEL_H

#include "base/checked.h"
#include "base/error.h"
#include "device/device_data.h"
#include "model/precision.h"

#include <stdbool.h>
#include <stdint.h>

/* What a multiplier lane of a matmul kernel and the adders behind it are made of, by arithmetic.
 *
 *   floating point        multiplies in the wider of the operands' formats, adds in that of the sums
 *   integer, fixed point  an integer product of the operands' bits, summed as integers with TN_SUM_GUARD_BITS more bits
 *                         (2^16 terms); a device row for the format, where both operands have it and there is one
 *   block floating point  values of a group share an exponent of e bits, each has a sign and m mantissa bits.
 *                         Products are integer ones of m + 1 bits, summed as integers within a group; group sums are
 *                         scaled by the sum of the two exponents (an e + 1 bit adder), normalised and added in the sums'
 *                         format. A converter for each value at the kernel's ports makes fp32 words into groups, and the
 *                         results that products alone read (device/block_floating.h)
 *   the same in chunks    a multiplier of the chunk's bits and a sign on either side serves mantissas of any number of
 *                         chunks, a pair of chunks in a pass (FAST)
 *   outlier-victim pairs  an integer product of their bits, shifted, as block floating point of groups of one; decoders are
 *                         free
 *                         Of groups and pairs too a device row for the format stands for the product, or the adder within
 *                         a group, where both operands have that format
 *   mixed                 what is no floating point is converted to fp32 as it enters
 *   two formats           multipliers and adders within groups of both, beside each other; the adders of sums are common where
 *                         both sum in the same format. As many stages as the slower of either
 *
 * Sums are in their own format where that is floating point, else integers, else fp32. Integer operators that the
 * device file does not list follow from its `integer` figures: DSP blocks by device/multiply.h (products too small
 * for one go to LUTs), an adder a LUT and a flip-flop for each bit. Narrow products with an operand in common share
 * a DSP block (tn_multiply_packed).
 */

enum { TN_SUM_GUARD_BITS = 16 };

typedef struct tn_operator_cost {
    uint64_t stages, lut, ff, dsp;
    const tn_operator_row *row; /* where the figures are from; NULL: the device's `integer` */
} tn_operator_cost;

typedef struct tn_lane {
    tn_operator_cost multiply;
    tn_operator_cost tree; /* adds within a group */
    tn_operator_cost sum;  /* adds group sums, and accumulates */
    uint64_t group;        /* terms of a group; 1: all additions are `sum` */
    uint64_t sum_bits;     /* width of an accumulated sum */
    uint64_t packed;       /* multipliers with an operand in common that the DSP blocks of one serve */
    tn_operator_cost begin_multiply; /* of a second format; its stages are in those of `multiply` */
    uint64_t begin_packed;
    tn_operator_cost convert; /* of a value at the kernel's ports; its stages are in those of `multiply` */
    uint64_t operand_bits;    /* of an operand's word that is routed by itself; 0: as sums are */
} tn_lane;

tn_status tn_lane_load(const tn_device *device, const tn_arithmetic *arithmetic, tn_lane *lane,
                       tn_error *error);

/* "fp32", "bfp16,3,4", "int8 x int16", "bfp16,8 in chunks of 2", "fp32, then int8" */
enum { TN_ARITHMETIC_TEXT = 3 * TN_NUMBER_FORMAT_NAME + 16 };
void tn_arithmetic_text(const tn_arithmetic *arithmetic, char text[TN_ARITHMETIC_TEXT]);

typedef struct tn_matmul {
    uint64_t rows, columns, reduction; /* R, C, P */
    tn_lane lane;
    bool systolic; /* a systolic array of R x C cells (kernel/array_kernel.h); P is 1 */
} tn_matmul;

typedef struct tn_product_size {
    uint64_t batch, rows, reduction, columns; /* each at least 1 */
} tn_product_size;

typedef struct tn_matmul_time {
    uint64_t cycles;          /* first issue to last result */
    uint64_t issues;          /* padded ones included */
    uint64_t interval_cycles; /* II */
    uint64_t interleaved;     /* tiles open at once */
} tn_matmul_time;

/* Where every issue takes one cycle, and is taken up in the first cycle of its interval: a lower bound of what a
 * product takes with its operands laid in memories (kernel/issue.h). TN_OVERFLOW where the cycles do not fit. */
tn_status tn_matmul_cycles(const tn_matmul *kernel, const tn_product_size *product, tn_matmul_time *time,
                           tn_error *error);

/* From the multipliers' inputs to a finished sum: multiplier, adder trees, the accumulating addition. */
uint64_t tn_matmul_fill_cycles(const tn_matmul *kernel);

/* The operators of a precision that vector kernels are made of. */
typedef struct tn_operator_set {
    const tn_operator_row *row[TN_OPERATORS];
} tn_operator_set;

/* Integers and block floating point: operators that the device has not are those of fp32. */
tn_status tn_operator_set_load(const tn_device *device, const tn_number_format *format, tn_operator_set *set,
                               tn_error *error);

enum { TN_ARITHMETICS_CHECKED = 16 };
/* Whether rows meet the device's clock for all operators of these arithmetics (of the first TN_ARITHMETICS_CHECKED)
 * and of vector kernels in `format`; if not, one TN_INPUT names them all. */
tn_status tn_operators_check(const tn_device *device, const tn_number_format *format,
                             const tn_arithmetic *arithmetic, size_t count, tn_error *error);

/* Resources of one kernel: operators, open sums (LUTRAM), control; what lies between it and the memories is
 * memory/memory_share.h. */
tn_resources tn_matmul_resources(const tn_device *device, const tn_matmul *kernel);

/* used += times * amount, without overflow within the bounds of device file and build. */
static inline void tn_resources_add(tn_resources *used, const tn_resources *amount, uint64_t times) {
    used->lut += amount->lut * times;
    used->ff += amount->ff * times;
    used->dsp += amount->dsp * times;
    used->bram18 += amount->bram18 * times;
    used->uram += amount->uram * times;
}

/* Of each resource the least of the two. */
static inline void tn_resources_lower(tn_resources *least, const tn_resources *other) {
    least->lut = tn_least(least->lut, other->lut);
    least->ff = tn_least(least->ff, other->ff);
    least->dsp = tn_least(least->dsp, other->dsp);
    least->bram18 = tn_least(least->bram18, other->bram18);
    least->uram = tn_least(least->uram, other->uram);
}

#endif
