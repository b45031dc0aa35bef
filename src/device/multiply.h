/* How many DSP blocks an integer multiplier takes.
 *
 * A DSP48E2 multiplies 27 x 18 bit two's complement numbers, a DSP48E1 25 x 18. A wider product is cut into
 * slices along both operands: the top slice of a signed operand keeps the full port, every lower one spends a
 * bit on its zero sign, so a w-bit operand on a p-bit port takes 1 slice if w <= p, else 1 +
 * ceil((w-p)/(p-1)); an unsigned operand takes ceil(w/(p-1)). Blocks = slices of the wider operand on the
 * wide port x slices of the narrower one on the narrow port. Products of fewer than 9 bits in sum are left to
 * LUTs. Adding the product to a third number costs no further block (the block's own adder does it).
 *
 * Source: what Yosys 0.23 infers for UltraScale+ (306 multipliers and multiply-adds, tests/hardware); ports
 * as in AMD's UG579 (DSP48E2) and UG479 (DSP48E1).
 */
#ifndef TN_DEVICE_MULTIPLY_H
#define TN_DEVICE_MULTIPLY_H

#include "base/error.h"
#include "base/public.h"

#include <stdint.h>

TN_PUBLIC_BEGIN

typedef enum tn_signedness { TN_SIGNED, TN_UNSIGNED } tn_signedness;

/* "signed", "unsigned", NULL. */
extern const char *const tn_signedness_names[];

typedef struct tn_dsp_block {
    const char *name;
    uint64_t wide_bits, narrow_bits; /* ports, two's complement */
    uint64_t least_sum_bits;         /* operands with fewer bits in sum go to LUTs */
} tn_dsp_block;

extern const tn_dsp_block tn_dsp48e1, tn_dsp48e2;

/* The block of that name ("dsp48e1", "dsp48e2"), or an error that suggests the nearest. */
tn_status tn_dsp_block_find(const char *name, const tn_dsp_block **block, tn_error *error);

enum { TN_MULTIPLY_MOST_BITS = 4096 };

/* *dsp = blocks for an a_bits x b_bits product (in either order), 1 to TN_MULTIPLY_MOST_BITS each. */
tn_status tn_multiply_dsp(const tn_dsp_block *block, uint64_t a_bits, uint64_t b_bits,
                          tn_signedness signedness, uint64_t *dsp, tn_error *error);

/* Signed products with an operand in common that one block makes at once, the others side by side on the wide port,
 * TN_PACKED_GUARD_BITS apart: 1 + floor((wide - a) / (a + b + 2)), with b on the narrow port; 2 of 8 x 8 bits on a
 * DSP48E2 and 1 on a DSP48E1. Source: AMD WP486, Deep Learning with INT8 Optimization. */
enum { TN_PACKED_GUARD_BITS = 2 };
uint64_t tn_multiply_packed(const tn_dsp_block *block, uint64_t a_bits, uint64_t b_bits);

TN_PUBLIC_END

#endif
