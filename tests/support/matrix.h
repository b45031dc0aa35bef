/* Small dense linear algebra written from the definitions, to check the library's against. C order. */
#ifndef TEST_SUPPORT_MATRIX_H
#define TEST_SUPPORT_MATRIX_H

#include <stddef.h>
#include <stdint.h>

/* `count` zeros; free them. Asserts that there is memory. */
double *test_zeros(size_t count);
/* `count` numbers of about normal distribution; the same seed gives the same. Free them. */
double *test_normal(uint64_t seed, size_t count);
/* a (m x k) times b (k x n), in long double. Free it. */
double *test_multiply(size_t m, size_t n, size_t k, const double *a, const double *b);
double *test_transpose(size_t p, size_t q, const double *a);
double test_squares(const double *x, size_t count);
/* Squares of x - y. */
double test_distance(const double *x, const double *y, size_t count);
/* Singular values, falling, min(p, q) of them, by one-sided Jacobi rotations. Free them. */
double *test_singular_values(size_t p, size_t q, const double *a);
/* A p x q matrix with the given singular values (min(p, q) of them) and random vectors. Free it. */
double *test_matrix_of_values(uint64_t seed, size_t p, size_t q, const double *value);

#endif
