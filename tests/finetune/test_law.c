/* The laws against their formulas written anew, their derivatives against differences, and what they promise:
 * throughput rises with the batch, saturates, falls with the sparsity. */
#include "finetune/law.h"
#include "support/finetune.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

static uint64_t dice = 7;

static double between(double low, double high) {
    return low + (high - low) * test_uniform(&dice);
}

static void draw(double *c, test_step_law *law) {
    *law = (test_step_law){.fixed = pow(10, between(-2, 1)),
                           .query = pow(10, between(-4, 0)),
                           .g = between(0.02, 0.98),
                           .h = between(0.02, 0.98),
                           .p = between(1, 9),
                           .m = pow(10, between(-1, 2)),
                           .w = between(0.01, 0.99)};
    const double values[] = {law->fixed, law->query, law->g, law->h, law->p, law->m, law->w};
    memcpy(c, values, sizeof values);
}

static void step_law_is_its_formula(void **state) {
    (void)state;
    for (int i = 0; i < 3000; i++) {
        double c[TN_STEP_COEFFICIENTS], batch = floor(pow(10, between(0, 3))), s = between(0.01, 1);
        test_step_law law;
        draw(c, &law);
        if (i % 3 == 0) s = 1;
        double expected = batch / test_step_seconds(&law, batch, s);
        assert_true(fabs(tn_finetune_throughput(TN_FINETUNE_STEP, c, batch, s) / expected - 1) < 1e-9);
    }
}

static void log_law_is_its_formula(void **state) {
    (void)state;
    const double c[] = {0.7, 1.8, 0.4};
    /* the published script's way of writing it */
    double expected = 0.4 + 0.7 * log(pow(6, 1 / (0.25 * 1.8)));
    assert_true(fabs(tn_finetune_throughput(TN_FINETUNE_LOG, c, 6, 0.25) - expected) < 1e-12);
    assert_true(tn_finetune_throughput(TN_FINETUNE_LOG, c, 1, 0.25) == 0.4);
}

static void step_law_rises_saturates_and_falls(void **state) {
    (void)state;
    for (int i = 0; i < 500; i++) {
        double c[TN_STEP_COEFFICIENTS], s = i % 2 ? 1 : between(0.01, 1);
        test_step_law law;
        draw(c, &law);
        double limit = 1 / (law.query * (1 - law.h + law.h * s)), before = 0;
        for (double batch = 1; batch < 1e7; batch *= 1.7) {
            double now = tn_finetune_throughput(TN_FINETUNE_STEP, c, batch, s);
            assert_true(now >= before * (1 - 1e-12) && now <= limit * (1 + 1e-9));
            if (s < 0.99) {
                double denser = tn_finetune_throughput(TN_FINETUNE_STEP, c, batch, s * 1.01);
                assert_true(denser <= now * (1 + 1e-12));
            }
            before = now;
        }
        assert_true(tn_finetune_throughput(TN_FINETUNE_STEP, c, 1e9, s) > 0.99 * limit);
    }
}

static void a_dense_model_has_no_experts(void **state) {
    (void)state;
    const double c[TN_STEP_COEFFICIENTS] = {3, 0.5, 0, 0, 2, 8, 0};
    double seconds = 8 / tn_finetune_throughput(TN_FINETUNE_STEP, c, 8, 1);
    assert_true(fabs(seconds - sqrt(9 + 16)) < 1e-12);
}

static void derivatives_are_those_of_the_law(void **state) {
    (void)state;
    for (int i = 0; i < 400; i++) {
        double x[TN_STEP_PARAMETERS], gradient[TN_STEP_PARAMETERS];
        for (int j = 0; j < TN_STEP_PARAMETERS; j++) x[j] = between(-2, 2);
        tn_finetune_point point = {.sparsity = i % 3 ? between(0.05, 0.99) : 1,
                                   .batch = floor(between(1, 40)),
                                   .log_bandwidth = between(-2, 2),
                                   .log_peak = between(-2, 2)};
        tn_step_log_throughput(x, &point, gradient);
        for (int j = 0; j < TN_STEP_PARAMETERS; j++) {
            double kept = x[j], step = 1e-5;
            x[j] = kept + step;
            double above = tn_step_log_throughput(x, &point, NULL);
            x[j] = kept - step;
            double below = tn_step_log_throughput(x, &point, NULL);
            x[j] = kept;
            double difference = (above - below) / (2 * step);
            assert_true(fabs(gradient[j] - difference) < 1e-7 + 1e-5 * fabs(difference));
        }
    }
}

/* On another GPU: T falls as bandwidth^-a, C as peak^-c. */
static void exponents_scale_time(void **state) {
    (void)state;
    const double x[TN_STEP_PARAMETERS] = {0.3, -1, 0.2, 0.5, 0, 1, 0.6, 0.4, 0.7};
    tn_finetune_point point = {.sparsity = 0.25, .batch = 5, .log_bandwidth = log(3), .log_peak = log(2)};
    test_step_law law = {.fixed = exp(0.3) * pow(3, -0.4),
                         .query = exp(-1) * pow(2, -0.7),
                         .g = 1 / (1 + exp(-0.2)),
                         .h = 1 / (1 + exp(-0.5)),
                         .p = 2,
                         .m = exp(1),
                         .w = 1 / (1 + exp(-0.6))};
    double expected = log(5 / test_step_seconds(&law, 5, 0.25));
    assert_true(fabs(tn_step_log_throughput(x, &point, NULL) - expected) < 1e-12);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(step_law_is_its_formula),
        cmocka_unit_test(log_law_is_its_formula),
        cmocka_unit_test(step_law_rises_saturates_and_falls),
        cmocka_unit_test(a_dense_model_has_no_experts),
        cmocka_unit_test(derivatives_are_those_of_the_law),
        cmocka_unit_test(exponents_scale_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
