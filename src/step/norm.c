/* RMS norm (Zhang, Sennrich 2019): r = 1 / sqrt(mean(x^2) + e) over the features of a token, or of each of its heads, y =
 * scale x r; no mean is taken off and nothing is shifted, and heads share one scale. Kept: x and every r.
 * dx = r (g - z mean(g z)) with z = x r, g = dy scale; d scale = column sums of dy z. */
#include "base/checked.h"
#include "step/builder.h"

/* Layer norm: z = (x - mean) / sqrt(variance + e) over the features of a token, y = scale z + shift. Kept: x
 * and the two statistics of every token; z is recomputed where a gradient needs it.
 * dx = rstd (g - mean(g) - z mean(g z)) with g = dy scale; d scale = column sums of dy z, d shift of dy. */

enum { SCALE_LAYER_NORM, SHIFT };
enum { STATISTICS_LAYER_NORM = 0, STATISTICS_PER_TOKEN = 2 };

tn_status tn_layer_norm_forward(tn_builder *b) {
    const tn_layer *layer = tn_builder_layer(b);
    tn_layer_arrays *made = tn_builder_made(b);
    TN_TRY(tn_builder_add_parameter(b, TN_PART_SCALE, 0, layer->width, false));
    TN_TRY(tn_builder_add_parameter(b, TN_PART_SHIFT, 0, layer->width, false));
    TN_TRY(tn_builder_matrix(b, TN_PART_OUTPUT, TN_ARRAY_ACTIVATION, layer->tokens, layer->width,
                             &made->output));
    TN_TRY(tn_builder_matrix(b, TN_PART_STATISTICS, TN_ARRAY_ACTIVATION, layer->tokens, STATISTICS_PER_TOKEN,
                             &made->kept[STATISTICS_LAYER_NORM]));
    return tn_builder_add(
        b, &(tn_operation){.kind = TN_OP_LAYER_NORM,
                           .phase = TN_FORWARD,
                           .rows = layer->tokens,
                           .columns = layer->width,
                           .read_count = 3,
                           .reads = {tn_builder_input(b, 0), tn_builder_parameter(b, SCALE_LAYER_NORM),
                                     tn_builder_parameter(b, SHIFT)},
                           .write_count = 2,
                           .writes = {made->output, made->kept[STATISTICS_LAYER_NORM]}});
}

static tn_status add_parameter_gradient(tn_builder *b, tn_operation_kind kind, uint32_t parameter,
                                        uint32_t read_count) {
    const tn_layer *layer = tn_builder_layer(b);
    const tn_layer_arrays *made = tn_builder_made(b);
    return tn_builder_add(b, &(tn_operation){.kind = kind,
                                             .phase = TN_WEIGHT_GRADIENT,
                                             .rows = layer->tokens,
                                             .columns = layer->width,
                                             .read_count = read_count,
                                             .reads = {made->gradient, tn_builder_input(b, 0),
                                                       made->kept[STATISTICS_LAYER_NORM]},
                                             .write_count = 1,
                                             .writes = {tn_builder_parameter_gradient(b, parameter)}});
}

tn_status tn_layer_norm_backward(tn_builder *b) {
    const tn_layer *layer = tn_builder_layer(b);
    const tn_layer_arrays *made = tn_builder_made(b);
    uint32_t gradient;
    TN_TRY(add_parameter_gradient(b, TN_OP_SCALE_GRADIENT, SCALE_LAYER_NORM, 3));
    TN_TRY(add_parameter_gradient(b, TN_OP_COLUMN_SUM, SHIFT, 1));
    if (!tn_builder_input_learns(b, 0)) return TN_OK;
    TN_TRY(tn_builder_matrix(b, TN_PART_INPUT_GRADIENT, TN_ARRAY_ACTIVATION, layer->tokens, layer->width,
                             &gradient));
    TN_TRY(tn_builder_add(b, &(tn_operation){.kind = TN_OP_LAYER_NORM_GRADIENT,
                                             .phase = TN_INPUT_GRADIENT,
                                             .rows = layer->tokens,
                                             .columns = layer->width,
                                             .read_count = 4,
                                             .reads = {made->gradient, tn_builder_input(b, 0),
                                                       made->kept[STATISTICS_LAYER_NORM],
                                                       tn_builder_parameter(b, SCALE_LAYER_NORM)},
                                             .write_count = 1,
                                             .writes = {gradient}}));
    return tn_builder_contribute(b, layer->input[0], gradient, true);
}

enum { SCALE };
enum { STATISTICS = 0 };

tn_status tn_rms_norm_forward(tn_builder *b) {
    const tn_layer *layer = tn_builder_layer(b);
    const uint64_t rows = layer->tokens * layer->heads,
                   columns = layer->width / layer->heads; /* fits as tokens x width does */
    tn_layer_arrays *made = tn_builder_made(b);
    TN_TRY(tn_builder_add_parameter(b, TN_PART_SCALE, 0, columns, false));
    TN_TRY(tn_builder_matrix(b, TN_PART_OUTPUT, TN_ARRAY_ACTIVATION, layer->tokens, layer->width,
                             &made->output));
    TN_TRY(tn_builder_matrix(b, TN_PART_STATISTICS, TN_ARRAY_ACTIVATION, rows, 1, &made->kept[STATISTICS]));
    return tn_builder_add(b,
                          &(tn_operation){.kind = TN_OP_RMS_NORM,
                                          .phase = TN_FORWARD,
                                          .rows = rows,
                                          .columns = columns,
                                          .read_count = 2,
                                          .reads = {tn_builder_input(b, 0), tn_builder_parameter(b, SCALE)},
                                          .write_count = 2,
                                          .writes = {made->output, made->kept[STATISTICS]}});
}

tn_status tn_rms_norm_backward(tn_builder *b) {
    const tn_layer *layer = tn_builder_layer(b);
    const uint64_t rows = layer->tokens * layer->heads, columns = layer->width / layer->heads;
    const tn_layer_arrays *made = tn_builder_made(b);
    uint32_t x = tn_builder_input(b, 0), statistics = made->kept[STATISTICS], gradient;
    TN_TRY(tn_builder_add(b, &(tn_operation){.kind = TN_OP_RMS_SCALE_GRADIENT,
                                             .phase = TN_WEIGHT_GRADIENT,
                                             .rows = rows,
                                             .columns = columns,
                                             .read_count = 3,
                                             .reads = {made->gradient, x, statistics},
                                             .write_count = 1,
                                             .writes = {tn_builder_parameter_gradient(b, SCALE)}}));
    if (!tn_builder_input_learns(b, 0)) return TN_OK;
    TN_TRY(tn_builder_matrix(b, TN_PART_INPUT_GRADIENT, TN_ARRAY_ACTIVATION, layer->tokens, layer->width,
                             &gradient));
    TN_TRY(tn_builder_add(
        b, &(tn_operation){.kind = TN_OP_RMS_NORM_GRADIENT,
                           .phase = TN_INPUT_GRADIENT,
                           .rows = rows,
                           .columns = columns,
                           .read_count = 4,
                           .reads = {made->gradient, x, statistics, tn_builder_parameter(b, SCALE)},
                           .write_count = 1,
                           .writes = {gradient}}));
    return tn_builder_contribute(b, layer->input[0], gradient, true);
}
