/* The inner layers of a mixture of experts (model/composite.h). Router logits become gates, tokens x experts, 0 where an expert
 * is not chosen; of each expert the rows of its tokens are gathered (dispatch) and, behind its matrices, added to the tokens by
 * their gates (combine), one expert after the other into one array. Gates and each expert's result are kept.
 * With y = sum over e of g_e f_e(x): df_e = g_e dy, dg_e = dy f_e(x); the router's gradient also brings that of the loss
 * balance x experts x sum of f_e P_e, f_e the share of choices and P_e the mean probability (Fedus, Zoph, Shazeer, Switch
 * Transformers, JMLR 2022, equations 4 to 6); what is dropped counts as chosen. */
#include "model/operation.h"
#include "step/builder.h"

enum { TOKENS = 0, RESULT = 0, ROUTE = 1, BEFORE = 2 };

/* `columns`: 0: those of the layer. */
static tn_status add(tn_builder *b, tn_operation_kind kind, tn_phase phase, uint64_t rows, uint64_t columns,
                     const uint32_t *reads, uint32_t read_count, uint32_t out) {
    tn_operation operation = {.kind = kind,
                              .phase = phase,
                              .rows = rows,
                              .columns = columns,
                              .routing = &tn_builder_layer(b)->routing,
                              .read_count = read_count,
                              .write_count = 1,
                              .writes = {out}};
    for (uint32_t i = 0; i < read_count; i++) operation.reads[i] = reads[i];
    return tn_builder_add(b, &operation);
}

tn_status tn_route_forward(tn_builder *b) {
    const tn_layer *layer = tn_builder_layer(b);
    tn_layer_arrays *made = tn_builder_made(b);
    TN_TRY(tn_builder_matrix(b, TN_PART_OUTPUT, TN_ARRAY_ACTIVATION, layer->tokens, layer->width,
                             &made->output));
    return add(b, TN_OP_ROUTE, TN_FORWARD, layer->tokens, layer->width,
               (const uint32_t[]){tn_builder_input(b, 0)}, 1, made->output);
}

tn_status tn_route_backward(tn_builder *b) {
    const tn_layer *layer = tn_builder_layer(b);
    const tn_layer_arrays *made = tn_builder_made(b);
    uint32_t gradient;
    TN_TRY(tn_builder_matrix(b, TN_PART_INPUT_GRADIENT, TN_ARRAY_ACTIVATION, layer->tokens, layer->width,
                             &gradient));
    TN_TRY(add(b, TN_OP_ROUTE_GRADIENT, TN_INPUT_GRADIENT, layer->tokens, layer->width,
               (const uint32_t[]){made->gradient, tn_builder_input(b, 0), made->output}, 3, gradient));
    return tn_builder_contribute(b, layer->input[0], gradient, true);
}

tn_status tn_dispatch_forward(tn_builder *b) {
    const tn_layer *layer = tn_builder_layer(b);
    tn_layer_arrays *made = tn_builder_made(b);
    TN_TRY(tn_builder_matrix(b, TN_PART_OUTPUT, TN_ARRAY_ACTIVATION, layer->tokens, layer->width,
                             &made->output));
    return add(b, TN_OP_DISPATCH, TN_FORWARD, layer->tokens, layer->width,
               (const uint32_t[]){tn_builder_input(b, TOKENS), tn_builder_input(b, ROUTE)}, 2, made->output);
}

/* Into the gradient that has arrived where nothing else reads it, else into a new one. */
tn_status tn_dispatch_backward(tn_builder *b) {
    const tn_layer *layer = tn_builder_layer(b), *input = tn_builder_input_layer(b, TOKENS);
    tn_layer_arrays *source = &b->made[layer->input[TOKENS]];
    const bool added = source->gradient != TN_NONE && source->gradient_is_free;
    uint32_t whole = source->gradient;
    if (!tn_builder_input_learns(b, TOKENS)) return TN_OK;
    if (!added)
        TN_TRY(tn_builder_matrix(b, TN_PART_INPUT_GRADIENT, TN_ARRAY_ACTIVATION, input->tokens, input->width,
                                 &whole));
    TN_TRY(add(b, TN_OP_DISPATCH_GRADIENT, TN_INPUT_GRADIENT, layer->tokens, layer->width,
               (const uint32_t[]){tn_builder_made(b)->gradient, tn_builder_input(b, ROUTE), whole},
               added ? 3 : 2, whole));
    return added ? TN_OK : tn_builder_contribute(b, layer->input[TOKENS], whole, true);
}

tn_status tn_combine_forward(tn_builder *b) {
    const tn_layer *layer = tn_builder_layer(b), *rows = tn_builder_input_layer(b, RESULT);
    tn_layer_arrays *made = tn_builder_made(b);
    const bool adds = layer->input_count > BEFORE;
    if (adds)
        made->output = tn_builder_input(b, BEFORE);
    else
        TN_TRY(tn_builder_matrix(b, TN_PART_OUTPUT, TN_ARRAY_ACTIVATION, layer->tokens, layer->width,
                                 &made->output));
    return add(b, TN_OP_COMBINE, TN_FORWARD, rows->tokens, layer->width,
               (const uint32_t[]){tn_builder_input(b, RESULT), tn_builder_input(b, ROUTE), made->output},
               adds ? 3 : 2, made->output);
}

tn_status tn_combine_backward(tn_builder *b) {
    const tn_layer *layer = tn_builder_layer(b), *rows = tn_builder_input_layer(b, RESULT),
                   *route = tn_builder_input_layer(b, ROUTE);
    const tn_layer_arrays *made = tn_builder_made(b);
    tn_layer_arrays *gates = &b->made[layer->input[ROUTE]];
    const bool begun = gates->gradient != TN_NONE;
    uint32_t gradient;
    if (!begun) {
        TN_TRY(tn_builder_matrix(b, TN_PART_GATES_GRADIENT, TN_ARRAY_ACTIVATION, route->tokens, route->width,
                                 &gates->gradient));
        gates->gradient_is_free = true;
    }
    TN_TRY(
        add(b, TN_OP_GATE_GRADIENT, TN_INPUT_GRADIENT, rows->tokens, layer->width,
            (const uint32_t[]){made->gradient, tn_builder_input(b, RESULT), gates->output, gates->gradient},
            begun ? 4 : 3, gates->gradient));
    TN_TRY(tn_builder_matrix(b, TN_PART_INPUT_GRADIENT, TN_ARRAY_ACTIVATION, rows->tokens, layer->width,
                             &gradient));
    TN_TRY(add(b, TN_OP_COMBINE_GRADIENT, TN_INPUT_GRADIENT, rows->tokens, layer->width,
               (const uint32_t[]){made->gradient, gates->output}, 2, gradient));
    TN_TRY(tn_builder_contribute(b, layer->input[RESULT], gradient, true));
    return layer->input_count > BEFORE ? tn_builder_contribute(b, layer->input[BEFORE], made->gradient, false)
                                       : TN_OK;
}
