/* Random numbers: the published sequences of both generators, distributions by their moments, and what a seed
 * promises. */
#include "base/memory.h"
#include "base/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

/* The 10000th number of MT19937 from seed 5489 is 4123659995 (ISO C++, rand.predef). */
static void mersenne_twister_as_published(void **state) {
    (void)state;
    tn_random *random;
    uint32_t last = 0;
    assert_int_equal(tn_random_open(5489, &random, NULL), TN_OK);
    for (int i = 0; i < 10000; i++) last = tn_random_below(random, UINT32_MAX);
    tn_random_close(random);
    assert_int_equal(last, 4123659995u);
}

/* The first numbers from seed 1234567, of the reference implementation. */
static void splitmix_as_published(void **state) {
    (void)state;
    const uint64_t expected[] = {6457827717110365317u, 3203168211198807973u, 9817491932198370423u,
                                 4593380528125082431u, 16408922859458223821u};
    uint64_t seed = 1234567;
    for (int i = 0; i < 5; i++) assert_true(tn_splitmix_next(&seed) == expected[i]);
    for (int i = 0; i < 1000; i++) {
        double unit = tn_splitmix_unit(&seed);
        assert_true(unit >= 0 && unit < 1);
        assert_true(tn_splitmix_below(&seed, 7) < 7);
    }
}

/* Mean and variance within 5 standard errors of 0 and 1, the fourth moment near 3. */
static void check_normal(const double *value, size_t count) {
    double sum = 0, squares = 0, fourth = 0;
    for (size_t i = 0; i < count; i++) {
        sum += value[i];
        squares += value[i] * value[i];
        fourth += pow(value[i], 4);
    }
    double n = (double)count;
    assert_true(fabs(sum / n) < 5 / sqrt(n));
    assert_true(fabs(squares / n - 1) < 5 * sqrt(2 / n));
    assert_true(fabs(fourth / n - 3) < 5 * sqrt(96 / n));
}

static void normal_numbers(void **state) {
    (void)state;
    enum { COUNT = 100000 };
    static double first[COUNT], second[COUNT];
    tn_random *random;
    assert_int_equal(tn_random_fill_normal(3, first, COUNT, NULL), TN_OK);
    assert_int_equal(tn_random_fill_normal(3, second, COUNT, NULL), TN_OK);
    assert_memory_equal(first, second, sizeof first);
    check_normal(first, COUNT);
    assert_int_equal(tn_random_open(4, &random, NULL), TN_OK);
    for (int i = 0; i < COUNT; i++) second[i] = tn_random_normal(random);
    tn_random_close(random);
    check_normal(second, COUNT);
}

/* Each of the 24 orders of 4 things about 1/24 of the time: chi squared below its 99.99th percentile. */
static void shuffles(void **state) {
    (void)state;
    enum { ROUNDS = 24000 };
    unsigned seen[256] = {0}, orders = 0;
    double chi = 0;
    tn_random *random;
    assert_int_equal(tn_random_open(1, &random, NULL), TN_OK);
    for (int round = 0; round < ROUNDS; round++) {
        uint16_t thing[4] = {0, 1, 2, 3};
        tn_random_shuffle(random, thing, 4, sizeof *thing);
        seen[thing[0] * 64 + thing[1] * 16 + thing[2] * 4 + thing[3]]++;
        assert_true(tn_random_below(random, 3) < 3);
    }
    tn_random_close(random);
    for (int i = 0; i < 256; i++) {
        orders += seen[i] > 0;
        if (seen[i]) chi += pow(seen[i] - ROUNDS / 24.0, 2) / (ROUNDS / 24.0);
    }
    assert_int_equal(orders, 24);
    assert_true(chi < 58.0); /* 23 degrees of freedom */
}

static void no_memory(void **state) {
    (void)state;
    tn_random *random;
    tn_error error;
    double value;
    tn_memory_fail_at(1);
    assert_int_equal(tn_random_open(1, &random, &error), TN_MEMORY);
    assert_null(random);
    tn_memory_fail_at(1);
    assert_int_equal(tn_random_fill_normal(1, &value, 1, &error), TN_MEMORY);
    tn_memory_fail_at(0);
    tn_random_close(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mersenne_twister_as_published),
        cmocka_unit_test(splitmix_as_published),
        cmocka_unit_test(normal_numbers),
        cmocka_unit_test(shuffles),
        cmocka_unit_test(no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
