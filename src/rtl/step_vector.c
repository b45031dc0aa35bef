/* Vector kernels of a step, pass by pass, and rows by token. */
#include "rtl/step_maker.h"

#include "base/checked.h"
#include "memory/laid_arrays.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---- vector kernels over tokens x features ---- */

static tn_status rows_of(maker *builder, uint32_t array, uint64_t rows, uint64_t *first) {
    if (builder->rows_of[array] == UINT64_MAX) {
        builder->rows_of[array] = builder->scalar_rows;
        builder->scalar_rows += rows;
    }
    *first = builder->rows_of[array];
    return TN_OK;
}

enum { RESULT = 3 };
typedef struct {
    uint32_t row, column;
    pass_of pass;
    view view[RESULT + 1]; /* of at most three operands, and of the result */
} rows_kernel;

static tn_status begin_rows(maker *builder, rows_kernel *kernel) {
    const tn_operation *o = builder->current;
    TN_TRY(tn_rtl_step_new_index(builder, o->rows, &kernel->row));
    TN_TRY(tn_rtl_step_new_index(builder, o->columns, &kernel->column));
    kernel->pass = (pass_of){.kind = o->kind,
                             .column = kernel->column,
                             .rows = 1,
                             .row = {kernel->row},
                             .first_row = builder->shared_rows,
                             .limit_slot = TN_RTL_NONE};
    return TN_OK;
}

static tn_status read_matrix(maker *builder, rows_kernel *kernel, uint32_t which, uint32_t array) {
    return tn_rtl_step_matrix_view(builder, array, builder->current->rows, builder->current->columns,
                                   kernel->row, kernel->column, &kernel->view[which]);
}

static tn_status read_vector(maker *builder, rows_kernel *kernel, uint32_t which, uint32_t array) {
    return tn_rtl_step_vector_view(builder, array, builder->current->columns, kernel->column,
                                   &kernel->view[which]);
}

/* What the operation reads or writes there, as its row says; statistics are scalars of its rows. */
static tn_status view_operand(maker *state, rows_kernel *kernel, char letter, uint32_t array,
                              uint32_t which) {
    const bool repeats = letter == 'v' || (letter == 'b' && state->step->array[array].part == TN_PART_BIAS);
    if (letter == 's') return rows_of(state, array, state->current->rows, &kernel->pass.first_row);
    return repeats ? read_vector(state, kernel, which, array) : read_matrix(state, kernel, which, array);
}

/* Rows of labels of their own, and scalars that the loss is read from. */
static void begin_loss(maker *state, tn_rtl_head **made) {
    const tn_operation *o = state->current;
    tn_rtl_head *head = &state->program->head[state->program->heads++];
    *head = (tn_rtl_head){.layer = o->layer,
                          .rows = o->rows,
                          .first_label = state->labels,
                          .first_row = state->scalar_rows,
                          .of_example = state->model->layer[o->layer].sequence == 1};
    state->labels += o->rows;
    state->scalar_rows += o->rows;
    *made = head;
}

/* The passes of the operation's row: each reads those of its operands that the text names, and writes where it makes an
 * element of the result. */
static tn_status add_passes(maker *state, rows_kernel *kernel, const view *const operand[3]) {
    const tn_operation_row *row = &tn_operation_rows[state->current->kind];
    const tn_pass *pass = tn_operation_passes(state->current->kind);
    for (uint32_t p = 0; p < TN_PASSES_MOST && pass[p].form != TN_PASS_NONE; p++) {
        const view *read[3] = {NULL};
        tn_formula formula;
        TN_TRY(tn_formula_read(row->pass[p].text, &formula, state->error));
        for (uint32_t i = 0; i < formula.nodes; i++)
            if (formula.node[i].kind <= TN_NODE_C) read[formula.node[i].kind] = operand[formula.node[i].kind];
        kernel->pass.pass = p;
        kernel->pass.a = pass[p].takes_result ? &kernel->view[RESULT] : read[0];
        kernel->pass.b = read[1];
        kernel->pass.c = read[2];
        kernel->pass.result = pass[p].writes ? &kernel->view[RESULT] : NULL;
        TN_TRY(tn_rtl_step_add_pass(state, &kernel->pass));
    }
    return TN_OK;
}

tn_status tn_rtl_step_passes(maker *state) {
    const tn_operation *o = state->current;
    const tn_operation_row *row = &tn_operation_rows[o->kind];
    const view *operand[3] = {NULL};
    rows_kernel kernel;
    tn_rtl_head *head = NULL;
    uint32_t operands = 0;
    if (row->shape == TN_SHAPE_LOSS) begin_loss(state, &head);
    TN_TRY(begin_rows(state, &kernel));
    for (uint32_t k = 0; k < o->read_count; k++) {
        TN_TRY(view_operand(state, &kernel, row->reads[k], o->reads[k], operands));
        if (row->reads[k] == 's') continue;
        operand[operands] = &kernel.view[operands];
        operands++;
    }
    for (uint32_t k = 0; k < o->write_count; k++)
        TN_TRY(view_operand(state, &kernel, row->writes[k], o->writes[k], RESULT));
    if (row->shape == TN_SHAPE_ROWS) kernel.pass.constant[0] = 1 / (double)o->columns;
    if (row->shape == TN_SHAPE_ROWS && o->write_count > 1) kernel.pass.constant[1] = state->options->epsilon;
    if (head) kernel.pass.first_row = head->first_row;
    if (head) kernel.pass.first_label = head->first_label;
    return add_passes(state, &kernel, operand);
}

tn_status tn_rtl_step_update(maker *builder) {
    const tn_operation *o = builder->current;
    uint32_t parameter = builder->program->array_of[o->reads[0]],
             gradient = builder->program->array_of[o->reads[1]];
    if (parameter == TN_RTL_NONE || gradient == TN_RTL_NONE)
        return tn_fail(builder->error, TN_INPUT,
                       "an update of an array that no operation made has no template");
    view w = tn_rtl_step_whole_view(builder, parameter), g = tn_rtl_step_whole_view(builder, gradient),
         window = w;
    if (w.axes != g.axes || memcmp(w.dims, g.dims, w.axes * sizeof *w.dims) != 0)
        return tn_fail(builder->error, TN_INPUT,
                       "%s and its gradient have different axes; no template updates that",
                       builder->array[parameter].name);
    return tn_rtl_step_word_pass(builder, TN_OP_UPDATE_SGD, &w, &g, &window, builder->options->rate);
}

/* ---- rows by token ---- */

/* A row of an array of rows x columns, which a word of the sample names. */
static tn_status row_view(maker *builder, uint32_t array, uint64_t columns, const tn_rtl_slot *which,
                          view *window) {
    uint64_t rows = builder->step->array[array].elements / columns;
    TN_TRY(tn_rtl_step_matrix_view(builder, array, rows, columns, TN_RTL_NONE, TN_RTL_NONE, window));
    return tn_rtl_step_look_at(builder, window, 0, which);
}

/* One row into another, or added to it. */
static tn_status move_row(maker *builder, const tn_rtl_slot *origin, const tn_rtl_slot *destination) {
    const tn_operation *o = builder->current;
    bool adds = o->kind == TN_OP_SCATTER;
    view source, sum, target;
    pass_of pass = {.kind = adds ? TN_OP_ADD : TN_OP_LOOKUP, .limit_slot = TN_RTL_NONE};
    TN_TRY(row_view(builder, o->reads[0], o->columns, origin, &source));
    TN_TRY(row_view(builder, o->writes[0], o->columns, destination, &target));
    TN_TRY(tn_rtl_step_new_index(builder, o->columns, &pass.column));
    source.index[1] = target.index[1] = pass.column;
    sum = target;
    pass.a = adds ? &sum : &source;
    pass.b = adds ? &source : NULL;
    pass.result = &target;
    return tn_rtl_step_add_pass(builder, &pass);
}

/* The row of a table, of positions, or of a sequence that belongs to the operation's i-th row. */
static tn_rtl_slot place_of_row(const maker *builder, uint64_t i) {
    const tn_layer *layer = &builder->model->layer[builder->current->layer];
    bool table = layer->kind->family == TN_LAYER_EMBEDDING;
    return (tn_rtl_slot){.kind = table ? TN_RTL_SLOT_DIGIT : TN_RTL_SLOT_FIXED,
                         .value = table ? i : i * builder->model->keys.sequence,
                         .radix = table ? layer->rows : 0,
                         .below = 1};
}

tn_status tn_rtl_step_lookup(maker *builder) {
    for (uint64_t i = 0; i < builder->current->rows; i++) {
        const tn_rtl_slot here = {.kind = TN_RTL_SLOT_FIXED, .value = i}, there = place_of_row(builder, i);
        TN_TRY(move_row(builder, &there, &here));
    }
    return TN_OK;
}

tn_status tn_rtl_step_scatter(maker *builder) {
    const tn_operation *o = builder->current;
    if (!tn_moves_by_row(builder->step, o)) { /* one example: every row goes to its own */
        rows_kernel kernel;
        TN_TRY(begin_rows(builder, &kernel));
        kernel.pass.kind = TN_OP_LOOKUP;
        TN_TRY(read_matrix(builder, &kernel, 0, o->reads[0]));
        TN_TRY(read_matrix(builder, &kernel, RESULT, o->writes[0]));
        kernel.pass.a = &kernel.view[0];
        kernel.pass.result = &kernel.view[RESULT];
        return tn_rtl_step_add_pass(builder, &kernel.pass);
    }
    view whole;
    TN_TRY(tn_rtl_step_matrix_view(builder, o->writes[0],
                                   builder->step->array[o->writes[0]].elements / o->columns, o->columns,
                                   TN_RTL_NONE, TN_RTL_NONE, &whole));
    TN_TRY(tn_rtl_step_clear(builder));
    for (uint64_t i = 0; i < o->rows; i++) {
        const tn_rtl_slot here = {.kind = TN_RTL_SLOT_FIXED, .value = i}, there = place_of_row(builder, i);
        TN_TRY(move_row(builder, &here, &there));
    }
    return TN_OK;
}
