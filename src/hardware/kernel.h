/* The matmul kernel: computes batch x (rows x reduction)(reduction x columns) with R x C output sums at a
 * time, each a dot product of P terms an issue: R*C*P multipliers, an adder tree of P-1 and one accumulating
 * adder for each of the R*C sums (hardware/lane.h says which adders).
 *
 * An issue is a tile of R x C outputs and P terms. The tiles of the output follow each other while the terms
 * of a tile accumulate: `interleaved` tiles are open at once, so that an accumulation finds its sum ready
 * (hardware/dot.h: interleaved * II >= add latency). The kernel interleaves at least as many tiles as an
 * addition has cycles where the output has that many, and then takes an issue every cycle; with fewer tiles
 * II grows; with one group of terms nothing accumulates. Rounds of open tiles are padded by fewer tiles than
 * an addition has cycles.
 *
 * Ports: an issue reads R*P words of the left operand and P*C of the right one, a finished tile writes R*C
 * words; min(R, rows) etc. where the product is smaller than the kernel.
 */
#ifndef TN_HARDWARE_KERNEL_H
#define TN_HARDWARE_KERNEL_H

#include "base/error.h"
#include "hardware/device_data.h"
#include "hardware/lane.h"

#include <stdint.h>

typedef struct tn_matmul {
    uint64_t rows, columns, reduction; /* R, C, P */
    tn_lane lane;
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
 * product takes with its operands laid in memories (hardware/issue.h). TN_OVERFLOW where the cycles do not fit. */
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

/* Resources of one kernel: operators, open sums (LUTRAM), control; what lies between it and the memories is
 * hardware/routing.h. */
tn_resources tn_matmul_resources(const tn_device *device, const tn_matmul *kernel);

/* used += times * amount, without overflow within the bounds of device file and build. */
static inline void tn_resources_add(tn_resources *used, const tn_resources *amount, uint64_t times) {
    used->lut += amount->lut * times;
    used->ff += amount->ff * times;
    used->dsp += amount->dsp * times;
    used->bram18 += amount->bram18 * times;
    used->uram += amount->uram * times;
}

#endif
