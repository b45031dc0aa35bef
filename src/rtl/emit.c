/* engine.svh, memories.svh and program.hex: one list of descriptor fields names them for the templates and packs them. */
#include "base/memory.h"
#include "rtl/compile.h"

#include <inttypes.h>
#include <string.h>

/* ---- wide numbers, least significant bit first ---- */

typedef struct {
    uint8_t *byte;
    size_t bits, capacity; /* capacity in bytes */
    tn_status status;
} bit_string;

static void put_bits(bit_string *to, uint64_t value, uint64_t width) {
    if (to->status == TN_OK)
        to->status = tn_grow(&to->byte, &to->capacity, (to->bits + width) / 8 + 1, 1, NULL);
    if (to->status != TN_OK) return;
    for (uint64_t i = 0; i < width; i++, to->bits++)
        if (i < 64 && value >> i & 1) to->byte[to->bits / 8] |= (uint8_t)(1 << to->bits % 8);
}

static void put_hex(tn_buffer *out, const bit_string *from) {
    size_t digits = (from->bits + 3) / 4;
    if (from->status != TN_OK) out->status = from->status;
    for (size_t i = digits; i-- > 0 && from->status == TN_OK;)
        tn_buffer_format(out, "%x", from->byte[i / 2] >> (i % 2 * 4) & 15);
}

static void put_constant(tn_buffer *out, const char *name, const char *port, bit_string *bits) {
    tn_buffer_format(out, "localparam logic [%zu:0] %s%s = %zu'h", bits->bits - 1, name, port, bits->bits);
    put_hex(out, bits);
    tn_buffer_text(out, ";\n");
    tn_free(bits->byte);
    *bits = (bit_string){0};
}

/* ---- descriptors ---- */

/* A field: its name in the templates, the width of one value, how many there are, and which value that is. */
typedef struct {
    const char *name;
    uint64_t width, count;
    uint64_t (*value)(const tn_rtl_engine *engine, const tn_rtl_step *step, uint64_t i);
} field;

static uint64_t is_end(const tn_rtl_engine *engine, const tn_rtl_step *step, uint64_t i) {
    (void)i;
    return step == &engine->step[engine->design->operations];
}

static uint64_t rate_bits(const tn_rtl_engine *engine, const tn_rtl_step *step, uint64_t i) {
    float rate = (float)engine->design->rate;
    uint32_t bits;
    (void)step, (void)i;
    memcpy(&bits, &rate, sizeof bits);
    return bits;
}

#define SCALAR(NAME, MEMBER)                                                                                 \
    static uint64_t NAME(const tn_rtl_engine *engine, const tn_rtl_step *step, uint64_t i) {                 \
        (void)engine, (void)i;                                                                               \
        return step->MEMBER;                                                                                 \
    }
SCALAR(is_vector, vector)
SCALAR(left_memory, memory[TN_RTL_LEFT])
SCALAR(right_memory, memory[TN_RTL_RIGHT])
SCALAR(result_memory, memory[TN_RTL_RESULT])
SCALAR(left_base, base[TN_RTL_LEFT])
SCALAR(right_base, base[TN_RTL_RIGHT])
SCALAR(result_base, base[TN_RTL_RESULT])
SCALAR(left_pattern, pattern[TN_RTL_LEFT])
SCALAR(right_pattern, pattern[TN_RTL_RIGHT])
SCALAR(result_pattern, pattern[TN_RTL_RESULT])
SCALAR(open_tiles, open)
SCALAR(all_tiles, tiles)
SCALAR(interval, interval)
SCALAR(write_phases, write_phases)
SCALAR(edge_row, edge_row)
SCALAR(edge_column, edge_column)
SCALAR(edge_term, edge_term)

/* A level that the operation has not counts to one. */
static uint64_t tile_count(const tn_rtl_engine *engine, const tn_rtl_step *step, uint64_t i) {
    (void)engine;
    return i < step->tile_levels ? step->tile_count[i] : 1;
}
static uint64_t group_count(const tn_rtl_engine *engine, const tn_rtl_step *step, uint64_t i) {
    (void)engine;
    return i < step->group_levels ? step->group_count[i] : 1;
}
#define COUNTER(MEMBER)                                                                                      \
    static uint64_t tile_##MEMBER(const tn_rtl_engine *engine, const tn_rtl_step *step, uint64_t i) {        \
        (void)engine;                                                                                        \
        return i / 3 < step->tile_levels ? step->tile[i / 3][i % 3].MEMBER : 0;                              \
    }                                                                                                        \
    static uint64_t group_##MEMBER(const tn_rtl_engine *engine, const tn_rtl_step *step, uint64_t i) {       \
        (void)engine;                                                                                        \
        return i / 2 < step->group_levels ? step->group[i / 2][i % 2].MEMBER : 0;                            \
    }
COUNTER(period)
COUNTER(stride)
COUNTER(turn_period)
COUNTER(turn)
COUNTER(inside)
COUNTER(shift)

enum { FIELDS = 34, COUNTER_BITS = 4, RATE_BITS = 32, INTERVAL_BITS = 4 };

static void list_fields(const tn_rtl_engine *e, field *list) {
    uint64_t tile = e->tile_levels, group = e->group_levels;
    const field fields[FIELDS] = {
        {"END", 1, 1, is_end},
        {"VECTOR", 1, 1, is_vector},
        {"LEFT_MEMORY", e->memory_bits, 1, left_memory},
        {"RIGHT_MEMORY", e->memory_bits, 1, right_memory},
        {"RESULT_MEMORY", e->memory_bits, 1, result_memory},
        {"LEFT_BASE", e->address_bits, 1, left_base},
        {"RIGHT_BASE", e->address_bits, 1, right_base},
        {"RESULT_BASE", e->address_bits, 1, result_base},
        {"LEFT_PATTERN", e->choice_bits, 1, left_pattern},
        {"RIGHT_PATTERN", e->choice_bits, 1, right_pattern},
        {"RESULT_PATTERN", e->choice_bits, 1, result_pattern},
        {"OPEN", e->tile_bits, 1, open_tiles},
        {"TILES", e->tile_bits, 1, all_tiles},
        {"INTERVAL", INTERVAL_BITS, 1, interval},
        {"WRITE_PHASES", e->phase_bits, 1, write_phases},
        {"EDGE_ROW", 1, 1, edge_row},
        {"EDGE_COLUMN", 1, 1, edge_column},
        {"EDGE_TERM", 1, 1, edge_term},
        {"RATE", RATE_BITS, 1, rate_bits},
        {"TILE_COUNT", e->count_bits, tile, tile_count},
        {"TILE_PERIOD", COUNTER_BITS, tile * 3, tile_period},
        {"TILE_STRIDE", e->address_bits, tile * 3, tile_stride},
        {"TILE_TURN_PERIOD", COUNTER_BITS, tile * 3, tile_turn_period},
        {"TILE_TURN", e->rotate_bits, tile * 3, tile_turn},
        {"TILE_INSIDE", COUNTER_BITS, tile * 3, tile_inside},
        {"TILE_SHIFT", COUNTER_BITS, tile * 3, tile_shift},
        {"GROUP_COUNT", e->count_bits, group, group_count},
        {"GROUP_PERIOD", COUNTER_BITS, group * 2, group_period},
        {"GROUP_STRIDE", e->address_bits, group * 2, group_stride},
        {"GROUP_TURN_PERIOD", COUNTER_BITS, group * 2, group_turn_period},
        {"GROUP_TURN", e->rotate_bits, group * 2, group_turn},
        {"GROUP_INSIDE", COUNTER_BITS, group * 2, group_inside},
        {"GROUP_SHIFT", COUNTER_BITS, group * 2, group_shift},
        {NULL, 0, 0, NULL},
    };
    memcpy(list, fields, sizeof fields);
}

static uint64_t put_descriptor(const tn_rtl_engine *engine, const field *list, const tn_rtl_step *step,
                               tn_buffer *out) {
    static const tn_rtl_step end = {0};
    bit_string bits = {0};
    bool last = is_end(engine, step, 0);
    for (const field *f = list; f->name; f++)
        for (uint64_t i = 0; i < f->count; i++)
            put_bits(&bits, f->value == is_end ? last : f->value(engine, last ? &end : step, i), f->width);
    if (out) {
        put_hex(out, &bits);
        tn_buffer_text(out, "\n");
    }
    uint64_t width = bits.bits;
    tn_free(bits.byte);
    return width;
}

void tn_rtl_engine_program(const tn_rtl_engine *engine, tn_buffer *out) {
    field list[FIELDS];
    list_fields(engine, list);
    for (uint32_t i = 0; i <= engine->design->operations; i++)
        put_descriptor(engine, list, &engine->step[i], out);
}

/* ---- tables of the ports ---- */

static const char *const port_names[TN_RTL_PORTS] = {"LEFT", "RIGHT", "RESULT"};

static const tn_rtl_lane *lane_of(const tn_rtl_pattern *pattern, uint32_t phase, uint64_t word,
                                  uint64_t element, uint64_t *number) {
    for (uint32_t n = 0; n < pattern->lanes; n++) {
        const tn_rtl_lane *lane = &pattern->lane[n];
        if (!lane->present || lane->phase != phase || lane->word != word || lane->element != element)
            continue;
        *number = n;
        return lane;
    }
    return NULL;
}

/* Which lane takes which element (0: none, else 1 + word * WORD + element), or the reverse. */
static void put_sources(const tn_rtl_engine *e, const tn_rtl_pattern *pattern, uint32_t phase, bool spread,
                        bit_string *bits) {
    if (!spread) {
        for (uint32_t n = 0; n < pattern->lanes; n++) {
            const tn_rtl_lane *lane = &pattern->lane[n];
            bool here = lane->present && lane->phase == phase;
            put_bits(bits, here ? 1 + lane->word * e->word + lane->element : 0, e->code_bits);
        }
        return;
    }
    for (uint64_t word = 0; word < e->banks; word++)
        for (uint64_t element = 0; element < e->word; element++) {
            uint64_t number = 0;
            bool here = lane_of(pattern, phase, word, element, &number) != NULL;
            put_bits(bits, here ? 1 + number : 0, e->code_bits);
        }
}

static void put_port(const tn_rtl_engine *e, const tn_rtl_patterns *patterns, const char *name, bool spread,
                     tn_buffer *out) {
    bit_string phases = {0}, offsets = {0}, used = {0}, sources = {0};
    for (uint32_t i = 0; i < patterns->count; i++) {
        const tn_rtl_pattern *pattern = &patterns->pattern[i];
        put_bits(&phases, pattern->phases, e->phase_bits);
        for (uint32_t phase = 0; phase < e->phases; phase++) {
            for (uint64_t b = 0; b < e->banks; b++) {
                put_bits(&offsets, pattern->offset[phase][b], e->address_bits);
                put_bits(&used, pattern->used[phase][b], 1);
            }
            put_sources(e, pattern, phase, spread, &sources);
        }
    }
    tn_buffer_format(out, "localparam int PATTERNS_%s = %" PRIu32 ";\n", name, patterns->count);
    put_constant(out, "PHASES_", name, &phases);
    put_constant(out, "OFFSET_", name, &offsets);
    put_constant(out, "USED_", name, &used);
    put_constant(out, "SOURCE_", name, &sources);
}

/* An engine without updates, or without products, has one empty pattern, so that no table is empty. */
static tn_rtl_patterns not_empty(const tn_rtl_patterns *patterns, tn_rtl_pattern *none, uint32_t lanes) {
    memset(none, 0, sizeof *none);
    none->phases = 1;
    none->lanes = lanes;
    return patterns->count ? *patterns : (tn_rtl_patterns){1, none};
}

static void put_vector(const tn_rtl_engine *e, tn_buffer *out) {
    tn_rtl_pattern none;
    tn_rtl_patterns patterns = not_empty(&e->vector, &none, (uint32_t)e->design->vector);
    bit_string used = {0}, sources = {0}, spread = {0};
    for (uint32_t i = 0; i < patterns.count; i++) {
        for (uint64_t b = 0; b < e->banks; b++) put_bits(&used, patterns.pattern[i].used[0][b], 1);
        put_sources(e, &patterns.pattern[i], 0, false, &sources);
        put_sources(e, &patterns.pattern[i], 0, true, &spread);
    }
    tn_buffer_format(out, "localparam int PATTERNS_VECTOR = %" PRIu32 ";\n", patterns.count);
    put_constant(out, "USED_", "VECTOR", &used);
    put_constant(out, "SOURCE_", "VECTOR", &sources);
    put_constant(out, "SPREAD_", "VECTOR", &spread);
}

static void put_number(tn_buffer *out, const char *name, uint64_t value) {
    tn_buffer_format(out, "localparam int %s = %" PRIu64 ";\n", name, value);
}

void tn_rtl_engine_header(const tn_rtl_engine *engine, tn_buffer *out) {
    const tn_rtl_design *design = engine->design;
    field list[FIELDS];
    list_fields(engine, list);
    tn_buffer_text(
        out,
        "// The kernel: rows, columns and terms of an issue, elements of an update a cycle, latencies.\n");
    put_number(out, "ROWS", design->rows);
    put_number(out, "COLUMNS", design->columns);
    put_number(out, "TERMS", design->terms);
    put_number(out, "VECTOR", design->vector);
    put_number(out, "MULTIPLY", design->multiply_cycles);
    put_number(out, "ADD", design->add_cycles);
    tn_buffer_text(out, "// Open sums; memories, and the most banks and elements of a word that one has.\n");
    put_number(out, "OPEN", engine->open);
    put_number(out, "MEMORIES", design->memories);
    put_number(out, "BANKS", engine->banks);
    put_number(out, "WORD", engine->word);
    put_number(out, "PHASES", engine->phases);
    tn_buffer_text(
        out, "// Counters inside each other, of tiles and of groups of terms; operations of the program.\n");
    put_number(out, "TILE_LEVELS", engine->tile_levels);
    put_number(out, "GROUP_LEVELS", engine->group_levels);
    put_number(out, "OPERATIONS", design->operations);
    tn_buffer_text(out, "// Widths in bits.\n");
    put_number(out, "ADDRESS", engine->address_bits);
    put_number(out, "ROTATE", engine->rotate_bits);
    put_number(out, "INSIDE", engine->inside_bits);
    put_number(out, "COUNT", engine->count_bits);
    put_number(out, "TILE", engine->tile_bits);
    put_number(out, "PHASE", engine->phase_bits);
    put_number(out, "SLOT", engine->slot_bits);
    put_number(out, "CODE", engine->code_bits);
    put_number(out, "CHOICE", engine->choice_bits);
    put_number(out, "MEMORY", engine->memory_bits);
    put_number(out, "PROGRAM", engine->program_bits);
    tn_buffer_text(out, "// Where the fields of a descriptor begin.\n");
    uint64_t at = 0;
    for (const field *f = list; f->name; f++) {
        tn_buffer_format(out, "localparam int F_%s = %" PRIu64 ";\n", f->name, at);
        at += f->width * f->count;
    }
    put_number(out, "DESCRIPTOR", at);
    tn_buffer_text(out, "// Banks of each memory, less one.\n");
    bit_string masks = {0};
    for (uint32_t m = 0; m < design->memories; m++)
        put_bits(&masks, design->memory[m].banks - 1, engine->rotate_bits);
    put_constant(out, "MEMORY_", "MASK", &masks);
    tn_buffer_text(out,
                   "// Patterns of the ports: phases; by phase the banks' words and the lanes' sources.\n");
    uint32_t lanes[] = {(uint32_t)(design->rows * design->terms), (uint32_t)(design->terms * design->columns),
                        (uint32_t)(design->rows * design->columns)};
    for (int port = 0; port < TN_RTL_PORTS; port++) {
        tn_rtl_pattern none;
        tn_rtl_patterns patterns = not_empty(&engine->port[port], &none, lanes[port]);
        put_port(engine, &patterns, port_names[port], port == TN_RTL_RESULT, out);
    }
    put_vector(engine, out);
}

void tn_rtl_engine_memories(const tn_rtl_engine *engine, tn_buffer *out) {
    static const char *const styles[] = {"auto", "block", "ultra", "distributed"};
    for (uint32_t m = 0; m < engine->design->memories; m++) {
        const tn_rtl_memory *memory = &engine->design->memory[m];
        tn_buffer_format(out,
                         "memory #(.BANKS(BANKS), .WORD(WORD), .BANKS_HERE(%" PRIu64 "), .WORD_HERE(%" PRIu64
                         "), .DEPTH(%" PRIu64 "), .ADDRESS(ADDRESS), .STYLE(\"%s\"), .NAME(\"memory%" PRIu32
                         "\")) memory%" PRIu32 " (\n",
                         memory->banks, memory->word, memory->depth, styles[memory->style], m, m);
        tn_buffer_format(out,
                         "    .clk, .check,\n"
                         "    .read((left_used & {BANKS{left_read[%" PRIu32
                         "]}}) | (right_used & {BANKS{right_read[%" PRIu32 "]}})),\n"
                         "    .read_address(left_read[%" PRIu32 "] ? left_address : right_address),\n"
                         "    .q(data[%" PRIu32 "*BANKS*WORD*32+:BANKS*WORD*32]),\n"
                         "    .write(write_enable & {BANKS*WORD{write[%" PRIu32
                         "]}}), .write_address, .d(write_data),\n"
                         "    .wrong(wrong_of[%" PRIu32 "]));\n",
                         m, m, m, m, m, m);
    }
}
