/* The layers of an ONNX graph: nodes in their order are followed from the inputs on, and what each value is becomes known:
 * an activation (what a layer gives, or a function of it that is no layer yet), scores and shares of attention, a constant
 * tensor, or data that no weight has touched (tokens, masks, shapes). Recognised are
 *   MatMul or Gemm with a constant, and the Add behind it   linear; Split or Reshape and Gather behind it cut it in parts
 *   Gather of a constant table                              embedding, or positions where no token chooses the rows
 *   Conv                                                    conv; linear over patches where stride is kernel, of an input
 *   MatMul of activations, Softmax, MatMul                  attention, with the scales and masks between
 *   LayerNormalization; chains of small operators           norms, gelu, silu, relu, tanh (ranks/onnx_layers.h)
 *   ReduceMean over tokens, pooling of whole pictures       mean; tokens side by side before a matrix flatten
 *   Add of activations, Mul                                 residual, multiply
 * How values lie is followed (ranks/onnx_layout.h), so that parts of fused products, heads and means are known by their axes.
 * A node that makes an activation into something else is an error that names it. */
#ifndef TN_RANKS_ONNX_LAYERS_H
#define TN_RANKS_ONNX_LAYERS_H

#include "base/error.h"
#include "base/memory.h"
#include "text/arrays.h"
#include "text/onnx.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a chain of small operators does to an activation, found by trying: a row of numbers goes through the same operators
 * and is compared with what known layers make of it. So a layer is found however an exporter writes it: GELU by the error
 * function or by tanh, a norm as one operator or as nine.
 *
 * Elementwise operators and means over the features are tried; a value that is a constant alone is a row of equal numbers.
 */

enum { TN_SAMPLES = 8 };

typedef struct tn_samples {
    double value[TN_SAMPLES]; /* of one row's features */
} tn_samples;

/* The row that stands for any activation. */
tn_samples tn_samples_of_constant(double value);

/* Of an operator with these operands (second: of operators of two). False: it is none of those tried. */
bool tn_samples_apply(const char *operator, const tn_samples * first, const tn_samples *second,
                      tn_samples *result);

/* The layer kind that makes this row of the input: "gelu", "silu", "relu", "tanh", "layer-norm", "rms-norm"; "" where it is the
 * input itself up to a factor; NULL: none yet. */
const char *tn_samples_kind(const tn_samples *row);
bool tn_samples_is_sigmoid(const tn_samples *row); /* of the input */

enum { TN_ONNX_LAYER_INPUTS = 3 };

typedef struct tn_onnx_layer {
    const char *kind, *name; /* of a model file */
    uint32_t inputs, input[TN_ONNX_LAYER_INPUTS];
    uint64_t width;         /* of what it gives */
    uint64_t rows, columns; /* of its matrix or table */
    size_t array;           /* that holds it, or TN_ONNX_NONE */
    bool turned;            /* the array is columns x rows */
    bool cut;               /* the matrix is part of the array: `rows` outputs from `first` on */
    uint64_t first;
    bool bias, scale; /* of a linear layer; shift and scale of a norm; in the arrays */
    size_t bias_array, scale_array;
    bool gone;                                             /* replaced by its parts */
    uint64_t heads;                                        /* of attention; 0: the graph does not say */
    uint64_t picture[2], kernel[2], stride[2], padding[2]; /* of a convolution, down and across */
    bool permuted; /* the matrix has its columns in another order than the layer */
} tn_onnx_layer;

typedef struct tn_onnx_layers {
    size_t count, capacity;
    tn_onnx_layer *layer;
    size_t outputs;
    uint32_t *output;   /* layers that the graph gives */
    uint64_t positions; /* rows of a table of positions; 0: there is none */
    uint64_t sequence;  /* tokens that the graph's inputs have; 0: left open */
} tn_onnx_layers;

/* From the value `from` on, which is taken as an input, up to the value `to`; NULL: from the graph's inputs, to its outputs.
 * A refusal names the largest part between refused nodes that can be taken. Lives in `arena`. */
tn_status tn_onnx_layers_find(const tn_arrays *arrays, const char *path, const char *from, const char *to,
                              tn_arena *arena, tn_onnx_layers *layers, tn_error *error);

#endif
