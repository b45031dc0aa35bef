/* Layers without matrix products or statistics: inputs, learned positions, functions of each element (GELU, ReLU ...),
 * residuals, products of two layers' outputs element by element, the choice of the first token, and the cross-entropy
 * loss. A function keeps its input or its output, whichever its gradient reads, a product both its inputs; a residual
 * keeps nothing and passes its gradient on as it is. */
#include "base/checked.h"
#include "model/operation.h"
#include "step/builder.h"

static tn_status new_output(tn_builder *b) {
    const tn_layer *layer = tn_builder_layer(b);
    return tn_builder_matrix(b, TN_PART_OUTPUT, TN_ARRAY_ACTIVATION, layer->tokens, layer->width,
                             &tn_builder_made(b)->output);
}

static tn_status new_input_gradient(tn_builder *b, uint32_t *gradient) {
    const tn_layer *input = tn_builder_input_layer(b, 0);
    return tn_builder_matrix(b, TN_PART_INPUT_GRADIENT, TN_ARRAY_ACTIVATION, input->tokens, input->width,
                             gradient);
}

/* An operation over the layer's tokens x width; `second` TN_NONE: it reads one array. */
static tn_status add(tn_builder *b, tn_operation_kind kind, tn_phase phase, uint32_t first, uint32_t second,
                     uint32_t out) {
    const tn_layer *layer = tn_builder_layer(b);
    return tn_builder_add(b, &(tn_operation){.kind = kind,
                                             .phase = phase,
                                             .rows = layer->tokens,
                                             .columns = layer->width,
                                             .read_count = second == TN_NONE ? 1 : 2,
                                             .reads = {first, second},
                                             .write_count = 1,
                                             .writes = {out}});
}

static tn_status forward_of(tn_builder *b, tn_operation_kind kind) {
    TN_TRY(new_output(b));
    return add(b, kind, TN_FORWARD, tn_builder_input(b, 0), TN_NONE, tn_builder_made(b)->output);
}

/* dx from one or two arrays. */
static tn_status backward_from(tn_builder *b, tn_operation_kind kind, uint32_t first, uint32_t second) {
    uint32_t gradient;
    TN_TRY(new_input_gradient(b, &gradient));
    TN_TRY(add(b, kind, TN_INPUT_GRADIENT, first, second, gradient));
    return tn_builder_contribute(b, tn_builder_layer(b)->input[0], gradient, true);
}

/* Features from outside: an array that nothing writes. */
tn_status tn_input_forward(tn_builder *b) {
    return new_output(b);
}

tn_status tn_input_backward(tn_builder *b) {
    (void)b;
    return TN_OK;
}

tn_status tn_positions_forward(tn_builder *b) {
    const tn_layer *layer = tn_builder_layer(b);
    const uint64_t places = b->step->decoding ? b->step->sequence : layer->sequence;
    uint64_t elements;
    uint32_t added;
    TN_TRY(new_output(b));
    if (!tn_mul(places, layer->width, &elements))
        return tn_fail(b->error, TN_OVERFLOW, "the positions of layer %s are more than 2^64 elements",
                       layer->name);
    TN_TRY(tn_builder_add_parameter(b, TN_PART_TABLE, 0, elements, false));
    added = tn_builder_parameter(b, 0);
    if (b->step->decoding) { /* of the table one row, for all examples */
        TN_TRY(tn_builder_array(b, TN_PART_PLACE, 0, TN_ARRAY_ACTIVATION, layer->width, &added));
        TN_TRY(tn_builder_add(b, &(tn_operation){.kind = TN_OP_LOOKUP,
                                                 .phase = TN_FORWARD,
                                                 .rows = 1,
                                                 .columns = layer->width,
                                                 .read_count = 1,
                                                 .reads = {tn_builder_parameter(b, 0)},
                                                 .write_count = 1,
                                                 .writes = {added}}));
    }
    return add(b, TN_OP_ADD, TN_FORWARD, tn_builder_input(b, 0), added, tn_builder_made(b)->output);
}

tn_status tn_positions_backward(tn_builder *b) {
    uint32_t gradient = tn_builder_made(b)->gradient;
    TN_TRY(add(b, TN_OP_SCATTER, TN_WEIGHT_GRADIENT, gradient, TN_NONE, tn_builder_parameter_gradient(b, 0)));
    if (!tn_builder_input_learns(b, 0)) return TN_OK;
    return tn_builder_contribute(b, tn_builder_layer(b)->input[0], gradient, false);
}

tn_status tn_map_forward(tn_builder *b) {
    return forward_of(b, tn_builder_layer(b)->kind->operation);
}

/* dX from dY and what the row of the gradient's operation says: X, or Y. */
tn_status tn_map_backward(tn_builder *b) {
    const tn_layer_arrays *made = tn_builder_made(b);
    const tn_operation_kind gradient = tn_builder_layer(b)->kind->gradient;
    const bool of_output = tn_operation_rows[gradient].reads[1] == 'y';
    return backward_from(b, gradient, made->gradient, of_output ? made->output : tn_builder_input(b, 0));
}

/* Element by element, of both inputs. */
static tn_status forward_of_two(tn_builder *b, tn_operation_kind kind) {
    TN_TRY(new_output(b));
    return add(b, kind, TN_FORWARD, tn_builder_input(b, 0), tn_builder_input(b, 1),
               tn_builder_made(b)->output);
}

tn_status tn_residual_forward(tn_builder *b) {
    return forward_of_two(b, TN_OP_ADD);
}

tn_status tn_residual_backward(tn_builder *b) {
    const tn_layer *layer = tn_builder_layer(b);
    for (uint32_t i = 0; i < layer->input_count; i++)
        if (tn_builder_input_learns(b, i))
            TN_TRY(tn_builder_contribute(b, layer->input[i], tn_builder_made(b)->gradient, false));
    return TN_OK;
}

tn_status tn_multiply_forward(tn_builder *b) {
    return forward_of_two(b, TN_OP_MULTIPLY);
}

/* dA = dY B, dB = dY A */
tn_status tn_multiply_backward(tn_builder *b) {
    const tn_layer *layer = tn_builder_layer(b);
    for (uint32_t i = 0; i < layer->input_count; i++) {
        uint32_t gradient;
        if (!tn_builder_input_learns(b, i)) continue;
        TN_TRY(tn_builder_array(b, TN_PART_INPUT_GRADIENT, i + 1, TN_ARRAY_ACTIVATION,
                                b->step->array[tn_builder_made(b)->output].elements, &gradient));
        TN_TRY(add(b, TN_OP_MULTIPLY, TN_INPUT_GRADIENT, tn_builder_made(b)->gradient,
                   tn_builder_input(b, 1 - i), gradient));
        TN_TRY(tn_builder_contribute(b, layer->input[i], gradient, true));
    }
    return TN_OK;
}

tn_status tn_first_token_forward(tn_builder *b) {
    return forward_of(b, TN_OP_LOOKUP);
}

/* The gradient of the first tokens goes into that of all tokens: into the one that has arrived where nothing
 * else reads it, else into a new array (zero elsewhere, or with the one that has arrived added). */
tn_status tn_first_token_backward(tn_builder *b) {
    const tn_layer *input = tn_builder_input_layer(b, 0);
    uint32_t start = tn_builder_layer(b)->input[0], gradient = tn_builder_made(b)->gradient, whole;
    tn_layer_arrays *source = &b->made[start];
    if (source->gradient != TN_NONE && source->gradient_is_free)
        return add(b, TN_OP_SCATTER, TN_INPUT_GRADIENT, gradient, source->gradient, source->gradient);
    TN_TRY(tn_builder_matrix(b, TN_PART_INPUT_GRADIENT, TN_ARRAY_ACTIVATION, input->tokens, input->width,
                             &whole));
    TN_TRY(add(b, TN_OP_SCATTER, TN_INPUT_GRADIENT, gradient, TN_NONE, whole));
    return tn_builder_contribute(b, start, whole, true);
}

/* Loss and gradient of the logits in one pass, where the backward phase begins; the logits are kept till
 * then. */
tn_status tn_cross_entropy_forward(tn_builder *b) {
    (void)b;
    return TN_OK;
}

tn_status tn_cross_entropy_backward(tn_builder *b) {
    return backward_from(b, TN_OP_CROSS_ENTROPY, tn_builder_input(b, 0), TN_NONE);
}
