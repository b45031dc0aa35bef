/* Prices at other clocks are those of a device with that clock; clocks that no operator meets are left out. */
#include "design/changes.h"
#include "device/device_data.h"
#include "support/prices.h"
#include "support/steps.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

static void as_with_that_clock(void **state) {
    (void)state;
    static const double expected[] = {100, 150, 160, 200};
    tn_arena arena = {0};
    tn_device *device;
    const char *own = "clock_MHz=160";
    tn_clock_price price[TN_CLOCKS_MOST];
    uint32_t count;
    const tn_step *step = test_step_trains(2, 4, &arena);
    tn_build build = test_build();
    assert_int_equal(tn_device_load("u50", &own, 1, &arena, &device, NULL), TN_OK);
    tn_priced given = {.design = {.device = device, .build = build},
                       .given = step,
                       .workload = test_prepare(step, device, &arena)};
    assert_int_equal(tn_clock_prices(&given, price, &count, NULL), TN_OK);
    assert_int_equal(count, 4); /* no operator of the file meets more than 200 MHz */
    for (uint32_t i = 0; i < count; i++) {
        char set[64];
        const char *const sets[] = {set};
        tn_device *other;
        snprintf(set, sizeof set, "clock_MHz=%g", expected[i]);
        assert_int_equal(tn_device_load("u50", sets, 1, &arena, &other, NULL), TN_OK);
        tn_price alone = test_price(test_prepare(step, other, &arena), &build);
        assert_true(price[i].clock_MHz == expected[i]);
        assert_int_equal(price[i].cycles_per_step, alone.cycles_per_step);
        assert_true(price[i].seconds_per_step == alone.seconds_per_step);
        assert_int_equal(price[i].dsp, alone.used.dsp);
    }
    /* A faster multiplier alone meets no clock: the adder does not. */
    static const char *const fast[] = {"operators.fp32-multiply-5ns.period_ns=2.5"};
    assert_int_equal(tn_device_load("u50", fast, 1, &arena, &device, NULL), TN_OK);
    given.design.device = device;
    given.workload = test_prepare(step, device, &arena);
    assert_int_equal(tn_clock_prices(&given, price, &count, NULL), TN_OK);
    assert_int_equal(count, 3);
    tn_arena_free(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(as_with_that_clock)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
