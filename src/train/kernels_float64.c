/* The kernels in float64, with exp and tanh of the C library: for checking, not for speed. */
#include "train/kernels.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

#define REAL       double
#define NAME(name) name##_float64
#define TABLE      tn_kernels_float64
#define GEMM       cblas_dgemm
#define ROOT       sqrt

static inline double NAME(exponential)(double x) {
    return exp(x);
}

static inline double NAME(hyperbolic)(double x) {
    return tanh(x);
}

#include "train/kernels.inc"

const tn_kernels *tn_kernels_of(tn_real real) {
    return real == TN_FLOAT32 ? &tn_kernels_float32 : &tn_kernels_float64;
}
