#include "rtl/layer.h"

#include "rtl/place.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

typedef struct {
    const tn_program *program;
    const tn_rtl_layer_options *options;
    bool dense;
    tn_arena *arena;
    tn_error *error;
    tn_rtl_array *array;
    tn_rtl_operation *operation;
    tn_phase *phase;
    tn_rtl_layer *layer;
} maker;

/* ---- layouts ---- */

static tn_status layout_of(maker *builder, uint32_t t) {
    const tn_program_tensor *tensor = &builder->program->tensor[t];
    tn_rtl_array *array = &builder->array[t];
    array->index[0] = TN_RTL_NONE;
    TN_TRY(tn_rtl_tensor_layout(builder->program, tensor, &builder->options->layouts->tensor[t], array->name,
                                &array->layout, builder->error));
    for (uint32_t k = 0; k < tensor->indices.count; k++) array->index[k] = tensor->indices.index[k];
    return TN_OK;
}

/* ---- names ---- */

static tn_status name_array(const maker *builder, uint32_t t) {
    const tn_program_tensor *tensor = &builder->program->tensor[t];
    const char **name = &builder->array[t].name;
    char number[24] = "";
    if (!builder->dense) snprintf(number, sizeof number, "%" PRIu32, tensor->core + 1);
    switch (tensor->role) {
    case TN_ROLE_X:
        return tn_arena_format(builder->arena, name, builder->error, "x");
    case TN_ROLE_Y:
        return tn_arena_format(builder->arena, name, builder->error, "y");
    case TN_ROLE_DX:
        return tn_arena_format(builder->arena, name, builder->error, "dx");
    case TN_ROLE_DY:
        return tn_arena_format(builder->arena, name, builder->error, "dy");
    case TN_ROLE_CORE:
        return tn_arena_format(builder->arena, name, builder->error, "%s%s", builder->dense ? "w" : "core",
                               number);
    case TN_ROLE_CORE_GRADIENT:
        return tn_arena_format(builder->arena, name, builder->error, "%s%s", builder->dense ? "dw" : "dcore",
                               number);
    default:
        return tn_arena_format(builder->arena, name, builder->error, "t%" PRIu32, t + 1);
    }
}

/* ---- operations ---- */

static tn_status add_products(maker *builder, uint32_t *count) {
    for (uint32_t s = 0; s < builder->program->steps; s++) {
        const tn_program_step *step = &builder->program->step[s];
        const tn_product_layout *product = &builder->options->layouts->product[s];
        builder->phase[*count] = step->phase;
        builder->operation[(*count)++] = (tn_rtl_operation){.name = builder->array[step->out].name,
                                                            .left = step->a,
                                                            .right = step->b,
                                                            .result = step->out,
                                                            .row = tn_rtl_cut_of(product, 0),
                                                            .column = tn_rtl_cut_of(product, 1),
                                                            .term = tn_rtl_cut_of(product, 2),
                                                            .array = product->issued.pass};
    }
    return TN_OK;
}

static tn_status add_updates(maker *builder, uint32_t *count) {
    for (uint32_t k = 0; k < builder->layer->cores; k++) {
        uint32_t core = builder->layer->core[k], gradient = builder->layer->core_gradient[k];
        tn_rtl_operation *update = &builder->operation[*count];
        if (gradient == TN_RTL_NONE) continue;
        *update = (tn_rtl_operation){.update = true, .left = core, .right = gradient, .result = core};
        TN_TRY(tn_arena_format(builder->arena, &update->name, builder->error, "update %s",
                               builder->array[core].name));
        builder->phase[(*count)++] = TN_UPDATE;
    }
    return TN_OK;
}

static tn_status list_roles(maker *builder) {
    tn_rtl_layer *layer = builder->layer;
    uint32_t *core, *gradient, cores = 0;
    for (uint32_t t = 0; t < builder->program->tensors; t++)
        cores += builder->program->tensor[t].role == TN_ROLE_CORE;
    TN_TRY(TN_NEW(builder->arena, cores, &core, builder->error));
    TN_TRY(TN_NEW(builder->arena, cores, &gradient, builder->error));
    layer->x = layer->y = layer->dx = layer->dy = TN_RTL_NONE;
    for (uint32_t k = 0; k < cores; k++) gradient[k] = TN_RTL_NONE;
    for (uint32_t t = 0; t < builder->program->tensors; t++) {
        const tn_program_tensor *tensor = &builder->program->tensor[t];
        if (tensor->role == TN_ROLE_X) layer->x = t;
        if (tensor->role == TN_ROLE_Y) layer->y = t;
        if (tensor->role == TN_ROLE_DX) layer->dx = t;
        if (tensor->role == TN_ROLE_DY) layer->dy = t;
        if (tensor->role == TN_ROLE_CORE) core[tensor->core] = t;
        if (tensor->role == TN_ROLE_CORE_GRADIENT) gradient[tensor->core] = t;
    }
    layer->cores = cores;
    layer->core = core;
    layer->core_gradient = gradient;
    return TN_OK;
}

static tn_status make_room(maker *builder) {
    uint32_t tensors = builder->program->tensors;
    size_t operations = (size_t)builder->program->steps + tensors;
    TN_TRY(TN_NEW(builder->arena, tensors, &builder->array, builder->error));
    TN_TRY(TN_NEW(builder->arena, operations, &builder->operation, builder->error));
    return TN_NEW(builder->arena, operations, &builder->phase, builder->error);
}

tn_status tn_rtl_layer_make(const tn_program *program, bool dense, const tn_rtl_layer_options *options,
                            tn_arena *arena, tn_rtl_layer *layer, tn_error *error) {
    maker builder = {.program = program,
                     .options = options,
                     .dense = dense,
                     .arena = arena,
                     .error = error,
                     .layer = layer};
    uint32_t operations = 0;
    *layer = (tn_rtl_layer){0};
    if (program->micro_batches > 1)
        return tn_fail(error, TN_INPUT, "a flow of %" PRIu64 " micro-batches; hardware is generated for one",
                       program->micro_batches);
    TN_TRY(make_room(&builder));
    TN_TRY(list_roles(&builder));
    for (uint32_t t = 0; t < program->tensors; t++) TN_TRY(name_array(&builder, t));
    for (uint32_t t = 0; t < program->tensors; t++) TN_TRY(layout_of(&builder, t));
    for (uint32_t k = 0; k < layer->cores && options->update; k++)
        if (layer->core_gradient[k] != TN_RTL_NONE)
            builder.array[layer->core_gradient[k]].layout = builder.array[layer->core[k]].layout;
    TN_TRY(add_products(&builder, &operations));
    if (options->update) TN_TRY(add_updates(&builder, &operations));
    layer->phase = builder.phase;
    layer->design.rows = options->rows;
    layer->design.columns = options->columns;
    layer->design.terms = options->terms;
    layer->design.systolic = options->systolic;
    layer->design.vector = options->vector;
    layer->design.multiply_cycles = options->multiply_cycles;
    layer->design.add_cycles = options->add_cycles;
    layer->design.rate = options->rate;
    layer->design.arrays = program->tensors;
    layer->design.operations = operations;
    layer->design.array = builder.array;
    layer->design.operation = builder.operation;
    TN_TRY(tn_rtl_place_arrays(
        &layer->design, builder.array,
        &(tn_rtl_placing){.style = options->style, .lutram_bits_most = options->lutram_bits_most}, arena,
        error));
    return tn_rtl_design_check(&layer->design, error);
}
