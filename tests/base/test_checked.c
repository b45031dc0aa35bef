#include "base/checked.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Against 128-bit arithmetic in halves: the high word of a product by schoolbook multiplication. */
static uint64_t high_word(uint64_t a, uint64_t b) {
    uint64_t a0 = a & 0xffffffff, a1 = a >> 32, b0 = b & 0xffffffff, b1 = b >> 32;
    uint64_t middle = a1 * b0 + (a0 * b0 >> 32), other = a0 * b1 + (middle & 0xffffffff);
    return a1 * b1 + (middle >> 32) + (other >> 32);
}

static const uint64_t EDGES[] = {0,
                                 1,
                                 2,
                                 3,
                                 0xffffffff,
                                 0x100000000,
                                 0x100000001,
                                 UINT64_MAX / 3,
                                 UINT64_MAX / 2,
                                 UINT64_MAX / 2 + 1,
                                 UINT64_MAX - 1,
                                 UINT64_MAX};
enum { COUNT = sizeof EDGES / sizeof *EDGES };

static void products_and_sums(void **state) {
    (void)state;
    for (int i = 0; i < COUNT; i++)
        for (int k = 0; k < COUNT; k++) {
            uint64_t a = EDGES[i], b = EDGES[k], out, sum = b;
            assert_int_equal(tn_mul(a, b, &out), high_word(a, b) == 0);
            if (high_word(a, b) == 0) assert_true(out == a * b);
            assert_int_equal(tn_add(a, b, &out), a <= UINT64_MAX - b);
            if (a <= UINT64_MAX - b) assert_true(out == a + b);
            bool fits = high_word(a, 2) == 0 && 2 * a <= UINT64_MAX - b;
            assert_int_equal(tn_mul_add(a, 2, &sum), fits);
            if (fits) assert_true(sum == b + 2 * a);
        }
}

static void products_of_lists(void **state) {
    (void)state;
    uint64_t out = 9;
    assert_true(tn_product(NULL, 0, &out));
    assert_int_equal(out, 1);
    assert_true(tn_product((uint64_t[]){12, 8, 8}, 3, &out));
    assert_int_equal(out, 768);
    assert_true(tn_product((uint64_t[]){UINT64_MAX, UINT64_MAX, 0}, 3, &out));
    assert_int_equal(out, 0);
    assert_true(tn_product((uint64_t[]){0, UINT64_MAX, UINT64_MAX}, 3, &out));
    assert_int_equal(out, 0);
    assert_false(tn_product((uint64_t[]){1u << 31, 1u << 31, 4}, 3, &out));
}

static void ceilings(void **state) {
    (void)state;
    assert_int_equal(tn_ceil_div(0, 7), 0);
    assert_int_equal(tn_ceil_div(7, 7), 1);
    assert_int_equal(tn_ceil_div(8, 7), 2);
    assert_true(tn_ceil_div(UINT64_MAX, 2) == (uint64_t)1 << 63);
    assert_true(tn_ceil_div(UINT64_MAX, UINT64_MAX) == 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(products_and_sums),
                                       cmocka_unit_test(products_of_lists), cmocka_unit_test(ceilings)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
