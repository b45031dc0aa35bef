/* The operations of a program (flow/program.h): what linear layers and look-ups in cores have in common. */
#include "model/program_layer.h"
#include "model/builder.h"

tn_status tn_program_layer_begin(tn_builder *b) {
    tn_layer_arrays *made = tn_builder_made(b);
    uint32_t tensors = made->program->tensors;
    TN_TRY(tn_arena_alloc(b->arena, tensors, sizeof *made->array_of, &made->array_of, b->error));
    for (uint32_t t = 0; t < tensors; t++) made->array_of[t] = TN_NONE;
    return TN_OK;
}

static tn_status place_result(tn_builder *b, uint32_t t) {
    const tn_layer_arrays *made = tn_builder_made(b);
    const tn_program_tensor *tensor = &made->program->tensor[t];
    uint32_t *array = &made->array_of[t];
    if (*array != TN_NONE) return TN_OK;
    switch (tensor->role) {
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
                                             .program_step = step,
                                             .batch = step->shape.batch,
                                             .rows = step->shape.rows,
                                             .reduction = step->shape.reduction,
                                             .columns = step->shape.columns,
                                             .read_count = 2,
                                             .reads = {array_of[step->a], array_of[step->b]},
                                             .write_count = 1,
                                             .writes = {array_of[step->out]}});
}

static uint32_t find_role(const tn_program *program, tn_role role) {
    uint32_t t = 0;
    while (t < program->tensors && program->tensor[t].role != role) t++;
    return t;
}

tn_status tn_program_layer_forward(tn_builder *b) {
    tn_layer_arrays *made = tn_builder_made(b);
    const tn_program *program = made->program;
    for (uint32_t i = 0; i < program->forward_steps; i++) TN_TRY(add_product(b, &program->step[i]));
    made->output = made->array_of[find_role(program, TN_ROLE_Y)];
    return TN_OK;
}

tn_status tn_program_layer_backward(tn_builder *b, uint32_t *input_gradient) {
    tn_layer_arrays *made = tn_builder_made(b);
    const tn_program *program = made->program;
    made->array_of[find_role(program, TN_ROLE_DY)] = made->gradient;
    for (uint32_t i = program->forward_steps; i < program->steps; i++)
        TN_TRY(add_product(b, &program->step[i]));
    uint32_t dx = find_role(program, TN_ROLE_DX);
    *input_gradient = dx < program->tensors ? made->array_of[dx] : TN_NONE;
    return TN_OK;
}
