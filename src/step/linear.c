/* Linear layers: Y = X W^T + b, dX = dY W, dW = dY^T X, db = column sums of dY; W dense or in cores, by the
 * program of its flow (program/program.h). Tied to an embedding, W is its table: dW begins the table's gradient, to
 * which the embedding, whose backward part comes later, adds its rows. */
#include "step/builder.h"
#include "step/program_cache.h"
#include "step/transformation.h"

/* Flat products: those of few rows are cut along their columns into blocks that run as products of their own; the flat operand
 * is read again for each block. Where the other operand lies off chip a block of it is brought while the one before is
 * computed (memory/map.c), as in section 4 of Hong et al., FlashDecoding++, MLSys 2024. */

static bool wanted(const tn_model *model) {
    return model->keys.flat_gemm.block > 0;
}

static tn_status apply(tn_builder *b, const tn_operation *earlier, uint32_t operations) {
    const tn_model_flat *model_flat = &b->model->keys.flat_gemm;
    for (uint32_t i = 0; i < operations; i++) {
        tn_operation o = earlier[i];
        bool flat = o.kind == TN_OP_PRODUCT && o.rows <= model_flat->rows && o.columns > model_flat->block;
        if (flat && o.columns % model_flat->block == 0) o.column_block = model_flat->block;
        TN_TRY(tn_builder_keep(b, &o));
    }
    return TN_OK;
}

const tn_transformation tn_flat_products = {
    .name = "flat-products",
    .keys = "flat_gemm.rows, flat_gemm.block",
    .source = "Hong et al., FlashDecoding++, MLSys 2024",
    .needs = "phase: inference",
    .changes = "shapes of products of few rows, as blocks of columns, and so their cycles and what they "
               "read; what of an operand "
               "off chip is brought at a time",
    .inference_only = true,
    .wanted = wanted,
    .apply = apply,
};

static tn_status add_parameters(tn_builder *b) {
    const tn_layer *layer = tn_builder_layer(b);
    const tn_program *program = tn_builder_made(b)->program;
    bool dense = tn_builder_made(b)->weight->weight.format == TN_DENSE;
    for (uint32_t t = 0; tn_builder_layer(b)->tied == TN_NONE && t < program->inputs; t++) {
        const tn_program_tensor *tensor = &program->tensor[t];
        if (tensor->role != TN_ROLE_CORE) continue;
        TN_TRY(tn_builder_add_parameter(b, dense ? TN_PART_WEIGHT : TN_PART_CORE,
                                        dense ? 0 : tensor->core + 1, tensor->elements, !dense));
    }
    return layer->bias ? tn_builder_add_parameter(b, TN_PART_BIAS, 0, layer->rows, false) : TN_OK;
}

/* The array of a core, or of the table that the layer is tied to. */
static uint32_t core_array(const tn_builder *b, uint32_t core) {
    uint32_t tied = tn_builder_layer(b)->tied;
    return tied == TN_NONE ? tn_builder_parameter(b, core) : b->made[tied].first_parameter;
}

static void place(tn_builder *b, uint32_t x) {
    const tn_layer_arrays *made = tn_builder_made(b);
    for (uint32_t t = 0; t < made->program->tensors; t++) {
        const tn_program_tensor *tensor = &made->program->tensor[t];
        if (tensor->role == TN_ROLE_X) made->array_of[t] = x;
        if (tensor->role == TN_ROLE_CORE) made->array_of[t] = core_array(b, tensor->core);
        if (tensor->role == TN_ROLE_CORE_GRADIENT) made->array_of[t] = core_array(b, tensor->core) + 1;
    }
}

/* The bias is the last parameter. */
static tn_status add_bias(tn_builder *b) {
    const tn_layer *layer = tn_builder_layer(b);
    const tn_layer_arrays *made = tn_builder_made(b);
    return tn_builder_add(
        b, &(tn_operation){.kind = TN_OP_ADD,
                           .phase = TN_FORWARD,
                           .rows = layer->tokens,
                           .columns = layer->rows,
                           .read_count = 2,
                           .reads = {made->output, tn_builder_parameter(b, made->parameters - 1)},
                           .write_count = 1,
                           .writes = {made->output}});
}

static tn_status add_bias_gradient(tn_builder *b) {
    const tn_layer *layer = tn_builder_layer(b);
    const tn_layer_arrays *made = tn_builder_made(b);
    return tn_builder_add(
        b, &(tn_operation){.kind = TN_OP_COLUMN_SUM,
                           .phase = TN_WEIGHT_GRADIENT,
                           .rows = layer->tokens,
                           .columns = layer->rows,
                           .read_count = 1,
                           .reads = {made->gradient},
                           .write_count = 1,
                           .writes = {tn_builder_parameter_gradient(b, made->parameters - 1)}});
}

tn_status tn_matrix_forward(tn_builder *b, uint32_t x) {
    const tn_layer *layer = tn_builder_layer(b);
    tn_layer_arrays *made = tn_builder_made(b);
    const tn_program_options options = {.training = true,
                                        .no_input_gradient = !tn_builder_input_learns(b, 0)};
    TN_TRY(tn_program_cache_get(b->cache, &made->weight->weight, layer->tokens, made->weight->flow, &options,
                                &made->program, b->error));
    TN_TRY(tn_program_layer_begin(b));
    TN_TRY(add_parameters(b));
    place(b, x);
    TN_TRY(tn_program_layer_forward(b));
    return layer->bias ? add_bias(b) : TN_OK;
}

tn_status tn_matrix_backward(tn_builder *b, uint32_t *input_gradient) {
    if (tn_builder_layer(b)->bias) TN_TRY(add_bias_gradient(b));
    return tn_program_layer_backward(b, input_gradient);
}

tn_status tn_linear_forward(tn_builder *b) {
    return tn_matrix_forward(b, tn_builder_input(b, 0));
}

tn_status tn_linear_backward(tn_builder *b) {
    uint32_t input_gradient;
    TN_TRY(tn_matrix_backward(b, &input_gradient));
    if (input_gradient == TN_NONE) return TN_OK;
    return tn_builder_contribute(b, tn_builder_layer(b)->input[0], input_gradient, true);
}
