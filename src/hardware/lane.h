/* What a multiplier lane of a matmul kernel and the adders behind it are made of, by arithmetic.
 *
 *   fp32, fp16, bf16      the precision's multiply and add; every addition is one of these
 *   int8                  8-bit products, summed in 32 bits
 *   block floating point  `group` values share an exponent of e bits, each has a sign and m mantissa bits.
 *                         Products are (m+1)-bit integer ones, summed as integers within a group; group sums are
 *                         scaled by the sum of the two exponents (an e+1 bit adder) and summed in fp32, whose
 *                         adder shifts and normalises.
 *
 * Integer operators of other widths than the device file lists follow from its `integer` figures: DSP blocks by
 * hardware/multiply.h (products too small for one go to LUTs), an adder a LUT and a flip-flop for each bit.
 */
#ifndef TN_HARDWARE_LANE_H
#define TN_HARDWARE_LANE_H

#include "base/error.h"
#include "hardware/device_data.h"
#include "model/precision.h"

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
} tn_lane;

tn_status tn_lane_load(const tn_device *device, const tn_arithmetic *arithmetic, tn_lane *lane,
                       tn_error *error);

/* "fp32", "bfp g16 e3 m4" */
void tn_arithmetic_text(const tn_arithmetic *arithmetic, char *text, unsigned long capacity);

#endif
