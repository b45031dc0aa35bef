#include "hardware/figure_range.h"

#include <math.h>
#include <string.h>

/* An unverified figure that says no range of its own may be wrong by this factor either way. */
enum { UNVERIFIED_FACTOR = 2 };

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
            external->pJ_per_bit *= most ? UNVERIFIED_FACTOR : 1.0 / UNVERIFIED_FACTOR;
        extreme.external.item = external;
    }
    return extreme;
}

/* Upwards: an operator keeps at least one stage. */
static uint64_t extreme_count(uint64_t figure, bool most) {
    return most ? figure * UNVERIFIED_FACTOR : (figure + UNVERIFIED_FACTOR - 1) / UNVERIFIED_FACTOR;
}

/* The keys that are unverified: all of them, or those that are named so. */
static void stretch_control(tn_device_control *control, bool most) {
    const struct {
        const char *key;
        uint64_t *figure;
    } figures[] = {{"lut", &control->lut},
                   {"ff", &control->ff},
                   {"vector_lut", &control->vector_lut},
                   {"vector_ff", &control->vector_ff},
                   {"product_cycles", &control->product_cycles},
                   {"vector_cycles", &control->vector_cycles},
                   {"descriptor_bits", &control->descriptor_bits}};
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        bool unverified = control->origin == TN_UNVERIFIED;
        for (size_t j = 0; j < control->unverified.count; j++)
            unverified |= strcmp(control->unverified.item[j], figures[i].key) == 0;
        if (unverified) *figures[i].figure = extreme_count(*figures[i].figure, most);
    }
}

tn_status tn_operators_extreme(const tn_device *device, bool most, tn_arena *arena, tn_device **extreme,
                               tn_error *error) {
    tn_device *made;
    tn_operator_row *row;
    size_t rows = device->operators.count;
    TN_TRY(tn_arena_alloc(arena, 1, sizeof *made, &made, error));
    TN_TRY(tn_arena_alloc(arena, rows, sizeof *row, &row, error));
    *made = *device;
    if (rows) memcpy(row, device->operators.item, rows * sizeof *row);
    made->operators.item = row;
    for (size_t i = 0; i < rows; i++) {
        if (row[i].origin != TN_UNVERIFIED) continue;
        row[i].stages = extreme_count(row[i].stages, most);
        row[i].lut = extreme_count(row[i].lut, most);
        row[i].ff = extreme_count(row[i].ff, most);
    }
    stretch_control(&made->control, most);
    *extreme = made;
    return TN_OK;
}
