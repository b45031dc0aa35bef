#include "support/matrix.h"

#include "support/brute.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

double *test_zeros(size_t count) {
    double *zeros = calloc(count ? count : 1, sizeof *zeros);
    assert_non_null(zeros);
    return zeros;
}

/* The sum of twelve uniform numbers less 6. */
double *test_normal(uint64_t seed, size_t count) {
    double *x = test_zeros(count);
    for (size_t i = 0; i < count; i++) {
        for (int t = 0; t < 12; t++) x[i] += (double)(test_random(&seed) >> 11) / 9007199254740992.0;
        x[i] -= 6;
    }
    return x;
}

double *test_multiply(size_t m, size_t n, size_t k, const double *a, const double *b) {
    double *c = test_zeros(m * n);
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++) {
            long double sum = 0;
            for (size_t t = 0; t < k; t++) sum += (long double)a[i * k + t] * b[t * n + j];
            c[i * n + j] = (double)sum;
        }
    return c;
}

double *test_transpose(size_t p, size_t q, const double *a) {
    double *t = test_zeros(p * q);
    for (size_t i = 0; i < p; i++)
        for (size_t j = 0; j < q; j++) t[j * p + i] = a[i * q + j];
    return t;
}

double test_squares(const double *x, size_t count) {
    long double sum = 0;
    for (size_t i = 0; i < count; i++) sum += (long double)x[i] * x[i];
    return (double)sum;
}

double test_distance(const double *x, const double *y, size_t count) {
    long double sum = 0;
    for (size_t i = 0; i < count; i++) sum += ((long double)x[i] - y[i]) * ((long double)x[i] - y[i]);
    return (double)sum;
}

static double dot(const double *x, const double *y, size_t count) {
    long double sum = 0;
    for (size_t i = 0; i < count; i++) sum += (long double)x[i] * y[i];
    return (double)sum;
}

/* Makes two rows orthogonal; returns the cosine of the angle they had. */
static double rotate(double *x, double *y, size_t count) {
    double xx = dot(x, x, count), yy = dot(y, y, count), xy = dot(x, y, count);
    if (xy == 0 || !(xx > 0) || !(yy > 0)) return 0;
    double zeta = (yy - xx) / (2 * xy);
    double t = (zeta >= 0 ? 1 : -1) / (fabs(zeta) + sqrt(1 + zeta * zeta)), c = 1 / sqrt(1 + t * t),
           s = c * t;
    for (size_t i = 0; i < count; i++) {
        double old = x[i];
        x[i] = c * old - s * y[i];
        y[i] = s * old + c * y[i];
    }
    return fabs(xy) / sqrt(xx * yy);
}

static int falling(const void *a, const void *b) {
    const double *x = a, *y = b;
    return (*x < *y) - (*x > *y);
}

double *test_singular_values(size_t p, size_t q, const double *a) {
    size_t rows = p < q ? p : q, columns = p < q ? q : p;
    double *work = test_transpose(p, q, a), *value = test_zeros(rows), cosine = 1;
    if (p <= q) memcpy(work, a, p * q * sizeof *a);
    for (int sweep = 0; sweep < 40 && cosine > 1e-15; sweep++) {
        cosine = 0;
        for (size_t i = 0; i < rows; i++)
            for (size_t j = i + 1; j < rows; j++)
                cosine = fmax(cosine, rotate(work + i * columns, work + j * columns, columns));
    }
    for (size_t i = 0; i < rows; i++) value[i] = sqrt(dot(work + i * columns, work + i * columns, columns));
    qsort(value, rows, sizeof *value, falling);
    free(work);
    return value;
}

/* `count` orthonormal rows of length n, by Gram-Schmidt done twice. */
static double *orthonormal_rows(uint64_t seed, size_t count, size_t n) {
    double *x = test_normal(seed, count * n);
    for (size_t i = 0; i < count; i++) {
        for (int twice = 0; twice < 2; twice++)
            for (size_t j = 0; j < i; j++) {
                double part = dot(x + i * n, x + j * n, n);
                for (size_t t = 0; t < n; t++) x[i * n + t] -= part * x[j * n + t];
            }
        double length = sqrt(dot(x + i * n, x + i * n, n));
        for (size_t t = 0; t < n; t++) x[i * n + t] /= length;
    }
    return x;
}

double *test_matrix_of_values(uint64_t seed, size_t p, size_t q, const double *value) {
    size_t k = p < q ? p : q;
    double *left = orthonormal_rows(seed, k, p), *right = orthonormal_rows(seed + 1, k, q);
    for (size_t i = 0; i < k; i++)
        for (size_t t = 0; t < p; t++) left[i * p + t] *= value[i];
    double *transposed = test_transpose(k, p, left), *product = test_multiply(p, q, k, transposed, right);
    free(left);
    free(right);
    free(transposed);
    return product;
}
