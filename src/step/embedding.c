/* Embeddings: a table of vocabulary x width, dense (fetch a row; add dY into the gradient's row) or in cores
 * (step/program_cache.h). Tokens are whole numbers and are not counted as arrays; there is no input gradient. */
#include "step/builder.h"
#include "step/program_cache.h"

static tn_status fetch_rows(tn_builder *b) {
    const tn_layer *layer = tn_builder_layer(b);
    tn_layer_arrays *made = tn_builder_made(b);
    TN_TRY(tn_builder_matrix(b, TN_PART_OUTPUT, TN_ARRAY_ACTIVATION, layer->tokens, layer->width,
                             &made->output));
    return tn_builder_add(b, &(tn_operation){.kind = TN_OP_LOOKUP,
                                             .phase = TN_FORWARD,
                                             .rows = layer->tokens,
                                             .columns = layer->width,
                                             .read_count = 1,
                                             .reads = {tn_builder_parameter(b, 0)},
                                             .write_count = 1,
                                             .writes = {made->output}});
}

/* Into zeros, or into what the layer that is tied to the table has made of its gradient. */
static tn_status add_rows(tn_builder *b) {
    const tn_layer *layer = tn_builder_layer(b);
    const uint32_t sum = tn_builder_parameter_gradient(b, 0);
    return tn_builder_add(b, &(tn_operation){.kind = TN_OP_SCATTER,
                                             .phase = TN_WEIGHT_GRADIENT,
                                             .rows = layer->tokens,
                                             .columns = layer->width,
                                             .read_count = layer->tied == TN_NONE ? 1 : 2,
                                             .reads = {tn_builder_made(b)->gradient, sum},
                                             .write_count = 1,
                                             .writes = {sum}});
}

static tn_status add_cores(tn_builder *b) {
    const tn_weight *weight = &tn_builder_made(b)->weight->weight;
    bool dense = weight->format == TN_DENSE;
    for (uint32_t k = 0; k < tn_weight_cores(weight); k++) {
        uint64_t shape[TN_RANKS_MOST], elements = 1;
        uint32_t axes = tn_weight_core_shape(weight, k, shape);
        for (uint32_t i = 0; i < axes; i++) elements *= shape[i]; /* the sum over all cores is known to fit */
        TN_TRY(tn_builder_add_parameter(b, dense ? TN_PART_TABLE : TN_PART_CORE, dense ? 0 : k + 1, elements,
                                        !dense));
    }
    return TN_OK;
}

/* The program's tensor 0 is the first core. */
static void place(tn_builder *b) {
    const tn_layer_arrays *made = tn_builder_made(b);
    for (uint32_t t = 0; t < made->program->tensors; t++) {
        const tn_program_tensor *tensor = &made->program->tensor[t];
        if (tensor->role == TN_ROLE_X) made->array_of[t] = tn_builder_parameter(b, 0);
        if (tensor->role == TN_ROLE_DX) made->array_of[t] = tn_builder_parameter_gradient(b, 0);
        if (tensor->role == TN_ROLE_CORE) made->array_of[t] = tn_builder_parameter(b, tensor->core + 1);
        if (tensor->role == TN_ROLE_CORE_GRADIENT)
            made->array_of[t] = tn_builder_parameter_gradient(b, tensor->core + 1);
    }
}

tn_status tn_embedding_forward(tn_builder *b) {
    tn_layer_arrays *made = tn_builder_made(b);
    const tn_used_weight *used = made->weight;
    TN_TRY(add_cores(b));
    if (made->parameters == 1) return fetch_rows(b);
    TN_TRY(tn_program_cache_lookup(b->cache, &used->weight, tn_builder_layer(b)->tokens, used->flow,
                                   &made->program, b->error));
    TN_TRY(tn_program_layer_begin(b));
    place(b);
    return tn_program_layer_forward(b);
}

tn_status tn_embedding_backward(tn_builder *b) {
    uint32_t input_gradient;
    return tn_builder_made(b)->parameters == 1 ? add_rows(b) : tn_program_layer_backward(b, &input_gradient);
}
