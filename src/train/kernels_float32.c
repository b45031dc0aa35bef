/* The kernels in float32. exp: reduction by ln 2 in two parts and a polynomial of degree 5 (Cephes, expf);
 * tanh: a rational function of degrees 13 and 6 on [-7.9, 7.9], beyond which it rounds to 1. */
#include "train/kernels.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

#define REAL       float
#define NAME(name) name##_float32
#define TABLE      tn_kernels_float32
#define GEMM       cblas_sgemm
#define ROOT       sqrtf

static inline __attribute__((always_inline)) float NAME(exponential)(float x) {
    x = x < -87.0f ? -87.0f : x;
    x = x > 88.0f ? 88.0f : x;
    const float magic = 12582912.0f; /* 1.5 * 2^23: adding it rounds to a whole number */
    float shifted = x * 1.44269504f + magic;
    float whole = shifted - magic;
    float r = x - whole * 0.693359375f;
    r += whole * 2.12194440e-4f;
    float p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * r * r + r + 1.0f;
    int32_t power = (int32_t)whole;
    uint32_t bits = (uint32_t)(power + 127) << 23;
    float scale;
    memcpy(&scale, &bits, sizeof scale);
    return p * scale;
}

static inline __attribute__((always_inline)) float NAME(hyperbolic)(float x) {
    x = x < -7.90531111f ? -7.90531111f : x;
    x = x > 7.90531111f ? 7.90531111f : x;
    float q = x * x;
    float p = -2.76076847742355e-16f;
    p = p * q + 2.00018790482477e-13f;
    p = p * q - 8.60467152213735e-11f;
    p = p * q + 5.12229709037114e-08f;
    p = p * q + 1.48572235717979e-05f;
    p = p * q + 6.37261928875436e-04f;
    p = p * q + 4.89352455891786e-03f;
    float d = 1.19825839466702e-06f;
    d = d * q + 1.18534705686654e-04f;
    d = d * q + 2.26843463243900e-03f;
    d = d * q + 4.89352518554385e-03f;
    return x * p / d;
}

#include "train/kernels.inc"
