#include "rtl/resources.h"

#include "base/checked.h"
#include "device/device_data.h"
#include "memory/memory_share.h"
#include "price/engine_logic.h"
#include "rtl/place.h"

#include <string.h>

typedef struct {
    const tn_rtl_engine *engine;
    const tn_rtl_design *design;
    const tn_device *device;
    uint64_t columns; /* bits of a descriptor that the program's memory holds */
    tn_rtl_resources *sum;
    tn_error *error;
} counter;

/* ---- parts ---- */

static void registers(const counter *tally, uint64_t bits) {
    tally->sum->ff += bits;
}

static void logic(const counter *tally, uint64_t luts) {
    tally->sum->lut += luts;
}

/* `inputs` words of `bits` bits to one. */
static void multiplex(const counter *tally, uint64_t inputs, uint64_t bits) {
    logic(tally, tn_multiplexer_lut(tally->device, inputs, bits));
}

/* templates/delay.sv: from three cycles on a LUT holds up to 32 of them. */
static void delay(const counter *tally, uint64_t bits, uint64_t cycles) {
    enum { SHORTEST = 3, LONGEST = 32 };
    if (cycles < SHORTEST)
        registers(tally, bits * cycles);
    else
        logic(tally, bits * tn_ceil_div(cycles, LONGEST));
}

/* templates/flags.sv: what a reset clears is no shift register. */
static void flags(const counter *tally, uint64_t bits, uint64_t cycles) {
    registers(tally, bits * cycles);
}

/* ---- operators ---- */

/* The generated operator of these stages, else of the nearest. */
static const tn_operator_row *operator_row(const tn_device *device, tn_operator kind, uint64_t stages) {
    const tn_operator_row *row = device->operators.item, *best = NULL;
    uint64_t least = UINT64_MAX;
    for (size_t i = 0; i < device->operators.count; i++) {
        uint64_t apart = row[i].stages > stages ? row[i].stages - stages : stages - row[i].stages;
        if (row[i].set != TN_OPERATORS_GENERATED || strcmp(row[i].precision, "fp32") != 0 ||
            row[i].operator_kind != (uint32_t)kind || apart >= least)
            continue;
        least = apart;
        best = &row[i];
    }
    return best;
}

static tn_status operators(const counter *tally, tn_operator kind, uint64_t stages, uint64_t count) {
    const tn_operator_row *row = operator_row(tally->device, kind, stages);
    if (!row)
        return tn_fail(tally->error, TN_INPUT, "%s has no generated fp32 operators (set: generated)",
                       tally->device->full_name);
    tally->sum->lut += count * row->lut;
    tally->sum->ff += count * row->ff;
    tally->sum->dsp += count * row->dsp;
    return TN_OK;
}

static tn_status kernel(const counter *tally) {
    const tn_rtl_design *d = tally->design;
    const tn_rtl_engine *e = tally->engine;
    uint64_t sums = d->rows * d->columns, updates = e->updates ? d->vector : 0, tree = 0;
    tn_blocks open;
    while (UINT64_C(1) << tree < d->terms) tree++;
    TN_TRY(operators(tally, TN_MULTIPLY, d->multiply_cycles, sums * d->terms + updates));
    TN_TRY(operators(tally, TN_ADDER, d->add_cycles, sums * d->terms + updates));
    TN_TRY(tn_memory_blocks(TN_GEOMETRY_YOSYS, TN_STYLE_DISTRIBUTED, TN_RTL_ELEMENT_BITS, e->open, false,
                            &open, tally->error));
    tally->sum->lutram += sums * open.lutram;
    logic(tally, sums * TN_RTL_ELEMENT_BITS); /* nothing, the adder or the memory */
    flags(tally, 1, d->multiply_cycles + tree * d->add_cycles);
    delay(tally, e->slot_bits + 2, d->multiply_cycles + tree * d->add_cycles);
    flags(tally, 1, d->add_cycles);
    delay(tally, e->slot_bits + 1, d->add_cycles);
    delay(tally, TN_RTL_ELEMENT_BITS * updates, d->multiply_cycles);
    return TN_OK;
}

/* ---- memories ---- */

static tn_status memories(const counter *tally) {
    for (uint32_t m = 0; m < tally->design->memories; m++) {
        const tn_rtl_memory *memory = &tally->design->memory[m];
        tn_blocks blocks;
        uint64_t rows;
        TN_TRY(tn_memory_element_blocks(memory->style, memory->word, TN_RTL_ELEMENT_BITS, memory->depth,
                                        &blocks, &rows, tally->error));
        tally->sum->bram18 += memory->banks * (blocks.bram18 + 2 * blocks.bram36);
        tally->sum->uram += memory->banks * blocks.uram;
        tally->sum->lutram += memory->banks * blocks.lutram;
        multiplex(tally, rows, memory->banks * memory->word * TN_RTL_ELEMENT_BITS);
        if (memory->style == TN_STYLE_DISTRIBUTED)
            registers(tally, memory->banks * memory->word * TN_RTL_ELEMENT_BITS); /* what was read */
    }
    return TN_OK;
}

/* Which port's address a memory takes, and which of its elements are written; of several forms, also whose words. */
static void memory_ports(const counter *tally, const bool *right) {
    const tn_rtl_engine *e = tally->engine;
    for (uint32_t f = 0; f < e->forms; f++) {
        const tn_rtl_memory *memory = &tally->design->memory[e->form[f].memory];
        const bool first = f == 0 || e->form[f - 1].memory != e->form[f].memory;
        if (right[f]) multiplex(tally, 2, e->form[f].banks * e->address_bits);
        logic(tally, memory->banks * (memory->word + 1));
        if (!first)
            multiplex(tally, 2, memory->banks * (2 * e->address_bits + memory->word * TN_RTL_ELEMENT_BITS));
    }
}

/* ---- ports ---- */

/* Columns of the table that differ from choice to choice. */
static uint64_t row_bits(const counter *tally, tn_rtl_port port, uint64_t *taken_lanes) {
    const tn_rtl_patterns *list = &tally->engine->port[port];
    uint64_t bits = 0, outputs;
    bool spread = port == TN_RTL_RESULT;
    *taken_lanes = 0;
    outputs = spread ? tally->engine->banks * tally->engine->word : tn_rtl_port_lanes(tally->engine, port);
    for (uint64_t n = 0; n < outputs; n++) {
        uint64_t sources = tn_rtl_port_sources(tally->engine, port, n);
        multiplex(tally, sources, TN_RTL_ELEMENT_BITS);
        *taken_lanes += sources > 0;
        bits += sources > 0;
        for (uint64_t s = 1; s < sources; s *= 2) bits++;
    }
    return list->choices > 1 ? bits : 0;
}

/* Is there a form with this bank, and with this element in its words? */
static bool is_present(const tn_rtl_form *form, uint64_t bank, uint64_t element) {
    return bank < form->banks && element < form->word;
}

/* A rotator of the words of all banks, and of the places within a word: what no memory has is not there. */
static void turn(const counter *tally, uint64_t element_bits) {
    const tn_rtl_engine *e = tally->engine;
    for (uint64_t bank = 0; bank < e->banks; bank++)
        for (uint64_t element = 0; element < e->word; element++) {
            uint64_t banks = 0, word = 0;
            for (uint32_t f = 0; f < e->forms; f++) {
                const tn_rtl_form *form = &e->form[f];
                if (!is_present(form, bank, element)) continue;
                banks = tn_greatest(banks, form->banks);
                word = tn_greatest(word, form->word);
            }
            multiplex(tally, banks, element_bits);
            multiplex(tally, word > 1 ? 2 : 1, element_bits);
        }
}

/* The words of one of the memories. */
static void choose_memory(const counter *tally, const bool *serves) {
    const tn_rtl_engine *e = tally->engine;
    for (uint64_t bank = 0; bank < e->banks; bank++)
        for (uint64_t element = 0; element < e->word; element++) {
            uint64_t inputs = 0;
            for (uint32_t f = 0; f < e->forms; f++)
                inputs += serves[f] && is_present(&e->form[f], bank, element);
            multiplex(tally, inputs, TN_RTL_ELEMENT_BITS);
        }
}

static void read_port(const counter *tally, tn_rtl_port port, const bool *serves) {
    const tn_rtl_engine *e = tally->engine;
    uint64_t lanes = tn_rtl_port_lanes(e, port), taken, place = e->rotate_bits + e->inside_bits,
             addresses = e->banks * e->address_bits, memories_read = 0;
    for (uint32_t f = 0; f < e->forms; f++) memories_read += serves[f];
    registers(tally, 2 + e->choice_bits + e->memory_bits + e->address_bits + place);
    registers(tally, e->banks + addresses + e->choice_bits + memories_read);
    registers(tally, 2 * (2 + e->memory_bits + 2 * e->rotate_bits + place));
    registers(tally, row_bits(tally, port, &taken));
    registers(tally, taken * TN_RTL_ELEMENT_BITS);
    logic(tally, lanes);
    choose_memory(tally, serves);
    turn(tally, TN_RTL_ELEMENT_BITS);
    multiplex(tally, e->banks, addresses);
    logic(tally, addresses);           /* base and offset */
    logic(tally, 3 * e->address_bits); /* the host's, the tile's and the group's shares */
}

static void write_port(const counter *tally) {
    const tn_rtl_engine *e = tally->engine;
    const tn_rtl_design *d = tally->design;
    uint64_t lanes = tn_rtl_port_lanes(e, TN_RTL_RESULT), addresses = e->banks * e->address_bits, taken,
             tree = 0,
             goes = e->memory_bits + e->address_bits + e->rotate_bits + e->inside_bits + e->choice_bits +
                    e->phase_bits;
    while (UINT64_C(1) << tree < d->terms) tree++;
    delay(tally, goes, 4 + d->multiply_cycles + d->add_cycles);
    delay(tally, goes, tree * d->add_cycles);
    flags(tally, e->updates ? 2 : 1, 4 + d->multiply_cycles + d->add_cycles);
    flags(tally, 1, tree * d->add_cycles);
    registers(tally, goes + 3 * e->phase_bits + 2);
    registers(tally, lanes * TN_RTL_ELEMENT_BITS);
    registers(tally, row_bits(tally, TN_RTL_RESULT, &taken));
    multiplex(tally, e->updates ? 2 : 1, lanes * TN_RTL_ELEMENT_BITS);
    turn(tally, TN_RTL_ELEMENT_BITS);
    turn(tally, 1);
    multiplex(tally, e->banks, addresses);
    logic(tally, addresses + 2 * goes);
}

/* ---- write-back ---- */

static void write_back_port(const counter *tally, tn_rtl_port port) {
    const tn_rtl_design *d = tally->design;
    bool serves[TN_RTL_MEMORIES_MOST] = {false};
    uint64_t fill = d->multiply_cycles + d->add_cycles;
    for (uint64_t t = 1; t < d->terms; t *= 2) fill += d->add_cycles;
    for (uint32_t i = 0; i < d->operations; i++)
        if (tn_rtl_adds(&d->operation[i], port != TN_RTL_ADDED_FIRST))
            serves[tally->engine->step[i].memory[port]] = true;
    read_port(tally, port, serves);
    delay(tally, tn_rtl_port_lanes(tally->engine, port) * TN_RTL_ELEMENT_BITS, fill);
}

/* The stages' operators, and what travels beside a tile: where it goes, and what the last stage adds. */
static tn_status write_back(const counter *tally) {
    const tn_rtl_design *d = tally->design;
    const tn_rtl_engine *e = tally->engine;
    const uint64_t lanes = d->rows * d->columns, extra = e->memory_bits + e->address_bits + e->rotate_bits +
                                                         e->inside_bits + e->choice_bits + e->phase_bits +
                                                         lanes * TN_RTL_ELEMENT_BITS;
    for (int stage = 0; stage < 3; stage++) {
        const tn_operator kind = stage == 1 ? TN_COMPARE : TN_ADDER;
        uint64_t cycles = stage == 1 ? d->latencies.cycles[TN_COMPARE] : d->add_cycles;
        if (!(e->stages >> stage & 1)) continue;
        TN_TRY(operators(tally, kind, cycles, lanes));
        flags(tally, 2, cycles);
        delay(tally, extra, cycles);
        multiplex(tally, 2, 2 + extra + lanes * TN_RTL_ELEMENT_BITS);
        if (stage != 1) write_back_port(tally, stage == 0 ? TN_RTL_ADDED_FIRST : TN_RTL_ADDED_LAST);
    }
    return TN_OK;
}

/* ---- samples ---- */

/* A memory of LUTs that `ports` read at places of their own, each from a copy, and what chooses between its rows of RAMs. */
static tn_status lookup(const counter *tally, uint64_t ports, uint64_t bits, uint64_t depth) {
    enum { ROW_DEPTH = 64 };
    tn_blocks blocks;
    TN_TRY(
        tn_memory_blocks(TN_GEOMETRY_YOSYS, TN_STYLE_DISTRIBUTED, bits, depth, false, &blocks, tally->error));
    tally->sum->lutram += ports * blocks.lutram;
    multiplex(tally, tn_ceil_div(depth, ROW_DEPTH), ports * bits);
    return TN_OK;
}

/* Both buffers of a sample (templates/passes.svh): words that three operands and the limit of columns look up, labels with
 * their shares, the half of an entry that the host wrote first, which buffer it is. */
static tn_status samples(const counter *tally) {
    enum { BUFFERS = 2, WORD_BITS = 40, LABEL_BITS = 64, LOOKS = 3 };
    const tn_rtl_design *d = tally->design;
    if (tally->engine->circuits == 0) return TN_OK;
    const uint64_t words = BUFFERS * tn_greatest(1, d->sample_words),
                   labels = BUFFERS * tn_greatest(1, d->sample_labels);
    TN_TRY(lookup(tally, LOOKS, WORD_BITS, words));
    TN_TRY(lookup(tally, 1, tally->engine->address_bits, words));
    TN_TRY(lookup(tally, 1, LABEL_BITS, labels));
    registers(tally, TN_RTL_ELEMENT_BITS + 1 + LABEL_BITS);
    return TN_OK;
}

/* ---- control ---- */

static void odometer(const counter *tally, uint64_t levels, uint64_t operands, bool saves) {
    const tn_rtl_engine *e = tally->engine;
    uint64_t share = e->address_bits + e->rotate_bits, bits = e->count_bits + operands * share;
    registers(tally, levels * bits * (saves ? 2 : 1));
    logic(tally, levels * (saves ? 2 : 1) * bits); /* next, and what is restored */
    logic(tally, levels * operands * (share + e->inside_bits + e->count_bits)); /* sums, wraps, places */
}

/* A register for each bit that is stored, and its table. */
static void program(const counter *tally) {
    registers(tally, tally->columns);
    logic(tally, tn_program_lut((uint64_t)tally->design->operations + 1, tally->columns));
}

static void control(const counter *tally) {
    const tn_rtl_engine *e = tally->engine;
    program(tally);
    odometer(tally, e->tile_levels, e->tile_ports, true);
    odometer(tally, e->group_levels, e->group_ports, false);
    registers(tally, 2 * e->tile_bits + (e->circuits ? 2 : 1) * e->phase_bits + e->program_bits + 6);
    logic(tally, 6 * e->tile_bits + 8 * e->phase_bits + 4 * e->program_bits);
    flags(tally, 2, 4);
    delay(tally, e->slot_bits + 2, 4);
}

tn_status tn_rtl_resources_count(const tn_rtl_engine *engine, const tn_device *device,
                                 tn_rtl_resources *resources, tn_error *error) {
    *resources = (tn_rtl_resources){0};
    tn_arena scratch = {0};
    tn_rtl_columns columns;
    tn_status status = tn_rtl_columns_find(engine, &scratch, &columns, error);
    tn_arena_free(&scratch);
    TN_TRY(status);
    const counter tally = {.engine = engine,
                           .design = engine->design,
                           .device = device,
                           .columns = columns.stored,
                           .sum = resources,
                           .error = error};
    bool right[TN_RTL_MEMORIES_MOST] = {0}, left[TN_RTL_MEMORIES_MOST];
    for (int m = 0; m < TN_RTL_MEMORIES_MOST; m++) left[m] = true; /* for the host, at least */
    for (uint32_t i = 0; i < engine->design->operations; i++) {
        right[engine->step[i].memory[TN_RTL_RIGHT]] = true;
    }
    TN_TRY(kernel(&tally));
    TN_TRY(memories(&tally));
    memory_ports(&tally, right);
    read_port(&tally, TN_RTL_LEFT, left);
    read_port(&tally, TN_RTL_RIGHT, right);
    write_port(&tally);
    TN_TRY(write_back(&tally));
    TN_TRY(samples(&tally));
    control(&tally);
    return TN_OK;
}
