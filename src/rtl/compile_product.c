#include "base/checked.h"
#include "kernel/issue.h"
#include "rtl/compile_pass.h"

/* ---- counters ---- */

static void add_level(const tn_rtl_compiler *compilation, const tn_rtl_operation *operation, uint32_t index,
                      uint64_t size, bool reduction, tn_rtl_step *step) {
    static const tn_rtl_port added[TN_RTL_ADDED] = {TN_RTL_ADDED_FIRST, TN_RTL_ADDED_LAST};
    const uint32_t array[] = {operation->left, operation->right, operation->result};
    uint32_t *levels = reduction ? &step->group_levels : &step->tile_levels, level = (*levels)++;
    uint64_t count = index == TN_RTL_NONE ? 1 : tn_ceil_div(compilation->index_size[index], size);
    if (reduction)
        step->group_count[level] = count;
    else
        step->tile_count[level] = count;
    for (int port = 0; index != TN_RTL_NONE && port < (reduction ? 2 : 3); port++) {
        const tn_rtl_array *this_array = &compilation->design->array[array[port]];
        uint32_t axis = tn_rtl_axis_of(this_array, index);
        if (axis == TN_RTL_NONE) continue;
        tn_rtl_counter counter = tn_rtl_counter_of(&this_array->layout, axis, size);
        if (reduction)
            step->group[level][port] = counter;
        else
            step->tile[level][port] = counter;
    }
    for (int a = 0; a < TN_RTL_ADDED && !reduction && index != TN_RTL_NONE; a++) {
        if (!tn_rtl_adds(operation, a)) continue;
        const tn_rtl_array *this_array = &compilation->design->array[operation->write_back.added[a]];
        uint32_t axis = tn_rtl_axis_of(this_array, index);
        if (axis != TN_RTL_NONE)
            step->tile[level][added[a]] = tn_rtl_counter_of(&this_array->layout, axis, size);
    }
}

/* The counters of a cut group; which of its indices the array's end cuts. */
static uint64_t add_cut(const tn_rtl_compiler *compilation, const tn_rtl_operation *operation,
                        const tn_rtl_cut *cut, bool reduction, tn_rtl_step *step) {
    uint64_t edges = 0;
    for (uint32_t k = 0; k < compilation->engine->cuts; k++) {
        add_level(compilation, operation, cut->index[k], cut->edge[k], reduction, step);
        edges |= (uint64_t)(tn_rtl_cut_rest(compilation, cut, (int)k) > 0) << k;
    }
    return edges;
}

static bool rests_weights(const tn_rtl_operation *operation) {
    return operation->array == TN_PASS_FORWARD || operation->array == TN_PASS_SIDEWAYS;
}

/* An index of the rows that weights do not have: its vectors take the same ones. */
static bool is_vectors(const tn_rtl_array *weights, uint32_t index) {
    return tn_rtl_axis_of(weights, index) == TN_RTL_NONE;
}

/* All other indices, the last the fastest: those of the result, or those that are summed. Vectors through the same weights
 * are the fastest. */
static tn_status add_loops(const tn_rtl_compiler *compilation, const tn_rtl_operation *operation,
                           tn_rtl_step *step) {
    const tn_rtl_array *left = &compilation->design->array[operation->left],
                       *right = &compilation->design->array[operation->right],
                       *result = &compilation->design->array[operation->result];
    for (int others = rests_weights(operation) ? 0 : 1; others < 2; others++) {
        for (uint32_t k = result->layout.axes; k-- > 0;) {
            uint32_t index = result->index[k];
            if (index == TN_RTL_NONE || compilation->index_size[index] == 1 ||
                tn_rtl_is_cut(&operation->row, index) || tn_rtl_is_cut(&operation->column, index) ||
                (rests_weights(operation) && is_vectors(right, index) != (others == 0)))
                continue;
            if (step->tile_levels == TN_RTL_LEVELS_MOST) goto full;
            add_level(compilation, operation, index, 1, false, step);
            if (others == 0) step->vectors *= compilation->index_size[index];
        }
    }
    for (uint32_t k = left->layout.axes; k-- > 0;) {
        uint32_t index = left->index[k];
        bool summed = index != TN_RTL_NONE && tn_rtl_axis_of(right, index) != TN_RTL_NONE &&
                      tn_rtl_axis_of(result, index) == TN_RTL_NONE;
        if (!summed || tn_rtl_is_cut(&operation->term, index) || compilation->index_size[index] == 1)
            continue;
        if (step->group_levels == TN_RTL_LEVELS_MOST) goto full;
        add_level(compilation, operation, index, 1, true, step);
    }
    return TN_OK;
full:
    return tn_fail(compilation->error, TN_INPUT, "%s loops over more than %d indices", operation->name,
                   TN_RTL_LEVELS_MOST);
}

static uint64_t product_of(const uint64_t *factor, uint32_t count) {
    uint64_t product = 1;
    for (uint32_t i = 0; i < count; i++) product *= factor[i];
    return product;
}

/* ---- cycles ---- */

static tn_issued_group issued_group(const tn_rtl_compiler *compilation, const uint64_t *count,
                                    uint64_t edges) {
    tn_issued_group group = {{1, 1}, {false, false}};
    for (uint64_t k = 0; k < compilation->engine->cuts; k++) {
        group.blocks[k] = count[k];
        group.edge[k] = edges >> k & 1;
    }
    return group;
}

/* The latencies of a write-back's stages. */
static uint64_t stage_cycles(const tn_rtl_design *design, uint64_t stages) {
    uint64_t cycles = 0;
    if (stages & TN_RTL_STAGE_FIRST) cycles += design->add_cycles;
    if (stages & TN_RTL_STAGE_POSITIVE) cycles += design->latencies.cycles[TN_COMPARE];
    if (stages & TN_RTL_STAGE_LAST) cycles += design->add_cycles;
    return cycles;
}

/* Rows of the last block up to the last that is one of the array's. */
static uint64_t last_row(const tn_rtl_compiler *compilation, const tn_rtl_cut *cut) {
    uint64_t row = 0;
    for (int k = 0; k < 2; k++)
        if (cut->index[k] != TN_RTL_NONE)
            row = row * cut->edge[k] + (compilation->index_size[cut->index[k]] - 1) % cut->edge[k];
    return row + 1;
}

static tn_status product_cycles(tn_rtl_compiler *compilation, const tn_rtl_operation *operation,
                                tn_rtl_step *step) {
    const tn_rtl_design *design = compilation->design;
    const tn_rtl_engine *engine = compilation->engine;
    uint32_t cuts = (uint32_t)engine->cuts;
    const tn_matmul kernel = {.rows = design->rows,
                              .columns = design->columns,
                              .lane = {.multiply.stages = design->multiply_cycles,
                                       .tree.stages = design->add_cycles,
                                       .sum.stages = design->add_cycles,
                                       .group = 1}};
    tn_issued_product product = {
        .column = issued_group(compilation, step->tile_count, step->edge_column),
        .row = issued_group(compilation, step->tile_count + cuts, step->edge_row),
        .term = issued_group(compilation, step->group_count, step->edge_term),
        .other_tiles = product_of(step->tile_count + 2 * cuts, step->tile_levels - 2 * cuts),
        .other_groups = product_of(step->group_count + cuts, step->group_levels - cuts),
        .pass = operation->array,
        .vectors = step->vectors,
        .drained = last_row(compilation, &operation->row)};
    uint64_t *phases[TN_RTL_PORTS] = {product.left, product.right, product.result};
    for (int a = 0; a < TN_RTL_ADDED; a++)
        if (tn_rtl_adds(operation, a)) phases[TN_RTL_ADDED_FIRST + a] = product.extra;
    for (int port = 0; port < TN_RTL_PORTS; port++)
        for (uint32_t kind = 0; kind < engine->kinds && phases[port]; kind++) {
            const tn_rtl_patterns *list = &engine->port[port];
            uint32_t issued_kind = 0; /* the same kind where groups have two edges */
            for (uint32_t bit = 0; bit < TN_RTL_EDGES; bit++)
                issued_kind |= (kind >> bit & 1) << tn_rtl_edge_of_bit(compilation, bit);
            phases[port][issued_kind] = tn_greatest(
                phases[port][issued_kind], list->pattern[list->block[step->block[port] + kind]].phases);
        }
    tn_issued issued;
    TN_TRY(tn_issue_product(&kernel, &product, &issued, compilation->error));
    step->tiles = issued.tiles;
    step->open = issued.open;
    step->interval = issued.interval;
    step->write_phases = issued.write_phases;
    if (design->systolic) {
        step->cycles = issued.cycles + TN_RTL_PRODUCT_EXTRA + issued.last_phases - 1;
        return TN_OK;
    }
    uint64_t adders = 1; /* in a row: the tree's and the accumulating one */
    while ((UINT64_C(1) << (adders - 1)) < design->terms) adders++;
    step->cycles = issued.cycles - 1 + design->multiply_cycles + adders * design->add_cycles +
                   TN_RTL_PRODUCT_EXTRA + issued.last_phases - 1 + stage_cycles(design, step->stages);
    return TN_OK;
}

/* ---- operations ---- */

tn_status tn_rtl_compile_product(tn_rtl_compiler *compilation, const tn_rtl_operation *operation,
                                 tn_rtl_step *step) {
    const tn_rtl_design *design = compilation->design;
    const tn_rtl_array *left = &design->array[operation->left], *right = &design->array[operation->right],
                       *result = &design->array[operation->result];
    const tn_rtl_cut *row = &operation->row, *column = &operation->column, *term = &operation->term;
    const tn_rtl_cut one = {{TN_RTL_NONE, TN_RTL_NONE}, {1, 1}};
    uint64_t edge[3];
    tn_rtl_edges(design, operation, edge);
    step->vectors = 1;
    step->edge_column = add_cut(compilation, operation, column, false, step);
    step->edge_row = add_cut(compilation, operation, row, false, step);
    step->edge_term = add_cut(compilation, operation, term, true, step);
    TN_TRY(add_loops(compilation, operation, step));
    if (design->systolic) {
        /* Blocks are rows of elements: weights come row by row, as do sums that rested. */
        const tn_rtl_cut *inner = tn_rtl_inner_cut(operation);
        if (inner == term) term = &one;
        TN_TRY(tn_rtl_port_blocks(compilation, TN_RTL_LEFT, left, row, edge[0], &operation->term, edge[2],
                                  step));
        TN_TRY(tn_rtl_port_blocks(compilation, TN_RTL_RIGHT, right, term, term == &one ? 1 : edge[2],
                                  inner == column ? &one : column, inner == column ? 1 : edge[1], step));
        TN_TRY(tn_rtl_port_blocks(compilation, TN_RTL_RESULT, result, inner == row ? &one : row,
                                  inner == row ? 1 : edge[0], column, edge[1], step));
        tn_rtl_compile_inner(compilation, operation, step);
        return product_cycles(compilation, operation, step);
    }
    TN_TRY(tn_rtl_port_blocks(compilation, TN_RTL_LEFT, left, row, design->rows, term, design->terms, step));
    TN_TRY(tn_rtl_port_blocks(compilation, TN_RTL_RIGHT, right, term, design->terms, column, design->columns,
                              step));
    TN_TRY(tn_rtl_port_blocks(compilation, TN_RTL_RESULT, result, row, design->rows, column, design->columns,
                              step));
    step->stages = operation->write_back.stages;
    compilation->engine->stages |= step->stages;
    for (int a = 0; a < TN_RTL_ADDED; a++)
        if (tn_rtl_adds(operation, a))
            TN_TRY(tn_rtl_port_blocks(compilation, TN_RTL_ADDED_FIRST + a,
                                      &design->array[operation->write_back.added[a]], row, design->rows,
                                      column, design->columns, step));
    return product_cycles(compilation, operation, step);
}
