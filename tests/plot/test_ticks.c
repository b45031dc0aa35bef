/* Marks of axes: at least two on every axis, inside it, at round places, whatever the range. */
#include "base/random.h"
#include "plot/gnuplot.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>

static void check(double least, double most, bool log) {
    const tn_ticks ticks = tn_ticks_of(least, most, log);
    if (ticks.count < 2 || ticks.count > TN_TICKS_MOST)
        fail_msg("%g to %g, log %d: %zu marks", least, most, log, ticks.count);
    assert_true(ticks.least < ticks.most && ticks.least <= least && most <= ticks.most);
    const double slack = 1e-8 * fmax(fabs(ticks.least), fabs(ticks.most));
    for (size_t i = 0; i < ticks.count; i++) {
        char text[32];
        double read;
        assert_true(ticks.value[i] >= ticks.least - slack && ticks.value[i] <= ticks.most + slack);
        if (i) assert_true(ticks.value[i] > ticks.value[i - 1]);
        /* Shown by six digits, no two are the same. */
        snprintf(text, sizeof text, "%.6g", ticks.value[i]);
        sscanf(text, "%lf", &read);
        if (most - least > 1e-3 * fabs(most) && i) assert_true(read > ticks.value[i - 1]);
    }
}

static void never_one_alone(void **state) {
    uint64_t random = 7;
    (void)state;
    for (int i = 0; i < 20000; i++) {
        double a = pow(10, 24 * tn_splitmix_unit(&random) - 12),
               b = a * pow(10, 6 * tn_splitmix_unit(&random));
        if (i % 3 == 0) b = a * (1 + 0.2 * tn_splitmix_unit(&random));
        check(a, b, true);
        check(a, b, false);
        check(-a, b, false);
    }
    check(1, 1e12, true);
    check(5, 5, true);
    check(5, 5, false);
    check(0, 0, false);
    check(-3, -3, false);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(never_one_alone)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
