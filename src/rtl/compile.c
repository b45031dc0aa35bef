#include "rtl/compile.h"

#include "base/checked.h"
#include "hardware/issue.h"

#include <inttypes.h>
#include <string.h>

typedef struct {
    const tn_rtl_design *design;
    const uint64_t *index_size;
    tn_arena *arena;
    tn_error *error;
    tn_rtl_engine *engine;
    uint32_t room[TN_RTL_PORTS + 1]; /* patterns that fit; the last for vectors */
} compiler;

static uint64_t bits_for(uint64_t values) { /* to tell `values` apart, at least 1 */
    uint64_t bits = 1;
    while (bits < 63 && (UINT64_C(1) << bits) < values) bits++;
    return bits;
}

static uint64_t most(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

static uint64_t least(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

/* ---- patterns ---- */

static bool same_pattern(const tn_rtl_pattern *a, const tn_rtl_pattern *b) {
    return memcmp(a, b, sizeof *a) == 0;
}

/* Finds `count` patterns in a row, or adds them. */
static tn_status place_patterns(compiler *with, tn_rtl_patterns *list, const tn_rtl_pattern *made,
                                uint32_t count, uint64_t *at) {
    for (uint32_t i = 0; i + count <= list->count; i += count) {
        uint32_t same = 0;
        while (same < count && same_pattern(&list->pattern[i + same], &made[same])) same++;
        *at = i;
        if (same == count) return TN_OK;
    }
    tn_rtl_pattern *grown;
    TN_TRY(tn_arena_alloc(with->arena, list->count + count, sizeof *grown, &grown, with->error));
    if (list->count > 0) memcpy(grown, list->pattern, list->count * sizeof *grown);
    memcpy(grown + list->count, made, count * sizeof *grown);
    *at = list->count;
    list->pattern = grown;
    list->count += count;
    return TN_OK;
}

/* A cut direction of a product's port: the array's axis, the block's edge, what is left at the array's end. */
typedef struct {
    uint32_t axis;
    uint64_t size, rest; /* rest: 0 where blocks come out even */
} cut;

static cut cut_of(const compiler *with, const tn_rtl_array *array, uint32_t index, uint64_t size) {
    if (index == TN_RTL_NONE) return (cut){TN_RTL_NONE, size, 0};
    return (cut){tn_rtl_axis_of(array, index), size, with->index_size[index] % size};
}

static tn_status port_patterns(compiler *with, tn_rtl_port port, const tn_rtl_array *array, cut first,
                               cut second, tn_rtl_step *step) {
    tn_rtl_pattern *made;
    TN_TRY(tn_arena_alloc(with->arena, 4, sizeof *made, &made, with->error));
    for (int edges = 0; edges < 4; edges++) {
        uint64_t whole[2] = {first.axis == TN_RTL_NONE ? 1 : first.size,
                             second.axis == TN_RTL_NONE ? 1 : second.size};
        uint64_t extent[2] = {edges & 1 && first.rest ? first.rest : whole[0],
                              edges & 2 && second.rest ? second.rest : whole[1]};
        TN_TRY(tn_rtl_pattern_make(&array->layout, (uint32_t[]){first.axis, second.axis},
                                   (uint64_t[]){first.size, second.size}, extent, &made[edges], with->error));
        with->engine->phases = most(with->engine->phases, made[edges].phases);
    }
    return place_patterns(with, &with->engine->port[port], made, 4, &step->pattern[port]);
}

/* ---- counters ---- */

static void add_level(const compiler *with, const tn_rtl_operation *operation, uint32_t index, uint64_t size,
                      bool reduction, tn_rtl_step *step) {
    const uint32_t array[] = {operation->left, operation->right, operation->result};
    uint32_t *levels = reduction ? &step->group_levels : &step->tile_levels, level = (*levels)++;
    uint64_t count = index == TN_RTL_NONE ? 1 : tn_ceil_div(with->index_size[index], size);
    if (reduction)
        step->group_count[level] = count;
    else
        step->tile_count[level] = count;
    for (int port = 0; index != TN_RTL_NONE && port < (reduction ? 2 : 3); port++) {
        const tn_rtl_array *of = &with->design->array[array[port]];
        uint32_t axis = tn_rtl_axis_of(of, index);
        if (axis == TN_RTL_NONE) continue;
        tn_rtl_counter counter = tn_rtl_counter_of(&of->layout, axis, size);
        if (reduction)
            step->group[level][port] = counter;
        else
            step->tile[level][port] = counter;
    }
}

/* All other indices, the last the fastest: those of the result, or those that are summed. */
static tn_status add_loops(const compiler *with, const tn_rtl_operation *operation, tn_rtl_step *step) {
    const tn_rtl_array *left = &with->design->array[operation->left],
                       *right = &with->design->array[operation->right],
                       *result = &with->design->array[operation->result];
    for (uint32_t k = result->layout.axes; k-- > 0;) {
        uint32_t index = result->index[k];
        if (index == operation->row || index == operation->column || with->index_size[index] == 1) continue;
        if (step->tile_levels == TN_RTL_LEVELS_MOST) goto full;
        add_level(with, operation, index, 1, false, step);
    }
    for (uint32_t k = left->layout.axes; k-- > 0;) {
        uint32_t index = left->index[k];
        bool summed =
            tn_rtl_axis_of(right, index) != TN_RTL_NONE && tn_rtl_axis_of(result, index) == TN_RTL_NONE;
        if (!summed || index == operation->term || with->index_size[index] == 1) continue;
        if (step->group_levels == TN_RTL_LEVELS_MOST) goto full;
        add_level(with, operation, index, 1, true, step);
    }
    return TN_OK;
full:
    return tn_fail(with->error, TN_LIMIT, "%s loops over more than %d indices", operation->name,
                   TN_RTL_LEVELS_MOST);
}

static uint64_t product_of(const uint64_t *factor, uint32_t count) {
    uint64_t product = 1;
    for (uint32_t i = 0; i < count; i++) product *= factor[i];
    return product;
}

/* ---- cycles ---- */

static tn_status product_cycles(compiler *with, tn_rtl_step *step) {
    const tn_rtl_design *design = with->design;
    const tn_matmul kernel = {.lane = {.multiply.stages = design->multiply_cycles,
                                       .tree.stages = design->add_cycles,
                                       .sum.stages = design->add_cycles,
                                       .group = 1}};
    tn_issued_product product = {.row_blocks = step->tile_count[1],
                                 .column_blocks = step->tile_count[0],
                                 .term_blocks = step->group_count[0],
                                 .other_tiles = product_of(step->tile_count + 2, step->tile_levels - 2),
                                 .other_groups = product_of(step->group_count + 1, step->group_levels - 1),
                                 .row_edge = step->edge_row,
                                 .column_edge = step->edge_column,
                                 .term_edge = step->edge_term};
    uint64_t *phases[TN_RTL_PORTS] = {product.left, product.right, product.result};
    for (int port = 0; port < TN_RTL_PORTS; port++)
        for (int kind = 0; kind < TN_BLOCK_KINDS; kind++)
            phases[port][kind] = with->engine->port[port].pattern[step->pattern[port] + kind].phases;
    tn_issued issued;
    TN_TRY(tn_issue_product(&kernel, &product, &issued, with->error));
    step->tiles = issued.tiles;
    step->open = issued.open;
    step->interval = issued.interval;
    step->write_phases = issued.write_phases;
    uint64_t adders = 1; /* in a row: the tree's and the accumulating one */
    while ((UINT64_C(1) << (adders - 1)) < design->terms) adders++;
    step->cycles = issued.cycles - 1 + design->multiply_cycles + adders * design->add_cycles +
                   TN_RTL_PRODUCT_EXTRA + issued.last_phases - 1;
    return TN_OK;
}

/* ---- operations ---- */

static tn_status compile_product(compiler *with, const tn_rtl_operation *operation, tn_rtl_step *step) {
    const tn_rtl_design *design = with->design;
    const tn_rtl_array *left = &design->array[operation->left], *right = &design->array[operation->right],
                       *result = &design->array[operation->result];
    add_level(with, operation, operation->column, design->columns, false, step);
    add_level(with, operation, operation->row, design->rows, false, step);
    add_level(with, operation, operation->term, design->terms, true, step);
    TN_TRY(add_loops(with, operation, step));
    TN_TRY(port_patterns(with, TN_RTL_LEFT, left, cut_of(with, left, operation->row, design->rows),
                         cut_of(with, left, operation->term, design->terms), step));
    TN_TRY(port_patterns(with, TN_RTL_RIGHT, right, cut_of(with, right, operation->term, design->terms),
                         cut_of(with, right, operation->column, design->columns), step));
    TN_TRY(port_patterns(with, TN_RTL_RESULT, result, cut_of(with, result, operation->row, design->rows),
                         cut_of(with, result, operation->column, design->columns), step));
    step->edge_row = operation->row != TN_RTL_NONE && with->index_size[operation->row] % design->rows > 0;
    step->edge_column =
        operation->column != TN_RTL_NONE && with->index_size[operation->column] % design->columns > 0;
    step->edge_term = operation->term != TN_RTL_NONE && with->index_size[operation->term] % design->terms > 0;
    return product_cycles(with, step);
}

/* Word by word, `vector` elements a trip: some banks at once, or a part of a word. */
static tn_status compile_update(compiler *with, const tn_rtl_operation *operation, tn_rtl_step *step) {
    const tn_rtl_design *design = with->design;
    const tn_rtl_array *array = &design->array[operation->left];
    tn_rtl_strides strides = tn_rtl_strides_of(&array->layout);
    uint64_t banks = most(1, least(strides.banks, design->vector / strides.elements)),
             part = least(design->vector, strides.elements), parts = strides.elements / part;
    tn_rtl_pattern *made;
    TN_TRY(tn_arena_alloc(with->arena, 1, sizeof *made, &made, with->error));
    if (design->vector > TN_RTL_LANES_MOST)
        return tn_fail(with->error, TN_LIMIT, "%" PRIu64 " vector lanes; the templates take at most %d",
                       design->vector, TN_RTL_LANES_MOST);
    made->phases = 1;
    made->lanes = (uint32_t)design->vector;
    for (uint64_t b = 0; b < banks; b++) made->used[0][b] = true;
    for (uint64_t v = 0; v < banks * part; v++)
        made->lane[v] = (tn_rtl_lane){0, (uint16_t)(v / part), (uint16_t)(v % part), true};
    TN_TRY(place_patterns(with, &with->engine->vector, made, 1, &step->pattern[TN_RTL_LEFT]));
    step->vector = true;
    step->tile_levels = 3;
    step->group_levels = 1;
    step->tile_count[0] = parts;
    step->tile_count[1] = strides.banks / banks;
    step->tile_count[2] = strides.depth;
    step->group_count[0] = 1;
    for (int port = 0; port < TN_RTL_PORTS; port++) {
        step->pattern[port] = step->pattern[TN_RTL_LEFT];
        step->tile[0][port] = (tn_rtl_counter){.inside = bits_for(parts), .shift = bits_for(part)};
        if (parts == 1) step->tile[0][port].inside = 0;
        if (part == 1) step->tile[0][port].shift = 0;
        step->tile[1][port] = (tn_rtl_counter){.turn = banks % strides.banks};
        step->tile[2][port] = (tn_rtl_counter){.stride = 1};
    }
    step->tiles = product_of(step->tile_count, 3);
    step->open = step->interval = 1;
    step->cycles = step->tiles - 1 + design->multiply_cycles + design->add_cycles + TN_RTL_UPDATE_EXTRA;
    return TN_OK;
}

static void fit_sizes(compiler *with, const tn_rtl_step *step) {
    tn_rtl_engine *engine = with->engine;
    engine->tile_levels = most(engine->tile_levels, step->tile_levels);
    engine->group_levels = most(engine->group_levels, step->group_levels);
    for (uint32_t l = 0; l < step->tile_levels; l++)
        engine->count_bits = most(engine->count_bits, bits_for(step->tile_count[l] + 1));
    for (uint32_t l = 0; l < step->group_levels; l++)
        engine->count_bits = most(engine->count_bits, bits_for(step->group_count[l] + 1));
    engine->tile_bits = most(engine->tile_bits, bits_for(2 * step->tiles + 2 * with->design->add_cycles));
}

static void engine_sizes(compiler *with) {
    const tn_rtl_design *design = with->design;
    tn_rtl_engine *engine = with->engine;
    uint64_t depth = 1, choices = engine->vector.count;
    for (uint32_t m = 0; m < design->memories; m++) {
        engine->banks = most(engine->banks, design->memory[m].banks);
        engine->word = most(engine->word, design->memory[m].word);
        depth = most(depth, design->memory[m].depth);
    }
    for (int port = 0; port < TN_RTL_PORTS; port++)
        choices = most(choices, engine->port[port].count * engine->phases);
    uint64_t lanes = most(design->rows * design->terms, design->terms * design->columns);
    lanes = most(most(lanes, design->rows * design->columns), design->vector);
    engine->open = 2 * design->add_cycles;
    engine->slot_bits = bits_for(engine->open);
    engine->tile_bits = most(engine->tile_bits, engine->slot_bits + 1);
    engine->address_bits = bits_for(depth);
    engine->rotate_bits = bits_for(engine->banks);
    engine->inside_bits = bits_for(engine->word);
    engine->phase_bits = most(4, bits_for(engine->phases + 1));
    engine->code_bits = bits_for(most(lanes, engine->banks * engine->word) + 1);
    engine->choice_bits = bits_for(choices + 4);
    engine->memory_bits = bits_for(design->memories);
    engine->program_bits = bits_for(design->operations + 2);
}

tn_status tn_rtl_compile(const tn_rtl_design *design, const uint64_t *index_size, tn_arena *arena,
                         tn_rtl_engine *engine, tn_error *error) {
    compiler with = {
        .design = design, .index_size = index_size, .arena = arena, .error = error, .engine = engine};
    TN_TRY(tn_rtl_design_check(design, error));
    *engine = (tn_rtl_engine){.design = design, .phases = 1, .banks = 1, .word = 1};
    TN_TRY(tn_arena_alloc(arena, (size_t)design->operations + 1, sizeof *engine->step, &engine->step, error));
    for (uint32_t i = 0; i < design->operations; i++) {
        const tn_rtl_operation *operation = &design->operation[i];
        tn_rtl_step *step = &engine->step[i];
        const uint32_t array[] = {operation->left, operation->right, operation->result};
        for (int port = 0; port < TN_RTL_PORTS; port++) {
            step->memory[port] = design->array[array[port]].memory;
            step->base[port] = design->array[array[port]].base;
        }
        if (operation->update)
            TN_TRY(compile_update(&with, operation, step));
        else
            TN_TRY(compile_product(&with, operation, step));
        fit_sizes(&with, step);
        engine->cycles += step->cycles;
    }
    engine_sizes(&with);
    return TN_OK;
}
