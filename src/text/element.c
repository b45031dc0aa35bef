#include "text/element.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

static const struct {
    const char *name;
    size_t bytes;
} types[] = {
    [TN_ELEMENT_F16] = {"f2", 2}, [TN_ELEMENT_BF16] = {"bf16", 2}, [TN_ELEMENT_F32] = {"f4", 4},
    [TN_ELEMENT_F64] = {"f8", 8}, [TN_ELEMENT_I8] = {"i1", 1},     [TN_ELEMENT_I16] = {"i2", 2},
    [TN_ELEMENT_I32] = {"i4", 4}, [TN_ELEMENT_I64] = {"i8", 8},    [TN_ELEMENT_U8] = {"u1", 1},
    [TN_ELEMENT_U16] = {"u2", 2}, [TN_ELEMENT_U32] = {"u4", 4},
};

size_t tn_element_bytes(tn_element type) {
    return types[type].bytes;
}

const char *tn_element_name(tn_element type) {
    return types[type].name;
}

bool tn_element_is_integer(tn_element type) {
    return type >= TN_ELEMENT_I8;
}

static uint64_t gather(const unsigned char *bytes, size_t size, bool big_endian) {
    uint64_t bits = 0;
    for (size_t i = 0; i < size; i++) bits |= (uint64_t)bytes[big_endian ? size - 1 - i : i] << 8 * i;
    return bits;
}

static double from_f64(uint64_t bits) {
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static double from_f32(uint64_t bits) {
    uint32_t word = (uint32_t)bits;
    float value;
    memcpy(&value, &word, sizeof value);
    return value;
}

static double from_bf16(uint64_t bits) {
    return from_f32(bits << 16);
}

/* IEEE 754-2008, 3.6: 5 bits of exponent with bias 15, 10 bits of significand. */
static double from_f16(uint64_t bits) {
    uint64_t sign = bits >> 15 << 63, exponent = bits >> 10 & 31, significand = bits & 1023;
    if (exponent == 0) return (sign ? -0x1p-24 : 0x1p-24) * (double)significand;
    uint64_t widened = exponent == 31 ? 2047 : exponent - 15 + 1023;
    return from_f64(sign | widened << 52 | significand << 42);
}

#define DECODE(size, big_endian, convert)                                                                    \
    for (size_t i = 0; i < count; i++)                                                                       \
    values[i * stride] = convert(gather(bytes + (size)*i, size, big_endian))

/* The order as a constant in each loop lets the compiler make one load of each gather. */
#define DECODE_BOTH(size, convert)                                                                           \
    do {                                                                                                     \
        if (big_endian)                                                                                      \
            DECODE(size, true, convert);                                                                     \
        else                                                                                                 \
            DECODE(size, false, convert);                                                                    \
    } while (0)

void tn_element_decode(tn_element type, bool big_endian, const unsigned char *bytes, size_t count,
                       double *values, size_t stride) {
    switch (type) {
    case TN_ELEMENT_F16:
        DECODE_BOTH(2, from_f16);
        break;
    case TN_ELEMENT_BF16:
        DECODE_BOTH(2, from_bf16);
        break;
    case TN_ELEMENT_F32:
        DECODE_BOTH(4, from_f32);
        break;
    case TN_ELEMENT_F64:
        DECODE_BOTH(8, from_f64);
        break;
    default:
        break;
    }
}

void tn_element_decode_integers(tn_element type, bool big_endian, const unsigned char *bytes, size_t count,
                                int64_t *values, size_t stride) {
    size_t size = tn_element_bytes(type);
    uint64_t sign = type <= TN_ELEMENT_I64 ? UINT64_C(1) << (8 * size - 1) : 0;
    for (size_t i = 0; i < count; i++)
        values[i * stride] = (int64_t)((gather(bytes + size * i, size, big_endian) ^ sign) - sign);
}

/* The nearest of a format with so many bits of mantissa, ties to even; exponents from `least` to `most`. */
static uint64_t half_of(double value, int mantissa, int least, int most) {
    const uint64_t infinite = (uint64_t)(most - least + 2) << mantissa, one = UINT64_C(1) << mantissa;
    const uint64_t sign = signbit(value) ? UINT64_C(1) << 15 : 0;
    double size = fabs(value);
    if (isnan(size)) return sign | infinite | one >> 1;
    if (isinf(size)) return sign | infinite;
    if (size == 0) return sign;
    int exponent = ilogb(size) < least ? least : ilogb(size);
    uint64_t units = (uint64_t)nearbyint(ldexp(size, mantissa - exponent));
    if (units == 2 * one) {
        units = one;
        exponent++;
    }
    if (exponent > most) return sign | infinite;
    return sign | (units < one ? units : ((uint64_t)(exponent - least) << mantissa) + units);
}

void tn_element_encode(tn_element type, const void *values, size_t count, unsigned char *bytes) {
    const double *value = values; /* of TN_ELEMENT_I64 only its bits are taken */
    size_t size = tn_element_bytes(type);
    for (size_t i = 0; i < count; i++) {
        uint64_t bits = 0;
        if (type == TN_ELEMENT_F32) {
            float single = (float)value[i];
            uint32_t word;
            memcpy(&word, &single, sizeof word);
            bits = word;
        } else if (type == TN_ELEMENT_F16) {
            bits = half_of(value[i], 10, -14, 15);
        } else if (type == TN_ELEMENT_BF16) {
            bits = half_of(value[i], 7, -126, 127);
        } else {
            memcpy(&bits, value + i, sizeof bits);
        }
        for (size_t k = 0; k < size; k++) *bytes++ = (unsigned char)(bits >> 8 * k);
    }
}
