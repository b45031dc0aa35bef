#include "hardware/energy.h"

#include <math.h>
#include <string.h>

const char *const tn_energy_names[] = {"static",          "kernels",  "memory blocks",
                                       "memory accesses", "off chip", NULL};

static const double JOULE_PER_PJ = 1e-12;

/* An unverified figure that says no range of its own may be wrong by this factor either way. */
static const double UNVERIFIED_FACTOR = 2;

void tn_figure_range(const tn_sourced *figure, double *least, double *most) {
    bool ranged = figure->least > 0 || figure->most > 0;
    double factor = !ranged && figure->origin == TN_UNVERIFIED ? UNVERIFIED_FACTOR : 1;
    *least = ranged ? fmin(figure->least, figure->value) : figure->value / factor;
    *most = ranged ? fmax(figure->most, figure->value) : figure->value * factor;
}

tn_device tn_energy_extreme(const tn_device *device, bool most, tn_external_memory *external) {
    tn_device extreme = *device;
    tn_sourced figure[TN_ENERGY_FIGURES];
    memcpy(figure, &extreme.energy, sizeof figure);
    for (size_t i = 0; i < TN_ENERGY_FIGURES; i++) {
        double low, high;
        tn_figure_range(&figure[i], &low, &high);
        figure[i].value = most ? high : low;
    }
    memcpy(&extreme.energy, figure, sizeof figure);
    if (extreme.external.count > 0) {
        *external = *(const tn_external_memory *)device->external.item;
        if (external->origin == TN_UNVERIFIED)
            external->pJ_per_bit *= most ? UNVERIFIED_FACTOR : 1 / UNVERIFIED_FACTOR;
        extreme.external.item = external;
    }
    return extreme;
}

double tn_energy_capacitance_pF(const tn_device *device, const tn_resources *amount) {
    const tn_device_energy *energy = &device->energy;
    return (double)amount->lut * energy->lut_pF.value + (double)amount->ff * energy->ff_pF.value +
           (double)amount->dsp * energy->dsp_pF.value + (double)amount->bram18 * energy->bram18_pF.value +
           (double)amount->uram * energy->uram_pF.value;
}

void tn_energy_of(const tn_device *device, const tn_activity *activity, double joules[TN_ENERGY_PARTS]) {
    const tn_device_energy *energy = &device->energy;
    double square = energy->voltage_V.value * energy->voltage_V.value, toggle = energy->toggle.value,
           idle = energy->idle_toggle.value;
    joules[TN_ENERGY_STATIC] = energy->static_W.value * activity->seconds;
    joules[TN_ENERGY_KERNELS] =
        JOULE_PER_PJ * square * (toggle * activity->busy_pF + idle * activity->idle_pF);
    joules[TN_ENERGY_MEMORY_BLOCKS] = JOULE_PER_PJ * square * idle * activity->block_pF * activity->cycles;
    joules[TN_ENERGY_MEMORY_ACCESSES] =
        JOULE_PER_PJ * (activity->access_bits[TN_STYLE_BLOCK] * energy->bram_pJ_per_bit.value +
                        activity->access_bits[TN_STYLE_ULTRA] * energy->uram_pJ_per_bit.value +
                        activity->access_bits[TN_STYLE_DISTRIBUTED] * energy->lutram_pJ_per_bit.value);
    joules[TN_ENERGY_OFF_CHIP] = JOULE_PER_PJ * activity->off_chip_bits * activity->off_chip_pJ_per_bit;
}
