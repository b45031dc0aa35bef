/* Convolutions as products: the windows of the pictures become rows (a look-up), which the layer's matrix is multiplied
 * by as a linear layer's is; what the windows' gradient adds to each pixel is that pixel's gradient (a scatter). Windows
 * of one pixel, each pixel its own, are the pixels, and nothing is copied: BHW x C by C x N. To lay an example's tokens
 * side by side is one window over all of them, without a matrix. Their mean is a sum of its own. */
#include "step/builder.h"
#include "step/program_cache.h"

/* Of a picture's pixels, one window each. */
static bool is_pointwise(const tn_window *window) {
    return window->kernel_down == 1 && window->kernel_across == 1 && window->stride_down == 1 &&
           window->stride_across == 1 && window->padding_down == 0 && window->padding_across == 0;
}

/* `columns`: of a row that is a window. */
static tn_status add_windows(tn_builder *b, uint64_t columns, uint32_t windows) {
    const tn_layer *layer = tn_builder_layer(b);
    return tn_builder_add(b, &(tn_operation){.kind = TN_OP_LOOKUP,
                                             .phase = TN_FORWARD,
                                             .rows = layer->tokens,
                                             .columns = columns,
                                             .window = &layer->window,
                                             .read_count = 1,
                                             .reads = {tn_builder_input(b, 0)},
                                             .write_count = 1,
                                             .writes = {windows}});
}

static tn_status add_pixels(tn_builder *b, uint64_t columns, uint32_t windows_gradient) {
    const tn_layer *layer = tn_builder_layer(b), *input = tn_builder_input_layer(b, 0);
    uint32_t gradient;
    TN_TRY(tn_builder_matrix(b, TN_PART_INPUT_GRADIENT, TN_ARRAY_ACTIVATION, input->tokens, input->width,
                             &gradient));
    TN_TRY(tn_builder_add(b, &(tn_operation){.kind = TN_OP_SCATTER,
                                             .phase = TN_INPUT_GRADIENT,
                                             .rows = layer->tokens,
                                             .columns = columns,
                                             .window = &layer->window,
                                             .read_count = 1,
                                             .reads = {windows_gradient},
                                             .write_count = 1,
                                             .writes = {gradient}}));
    return tn_builder_contribute(b, layer->input[0], gradient, true);
}

tn_status tn_conv_forward(tn_builder *b) {
    const tn_layer *layer = tn_builder_layer(b);
    uint32_t windows;
    if (is_pointwise(&layer->window)) return tn_linear_forward(b);
    TN_TRY(tn_builder_matrix(b, TN_PART_WINDOWS, TN_ARRAY_INTERMEDIATE, layer->tokens, layer->columns,
                             &windows));
    TN_TRY(add_windows(b, layer->columns, windows));
    return tn_matrix_forward(b, windows);
}

tn_status tn_conv_backward(tn_builder *b) {
    const tn_layer *layer = tn_builder_layer(b);
    const tn_program *program = tn_builder_made(b)->program;
    uint32_t gradient;
    if (is_pointwise(&layer->window)) return tn_linear_backward(b);
    for (uint32_t t = 0; t < program->tensors; t++)
        if (program->tensor[t].role == TN_ROLE_DX)
            TN_TRY(tn_builder_matrix(b, TN_PART_WINDOWS_GRADIENT, TN_ARRAY_INTERMEDIATE, layer->tokens,
                                     layer->columns, &tn_builder_made(b)->array_of[t]));
    TN_TRY(tn_matrix_backward(b, &gradient));
    return gradient == TN_NONE ? TN_OK : add_pixels(b, layer->columns, gradient);
}

static tn_status add_output(tn_builder *b) {
    const tn_layer *layer = tn_builder_layer(b);
    return tn_builder_matrix(b, TN_PART_OUTPUT, TN_ARRAY_ACTIVATION, layer->tokens, layer->width,
                             &tn_builder_made(b)->output);
}

tn_status tn_flatten_forward(tn_builder *b) {
    TN_TRY(add_output(b));
    return add_windows(b, tn_builder_layer(b)->width, tn_builder_made(b)->output);
}

tn_status tn_flatten_backward(tn_builder *b) {
    return add_pixels(b, tn_builder_layer(b)->width, tn_builder_made(b)->gradient);
}

static tn_status add_mean(tn_builder *b, tn_operation_kind kind, tn_phase phase, uint32_t from, uint32_t to) {
    const tn_layer *input = tn_builder_input_layer(b, 0);
    return tn_builder_add(b, &(tn_operation){.kind = kind,
                                             .phase = phase,
                                             .rows = input->tokens,
                                             .columns = input->width,
                                             .read_count = 1,
                                             .reads = {from},
                                             .write_count = 1,
                                             .writes = {to}});
}

tn_status tn_mean_forward(tn_builder *b) {
    TN_TRY(add_output(b));
    return add_mean(b, TN_OP_MEAN, TN_FORWARD, tn_builder_input(b, 0), tn_builder_made(b)->output);
}

tn_status tn_mean_backward(tn_builder *b) {
    const tn_layer *input = tn_builder_input_layer(b, 0);
    uint32_t gradient;
    TN_TRY(tn_builder_matrix(b, TN_PART_INPUT_GRADIENT, TN_ARRAY_ACTIVATION, input->tokens, input->width,
                             &gradient));
    TN_TRY(add_mean(b, TN_OP_MEAN_GRADIENT, TN_INPUT_GRADIENT, tn_builder_made(b)->gradient, gradient));
    return tn_builder_contribute(b, tn_builder_layer(b)->input[0], gradient, true);
}
