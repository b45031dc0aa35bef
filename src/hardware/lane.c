#include "hardware/lane.h"

#include "hardware/dot.h"
#include "hardware/multiply.h"

#include <inttypes.h>
#include <stdio.h>

/* Beyond these a block format is no narrower than the formats it replaces. */
enum { MANTISSA_MOST = 32, EXPONENT_MOST = 16, GROUP_MOST = 4096 };

static tn_operator_cost cost_of(const tn_operator_row *row) {
    return (tn_operator_cost){row->stages, row->lut, row->ff, row->dsp, row};
}

static tn_status load_plain(const tn_device *device, tn_precision precision, tn_lane *lane, tn_error *error) {
    const tn_operator_row *multiply, *add;
    TN_TRY(tn_device_operator(device, precision, TN_MULTIPLY, &multiply, error));
    TN_TRY(tn_device_operator(device, precision, TN_ADDER, &add, error));
    uint64_t bits = 8 * tn_precision_bytes(precision);
    *lane = (tn_lane){cost_of(multiply), cost_of(add), cost_of(add), 1, precision == TN_INT8 ? 32 : bits};
    return TN_OK;
}

static tn_status check_block(const tn_arithmetic *arithmetic, tn_error *error) {
    bool fits = arithmetic->mantissa_bits >= 1 && arithmetic->mantissa_bits <= MANTISSA_MOST &&
                arithmetic->exponent_bits >= 1 && arithmetic->exponent_bits <= EXPONENT_MOST &&
                arithmetic->group <= GROUP_MOST;
    if (fits) return TN_OK;
    return tn_fail(error, TN_INPUT,
                   "block floating point of group %" PRIu64 ", exponent %" PRIu64 ", mantissa %" PRIu64
                   " bits; they are 1 to %d, %d and %d",
                   arithmetic->group, arithmetic->exponent_bits, arithmetic->mantissa_bits, GROUP_MOST,
                   EXPONENT_MOST, MANTISSA_MOST);
}

static tn_status load_block(const tn_device *device, const tn_arithmetic *arithmetic, tn_lane *lane,
                            tn_error *error) {
    const tn_device_integer *integer = &device->integer;
    const tn_operator_row *add;
    const tn_dsp_block *block;
    uint64_t bits = arithmetic->mantissa_bits + 1, dsp;
    TN_TRY(check_block(arithmetic, error));
    TN_TRY(tn_dsp_block_find(device->dsp_block, &block, error));
    TN_TRY(tn_multiply_dsp(block, bits, bits, TN_SIGNED, &dsp, error));
    TN_TRY(tn_device_operator(device, TN_FP32, TN_ADDER, &add, error));
    uint64_t wide = 2 * bits + tn_tree_depth(arithmetic->group), scale = arithmetic->exponent_bits + 1;
    *lane = (tn_lane){.group = arithmetic->group, .sum_bits = 32};
    lane->multiply = (tn_operator_cost){.stages = integer->multiply_stages, .dsp = dsp};
    if (dsp == 0) lane->multiply.lut = bits * bits * integer->multiply_lut_per_bit_pair;
    lane->multiply.ff = 2 * bits * integer->ff_per_bit * integer->multiply_stages;
    lane->tree = (tn_operator_cost){.stages = integer->add_stages,
                                    .lut = wide * integer->add_lut_per_bit,
                                    .ff = wide * integer->ff_per_bit * integer->add_stages};
    lane->sum = cost_of(add);
    lane->sum.lut += scale * integer->add_lut_per_bit;
    lane->sum.ff += scale * integer->ff_per_bit;
    return TN_OK;
}

tn_status tn_lane_load(const tn_device *device, const tn_arithmetic *arithmetic, tn_lane *lane,
                       tn_error *error) {
    if (arithmetic->group == 0) return load_plain(device, arithmetic->precision, lane, error);
    return load_block(device, arithmetic, lane, error);
}

void tn_arithmetic_text(const tn_arithmetic *arithmetic, char *text, unsigned long capacity) {
    if (arithmetic->group == 0)
        snprintf(text, capacity, "%s", tn_precision_names[arithmetic->precision]);
    else
        snprintf(text, capacity, "bfp g%" PRIu64 " e%" PRIu64 " m%" PRIu64, arithmetic->group,
                 arithmetic->exponent_bits, arithmetic->mantissa_bits);
}
