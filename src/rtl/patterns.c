/* patterns.sv: what each port's blocks are, as tables and multiplexers.
 *
 * A module PORT_blocks says which pattern a block is: its first choice and its phases. PORT_words says of each choice
 * which banks give a word, by their place in the rotation, and how far behind the block's first one. left_deal and
 * right_deal bring the elements of those words to lanes, result_spread lanes to elements. Each lane (element) has a
 * multiplexer over those elements (lanes) only that some choice takes it from.
 */
#include "base/memory.h"
#include "rtl/bits.h"
#include "rtl/engine.h"

#include <inttypes.h>

static const char *const port_names[TN_RTL_PORTS] = {"left", "right", "result", "extra", "added1", "added2"};

/* One multiplexer: its sources, and by choice the number of the source, or NOTHING. */
enum { NOTHING = UINT16_MAX };
typedef struct {
    uint32_t sources;
    uint32_t *source; /* [choices] at most */
    uint16_t *taken;  /* [choices] */
} multiplexer;

typedef struct {
    const tn_rtl_engine *engine;
    const tn_rtl_patterns *list;
    const char *name;
    bool spread;
    tn_arena *arena;
    uint32_t outputs;
    multiplexer *output; /* [outputs] */
    tn_buffer *out;
} writer;

static uint32_t bits_for(uint32_t values) { /* to tell them apart; 0 for one */
    uint32_t bits = 0;
    while (UINT32_C(1) << bits < values) bits++;
    return bits;
}

/* ---- tables ---- */

static void begin_case(writer *output, const char *selector) {
    tn_buffer_format(output->out, "  always_comb\n    case (%s)\n", selector);
}

static void put_row(writer *output, uint64_t selector_bits, uint64_t row, const char *target,
                    tn_rtl_bits *bits) {
    tn_buffer_format(output->out, "      %" PRIu64 "'d%" PRIu64 ": %s = ", selector_bits, row, target);
    tn_rtl_bits_literal(bits, output->out);
    tn_buffer_text(output->out, ";\n");
}

static void end_case(writer *output, const char *target) {
    tn_buffer_format(output->out, "      default: %s = 'x;\n    endcase\n", target);
}

static void put_blocks(writer *output) {
    const tn_rtl_engine *e = output->engine;
    tn_buffer_format(output->out,
                     "module %s_blocks (\n    input  logic [%" PRIu64 ":0] block,\n    output logic [%" PRIu64
                     ":0] first,\n    output logic [%" PRIu64 ":0] phases\n);\n",
                     output->name, e->block_bits - 1, e->choice_bits - 1, e->phase_bits - 1);
    begin_case(output, "block");
    for (uint32_t i = 0; i < output->list->blocks; i++) {
        tn_rtl_bits bits = {0};
        uint32_t pattern = output->list->block[i];
        tn_rtl_bits_put(&bits, output->list->pattern[pattern].phases, e->phase_bits);
        tn_rtl_bits_put(&bits, output->list->first[pattern], e->choice_bits);
        put_row(output, e->block_bits, i, "{first, phases}", &bits);
    }
    end_case(output, "{first, phases}");
    tn_buffer_text(output->out, "endmodule\n\n");
}

static void put_words(writer *output) {
    const tn_rtl_engine *e = output->engine;
    tn_buffer_format(output->out,
                     "module %s_words (\n    input  logic [%" PRIu64 ":0] choice,\n    output logic [%" PRIu64
                     ":0] used,\n    output logic [%" PRIu64 ":0] offset\n);\n",
                     output->name, e->choice_bits - 1, e->banks - 1, e->banks * e->address_bits - 1);
    begin_case(output, "choice");
    for (uint32_t p = 0; p < output->list->count; p++) {
        const tn_rtl_pattern *pattern = &output->list->pattern[p];
        for (uint32_t phase = 0; phase < pattern->phases; phase++) {
            const tn_rtl_bank_word *word = &pattern->word[(size_t)phase * pattern->banks];
            tn_rtl_bits bits = {0};
            for (uint64_t b = 0; b < e->banks; b++)
                tn_rtl_bits_put(&bits, b < pattern->banks ? word[b].offset : 0, e->address_bits);
            for (uint64_t b = 0; b < e->banks; b++)
                tn_rtl_bits_put(&bits, b < pattern->banks && word[b].used, 1);
            put_row(output, e->choice_bits, output->list->first[p] + phase, "{used, offset}", &bits);
        }
    }
    end_case(output, "{used, offset}");
    tn_buffer_text(output->out, "endmodule\n\n");
}

/* ---- multiplexers ---- */

static void add_source(multiplexer *output, uint32_t choice, uint32_t source) {
    uint32_t i = 0;
    while (i < output->sources && output->source[i] != source) i++;
    if (i == output->sources) output->source[output->sources++] = source;
    output->taken[choice] = (uint16_t)i;
}

static tn_status make_multiplexers(writer *output) {
    const tn_rtl_engine *e = output->engine;
    const tn_rtl_patterns *list = output->list;
    TN_TRY(TN_NEW(output->arena, output->outputs, &output->output, NULL));
    for (uint32_t n = 0; n < output->outputs; n++) {
        multiplexer *m = &output->output[n];
        TN_TRY(TN_NEW(output->arena, list->choices, &m->source, NULL));
        TN_TRY(TN_NEW(output->arena, list->choices, &m->taken, NULL));
        for (uint32_t c = 0; c < list->choices; c++) m->taken[c] = NOTHING;
    }
    for (uint32_t p = 0; p < list->count; p++)
        for (uint32_t n = 0; n < list->pattern[p].lanes; n++) {
            const tn_rtl_lane *lane = &list->pattern[p].lane[n];
            uint32_t element = (uint32_t)(lane->word * e->word + lane->element);
            if (lane->present)
                add_source(&output->output[output->spread ? element : n], list->first[p] + lane->phase,
                           output->spread ? n : element);
        }
    return TN_OK;
}

uint64_t tn_rtl_port_sources(const tn_rtl_engine *engine, tn_rtl_port port, uint64_t output) {
    const tn_rtl_patterns *list = &engine->port[port];
    uint8_t seen[TN_RTL_BANKS_MOST * TN_RTL_WORD_MOST / 8] = {0}; /* as many as lanes, or more */
    uint64_t sources = 0;
    for (uint32_t p = 0; p < list->count; p++)
        for (uint32_t n = 0; n < list->pattern[p].lanes; n++) {
            const tn_rtl_lane *lane = &list->pattern[p].lane[n];
            uint64_t element = lane->word * engine->word + lane->element;
            uint64_t begin = port == TN_RTL_RESULT ? n : element, end = port == TN_RTL_RESULT ? element : n;
            if (!lane->present || end != output || seen[begin / 8] >> begin % 8 & 1) continue;
            seen[begin / 8] |= (uint8_t)(1 << begin % 8);
            sources++;
        }
    return sources;
}

/* A tree over sources from..from + 2^bits - 1, the row's bit `index` + bits - 1 at its root. */
static void put_tree(writer *output, const multiplexer *m, uint32_t begin, uint32_t bits, uint64_t index) {
    const char *input = output->spread ? "lane" : "words";
    if (bits == 0) {
        tn_buffer_format(output->out, "%s[%" PRIu32 "+:32]", input, 32 * m->source[begin]);
        return;
    }
    uint32_t half = UINT32_C(1) << (bits - 1);
    if (begin + half >= m->sources) { /* the upper half is empty */
        put_tree(output, m, begin, bits - 1, index);
        return;
    }
    tn_buffer_format(output->out, "(row[%" PRIu64 "] ? ", index + bits - 1);
    put_tree(output, m, begin + half, bits - 1, index);
    tn_buffer_text(output->out, " : ");
    put_tree(output, m, begin, bits - 1, index);
    tn_buffer_text(output->out, ")");
}

/* The row of a choice: by output whether it takes anything, then by output the number of its source. */
static uint64_t row_bits(const writer *output) {
    uint64_t bits = output->outputs;
    for (uint32_t n = 0; n < output->outputs; n++) bits += bits_for(output->output[n].sources);
    return bits;
}

static void put_rows(writer *output) {
    begin_case(output, "choice");
    for (uint32_t c = 0; c < output->list->choices; c++) {
        tn_rtl_bits bits = {0};
        for (uint32_t n = 0; n < output->outputs; n++)
            tn_rtl_bits_put(&bits, output->output[n].taken[c] != NOTHING, 1);
        for (uint32_t n = 0; n < output->outputs; n++) {
            const multiplexer *m = &output->output[n];
            tn_rtl_bits_put(&bits, m->taken[c] == NOTHING ? 0 : m->taken[c], bits_for(m->sources));
        }
        put_row(output, output->engine->choice_bits, c, "next", &bits);
    }
    end_case(output, "next");
}

static void put_multiplexers(writer *file, const char *module, const char *input, uint64_t inputs,
                             const char *taken, const char *output) {
    uint64_t bits = row_bits(file), index = file->outputs;
    tn_buffer_format(file->out,
                     "module %s_%s (\n    input  logic clk,\n    input  logic [%" PRIu64
                     ":0] choice,  // of the next cycle\n    input  logic [%" PRIu64
                     ":0] %s,\n    output logic [%" PRIu32 ":0] %s,\n    output logic [%" PRIu32
                     ":0] %s\n);\n",
                     file->name, module, file->engine->choice_bits - 1, 32 * inputs - 1, input,
                     file->outputs - 1, taken, 32 * file->outputs - 1, output);
    tn_buffer_format(file->out, "  logic [%" PRIu64 ":0] row, next;\n", bits - 1);
    put_rows(file);
    tn_buffer_format(file->out,
                     "  always_ff @(posedge clk) row <= next;\n  assign %s = row[%" PRIu32 ":0];\n", taken,
                     file->outputs - 1);
    for (uint32_t n = 0; n < file->outputs; n++) {
        const multiplexer *m = &file->output[n];
        tn_buffer_format(file->out, "  assign %s[%" PRIu32 "+:32] = ", output, 32 * n);
        if (m->sources == 0)
            tn_buffer_text(file->out, "'0");
        else
            put_tree(file, m, 0, bits_for(m->sources), index);
        index += bits_for(m->sources);
        tn_buffer_text(file->out, ";\n");
    }
    tn_buffer_text(file->out, "endmodule\n\n");
}

static tn_status put_port(const tn_rtl_engine *e, tn_rtl_port port, tn_arena *arena, tn_buffer *out) {
    uint64_t lanes = tn_rtl_port_lanes(e, port), elements = e->banks * e->word;
    bool spread = port == TN_RTL_RESULT;
    writer output = {.engine = e,
                     .list = &e->port[port],
                     .name = port_names[port],
                     .spread = spread,
                     .arena = arena,
                     .outputs = (uint32_t)(spread ? elements : lanes),
                     .out = out};
    put_blocks(&output);
    put_words(&output);
    TN_TRY(make_multiplexers(&output));
    if (spread)
        put_multiplexers(&output, "spread", "lane", lanes, "enable", "words");
    else
        put_multiplexers(&output, "deal", "words", elements, "taken", "lane");
    return TN_OK;
}

void tn_rtl_engine_patterns(const tn_rtl_engine *engine, tn_buffer *out) {
    tn_arena arena = {0};
    tn_buffer_text(out, "// Generated: the blocks of this program's operations, port by port.\n\n");
    for (int port = 0; port < TN_RTL_PORTS; port++) {
        if (engine->port[port].count == 0) continue;
        tn_status status = put_port(engine, (tn_rtl_port)port, &arena, out);
        if (status != TN_OK) out->status = status;
    }
    tn_arena_free(&arena);
}
