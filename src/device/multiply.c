#include "device/multiply.h"

#include "base/checked.h"
#include "base/name_index.h"

#include <string.h>

const char *const tn_signedness_names[] = {"signed", "unsigned", NULL};

const tn_dsp_block tn_dsp48e1 = {"dsp48e1", .wide_bits = 25, .narrow_bits = 18, .least_sum_bits = 9};
const tn_dsp_block tn_dsp48e2 = {"dsp48e2", .wide_bits = 27, .narrow_bits = 18, .least_sum_bits = 9};

tn_status tn_dsp_block_find(const char *name, const tn_dsp_block **block, tn_error *error) {
    static const tn_dsp_block *const blocks[] = {&tn_dsp48e1, &tn_dsp48e2};
    enum { COUNT = sizeof blocks / sizeof *blocks };
    const char *names[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        names[i] = blocks[i]->name;
        if (strcmp(name, names[i]) == 0) {
            *block = blocks[i];
            return TN_OK;
        }
    }
    const char *near = tn_suggest(name, names, COUNT);
    if (near) return tn_fail(error, TN_INPUT, "unknown DSP block '%.100s'; did you mean %s?", name, near);
    return tn_fail(error, TN_INPUT, "unknown DSP block '%.100s'; dsp48e1 and dsp48e2 are known", name);
}

static uint64_t slices(uint64_t bits, uint64_t port_bits, tn_signedness signedness) {
    if (signedness == TN_UNSIGNED) return tn_ceil_div(bits, port_bits - 1);
    return bits <= port_bits ? 1 : 1 + tn_ceil_div(bits - port_bits, port_bits - 1);
}

tn_status tn_multiply_dsp(const tn_dsp_block *block, uint64_t a_bits, uint64_t b_bits,
                          tn_signedness signedness, uint64_t *dsp, tn_error *error) {
    uint64_t wide = a_bits > b_bits ? a_bits : b_bits, narrow = a_bits > b_bits ? b_bits : a_bits;
    if (narrow == 0 || wide > TN_MULTIPLY_MOST_BITS)
        return tn_fail(error, TN_INPUT, "a multiplier of %llu x %llu bits; operands have 1 to %d bits",
                       (unsigned long long)a_bits, (unsigned long long)b_bits, TN_MULTIPLY_MOST_BITS);
    if (wide + narrow < block->least_sum_bits)
        *dsp = 0;
    else
        *dsp = slices(wide, block->wide_bits, signedness) * slices(narrow, block->narrow_bits, signedness);
    return TN_OK;
}

static uint64_t packed_with(const tn_dsp_block *block, uint64_t wide, uint64_t shared) {
    if (wide > block->wide_bits || shared > block->narrow_bits) return 1;
    return 1 + (block->wide_bits - wide) / (wide + shared + TN_PACKED_GUARD_BITS);
}

uint64_t tn_multiply_packed(const tn_dsp_block *block, uint64_t a_bits, uint64_t b_bits) {
    uint64_t one = packed_with(block, a_bits, b_bits), other = packed_with(block, b_bits, a_bits);
    return one > other ? one : other;
}
