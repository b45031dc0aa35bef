#include "rtl/ieee.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

static float flushed(float value) {
    return fabsf(value) < 0x1p-126f ? copysignf(0, value) : value;
}

static float canonical(void) {
    const uint32_t bits = 0x7fc00000;
    float nan;
    memcpy(&nan, &bits, sizeof nan);
    return nan;
}

/* `exact` to 24 bits as if exponents had no end; below 2^-126 it is zero. */
static float rounded(double exact) {
    if (isnan(exact)) return canonical();
    if (exact == 0 || isinf(exact) || fabs(exact) >= 0x1p-120) return (float)exact;
    double scaled = (double)(float)(exact * 0x1p100);
    return fabs(scaled) < 0x1p-26 ? (float)copysign(0, exact) : (float)(scaled * 0x1p-100);
}

/* A product of two 24-bit numbers is exact in binary64. */
float tn_ieee_multiply(float a, float b) {
    return rounded((double)flushed(a) * (double)flushed(b));
}

/* A sum rounded to 53 bits first rounds to the same 24 (Figueroa 1995: 53 >= 2 * 24 + 2). */
float tn_ieee_add(float a, float b) {
    return rounded((double)flushed(a) + (double)flushed(b));
}
