#include "hardware/place.h"

#include "base/checked.h"

tn_place tn_place_as_built(const tn_mapped *memory, const tn_build *build) {
    bool activations = memory->store == TN_STORE_ACTIVATIONS;
    return (tn_place){
        .style = (tn_memory_style)(activations ? build->activation_memory : build->core_memory),
        .split = (tn_array_split)build->split,
        .group = memory->grouped ? build->group : 1,
    };
}

/* Shares of the device, multiplied out: uram/has uram < bram/has bram. */
static bool ultra_takes_less(const tn_blocks *bram, const tn_blocks *ultra,
                             const tn_device_resources_data *has) {
    double of_bram = (double)(bram->bram18 + 2 * bram->bram36) * (double)has->uram;
    return has->uram > 0 && (double)ultra->uram * (double)has->bram18 < of_bram;
}

/* One bank; resolves style auto. */
static tn_status take_blocks(const tn_device *device, uint64_t width_bits, uint64_t depth,
                             tn_memory_style *style, tn_blocks *blocks, tn_error *error) {
    tn_geometry geometry = (tn_geometry)device->memory.geometry;
    bool automatic = *style == TN_STYLE_AUTO;
    if (automatic) *style = tn_memory_style_auto(width_bits, depth, device->memory.lutram_bits_most);
    TN_TRY(tn_memory_blocks(geometry, *style, width_bits, depth, false, blocks, error));
    if (!automatic || *style == TN_STYLE_DISTRIBUTED) return TN_OK;
    tn_blocks ultra;
    TN_TRY(tn_memory_blocks(geometry, TN_STYLE_ULTRA, width_bits, depth, false, &ultra, error));
    if (!ultra_takes_less(blocks, &ultra, &device->resources)) return TN_OK;
    *style = TN_STYLE_ULTRA;
    *blocks = ultra;
    return TN_OK;
}

static void add_blocks(tn_blocks *sum, const tn_blocks *blocks, uint64_t times) {
    sum->bram18 += blocks->bram18 * times;
    sum->bram36 += blocks->bram36 * times;
    sum->uram += blocks->uram * times;
    sum->lutram += blocks->lutram * times;
}

static double capacity_of(const tn_blocks *blocks) {
    enum { LUT_BITS = 64 };
    return (double)(blocks->bram18 + 2 * blocks->bram36) * TN_MEMORY_CAPACITY_BRAM18_BITS +
           (double)blocks->uram * TN_MEMORY_CAPACITY_URAM_BITS + (double)blocks->lutram * LUT_BITS;
}

tn_status tn_place_price(const tn_device *device, uint64_t word_bits, const tn_mapped *memory,
                         const tn_build *build, const tn_place *place, tn_placed *placed, tn_error *error) {
    if (memory->word_bits > 0) word_bits = memory->word_bits;
    uint64_t accesses = tn_mapped_accesses(memory, build), words = 0, depth = 0;
    bool partition = place->split == TN_SPLIT_PARTITION;
    for (uint32_t i = 0; i < memory->extents; i++) {
        const tn_extent *extent = &memory->extent[i];
        words += extent->arrays * extent->elements;
        depth += extent->arrays * tn_ceil_div(extent->elements, accesses);
    }
    uint64_t group = place->group < memory->copies ? place->group : memory->copies;
    uint64_t full = memory->copies / group, rest = memory->copies % group;
    *placed = (tn_placed){.place = *place,
                          .accesses = accesses,
                          .banks = partition ? accesses : 1,
                          .width_bits = partition ? word_bits : word_bits * accesses,
                          .depth = depth * group,
                          .memories = full + (rest > 0),
                          .stored_bits = (double)words * (double)word_bits * (double)memory->copies};
    placed->place.group = group;
    tn_blocks blocks;
    uint64_t banks = placed->banks * build->read_ports;
    if (rest > 0) {
        tn_memory_style style = place->style;
        TN_TRY(take_blocks(device, placed->width_bits, depth * rest, &style, &blocks, error));
        add_blocks(&placed->blocks, &blocks, banks);
    }
    TN_TRY(take_blocks(device, placed->width_bits, placed->depth, &placed->place.style, &blocks, error));
    add_blocks(&placed->blocks, &blocks, banks * full);
    placed->capacity_bits = capacity_of(&placed->blocks);
    return TN_OK;
}
