#include "price/engine_logic.h"

#include <math.h>

static uint64_t bits_for(uint64_t count) {
    uint64_t bits = 1;
    while (bits < 63 && UINT64_C(1) << bits < count) bits++;
    return bits;
}

/* Words of all banks, turned to the order of the lanes, and elements within a word. */
static uint64_t turn(const tn_device *device, const tn_engine_size *engine, uint64_t bits) {
    uint64_t luts = 0;
    for (int i = 0; i < TN_ROTATIONS_MOST; i++)
        luts += tn_multiplexer_lut(device, engine->memories.banks[i], bits);
    return luts + tn_multiplexer_lut(device, engine->memories.words > 1 ? 2 : 1, bits);
}

static uint64_t banks_of(const tn_port_source *memories) {
    uint64_t banks = 1;
    for (int i = 0; i < TN_ROTATIONS_MOST; i++)
        if (memories->banks[i] > 1) banks *= memories->banks[i];
    return banks;
}

tn_resources tn_engine_logic(const tn_device *device, const tn_engine_size *engine) {
    enum { CONTROL_LUT = 380, CONTROL_ADDRESS_LUT = 160, CONTROL_FF = 160, CONTROL_ADDRESS_FF = 73 };
    enum { PORT_FF = 20, PORT_ADDRESS_FF = 9, STAGE_LUT = 40 };
    const tn_port_source *all = &engine->memories;
    const uint64_t row = all->words * engine->word_bits, banks = banks_of(all),
                   address = bits_for(all->depth), word = all->words / banks;
    tn_resources used = {.lut = CONTROL_LUT + CONTROL_ADDRESS_LUT * address,
                         .ff = CONTROL_FF + CONTROL_ADDRESS_FF * address};
    if (all->memories == 0) return used;
    const uint64_t operand_row = all->words * engine->operand_bits;
    for (int port = 0; port < 2; port++) { /* left and right */
        used.lut += tn_multiplexer_lut(device, all->memories, operand_row) +
                    tn_multiplexer_lut(device, all->memories - all->narrow, row - operand_row) +
                    turn(device, engine, operand_row) + engine->operand_bits * (engine->lanes[port] - 1) +
                    tn_multiplexer_lut(device, banks, banks * address) + (3 + banks) * address;
        used.ff += engine->lanes[port] * engine->operand_bits;
    }
    /* A result's element is dealt to three quarters of the lanes' bits: no lane of a narrow array is far from its place. */
    used.lut += tn_multiplexer_lut(device, 2, row) + turn(device, engine, row) +
                engine->word_bits * engine->lanes[2] * 3 / 4 +
                tn_multiplexer_lut(device, banks, banks * address);
    used.ff += engine->lanes[2] * engine->word_bits;
    used.ff += 3 * (PORT_FF + PORT_ADDRESS_FF * address + banks * (address + 1));
    used.lut += all->memories * banks * (word + 1 + address);
    used.lut += engine->sums * engine->word_bits; /* nothing, or the sum so far */
    /* A stage of a write-back passes on what does not take it, and where that goes. */
    const uint64_t tile = engine->sums * engine->word_bits;
    used.lut +=
        (engine->adders + engine->comparisons) * (2 * tile + STAGE_LUT) + engine->adders * (tile + STAGE_LUT);
    used.ff += engine->comparisons * 2 * (tile + STAGE_LUT) + engine->adders * 2 * STAGE_LUT;
    return used;
}

uint64_t tn_program_lut(uint64_t rows, uint64_t bits) {
    enum { LUT_ROWS = 64 };
    const double each_more = 0.53; /* what is alike in many rows is not made anew */
    if (rows <= LUT_ROWS) return bits;
    return bits + (uint64_t)ceil((double)bits * each_more * (double)(rows - LUT_ROWS) / LUT_ROWS);
}

uint64_t tn_program_bits(uint64_t rows) {
    const double bits = 53.4 * log2((double)rows) - 161;
    return bits < 32 ? 32 : (uint64_t)ceil(bits);
}
