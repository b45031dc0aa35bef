/* What the library borrows from its host and gives back: GSL's error handler and OpenBLAS's threads. */
#include "base/guard.h"
#include "roofline/roofline.h"
#include "run/check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cblas.h>
#include <cmocka.h>
#include <gsl/gsl_errno.h>

static int reports;

static void host_handler(const char *reason, const char *file, int line, int code) {
    (void)reason, (void)file, (void)line, (void)code;
    reports++;
}

/* The host's handler, read by setting it again. */
static gsl_error_handler_t *handler_now(void) {
    gsl_error_handler_t *now = gsl_set_error_handler(host_handler);
    gsl_set_error_handler(now);
    return now;
}

static void the_handler_comes_back(void **state) {
    (void)state;
    gsl_set_error_handler(host_handler);
    tn_gsl_quiet();
    tn_gsl_quiet();
    gsl_error("inside", __FILE__, __LINE__, GSL_ENOMEM);
    assert_int_equal(reports, 0);
    tn_gsl_restore();
    assert_false(handler_now() == host_handler);
    tn_gsl_restore();
    assert_true(handler_now() == host_handler);
    gsl_set_error_handler(NULL);
}

static void threads_come_back(void **state) {
    (void)state;
    openblas_set_num_threads(2);
    int before = openblas_get_num_threads();
    tn_blas_serial();
    tn_blas_serial();
    assert_int_equal(openblas_get_num_threads(), 1);
    tn_blas_restore();
    assert_int_equal(openblas_get_num_threads(), 1);
    tn_blas_restore();
    assert_int_equal(openblas_get_num_threads(), before);
}

/* From many threads at once: whoever comes last restores. */
static void from_many_threads(void **state) {
    (void)state;
    gsl_set_error_handler(host_handler);
    openblas_set_num_threads(2);
    int before = openblas_get_num_threads(), wrong = 0;
#pragma omp parallel for num_threads(8) reduction(+ : wrong)
    for (int i = 0; i < 1000; i++) {
        tn_gsl_quiet();
        tn_blas_serial();
        wrong += openblas_get_num_threads() != 1;
        tn_blas_restore();
        tn_gsl_restore();
    }
    assert_int_equal(wrong, 0);
    assert_int_equal(openblas_get_num_threads(), before);
    assert_true(handler_now() == host_handler);
    gsl_set_error_handler(NULL);
}

/* Calls that use both inside, one that succeeds and one that fails. */
static void calls_leave_the_host_as_it_was(void **state) {
    (void)state;
    gsl_set_error_handler(host_handler);
    openblas_set_num_threads(2);
    int before = openblas_get_num_threads();
    reports = 0;
    tn_cpu_rates rates;
    assert_int_equal(tn_cpu_measure(&rates, NULL), TN_OK);
    assert_int_equal(openblas_get_num_threads(), before);
    tn_arena arena = {0};
    tn_kriging surface;
    double x[16], y[16];
    for (int i = 0; i < 16; i++) x[i] = i, y[i] = i % 3;
    assert_int_equal(tn_kriging_fit(x, y, 16, 1, &arena, &surface, NULL), TN_OK);
    assert_int_equal(tn_kriging_fit(x, y, 2, 1, &arena, &surface, NULL), TN_LIMIT);
    assert_int_equal(openblas_get_num_threads(), before);
    assert_true(handler_now() == host_handler);
    assert_int_equal(reports, 0);
    tn_arena_free(&arena);
    gsl_set_error_handler(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_handler_comes_back),
        cmocka_unit_test(threads_come_back),
        cmocka_unit_test(from_many_threads),
        cmocka_unit_test(calls_leave_the_host_as_it_was),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
