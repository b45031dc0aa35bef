/* The list of a step's operations, and what they are made for. */
#include "rtl/step.h"

#include "base/checked.h"
#include "layout/bank_layout.h"
#include "rtl/step_maker.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* The check that every view of a step's arrays finds its elements. */

/* Every view must find every element where its storage has it. */
static tn_status check_view(const maker *builder, const tn_rtl_array *array, const tn_rtl_array *store) {
    tn_rtl_strides seen = tn_rtl_strides_of(&array->layout), own = tn_rtl_strides_of(&store->layout);
    uint64_t x[TN_BANK_LAYOUT_AXES] = {0}, y[TN_BANK_LAYOUT_AXES] = {0}, elements = 1;
    for (uint32_t k = 0; k < array->layout.axes; k++) elements *= array->layout.dims[k];
    for (uint64_t i = 0; i < elements; i++) {
        tn_rtl_place a = tn_rtl_place_of(&array->layout, &seen, x),
                     b = tn_rtl_place_of(&store->layout, &own, y);
        if (!seen.told || !own.told || a.bank != b.bank || a.word != b.word || a.element != b.element)
            return tn_fail(builder->error, TN_INPUT,
                           "%s: its words do not fit all of its uses; no template builds that", store->name);
        for (uint32_t k = array->layout.axes; k-- > 0;) {
            if (++x[k] < array->layout.dims[k]) break;
            x[k] = 0;
        }
        for (uint32_t k = store->layout.axes; k-- > 0;) {
            if (++y[k] < store->layout.dims[k]) break;
            y[k] = 0;
        }
    }
    return TN_OK;
}

static bool same_shape(const tn_bank_layout *a, const tn_bank_layout *b) {
    return a->axes == b->axes && memcmp(a->dims, b->dims, a->axes * sizeof *a->dims) == 0 &&
           memcmp(a->word, b->word, a->axes * sizeof *a->word) == 0 &&
           memcmp(a->skew[0], b->skew[0], a->axes * sizeof *a->skew[0]) == 0 &&
           memcmp(a->divide, b->divide, a->axes * sizeof *a->divide) == 0 &&
           memcmp(a->turn, b->turn, a->axes * sizeof *a->turn) == 0;
}

static tn_status rtl_step_check_views(const maker *builder) {
    for (uint32_t a = 0; a < builder->arrays; a++) {
        const tn_rtl_array *array = &builder->array[a];
        if (!array->view_of || same_shape(&array->layout, &builder->array[array->view_of - 1].layout))
            continue;
        bool known = false; /* an earlier pair of the same shapes */
        for (uint32_t b = 0; b < a && !known; b++)
            known = builder->array[b].view_of && same_shape(&builder->array[b].layout, &array->layout) &&
                    same_shape(&builder->array[builder->array[b].view_of - 1].layout,
                               &builder->array[array->view_of - 1].layout);
        if (!known) TN_TRY(check_view(builder, array, &builder->array[array->view_of - 1]));
    }
    return TN_OK;
}

/* ---- the list ---- */

static tn_status lower_product(maker *state) {
    return state->current->program_step ? tn_rtl_step_program_product(state)
                                        : tn_rtl_step_attention_product(state);
}

/* NULL: no template goes over operands so. */
static tn_status (*const by_shape[TN_SHAPES])(maker *state) = {
    [TN_SHAPE_PRODUCT] = lower_product,       [TN_SHAPE_LOOKUP] = tn_rtl_step_lookup,
    [TN_SHAPE_SCATTER] = tn_rtl_step_scatter, [TN_SHAPE_ADD] = tn_rtl_step_passes,
    [TN_SHAPE_MAP] = tn_rtl_step_passes,      [TN_SHAPE_SUM] = tn_rtl_step_passes,
    [TN_SHAPE_SCORES] = tn_rtl_step_softmax,  [TN_SHAPE_ROWS] = tn_rtl_step_passes,
    [TN_SHAPE_LOSS] = tn_rtl_step_passes,     [TN_SHAPE_UPDATE] = tn_rtl_step_update,
};

static tn_status lower(maker *state) {
    const tn_operation_row *row = &tn_operation_rows[state->current->kind];
    const bool has_template = row->shape == TN_SHAPE_PRODUCT || tn_circuit_passes(state->current->kind) > 0;
    if (has_template && by_shape[row->shape]) return by_shape[row->shape](state);
    return tn_fail(state->error, TN_INPUT, "%s: %s has no template%s",
                   state->step->layer[state->current->layer].name, row->kernel,
                   row->shape == TN_SHAPE_UPDATE ? "; train with optimizer: sgd" : "");
}

static tn_status lower_all(maker *builder) {
    const tn_step *step = builder->step;
    uint64_t shared = 1;
    for (uint32_t i = 0; i < step->operations; i++)
        if (step->operation[i].kind != TN_OP_PRODUCT && step->operation[i].rows > shared &&
            !tn_operation_is_update(&step->operation[i]))
            shared = step->operation[i].rows;
    builder->scalar_rows = shared;
    for (uint32_t i = 0; i < step->operations; i++) {
        uint32_t first = builder->operations;
        builder->current = &step->operation[i];
        if (builder->options->layer != UINT32_MAX && builder->current->layer != builder->options->layer)
            continue;
        if (builder->current->phase == TN_UPDATE && !builder->options->update) continue;
        TN_TRY(lower(builder));
        uint32_t *grown;
        TN_TRY(TN_NEW(builder->arena, (size_t)builder->operations + 1, &grown, builder->error));
        if (first > 0) memcpy(grown, builder->program->of_operation, first * sizeof *grown);
        for (uint32_t k = first; k < builder->operations; k++) grown[k] = i;
        builder->program->of_operation = grown;
    }
    return TN_OK;
}

/* ---- the whole ---- */

static tn_status check_step(const maker *builder) {
    if (!builder->options->plan->off_chip) return TN_OK;
    return tn_fail(builder->error, TN_INPUT,
                   "arrays off chip have no template; leave build.off_chip_over_bytes out");
}

tn_status tn_rtl_program_make(const tn_model *model, const tn_step *step, const tn_rtl_step_options *options,
                              tn_arena *arena, tn_rtl_program *program, tn_error *error) {
    maker builder = {
        .model = model, .step = step, .options = options, .arena = arena, .error = error, .program = program};
    *program = (tn_rtl_program){0};
    TN_TRY(check_step(&builder));
    TN_TRY(TN_NEW(arena, step->arrays, &program->array_of, error));
    TN_TRY(TN_NEW(arena, step->arrays, &builder.rows_of, error));
    TN_TRY(TN_NEW(arena, step->layers, &program->head, error));
    for (uint32_t a = 0; a < step->arrays; a++) {
        program->array_of[a] = TN_RTL_NONE;
        builder.rows_of[a] = UINT64_MAX;
    }
    TN_TRY(lower_all(&builder));
    TN_TRY(rtl_step_check_views(&builder));
    tn_rtl_design *design = &program->design;
    design->rows = options->rows;
    design->columns = options->columns;
    design->terms = options->terms;
    design->systolic = options->systolic;
    design->vector = options->vector;
    design->multiply_cycles = options->latencies.cycles[TN_MULTIPLY];
    design->add_cycles = options->latencies.cycles[TN_ADDER];
    design->rate = options->rate;
    design->latencies = options->latencies;
    design->arrays = builder.arrays;
    design->operations = builder.operations;
    design->array = builder.array;
    design->operation = builder.operation;
    const tn_rtl_placing how = {.priced = options->layer == UINT32_MAX ? options->priced : NULL,
                                .array_of = program->array_of,
                                .style = options->style,
                                .lutram_bits_most = options->lutram_bits_most};
    TN_TRY(tn_rtl_place_arrays(design, builder.array, &how, arena, error));
    design->scalar_rows = builder.scalar_rows;
    design->sample_words = builder.slots ? builder.slots : 1;
    design->sample_labels = builder.labels ? (uint32_t)builder.labels : 1;
    if (builder.slots == 0)
        TN_TRY(tn_rtl_step_grow(&builder, &program->slot, &builder.slots_room, 0, sizeof *program->slot));
    return tn_rtl_design_check(design, error);
}
