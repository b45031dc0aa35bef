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

typedef struct {
    uint32_t row, column;
    pass_of pass;
    view view[5]; /* of reads, then of the result */
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

/* One pass: y from one or two arrays. */
tn_status tn_rtl_step_elementwise(maker *with) {
    const tn_operation *o = with->at;
    rows_kernel of;
    TN_TRY(begin_rows(with, &of));
    TN_TRY(read_matrix(with, &of, 0, o->reads[0]));
    of.pass.a = &of.view[0];
    if (o->read_count > 1) {
        if (strcmp(with->step->array[o->reads[1]].part, "bias") == 0) /* one for every row */
            TN_TRY(read_vector(with, &of, 1, o->reads[1]));
        else
            TN_TRY(read_matrix(with, &of, 1, o->reads[1]));
        of.pass.b = &of.view[1];
    }
    TN_TRY(read_matrix(with, &of, 4, o->writes[0]));
    of.pass.result = &of.view[4];
    return tn_rtl_step_add_pass(with, &of.pass);
}

/* Sums down the columns: of dY, or of dY with X and its statistics. */
tn_status tn_rtl_step_column_sums(maker *with) {
    const tn_operation *o = with->at;
    rows_kernel of;
    TN_TRY(begin_rows(with, &of));
    TN_TRY(read_matrix(with, &of, 0, o->reads[0]));
    of.pass.a = &of.view[0];
    if (o->read_count > 2) {
        TN_TRY(read_matrix(with, &of, 1, o->reads[1]));
        TN_TRY(rows_of(with, o->reads[2], o->rows, &of.pass.first_row));
        of.pass.b = &of.view[1];
    }
    TN_TRY(read_vector(with, &of, 4, o->writes[0]));
    of.pass.result = &of.view[4];
    return tn_rtl_step_add_pass(with, &of.pass);
}

tn_status tn_rtl_step_norm(maker *with) {
    const tn_operation *o = with->at;
    bool layer_norm = o->kind == TN_OP_LAYER_NORM;
    uint32_t last = tn_circuit_passes(o->kind) - 1;
    rows_kernel of;
    if (with->model->layer[o->layer].heads > 1)
        return tn_fail(with->error, TN_INPUT, "%s: a norm of heads has no template",
                       with->step->layer[o->layer].name);
    TN_TRY(begin_rows(with, &of));
    TN_TRY(read_matrix(with, &of, 0, o->reads[0]));
    TN_TRY(read_vector(with, &of, 1, o->reads[1]));
    if (layer_norm) TN_TRY(read_vector(with, &of, 2, o->reads[2]));
    TN_TRY(read_matrix(with, &of, 4, o->writes[0]));
    TN_TRY(rows_of(with, o->writes[1], o->rows, &of.pass.first_row));
    of.pass.constant[0] = 1 / (double)o->columns;
    of.pass.constant[1] = with->options->epsilon;
    for (uint32_t p = 0; p <= last; p++) {
        bool of_rows = tn_operation_rows[o->kind].pass[p].form == TN_PASS_PER_ROW;
        of.pass.pass = p;
        of.pass.a = of_rows ? NULL : &of.view[0];
        of.pass.b = p == last ? &of.view[1] : NULL;
        of.pass.c = p == last && layer_norm ? &of.view[2] : NULL;
        of.pass.result = p == last ? &of.view[4] : NULL;
        TN_TRY(tn_rtl_step_add_pass(with, &of.pass));
    }
    return TN_OK;
}

tn_status tn_rtl_step_norm_gradient(maker *with) {
    const tn_operation *o = with->at;
    rows_kernel of;
    TN_TRY(begin_rows(with, &of));
    TN_TRY(read_matrix(with, &of, 0, o->reads[0]));
    TN_TRY(read_matrix(with, &of, 1, o->reads[1]));
    TN_TRY(rows_of(with, o->reads[2], o->rows, &of.pass.first_row));
    TN_TRY(read_vector(with, &of, 2, o->reads[3]));
    TN_TRY(read_matrix(with, &of, 4, o->writes[0]));
    of.pass.constant[0] = 1 / (double)o->columns;
    for (uint32_t p = 0; p < 3; p++) {
        of.pass.pass = p;
        of.pass.a = p == 1 ? NULL : &of.view[0];
        of.pass.b = p == 1 ? NULL : &of.view[1];
        of.pass.c = p == 1 ? NULL : &of.view[2];
        of.pass.result = p == 2 ? &of.view[4] : NULL;
        TN_TRY(tn_rtl_step_add_pass(with, &of.pass));
    }
    return TN_OK;
}

tn_status tn_rtl_step_cross_entropy(maker *with) {
    const tn_operation *o = with->at;
    rows_kernel of;
    tn_rtl_head *head = &with->to->head[with->to->heads++];
    *head = (tn_rtl_head){.layer = o->layer,
                          .rows = o->rows,
                          .first_label = with->labels,
                          .first_row = with->scalar_rows,
                          .of_example = with->model->layer[o->layer].sequence == 1};
    with->labels += o->rows;
    with->scalar_rows += o->rows;
    TN_TRY(begin_rows(with, &of));
    TN_TRY(read_matrix(with, &of, 0, o->reads[0]));
    TN_TRY(read_matrix(with, &of, 4, o->writes[0]));
    of.pass.first_row = head->first_row;
    of.pass.first_label = head->first_label;
    for (uint32_t p = 0; p < 4; p++) {
        of.pass.pass = p;
        of.pass.a = p < 2 ? &of.view[0] : p == 3 ? &of.view[4] : NULL;
        of.pass.result = p == 1 || p == 3 ? &of.view[4] : NULL;
        TN_TRY(tn_rtl_step_add_pass(with, &of.pass));
    }
    return TN_OK;
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
    bool table = layer->kind->is_lookup;
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
        TN_TRY(read_matrix(with, &of, 4, o->writes[0]));
        of.pass.a = &of.view[0];
        of.pass.result = &of.view[4];
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
