/* The arithmetic of the generated operators (templates/fp32_multiply.sv, fp32_add.sv) in C, templates/fp32.c: IEEE 754 binary32, to
 * nearest even, subnormals flushed to zero of their sign, every NaN 0x7fc00000. */
#ifndef TN_RTL_IEEE_H
#define TN_RTL_IEEE_H

float tn_ieee_multiply(float a, float b);
float tn_ieee_add(float a, float b);

#endif
