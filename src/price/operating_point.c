#include "price/operating_point.h"

#include "price/energy.h"

#include <math.h>

tn_operating_point tn_operating_point_of(const tn_step *step, const tn_device *device,
                                         const tn_work_price *work) {
    const double volts = device->energy.voltage_V.value, deadline = 1e-6 * step->deadline_us,
                 cycles_per_step = (double)work->cycles_per_step, clock_Hz = device->clock_MHz * 1e6;
    tn_operating_point point = {.seconds = cycles_per_step / clock_Hz};
    const tn_exit_work mean = {1, cycles_per_step}, *exit = work->exits ? work->exit : &mean;
    const uint32_t exits = work->exits ? work->exits : 1;
    double all = 0, squares = 0, weighted = 0;
    if (!(deadline > 0)) return point;
    point.seconds = 0;
    for (uint32_t e = 0; e < exits; e++) all += exit[e].share * exit[e].cycles;
    for (uint32_t e = 0; e < exits; e++) {
        /* Side by side operations take less than their sum. */
        const double cycles = all > 0 ? exit[e].cycles * cycles_per_step / all : 0,
                     seconds = fmax(cycles / clock_Hz, deadline),
                     needed =
                         fmax(tn_energy_volts(device, 1e-6 * cycles / seconds), fmin(step->least_V, volts)),
                     share = volts > 0 ? needed / volts : 1;
        point.seconds += exit[e].share * seconds;
        weighted += exit[e].share * seconds * share;
        squares += exit[e].share * cycles * share * share;
    }
    point.lowered = 1 - weighted / point.seconds;
    point.lowered_squared = cycles_per_step > 0 ? 1 - squares / cycles_per_step : 0;
    return point;
}
