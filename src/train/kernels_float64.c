/* The kernels in float64, with the products of BLAS and exp and tanh of the C library: for checking, not for speed. */
#include "train/kernels.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

#define REAL       double
#define NAME(name) name##_float64
#define TABLE      tn_kernels_float64
#define SET        "blas"
#define GEMM       blas_product
#define ROOT       sqrt
#define LOGARITHM  log
#define ROUND      NULL

static inline double NAME(exponential)(double x) {
    return exp(x);
}

static inline double NAME(hyperbolic)(double x) {
    return tanh(x);
}

static void blas_product(const tn_gemm *g, const double *a, const double *b, double *out) {
    cblas_dgemm(CblasRowMajor, g->transpose_a ? CblasTrans : CblasNoTrans,
                g->transpose_b ? CblasTrans : CblasNoTrans, g->rows, g->columns, g->reduction, 1, a,
                g->lead_a, b, g->lead_b, g->accumulate ? 1 : 0, out, g->lead_out);
}

#include "train/kernels.inc"
