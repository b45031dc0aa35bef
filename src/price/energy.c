#include "price/energy.h"

#include <math.h>

const char *const tn_energy_names[] = {"static",          "kernels",  "clock tree", "memory blocks",
                                       "memory accesses", "off chip", "refresh",    NULL};

static const double JOULE_PER_PJ = 1e-12;

double tn_energy_volts(const tn_device *device, double MHz) {
    const tn_device_dvfs *points = &device->dvfs;
    const double nominal = device->energy.voltage_V.value;
    size_t above = 0;
    if (points->volts.count == 0) return fmin(1, MHz / device->clock_MHz) * nominal;
    while (above < points->MHz.count && points->MHz.item[above] < MHz) above++;
    if (above == points->MHz.count) return nominal;
    if (above == 0) return fmin(points->volts.item[0], nominal);
    const double *volts = points->volts.item + above - 1, *clock = points->MHz.item + above - 1;
    return fmin(nominal, volts[0] + (volts[1] - volts[0]) * (MHz - clock[0]) / (clock[1] - clock[0]));
}

double tn_energy_capacitance_pF(const tn_device *device, const tn_resources *amount) {
    const tn_device_energy *energy = &device->energy;
    return ((double)amount->lut * energy->lut_pF.value + (double)amount->ff * energy->ff_pF.value) *
               (1 + energy->wires.value) +
           (double)amount->dsp * energy->dsp_pF.value + (double)amount->bram18 * energy->bram18_pF.value +
           (double)amount->uram * energy->uram_pF.value;
}

void tn_energy_of(const tn_device *device, const tn_activity *activity, double joules[TN_ENERGY_PARTS]) {
    const tn_device_energy *energy = &device->energy;
    double volts = energy->voltage_V.value, square = volts * volts * (1 - activity->lowered_squared),
           toggle = energy->toggle.value, idle = energy->idle_toggle.value;
    joules[TN_ENERGY_STATIC] =
        (energy->static_W.value * (1 - activity->lowered) + activity->off_chip_rest_W) * activity->seconds;
    joules[TN_ENERGY_KERNELS] =
        JOULE_PER_PJ * square * (toggle * activity->busy_pF + idle * activity->idle_pF);
    joules[TN_ENERGY_CLOCK] = JOULE_PER_PJ * square * activity->clock_pF * activity->cycles;
    joules[TN_ENERGY_MEMORY_BLOCKS] = JOULE_PER_PJ * square * idle * activity->block_pF * activity->cycles;
    joules[TN_ENERGY_MEMORY_ACCESSES] =
        JOULE_PER_PJ * (activity->access_bits[TN_STYLE_BLOCK] * energy->bram_pJ_per_bit.value +
                        activity->access_bits[TN_STYLE_ULTRA] * energy->uram_pJ_per_bit.value +
                        activity->access_bits[TN_STYLE_DISTRIBUTED] * energy->lutram_pJ_per_bit.value);
    joules[TN_ENERGY_OFF_CHIP] = JOULE_PER_PJ * activity->off_chip_pJ;
    joules[TN_ENERGY_REFRESH] = JOULE_PER_PJ * activity->refresh_pJ;
}
