/* engine.svh, descriptor.svh and program.hex: one list of descriptor fields names them for the templates and packs them. */
#include "base/checked.h"
#include "base/memory.h"
#include "rtl/bits.h"
#include "rtl/engine.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
SCALAR(left_block, block[TN_RTL_LEFT])
SCALAR(right_block, block[TN_RTL_RIGHT])
SCALAR(result_block, block[TN_RTL_RESULT])
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
        uint64_t ports = engine->tile_ports;                                                                 \
        return i / ports < step->tile_levels ? step->tile[i / ports][engine->counted[i % ports]].MEMBER : 0; \
    }                                                                                                        \
    static uint64_t group_##MEMBER(const tn_rtl_engine *engine, const tn_rtl_step *step, uint64_t i) {       \
        uint64_t ports = engine->group_ports;                                                                \
        return i / ports < step->group_levels ? step->group[i / ports][engine->counted[i % ports]].MEMBER    \
                                              : 0;                                                           \
    }
COUNTER(period)
COUNTER(stride)
COUNTER(turn_period)
COUNTER(turn)
COUNTER(further_period)
COUNTER(further)
COUNTER(inside)
COUNTER(shift)

/* ---- of products on a systolic array ---- */

/* Of the number of a row of cells, or how many there are. */
static uint64_t cell_row_bits(const tn_rtl_engine *engine) {
    return tn_rtl_bits_for(engine->design->rows + 1);
}

static uint64_t is_array(const tn_rtl_engine *engine, const tn_rtl_step *step, uint64_t pass) {
    (void)engine;
    return step->array == (tn_array_pass)pass;
}
static uint64_t rests(const tn_rtl_engine *engine, const tn_rtl_step *step, uint64_t i) {
    (void)i;
    return is_array(engine, step, TN_PASS_RESTS);
}
static uint64_t sideways(const tn_rtl_engine *engine, const tn_rtl_step *step, uint64_t i) {
    (void)i;
    return is_array(engine, step, TN_PASS_SIDEWAYS);
}
#define INNER(MEMBER)                                                                                        \
    static uint64_t inner_##MEMBER(const tn_rtl_engine *engine, const tn_rtl_step *step, uint64_t i) {       \
        (void)engine;                                                                                        \
        return step->inner.counter[i].MEMBER;                                                                \
    }
INNER(period)
INNER(stride)
INNER(turn_period)
INNER(turn)
INNER(inside)
INNER(shift)
SCALAR(inner_log, inner.log)
SCALAR(inner_size, inner.size[i])
SCALAR(inner_rest, inner.rest[i])
SCALAR(inner_count, inner.count[i])

/* ---- of write-backs ---- */

SCALAR(all_stages, stages)
static uint64_t added_memory(const tn_rtl_engine *engine, const tn_rtl_step *step, uint64_t i) {
    (void)engine;
    return step->memory[TN_RTL_ADDED_FIRST + i];
}
static uint64_t added_base(const tn_rtl_engine *engine, const tn_rtl_step *step, uint64_t i) {
    (void)engine;
    return step->base[TN_RTL_ADDED_FIRST + i];
}
static uint64_t added_block(const tn_rtl_engine *engine, const tn_rtl_step *step, uint64_t i) {
    (void)engine;
    return step->block[TN_RTL_ADDED_FIRST + i];
}
static uint64_t is_added(const tn_rtl_engine *engine, const tn_rtl_step *step, uint64_t i) {
    (void)engine;
    return (step->stages & (i == 0 ? TN_RTL_STAGE_FIRST : TN_RTL_STAGE_LAST)) != 0;
}

/* ---- of passes ---- */

static const tn_circuit *circuit_of(const tn_rtl_engine *engine, const tn_rtl_step *step) {
    return step->pass ? &engine->circuit[step->circuit] : NULL;
}

#define OF_PASS(NAME, VALUE)                                                                                 \
    static uint64_t NAME(const tn_rtl_engine *engine, const tn_rtl_step *step, uint64_t i) {                 \
        const tn_circuit *circuit = circuit_of(engine, step);                                                \
        (void)i;                                                                                             \
        return circuit ? (uint64_t)(VALUE) : 0;                                                              \
    }
SCALAR(extra_memory, memory[TN_RTL_EXTRA])
SCALAR(extra_base, base[TN_RTL_EXTRA])
SCALAR(extra_block, block[TN_RTL_EXTRA])
SCALAR(drain, drain)
SCALAR(pass_number, circuit)
OF_PASS(pass_depth, circuit->depth)
OF_PASS(pass_streams, step->pass->writes && circuit->form != TN_PASS_ACCUMULATE)
OF_PASS(pass_of_rows, circuit->form == TN_PASS_PER_ROW)
OF_PASS(pass_sums, circuit->form == TN_PASS_REDUCE || circuit->form == TN_PASS_ACCUMULATE)
OF_PASS(pass_by_column, circuit->form == TN_PASS_ACCUMULATE)
OF_PASS(pass_greatest, circuit->greatest)
OF_PASS(pass_scalar, circuit->scalar[i] & 3)
OF_PASS(pass_has, tn_circuit_has_scalar(circuit, (int)i))
OF_PASS(pass_reads, step->pass->reads[i])
OF_PASS(pass_columns, step->pass->by_word ? engine->design->vector : step->pass->columns)
OF_PASS(pass_top, step->pass->lanes - 1)
OF_PASS(pass_first_row, step->pass->first_row)
OF_PASS(pass_first_label, step->pass->first_label)
OF_PASS(pass_limited, step->pass->limit_slot != TN_RTL_NONE)
OF_PASS(pass_limit_slot, step->pass->limit_slot == TN_RTL_NONE ? 0 : step->pass->limit_slot)

/* The first constant of an update is the register's rate. */
static uint64_t is_rated(const tn_rtl_engine *engine, const tn_rtl_step *step, uint64_t i) {
    (void)engine, (void)i;
    return step->pass && step->pass->kind == TN_OP_UPDATE_SGD;
}

static uint64_t pass_constant(const tn_rtl_engine *engine, const tn_rtl_step *step, uint64_t i) {
    const bool rated = i == 0 && is_rated(engine, step, 0);
    float value = step->pass && !rated ? (float)step->pass->constant[i] : 0;
    uint32_t bits;
    (void)engine;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static const tn_rtl_look *look_of(const tn_rtl_engine *engine, const tn_rtl_step *step, uint64_t i) {
    static const tn_rtl_look none = {0};
    size_t number = (size_t)(step - engine->step);
    return number < engine->design->operations ? &engine->design->operation[number].look[i] : &none;
}
static uint64_t look_used(const tn_rtl_engine *engine, const tn_rtl_step *step, uint64_t i) {
    return look_of(engine, step, i)->used;
}
static uint64_t look_slot(const tn_rtl_engine *engine, const tn_rtl_step *step, uint64_t i) {
    return look_of(engine, step, i)->slot;
}

enum { FIELDS = 78, COUNTER_BITS = 4 };

static void list_fields(const tn_rtl_engine *e, field *list) {
    uint64_t tile = e->tile_levels, group = e->group_levels, passes = e->circuits ? 1 : 0,
             fused = e->stages ? 1 : 0, array = e->design->systolic ? 1 : 0, row_bits = cell_row_bits(e);
    const field fields[FIELDS] = {
        {"END", 1, 1, is_end},
        {"VECTOR", 1, 1, is_vector},
        {"LEFT_MEMORY", e->memory_bits, 1, left_memory},
        {"RIGHT_MEMORY", e->memory_bits, 1, right_memory},
        {"RESULT_MEMORY", e->memory_bits, 1, result_memory},
        {"LEFT_BASE", e->address_bits, 1, left_base},
        {"RIGHT_BASE", e->address_bits, 1, right_base},
        {"RESULT_BASE", e->address_bits, 1, result_base},
        {"LEFT_BLOCK", e->block_bits, 1, left_block},
        {"RIGHT_BLOCK", e->block_bits, 1, right_block},
        {"RESULT_BLOCK", e->block_bits, 1, result_block},
        {"OPEN", e->tile_bits, 1, open_tiles},
        {"TILES", e->tile_bits, 1, all_tiles},
        {"INTERVAL", e->phase_bits, 1, interval},
        {"WRITE_PHASES", e->phase_bits, 1, write_phases},
        {"EDGE_ROW", e->cuts, 1, edge_row},
        {"EDGE_COLUMN", e->cuts, 1, edge_column},
        {"EDGE_TERM", e->cuts, 1, edge_term},
        {"TILE_COUNT", e->count_bits, tile, tile_count},
        {"TILE_PERIOD", COUNTER_BITS, tile * e->tile_ports, tile_period},
        {"TILE_STRIDE", e->address_bits, tile * e->tile_ports, tile_stride},
        {"TILE_TURN_PERIOD", COUNTER_BITS, tile * e->tile_ports, tile_turn_period},
        {"TILE_TURN", e->rotate_bits, tile * e->tile_ports, tile_turn},
        {"TILE_FURTHER_PERIOD", COUNTER_BITS, tile * e->tile_ports, tile_further_period},
        {"TILE_FURTHER", 1, tile * e->tile_ports, tile_further},
        {"TILE_INSIDE", COUNTER_BITS, tile * e->tile_ports, tile_inside},
        {"TILE_SHIFT", COUNTER_BITS, tile * e->tile_ports, tile_shift},
        {"GROUP_COUNT", e->count_bits, group, group_count},
        {"GROUP_PERIOD", COUNTER_BITS, group * e->group_ports, group_period},
        {"GROUP_STRIDE", e->address_bits, group * e->group_ports, group_stride},
        {"GROUP_TURN_PERIOD", COUNTER_BITS, group * e->group_ports, group_turn_period},
        {"GROUP_TURN", e->rotate_bits, group * e->group_ports, group_turn},
        {"GROUP_FURTHER_PERIOD", COUNTER_BITS, group * e->group_ports, group_further_period},
        {"GROUP_FURTHER", 1, group * e->group_ports, group_further},
        {"GROUP_INSIDE", COUNTER_BITS, group * e->group_ports, group_inside},
        {"GROUP_SHIFT", COUNTER_BITS, group * e->group_ports, group_shift},
        {"RESTS", 1, array, rests},
        {"SIDEWAYS", 1, array, sideways},
        {"INNER_LOG", COUNTER_BITS, array, inner_log},
        {"INNER_SIZE", row_bits, 2 * array, inner_size},
        {"INNER_REST", row_bits, 2 * array, inner_rest},
        {"INNER_COUNT", e->count_bits, 2 * array, inner_count},
        {"INNER_PERIOD", COUNTER_BITS, 2 * array, inner_period},
        {"INNER_STRIDE", e->address_bits, 2 * array, inner_stride},
        {"INNER_TURN_PERIOD", COUNTER_BITS, 2 * array, inner_turn_period},
        {"INNER_TURN", e->rotate_bits, 2 * array, inner_turn},
        {"INNER_INSIDE", COUNTER_BITS, 2 * array, inner_inside},
        {"INNER_SHIFT", COUNTER_BITS, 2 * array, inner_shift},
        {"PASS", e->pass_bits, passes, pass_number},
        {"DEPTH", e->depth_bits, passes, pass_depth},
        {"DRAIN", e->drain_bits, passes, drain},
        {"STREAMS", 1, passes, pass_streams},
        {"OF_ROWS", 1, passes, pass_of_rows},
        {"SUMS", 1, passes, pass_sums},
        {"BY_COLUMN", 1, passes, pass_by_column},
        {"GREATEST", 1, passes, pass_greatest},
        {"SCALAR", 2, passes * TN_CIRCUIT_OUTPUTS, pass_scalar},
        {"HAS", 1, passes * TN_CIRCUIT_OUTPUTS, pass_has},
        {"K", 32, passes * 2, pass_constant},
        {"RATED", 1, passes, is_rated},
        {"READS", 1, passes * 3, pass_reads},
        {"COLUMNS_HERE", e->address_bits, passes, pass_columns},
        {"TOP", tn_rtl_bits_for(e->design->vector), passes, pass_top},
        {"LIMITED", 1, passes, pass_limited},
        {"LIMIT_SLOT", e->sample_bits, passes, pass_limit_slot},
        {"FIRST_ROW", e->row_bits, passes, pass_first_row},
        {"FIRST_LABEL", e->label_bits, passes, pass_first_label},
        {"EXTRA_MEMORY", e->memory_bits, passes, extra_memory},
        {"EXTRA_BASE", e->address_bits, passes, extra_base},
        {"EXTRA_BLOCK", e->block_bits, passes, extra_block},
        {"STAGES", 3, fused, all_stages},
        {"ADDS", 1, fused * TN_RTL_ADDED, is_added},
        {"ADDED_MEMORY", e->memory_bits, fused * TN_RTL_ADDED, added_memory},
        {"ADDED_BASE", e->address_bits, fused * TN_RTL_ADDED, added_base},
        {"ADDED_BLOCK", e->block_bits, fused * TN_RTL_ADDED, added_block},
        {"LOOKS", 1, passes * 3, look_used},
        {"LOOK_SLOT", e->sample_bits, passes * 3, look_slot},
        {NULL, 0, 0, NULL},
    };
    memcpy(list, fields, sizeof fields);
}

static void fill_descriptor(const tn_rtl_engine *engine, const field *list, const tn_rtl_step *step,
                            tn_rtl_bits *bits) {
    static const tn_rtl_step end = {0};
    bool last = is_end(engine, step, 0);
    for (const field *f = list; f->name; f++)
        for (uint64_t i = 0; i < f->count; i++)
            tn_rtl_bits_put(bits, f->value == is_end ? last : f->value(engine, last ? &end : step, i),
                            f->width);
}

static uint64_t descriptor_bits(const field *list) {
    uint64_t bits = 0;
    for (const field *f = list; f->name; f++) bits += f->width * f->count;
    return bits;
}

static bool has_bit(const uint8_t *bytes, uint64_t bit) {
    return bytes[bit / 8] >> bit % 8 & 1;
}

/* ---- program.hex and descriptor.svh ---- */

/* Every bit of the descriptors as a column: a bit for each of the program's. */
static tn_status list_columns(const tn_rtl_engine *engine, uint64_t bits, uint64_t bytes, uint8_t *column,
                              tn_error *error) {
    field list[FIELDS];
    list_fields(engine, list);
    for (uint32_t i = 0; i <= engine->design->operations; i++) {
        tn_rtl_bits row = {0};
        fill_descriptor(engine, list, &engine->step[i], &row);
        for (uint64_t b = 0; row.status == TN_OK && b < bits; b++)
            column[b * bytes + i / 8] |= (uint8_t)(has_bit(row.byte, b) << i % 8);
        tn_free(row.byte);
        if (row.status != TN_OK) return tn_fail(error, row.status, "no memory for the program");
    }
    return TN_OK;
}

tn_status tn_rtl_columns_find(const tn_rtl_engine *engine, tn_arena *arena, tn_rtl_columns *columns,
                              tn_error *error) {
    field list[FIELDS];
    const uint64_t rows = (uint64_t)engine->design->operations + 1, bytes = tn_ceil_div(rows, 8);
    uint8_t *column, *none, *all;
    uint64_t *first; /* the column of each stored bit */
    list_fields(engine, list);
    *columns = (tn_rtl_columns){.bits = descriptor_bits(list)};
    TN_TRY(TN_NEW(arena, columns->bits * bytes, &column, error));
    TN_TRY(TN_NEW(arena, bytes, &none, error));
    TN_TRY(TN_NEW(arena, bytes, &all, error));
    TN_TRY(TN_NEW(arena, columns->bits, &first, error));
    TN_TRY(TN_NEW(arena, columns->bits, &columns->number, error));
    for (uint64_t i = 0; i < rows; i++) all[i / 8] |= (uint8_t)(1 << i % 8);
    TN_TRY(list_columns(engine, columns->bits, bytes, column, error));
    for (uint64_t b = 0; b < columns->bits; b++) {
        const uint8_t *own = column + b * bytes;
        uint32_t same = 0;
        while (same < columns->stored && memcmp(column + first[same] * bytes, own, bytes) != 0) same++;
        if (memcmp(own, none, bytes) == 0)
            same = TN_RTL_ALWAYS_ZERO;
        else if (memcmp(own, all, bytes) == 0)
            same = TN_RTL_ALWAYS_ONE;
        else if (same == columns->stored)
            first[columns->stored++] = b;
        columns->number[b] = same;
    }
    return TN_OK;
}

/* Behind an operation's bits what it is, as the reader of a hex file skips it. */
static void put_step_name(const tn_rtl_engine *engine, uint32_t i, tn_buffer *out) {
    const bool end = i == engine->design->operations;
    tn_buffer_format(out, " // %" PRIu32 " %s", i, end ? "end" : engine->design->operation[i].name);
    if (!end && engine->step[i].pass) {
        tn_buffer_text(out, " ");
        tn_circuit_name(&engine->circuit[engine->step[i].circuit], out);
    }
    tn_buffer_text(out, "\n");
}

void tn_rtl_engine_program(const tn_rtl_engine *engine, const tn_rtl_columns *columns, tn_buffer *out) {
    field list[FIELDS];
    list_fields(engine, list);
    for (uint32_t i = 0; i <= engine->design->operations; i++) {
        tn_rtl_bits all = {0}, stored = {0};
        uint32_t next = 0;
        fill_descriptor(engine, list, &engine->step[i], &all);
        if (all.status != TN_OK) {
            out->status = all.status;
            return;
        }
        for (uint64_t b = 0; b < columns->bits; b++) {
            if (columns->number[b] != next) continue;
            tn_rtl_bits_put(&stored, has_bit(all.byte, b), 1);
            next++;
        }
        tn_free(all.byte);
        tn_rtl_bits_hex(&stored, out);
        put_step_name(engine, i, out);
    }
}

/* Field by field, each value from its highest bit down. */
void tn_rtl_engine_descriptor(const tn_rtl_engine *engine, const tn_rtl_columns *columns, tn_buffer *out) {
    field list[FIELDS];
    uint64_t begin = 0;
    list_fields(engine, list);
    tn_buffer_text(out, "// The descriptor's fields from the bits of it that the program's memory holds.\n");
    for (const field *f = list; f->name; f++)
        for (uint64_t i = 0; i < f->count; i++, begin += f->width) {
            tn_buffer_format(out, "assign d[F_%s", f->name);
            if (f->count > 1) tn_buffer_format(out, "+%" PRIu64, i * f->width);
            tn_buffer_format(out, "+:%" PRIu64 "] = {", f->width);
            for (uint64_t b = begin + f->width; b-- > begin;) {
                const uint32_t owner = columns->number[b];
                if (owner == TN_RTL_ALWAYS_ZERO || owner == TN_RTL_ALWAYS_ONE)
                    tn_buffer_text(out, owner == TN_RTL_ALWAYS_ONE ? "1'b1" : "1'b0");
                else
                    tn_buffer_format(out, "stored[%" PRIu32 "]", owner);
                tn_buffer_text(out, b == begin ? "};\n" : ", ");
            }
        }
}

/* ---- engine.svh ---- */

static void put_number(tn_buffer *out, const char *name, uint64_t value) {
    tn_buffer_format(out, "localparam int %s = %" PRIu64 ";\n", name, value);
}

/* By memory: the bits of a bank's number, and the highest bit of its first form where it has a second one. */
static void put_memories(const tn_rtl_engine *engine, tn_buffer *out) {
    tn_rtl_bits masks = {0}, tops = {0};
    for (uint32_t f = 0; f < engine->forms; f++) {
        const tn_rtl_form *form = &engine->form[f];
        uint64_t first = form->second > 1 ? form->banks / form->second : 1;
        tn_rtl_bits_put(&masks, form->banks - 1, engine->rotate_bits);
        tn_rtl_bits_put(&tops, first / 2, engine->rotate_bits);
    }
    tn_buffer_text(
        out, "// By memory: its banks less one; the highest bit of the first form, where there are two.\n");
    tn_buffer_text(out, "localparam logic [MEMORIES*ROTATE-1:0] MEMORY_MASK = ");
    tn_rtl_bits_literal(&masks, out);
    tn_buffer_text(out, ";\nlocalparam logic [MEMORIES*ROTATE-1:0] MEMORY_TOP = ");
    tn_rtl_bits_literal(&tops, out);
    tn_rtl_bits right = {0};
    for (uint32_t f = 0; f < engine->forms; f++) {
        bool read = false;
        for (uint32_t i = 0; i < engine->design->operations; i++)
            read = read || engine->step[i].memory[TN_RTL_RIGHT] == f;
        tn_rtl_bits_put(&right, read, 1);
    }
    tn_buffer_text(
        out, ";\n// Memories that right operands lie in; any may give a left one, if only to the host.\n"
             "localparam logic [MEMORIES-1:0] RIGHT_SERVES = ");
    tn_rtl_bits_literal(&right, out);
    tn_buffer_text(out, ";\n");
}

/* Of a systolic array; elements of a row, or tile, of results. */
static void put_array(const tn_rtl_engine *engine, tn_buffer *out) {
    const tn_rtl_design *design = engine->design;
    put_number(out, "SUM_LANES",
               design->systolic ? tn_greatest(design->rows, design->columns)
                                : design->rows * design->columns);
    if (!design->systolic) return;
    tn_buffer_text(out, "// A systolic array, and rows of sums that wait at its edge.\n`define HAS_ARRAY\n");
    put_number(out, "ARRAY_SLOTS", engine->slots);
    put_number(out, "ARRAY_SLOT", engine->array_slot_bits);
    put_number(out, "CELL_ROW", cell_row_bits(engine));
}

/* Of what products do before they write; an engine whose products do nothing has none. */
static void put_write_back(const tn_rtl_engine *engine, tn_buffer *out) {
    put_number(out, "ADDED_AT", engine->added_at);
    if (!engine->stages) return;
    tn_buffer_text(out, "// Stages behind the sums that some product takes: an addition, ReLU, an addition.\n"
                        "`define HAS_WRITE_BACK\n");
    tn_buffer_format(out, "localparam logic [2:0] STAGES = 3'd%" PRIu64 ";\n", engine->stages);
}

/* Of the vector unit; an engine without passes has none. */
static void put_passes(const tn_rtl_engine *engine, tn_buffer *out) {
    const tn_rtl_design *design = engine->design;
    bool sums = false, second = false, greatest = false;
    for (uint32_t i = 0; i < engine->circuits; i++) {
        const tn_circuit *circuit = &engine->circuit[i];
        bool summing = circuit->form == TN_PASS_REDUCE || circuit->form == TN_PASS_ACCUMULATE;
        sums = sums || (summing && !circuit->greatest);
        greatest = greatest || circuit->greatest;
        second = second || (summing && circuit->output[TN_CIRCUIT_V] != UINT32_MAX);
    }
    tn_buffer_text(out, "// Passes of vector kernels, and what counters of tiles and of groups move.\n");
    put_number(out, "PASSES", engine->circuits);
    put_number(out, "TILE_PORTS", engine->tile_ports);
    put_number(out, "GROUP_PORTS", engine->group_ports);
    if (engine->circuits || engine->stages) put_number(out, "COMPARE", design->latencies.cycles[TN_COMPARE]);
    if (!engine->circuits) return;
    tn_buffer_text(out, "`define HAS_PASSES\n");
    put_number(out, "PASS", engine->pass_bits);
    put_number(out, "DEPTH", engine->depth_bits);
    put_number(out, "DEPTH_MOST", engine->depth_most);
    put_number(out, "DRAINING", engine->drain_bits);
    put_number(out, "SUMS", sums);
    put_number(out, "SECOND", second);
    put_number(out, "GREATEST", greatest);
    tn_buffer_text(out, "// Rows that have scalars; words and labels of a sample, samples.\n");
    put_number(out, "SCALAR_ROWS", design->scalar_rows);
    put_number(out, "ROW", engine->row_bits);
    put_number(out, "SAMPLE_WORDS", design->sample_words);
    put_number(out, "SAMPLE_LABELS", design->sample_labels);
    put_number(out, "SAMPLE", engine->sample_bits);
    put_number(out, "LABEL", engine->label_bits);
    put_number(out, "LANE_BITS", tn_rtl_bits_for(engine->design->vector));
}

void tn_rtl_host_spaces(tn_buffer *out) {
    tn_buffer_format(out,
                     "localparam logic [15:0] HOST_SAMPLE = 16'h%04x;\n"
                     "localparam logic [15:0] HOST_LABELS = 16'h%04x;\n"
                     "localparam logic [15:0] HOST_RATE = 16'h%04x;\n"
                     "localparam logic [15:0] HOST_ROWS = 16'h%04x;\n",
                     (unsigned)TN_RTL_HOST_SAMPLE, (unsigned)TN_RTL_HOST_LABELS, (unsigned)TN_RTL_HOST_RATE,
                     (unsigned)TN_RTL_HOST_ROWS);
}

void tn_rtl_engine_header(const tn_rtl_engine *engine, const tn_rtl_columns *columns, tn_buffer *out) {
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
    put_number(out, "UPDATES", engine->updates);
    put_array(engine, out);
    put_number(out, "LANES_LEFT", tn_rtl_port_lanes(engine, TN_RTL_LEFT));
    put_number(out, "LANES_RIGHT", tn_rtl_port_lanes(engine, TN_RTL_RIGHT));
    put_number(out, "LANES_RESULT", tn_rtl_port_lanes(engine, TN_RTL_RESULT));
    put_write_back(engine, out);
    put_passes(engine, out);
    tn_buffer_text(
        out,
        "// Open sums; memories (one that arrays see in several forms counts as many), the most banks, the\n"
        "// most elements of a word.\n");
    put_number(out, "OPEN", engine->open);
    put_number(out, "MEMORIES", engine->forms);
    put_number(out, "BANKS", engine->banks);
    put_number(out, "WORD", engine->word);
    tn_buffer_text(
        out,
        "// Indices that a group may cut; counters inside each other, of tiles and of groups of terms.\n");
    put_number(out, "CUTS", engine->cuts);
    put_number(out, "TILE_LEVELS", engine->tile_levels);
    put_number(out, "GROUP_LEVELS", engine->group_levels);
    put_number(out, "OPERATIONS", design->operations);
    /* Tools name a table of LUTs each in its own way; price/engine_logic.h says why it is one. */
    tn_buffer_text(out,
                   "`ifdef YOSYS\nlocalparam PROGRAM_STYLE = \"logic\";\n`else\nlocalparam PROGRAM_STYLE = "
                   "\"distributed\";\n`endif\n");
    const float rate = (float)design->rate;
    uint32_t rate_bits;
    memcpy(&rate_bits, &rate, sizeof rate_bits);
    tn_buffer_format(out,
                     "// What the host reaches beside memories; the rate of updates from a reset on.\n"
                     "localparam logic [31:0] RATE = 32'h%08" PRIx32 ";\n",
                     rate_bits);
    tn_rtl_host_spaces(out);
    tn_buffer_text(out, "// Blocks of one element, for the host.\n");
    put_number(out, "HOST_LEFT", engine->host_block[TN_RTL_LEFT]);
    put_number(out, "HOST_RESULT", engine->host_block[TN_RTL_RESULT]);
    tn_buffer_text(out, "// Widths in bits.\n");
    put_number(out, "ADDRESS", engine->address_bits);
    put_number(out, "ROTATE", engine->rotate_bits);
    put_number(out, "INSIDE", engine->inside_bits);
    put_number(out, "COUNT", engine->count_bits);
    put_number(out, "TILE", engine->tile_bits);
    put_number(out, "PHASE", engine->phase_bits);
    put_number(out, "SLOT", engine->slot_bits);
    put_number(out, "BLOCK", engine->block_bits);
    put_number(out, "CHOICE", engine->choice_bits);
    put_number(out, "MEMORY", engine->memory_bits);
    put_number(out, "PROGRAM", engine->program_bits);
    tn_buffer_text(out, "// Where the fields of a descriptor begin.\n");
    uint64_t index = 0;
    for (const field *f = list; f->name; f++) {
        if (f->count > 0) tn_buffer_format(out, "localparam int F_%s = %" PRIu64 ";\n", f->name, index);
        index += f->width * f->count;
    }
    put_number(out, "DESCRIPTOR", index);
    put_number(out, "STORED", columns->stored);
    put_memories(engine, out);
}
