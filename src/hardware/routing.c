#include "hardware/routing.h"

#include <math.h>

static double lut_per_bit(const tn_multiplexer_row *row) {
    return (double)row->lut / (double)row->width_bits;
}

uint64_t tn_multiplexer_lut(const tn_device *device, uint64_t inputs, uint64_t bits) {
    enum {
        MORE_OF_A_LUT6 = 3
    }; /* inputs that a LUT adds: two selects, four data, one of them the LUT before */
    const tn_multiplexer_row *row = device->multiplexers.item, *below = NULL, *above = NULL;
    double n = (double)inputs, each;
    if (inputs <= 1) return 0;
    for (size_t i = 0; i < device->multiplexers.count; i++) {
        if (row[i].inputs <= inputs && (!below || row[i].inputs > below->inputs)) below = &row[i];
        if (row[i].inputs >= inputs && (!above || row[i].inputs < above->inputs)) above = &row[i];
    }
    if (!below && !above)
        each = (n - 1) / MORE_OF_A_LUT6;
    else if (!below)
        each = lut_per_bit(above);
    else if (!above)
        each = lut_per_bit(below) * n / (double)below->inputs;
    else if (above == below)
        each = lut_per_bit(above);
    else
        each = lut_per_bit(below) + (lut_per_bit(above) - lut_per_bit(below)) * (n - (double)below->inputs) /
                                        (double)(above->inputs - below->inputs);
    return (uint64_t)ceil(each * (double)bits - 1e-9);
}

tn_resources tn_route_resources(const tn_device *device, const tn_route *route) {
    uint64_t bits = route->words * route->word_bits;
    tn_resources used = {.lut = tn_multiplexer_lut(device, route->sources, bits), .ff = bits};
    for (int i = 0; i < TN_ROTATIONS_MOST; i++) used.lut += tn_multiplexer_lut(device, route->banks[i], bits);
    return used;
}
