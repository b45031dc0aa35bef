/* Embeddings: a table of vocabulary x width, dense (fetch a row; add dY into the gradient's row) or in cores
 * (model/lookup.h). Tokens are whole numbers and are not counted as arrays; there is no input gradient. */
#include "model/builder.h"
#include "model/program_cache.h"

/* One row a token out of `table`, or its gradient into the table's. */
static tn_status fetch_rows(tn_builder *b, uint32_t table) {
    const tn_layer *layer = tn_builder_layer(b);
    tn_layer_arrays *made = tn_builder_made(b);
    TN_TRY(tn_builder_matrix(b, "output", TN_ARRAY_ACTIVATION, layer->tokens, layer->width, &made->output));
    return tn_builder_add(b, &(tn_operation){.kind = TN_OP_LOOKUP,
                                             .phase = TN_FORWARD,
                                             .rows = layer->tokens,
                                             .columns = layer->width,
                                             .read_count = 1,
                                             .reads = {table},
                                             .write_count = 1,
                                             .writes = {made->output}});
}

static tn_status add_rows(tn_builder *b, uint32_t table_gradient) {
    const tn_layer *layer = tn_builder_layer(b);
    return tn_builder_add(b, &(tn_operation){.kind = TN_OP_SCATTER,
                                             .phase = TN_WEIGHT_GRADIENT,
                                             .rows = layer->tokens,
                                             .columns = layer->width,
                                             .read_count = 1,
                                             .reads = {tn_builder_made(b)->gradient},
                                             .write_count = 1,
                                             .writes = {table_gradient}});
}

static tn_status add_product(tn_builder *b, const tn_lookup_step *step) {
    const uint32_t *array_of = tn_builder_made(b)->array_of;
    return tn_builder_add(b, &(tn_operation){.kind = TN_OP_PRODUCT,
                                             .phase = step->backward ? TN_WEIGHT_GRADIENT : TN_FORWARD,
                                             .batch = step->shape.batch,
                                             .rows = step->shape.rows,
                                             .reduction = step->shape.reduction,
                                             .columns = step->shape.columns,
                                             .read_count = 2,
                                             .reads = {array_of[step->a], array_of[step->b]},
                                             .write_count = 1,
                                             .writes = {array_of[step->out]}});
}

static tn_status add_cores(tn_builder *b) {
    const tn_weight *weight = &tn_builder_made(b)->weight->weight;
    uint32_t cores = tn_weight_cores(weight);
    for (uint32_t k = 0; k < cores; k++) {
        uint64_t shape[TN_RANKS_MOST], elements = 1;
        uint32_t axes = tn_weight_core_shape(weight, k, shape);
        for (uint32_t i = 0; i < axes; i++) elements *= shape[i]; /* their sum is known to fit */
        TN_TRY(tn_builder_add_parameter(b, "core", k + 1, elements, true));
    }
    return TN_OK;
}

static tn_status forward_cores(tn_builder *b) {
    const tn_layer *layer = tn_builder_layer(b);
    tn_layer_arrays *made = tn_builder_made(b);
    TN_TRY(tn_program_cache_lookup(b->cache, &made->weight->weight, layer->tokens, made->weight->flow,
                                   &made->lookup, b->error));
    const tn_lookup *lookup = made->lookup;
    TN_TRY(tn_arena_alloc(b->arena, lookup->tensors, sizeof *made->array_of, &made->array_of, b->error));
    TN_TRY(add_cores(b));
    for (uint32_t k = 0; k < lookup->cores; k++) made->array_of[k] = tn_builder_parameter(b, k);
    if (lookup->cores == 1) return fetch_rows(b, made->array_of[0]);
    for (uint32_t i = 0; i < lookup->steps && !lookup->step[i].backward; i++) {
        uint32_t out = lookup->step[i].out;
        bool last = out == lookup->y;
        TN_TRY(tn_builder_array(b, last ? "output" : "intermediate", last ? 0 : i + 1,
                                last ? TN_ARRAY_ACTIVATION : TN_ARRAY_INTERMEDIATE, lookup->elements[out],
                                &made->array_of[out]));
        TN_TRY(add_product(b, &lookup->step[i]));
    }
    made->output = made->array_of[lookup->y];
    return TN_OK;
}

static tn_status backward_cores(tn_builder *b) {
    tn_layer_arrays *made = tn_builder_made(b);
    const tn_lookup *lookup = made->lookup;
    if (lookup->cores == 1) return add_rows(b, tn_builder_parameter_gradient(b, 0));
    made->array_of[lookup->dy] = made->gradient;
    for (uint32_t i = lookup->cores - 1; i < lookup->steps; i++) {
        uint32_t out = lookup->step[i].out, core = lookup->core_of[out];
        if (core != TN_NONE)
            made->array_of[out] = tn_builder_parameter_gradient(b, core);
        else
            TN_TRY(tn_builder_array(b, "intermediate", i + 1, TN_ARRAY_INTERMEDIATE, lookup->elements[out],
                                    &made->array_of[out]));
        TN_TRY(add_product(b, &lookup->step[i]));
    }
    return TN_OK;
}

static bool is_dense(const tn_builder *b) {
    return tn_builder_made(b)->weight->weight.format == TN_DENSE;
}

static tn_status forward(tn_builder *b) {
    if (!is_dense(b)) return forward_cores(b);
    TN_TRY(tn_builder_add_parameter(b, "table", 0, tn_builder_made(b)->weight->parameters, false));
    return fetch_rows(b, tn_builder_parameter(b, 0));
}

static tn_status backward(tn_builder *b) {
    return is_dense(b) ? add_rows(b, tn_builder_parameter_gradient(b, 0)) : backward_cores(b);
}

const tn_layer_family tn_family_embedding = {forward, backward};
