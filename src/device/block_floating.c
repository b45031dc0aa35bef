#include "device/block_floating.h"

#include "device/device_data.h"

#define FIGURE(name, most, meaning)                                                                          \
    TN_KEY(COUNT, tn_block_floating_figures, name, meaning, TN_WITHIN(0, most))
static const tn_field fields[] = {
    FIGURE(convert_lut, 1e6,
           "LUTs of a converter from fp32 to a group's exponent and a mantissa, for each value"),
    FIGURE(convert_lut_per_bit, 1e6, "and for each bit of the mantissa"),
    FIGURE(convert_ff, 1e6, "flip-flops of it, for each value"),
    FIGURE(convert_ff_per_bit, 1e6, "and for each bit of the mantissa"),
    FIGURE(convert_stages, 256, "its pipeline stages"),
    FIGURE(normalise_lut_per_bit, 1e6,
           "LUTs of what makes a group's sum an fp32 number, for each bit of the sum"),
    FIGURE(normalise_ff, 1e6, "flip-flops of it"),
    FIGURE(normalise_ff_per_bit, 1e6, "and for each bit of the sum"),
    FIGURE(normalise_stages, 256, "its pipeline stages"),
    FIGURE(chunk_lut, 1e6, "LUTs that choose the chunk of a mantissa that a pass takes, for each value"),
    FIGURE(chunk_ff, 1e6, "flip-flops of them"),
    FIGURE(chunk_stages, 256, "their pipeline stages"),
    TN_KEY(CHOICE, tn_block_floating_figures, origin,
           "how the figures are known; results list the unverified ones they rest on",
           TN_DEFAULT("unverified"), TN_ONE_OF(tn_origin_names)),
    TN_KEY(TEXT, tn_block_floating_figures, source, "where they were read"),
};
const tn_schema tn_block_floating_schema =
    TN_SCHEMA("device.block_floating", tn_block_floating_figures, fields);

tn_block_floating_cost tn_block_floating_convert(const tn_block_floating_figures *figures,
                                                 uint64_t mantissa_bits, bool in_chunks) {
    tn_block_floating_cost cost = {.lut = figures->convert_lut + mantissa_bits * figures->convert_lut_per_bit,
                                   .ff = figures->convert_ff + mantissa_bits * figures->convert_ff_per_bit,
                                   .stages = figures->convert_stages};
    if (in_chunks) {
        cost.lut += figures->chunk_lut;
        cost.ff += figures->chunk_ff;
        cost.stages += figures->chunk_stages;
    }
    return cost;
}

tn_block_floating_cost tn_block_floating_normalise(const tn_block_floating_figures *figures,
                                                   uint64_t sum_bits) {
    return (tn_block_floating_cost){.lut = sum_bits * figures->normalise_lut_per_bit,
                                    .ff = figures->normalise_ff + sum_bits * figures->normalise_ff_per_bit,
                                    .stages = figures->normalise_stages};
}
