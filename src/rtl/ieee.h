/* The arithmetic of the generated operators (templates/fp32_multiply.sv, fp32_add.sv) in C, templates/fp32.c: IEEE 754 binary32, to
 * nearest even, subnormals flushed to zero of their sign, every NaN 0x7fc00000. */
#ifndef TN_RTL_IEEE_H
#define TN_RTL_IEEE_H

/* A subnormal becomes zero. An exact result is rounded once, as every operator does it. */
float tn_ieee_flushed(float value);
float tn_ieee_rounded(double exact);

float tn_ieee_multiply(float a, float b);
float tn_ieee_add(float a, float b);

#endif
