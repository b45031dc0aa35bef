/* Checked 64-bit arithmetic: counts are exact or the operation fails. Every function returns false on
 * overflow and then leaves *out undefined; the caller reports TN_OVERFLOW naming the quantity. */
#ifndef TN_BASE_CHECKED_H
#define TN_BASE_CHECKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline bool tn_mul(uint64_t a, uint64_t b, uint64_t *out) {
    return !__builtin_mul_overflow(a, b, out);
}

static inline bool tn_add(uint64_t a, uint64_t b, uint64_t *out) {
    return !__builtin_add_overflow(a, b, out);
}

/* *sum += a * b */
static inline bool tn_mul_add(uint64_t a, uint64_t b, uint64_t *sum) {
    uint64_t product;
    return tn_mul(a, b, &product) && tn_add(*sum, product, sum);
}

/* Product of `count` factors; 1 for none. A zero factor makes the product 0 even where others would overflow.
 */
static inline bool tn_product(const uint64_t *factor, size_t count, uint64_t *out) {
    uint64_t product = 1;
    bool fits = true, zero = false;
    for (size_t i = 0; i < count; i++) {
        zero |= factor[i] == 0;
        fits = fits && tn_mul(product, factor[i], &product);
    }
    *out = zero ? 0 : product;
    return zero || fits;
}

static inline uint64_t tn_ceil_div(uint64_t a, uint64_t b) {
    return a / b + (a % b != 0);
}

static inline uint64_t tn_least(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

static inline uint64_t tn_greatest(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

/* Of two counts, for qsort and bsearch: the lesser comes first. */
static inline int tn_count_order(const void *a, const void *b) {
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Of two numbers that are not both 0. */
static inline uint64_t tn_greatest_common_divisor(uint64_t a, uint64_t b) {
    while (b > 0) {
        const uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

#endif
