/* Vector kernels of a step, pass by pass, and rows by token. */
#include "rtl/step_maker.h"

#include "base/checked.h"
#include "memory/laid_arrays.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---- vector kernels over tokens x features ---- */

static tn_status rows_of(maker *with, uint32_t array, uint64_t rows, uint64_t *first) {
    if (with->rows_of[array] == UINT64_MAX) {
        with->rows_of[array] = with->scalar_rows;
        with->scalar_rows += rows;
    }
    *first = with->rows_of[array];
    return TN_OK;
}

enum { RESULT = 3 };
typedef struct {
    uint32_t row, column;
    pass_of pass;
    view view[RESULT + 1]; /* of at most three operands, and of the result */
} rows_kernel;

static tn_status begin_rows(maker *with, rows_kernel *of) {
    const tn_operation *o = with->at;
    TN_TRY(tn_rtl_step_new_index(with, o->rows, &of->row));
    TN_TRY(tn_rtl_step_new_index(with, o->columns, &of->column));
    of->pass = (pass_of){.kind = o->kind,
                         .column = of->column,
                         .rows = 1,
                         .row = {of->row},
                         .first_row = with->shared_rows,
                         .limit_slot = TN_RTL_NONE};
    return TN_OK;
}

static tn_status read_matrix(maker *with, rows_kernel *of, uint32_t which, uint32_t array) {
    return tn_rtl_step_matrix_view(with, array, with->at->rows, with->at->columns, of->row, of->column,
                                   &of->view[which]);
}

static tn_status read_vector(maker *with, rows_kernel *of, uint32_t which, uint32_t array) {
    return tn_rtl_step_vector_view(with, array, with->at->columns, of->column, &of->view[which]);
}

/* What the operation reads or writes there, as its row says; statistics are scalars of its rows. */
static tn_status view_operand(maker *state, rows_kernel *of, char letter, uint32_t array, uint32_t which) {
    const bool repeats = letter == 'v' || (letter == 'b' && state->step->array[array].part == TN_PART_BIAS);
    if (letter == 's') return rows_of(state, array, state->at->rows, &of->pass.first_row);
    return repeats ? read_vector(state, of, which, array) : read_matrix(state, of, which, array);
}

/* Rows of labels of their own, and scalars that the loss is read from. */
static void begin_loss(maker *state, tn_rtl_head **made) {
    const tn_operation *o = state->at;
    tn_rtl_head *head = &state->to->head[state->to->heads++];
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
static tn_status add_passes(maker *state, rows_kernel *of, const view *const operand[3]) {
    const tn_operation_row *row = &tn_operation_rows[state->at->kind];
    const tn_pass *pass = tn_operation_passes(state->at->kind);
    for (uint32_t p = 0; p < TN_PASSES_MOST && pass[p].form != TN_PASS_NONE; p++) {
        const view *read[3] = {NULL};
        tn_formula formula;
        TN_TRY(tn_formula_read(row->pass[p].text, &formula, state->error));
        for (uint32_t i = 0; i < formula.nodes; i++)
            if (formula.node[i].kind <= TN_NODE_C) read[formula.node[i].kind] = operand[formula.node[i].kind];
        of->pass.pass = p;
        of->pass.a = pass[p].takes_result ? &of->view[RESULT] : read[0];
        of->pass.b = read[1];
        of->pass.c = read[2];
        of->pass.result = pass[p].writes ? &of->view[RESULT] : NULL;
        TN_TRY(tn_rtl_step_add_pass(state, &of->pass));
    }
    return TN_OK;
}

tn_status tn_rtl_step_passes(maker *state) {
    const tn_operation *o = state->at;
    const tn_operation_row *row = &tn_operation_rows[o->kind];
    const view *operand[3] = {NULL};
    rows_kernel of;
    tn_rtl_head *head = NULL;
    uint32_t operands = 0;
    if (row->of_heads && state->model->layer[o->layer].heads > 1)
        return tn_fail(state->error, TN_INPUT, "%s: a norm of heads has no template",
                       state->step->layer[o->layer].name);
    if (row->shape == TN_SHAPE_LOSS) begin_loss(state, &head);
    TN_TRY(begin_rows(state, &of));
    for (uint32_t k = 0; k < o->read_count; k++) {
        TN_TRY(view_operand(state, &of, row->reads[k], o->reads[k], operands));
        if (row->reads[k] == 's') continue;
        operand[operands] = &of.view[operands];
        operands++;
    }
    for (uint32_t k = 0; k < o->write_count; k++)
        TN_TRY(view_operand(state, &of, row->writes[k], o->writes[k], RESULT));
    if (row->shape == TN_SHAPE_ROWS) of.pass.constant[0] = 1 / (double)o->columns;
    if (row->shape == TN_SHAPE_ROWS && o->write_count > 1) of.pass.constant[1] = state->options->epsilon;
    if (head) of.pass.first_row = head->first_row;
    if (head) of.pass.first_label = head->first_label;
    return add_passes(state, &of, operand);
}

tn_status tn_rtl_step_update(maker *with) {
    const tn_operation *o = with->at;
    uint32_t parameter = with->to->array_of[o->reads[0]], gradient = with->to->array_of[o->reads[1]];
    if (parameter == TN_RTL_NONE || gradient == TN_RTL_NONE)
        return tn_fail(with->error, TN_INPUT, "an update of an array that no operation made has no template");
    view w = tn_rtl_step_whole_view(with, parameter), g = tn_rtl_step_whole_view(with, gradient), to = w;
    if (w.axes != g.axes || memcmp(w.dims, g.dims, w.axes * sizeof *w.dims) != 0)
        return tn_fail(with->error, TN_INPUT,
                       "%s and its gradient have different axes; no template updates that",
                       with->array[parameter].name);
    return tn_rtl_step_word_pass(with, TN_OP_UPDATE_SGD, &w, &g, &to, with->options->rate);
}

/* ---- rows by token ---- */

/* A row of an array of rows x columns, which a word of the sample names. */
static tn_status row_view(maker *with, uint32_t array, uint64_t columns, const tn_rtl_slot *which, view *of) {
    uint64_t rows = with->step->array[array].elements / columns;
    TN_TRY(tn_rtl_step_matrix_view(with, array, rows, columns, TN_RTL_NONE, TN_RTL_NONE, of));
    return tn_rtl_step_look_at(with, of, 0, which);
}

/* One row into another, or added to it. */
static tn_status move_row(maker *with, const tn_rtl_slot *from, const tn_rtl_slot *to) {
    const tn_operation *o = with->at;
    bool adds = o->kind == TN_OP_SCATTER;
    view source, sum, target;
    pass_of of = {.kind = adds ? TN_OP_ADD : TN_OP_LOOKUP, .limit_slot = TN_RTL_NONE};
    TN_TRY(row_view(with, o->reads[0], o->columns, from, &source));
    TN_TRY(row_view(with, o->writes[0], o->columns, to, &target));
    TN_TRY(tn_rtl_step_new_index(with, o->columns, &of.column));
    source.index[1] = target.index[1] = of.column;
    sum = target;
    of.a = adds ? &sum : &source;
    of.b = adds ? &source : NULL;
    of.result = &target;
    return tn_rtl_step_add_pass(with, &of);
}

/* The row of a table, of positions, or of a sequence that belongs to the operation's i-th row. */
static tn_rtl_slot place_of_row(const maker *with, uint64_t i) {
    const tn_layer *layer = &with->model->layer[with->at->layer];
    bool table = layer->kind->family == TN_LAYER_EMBEDDING;
    return (tn_rtl_slot){.kind = table ? TN_RTL_SLOT_DIGIT : TN_RTL_SLOT_FIXED,
                         .value = table ? i : i * with->model->keys.sequence,
                         .radix = table ? layer->rows : 0,
                         .below = 1};
}

tn_status tn_rtl_step_lookup(maker *with) {
    for (uint64_t i = 0; i < with->at->rows; i++) {
        const tn_rtl_slot here = {.kind = TN_RTL_SLOT_FIXED, .value = i}, there = place_of_row(with, i);
        TN_TRY(move_row(with, &there, &here));
    }
    return TN_OK;
}

tn_status tn_rtl_step_scatter(maker *with) {
    const tn_operation *o = with->at;
    if (!tn_moves_by_row(with->step, o)) { /* one example: every row goes to its own */
        rows_kernel of;
        TN_TRY(begin_rows(with, &of));
        of.pass.kind = TN_OP_LOOKUP;
        TN_TRY(read_matrix(with, &of, 0, o->reads[0]));
        TN_TRY(read_matrix(with, &of, RESULT, o->writes[0]));
        of.pass.a = &of.view[0];
        of.pass.result = &of.view[RESULT];
        return tn_rtl_step_add_pass(with, &of.pass);
    }
    view whole;
    TN_TRY(tn_rtl_step_matrix_view(with, o->writes[0], with->step->array[o->writes[0]].elements / o->columns,
                                   o->columns, TN_RTL_NONE, TN_RTL_NONE, &whole));
    TN_TRY(tn_rtl_step_clear(with));
    for (uint64_t i = 0; i < o->rows; i++) {
        const tn_rtl_slot here = {.kind = TN_RTL_SLOT_FIXED, .value = i}, there = place_of_row(with, i);
        TN_TRY(move_row(with, &here, &there));
    }
    return TN_OK;
}
