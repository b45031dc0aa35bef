#include "rtl/special.h"

#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

static uint32_t bits_of(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float of_bits(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

enum { NOT_A_NUMBER = 0x7fc00000, INFINITE = 0x7f800000 };

/* ---- exact operators ---- */

float tn_ieee_greater(float a, float b, float x, float z) {
    return tn_ieee_flushed(a) > tn_ieee_flushed(b) ? x : z;
}

/* Rounded to 53 bits first, a quotient or a root of 24-bit numbers rounds to the same 24 (Figueroa 1995). */
float tn_ieee_divide(float a, float b) {
    return tn_ieee_rounded((double)tn_ieee_flushed(a) / (double)tn_ieee_flushed(b));
}

float tn_ieee_square_root(float a) {
    return tn_ieee_rounded(sqrt((double)tn_ieee_flushed(a)));
}

/* ---- exponential: x = k ln 2 + r, exp(r) = table exp(z) ---- */

enum { FRACTION = 36, TABLE_FRACTION = 30, LOG2_E = 5909 /* log2(e), 12 bits of fraction */ };

static int64_t ln_2(void) {
    return llround(ldexp(0.69314718055994530942, FRACTION));
}

static int64_t exponential_entry(int64_t i) {
    return llround(ldexp(exp(((double)i + 0.5) / 256 - 0.5), TABLE_FRACTION));
}

float tn_special_exponential(float x) {
    uint32_t bits = bits_of(x);
    int exponent = (int)(bits >> 23 & 255) - 127, shift = exponent - 23 + FRACTION;
    if (isnan(x)) return of_bits(NOT_A_NUMBER);
    if (exponent > 6) return x > 0 ? of_bits(INFINITE) : 0;
    int64_t fixed = (bits >> 23 & 255) == 0 ? 0 : (int64_t)(bits & 0x7fffff) | 0x800000;
    fixed = shift >= 0 ? fixed * (INT64_C(1) << shift) : shift > -32 ? fixed >> -shift : 0;
    if (bits >> 31) fixed = -fixed;
    int64_t k = (fixed * LOG2_E + (INT64_C(1) << 47)) >> 48, place = fixed - k * ln_2() + (INT64_C(1) << 35),
            z = (place & ((1 << 28) - 1)) - (1 << 27), power = z + ((z * z) >> 37),
            table = exponential_entry(place >> 28), value = table + ((table * power) >> FRACTION);
    if (value < INT64_C(1) << TABLE_FRACTION) {
        value *= 2;
        k--;
    }
    int64_t packed = ((k + 126) * (1 << 23)) + (value >> 7) + (value >> 6 & 1);
    if (packed < 1 << 23) return 0;
    return packed >= INFINITE ? of_bits(INFINITE) : of_bits((uint32_t)packed);
}

/* ---- logarithm: x = 2^e m, m = (1 + z) / reciprocal ---- */

static int64_t reciprocal(int64_t i) {
    if (i == 0) return 1 << 17;
    if (i == 127) return 1 << 16;
    return llround(ldexp(1 / (1 + ((double)i + 0.5) / 128), 17));
}

static int64_t logarithm_entry(int64_t i) {
    return llround(ldexp(-log(ldexp((double)reciprocal(i), -17)), FRACTION));
}

static float packed_fixed(int64_t fixed) {
    if (fixed == 0) return 0;
    uint64_t magnitude = (uint64_t)(fixed < 0 ? -fixed : fixed);
    int top = 63 - __builtin_clzll(magnitude);
    uint64_t mantissa =
        top >= 24 ? (magnitude >> (top - 23)) + (magnitude >> (top - 24) & 1) : magnitude << (23 - top);
    uint32_t bits = (uint32_t)(top - FRACTION + 126) * (1u << 23) + (uint32_t)mantissa;
    return of_bits(bits | (fixed < 0 ? 0x80000000 : 0));
}

float tn_special_logarithm(float x) {
    uint32_t bits = bits_of(x);
    if (isnan(x)) return of_bits(NOT_A_NUMBER);
    if ((bits & INFINITE) == 0) return of_bits(0x80000000 | INFINITE);
    if (bits >> 31) return of_bits(NOT_A_NUMBER);
    if (bits == INFINITE) return x;
    int64_t exponent = (int64_t)(bits >> 23) - 127, mantissa = (bits & 0x7fffff) | 0x800000,
            i = (bits >> 16) & 127;
    int64_t z = (mantissa * reciprocal(i) - (INT64_C(1) << 40)) >> 4;
    int64_t square = (z * z) >> FRACTION, cube = (square * z) >> FRACTION,
            fourth = (square * square) >> FRACTION;
    int64_t power = z - (square >> 1) + ((cube * 21845) >> 16) - (fourth >> 2);
    return packed_fixed(exponent * ln_2() + logarithm_entry(i) + power);
}

/* ---- tables ---- */

void tn_special_exponential_table(tn_buffer *out) {
    for (int64_t i = 0; i < 256; i++)
        tn_buffer_format(out, "%08" PRIx64 "\n", (uint64_t)exponential_entry(i));
}

/* The reciprocal above 40 bits of its logarithm. */
void tn_special_logarithm_table(tn_buffer *out) {
    for (int64_t i = 0; i < 128; i++)
        tn_buffer_format(out, "%015" PRIx64 "\n",
                         (uint64_t)reciprocal(i) << 40 | (uint64_t)logarithm_entry(i));
}
