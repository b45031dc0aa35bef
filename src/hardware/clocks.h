/* A step's price at other clocks: 100, 150 and 200 MHz, the device's own, and above 200 MHz those that rows of
 * the device's operators meet. A clock that some operator of the step does not meet is left out: nothing is
 * extrapolated. Slower operators have fewer stages, so cycles differ too. What a clock asks of placement and
 * routing is not in it.
 */
#ifndef TN_HARDWARE_CLOCKS_H
#define TN_HARDWARE_CLOCKS_H

#include "base/error.h"
#include "base/public.h"
#include "hardware/price.h"

TN_PUBLIC_BEGIN

enum { TN_CLOCKS_MOST = 12 };

typedef struct tn_clock_price {
    double clock_MHz;
    uint64_t cycles_per_step;
    double seconds_per_step;
    uint64_t dsp;
} tn_clock_price;

/* Ascending by clock. */
tn_status tn_clock_prices(const tn_step *step, const tn_device *device, const tn_build *build,
                          tn_clock_price *price, uint32_t *count, tn_error *error);

TN_PUBLIC_END

#endif
