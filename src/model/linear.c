/* Linear layers: Y = X W^T + b, dX = dY W, dW = dY^T X, db = column sums of dY; W dense or in cores, by the
 * program of its flow (flow/program.h). */
#include "model/builder.h"
#include "model/program_cache.h"

/* The arrays of a program's inputs; the rest is made by its steps. */
static void place_inputs(tn_builder *b) {
    tn_layer_arrays *made = tn_builder_made(b);
    const tn_program *program = made->program;
    for (uint32_t t = 0; t < program->tensors; t++) {
        const tn_program_tensor *tensor = &program->tensor[t];
        made->array_of[t] = tensor->role == TN_ROLE_CORE ? tn_builder_parameter(b, tensor->core)
                            : tensor->role == TN_ROLE_X  ? tn_builder_input(b, 0)
                                                         : TN_NONE;
    }
}

static tn_status add_parameters(tn_builder *b) {
    const tn_layer *layer = tn_builder_layer(b);
    const tn_program *program = tn_builder_made(b)->program;
    bool dense = tn_builder_made(b)->weight->weight.format == TN_DENSE;
    uint32_t core = 0;
    for (uint32_t t = 0; t < program->tensors; t++) {
        const tn_program_tensor *tensor = &program->tensor[t];
        if (tensor->role != TN_ROLE_CORE) continue;
        TN_TRY(tn_builder_add_parameter(b, dense ? "weight" : "core", dense ? 0 : ++core, tensor->elements,
                                        !dense));
    }
    return layer->bias ? tn_builder_add_parameter(b, "bias", 0, layer->rows, false) : TN_OK;
}

/* The array that a step writes. */
static tn_status place_result(tn_builder *b, uint32_t t) {
    tn_layer_arrays *made = tn_builder_made(b);
    const tn_program_tensor *tensor = &made->program->tensor[t];
    uint32_t *array = &made->array_of[t];
    switch (tensor->role) {
    case TN_ROLE_CORE_GRADIENT:
        *array = tn_builder_parameter_gradient(b, tensor->core);
        return TN_OK;
    case TN_ROLE_Y:
        return tn_builder_array(b, "output", 0, TN_ARRAY_ACTIVATION, tensor->elements, array);
    case TN_ROLE_DX:
        return tn_builder_array(b, "input-gradient", 0, TN_ARRAY_ACTIVATION, tensor->elements, array);
    default:
        return tn_builder_array(b, "intermediate", tensor->made_by + 1, TN_ARRAY_INTERMEDIATE,
                                tensor->elements, array);
    }
}

static tn_status add_product(tn_builder *b, const tn_program_step *step) {
    const uint32_t *array_of = tn_builder_made(b)->array_of;
    TN_TRY(place_result(b, step->out));
    return tn_builder_add(b, &(tn_operation){.kind = TN_OP_PRODUCT,
                                             .phase = step->phase,
                                             .batch = step->shape.batch,
                                             .rows = step->shape.rows,
                                             .reduction = step->shape.reduction,
                                             .columns = step->shape.columns,
                                             .read_count = 2,
                                             .reads = {array_of[step->a], array_of[step->b]},
                                             .write_count = 1,
                                             .writes = {array_of[step->out]}});
}

static tn_status add_bias(tn_builder *b) {
    const tn_layer *layer = tn_builder_layer(b);
    tn_layer_arrays *made = tn_builder_made(b);
    uint32_t bias = tn_builder_parameter(b, made->parameters - 1);
    return tn_builder_add(b, &(tn_operation){.kind = TN_OP_ADD,
                                             .phase = TN_FORWARD,
                                             .rows = layer->tokens,
                                             .columns = layer->rows,
                                             .read_count = 2,
                                             .reads = {made->output, bias},
                                             .write_count = 1,
                                             .writes = {made->output}});
}

static tn_status forward(tn_builder *b) {
    const tn_layer *layer = tn_builder_layer(b);
    tn_layer_arrays *made = tn_builder_made(b);
    const tn_program_options options = {.training = true,
                                        .no_input_gradient = !tn_builder_input_learns(b, 0)};
    TN_TRY(tn_program_cache_get(b->cache, &made->weight->weight, layer->tokens, made->weight->flow, &options,
                                &made->program, b->error));
    const tn_program *program = made->program;
    TN_TRY(tn_arena_alloc(b->arena, program->tensors, sizeof *made->array_of, &made->array_of, b->error));
    TN_TRY(add_parameters(b));
    place_inputs(b);
    for (uint32_t i = 0; i < program->steps; i++) {
        const tn_program_step *step = &program->step[i];
        if (step->phase != TN_FORWARD) continue;
        TN_TRY(add_product(b, step));
        if (program->tensor[step->out].role == TN_ROLE_Y) made->output = made->array_of[step->out];
    }
    return layer->bias ? add_bias(b) : TN_OK;
}

static tn_status add_bias_gradient(tn_builder *b) {
    const tn_layer *layer = tn_builder_layer(b);
    tn_layer_arrays *made = tn_builder_made(b);
    uint32_t gradient = tn_builder_parameter_gradient(b, made->parameters - 1);
    return tn_builder_add(b, &(tn_operation){.kind = TN_OP_COLUMN_SUM,
                                             .phase = TN_WEIGHT_GRADIENT,
                                             .rows = layer->tokens,
                                             .columns = layer->rows,
                                             .read_count = 1,
                                             .reads = {made->gradient},
                                             .write_count = 1,
                                             .writes = {gradient}});
}

static tn_status backward(tn_builder *b) {
    const tn_layer *layer = tn_builder_layer(b);
    tn_layer_arrays *made = tn_builder_made(b);
    const tn_program *program = made->program;
    uint32_t input_gradient = TN_NONE;
    for (uint32_t t = 0; t < program->tensors; t++)
        if (program->tensor[t].role == TN_ROLE_DY) made->array_of[t] = made->gradient;
    if (layer->bias) TN_TRY(add_bias_gradient(b));
    for (uint32_t i = 0; i < program->steps; i++) {
        const tn_program_step *step = &program->step[i];
        if (step->phase == TN_FORWARD) continue;
        TN_TRY(add_product(b, step));
        if (program->tensor[step->out].role == TN_ROLE_DX) input_gradient = made->array_of[step->out];
    }
    return input_gradient == TN_NONE ? TN_OK
                                     : tn_builder_contribute(b, layer->input[0], input_gradient, true);
}

const tn_layer_family tn_family_linear = {forward, backward};
