/* The rows of a device's operators: which one is taken at a clock, and what no row is there for. */
#include "base/buffer.h"
#include "device/device_data.h"

#include <string.h>

/* A clock written with few digits (333.3 MHz for 3 ns) still meets its row. */
static bool meets_clock(const tn_operator_row *row, const tn_device *device) {
    return row->period_ns <= 1e3 / device->clock_MHz * (1 + 1e-3);
}

/* The device's set where one of its operators meets the clock, else that of high-level synthesis. */
static uint32_t set_of(const tn_device *device, const char *precision, tn_operator kind) {
    const tn_operator_row *rows = device->operators.item;
    for (size_t i = 0; i < device->operators.count; i++)
        if (rows[i].operator_kind == kind && rows[i].set == device->operator_set &&
            meets_clock(&rows[i], device) && strcmp(rows[i].precision, precision) == 0)
            return device->operator_set;
    return TN_OPERATORS_HLS;
}

bool tn_device_is_generated(const tn_device *device) {
    return device->operator_set == TN_OPERATORS_GENERATED &&
           set_of(device, "fp32", TN_MULTIPLY) == TN_OPERATORS_GENERATED &&
           set_of(device, "fp32", TN_ADDER) == TN_OPERATORS_GENERATED;
}

bool tn_device_has_operator(const tn_device *device, const tn_number_format *format, tn_operator kind) {
    const tn_operator_row *rows = device->operators.item;
    char precision[TN_NUMBER_FORMAT_NAME];
    tn_number_format_name(format, precision);
    for (size_t i = 0; i < device->operators.count; i++)
        if (rows[i].operator_kind == kind && strcmp(rows[i].precision, precision) == 0) return true;
    return false;
}

tn_status tn_device_operator(const tn_device *device, const tn_number_format *format, tn_operator kind,
                             const tn_operator_row **row, tn_error *error) {
    const tn_operator_row *rows = device->operators.item, *best = NULL, *fastest = NULL;
    char precision[TN_NUMBER_FORMAT_NAME];
    tn_number_format_name(format, precision);
    uint32_t set = set_of(device, precision, kind);
    for (size_t i = 0; i < device->operators.count; i++) {
        const tn_operator_row *operator_row = &rows[i];
        if (operator_row->operator_kind != kind || operator_row->set != set ||
            strcmp(operator_row->precision, precision) != 0)
            continue;
        if (!fastest || operator_row->period_ns < fastest->period_ns) fastest = operator_row;
        if (!meets_clock(operator_row, device)) continue;
        if (!best || operator_row->period_ns > best->period_ns) best = operator_row;
    }
    *row = best;
    if (best) return TN_OK;
    const char *kind_name = tn_operator_names[kind];
    if (!fastest)
        return tn_fail(error, TN_INPUT, "device %s has no %s operator for %s; add one to its `operators`",
                       device->name, kind_name, precision);
    return tn_fail(
        error, TN_INPUT, "device %s has no %s %s that meets %g MHz; the fastest one, %s, meets %g MHz",
        device->name, precision, kind_name, device->clock_MHz, fastest->name, 1e3 / fastest->period_ns);
}

/* ---- what no row meets ---- */

static bool is_same_operator(const tn_operator_row *a, const tn_operator_row *b) {
    return a->operator_kind == b->operator_kind && strcmp(a->precision, b->precision) == 0;
}

static bool is_met(const tn_device *device, const tn_operator_row *wanted) {
    const tn_operator_row *rows = device->operators.item;
    for (size_t i = 0; i < device->operators.count; i++)
        if (is_same_operator(&rows[i], wanted) && meets_clock(&rows[i], device) &&
            (rows[i].set == TN_OPERATORS_HLS || rows[i].set == device->operator_set))
            return true;
    return false;
}

static const tn_operator_row *fastest_row(const tn_device *device, const tn_operator_row *wanted) {
    const tn_operator_row *rows = device->operators.item, *fastest = wanted;
    for (size_t i = 0; i < device->operators.count; i++)
        if (is_same_operator(&rows[i], wanted) && rows[i].period_ns < fastest->period_ns &&
            (rows[i].set == TN_OPERATORS_HLS || rows[i].set == device->operator_set))
            fastest = &rows[i];
    return fastest;
}

tn_status tn_device_operators_check(const tn_device *device, const tn_operator_row *const *wanted,
                                    size_t count, tn_error *error) {
    tn_buffer list = {0};
    size_t missing = 0;
    for (size_t i = 0; i < count; i++) {
        bool told = !wanted[i] || is_met(device, wanted[i]);
        for (size_t k = 0; k < i && !told; k++) told = wanted[k] && is_same_operator(wanted[k], wanted[i]);
        if (told) continue;
        const tn_operator_row *fastest = fastest_row(device, wanted[i]);
        tn_buffer_format(&list, "%s%s %s (%s: %.5g MHz)", missing++ ? ", " : "", wanted[i]->precision,
                         tn_operator_names[wanted[i]->operator_kind], fastest->name,
                         1e3 / fastest->period_ns);
    }
    tn_status status = list.status;
    if (status != TN_OK)
        tn_fail(error, status, "no memory for a message");
    else if (missing > 0)
        status = tn_fail(error, TN_INPUT,
                         "device %s has no row that meets %g MHz for %zu operator%s; the fastest of each: %s",
                         device->name, device->clock_MHz, missing, missing == 1 ? "" : "s", list.data);
    tn_buffer_free(&list);
    return status;
}
