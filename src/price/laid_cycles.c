#include "price/laid_cycles.h"

#include "base/checked.h"
#include "kernel/array_kernel.h"
#include "kernel/vector.h"
#include "layout/fullest_bank.h"
#include "price/work.h"
#include "price/workload_data.h"

#include <string.h>

static const uint32_t NONE = UINT32_MAX;

typedef struct {
    const tn_workload *workload;
    const tn_plan *plan;
    const tn_build *build;
    const tn_operation *operation;
    tn_laid_time *time;
    tn_error *error;
} laid_operation;

static tn_status add_cycles(laid_operation *timing, uint64_t times, uint64_t cycles, uint64_t start) {
    if (tn_mul_add(times, cycles, &timing->time->cycles) &&
        tn_mul_add(times, start, &timing->time->start_cycles))
        return TN_OK;
    return tn_fail(timing->error, TN_OVERFLOW, "the cycles of an operation do not fit 64 bits");
}

static const tn_work *work_of(const laid_operation *timing) {
    return &timing->workload
                ->work[timing->workload->work_of[timing->operation - timing->workload->step->operation]];
}

static tn_status add_product(laid_operation *timing, uint64_t times, uint64_t cycles) {
    cycles = tn_scaled_up(cycles, work_of(timing)->cycle_ratio) +
             tn_write_back_cycles(timing->operation, &timing->workload->vector_operators);
    timing->time->products += times;
    return add_cycles(timing, times, cycles, timing->workload->device->control.product_cycles);
}

static tn_status add_pass(laid_operation *timing, uint64_t times, tn_operation_kind kind, int pass,
                          const tn_vector_blocks *blocks) {
    const tn_vector kernel = tn_workload_vector(timing->workload, timing->build, kind);
    uint64_t cycles;
    const uint64_t before = timing->time->cycles + timing->time->start_cycles;
    TN_TRY(tn_workload_pass_cycles(timing->workload, &kernel, pass, blocks, &cycles, timing->error));
    TN_TRY(add_cycles(timing, times, cycles, timing->workload->device->control.vector_cycles));
    timing->time->passes += times;
    timing->time->pass_cycles += timing->time->cycles + timing->time->start_cycles - before;
    return TN_OK;
}

/* A pass of one operation after the other over whole rows of a memory. */
static tn_status add_row_pass(laid_operation *timing, uint64_t times, tn_operation_kind kind, uint64_t rows,
                              uint64_t row_elements) {
    const uint64_t lanes = timing->build->vector;
    const tn_vector_blocks blocks = {1, rows * tn_ceil_div(row_elements, lanes) * lanes, {1, 1}, {1, 1}};
    return add_pass(timing, times, kind, 0, &blocks);
}

/* The same over elements in whatever rows: what their lanes take together. */
static tn_status add_elements_pass(laid_operation *timing, uint64_t times, tn_operation_kind kind,
                                   uint64_t elements) {
    const tn_vector_blocks blocks = {1, elements, {1, 1}, {1, 1}};
    return add_pass(timing, times, kind, 0, &blocks);
}

static uint64_t row_of(const laid_operation *timing, uint32_t array) {
    return timing->plan->laid->memory[timing->plan->map.memory_of[array]].elements;
}

/* Elements that the array has in a row of its memory. */
static uint64_t own_row(const tn_laid *laid, const tn_map *map, uint32_t array) {
    return laid->row[array] ? laid->row[array] : laid->memory[map->memory_of[array]].elements;
}

/* ---- products of programs ---- */

/* Sets an array to zero, row by row; a copy takes as long. */
static tn_status add_clear(laid_operation *timing) {
    uint32_t array = timing->operation->writes[0];
    if (!timing->workload->laid->arrays->clears[timing->operation - timing->workload->step->operation] ||
        timing->plan->map.memory_of[array] == NONE)
        return TN_OK;
    TN_TRY(tn_laid_complete(timing->plan->laid, timing->error));
    uint64_t rows = timing->plan->laid->depth[array];
    if (timing->plan->laid->alone)
        return add_elements_pass(timing, 1, TN_OP_LOOKUP, timing->workload->step->array[array].elements);
    if (rows == 0) /* element behind element */
        rows = tn_ceil_div(timing->workload->step->array[array].elements, row_of(timing, array));
    return add_row_pass(timing, 1, TN_OP_LOOKUP, rows,
                        own_row(timing->plan->laid, &timing->plan->map, array));
}

/* A matrix under the indices of a program's output: words of features are split over their axes, the last first. */
static void layout_under(const laid_operation *timing, uint32_t array, const tn_program *program,
                         const tn_indices *y, tn_layout_axis *axis, tn_tensor_layout *layout) {
    const tn_shared_words *words = &tn_laid_words_of(timing->plan->laid, array)->shared;
    const uint64_t one = 1, banks = one << words->bank_log;
    uint64_t stride = 1;
    uint32_t features = words->feature_log;
    *layout = (tn_tensor_layout){.banks = banks, .axes = y->count, .axis = axis};
    for (uint32_t k = y->count; k-- > 0;) {
        const uint64_t size = program->index_size[y->index[k]];
        uint32_t log = k == 0 ? words->token_log : (uint32_t)tn_least(tn_log_above(size), features);
        axis[k] = (tn_layout_axis){.index = y->index[k], .size = size, .edge = one << log, .skew = 1 % banks};
        if (k == 0) break;
        const uint64_t count = ((size - 1) >> log) + 1;
        tn_shared_axis(words, stride, count, &axis[k].skew, &axis[k].turn);
        features -= log;
        stride *= count;
    }
    if (timing->workload->step->array[array].elements * axis[0].size ==
        program->tensor[timing->operation->program_step->out].elements)
        axis[0].index = NONE; /* a bias, the same for every token */
}

/* The product's issues with what is read or written beside the result, block by block of it. */
static tn_issued_product with_beside(const laid_operation *timing, const tn_program *program,
                                     const tn_product_layout *product) {
    const tn_group_cut *group[] = {&product->cut[TN_CUT_ROWS], &product->cut[TN_CUT_COLUMNS]};
    const tn_indices *y = &program->tensor[timing->operation->program_step->out].indices;
    const uint32_t reads = timing->operation->read_count - TN_PRODUCT_OPERANDS,
                   writes = timing->operation->write_count - 1;
    tn_issued_product issued = product->issued;
    for (uint32_t i = 0; i < reads + writes; i++) {
        const bool read = i < reads;
        uint32_t array = read ? timing->operation->reads[TN_PRODUCT_OPERANDS + i]
                              : timing->operation->writes[1 + i - reads];
        uint64_t *phases = read ? issued.extra : issued.result;
        tn_layout_axis axis[TN_LAYOUT_AXES];
        tn_tensor_layout layout;
        if (!tn_laid_words_of(timing->plan->laid, array)->is_matrix) continue; /* off chip */
        layout_under(timing, array, program, y, axis, &layout);
        for (int kind = 0; kind < TN_BLOCK_KINDS; kind++)
            phases[kind] = tn_greatest(phases[kind], tn_tensor_layout_phases(&layout, group, kind));
    }
    return issued;
}

static tn_status lay_program_product(laid_operation *timing) {
    const tn_laid_arrays *arrays = timing->workload->laid->arrays;
    const tn_step_layer *layer = &timing->workload->step->layer[timing->operation->layer];
    const tn_laid *laid = timing->plan->laid;
    const tn_program_step *step = timing->operation->program_step;
    const uint32_t product = (uint32_t)(step - layer->program->step);
    const tn_matmul kernel = tn_workload_matmul(timing->workload, timing->build, work_of(timing)->arithmetic);
    uint64_t cycles;
    if (timing->operation->fused_count > 0 && !laid->closely) {
        const tn_product_layout *layout;
        TN_TRY(tn_laid_product_layout(laid, timing->operation->layer, product, &layout, timing->error));
        const tn_issued_product issued = with_beside(timing, layer->program, layout);
        TN_TRY(tn_issue_product_cycles(&kernel, &issued, &cycles, timing->error));
    } else {
        TN_TRY(tn_laid_product_cycles(timing->workload->laid, laid, timing->operation->layer, product,
                                      &kernel, &cycles, timing->error));
    }
    if (arrays->program[timing->operation->layer] == layer->program ||
        !tn_lookup_is_by_token(layer->program, step))
        return add_product(timing, 1, cycles);
    TN_TRY(add_clear(timing));
    TN_TRY(add_product(timing, layer->tokens, cycles));
    uint32_t array = timing->operation->writes[0];
    if (!tn_lookup_is_summed(layer->program, step) || timing->plan->map.memory_of[array] == NONE)
        return TN_OK;
    if (laid->alone) /* a token's */
        return add_elements_pass(
            timing, layer->tokens, TN_OP_ADD,
            timing->workload->step->array[array].elements /
                tn_laid_slices(arrays, timing->workload->step, timing->operation->layer, step->out));
    TN_TRY(tn_laid_complete(laid, timing->error));
    uint64_t row, rows = tn_laid_tensor_rows(laid, timing->operation->layer, step->out, row_of(timing, array),
                                             timing->build->vector, &row);
    return add_row_pass(timing, layer->tokens, TN_OP_ADD, rows, row);
}

/* ---- blocks of matrices ---- */

/* In the best words that the array may lie in, as far as the layer knows. */
static uint64_t least_block_cycles(const laid_operation *timing, uint32_t array, uint64_t rows,
                                   uint64_t columns) {
    const tn_laid *laid = timing->plan->laid;
    const tn_shared_words *words = &tn_laid_words_of(laid, array)->shared;
    const uint32_t row = (uint32_t)words->token_log + words->feature_log,
                   most =
                       tn_laid_most_features(timing->workload->laid, laid, timing->operation->layer, array);
    uint64_t least = UINT64_MAX;
    for (uint32_t features = 0; features <= most; features++)
        least = tn_least(least, (((rows - 1) >> (row - features)) + 1) * (((columns - 1) >> features) + 1));
    return least;
}

/* Cycles of a block of a matrix; an array that lies off chip, or element behind element, takes one. */
static uint64_t block_cycles(const laid_operation *timing, uint32_t array, uint64_t rows, uint64_t columns) {
    const tn_laid *laid = timing->plan->laid;
    const tn_laid_words *words = tn_laid_words_of(laid, array);
    if (!words->is_matrix) return 1;
    if (laid->alone) return least_block_cycles(timing, array, rows, columns);
    const uint64_t count[] = {((rows - 1) >> words->shared.token_log) + 1,
                              ((columns - 1) >> words->shared.feature_log) + 1},
                   skew[] = {1, words->shared.apart},
                   turn[] = {0, words->shared.turn_log ? UINT64_C(1) << words->shared.turn_log : 0};
    return tn_fullest_turned_bank(count, skew, turn, 2, UINT64_C(1) << words->shared.bank_log);
}

/* ---- attention ---- */

/* Elements of a group of indices that a whole block takes, or the last one. */
static uint64_t extent_of(uint64_t size, uint64_t edge, bool last) {
    return last && size % edge != 0 ? size % edge : edge;
}

static tn_status lay_attention(laid_operation *timing, const tn_attention_product *attention) {
    const tn_operation *operation = timing->operation;
    const tn_build *build = timing->build;
    const uint32_t array[3] = {operation->reads[0], operation->reads[1], operation->writes[0]};
    const uint64_t group_size = tn_attention_sums_group(attention)
                                    ? timing->workload->step->layer[operation->layer].group
                                    : 1,
                   size[3] = {operation->rows, operation->columns,
                              operation->reduction / group_size}; /* a head's queries alone */
    const tn_matmul kernel = tn_workload_matmul(timing->workload, build, work_of(timing)->arithmetic);
    uint64_t edge[3] = {build->rows, build->columns, build->reduction};
    const tn_array_pass pass = kernel.systolic ? tn_array_pass_of(operation->phase) : TN_PASS_OF_LANES;
    if (kernel.systolic) tn_array_edges(build->rows, build->columns, pass, edge);
    static const int directions[3][2] = {{0, 2}, {2, 1}, {0, 1}}; /* groups of left, right, result */
    tn_issued_product issued = {.other_tiles = operation->batch,
                                .other_groups = group_size,
                                .pass = pass,
                                .vectors = size[0],
                                .drained = (size[0] - 1) % edge[0] + 1};
    tn_issued_group *group[3] = {&issued.row, &issued.column, &issued.term};
    uint64_t *phases[3] = {issued.left, issued.right, issued.result};
    for (int g = 0; g < 3; g++)
        *group[g] = (tn_issued_group){{tn_ceil_div(size[g], edge[g]), 1}, {size[g] % edge[g] != 0, false}};
    for (int i = 0; i < 3; i++) {
        const char token = attention->letters[i][attention->letters[i][0] == 'h'];
        const int first = directions[i][0], second = directions[i][1];
        const bool rows_first = tn_attention_letter(attention, first) == token;
        const int differ = group[first]->edge[0] | group[second]->edge[0] << TN_ISSUE_CUTS;
        for (int kind = 0; kind < TN_BLOCK_KINDS; kind++) {
            const int known = kind & differ; /* of the same extents */
            uint64_t a = extent_of(size[first], edge[first], kind & 1),
                     b = extent_of(size[second], edge[second], kind >> TN_ISSUE_CUTS & 1);
            if (i == 1 && pass == TN_PASS_FORWARD) a = 1; /* row by row of the weights */
            if (i == 1 && pass == TN_PASS_SIDEWAYS) b = 1;
            if (i == 2 && pass == TN_PASS_RESTS) a = 1; /* ... of the sums */
            phases[i][kind] = known < kind
                                  ? phases[i][known]
                                  : block_cycles(timing, array[i], rows_first ? a : b, rows_first ? b : a);
        }
    }
    uint64_t cycles;
    TN_TRY(tn_issue_product_cycles(&kernel, &issued, &cycles, timing->error));
    return add_product(timing, 1, cycles);
}

/* ---- vector kernels ---- */

/* The slowest of the matrices that the operation reads, or what an earlier pass wrote where the pass goes over that;
 * and its result where the pass writes it. */
static void find_phases(const laid_operation *timing, int pass, tn_vector_blocks *blocks) {
    const tn_operation *operation = timing->operation;
    const tn_pass *row = &tn_operation_passes(operation->kind)[pass];
    if (row->form == TN_PASS_PER_ROW) return;
    const uint64_t lanes = tn_workload_vector(timing->workload, timing->build, operation->kind).lanes;
    for (int last = 0; last < 2; last++) {
        uint64_t columns = extent_of(blocks->columns, lanes, last),
                 made = block_cycles(timing, operation->writes[0], 1, columns),
                 *phases = &blocks->phases[last];
        if (row->writes) blocks->write_phases[last] = made;
        if (row->takes_result) {
            *phases = made;
            continue;
        }
        for (uint32_t i = 0; i < operation->read_count; i++)
            *phases = tn_greatest(*phases, block_cycles(timing, operation->reads[i], 1, columns));
    }
}

static tn_status lay_passes(laid_operation *timing) {
    const tn_operation *operation = timing->operation;
    const tn_pass *pass = tn_operation_passes(operation->kind);
    for (int i = 0; i < TN_PASSES_MOST && pass[i].form != TN_PASS_NONE; i++) {
        tn_vector_blocks blocks = {operation->rows, operation->columns, {1, 1}, {1, 1}};
        find_phases(timing, i, &blocks);
        TN_TRY(add_pass(timing, 1, operation->kind, i, &blocks));
    }
    return TN_OK;
}

/* Rows are copied, or added, one by one, and of windows pixel by pixel, those of an expert as its pass says; a scatter of which every row goes to its own copies
 * them all at once. */
static tn_status lay_rows(laid_operation *timing) {
    const tn_operation *operation = timing->operation;
    const bool by_row = tn_moves_by_row(timing->workload->step, operation);
    const uint64_t features = operation->window ? tn_window_features(operation) : operation->columns,
                   moves = operation->rows * (operation->columns / features);
    const bool routed = tn_operation_rows[operation->kind].shape == TN_SHAPE_ROUTED ||
                        operation->kind == TN_OP_APPEND,
               adds =
                   by_row && (operation->kind == TN_OP_SCATTER ||
                              operation->kind == TN_OP_DISPATCH_GRADIENT || operation->kind == TN_OP_COMBINE);
    tn_vector_blocks blocks = {by_row ? 1 : operation->rows, features, {1, 1}, {1, 1}};
    for (int last = 0; last < 2; last++) {
        uint64_t columns = extent_of(features, timing->build->vector, last);
        blocks.phases[last] = block_cycles(timing, operation->reads[0], 1, columns);
        blocks.write_phases[last] = block_cycles(timing, operation->writes[0], 1, columns);
        if (adds) /* reads what it adds to */
            blocks.phases[last] = tn_greatest(blocks.phases[last], blocks.write_phases[last]);
    }
    TN_TRY(add_clear(timing));
    return add_pass(timing, by_row ? moves : 1,
                    routed ? operation->kind
                    : adds ? TN_OP_ADD
                           : TN_OP_LOOKUP,
                    0, &blocks);
}

/* ---- updates ---- */

uint64_t tn_laid_update_elements(const tn_laid *laid, const tn_map *map, const tn_operation *operation,
                                 uint64_t lanes) {
    uint32_t parameter = operation->reads[0];
    if (!tn_operation_is_update(operation) || map->memory_of[parameter] == NONE) return 0;
    uint64_t row = own_row(laid, map, parameter);
    return laid->depth[parameter] * tn_ceil_div(row, lanes) * lanes;
}

static tn_status lay_update(laid_operation *timing) {
    const tn_operation *operation = timing->operation;
    TN_TRY(tn_laid_complete(timing->plan->laid, timing->error));
    uint64_t elements =
        tn_laid_update_elements(timing->plan->laid, &timing->plan->map, operation, timing->build->vector);
    const tn_vector_blocks blocks = {1, elements, {1, 1}, {1, 1}};
    return elements == 0 ? TN_OK : add_pass(timing, 1, timing->operation->kind, 0, &blocks);
}

/* ---- attention and passes of one class ---- */

static bool is_alike(const tn_laid_words *a, const tn_laid_words *b) {
    return a->is_matrix == b->is_matrix && a->shared.token_log == b->shared.token_log &&
           a->shared.feature_log == b->shared.feature_log && a->shared.bank_log == b->shared.bank_log &&
           a->shared.apart == b->shared.apart && a->shared.turn_log == b->shared.turn_log;
}

/* Whether the class holds what the operation takes; else it holds what that depends on. */
static bool recall_class(const laid_operation *timing, const tn_attention_product *attention,
                         tn_laid_class *laid_class) {
    const tn_operation *operation = timing->operation;
    const tn_laid *laid = timing->plan->laid;
    const tn_build *build = timing->build;
    const bool product = operation->kind == TN_OP_PRODUCT;
    const tn_vector kernel =
        product ? (tn_vector){0} : tn_workload_vector(timing->workload, build, operation->kind);
    const uint64_t edges[7] = {build->rows,  build->columns, build->reduction, build->vector,
                               kernel.lanes, kernel.unit,    build->array};
    const uint64_t group = timing->workload->step->layer[operation->layer].group;
    bool same = laid_class->attention == attention && laid_class->group == group &&
                memcmp(laid_class->edges, edges, sizeof edges) == 0;
    for (uint32_t i = 0; i < operation->read_count && same; i++)
        same = is_alike(&laid_class->words[i], tn_laid_words_of(laid, operation->reads[i]));
    for (uint32_t i = 0; i < operation->write_count && same; i++)
        same = is_alike(&laid_class->words[operation->read_count + i],
                        tn_laid_words_of(laid, operation->writes[i]));
    if (same) return true;
    laid_class->attention = attention;
    laid_class->group = group;
    memcpy(laid_class->edges, edges, sizeof edges);
    for (uint32_t i = 0; i < operation->read_count; i++)
        laid_class->words[i] = *tn_laid_words_of(laid, operation->reads[i]);
    for (uint32_t i = 0; i < operation->write_count; i++)
        laid_class->words[operation->read_count + i] = *tn_laid_words_of(laid, operation->writes[i]);
    return false;
}

static tn_status lay_class(laid_operation *timing) {
    const tn_operation *operation = timing->operation;
    const bool product = operation->kind == TN_OP_PRODUCT;
    const tn_attention_product *attention = operation->attention;
    tn_laid_class *laid_class =
        &timing->workload
             ->laid_class[timing->workload->work_of[operation - timing->workload->step->operation]];
    if (product && !attention) return TN_OK;
    if (timing->plan->laid->alone) return product ? lay_attention(timing, attention) : lay_passes(timing);
    if (!recall_class(timing, attention, laid_class)) {
        tn_status status = product ? lay_attention(timing, attention) : lay_passes(timing);
        laid_class->time = *timing->time;
        if (status != TN_OK) laid_class->edges[0] = 0;
        return status;
    }
    *timing->time = laid_class->time;
    return TN_OK;
}

/* ---- parts of gradients ---- */

/* A part is copied, or updated, row by row of the memory that it lies in. */
static tn_status lay_part_pass(laid_operation *timing, uint32_t whole, uint32_t part) {
    const uint32_t *memory_of = timing->plan->map.memory_of;
    TN_TRY(tn_laid_complete(timing->plan->laid, timing->error));
    if (timing->plan->laid->closely || memory_of[whole] == NONE || memory_of[part] == NONE) return TN_OK;
    return add_row_pass(timing, 1, timing->operation->kind, timing->plan->laid->depth[part],
                        row_of(timing, part));
}

static tn_status lay_part_product(laid_operation *timing) {
    const tn_matmul kernel = tn_workload_matmul(timing->workload, timing->build, work_of(timing)->arithmetic);
    uint64_t cycles;
    if (timing->plan->laid->closely) return TN_OK;
    TN_TRY(tn_laid_partial_cycles(timing->workload->laid, timing->plan->laid, timing->operation->layer,
                                  timing->operation->partial, &kernel, &cycles, timing->error));
    return add_product(timing, 1, cycles);
}

static tn_status lay_operation(laid_operation *timing) {
    const tn_operation *operation = timing->operation;
    const tn_laid_part *part = timing->workload->laid->arrays->part;
    if (operation->partial && operation->kind == TN_OP_PRODUCT) return lay_part_product(timing);
    if (operation->partial) return lay_part_pass(timing, operation->reads[0], operation->writes[0]);
    if (tn_operation_is_update(operation) && operation->read_count > 1 && part[operation->reads[1]].partial)
        return lay_part_pass(timing, operation->reads[0], operation->reads[1]);
    if (operation->program_step) return lay_program_product(timing);
    if (tn_operation_is_update(operation)) return lay_update(timing);
    const tn_operation_shape shape = tn_operation_rows[operation->kind].shape;
    return shape == TN_SHAPE_LOOKUP || shape == TN_SHAPE_SCATTER || shape == TN_SHAPE_ROUTED ||
                   shape == TN_SHAPE_APPEND
               ? lay_rows(timing)
               : lay_class(timing);
}

/* Columns that are computed block by block are laid at once, and take no less than the blocks do ideally. */
static tn_status raise_to_blocks(const laid_operation *timing, const tn_work *work) {
    tn_laid_time *time = timing->time;
    uint64_t ideal, issues;
    if (timing->operation->column_block == 0 || time->cycles == 0) return TN_OK;
    TN_TRY(
        tn_work_cycles(timing->workload, work, &work->size, timing->build, &ideal, &issues, timing->error));
    if (ideal > time->cycles + time->start_cycles) time->cycles = ideal - time->start_cycles;
    return TN_OK;
}

tn_status tn_laid_cycles(tn_workload *workload, const tn_plan *plan, const tn_build *build,
                         uint32_t operation, tn_laid_time *time, tn_error *error) {
    laid_operation timing = {workload, plan, build, &workload->step->operation[operation], time, error};
    const double share = workload->work[workload->work_of[operation]].share;
    *time = (tn_laid_time){0};
    if (!workload->laid_class) TN_TRY(TN_NEW(workload->arena, workload->works, &workload->laid_class, error));
    TN_TRY(lay_operation(&timing));
    time->cycles = tn_scaled_up(time->cycles, share);
    time->start_cycles = tn_scaled_up(time->start_cycles, share);
    return raise_to_blocks(&timing, &workload->work[workload->work_of[operation]]);
}
