/* The arithmetic of the generated operators beyond product and sum (templates/fp32_greater.sv, fp32_divide.sv,
 * fp32_square_root.sv, fp32_exponential.sv, fp32_logarithm.sv) in C, bit for bit. As theirs, subnormal operands count as
 * zero of their sign, results below 2^-126 are zero of their sign, and every NaN made is 0x7fc00000.
 *
 * Division and square root are exact to IEEE 754 (to nearest even). The exponential is a table of 256 values and a
 * polynomial of second degree behind an argument reduced by multiples of ln 2; the logarithm a table of 128 reciprocals
 * and a polynomial of fourth degree: the methods of Tang (ACM TOMS 15, 1989; 16, 1990) in the fixed-point form of Detrey
 * and de Dinechin (2005). The exponential errs by less than one unit in the last place, the logarithm by less than
 * one or 2^-33, whichever is more.
 */
#ifndef TN_RTL_SPECIAL_H
#define TN_RTL_SPECIAL_H

#include "base/buffer.h"

/* The arithmetic of the generated operators (templates/fp32_multiply.sv, fp32_add.sv) in C, templates/fp32.c: IEEE 754 binary32, to
 * nearest even, subnormals flushed to zero of their sign, every NaN 0x7fc00000. */

/* A subnormal becomes zero. An exact result is rounded once, as every operator does it. */
float tn_ieee_flushed(float value);
float tn_ieee_rounded(double exact);

float tn_ieee_multiply(float a, float b);
float tn_ieee_add(float a, float b);

/* x where a > b, else z; false where one is a NaN. x and z pass as they are. */
float tn_ieee_greater(float a, float b, float x, float z);
float tn_ieee_divide(float a, float b);
float tn_ieee_square_root(float a);
float tn_special_exponential(float x);
float tn_special_logarithm(float x);

/* exponential.hex and logarithm.hex, the tables that the templates read. */
void tn_special_exponential_table(tn_buffer *out);
void tn_special_logarithm_table(tn_buffer *out);

#endif
