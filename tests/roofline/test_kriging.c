/* The surface against its defining equations solved by hand, on functions that are known, and with outliers.
 */
#include "base/memory.h"
#include "roofline/roofline.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>

static void value_is_the_formula(void **state) {
    (void)state;
    double x[] = {0, 0, 3, 1}, weight[] = {2, -1}, scale[] = {0.5, 2}, element[] = {1, 0.5};
    tn_kriging s = {.points = 2, .dimensions = 2, .x = x, .weight = weight, .scale = scale, .mean = 0.25};
    double near = sqrt(0.5 * 0.5 + 1 * 1), far = sqrt(1 * 1 + 1 * 1), root3 = sqrt(3.0);
    double by_hand =
        0.25 + 2 * (1 + root3 * near) * exp(-root3 * near) - (1 + root3 * far) * exp(-root3 * far);
    assert_true(fabs(tn_kriging_at(&s, element) - by_hand) < 1e-14);
    tn_kriging empty = {0};
    assert_true(tn_kriging_at(&empty, element) == 0);
}

enum { POINTS = 60, TESTED = 40 };

static double random_share(void) {
    return (double)rand() / RAND_MAX;
}

/* The third coordinate does not matter. */
static double known(const double *x) {
    return 0.6 * sin(x[0]) + 0.1 * x[1];
}

static void make_points(double (*x)[3], double *y, size_t count) {
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < 3; j++) x[i][j] = 6 * random_share();
        y[i] = known(x[i]);
    }
}

static double worst_error(const tn_kriging *s) {
    double worst = 0;
    for (int i = 0; i < TESTED; i++) {
        double x[3] = {0.5 + 5 * random_share(), 0.5 + 5 * random_share(), 0.5 + 5 * random_share()};
        worst = fmax(worst, fabs(tn_kriging_at(s, x) - known(x)));
    }
    return worst;
}

static void finds_a_known_function(void **state) {
    (void)state;
    double x[POINTS][3], y[POINTS];
    tn_arena arena = {0};
    tn_kriging s, again;
    srand(11);
    make_points(x, y, POINTS);
    assert_int_equal(tn_kriging_fit(&x[0][0], y, POINTS, 3, &arena, &s, NULL), TN_OK);
    assert_true(worst_error(&s) < 0.12);
    assert_true(s.scale[2] < s.scale[0]);
    double far[] = {1e6, 1e6, 1e6};
    assert_true(tn_kriging_at(&s, far) == s.mean);
    /* The same input gives the same surface. */
    assert_int_equal(tn_kriging_fit(&x[0][0], y, POINTS, 3, &arena, &again, NULL), TN_OK);
    for (size_t i = 0; i < POINTS; i++) assert_true(s.weight[i] == again.weight[i]);
    tn_arena_free(&arena);
}

static void outliers_do_not_bend_it(void **state) {
    (void)state;
    double x[POINTS][3], y[POINTS];
    tn_arena arena = {0};
    tn_kriging s;
    srand(11);
    make_points(x, y, POINTS);
    for (size_t i = 0; i < POINTS; i += 15) y[i] += 3;
    assert_int_equal(tn_kriging_fit(&x[0][0], y, POINTS, 3, &arena, &s, NULL), TN_OK);
    double sum = 0;
    for (int i = 0; i < TESTED; i++) {
        double element[3] = {0.5 + 5 * random_share(), 0.5 + 5 * random_share(), 0.5 + 5 * random_share()};
        sum += fabs(tn_kriging_at(&s, element) - known(element));
    }
    /* Four outliers of 3 among 60 would move an untrusting mean by 0.2 alone. */
    assert_true(sum / TESTED < 0.1);
    tn_arena_free(&arena);
}

/* The weights solve (C + noise / trust) weight = y - mean; with constant values they vanish. */
static void constant_values(void **state) {
    (void)state;
    double x[POINTS][3], y[POINTS];
    tn_arena arena = {0};
    tn_kriging s;
    srand(3);
    make_points(x, y, POINTS);
    for (size_t i = 0; i < POINTS; i++) y[i] = -1.5;
    assert_int_equal(tn_kriging_fit(&x[0][0], y, POINTS, 3, &arena, &s, NULL), TN_OK);
    assert_true(s.mean == -1.5);
    for (size_t i = 0; i < POINTS; i++) assert_true(s.weight[i] == 0);
    tn_arena_free(&arena);
}

static void limits_are_reported(void **state) {
    (void)state;
    double x[POINTS * 3] = {0}, y[POINTS] = {0};
    tn_arena arena = {0};
    tn_kriging s;
    assert_int_equal(tn_kriging_fit(x, y, 7, 3, &arena, &s, NULL), TN_LIMIT);
    assert_int_equal(tn_kriging_fit(x, y, TN_KRIGING_MOST_POINTS + 1, 3, &arena, &s, NULL), TN_LIMIT);
    assert_int_equal(tn_kriging_fit(x, y, 10, 0, &arena, &s, NULL), TN_LIMIT);
    assert_int_equal(tn_kriging_fit(x, y, 3, TN_KRIGING_MOST_DIMENSIONS + 1, &arena, &s, NULL), TN_LIMIT);
    tn_arena_free(&arena);
}

static void every_request_for_memory_may_fail(void **state) {
    (void)state;
    double x[12][3], y[12];
    srand(5);
    make_points(x, y, 12);
    for (long n = 1;; n++) {
        tn_arena arena = {0};
        tn_kriging s = {0};
        tn_memory_fail_at(n);
        tn_status status = tn_kriging_fit(&x[0][0], y, 12, 3, &arena, &s, NULL);
        tn_memory_fail_at(0);
        tn_arena_free(&arena);
        if (status == TN_OK) {
            assert_true(n > 4);
            break;
        }
        assert_int_equal(status, TN_MEMORY);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(value_is_the_formula),    cmocka_unit_test(finds_a_known_function),
        cmocka_unit_test(outliers_do_not_bend_it), cmocka_unit_test(constant_values),
        cmocka_unit_test(limits_are_reported),     cmocka_unit_test(every_request_for_memory_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
