/* The arithmetic of fp32_multiply.sv and fp32_add.sv in C: IEEE 754 binary32, to nearest even, subnormals flushed to
 * zero of their sign, every NaN 0x7fc00000. The in-order reference computes with it; a simulation of the hardware may
 * (`make simulate FLOATS=c`), which leaves the operators' circuits out and is faster. */
#include <math.h>
#include <stdint.h>
#include <string.h>

float tn_ieee_flushed(float value);
float tn_ieee_rounded(double exact);
float tn_ieee_multiply(float a, float b);
float tn_ieee_add(float a, float b);
#ifdef __cplusplus
extern "C" { /* the simulator compiles it so */
#endif
unsigned fp32_multiply_c(unsigned a, unsigned b); /* bits, for the simulator */
unsigned fp32_add_c(unsigned a, unsigned b);
#ifdef __cplusplus
}
#endif

float tn_ieee_flushed(float value) {
    return fabsf(value) < 0x1p-126f ? copysignf(0, value) : value;
}

static float canonical(void) {
    const uint32_t bits = 0x7fc00000;
    float nan;
    memcpy(&nan, &bits, sizeof nan);
    return nan;
}

/* `exact` to 24 bits as if exponents had no end; below 2^-126 it is zero. */
float tn_ieee_rounded(double exact) {
    if (isnan(exact)) return canonical();
    if (exact == 0 || isinf(exact) || fabs(exact) >= 0x1p-120) return (float)exact;
    double scaled = (double)(float)(exact * 0x1p100);
    return fabs(scaled) < 0x1p-26 ? (float)copysign(0, exact) : (float)(scaled * 0x1p-100);
}

/* A product of two 24-bit numbers is exact in binary64. */
float tn_ieee_multiply(float a, float b) {
    return tn_ieee_rounded((double)tn_ieee_flushed(a) * (double)tn_ieee_flushed(b));
}

/* A sum rounded to 53 bits first rounds to the same 24 (Figueroa 1995: 53 >= 2 * 24 + 2). */
float tn_ieee_add(float a, float b) {
    return tn_ieee_rounded((double)tn_ieee_flushed(a) + (double)tn_ieee_flushed(b));
}

/* ---- for the simulator ---- */

static float of_bits(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint32_t to_bits(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

unsigned fp32_multiply_c(unsigned a, unsigned b) {
    return to_bits(tn_ieee_multiply(of_bits(a), of_bits(b)));
}

unsigned fp32_add_c(unsigned a, unsigned b) {
    return to_bits(tn_ieee_add(of_bits(a), of_bits(b)));
}
