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

/* What tools take for a bank: LUTRAM while it is small, else what takes the least share of the device. */
static tn_status choose_style(const tn_device *device, uint64_t width_bits, uint64_t depth,
                              tn_memory_style *style, tn_error *error) {
    tn_geometry geometry = (tn_geometry)device->memory.geometry;
    tn_blocks block, ultra;
    if (*style != TN_STYLE_AUTO) return TN_OK;
    *style = tn_memory_style_auto(width_bits, depth, device->memory.lutram_bits_most);
    if (*style == TN_STYLE_DISTRIBUTED) return TN_OK;
    TN_TRY(tn_memory_blocks(geometry, TN_STYLE_BLOCK, width_bits, depth, false, &block, error));
    TN_TRY(tn_memory_blocks(geometry, TN_STYLE_ULTRA, width_bits, depth, false, &ultra, error));
    if (ultra_takes_less(&block, &ultra, &device->resources)) *style = TN_STYLE_ULTRA;
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

/* One memory of one copy. */
typedef struct {
    uint64_t accesses, banks, width_bits, depth;
    uint64_t asked_bits, unpadded_depth; /* what the style is chosen by */
} shape;

static uint64_t rows_of(const tn_mapped *memory, uint64_t accesses) {
    uint64_t depth = 0;
    for (uint32_t i = 0; i < memory->extents; i++)
        depth += memory->extent[i].arrays * tn_ceil_div(memory->extent[i].elements, accesses);
    return depth;
}

static shape shape_of(const tn_mapped *memory, const tn_row *row, const tn_build *build, tn_array_split split,
                      uint64_t word_bits) {
    shape of = {0};
    of.accesses = row ? row->elements : tn_mapped_accesses(memory, build);
    of.banks = row && split != TN_SPLIT_PARTITION ? row->banks : tn_split_banks(split, of.accesses);
    of.width_bits = word_bits * (of.accesses / of.banks);
    of.depth = row ? row->depth : rows_of(memory, of.accesses);
    of.asked_bits =
        row && split != TN_SPLIT_PARTITION ? word_bits * (of.accesses / row->asked_banks) : of.width_bits;
    of.unpadded_depth = row ? row->unpadded_depth : of.depth;
    return of;
}

static tn_array_split split_of(const shape *of) {
    if (of->banks == 1) return TN_SPLIT_RESHAPE;
    return of->banks == of->accesses ? TN_SPLIT_PARTITION : TN_SPLIT_BANKS;
}

/* So many memories of `copies` copies each. */
static tn_status add_memories(const tn_device *device, const shape *of, uint64_t copies, uint64_t times,
                              tn_memory_style *style, tn_blocks *sum, tn_error *error) {
    tn_blocks blocks;
    TN_TRY(choose_style(device, of->asked_bits, of->unpadded_depth * copies, style, error));
    TN_TRY(tn_memory_blocks((tn_geometry)device->memory.geometry, *style, of->width_bits, of->depth * copies,
                            false, &blocks, error));
    add_blocks(sum, &blocks, of->banks * times);
    return TN_OK;
}

tn_status tn_place_price(const tn_device *device, uint64_t word_bits, const tn_mapped *memory,
                         const tn_row *row, const tn_build *build, const tn_place *place, tn_placed *placed,
                         tn_error *error) {
    if (memory->word_bits > 0) word_bits = memory->word_bits;
    const shape of = shape_of(memory, row, build, place->split, word_bits);
    uint64_t words = 0, group = place->group < memory->copies ? place->group : memory->copies;
    uint64_t full = memory->copies / group, rest = memory->copies % group;
    for (uint32_t i = 0; i < memory->extents; i++)
        words += memory->extent[i].arrays * memory->extent[i].elements;
    *placed = (tn_placed){.place = {place->style, row ? split_of(&of) : place->split, group},
                          .accesses = of.accesses,
                          .banks = of.banks,
                          .width_bits = of.width_bits,
                          .depth = of.depth * group,
                          .memories = full + (rest > 0),
                          .stored_bits = (double)words * (double)word_bits * (double)memory->copies};
    tn_memory_style style = place->style;
    if (rest > 0) TN_TRY(add_memories(device, &of, rest, build->read_ports, &style, &placed->blocks, error));
    TN_TRY(add_memories(device, &of, group, build->read_ports * full, &placed->place.style, &placed->blocks,
                        error));
    placed->capacity_bits = capacity_of(&placed->blocks);
    return TN_OK;
}
