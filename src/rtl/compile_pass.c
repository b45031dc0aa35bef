#include "rtl/compile_pass.h"

#include "base/checked.h"
#include "kernel/issue.h"
#include "rtl/bits.h"

#include <inttypes.h>
#include <string.h>

typedef tn_rtl_compiler compile_blocks_compiler;

static tn_status append(compile_blocks_compiler *compilation, uint32_t **list, uint32_t count,
                        uint32_t value) {
    uint32_t *grown;
    TN_TRY(TN_NEW(compilation->arena, (size_t)count + 1, &grown, compilation->error));
    if (count > 0) memcpy(grown, *list, count * sizeof *grown);
    grown[count] = value;
    *list = grown;
    return TN_OK;
}

/* The pattern's number in the list, added to it if it is not there. */
static tn_status find_pattern(compile_blocks_compiler *compilation, tn_rtl_patterns *list,
                              const tn_rtl_pattern *made, uint32_t *entry) {
    for (*entry = 0; *entry < list->count; ++*entry)
        if (tn_rtl_pattern_equal(&list->pattern[*entry], made)) return TN_OK;
    tn_rtl_pattern *grown;
    TN_TRY(TN_NEW(compilation->arena, (size_t)list->count + 1, &grown, compilation->error));
    if (list->count > 0) memcpy(grown, list->pattern, list->count * sizeof *grown);
    grown[list->count] = *made;
    list->pattern = grown;
    TN_TRY(append(compilation, &list->first, list->count, list->choices));
    list->choices += made->phases;
    list->count++;
    return TN_OK;
}

/* Finds the blocks in a row in the list, or adds them. */
static tn_status place_blocks(compile_blocks_compiler *compilation, tn_rtl_patterns *list,
                              const uint32_t *block, uint32_t count, uint64_t *entry) {
    for (*entry = 0; *entry < list->blocks; *entry += count)
        if (memcmp(&list->block[*entry], block, count * sizeof *block) == 0) return TN_OK;
    for (uint32_t i = 0; i < count; i++) {
        TN_TRY(append(compilation, &list->block, list->blocks, block[i]));
        list->blocks++;
    }
    return TN_OK;
}

tn_status tn_rtl_place_pattern(compile_blocks_compiler *compilation, tn_rtl_patterns *list,
                               const tn_rtl_pattern *made, uint64_t *entry) {
    uint32_t found[TN_BLOCK_KINDS];
    TN_TRY(find_pattern(compilation, list, made, &found[0]));
    for (uint32_t kind = 1; kind < compilation->engine->kinds; kind++) found[kind] = found[0];
    return place_blocks(compilation, list, found, (uint32_t)compilation->engine->kinds, entry);
}

/* One direction of a port's blocks. */
static void add_direction(const tn_rtl_array *array, const tn_rtl_cut *cut, int direction, uint64_t lanes,
                          tn_rtl_block *block) {
    block->lanes[direction] = lanes;
    for (int k = 0; k < 2; k++) {
        block->axis[2 * direction + k] = tn_rtl_axis_of(array, cut->index[k]);
        block->size[2 * direction + k] = cut->edge[k];
    }
}

/* What is left of the cut's k-th index behind its last whole block; 0 where blocks come out even. */
uint64_t tn_rtl_cut_rest(const compile_blocks_compiler *compilation, const tn_rtl_cut *cut, int k) {
    return cut->index[k] == TN_RTL_NONE ? 0 : compilation->index_size[cut->index[k]] % cut->edge[k];
}

/* The kernel's numbering of kinds as kernel/issue.h has it, if a group may cut two indices; else without the bits of
 * second ones. */
uint32_t tn_rtl_edge_of_bit(const compile_blocks_compiler *compilation, uint32_t bit) {
    return compilation->engine->cuts == 2 ? bit : 2 * bit;
}

/* Along an edge that the array has no axis for, every lane gets what the first one does. */
static void repeat_lanes(const tn_rtl_block *block, const uint64_t *extent, tn_rtl_pattern *pattern) {
    const uint64_t lanes = extent[0] * extent[1] * extent[2] * extent[3];
    for (uint64_t n = 0; n < lanes; n++) {
        uint64_t rest = n, x[TN_RTL_EDGES], source[TN_RTL_EDGES];
        for (int k = TN_RTL_EDGES; k-- > 0;) {
            x[k] = rest % extent[k];
            rest /= extent[k];
            source[k] = block->axis[k] == TN_RTL_NONE ? 0 : x[k];
        }
        pattern->lane[tn_rtl_block_lane(block, x)] = pattern->lane[tn_rtl_block_lane(block, source)];
    }
}

/* All kinds of an operation's block at a port, cut along two groups: step->block[port] is the first of them. */
tn_status tn_rtl_port_blocks(compile_blocks_compiler *compilation, tn_rtl_port port,
                             const tn_rtl_array *array, const tn_rtl_cut *first, uint64_t first_lanes,
                             const tn_rtl_cut *second, uint64_t second_lanes, tn_rtl_step *step) {
    tn_rtl_engine *engine = compilation->engine;
    tn_rtl_patterns *list = &engine->port[port];
    tn_rtl_block block;
    uint32_t found[TN_BLOCK_KINDS];
    add_direction(array, first, 0, first_lanes, &block);
    add_direction(array, second, 1, second_lanes, &block);
    for (uint32_t kind = 0; kind < engine->kinds; kind++) {
        uint64_t extent[TN_RTL_EDGES];
        tn_rtl_pattern made;
        memcpy(extent, block.size, sizeof extent);
        for (uint32_t bit = 0; UINT32_C(1) << bit < engine->kinds; bit++) {
            uint32_t edge = tn_rtl_edge_of_bit(compilation, bit);
            uint64_t rest = tn_rtl_cut_rest(compilation, edge < 2 ? first : second, edge % 2);
            if (kind >> bit & 1 && rest > 0) extent[edge] = rest;
        }
        TN_TRY(tn_rtl_pattern_make(&array->layout, &block, extent, compilation->arena, &made,
                                   compilation->error));
        repeat_lanes(&block, extent, &made);
        TN_TRY(find_pattern(compilation, list, &made, &found[kind]));
        engine->phases = tn_greatest(engine->phases, made.phases);
    }
    return place_blocks(compilation, list, found, (uint32_t)engine->kinds, &step->block[port]);
}

typedef tn_rtl_compiler compile_words_compiler;

/* `vector` elements a trip: some banks at once, or a part of a word. */
typedef struct {
    uint64_t banks, part, parts;
} word_trip;

static word_trip trip_of(const tn_rtl_design *design, const tn_rtl_strides *strides) {
    uint64_t part = tn_least(design->vector, strides->elements);
    return (word_trip){.banks = tn_greatest(1, tn_least(strides->banks, design->vector / strides->elements)),
                       .part = part,
                       .parts = strides->elements / part};
}

static tn_status trip_pattern(compile_words_compiler *compilation, const tn_rtl_strides *strides,
                              const word_trip *trip, tn_rtl_pattern *made) {
    *made = (tn_rtl_pattern){
        .phases = 1, .lanes = (uint32_t)compilation->design->vector, .banks = (uint32_t)strides->banks};
    TN_TRY(TN_NEW(compilation->arena, made->lanes, &made->lane, compilation->error));
    TN_TRY(TN_NEW(compilation->arena, made->banks, &made->word, compilation->error));
    for (uint64_t b = 0; b < trip->banks; b++) made->word[b].used = true;
    for (uint64_t v = 0; v < trip->banks * trip->part; v++)
        made->lane[v] = (tn_rtl_lane){0, (uint16_t)(v / trip->part), (uint16_t)(v % trip->part), true};
    return TN_OK;
}

static void add_word_level(tn_rtl_step *step, uint32_t level, int port, uint64_t count,
                           tn_rtl_counter counter) {
    step->tile_count[level] = count;
    step->tile[level][port] = counter;
    if (step->tile_levels <= level) step->tile_levels = level + 1;
}

/* Parts of a word; then all banks of a row; then the rows of the array, or those of a slice, axis by axis. */
static void add_word_levels(const tn_rtl_array *array, uint32_t sliced, const tn_rtl_strides *strides,
                            const word_trip *trip, int port, tn_rtl_step *step) {
    const tn_rtl_counter part = {.inside = trip->parts == 1 ? 0 : tn_rtl_bits_for(trip->parts),
                                 .shift = trip->part == 1 ? 0 : tn_rtl_bits_for(trip->part)};
    uint32_t level = 0;
    add_word_level(step, level++, port, trip->parts, part);
    const uint64_t first = tn_greatest(strides->first, trip->banks);
    if (sliced == TN_RTL_NONE || strides->first > trip->banks)
        add_word_level(step, level++, port, tn_greatest(1, strides->first / trip->banks),
                       (tn_rtl_counter){.turn = trip->banks % strides->first});
    if (sliced == TN_RTL_NONE || strides->banks > first)
        add_word_level(step, level++, port, strides->banks / first,
                       (tn_rtl_counter){.turn = first % strides->banks});
    if (sliced == TN_RTL_NONE) {
        add_word_level(step, level, port, strides->depth, (tn_rtl_counter){.stride = 1});
        return;
    }
    for (uint32_t k = array->layout.axes; k-- > 0;) {
        const uint64_t rows = tn_ceil_div(strides->words[k], strides->divide[k]);
        if (k != sliced && rows > 1)
            add_word_level(step, level++, port, rows, (tn_rtl_counter){.stride = strides->stride[k]});
    }
}

/* A slice has its rows for itself. */
static tn_status check_sliced(const tn_rtl_array *array, uint32_t sliced, const tn_rtl_strides *strides,
                              tn_error *error) {
    if (sliced == TN_RTL_NONE || (array->layout.word[sliced] == 1 && strides->divide[sliced] == 1))
        return TN_OK;
    return tn_fail(error, TN_INPUT, "%s: the rows of a slice hold other slices; no template adds to one",
                   array->name);
}

/* Counters and patterns of the ports used: their arrays lie alike, and of the axis `sliced` (TN_RTL_NONE: of none) at one
 * place. */
static tn_status rtl_compile_words(compile_words_compiler *compilation, const tn_rtl_operation *operation,
                                   const bool used[TN_RTL_PORTS], uint32_t sliced, tn_rtl_step *step) {
    const uint32_t array[TN_RTL_PORTS] = {operation->left, operation->right, operation->result,
                                          operation->extra};
    if (compilation->design->vector > TN_RTL_LANES_MOST)
        return tn_fail(compilation->error, TN_INPUT,
                       "%" PRIu64 " vector lanes; the templates take at most %d", compilation->design->vector,
                       TN_RTL_LANES_MOST);
    step->tile_levels = 0;
    step->group_levels = 1;
    step->group_count[0] = 1;
    for (int port = 0; port < TN_RTL_PORTS; port++) {
        if (!used[port]) continue;
        const tn_rtl_array *this_array = &compilation->design->array[array[port]];
        const tn_rtl_strides strides = tn_rtl_strides_of(&this_array->layout);
        const word_trip trip = trip_of(compilation->design, &strides);
        tn_rtl_pattern made;
        TN_TRY(check_sliced(this_array, sliced, &strides, compilation->error));
        TN_TRY(trip_pattern(compilation, &strides, &trip, &made));
        TN_TRY(
            tn_rtl_place_pattern(compilation, &compilation->engine->port[port], &made, &step->block[port]));
        add_word_levels(this_array, sliced, &strides, &trip, port, step);
    }
    return TN_OK;
}

tn_status tn_rtl_compile_update(compile_words_compiler *compilation, const tn_rtl_operation *operation,
                                tn_rtl_step *step) {
    const tn_rtl_design *design = compilation->design;
    const bool used[TN_RTL_PORTS] = {true, true, true, false};
    TN_TRY(rtl_compile_words(compilation, operation, used, TN_RTL_NONE, step));
    compilation->engine->updates = 1;
    step->write_phases = 1;
    step->vector = true;
    step->tiles = 1;
    for (uint32_t l = 0; l < step->tile_levels; l++) step->tiles *= step->tile_count[l];
    step->open = step->interval = 1;
    step->cycles = step->tiles - 1 + design->multiply_cycles + design->add_cycles + TN_RTL_UPDATE_EXTRA;
    return TN_OK;
}

/* ---- circuits ---- */

static uint32_t find_circuit(const tn_rtl_engine *engine, const tn_rtl_pass *pass) {
    uint32_t i = 0;
    while (i < engine->circuits &&
           (engine->circuit[i].kind != pass->kind || engine->circuit[i].pass != pass->pass))
        i++;
    return i;
}

tn_status tn_rtl_list_circuits(tn_rtl_compiler *compilation) {
    tn_rtl_engine *engine = compilation->engine;
    const tn_rtl_design *design = compilation->design;
    TN_TRY(TN_NEW(compilation->arena, (size_t)TN_OPERATION_KINDS * TN_PASSES_MOST, &engine->circuit,
                  compilation->error));
    for (uint32_t i = 0; i < design->operations; i++) {
        const tn_rtl_pass *pass = design->operation[i].pass;
        if (!pass || find_circuit(engine, pass) < engine->circuits) continue;
        TN_TRY(tn_circuit_make(pass->kind, pass->pass, &design->latencies, &engine->circuit[engine->circuits],
                               compilation->error));
        engine->circuit[engine->circuits++].lanes = pass->lanes;
    }
    return TN_OK;
}

/* ---- cycles ---- */

static uint64_t sum_cycles(const tn_rtl_design *design, const tn_circuit *circuit) {
    if (circuit->form != TN_PASS_REDUCE && circuit->form != TN_PASS_ACCUMULATE) return 0;
    return design->latencies.cycles[circuit->greatest ? TN_COMPARE : TN_ADDER];
}

static uint64_t port_phases(const tn_rtl_compiler *compilation, const tn_rtl_step *step, int port,
                            uint32_t cut) {
    const tn_rtl_patterns *list = &compilation->engine->port[port];
    return list->pattern[list->block[step->block[port] + cut]].phases;
}

static tn_status pass_cycles(tn_rtl_compiler *compilation, const bool *used, const tn_circuit *circuit,
                             tn_rtl_step *step) {
    const bool along = circuit->form == TN_PASS_REDUCE;
    tn_issued_pass pass = {.form = circuit->form,
                           .rows = 1,
                           .blocks = along ? step->group_count[0] : step->tile_count[0],
                           .cut = along ? step->edge_term : step->edge_column,
                           .phases = {1, 1},
                           .write_phases = {1, 1},
                           .lanes = compilation->design->vector,
                           .depth = circuit->depth,
                           .sum_cycles = sum_cycles(compilation->design, circuit)};
    tn_issued issued;
    uint64_t trailing;
    for (uint32_t l = 1; l < step->tile_levels; l++) pass.rows *= step->tile_count[l];
    for (uint32_t l = 1; l < step->group_levels; l++) pass.rows *= step->group_count[l];
    for (uint32_t cut = 0; cut < 2; cut++) {
        for (int port = 0; port < TN_RTL_PORTS; port++)
            if (port != TN_RTL_RESULT && used[port])
                pass.phases[cut] = tn_greatest(pass.phases[cut], port_phases(compilation, step, port, cut));
        if (used[TN_RTL_RESULT]) pass.write_phases[cut] = port_phases(compilation, step, TN_RTL_RESULT, cut);
    }
    TN_TRY(tn_issue_pass(&pass, &issued, &trailing, compilation->error));
    step->tiles = issued.tiles;
    step->open = issued.open;
    step->interval = issued.interval;
    step->write_phases = issued.write_phases;
    trailing += TN_RTL_PASS_EXTRA;
    step->drain = trailing - 3; /* counted from 0, the load and the last issue apart */
    step->cycles = issued.cycles - 1 + trailing;
    return TN_OK;
}

/* ---- counters ---- */

static void count_columns(const tn_rtl_compiler *compilation, const tn_rtl_operation *operation,
                          tn_rtl_counter *counter, uint64_t *count) {
    const tn_rtl_pass *pass = operation->pass;
    const uint32_t array[TN_RTL_PORTS] = {operation->left, operation->right, operation->result,
                                          operation->extra};
    const bool used[TN_RTL_PORTS] = {pass->reads[0], pass->reads[1], pass->writes, pass->reads[2]};
    uint32_t index = operation->column.index[0];
    uint64_t edge = operation->column.edge[0];
    *count = index == TN_RTL_NONE ? 1 : tn_ceil_div(compilation->index_size[index], edge);
    for (int port = 0; index != TN_RTL_NONE && port < TN_RTL_PORTS; port++) {
        if (!used[port]) continue;
        const tn_rtl_array *this_array = &compilation->design->array[array[port]];
        uint32_t axis = tn_rtl_axis_of(this_array, index);
        if (axis != TN_RTL_NONE) counter[port] = tn_rtl_counter_of(&this_array->layout, axis, edge);
    }
    counter[TN_RTL_COLUMN] = (tn_rtl_counter){.stride = edge};
}

/* The pass's k-th row index: what one more of it adds. */
static void count_row(const tn_rtl_compiler *compilation, const tn_rtl_operation *operation, uint32_t k,
                      tn_rtl_counter *counter, uint64_t *count) {
    const tn_rtl_pass *pass = operation->pass;
    const uint32_t array[TN_RTL_PORTS] = {operation->left, operation->right, operation->result,
                                          operation->extra};
    const bool used[TN_RTL_PORTS] = {pass->reads[0], pass->reads[1], pass->writes, pass->reads[2]};
    uint64_t stride = 1;
    *count = compilation->index_size[pass->row_index[k]];
    for (int port = 0; port < TN_RTL_PORTS; port++) {
        if (!used[port]) continue;
        const tn_rtl_array *this_array = &compilation->design->array[array[port]];
        uint32_t axis = tn_rtl_axis_of(this_array, pass->row_index[k]);
        if (axis != TN_RTL_NONE) counter[port] = tn_rtl_counter_of(&this_array->layout, axis, 1);
    }
    for (uint32_t i = k + 1; i < pass->row_indices; i++)
        stride *= compilation->index_size[pass->row_index[i]];
    counter[TN_RTL_ROW] = (tn_rtl_counter){.stride = stride};
}

static void add_counters(const tn_rtl_compiler *compilation, const tn_rtl_operation *operation,
                         const tn_circuit *circuit, tn_rtl_step *step) {
    uint32_t cuts = (uint32_t)compilation->engine->cuts;
    bool over_rows = circuit->form == TN_PASS_REDUCE, down = circuit->form == TN_PASS_ACCUMULATE;
    step->tile_levels = 2 * cuts;
    step->group_levels = cuts;
    for (uint32_t l = 0; l < 2 * cuts; l++) step->tile_count[l] = 1;
    for (uint32_t l = 0; l < cuts; l++) step->group_count[l] = 1;
    if (circuit->form != TN_PASS_PER_ROW) {
        uint32_t index = operation->column.index[0];
        bool cut = index != TN_RTL_NONE && compilation->index_size[index] % operation->column.edge[0] > 0;
        count_columns(compilation, operation, over_rows ? step->group[0] : step->tile[0],
                      over_rows ? &step->group_count[0] : &step->tile_count[0]);
        *(over_rows ? &step->edge_term : &step->edge_column) = cut;
    }
    for (uint32_t k = operation->pass->row_indices; k-- > 0;) {
        uint32_t level = down ? step->group_levels++ : step->tile_levels++;
        count_row(compilation, operation, k, down ? step->group[level] : step->tile[level],
                  down ? &step->group_count[level] : &step->tile_count[level]);
    }
}

/* The axis of which an operand has a slice. */
static uint32_t sliced_axis(const tn_rtl_operation *operation) {
    for (int i = 0; i < 3; i++)
        if (operation->look[i].used) return operation->look[i].axis;
    return TN_RTL_NONE;
}

tn_status tn_rtl_compile_pass(tn_rtl_compiler *compilation, const tn_rtl_operation *operation,
                              tn_rtl_step *step) {
    const tn_rtl_design *design = compilation->design;
    const tn_rtl_pass *pass = operation->pass;
    const uint32_t array[TN_RTL_PORTS] = {operation->left, operation->right, operation->result,
                                          operation->extra};
    const bool used[TN_RTL_PORTS] = {pass->reads[0], pass->reads[1], pass->writes, pass->reads[2]};
    const tn_rtl_cut none = {{TN_RTL_NONE, TN_RTL_NONE}, {1, 1}};
    step->vector = true;
    step->pass = pass;
    step->circuit = find_circuit(compilation->engine, pass);
    const tn_circuit *circuit = &compilation->engine->circuit[step->circuit];
    if (pass->by_word)
        TN_TRY(rtl_compile_words(compilation, operation, used, sliced_axis(operation), step));
    else
        add_counters(compilation, operation, circuit, step);
    for (int port = 0; port < TN_RTL_PORTS; port++) {
        if (!used[port])
            step->block[port] = compilation->engine->host_block[port]; /* which takes one cycle */
        else if (!pass->by_word)
            TN_TRY(tn_rtl_port_blocks(compilation, (tn_rtl_port)port, &design->array[array[port]],
                                      &operation->column, design->vector, &none, 1, step));
    }
    return pass_cycles(compilation, used, circuit, step);
}

void tn_rtl_pass_sizes(tn_rtl_engine *engine) {
    const tn_rtl_design *design = engine->design;
    uint64_t drain = 1;
    engine->depth_most = 1;
    for (uint32_t i = 0; i < engine->circuits; i++)
        engine->depth_most = tn_greatest(engine->depth_most, engine->circuit[i].depth);
    for (uint32_t i = 0; i < design->operations; i++) drain = tn_greatest(drain, engine->step[i].drain);
    engine->pass_bits = tn_rtl_bits_for(engine->circuits);
    engine->depth_bits = tn_rtl_bits_for(engine->depth_most + 1);
    engine->drain_bits = tn_rtl_bits_for(drain + 1);
    engine->sample_bits = tn_rtl_bits_for(design->sample_words);
    engine->label_bits = tn_rtl_bits_for(design->sample_labels);
    engine->row_bits = tn_rtl_bits_for(design->scalar_rows);
    /* Rows and columns are counted beside addresses. */
    for (uint32_t i = 0; i < design->operations && engine->circuits; i++) {
        const tn_rtl_pass *pass = design->operation[i].pass;
        if (pass)
            engine->address_bits =
                tn_greatest(engine->address_bits, tn_rtl_bits_for(pass->columns + 2 * design->vector));
    }
    if (engine->circuits) engine->address_bits = tn_greatest(engine->address_bits, engine->row_bits);
}
