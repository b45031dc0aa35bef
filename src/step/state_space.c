/* The inner layers of a selective state space (model/composite.h). A causal convolution of each feature apart: y_t = b + sum over
 * j of w_j x_(t - taps + 1 + j), zeros before the first token. The scan: of every feature and state h_t = exp(s_t a) h_(t-1) +
 * s_t x_t B_t, y_t = sum over states of h_t C_t + D x_t, with a = -exp(decay), s_t the step's size and B_t, C_t of the token. All
 * states are kept for the backward pass. (The published program makes them anew there, as recomputation by segments or blocks
 * does here.) */
#include "base/checked.h"
#include "step/builder.h"

#include <inttypes.h>

enum { TAPS, BIAS };
enum { DECAY, SKIP };
enum { INPUT, STEP, WRITE, READ, INPUTS };
enum { STATES = 0 };

/* Features of all tokens. */
static tn_status rows_of(const tn_builder *b, uint64_t *rows) {
    const tn_layer *layer = tn_builder_layer(b);
    if (tn_mul(layer->tokens, layer->width, rows)) return TN_OK;
    return tn_fail(b->error, TN_OVERFLOW, "tokens x features of layer %s are more than 2^64", layer->name);
}

static tn_status add_parameter(tn_builder *b, tn_array_part part, uint64_t rows, uint64_t columns) {
    uint64_t elements;
    if (!tn_mul(rows, columns, &elements))
        return tn_fail(b->error, TN_OVERFLOW,
                       "%s of layer %s, %" PRIu64 " x %" PRIu64 ", has more than 2^64 elements",
                       tn_array_part_names[part], tn_builder_layer(b)->name, rows, columns);
    return tn_builder_add_parameter(b, part, 0, elements, false);
}

tn_status tn_causal_conv_forward(tn_builder *b) {
    const tn_layer *layer = tn_builder_layer(b);
    tn_layer_arrays *made = tn_builder_made(b);
    uint64_t rows;
    TN_TRY(rows_of(b, &rows));
    TN_TRY(add_parameter(b, TN_PART_TAPS, layer->width, layer->taps));
    TN_TRY(add_parameter(b, TN_PART_BIAS, layer->width, 1));
    TN_TRY(tn_builder_array(b, TN_PART_OUTPUT, 0, TN_ARRAY_ACTIVATION, rows, &made->output));
    return tn_builder_add(b, &(tn_operation){.kind = TN_OP_CAUSAL_CONV,
                                             .phase = TN_FORWARD,
                                             .rows = rows,
                                             .columns = layer->taps,
                                             .read_count = 3,
                                             .reads = {tn_builder_input(b, 0), tn_builder_parameter(b, TAPS),
                                                       tn_builder_parameter(b, BIAS)},
                                             .write_count = 1,
                                             .writes = {made->output}});
}

tn_status tn_causal_conv_backward(tn_builder *b) {
    const tn_layer *layer = tn_builder_layer(b);
    const tn_layer_arrays *made = tn_builder_made(b);
    uint32_t gradient;
    uint64_t rows;
    TN_TRY(rows_of(b, &rows));
    TN_TRY(tn_builder_array(b, TN_PART_INPUT_GRADIENT, 0, TN_ARRAY_ACTIVATION, rows, &gradient));
    TN_TRY(tn_builder_add(
        b, &(tn_operation){.kind = TN_OP_CAUSAL_CONV_GRADIENT,
                           .phase = TN_INPUT_GRADIENT,
                           .rows = rows,
                           .columns = layer->taps,
                           .read_count = 3,
                           .reads = {made->gradient, tn_builder_input(b, 0), tn_builder_parameter(b, TAPS)},
                           .write_count = 3,
                           .writes = {gradient, tn_builder_parameter_gradient(b, TAPS),
                                      tn_builder_parameter_gradient(b, BIAS)}}));
    return tn_builder_contribute(b, layer->input[0], gradient, true);
}

tn_status tn_scan_forward(tn_builder *b) {
    const tn_layer *layer = tn_builder_layer(b);
    tn_layer_arrays *made = tn_builder_made(b);
    uint64_t rows;
    TN_TRY(rows_of(b, &rows));
    TN_TRY(add_parameter(b, TN_PART_DECAY, layer->width, layer->states));
    TN_TRY(add_parameter(b, TN_PART_SCALE, layer->width, 1));
    TN_TRY(tn_builder_array(b, TN_PART_OUTPUT, 0, TN_ARRAY_ACTIVATION, rows, &made->output));
    TN_TRY(
        tn_builder_matrix(b, TN_PART_STATES, TN_ARRAY_ACTIVATION, rows, layer->states, &made->kept[STATES]));
    return tn_builder_add(
        b, &(tn_operation){.kind = TN_OP_SCAN,
                           .phase = TN_FORWARD,
                           .rows = rows,
                           .columns = layer->states,
                           .read_count = 6,
                           .reads = {tn_builder_input(b, INPUT), tn_builder_input(b, STEP),
                                     tn_builder_input(b, WRITE), tn_builder_input(b, READ),
                                     tn_builder_parameter(b, DECAY), tn_builder_parameter(b, SKIP)},
                           .write_count = 2,
                           .writes = {made->output, made->kept[STATES]}});
}

/* All inputs learn: they are linear layers' outputs, or functions of them. */
tn_status tn_scan_backward(tn_builder *b) {
    static const tn_array_part part[INPUTS] = {TN_PART_INPUT_GRADIENT, TN_PART_STEP_GRADIENT,
                                               TN_PART_WRITE_GRADIENT, TN_PART_READ_GRADIENT};
    const tn_layer *layer = tn_builder_layer(b);
    const tn_layer_arrays *made = tn_builder_made(b);
    uint32_t gradient[INPUTS];
    uint64_t rows;
    TN_TRY(rows_of(b, &rows));
    for (uint32_t i = 0; i < INPUTS; i++) {
        const tn_layer *input = tn_builder_input_layer(b, i);
        TN_TRY(tn_builder_matrix(b, part[i], TN_ARRAY_ACTIVATION, input->tokens, input->width, &gradient[i]));
    }
    TN_TRY(tn_builder_add(
        b, &(tn_operation){
               .kind = TN_OP_SCAN_GRADIENT,
               .phase = TN_INPUT_GRADIENT,
               .rows = rows,
               .columns = layer->states,
               .read_count = 8,
               .reads = {made->gradient, tn_builder_input(b, INPUT), tn_builder_input(b, STEP),
                         tn_builder_input(b, WRITE), tn_builder_input(b, READ),
                         tn_builder_parameter(b, DECAY), tn_builder_parameter(b, SKIP), made->kept[STATES]},
               .write_count = 6,
               .writes = {gradient[INPUT], gradient[STEP], gradient[WRITE], gradient[READ],
                          tn_builder_parameter_gradient(b, DECAY), tn_builder_parameter_gradient(b, SKIP)}}));
    for (uint32_t i = 0; i < INPUTS; i++)
        TN_TRY(tn_builder_contribute(b, layer->input[i], gradient[i], true));
    return TN_OK;
}
