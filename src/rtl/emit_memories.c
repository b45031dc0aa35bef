/* memories.svh: one instance of templates/memory.sv for each memory, with what its forms ask of it. */
#include "rtl/engine.h"

#include <inttypes.h>

/* Which banks a form of a memory reads, and where: the ports that may read it, one at a time. */
static void put_reads(const tn_rtl_engine *engine, uint32_t f, tn_buffer *out) {
    tn_buffer_format(out,
                     "(left_used & {BANKS{left_read[%" PRIu32
                     "]}}) | (right_used & {BANKS{right_read[%" PRIu32 "]}})",
                     f, f);
    if (engine->circuits) tn_buffer_format(out, " | (extra_used & {BANKS{extra_read[%" PRIu32 "]}})", f);
    if (engine->stages)
        tn_buffer_format(out,
                         " | (added_used[0+:BANKS] & {BANKS{added_read[%" PRIu32
                         "]}}) | (added_used[BANKS+:BANKS] & {BANKS{added_read[MEMORIES+%" PRIu32 "]}})",
                         f, f);
}

static void put_addresses(const tn_rtl_engine *engine, uint32_t f, tn_buffer *out) {
    tn_buffer_format(out, "left_read[%" PRIu32 "] ? left_address : ", f);
    if (engine->circuits) tn_buffer_format(out, "extra_read[%" PRIu32 "] ? extra_address : ", f);
    if (engine->stages)
        tn_buffer_format(out,
                         "added_read[%" PRIu32
                         "] ? added_address[0+:BANKS*ADDRESS] : added_read[MEMORIES+%" PRIu32
                         "] ? added_address[BANKS*ADDRESS+:BANKS*ADDRESS] : ",
                         f, f);
    tn_buffer_text(out, "right_address");
}

static void put_writes(const tn_rtl_engine *engine, uint32_t f, tn_buffer *out) {
    (void)engine;
    tn_buffer_format(out, "write_enable & {BANKS*WORD{write[%" PRIu32 "]}}", f);
}

static void put_banks(const tn_rtl_engine *engine, uint32_t f, tn_buffer *out) {
    tn_buffer_format(out, "16'd%" PRIu64, engine->form[f].banks);
}

/* The values of all forms of a memory, the last first. */
static void put_by_form(const tn_rtl_engine *engine, uint32_t first, uint32_t end, tn_buffer *out,
                        void (*put)(const tn_rtl_engine *, uint32_t, tn_buffer *)) {
    tn_buffer_text(out, "{");
    for (uint32_t f = end; f-- > first;) {
        put(engine, f, out);
        tn_buffer_text(out, f > first ? ",\n        " : "}");
    }
}

static void put_memory(const tn_rtl_engine *engine, uint32_t first, uint32_t end, tn_buffer *out) {
    const uint32_t m = engine->form[first].memory, forms = end - first;
    const tn_rtl_memory *memory = &engine->design->memory[m];
    tn_buffer_format(out,
                     "memory #(.BANKS(BANKS), .WORD(WORD), .BANKS_HERE(%" PRIu64 "), .WORD_HERE(%" PRIu64
                     "), .DEPTH(%" PRIu64 "), .ADDRESS(ADDRESS), .STYLE(\"%s\"), .NAME(\"memory%" PRIu32
                     "\"), .FORMS(%" PRIu32 "), .BANKS_SEEN(",
                     memory->banks, memory->word, memory->depth, tn_memory_style_names[memory->style], m,
                     forms);
    put_by_form(engine, first, end, out, put_banks);
    tn_buffer_format(out, ")) memory%" PRIu32 " (\n    .clk,\n    .read(", m);
    put_by_form(engine, first, end, out, put_reads);
    tn_buffer_text(out, "),\n    .read_address(");
    put_by_form(engine, first, end, out, put_addresses);
    tn_buffer_format(out,
                     "),\n    .q(data[%" PRIu32 "*BANKS*WORD*32+:%" PRIu32 "*BANKS*WORD*32]),\n    .write(",
                     first, forms);
    put_by_form(engine, first, end, out, put_writes);
    tn_buffer_format(out,
                     "), .write_address, .d(write_data)\n`ifndef SYNTHESIS\n    , .check, .restore, "
                     ".wrong(wrong_of[%" PRIu32 "])\n`endif\n);\n",
                     first);
    if (forms == 1) return;
    tn_buffer_text(out, "`ifndef SYNTHESIS\n");
    for (uint32_t f = first + 1; f < end; f++)
        tn_buffer_format(out, "assign wrong_of[%" PRIu32 "] = 0;\n", f);
    tn_buffer_text(out, "`endif\n");
}

void tn_rtl_engine_memories(const tn_rtl_engine *engine, tn_buffer *out) {
    for (uint32_t first = 0, end; first < engine->forms; first = end) {
        end = first + 1;
        while (end < engine->forms && engine->form[end].memory == engine->form[first].memory) end++;
        put_memory(engine, first, end, out);
    }
}
